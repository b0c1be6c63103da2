//! Stories of violations of linearizability: the core, the order in time of its operations, and what the object would
//! have to contain.

use certificate::Node;
use certificate::object::{Core, Stay, Zone};
use certificate::replay::{Possible, possible_contents};
use history::execution::LocationId;
use history::{History, Method, Object, OperationId, Outcome, Value};

use super::{Draft, DraftEdge, Kind, Writer};
use crate::object::{self, Teller};
use crate::text::Line;

/// How many configurations are tried to say what the object may contain.
const TRIED: usize = 20_000;
/// How many possible contents are named at most.
const NAMED: usize = 6;
/// Up to this many operations, every pair that does not overlap is an edge, unless it follows from others.
const PAIRS: usize = 64;

impl Writer<'_> {
    /// The part of a core.
    pub(super) fn core(&mut self, core: &Core) -> Draft {
        let title = object::explain(self.history, core).into_iter().next().unwrap_or_default();
        let writer = Objects { writer: self, teller: Teller { history: self.history } };
        let mut draft = Draft { title, ..Draft::default() };
        match core {
            Core::NeverInserted(id) => {
                let needs = writer.needs(*id);
                draft.contents.push(needs.plain(format!(", and nobody {} it", writer.teller.brought())));
            }
            Core::RemovedTwice { insert, removes } => writer.removed_twice(&mut draft, *insert, *removes),
            Core::TooEarly { insert, remove } => writer.too_early(&mut draft, *insert, *remove),
            Core::TooLate { insert, remove, peek } => writer.too_late(&mut draft, *insert, *remove, *peek),
            Core::Overtaken { first, second } => writer.stays(&mut draft, &[first, second]),
            Core::Circle(stays) => writer.stays(&mut draft, &stays.iter().collect::<Vec<_>>()),
            Core::Covered { removal, by } => writer.covered(&mut draft, *removal, by),
            Core::Tangled(stays) => writer.tangled(&mut draft, stays),
            Core::Zones([first, second]) => writer.zones(&mut draft, first, second),
            Core::Unpaired(id) => draft.contents.push(writer.needs(*id)),
            Core::Stuck(id) => writer.stuck(&mut draft, *id),
        }
        if matches!(core, Core::Tangled(_) | Core::Overtaken { .. } | Core::Circle(_) | Core::Zones(_)) {
            let writer = Objects { writer: self, teller: Teller { history: self.history } };
            writer.starved(&mut draft, core);
        }
        draft.core.extend(core.operations().into_iter().map(Node::Operation));
        draft
    }
}

struct Objects<'a> {
    writer: &'a Writer<'a>,
    teller: Teller<'a>,
}

impl Objects<'_> {
    fn long(&self, id: OperationId) -> Line {
        self.teller.long(id)
    }

    fn short(&self, id: OperationId) -> Line {
        self.writer.teller.short(Node::Operation(id))
    }

    fn argument(&self, id: OperationId) -> String {
        self.teller.show(self.teller.operation(id).argument)
    }

    /// `the queue`, `the queue k`.
    fn object(&self, id: OperationId) -> String {
        self.teller.the_object(id)
    }

    /// One returned before the other was called.
    fn real_time(&self, draft: &mut Draft, one: OperationId, other: OperationId) -> usize {
        let sentence = self.long(one).plain(" returned before ").append(self.long(other)).plain(" was called");
        basic(draft, Kind::RealTime, one, other, sentence)
    }

    /// One returned the value that the other inserted or wrote.
    fn value(&self, draft: &mut Draft, insert: OperationId, seen: OperationId) -> usize {
        let verb = match self.teller.operation(seen).method {
            Method::Dequeue | Method::Pop | Method::DeleteMax => " removed what ",
            Method::Peek => " saw what ",
            _ => " read what ",
        };
        let brought = format!(" {}", self.teller.brought());
        let sentence = self.long(seen).plain(verb).append(self.long(insert)).plain(brought);
        basic(draft, Kind::Value, insert, seen, sentence)
    }

    fn removed_twice(&self, draft: &mut Draft, insert: OperationId, [one, other]: [OperationId; 2]) {
        self.value(draft, insert, one);
        self.value(draft, insert, other);
        let value = self.argument(insert);
        draft.contents.push(Line::default().plain(format!(
            "{} would have to contain {value} twice, and it was {} once",
            self.object(insert),
            self.teller.brought()
        )));
    }

    fn too_early(&self, draft: &mut Draft, insert: OperationId, remove: OperationId) {
        let circle = vec![self.real_time(draft, remove, insert), self.value(draft, insert, remove)];
        draft.circle = circle;
        draft.contents.push(
            self.needs(remove).plain(", and only ").append(self.long(insert)).plain(", which came later, brought it"),
        );
    }

    fn too_late(&self, draft: &mut Draft, insert: OperationId, remove: OperationId, peek: OperationId) {
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

    /// Values of a queue, each of which must come before the next, and the last before the first.
    fn stays(&self, draft: &mut Draft, stays: &[&Stay]) {
        let teller = &self.teller;
        let nexts = stays.iter().cycle().skip(1);
        for (&one, &other) in stays.iter().zip(nexts) {
            let [a, b] = [one, other].map(|stay| self.argument(stay.insert));
            let entered = teller.inside_first(one);
            let (mut premises, sentence) = if teller.returns(entered) < teller.calls(other.insert) {
                let sentence = Line::default().plain(format!("{a} was inside before {b} was enqueued: "));
                let sentence = sentence.append(self.short(entered)).plain(" returned before ");
                let premises = vec![self.real_time(draft, entered, other.insert)];
                (premises, sentence.append(self.short(other.insert)).plain(" was called"))
            } else {
                match (teller.next_first(one), teller.next_last(other)) {
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
            for (insert, seen) in [(one.insert, entered), (one.insert, teller.next_first(one).unwrap_or(one.insert))]
                .into_iter()
                .chain(teller.next_last(other).map(|last| (other.insert, last)))
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
        let values: Vec<String> = stays.iter().take(NAMED).map(|stay| self.argument(stay.insert)).collect();
        if let Some(first) = values.first() {
            let more = if stays.len() > NAMED { ", ..." } else { "" };
            draft.contents.push(Line::default().plain(format!(
                "{} would have to contain, the front first: {}{more}, and {first} again behind them",
                self.object(stays[0].insert),
                values.join(", ")
            )));
        }
    }

    fn covered(&self, draft: &mut Draft, removal: OperationId, by: &[Stay]) {
        let teller = &self.teller;
        for stay in by {
            let (entered, last) = (teller.inside_first(stay), teller.next_last(stay));
            let shown = last.or_else(|| stay.peeks.last().copied());
            for seen in [Some(entered), shown].into_iter().flatten().filter(|&seen| seen != stay.insert) {
                self.value(draft, stay.insert, seen);
            }
            if teller.returns(entered) < teller.calls(removal) {
                self.real_time(draft, entered, removal);
            }
            if let Some(last) = last
                && teller.returns(removal) < teller.calls(last)
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
            let (entered, last) = (teller.inside_first(other), teller.next_last(one));
            if let Some(last) = last
                && teller.returns(entered) < teller.calls(last)
            {
                self.real_time(draft, entered, last);
            }
        }
        draft.contents.push(self.needs(removal));
    }

    fn tangled(&self, draft: &mut Draft, stays: &[Stay]) {
        let mut operations: Vec<OperationId> = Vec::new();
        for stay in stays {
            operations.push(stay.insert);
            for &seen in stay.remove.iter().chain(&stay.peeks) {
                self.value(draft, stay.insert, seen);
                operations.push(seen);
            }
        }
        self.in_time(draft, operations);
        let values: Vec<String> = stays.iter().take(NAMED).map(|stay| self.argument(stay.insert)).collect();
        let more = if stays.len() > NAMED { ", ..." } else { "" };
        draft.contents.push(Line::default().plain(format!(
            "{} would have to contain {}{more} in an order in which each leaves before those below it",
            self.object(stays[0].insert),
            values.join(", ")
        )));
    }

    /// The order in time of these operations, without what follows from it.
    fn in_time(&self, draft: &mut Draft, mut operations: Vec<OperationId>) {
        operations.sort_unstable_by_key(|&id| self.teller.calls(id));
        operations.dedup();
        let is_before = |a: OperationId, b: OperationId| self.teller.returns(a) < self.teller.calls(b);
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
        let key = self.teller.operation(first.called).key;
        let node = |zone: &Zone| zone.write.map_or(Node::Init(LocationId(key.0)), Node::Operation);
        let value = |zone: &Zone| match zone.write {
            Some(write) => self.argument(write),
            None => self.teller.show(self.writer.history.initial_value(key)),
        };
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
                let line = self.writer.teller.long(from).plain(" was there before every operation");
                premises.push(draft.add(DraftEdge::basic(Kind::Initial, from, to, line)));
                sentence = sentence.plain("it was there before every operation");
            }
            let edge = before(draft, node(one), node(other), sentence, premises);
            draft.circle.push(edge);
        }
        let (a, b) = (value(first), value(second));
        draft.contents.push(Line::default().plain(format!(
            "{} would have to contain {a}, then {b}, and then {a} again, and {a} was there only once",
            self.object(first.called)
        )));
    }

    fn stuck(&self, draft: &mut Draft, id: OperationId) {
        let mut operations = self.teller.up_to_return(id);
        if operations.len() > PAIRS {
            operations = self.teller.open_at_return(id);
        }
        draft.core.extend(operations.iter().copied().map(Node::Operation));
        self.in_time(draft, operations);
        draft.title = self.teller.no_order_is_left(id);
        draft.contents.push(self.needs(id));
        let Some(possible) = possible_contents(self.writer.history, id, TRIED) else { return };
        draft.contents.extend(self.named(id, &possible));
        if possible.iter().any(|possible| possible.allows) {
            let line = Line::default().plain("where it allows ").append(self.short(id)).plain(" to return that, ");
            draft.contents.push(line.plain("no order is left for what others returned"));
        }
    }

    /// The first operation of a core for whose result the object never contains what it would have to.
    fn starved(&self, draft: &mut Draft, core: &Core) {
        let history = self.writer.history;
        if history.operations().len() > PAIRS {
            return;
        }
        let mut operations = core.operations();
        operations.sort_by_key(|&id| (self.teller.returns(id), id));
        operations.dedup();
        for id in operations.into_iter().filter(|&id| self.teller.returns(id) != History::NEVER) {
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
        let history = self.writer.history;
        let order = match history.object() {
            Object::Queue => ", the front first",
            Object::Stack => ", the top last",
            _ => "",
        };
        let contents = |possible: &Possible| {
            let shown: Vec<String> = possible.contents.iter().map(|piece| piece.show(history)).collect();
            match &shown[..] {
                [] => "nothing".to_owned(),
                _ if history.object() == Object::KeyValue => format!("`{}`", shown.concat()),
                _ => shown.join(", "),
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
        let operation = self.teller.operation(id);
        let (argument, result) = (self.teller.show(operation.argument), self.teller.show(operation.result));
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
            (Method::Peek, _) => match self.writer.history.object() {
                Object::Queue => format!("{object} would have to contain {result} in front"),
                Object::Stack => format!("{object} would have to contain {result} on top"),
                _ => format!("{object} would have to contain {result}, and nothing larger"),
            },
            (Method::Read | Method::Rmw | Method::Get | Method::ReadAll, _) => {
                format!("{object} would have to contain {result}")
            }
            (Method::Cas, result) => {
                let expected = self.writer.history.expected(id).map_or_else(String::new, |it| self.teller.show(it));
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

fn basic(draft: &mut Draft, kind: Kind, from: OperationId, to: OperationId, sentence: Line) -> usize {
    let (from, to) = (Node::Operation(from), Node::Operation(to));
    draft.add(DraftEdge::basic(kind, from, to, sentence))
}

fn before(draft: &mut Draft, from: Node, to: Node, sentence: Line, premises: Vec<usize>) -> usize {
    draft.add(DraftEdge::derived(Kind::Before, from, to, sentence, premises))
}
