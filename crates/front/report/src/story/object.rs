//! Stories of violations of linearizability: the core, the order in time of its operations, and what the object would
//! have to contain.

use history::execution::LocationId;
use history::{History, Method, Object, Operation, OperationId, Outcome, Value};
use model::Node;
use model::object::{Core, Stay, Zone};
use verify::replay::{Possible, possible_contents};

use super::EdgeKind;
use super::draft::{self, DraftEdge};
use super::memory::StoryWriter;
use super::names::Names;
use crate::text::Line;

/// How many configurations are tried to say what the object may contain.
const TRIED: usize = 20_000;
/// How many values or possible contents are named at most.
const NAMED: usize = 6;
/// How many values of what an object contains are named at most.
const PIECES: usize = 12;
/// Up to this many operations, every pair that does not overlap is an edge, unless it follows from others.
const PAIRS: usize = 64;

type Draft = draft::Draft<Node>;

impl StoryWriter<'_> {
    /// The part of a core.
    pub(super) fn core(&self, core: &Core) -> Draft {
        let writer = Objects { names: self.names, history: self.history };
        let mut draft = Draft::new(Line::default(), core.operations().into_iter().map(Node::Operation).collect());
        match core {
            Core::NeverInserted(id) => writer.never_inserted(&mut draft, *id),
            Core::RemovedTwice { insert, removes } => writer.removed_twice(&mut draft, *insert, *removes),
            Core::TooEarly { insert, remove } => writer.too_early(&mut draft, *insert, *remove),
            Core::TooLate { insert, remove, peek } => writer.too_late(&mut draft, *insert, *remove, *peek),
            Core::Overtaken { first, second } => writer.overtaken(&mut draft, first, second),
            Core::Circle(stays) => writer.circle(&mut draft, stays),
            Core::Covered { removal, by } => writer.covered(&mut draft, *removal, by),
            Core::Tangled(stays) => writer.tangled(&mut draft, stays),
            Core::Zones([first, second]) => writer.zones(&mut draft, first, second),
            Core::Unpaired(id) => writer.unpaired(&mut draft, *id),
            Core::Stuck(id) => writer.stuck(&mut draft, *id),
        }
        if matches!(core, Core::Tangled(_) | Core::Overtaken { .. } | Core::Circle(_) | Core::Zones(_)) {
            writer.starved(&mut draft, core);
        }
        draft
    }
}

struct Objects<'a> {
    names: Names<'a>,
    history: &'a History,
}

impl Objects<'_> {
    fn operation(&self, id: OperationId) -> &Operation {
        self.history.operation(id)
    }

    fn long(&self, id: OperationId) -> Line {
        self.names.operation(id)
    }

    fn short(&self, id: OperationId) -> Line {
        self.names.place(id)
    }

    fn show(&self, value: Value) -> String {
        self.names.value(value)
    }

    fn argument(&self, id: OperationId) -> String {
        self.show(self.operation(id).argument)
    }

    /// The values of these stays, as far as they are named.
    fn values(&self, stays: &[Stay]) -> String {
        let values: Vec<String> = stays.iter().take(NAMED).map(|stay| self.argument(stay.insert)).collect();
        format!("{}{}", values.join(", "), if stays.len() > NAMED { ", ..." } else { "" })
    }

    /// `enqueued`, `wrote`, ...
    fn brought(&self) -> &'static str {
        match self.history.object() {
            Object::Queue => "enqueued",
            Object::Stack => "pushed",
            Object::PriorityQueue => "inserted",
            _ => "wrote",
        }
    }

    /// `the queue`, or `the queue k` if there are several.
    fn object(&self, id: OperationId) -> String {
        let key = self.names.key(self.operation(id).key);
        let object = match self.history.object() {
            Object::Memory => "register",
            _ => self.history.object_name(),
        };
        if key.is_empty() { format!("the {object}") } else { format!("the {object} {key}") }
    }

    /// ` in the queue k`, if there are several queues.
    fn place(&self, id: OperationId) -> String {
        let is_only = self.names.key(self.operation(id).key).is_empty();
        if is_only { String::new() } else { format!(" in {}", self.object(id)) }
    }

    fn returns(&self, id: OperationId) -> u32 {
        self.history.moments()[id.index()][1]
    }

    fn calls(&self, id: OperationId) -> u32 {
        self.history.moments()[id.index()][0]
    }

    /// The operation that first shows that a value was in front of the queue.
    fn next_first(&self, stay: &Stay) -> Option<OperationId> {
        stay.peeks.iter().copied().chain(stay.remove).min_by_key(|&id| self.returns(id))
    }

    /// The operation that last shows that a value was in front of the queue; none if the value was never removed.
    fn next_last(&self, stay: &Stay) -> Option<OperationId> {
        let remove = stay.remove?;
        stay.peeks.iter().copied().chain([remove]).max_by_key(|&id| self.calls(id))
    }

    /// The operation that first shows that a value was inside.
    fn inside_first(&self, stay: &Stay) -> OperationId {
        let others = self.next_first(stay).filter(|&id| self.returns(id) < self.returns(stay.insert));
        others.unwrap_or(stay.insert)
    }

    /// The operations on the same object that were called before this operation returned, itself included.
    fn up_to_return(&self, id: OperationId) -> Vec<OperationId> {
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

    /// One returned before the other was called.
    fn real_time(&self, draft: &mut Draft, one: OperationId, other: OperationId) -> usize {
        let sentence = self.long(one).plain(" returned before ").append(self.long(other)).plain(" was called");
        let reason = format!("called after {} returned", self.short(one));
        basic(draft, EdgeKind::RealTime, one, other, sentence, reason)
    }

    /// One returned the value that the other inserted or wrote.
    fn value(&self, draft: &mut Draft, insert: OperationId, seen: OperationId) -> usize {
        let verb = match self.operation(seen).method {
            Method::Dequeue | Method::Pop | Method::DeleteMax => "removed what",
            Method::Peek => "saw what",
            _ => "read what",
        };
        let sentence = self.long(seen).plain(format!(" {verb} ")).append(self.long(insert));
        let reason = format!("{verb} {} {}", self.short(insert), self.brought());
        basic(draft, EdgeKind::Value, insert, seen, sentence.plain(format!(" {}", self.brought())), reason)
    }

    fn never_inserted(&self, draft: &mut Draft, id: OperationId) {
        let (value, brought) = (self.show(self.operation(id).result), self.brought());
        draft.title = Line::heading("value from nowhere: ")
            .append(self.long(id))
            .plain(format!(" returns {value}, which nobody {brought}{}", self.place(id)));
    }

    fn removed_twice(&self, draft: &mut Draft, insert: OperationId, [one, other]: [OperationId; 2]) {
        draft.title =
            Line::heading("removed twice: ").append(self.long(insert)).plain(" is the only insertion of its value:");
        self.value(draft, insert, one);
        self.value(draft, insert, other);
        let value = self.argument(insert);
        draft.contents.push(Line::default().plain(format!(
            "{} would have to contain {value} twice, and it was {} once",
            self.object(insert),
            self.brought()
        )));
    }

    fn too_early(&self, draft: &mut Draft, insert: OperationId, remove: OperationId) {
        draft.title = Line::heading("value from the future: ")
            .append(self.long(remove))
            .plain(format!(" returned before the only operation that {} its value was called:", self.brought()));
        draft.circle = vec![self.real_time(draft, remove, insert), self.value(draft, insert, remove)];
        draft.contents.push(
            self.needs(remove).plain(", and only ").append(self.long(insert)).plain(", which came later, brought it"),
        );
    }

    fn too_late(&self, draft: &mut Draft, insert: OperationId, remove: OperationId, peek: OperationId) {
        draft.title = Line::heading("value from the past: ")
            .append(self.long(peek))
            .plain(" was called after its value, which was inserted only once, had been removed:");
        let premises = vec![self.value(draft, insert, peek), self.value(draft, insert, remove)];
        let sentence = self
            .long(peek)
            .plain(" saw the value, so it took effect before ")
            .append(self.long(remove))
            .plain(" removed it");
        let early = before(draft, Node::Operation(peek), Node::Operation(remove), sentence, premises);
        draft.circle = vec![self.real_time(draft, remove, peek), early];
        draft.contents.push(self.needs(peek).plain(", and ").append(self.long(remove)).plain(" had removed it"));
    }

    fn overtaken(&self, draft: &mut Draft, first: &Stay, second: &Stay) {
        let [a, b] = [first, second].map(|stay| self.argument(stay.insert));
        let (next, last) = (self.next_first(second), self.next_last(first));
        let is_seen = [next, last].map(|id| id.is_some_and(|id| self.operation(id).method == Method::Peek));
        draft.title = Line::heading("out of order: ").plain(match (is_seen, last) {
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
        self.stays(draft, &[first.clone(), second.clone()]);
    }

    fn circle(&self, draft: &mut Draft, stays: &[Stay]) {
        let first = stays.first().map_or_else(String::new, |stay| self.argument(stay.insert));
        draft.title = Line::heading("no order of the values: ")
            .plain(format!("{} must be in the queue in this order, and {first} again after that:", self.values(stays)));
        self.stays(draft, stays);
    }

    /// Values of a queue, each of which must come before the next, and the last before the first.
    fn stays(&self, draft: &mut Draft, stays: &[Stay]) {
        for (one, other) in stays.iter().zip(stays.iter().cycle().skip(1)) {
            let [a, b] = [one, other].map(|stay| self.argument(stay.insert));
            let entered = self.inside_first(one);
            let (mut premises, sentence) = if self.returns(entered) < self.calls(other.insert) {
                let sentence = Line::default().plain(format!("{a} was inside before {b} was enqueued: "));
                let sentence = sentence.append(self.short(entered)).plain(" returned before ");
                let premises = vec![self.real_time(draft, entered, other.insert)];
                (premises, sentence.append(self.short(other.insert)).plain(" was called"))
            } else {
                match (self.next_first(one), self.next_last(other)) {
                    (Some(next), Some(last)) => {
                        let sentence = Line::default().plain(format!("{a} was in front before {b} was: "));
                        let sentence = sentence.append(self.short(next)).plain(" returned before ");
                        let premises = vec![self.real_time(draft, next, last)];
                        (premises, sentence.append(self.short(last)).plain(" was called"))
                    }
                    (next, _) => {
                        let sentence =
                            Line::default().plain(format!("{b} was never dequeued, and {a} was in front at "));
                        let premises = next.map(|next| self.value(draft, one.insert, next));
                        (premises.into_iter().collect(), sentence.append(self.short(next.unwrap_or(one.insert))))
                    }
                }
            };
            for (insert, seen) in [(one.insert, entered), (one.insert, self.next_first(one).unwrap_or(one.insert))]
                .into_iter()
                .chain(self.next_last(other).map(|last| (other.insert, last)))
            {
                let is_used = premises.iter().any(|&edge| {
                    let edge = &draft.edges[edge];
                    [edge.from, edge.to].contains(&Node::Operation(seen))
                });
                if insert != seen && is_used {
                    premises.push(self.value(draft, insert, seen));
                }
            }
            premises.sort_unstable();
            premises.dedup();
            let (from, to) = (Node::Operation(one.insert), Node::Operation(other.insert));
            let edge = before(draft, from, to, sentence.plain(format!(", so {a} is ahead of {b}")), premises);
            draft.circle.push(edge);
        }
        if let Some(first) = stays.first() {
            draft.contents.push(Line::default().plain(format!(
                "{} would have to contain, the front first: {}, and {} again behind them",
                self.object(first.insert),
                self.values(stays),
                self.argument(first.insert)
            )));
        }
    }

    fn covered(&self, draft: &mut Draft, removal: OperationId, by: &[Stay]) {
        let is_empty = self.operation(removal).result == Value::EMPTY;
        let title =
            Line::heading(if is_empty { "not empty: " } else { "not the largest: " }).append(self.long(removal));
        draft.title = if let [stay] = by {
            title.plain(format!(": {} was inside all the time", self.argument(stay.insert)))
        } else {
            let what = if is_empty { "a value" } else { "a larger value" };
            title.plain(format!(": all the time, {what} was inside, one after the other"))
        };
        for stay in by {
            let (entered, last) = (self.inside_first(stay), self.next_last(stay));
            let shown = last.or_else(|| stay.peeks.last().copied());
            for seen in [Some(entered), shown].into_iter().flatten().filter(|&seen| seen != stay.insert) {
                self.value(draft, stay.insert, seen);
            }
            if self.returns(entered) < self.calls(removal) {
                self.real_time(draft, entered, removal);
            }
            if let Some(last) = last
                && self.returns(removal) < self.calls(last)
            {
                self.real_time(draft, removal, last);
            }
            let mut line = Line::default().plain("from the return of ").append(self.short(entered));
            line = match last {
                Some(last) => line.plain(" to the call of ").append(self.short(last)),
                None => line.plain(" on"),
            };
            let value = self.argument(stay.insert);
            draft.contents.push(line.plain(format!(", {} certainly contains {value}", self.object(removal))));
        }
        // One stay begins before the other ends.
        for (one, other) in by.iter().zip(by.iter().skip(1)) {
            let (entered, last) = (self.inside_first(other), self.next_last(one));
            if let Some(last) = last
                && self.returns(entered) < self.calls(last)
            {
                self.real_time(draft, entered, last);
            }
        }
        draft.contents.push(self.needs(removal));
    }

    fn tangled(&self, draft: &mut Draft, stays: &[Stay]) {
        draft.title = Line::heading("not last in, first out: ")
            .plain(format!("the times of {} in the stack cannot be nested:", self.values(stays)));
        let mut operations: Vec<OperationId> = Vec::new();
        for stay in stays {
            operations.push(stay.insert);
            for &seen in stay.remove.iter().chain(&stay.peeks) {
                self.value(draft, stay.insert, seen);
                operations.push(seen);
            }
        }
        self.in_time(draft, operations);
        let Some(first) = stays.first() else { return };
        draft.contents.push(Line::default().plain(format!(
            "{} would have to contain {} in an order in which each leaves before those below it",
            self.object(first.insert),
            self.values(stays)
        )));
        let stay_on: Vec<Stay> = stays.iter().filter(|stay| stay.remove.is_none()).cloned().collect();
        if !stay_on.is_empty() {
            draft.contents.push(Line::default().plain(format!("never popped: {}", self.values(&stay_on))));
        }
    }

    /// The order in time of these operations, without what follows from it.
    fn in_time(&self, draft: &mut Draft, mut operations: Vec<OperationId>) {
        operations.sort_unstable_by_key(|&id| self.calls(id));
        operations.dedup();
        let is_before = |a: OperationId, b: OperationId| self.returns(a) < self.calls(b);
        if operations.len() > PAIRS {
            for pair in operations.windows(2).filter(|pair| is_before(pair[0], pair[1])) {
                self.real_time(draft, pair[0], pair[1]);
            }
            return;
        }
        for &one in &operations {
            for &other in operations.iter().filter(|&&other| is_before(one, other)) {
                if !operations.iter().any(|&between| is_before(one, between) && is_before(between, other)) {
                    self.real_time(draft, one, other);
                }
            }
        }
    }

    fn zones(&self, draft: &mut Draft, first: &Zone, second: &Zone) {
        let key = self.operation(first.called).key;
        let node = |zone: &Zone| zone.write.map_or(Node::Init(LocationId(key.0)), Node::Operation);
        let value = |zone: &Zone| match zone.write {
            Some(write) => self.argument(write),
            None => self.show(self.history.initial_value(key)),
        };
        let (a, b) = (value(first), value(second));
        draft.title = Line::heading("no order of the values: ")
            .plain(format!("{a} must come before {b} and {b} before {a}, and each is written only once:"));
        for (one, other) in [(first, second), (second, first)] {
            let mut premises = Vec::new();
            let mut sentence = Line::default().plain(format!("{} comes before {}: ", value(one), value(other)));
            if let Some(returned) = one.returned {
                premises.push(self.real_time(draft, returned, other.called));
                sentence = sentence
                    .append(self.short(returned))
                    .plain(" returned before ")
                    .append(self.short(other.called))
                    .plain(" was called");
                for (zone, seen) in [(one, returned), (other, other.called)] {
                    if let Some(write) = zone.write.filter(|&write| write != seen) {
                        premises.push(self.value(draft, write, seen));
                    }
                }
            } else {
                let (from, to) = (node(one), Node::Operation(other.called));
                let line = self.names.long(from).plain(" was there before every operation");
                premises.push(draft.add(DraftEdge::basic(
                    EdgeKind::Initial,
                    from,
                    to,
                    line,
                    "the initial value was there before",
                )));
                sentence = sentence.plain("it was there before every operation");
            }
            let edge = before(draft, node(one), node(other), sentence, premises);
            draft.circle.push(edge);
        }
        draft.contents.push(Line::default().plain(format!(
            "{} would have to contain {a}, then {b}, and then {a} again, and {a} was there only once",
            self.object(first.called)
        )));
    }

    fn unpaired(&self, draft: &mut Draft, id: OperationId) {
        let (offered, value) = (self.argument(id), self.show(self.operation(id).result));
        draft.title = Line::heading("no partner: ").append(self.long(id)).plain(format!(
            " returned {value}, and no exchange of {value} that overlaps it returned {offered} or is pending"
        ));
        draft.contents.push(self.needs(id));
    }

    /// The operations up to the return after which no order is left; if there are many, those that are open then.
    fn stuck(&self, draft: &mut Draft, id: OperationId) {
        draft.title = Line::heading("no order is left: ").append(self.long(id)).plain(format!(
            " cannot have returned that{}, in whichever order the operations took effect",
            self.place(id)
        ));
        let mut operations = self.up_to_return(id);
        if operations.len() > PAIRS {
            operations.retain(|&other| self.returns(other) >= self.returns(id));
        }
        draft.core.extend(operations.iter().copied().map(Node::Operation));
        self.in_time(draft, operations);
        draft.contents.push(self.needs(id));
        let Some(possible) = possible_contents(self.history, id, TRIED) else { return };
        draft.contents.extend(self.named(id, &possible));
        if possible.iter().any(|possible| possible.allows) {
            let line = Line::default().plain("where it allows ").append(self.short(id)).plain(" to return that, ");
            draft.contents.push(line.plain("no order is left for what others returned"));
        }
    }

    /// The first operation of a core for whose result the object never contains what it would have to.
    fn starved(&self, draft: &mut Draft, core: &Core) {
        let history = self.history;
        if history.operations().len() > PAIRS {
            return;
        }
        let mut operations = core.operations();
        operations.sort_by_key(|&id| (self.returns(id), id));
        operations.dedup();
        for id in operations.into_iter().filter(|&id| self.returns(id) != History::NEVER) {
            let Some(possible) = possible_contents(history, id, TRIED) else { return };
            if !possible.iter().any(|possible| possible.allows) {
                draft.contents.push(self.needs(id));
                draft.contents.extend(self.named(id, &possible));
                return;
            }
        }
    }

    /// What the object may contain while an operation is open.
    fn named(&self, id: OperationId, possible: &[Possible]) -> Option<Line> {
        let history = self.history;
        let order = match history.object() {
            Object::Queue => ", the front first",
            Object::Stack => ", the top last",
            _ => "",
        };
        let contents = |possible: &Possible| {
            let shown: Vec<String> = possible.contents.iter().take(PIECES).map(|piece| piece.show(history)).collect();
            let more = possible.contents.len().saturating_sub(PIECES);
            let more = if more > 0 { format!(", ... ({more} more)") } else { String::new() };
            match &shown[..] {
                [] => "nothing".to_owned(),
                _ if history.object() == Object::KeyValue => format!("`{}`{more}", shown.concat()),
                _ => format!("{}{more}", shown.join(", ")),
            }
        };
        let named: Vec<String> = possible.iter().take(NAMED).map(contents).collect();
        let more = if possible.len() > NAMED { format!(" | {} others", possible.len() - NAMED) } else { String::new() };
        let outcome = match &named[..] {
            [] => return None,
            [one] if one == "nothing" => "it contains nothing".to_owned(),
            [one] => format!("it contains{order}: {one}"),
            _ => format!("it contains one of{order}: {}{more}", named.join(" | ")),
        };
        let line = Line::default().plain("while ").append(self.short(id));
        Some(line.plain(format!(" is open, before it takes effect, {outcome}")))
    }

    /// What the object would have to contain for an operation to return what it returned.
    fn needs(&self, id: OperationId) -> Line {
        let operation = self.operation(id);
        let (argument, result) = (self.show(operation.argument), self.show(operation.result));
        let object = self.object(id);
        let has_returned = matches!(operation.outcome, Outcome::Ok | Outcome::Instant);
        let what = match (operation.method, operation.result) {
            _ if !has_returned => format!("{object} would have to be as it was"),
            (Method::Dequeue | Method::Pop | Method::DeleteMax | Method::Peek, Value::EMPTY) => {
                format!("{object} would have to be empty")
            }
            (Method::Dequeue, _) => format!("{object} would have to contain {result} in front"),
            (Method::Pop, _) => format!("{object} would have to contain {result} on top"),
            (Method::DeleteMax, _) => format!("{object} would have to contain {result}, and nothing larger"),
            (Method::Peek, _) => match self.history.object() {
                Object::Queue => format!("{object} would have to contain {result} in front"),
                Object::Stack => format!("{object} would have to contain {result} on top"),
                _ => format!("{object} would have to contain {result}, and nothing larger"),
            },
            (Method::Read | Method::Rmw | Method::Get | Method::ReadAll, _) => {
                format!("{object} would have to contain {result}")
            }
            (Method::Cas, result) => {
                let expected = self.history.expected(id).map_or_else(String::new, |it| self.show(it));
                if result == Value::TRUE {
                    format!("{object} would have to contain {expected}")
                } else {
                    format!("{object} would have to contain something else than {expected}")
                }
            }
            (Method::Add, Value::TRUE) | (Method::Remove | Method::Contains, Value::FALSE) => {
                format!("{object} would have to be without {argument}")
            }
            (Method::Add, Value::FALSE) | (Method::Remove | Method::Contains, Value::TRUE) => {
                format!("{object} would have to contain {argument}")
            }
            (Method::Count, _) => format!("{object} would have to contain {argument} exactly {result} times"),
            (Method::Lock | Method::Acquire | Method::AcquireAs, _) | (Method::TryLock, Value::TRUE) => {
                format!("{object} would have to have room for one more")
            }
            (Method::TryLock | Method::Unlock | Method::Release, _) => format!("{object} would have to be held"),
            (Method::ReleaseAs, _) => format!("{object} would have to be held by {argument}"),
            (Method::Exchange, Value::NULL) => format!("{object} would have to be left without a partner"),
            (Method::Exchange, _) => format!("{object} would have to offer {result} at the same time"),
            _ => format!("{object} would have to allow it"),
        };
        Line::default().plain("for ").append(self.long(id)).plain(", ").plain(what)
    }
}

fn basic(
    draft: &mut Draft,
    kind: EdgeKind,
    from: OperationId,
    to: OperationId,
    sentence: Line,
    reason: String,
) -> usize {
    let (from, to) = (Node::Operation(from), Node::Operation(to));
    draft.add(DraftEdge::basic(kind, from, to, sentence, reason))
}

fn before(draft: &mut Draft, from: Node, to: Node, sentence: Line, premises: Vec<usize>) -> usize {
    draft.add(DraftEdge::new(EdgeKind::Before, from, to, sentence, premises))
}
