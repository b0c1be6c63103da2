//! Lanes: a small history as a drawing for the terminal, a column for each thread, time down.
//!
//! Without calls and returns, an operation is a point on the line of its thread, and an arrow leads to it from the
//! thread that it depends on:
//!
//! ```text
//! alice              bob
//! ● w row 1 :3       │
//! ● w flag 1 :4      │
//! ├────── rf :4 ────▶● r flag 1 :5
//! │◀╌╌╌╌╌ rw :3 ╌╌╌╌╌● r row 0 :6
//! ```
//!
//! A whole line leads down, to the operation of its row: what the history says. A broken line leads up, from the
//! operation of its row to the one that the label names: what follows. So a circle can be seen. The order of the rows
//! keeps the order of each thread, and a read comes after its write, as far as that is possible.
//!
//! A transaction is a box: a row with its name, to which the arrows lead, and a row for each of its operations.
//!
//! With calls and returns, every row is an event. An operation lasts from the row of its call to that of its return.
//!
//! If the drawing is wider than the terminal, texts are cut; if that does not help, a lane is two columns wide, and the
//! texts stand to the right of all lanes. No row is wider than the given width, unless a single text is.

pub(crate) mod canvas;
mod narrow;
mod wide;

use std::collections::{BTreeMap, BTreeSet};

use format::render_action;
use history::{History, OperationId, Outcome, ProcessId, Status, visible};

use crate::story::{EdgeKind, Story, StoryEdge};
use crate::text::{self, Line, Style};

/// The least width that is drawn for.
const LEAST: usize = 40;

/// What an item is.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Shape {
    /// An operation by itself.
    Alone,
    /// The name of a transaction.
    Head,
    /// An operation of a transaction.
    Inner,
    /// The last operation of a transaction.
    Last,
}

/// An operation in its lane, or the name of a transaction.
struct Item {
    lane: usize,
    shape: Shape,
    text: String,
    /// `:3`, or empty if it stands on no line.
    place: String,
    /// Whether it is one of those that clash.
    is_core: bool,
    is_pending: bool,
}

impl Item {
    fn style(&self) -> Style {
        if self.is_core { Style::Clash } else { Style::Operation }
    }

    /// The mark of an operation without call and return, or of a row of a box.
    fn mark(&self) -> &'static str {
        match (self.shape, self.is_core) {
            (Shape::Alone, true) => "●",
            (Shape::Alone, false) => "○",
            (Shape::Head, true) => "┏",
            (Shape::Head, false) => "┌",
            (Shape::Inner, true) => "┃",
            (Shape::Inner, false) => "│",
            (Shape::Last, true) => "┗",
            (Shape::Last, false) => "└",
        }
    }

    /// Whether there may be room above it.
    fn begins(&self) -> bool {
        matches!(self.shape, Shape::Alone | Shape::Head)
    }
}

/// What a row shows.
#[derive(Copy, Clone)]
enum Row {
    /// An operation without call and return.
    Point(usize),
    /// The call of an operation.
    Call(usize),
    /// The return of an operation.
    Return(usize),
}

impl Row {
    fn item(self) -> usize {
        match self {
            Self::Point(item) | Self::Call(item) | Self::Return(item) => item,
        }
    }
}

/// An edge between two lanes.
struct Arrow {
    /// The item whose row shows it.
    row: usize,
    /// The lane that it leads to or comes from.
    other: usize,
    /// Whether it leads away from the operation of its row, to one above.
    leads_up: bool,
    is_derived: bool,
    label: String,
}

/// What is drawn.
struct Scene {
    lanes: Vec<String>,
    items: Vec<Item>,
    rows: Vec<Row>,
    arrows: Vec<Arrow>,
    has_calls: bool,
    /// The item to which the arrows of each operation lead: its own, or the name of its transaction.
    ends: Vec<usize>,
}

/// Draws a history and its story, in at most `width` columns. The story is about this history.
pub fn draw(history: &History, story: &Story, width: usize) -> Vec<Line> {
    let width = width.max(LEAST);
    let scene = Scene::new(&history.observed(), story);
    let mut lines = Vec::new();
    let initial: Vec<&str> = story.nodes.iter().filter(|it| it.thread.is_none()).map(|it| it.action.as_str()).collect();
    if !initial.is_empty() {
        let line = Line::default().with(Style::Reason, "at first: ");
        lines.push(line.with(Style::Operation, canvas::cut(&initial.join(", "), width - 10)));
    }
    lines.extend(scene.wide(width).unwrap_or_else(|| scene.narrow(width)));
    lines
}

impl Scene {
    fn new(history: &History, story: &Story) -> Self {
        let core: BTreeSet<OperationId> = story
            .parts
            .iter()
            .flat_map(|part| part.core.iter().flat_map(|&node| story.nodes[node].operations.iter().copied()))
            .collect();
        let ids: Vec<OperationId> = (0..history.operations().len() as u32).map(OperationId).collect();
        let mut processes: Vec<_> = ids.iter().map(|&id| history.operation(id).process).collect();
        processes.sort_unstable();
        processes.dedup();
        let shown = |text: &str| visible(text).into_owned();
        let mut items: Vec<Item> = ids
            .iter()
            .map(|&id| {
                let operation = history.operation(id);
                Item {
                    lane: processes.binary_search(&operation.process).unwrap_or(0),
                    shape: Shape::Alone,
                    text: shown(&render_action(history, id)),
                    place: match operation.line {
                        _ if operation.is_at_the_end() => ":end".to_owned(),
                        0 => String::new(),
                        line => format!(":{line}"),
                    },
                    is_core: core.contains(&id),
                    is_pending: matches!(operation.outcome, Outcome::Info | Outcome::Pending),
                }
            })
            .collect();
        let lanes = processes.iter().map(|&process| shown(&history.process_name(process))).collect();
        let has_calls = history.has_calls() && !history.is_of_transactions();
        let mut ends: Vec<usize> = (0..items.len()).collect();
        if history.is_of_transactions() {
            (items, ends) = boxes(history, items, |id| processes.binary_search(&id).ok());
        }
        let mut scene = Self { lanes, items, rows: Vec::new(), arrows: Vec::new(), has_calls, ends };
        if has_calls {
            scene.rows = events(history);
        } else {
            scene.rows = scene.points(story);
            scene.draw_arrows(story);
        }
        scene
    }

    /// The operations, each thread in its order, and reads after their writes where that is possible. Under
    /// `sc-observed` they stay in the order in which they were performed.
    fn points(&self, story: &Story) -> Vec<Row> {
        let count = self.items.len();
        if story.model == model::Model::ScObserved.name() {
            return (0..count).map(Row::Point).collect();
        }
        // Where each operation or box begins.
        let begins: Vec<usize> = (0..count).filter(|&at| self.items[at].begins()).collect();
        let number = |item: usize| begins.partition_point(|&begin| begin < item);
        let mut edges: Vec<(usize, usize)> = Vec::new();
        let mut last: Vec<Option<usize>> = vec![None; self.lanes.len()];
        for (at, &begin) in begins.iter().enumerate() {
            edges.extend(last[self.items[begin].lane].replace(at).map(|before| (before, at)));
        }
        let reads = self.basic(story).filter(|&(_, _, kind)| matches!(kind, EdgeKind::ReadsFrom | EdgeKind::WriteRead));
        edges.extend(reads.map(|(from, to, _)| (number(from), number(to))));
        let end = |at: usize| begins.get(at + 1).copied().unwrap_or(count);
        down(begins.len(), edges).into_iter().flat_map(|at| begins[at]..end(at)).map(Row::Point).collect()
    }

    /// The edges of the circle, and what the history says itself, as arrows between lanes.
    fn draw_arrows(&mut self, story: &Story) {
        let row: BTreeMap<usize, usize> = self.rows.iter().enumerate().map(|(at, row)| (row.item(), at)).collect();
        let mut edges: Vec<(usize, usize, EdgeKind)> = Vec::new();
        for part in &story.parts {
            let circle = part.circle.iter().map(|&edge| &part.edges[edge]);
            edges.extend(circle.filter_map(|edge| self.arrow(story, edge)));
        }
        edges.extend(self.basic(story));
        let mut seen: BTreeSet<(usize, usize)> = BTreeSet::new();
        for (from, to, kind) in edges {
            let [one, other] = [from, to].map(|item| self.items[item].lane);
            let is_supposed = matches!(kind, EdgeKind::Supposed | EdgeKind::Refuted) && story.parts.len() > 1;
            if one == other || is_supposed || !seen.insert((from, to)) {
                continue;
            }
            let leads_up = row[&from] > row[&to];
            let (row, lane, named) = if leads_up { (from, other, to) } else { (to, one, from) };
            let named = &self.items[named];
            let name = if named.shape == Shape::Head { named.text.split(' ').next() } else { None };
            let label = format!("{} {}", kind.label(), name.unwrap_or(&named.place));
            let label = label.trim_end().to_owned();
            self.arrows.push(Arrow { row, other: lane, leads_up, is_derived: !kind.is_basic(), label });
        }
        self.arrows.sort_by_key(|arrow| arrow.leads_up);
    }

    /// The items and the kind of an edge; none if it begins or ends at an initial value.
    fn arrow(&self, story: &Story, edge: &StoryEdge) -> Option<(usize, usize, EdgeKind)> {
        let item = |node: usize| {
            let first = story.nodes[node].operations.first()?;
            self.ends.get(first.index()).copied()
        };
        Some((item(edge.from)?, item(edge.to)?, edge.kind))
    }

    /// What the history says itself about two operations of different threads.
    fn basic(&self, story: &Story) -> impl Iterator<Item = (usize, usize, EdgeKind)> {
        let edges = story.parts.iter().flat_map(|part| &part.edges);
        let is_basic =
            |edge: &&StoryEdge| matches!(edge.kind, EdgeKind::ReadsFrom | EdgeKind::Performed | EdgeKind::WriteRead);
        edges.filter(is_basic).filter_map(|edge| self.arrow(story, edge))
    }

    /// The arrows that the row of this item shows.
    fn arrows_of(&self, item: usize) -> impl Iterator<Item = &Arrow> {
        self.arrows.iter().filter(move |arrow| arrow.row == item)
    }

    /// For each lane, the first and the last row that has something to do with it.
    fn spans(&self) -> Vec<[usize; 2]> {
        let mut spans = vec![[usize::MAX, 0]; self.lanes.len()];
        for (at, row) in self.rows.iter().enumerate() {
            let item = row.item();
            let lanes = self.arrows_of(item).map(|arrow| arrow.other).chain([self.items[item].lane]);
            for lane in lanes {
                let [first, last] = spans[lane];
                spans[lane] = [first.min(at), last.max(at)];
            }
        }
        if self.has_calls {
            for item in self.items.iter().filter(|item| item.is_pending) {
                spans[item.lane][1] = self.rows.len().saturating_sub(1);
            }
        }
        spans
    }
}

/// An order of `0..count` in which edges lead down, and the smallest that can come next comes next. Where all that is
/// left is in circles, the smallest goes on.
pub(crate) fn down(count: usize, edges: Vec<(usize, usize)>) -> Vec<usize> {
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut waits = vec![0usize; count];
    for (from, to) in edges {
        after[from].push(to);
        waits[to] += 1;
    }
    let mut ready: BTreeSet<usize> = (0..count).filter(|&at| waits[at] == 0).collect();
    let mut left: BTreeSet<usize> = (0..count).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(next) = ready.pop_first().or_else(|| left.first().copied()) {
        left.remove(&next);
        order.push(next);
        for &to in &after[next] {
            waits[to] = waits[to].saturating_sub(1);
            if waits[to] == 0 && left.contains(&to) {
                ready.insert(to);
            }
        }
    }
    order
}

/// Puts operations into the boxes of their transactions. Returns the items, and for each operation the item that is the
/// name of its transaction.
fn boxes(
    history: &History,
    operations: Vec<Item>,
    lane: impl Fn(ProcessId) -> Option<usize>,
) -> (Vec<Item>, Vec<usize>) {
    let mut items = Vec::with_capacity(operations.len() + history.transaction_count());
    let mut ends = Vec::with_capacity(operations.len());
    let mut operations = operations.into_iter();
    for (id, transaction) in history.transactions() {
        let head = items.len();
        // A session without operations has no lane, and no edge needs it.
        let Some(lane) = lane(transaction.session) else { continue };
        let ended = match transaction.status {
            Status::Committed => String::new(),
            status => format!(" {}", status.word()),
        };
        let place = if transaction.line == 0 { String::new() } else { format!(":{}", transaction.line) };
        let text = format!("{}{ended}", text::transaction(history, id));
        let is_pending = transaction.status == Status::Indeterminate;
        items.push(Item { lane, shape: Shape::Head, text, place, is_core: false, is_pending });
        let count = history.operation_range(id).len();
        ends.extend(std::iter::repeat_n(head, count));
        for (at, mut operation) in operations.by_ref().take(count).enumerate() {
            operation.shape = if at + 1 == count { Shape::Last } else { Shape::Inner };
            if operation.place == items[head].place {
                operation.place.clear();
            }
            items[head].is_core |= operation.is_core;
            items.push(operation);
        }
        // A box is drawn in one style.
        let is_core = items[head].is_core;
        items[head..].iter_mut().for_each(|item| item.is_core = is_core);
    }
    (items, ends)
}

/// The calls and the returns, in the order in time.
fn events(history: &History) -> Vec<Row> {
    let mut events: Vec<(u32, Row)> = Vec::new();
    for (at, &[call, ret]) in history.moments().iter().enumerate() {
        if history.operations()[at].outcome == Outcome::Instant {
            events.push((call, Row::Point(at)));
            continue;
        }
        events.push((call, Row::Call(at)));
        if ret != History::NEVER {
            events.push((ret, Row::Return(at)));
        }
    }
    events.sort_by_key(|&(moment, _)| moment);
    events.into_iter().map(|(_, row)| row).collect()
}
