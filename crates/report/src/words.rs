//! The wording of an explanation.

use certificate::{Derivation, Edge, Evidence, Model, Node, Rule, Step};
use history::performed::Performed;
use history::{History, KeyId, OperationId, ProcessId, visible};

use crate::c11;
use crate::hint;
use crate::object;
use crate::outline::Outline;
use crate::text::{self, Line, Style};
use crate::transaction;

/// How many rows a chain shows at most. A longer chain is cut in the middle.
const ROWS: usize = 40;
/// How many derived steps are shown at most. The others are only in the certificate.
const STEPS: usize = 24;
/// How many lemmas are shown at most, besides the last. The others are only in the certificate.
const LEMMAS: usize = 8;

/// Says why a history violates a model, in lines without a newline. Evidence for `consistent` gives no lines.
///
/// ```text
/// stale read: line 4 [1] r x 0 returns the initial value of x, which line 1 [0] w x 1 had overwritten:
///   line 1  [0] w x 1
///   line 2  [0] w y 1  later in thread 0
///   line 3  [1] r y 1  reads from line 2
///   line 4  [1] r x 0  later in thread 1
/// ```
pub fn explain(history: &History, model: Model, evidence: &Evidence) -> Vec<Line> {
    // The observed history has the reads of final values as operations, which stand on no line.
    let history = &*history.observed();
    let teller = Teller { history };
    match evidence {
        Evidence::ThinAir(read) => {
            let mut lines = vec![teller.thin_air(*read)];
            lines.extend(hint::initial_value(history));
            lines
        }
        Evidence::Cycle(derivation) => teller.c11(model, derivation).unwrap_or_else(|| teller.cycle(model, derivation)),
        Evidence::Refutation(lemmas) => teller.refutation(model, lemmas),
        Evidence::DecideAgain if model == Model::Sra => vec![c11::no_order()],
        Evidence::Core(core) => {
            let mut lines = object::explain(history, core);
            lines.extend(hint::initial_value(history));
            lines
        }
        Evidence::Constraints(cycle) => teller.constraints(cycle),
        Evidence::Cases(cases) => teller.cases(model, cases),
        Evidence::Transactions(evidence) => transaction::explain(history, evidence),
        Evidence::Interleaving(_)
        | Evidence::MemoryOrder(_)
        | Evidence::WriteOrder(_)
        | Evidence::ViewOrders(_)
        | Evidence::ModificationOrders(_)
        | Evidence::DecideAgain
        | Evidence::Linearizations(_)
        | Evidence::Pairs(_)
        | Evidence::Sources(..) => Vec::new(),
    }
}

/// The class of an edge of the constraint graph between two operations of one location, the first performed earlier, in
/// the words of Condon and Hu (*Automatable Verification of Sequential Consistency*, 2001): a load inherits from the
/// last store; stores are in store order; a load is forced before a later store. The fourth class is program order.
pub(crate) fn constraint(performed: &[Performed], first: OperationId, second: OperationId) -> &'static str {
    let (Some(one), Some(other)) = (performed.get(first.index()), performed.get(second.index())) else {
        return "conflict";
    };
    let between = performed.get(first.index() + 1..second.index()).unwrap_or_default();
    let is_last = !between.iter().any(|store| store.kind.writes() && store.conflicts(one));
    match (one.kind.writes(), other.kind.reads()) {
        (true, true) if is_last => "inheritance edge",
        (true, _) if other.kind.writes() => "store order edge",
        (true, _) => "store order edges, then an inheritance edge",
        (false, _) => "forced edge",
    }
}

/// Whether both are of one thread, and the first comes first in its program order.
pub(crate) fn performed_in_order(performed: &[Performed], first: OperationId, second: OperationId) -> bool {
    match (performed.get(first.index()), performed.get(second.index())) {
        (Some(first), Some(second)) => first.thread == second.thread && first.index < second.index,
        _ => false,
    }
}

/// The heading of a lemma, after what it supposes.
pub(crate) fn lemma_heading(supposes_nothing: bool) -> Line {
    let rest = if supposes_nothing { "in any case, each of these" } else { "then each of these" };
    Line::default().plain(format!("{rest} must come before the next, in a circle:"))
}

pub(crate) struct Teller<'a> {
    pub(crate) history: &'a History,
}

/// One row of a chain: an operation, and why it comes after the row above.
struct Row {
    node: Node,
    reason: String,
}

impl Teller<'_> {
    fn operation(&self, id: OperationId) -> String {
        text::operation(self.history, id)
    }

    /// `line 3`, or `the end` for the read of a final value.
    fn place(&self, id: OperationId) -> String {
        self.history.place(id)
    }

    pub(crate) fn thread(&self, process: ProcessId) -> String {
        format!("thread {}", self.history.process_name(process))
    }

    pub(crate) fn initial(&self, key: KeyId) -> String {
        let name = self.history.key_name(key);
        if name.is_empty() {
            "the initial value".to_owned()
        } else {
            format!("the initial value of {}", visible(&name))
        }
    }

    /// `line 3` or `the initial value of x`.
    pub(crate) fn short(&self, node: Node) -> Line {
        match node {
            Node::Init(location) => Line::default().with(Style::Operation, self.initial(KeyId(location.0))),
            Node::Operation(id) => Line::default().place(id, self.place(id)),
        }
    }

    /// `line 3 [0] w x 1` or `the initial value of x`.
    pub(crate) fn long(&self, node: Node) -> Line {
        match node {
            Node::Init(_) => self.short(node),
            Node::Operation(id) => self.short(node).plain(" ").with(Style::Operation, self.operation(id)),
        }
    }

    pub(crate) fn thin_air(&self, read: OperationId) -> Line {
        let operation = self.history.operation(read);
        let value = match self.history.expected(read) {
            Some(expected) => self.history.show(expected),
            None => self.history.show(operation.result),
        };
        let key = self.history.key_name(operation.key);
        let place = if key.is_empty() { String::new() } else { format!(" to {key}") };
        let initial = self.history.show(self.history.initial_value(operation.key));
        Line::default()
            .with(Style::Heading, "thin-air read: ")
            .append(self.long(Node::Operation(read)))
            .plain(format!(" returns {value}, which nobody wrote{place} (the initial value is {initial})"))
    }

    pub(crate) fn cycle(&self, model: Model, derivation: &Derivation) -> Vec<Line> {
        let outline = Outline::new(self.history, model, derivation);
        if let Some(lines) = self.reads_itself(&outline).or_else(|| self.stale_read(&outline)) {
            return lines;
        }
        let mut lines = vec![self.circle_heading(model, &outline)];
        lines.extend(self.circle(model, &outline));
        lines
    }

    /// A circle of program order and of the order in which operations were performed.
    pub(crate) fn constraints(&self, cycle: &[OperationId]) -> Vec<Line> {
        let heading = Line::default()
            .with(Style::Heading, "performed out of order: ")
            .plain("each of these must come before the next, in a circle:");
        let first = cycle.iter().copied().min().into_iter();
        let turn = cycle.iter().position(|&id| first.clone().eq([id])).unwrap_or(0);
        let mut turned: Vec<OperationId> = cycle.to_vec();
        turned.rotate_left(turn);
        turned.extend(first);
        let performed = Performed::from_history(self.history).unwrap_or_default();
        let mut rows: Vec<Row> = Vec::with_capacity(turned.len());
        for (at, &id) in turned.iter().enumerate() {
            let process = self.history.operation(id).process;
            let reason = match at.checked_sub(1).map(|before| turned[before]) {
                None => String::new(),
                Some(before) if performed_in_order(&performed, before, id) => {
                    format!("later in {}", self.thread(process))
                }
                Some(before) => {
                    let class = constraint(&performed, before, id);
                    format!("performed later on the same location ({class})")
                }
            };
            rows.push(Row { node: Node::Operation(id), reason });
        }
        let mut lines = vec![heading];
        lines.extend(self.table(&rows, 2));
        lines
    }

    /// The lemmas: what each supposes, and the circle that follows from it.
    fn refutation(&self, model: Model, lemmas: &[Derivation]) -> Vec<Line> {
        let mut lines = vec![
            Line::default()
                .with(
                    Style::Heading,
                    match model {
                        Model::Sc => "no interleaving explains all reads: ",
                        Model::Sra => "no order of the writes agrees with what happens before and with atomicity: ",
                        _ => "no order in which writes reach memory explains all reads: ",
                    },
                )
                .plain("whichever way these writes are ordered, a circle follows"),
        ];
        for (at, lemma) in lemmas.iter().enumerate() {
            if at == LEMMAS && lemmas.len() > LEMMAS + 1 {
                let more = lemmas.len() - LEMMAS - 1;
                lines.push(
                    Line::indented(2).plain(format!("... and {more} more suppositions, which the certificate holds")),
                );
            }
            if at >= LEMMAS && at + 1 < lemmas.len() {
                continue;
            }
            let mut line = Line::indented(2).with(Style::Reason, format!("[{}]", at + 1)).plain(" ");
            let supposed: Vec<&Step> = lemma.steps.iter().filter(|step| step.rule == Rule::Assumed).collect();
            for (at, step) in supposed.iter().enumerate() {
                line = line
                    .plain(if at == 0 { "suppose that " } else { ", and that " })
                    .append(self.long(step.from))
                    .plain(" comes before ")
                    .append(self.long(step.to));
            }
            let joint = if supposed.is_empty() { "" } else { "; " };
            lines.push(line.plain(joint).append(lemma_heading(supposed.is_empty())));
            let outline = Outline::new(self.history, model, lemma);
            lines.extend(self.circle(model, &outline).into_iter().map(|line| Line::indented(2).append(line)));
        }
        lines
    }

    /// The circle, and the reasons of its derived edges.
    fn circle(&self, model: Model, outline: &Outline) -> Vec<Line> {
        let mut lines = self.chain(outline, &outline.cycle, 2);
        for (at, step) in outline.steps.iter().enumerate().take(STEPS) {
            lines.extend(self.step(model, outline, at, step));
        }
        if outline.steps.len() > STEPS {
            let more = outline.steps.len() - STEPS;
            lines.push(Line::indented(2).plain(format!("... and {more} more steps, which the certificate holds")));
        }
        lines
    }

    fn circle_heading(&self, model: Model, outline: &Outline) -> Line {
        let view = outline.steps.iter().find_map(|step| match step.rule {
            Rule::Conflict { view, .. } => view,
            _ => None,
        });
        let (heading, rest) = match view {
            _ if outline.steps.is_empty() => {
                ("causality in a circle: ".to_owned(), "each of these comes before the next")
            }
            Some(process) if model == Model::Cm => (
                format!("no order explains all reads of {}: ", self.thread(process)),
                "for it, each of these must come before the next, in a circle",
            ),
            _ => (
                "no one order of the writes explains all reads: ".to_owned(),
                "each of these must come before the next, in a circle",
            ),
        };
        Line::default().with(Style::Heading, heading).plain(format!("{rest}:"))
    }

    /// An rmw (read-modify-write) that reads the value that it writes itself.
    fn reads_itself(&self, outline: &Outline) -> Option<Vec<Line>> {
        let [Edge::Rf(from, to)] = outline.cycle[..] else {
            return None;
        };
        let line = Line::default().with(Style::Heading, "read of its own write: ");
        (from == to).then(|| vec![line.append(self.long(to)).plain(" reads the value that only it writes itself")])
    }

    /// The most frequent case: a cycle with a single derived edge, which says that a read comes too late for the value
    /// that it returns. Then three operations stand in one causal chain: the write of that value, a write that
    /// overwrote it, and the read.
    fn stale_read(&self, outline: &Outline) -> Option<Vec<Line>> {
        let at = outline.cycle.iter().position(|edge| matches!(edge, Edge::Derived(_)))?;
        let [Step { rule: Rule::Conflict { read, .. }, from, to, path }] = &outline.steps[..] else {
            return None;
        };
        let mut chain = outline.cycle.clone();
        chain.rotate_left(at + 1);
        chain.pop();
        if chain.iter().any(|edge| matches!(edge, Edge::Derived(_))) {
            return None;
        }
        chain.extend_from_slice(path);
        // Everybody knows that the initial value comes first, so its edge is not shown.
        if matches!(chain.first(), Some(Edge::Po(Node::Init(_), _))) {
            chain.remove(0);
        }
        let heading = Line::default()
            .with(Style::Heading, "stale read: ")
            .append(self.long(*read))
            .plain(match to {
                Node::Init(_) => " returns ",
                Node::Operation(_) => " returns the value of ",
            })
            .append(self.long(*to))
            .plain(", which ")
            .append(self.long(*from))
            .plain(" had overwritten:");
        let mut lines = vec![heading];
        lines.extend(self.chain(outline, &chain, 2));
        Some(lines)
    }

    /// The reason of a derived edge. The two ends of the edge stand in a table above.
    fn step(&self, model: Model, outline: &Outline, at: usize, step: &Step) -> Vec<Line> {
        let mut line = Line::indented(2).with(Style::Reason, format!("({})", at + 1)).plain(" ");
        line = line.append(self.short(step.from)).plain(" must come before ").append(self.short(step.to)).plain(": ");
        // A path of one edge in program order needs no table: the sentence itself names it.
        let (is_told, same_thread) = match step.path[..] {
            [Edge::Po(Node::Operation(_), Node::Operation(id))] => {
                (true, format!(" in {}", self.thread(self.history.operation(id).process)))
            }
            [Edge::Po(..)] => (true, String::new()),
            _ if matches!(step.rule, Rule::Assumed | Rule::Lemma(_)) => (true, String::new()),
            _ => (false, String::new()),
        };
        line = match step.rule {
            Rule::Conflict { read, view } => {
                // An edge without derived premises holds for all threads. Under causal memory, every edge holds in the
                // view of one thread, which the heading has named.
                let is_derived = step.path.iter().any(|edge| matches!(edge, Edge::Derived(_)));
                let view = view.filter(|_| is_derived && model != Model::Cm);
                let whom = view.map_or(String::new(), |process| format!(", as {} sees it", self.thread(process)));
                line.append(self.long(read))
                    .plain(" reads from ")
                    .append(self.short(step.to))
                    .plain(" and comes after ")
                    .append(self.short(step.from))
                    .plain(same_thread + &whom)
            }
            Rule::Coherence { .. } | Rule::Atomicity => line.plain("by coherence"),
            Rule::Assumed => line.plain("as supposed"),
            Rule::Lemma(number) => {
                let given: Vec<String> = step
                    .path
                    .iter()
                    .filter_map(
                        |edge| if let Edge::Derived(step) = edge { Some(format!("({})", step + 1)) } else { None },
                    )
                    .collect();
                let given = if given.is_empty() { String::new() } else { format!(" with {}", given.join(" and ")) };
                line.plain(format!("[{}] refutes the opposite{given}", number + 1))
            }
            Rule::StoreOrder => line.plain("both write the same location, and the first comes before the second"),
            Rule::ReadWrite => {
                let source = step.path.first().map_or(step.from, |&edge| outline.ends(edge).0);
                line.append(self.short(step.from))
                    .plain(" reads ")
                    .append(self.long(source))
                    .plain(", which ")
                    .append(self.short(step.to))
                    .plain(" overwrites".to_owned() + &same_thread)
            }
        };
        let mut lines = vec![line];
        if !is_told {
            lines.extend(self.chain(outline, &step.path, 6));
        }
        lines
    }

    /// A path as a table.
    pub(crate) fn chain(&self, outline: &Outline, path: &[Edge], indent: usize) -> Vec<Line> {
        let mut rows = Vec::with_capacity(path.len() + 1);
        if let Some(&first) = path.first() {
            rows.push(Row { node: outline.ends(first).0, reason: String::new() });
        }
        rows.extend(path.iter().map(|&edge| self.row(outline, edge)));
        self.table(&rows, indent)
    }

    fn row(&self, outline: &Outline, edge: Edge) -> Row {
        let (from, to) = outline.ends(edge);
        let reason = match (edge, from, to) {
            (Edge::Po(..), Node::Operation(_), Node::Operation(id)) => {
                format!("later in {}", self.thread(self.history.operation(id).process))
            }
            (Edge::Po(..), ..) => "the initial value comes first".to_owned(),
            (Edge::Rf(..), Node::Operation(id), _) => format!("reads from {}", self.place(id)),
            (Edge::Rf(..), ..) => "reads it".to_owned(),
            (Edge::Sw { release, write, read, acquire }, ..) => self.synchronisation(release, write, read, acquire),
            (Edge::Derived(step), ..) => format!("by ({})", step + 1),
        };
        Row { node: to, reason }
    }

    /// `acquires line 3`, and through which write and read, if these are other operations.
    pub(crate) fn synchronisation(&self, release: Node, write: Node, read: Node, acquire: Node) -> String {
        let write = (write != release).then(|| format!("the write of {}", self.short(write)));
        let read = (read != acquire).then(|| format!("the read of {}", self.short(read)));
        let through: Vec<String> = write.into_iter().chain(read).collect();
        let through = if through.is_empty() { String::new() } else { format!(", through {}", through.join(" and ")) };
        format!("acquires {}{through}", self.short(release))
    }

    fn table(&self, rows: &[Row], indent: usize) -> Vec<Line> {
        let texts: Vec<(String, String)> = rows
            .iter()
            .map(|row| match row.node {
                Node::Init(location) => (String::new(), self.initial(KeyId(location.0))),
                Node::Operation(id) => (self.place(id), self.operation(id)),
            })
            .collect();
        let width = |text: &String| text.chars().count();
        let places = texts.iter().map(|(place, _)| width(place)).max().unwrap_or(0);
        let operations = texts.iter().map(|(_, operation)| width(operation)).max().unwrap_or(0);
        let mut lines = Vec::with_capacity(rows.len());
        for (at, (row, (place, operation))) in rows.iter().zip(&texts).enumerate() {
            if rows.len() > ROWS && (ROWS / 2..rows.len() - ROWS / 2).contains(&at) {
                if at == ROWS / 2 {
                    lines.push(Line::indented(indent).plain(format!("... {} more ...", rows.len() - ROWS)));
                }
                continue;
            }
            let place = format!("{place:places$}");
            let mut line = match row.node {
                Node::Init(_) => Line::indented(indent).with(Style::Place, place),
                Node::Operation(id) => Line::indented(indent).place(id, place),
            };
            line = line.plain("  ").with(Style::Operation, operation);
            if !row.reason.is_empty() {
                line = line.plain(" ".repeat(operations - width(operation) + 2)).with(Style::Reason, &row.reason);
            }
            lines.push(line);
        }
        lines
    }
}
