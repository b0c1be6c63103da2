//! Explains violations of linearizability.

use certificate::object::{Core, Stay, Zone};
use history::{History, Method, Object, OperationId, Outcome, Value};

use crate::text::{self, Line, Style};

/// How many rows a table shows at most.
const ROWS: usize = 24;

/// Says why the operations of a core contradict each other.
pub(crate) fn explain(history: &History, core: &Core) -> Vec<Line> {
    let teller = Teller { history };
    match core {
        Core::NeverInserted(id) => {
            let (value, verb) = (teller.show(teller.operation(*id).result), teller.brought());
            vec![
                heading("value from nowhere: ")
                    .append(teller.long(*id))
                    .plain(format!(" returns {value}, which nobody {verb}{}", teller.place(*id))),
            ]
        }
        Core::RemovedTwice { insert, removes } => {
            let first =
                heading("removed twice: ").append(teller.long(*insert)).plain(" is the only insertion of its value:");
            let rows = [(*insert, ""), (removes[0], "removes it"), (removes[1], "removes it again")];
            teller.with_table(first, &rows)
        }
        Core::TooEarly { insert, remove } => {
            let first = heading("value from the future: ")
                .append(teller.long(*remove))
                .plain(" returned before the only operation that ")
                .plain(teller.brought())
                .plain(" its value was called:");
            teller.with_table(first, &[(*remove, "returned"), (*insert, "called after that")])
        }
        Core::TooLate { insert, remove, peek } => {
            let first = heading("value from the past: ")
                .append(teller.long(*peek))
                .plain(" was called after its value, which was inserted only once, had been removed:");
            let rows = [(*insert, ""), (*remove, "removed it, and returned"), (*peek, "called after that")];
            teller.with_table(first, &rows)
        }
        Core::Circle(stays) => teller.circle(stays),
        Core::Overtaken { first, second } => teller.overtaken(first, second),
        Core::Covered { removal, by } => teller.covered(*removal, by),
        Core::Tangled(stays) => teller.tangled(stays),
        Core::Zones([first, second]) => teller.zones(first, second),
        Core::Unpaired(id) => {
            let value = teller.show(teller.operation(*id).result);
            let offered = teller.show(teller.operation(*id).argument);
            vec![heading("no partner: ").append(teller.long(*id)).plain(format!(
                " returned {value}, and no exchange of {value} that overlaps it returned {offered} or is pending"
            ))]
        }
        Core::Stuck(id) => teller.stuck(*id),
    }
}

fn heading(text: &str) -> Line {
    Line::default().with(Style::Heading, text)
}

/// Names operations and their values.
pub(crate) struct Teller<'a> {
    pub(crate) history: &'a History,
}

impl Teller<'_> {
    pub(crate) fn operation(&self, id: OperationId) -> &history::Operation {
        self.history.operation(id)
    }

    pub(crate) fn show(&self, value: Value) -> String {
        self.history.show(value)
    }

    pub(crate) fn long(&self, id: OperationId) -> Line {
        Line::default()
            .place(id, self.history.place(id))
            .plain(" ")
            .with(Style::Operation, text::operation(self.history, id))
    }

    /// `enqueued`, `wrote`, ...
    pub(crate) fn brought(&self) -> &'static str {
        match self.history.object() {
            Object::Queue => "enqueued",
            Object::Stack => "pushed",
            Object::PriorityQueue => "inserted",
            _ => "wrote",
        }
    }

    /// ` in the queue k`, if there are several queues.
    fn place(&self, id: OperationId) -> String {
        let key = self.history.key_name(self.operation(id).key);
        if key.is_empty() { String::new() } else { format!(" in the {} {key}", self.history.object().name()) }
    }

    /// `the queue`, or `the queue k` if there are several.
    pub(crate) fn the_object(&self, id: OperationId) -> String {
        let key = self.history.key_name(self.operation(id).key);
        let object = match self.history.object() {
            Object::Memory => "register",
            _ => self.history.object_name(),
        };
        if key.is_empty() { format!("the {object}") } else { format!("the {object} {key}") }
    }

    fn with_table(&self, first: Line, rows: &[(OperationId, &str)]) -> Vec<Line> {
        let mut lines = vec![first];
        lines.extend(self.table(rows));
        lines
    }

    /// A table of operations in the given order, each with a remark.
    fn table(&self, rows: &[(OperationId, &str)]) -> Vec<Line> {
        let texts: Vec<(String, String)> =
            rows.iter().map(|&(id, _)| (self.history.place(id), text::operation(self.history, id))).collect();
        let places = texts.iter().map(|(place, _)| place.chars().count()).max().unwrap_or(0);
        let operations = texts.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        let mut lines = Vec::new();
        for ((place, text), &(id, remark)) in texts.iter().zip(rows).take(ROWS) {
            let mut line =
                Line::indented(2).place(id, format!("{place:places$}")).plain("  ").with(Style::Operation, text);
            if !remark.is_empty() {
                line = line.plain(" ".repeat(operations - text.chars().count() + 2)).with(Style::Reason, remark);
            }
            lines.push(line);
        }
        if rows.len() > ROWS {
            lines.push(Line::indented(2).plain(format!("... and {} more", rows.len() - ROWS)));
        }
        lines
    }

    pub(crate) fn returns(&self, id: OperationId) -> u32 {
        self.history.moments()[id.index()][1]
    }

    pub(crate) fn calls(&self, id: OperationId) -> u32 {
        self.history.moments()[id.index()][0]
    }

    /// The operation that first shows that a value was in front of the queue.
    pub(crate) fn next_first(&self, stay: &Stay) -> Option<OperationId> {
        stay.peeks.iter().copied().chain(stay.remove).min_by_key(|&id| self.returns(id))
    }

    /// The operation that last shows that a value was in front of the queue; none if the value was never removed.
    pub(crate) fn next_last(&self, stay: &Stay) -> Option<OperationId> {
        let remove = stay.remove?;
        stay.peeks.iter().copied().chain([remove]).max_by_key(|&id| self.calls(id))
    }

    /// The operation that first shows that a value was inside.
    pub(crate) fn inside_first(&self, stay: &Stay) -> OperationId {
        let others = self.next_first(stay).filter(|&id| self.returns(id) < self.returns(stay.insert));
        others.unwrap_or(stay.insert)
    }

    fn overtaken(&self, first: &Stay, second: &Stay) -> Vec<Line> {
        let [a, b] = [first, second].map(|stay| self.show(self.operation(stay.insert).argument));
        let (next, last) = (self.next_first(second), self.next_last(first));
        let is_seen = [next, last].map(|id| id.is_some_and(|id| self.operation(id).method == Method::Peek));
        let line = heading("out of order: ").plain(match (is_seen, last) {
            ([false, false], Some(_)) => format!("{a} was enqueued before {b}, and dequeued after it:"),
            ([true, false], Some(_)) => format!("{a} was enqueued before {b}, and dequeued after {b} was in front:"),
            ([_, true], Some(_)) => format!("{a} was enqueued before {b}, and in front after it:"),
            ([false, _], None) => {
                format!("{a} was enqueued before {b}, and {b} was dequeued while {a} was still inside:")
            }
            ([true, _], None) => {
                format!("{a} was enqueued before {b}, and {b} was in front while {a} was still inside:")
            }
        });
        let before = "returned before the next was called";
        let mut rows = vec![(self.inside_first(first), before), (second.insert, "")];
        rows.extend(next.map(|id| (id, if last.is_some() { before } else { "" })));
        rows.extend(last.map(|id| (id, "")));
        self.with_table(line, &rows)
    }

    fn circle(&self, stays: &[Stay]) -> Vec<Line> {
        let values: Vec<String> = stays.iter().map(|stay| self.show(self.operation(stay.insert).argument)).collect();
        let line = heading("no order of the values: ").plain(format!(
            "{} must be in the queue in this order, and {} again after that:",
            values.join(", "),
            values.first().map_or("", String::as_str)
        ));
        let mut lines = vec![line];
        for (one, other) in stays.iter().zip(stays.iter().cycle().skip(1)) {
            let entered = self.inside_first(one);
            let rows = match (self.next_first(one), self.next_last(other)) {
                _ if self.returns(entered) < self.calls(other.insert) => {
                    vec![(entered, "returned before the next was called"), (other.insert, "")]
                }
                (Some(next), Some(last)) => vec![(next, "returned before the next was called"), (last, "")],
                (next, _) => next.into_iter().map(|id| (id, "")).chain([(other.insert, "never dequeued")]).collect(),
            };
            lines.extend(self.table(&rows));
        }
        lines
    }

    fn covered(&self, removal: OperationId, by: &[Stay]) -> Vec<Line> {
        let result = self.operation(removal).result;
        let what = if result == Value::EMPTY { "a value" } else { "a larger value" };
        let mut line = heading(if result == Value::EMPTY { "not empty: " } else { "not the largest: " });
        line = line.append(self.long(removal));
        if let [stay] = by {
            let value = self.show(self.operation(stay.insert).argument);
            line = line.plain(format!(": {value} was inside all the time"));
        } else {
            line = line.plain(format!(": all the time, {what} was inside, one after the other"));
        }
        let mut lines = vec![line];
        let mut rows = Vec::new();
        for stay in by {
            let entered = self.inside_first(stay);
            rows.push((entered, "in when it returned"));
            let last = self.next_last(stay).or_else(|| stay.peeks.last().copied());
            rows.extend(last.filter(|&id| id != entered).map(|id| (id, "still in when it was called")));
        }
        lines.extend(self.table(&rows));
        lines
    }

    fn tangled(&self, stays: &[Stay]) -> Vec<Line> {
        let values: Vec<String> =
            stays.iter().take(ROWS).map(|stay| self.show(self.operation(stay.insert).argument)).collect();
        let more = if stays.len() > ROWS { ", ..." } else { "" };
        let line = heading("not last in, first out: ")
            .plain(format!("the times of {}{more} in the stack cannot be nested:", values.join(", ")));
        let mut rows: Vec<(OperationId, &str)> = Vec::new();
        for stay in stays {
            rows.push((stay.insert, if stay.remove.is_none() { "never popped" } else { "" }));
            rows.extend(stay.remove.iter().chain(&stay.peeks).map(|&id| (id, "")));
        }
        rows.sort_by_key(|&(id, _)| id);
        self.with_table(line, &rows)
    }

    fn zones(&self, first: &Zone, second: &Zone) -> Vec<Line> {
        let value = |zone: &Zone| match zone.write {
            Some(write) => self.show(self.operation(write).argument),
            None => self.show(self.history.initial_value(self.operation(zone.called).key)),
        };
        let (a, b) = (value(first), value(second));
        let line = heading("no order of the values: ")
            .plain(format!("{a} must come before {b} and {b} before {a}, and each is written only once:"));
        let mut lines = vec![line];
        for (one, other) in [(first, second), (second, first)] {
            let rows = match one.returned {
                Some(returned) => vec![(returned, "returned before the next was called"), (other.called, "")],
                None => vec![(other.called, "the initial value was there before")],
            };
            lines.extend(self.table(&rows));
        }
        lines
    }

    pub(crate) fn no_order_is_left(&self, id: OperationId) -> Line {
        heading("no order is left: ").append(self.long(id)).plain(format!(
            " cannot have returned that{}, in whichever order the operations took effect",
            self.place(id)
        ))
    }

    fn stuck(&self, id: OperationId) -> Vec<Line> {
        let line = self.no_order_is_left(id).plain("; open at its return:");
        let rows: Vec<(OperationId, &str)> = self
            .open_at_return(id)
            .into_iter()
            .map(|other| {
                let remark = match self.operation(other).outcome {
                    _ if other == id => "returns",
                    Outcome::Info | Outcome::Pending => "pending",
                    _ => "",
                };
                (other, remark)
            })
            .collect();
        self.with_table(line, &rows)
    }

    /// The operations on the same object that were called before this operation returned, itself included.
    pub(crate) fn up_to_return(&self, id: OperationId) -> Vec<OperationId> {
        let key = self.operation(id).key;
        let is_whole = self.history.operations().iter().any(|operation| operation.method == Method::ReadAll);
        let is_set = self.history.object() == Object::Set && !is_whole;
        let is_here = |&other: &OperationId| {
            let operation = self.operation(other);
            operation.key == key
                && self.calls(other) <= self.returns(id)
                && operation.outcome != Outcome::Fail
                && (!is_set || operation.argument == self.operation(id).argument)
        };
        (0..self.history.operations().len() as u32).map(OperationId).filter(is_here).collect()
    }

    /// Those of them that are open when it returns.
    pub(crate) fn open_at_return(&self, id: OperationId) -> Vec<OperationId> {
        let mut open = self.up_to_return(id);
        open.retain(|&other| self.returns(other) >= self.returns(id));
        open
    }
}
