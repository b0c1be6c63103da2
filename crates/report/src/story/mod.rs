//! The story of a verdict, as data: which operations it is about, and why each edge between them holds.
//!
//! A [`Story`] is what the terminal, the drawings and the page share. It says no more than the evidence of the
//! certificate, and in the order in which a person can follow it. It can be serialised.
//!
//! For a violation there are parts. Most violations have one; a search has one for each supposition that it refutes.
//! A part has edges: "this comes before that". Each edge has a kind, a sentence, and its premises, which are earlier
//! edges of the same part. So every edge unfolds, step by step, down to what the history itself says: the order of a
//! thread, which write a read returned, which call came after which return. Most parts have a circle of edges, which is
//! the contradiction. The others contradict what a node says: a value that nobody wrote, a result that no order allows.
//!
//! For a consistent history there is the witness: orders of operations, and what each step changes.
//!
//! The invariants, which tests hold for every kind of evidence:
//! - A premise of an edge stands before the edge.
//! - An edge without premises is of a [basic kind](Kind::is_basic), or is refuted by an earlier part.
//! - The edges of a circle follow each other, and the last leads to where the first begins.

mod derivation;
mod object;
mod transaction;
mod witness;

use std::collections::HashMap;

use certificate::{Evidence, Model, Verdict};
use history::format::render_action;
use history::{History, KeyId, OperationId, Outcome, Value, visible};
use serde::Serialize;

use crate::hint;
use crate::text::{self, Line};
use crate::words::{self, Teller};

pub use witness::{Cell, CellKind, Change, Run, Step, Witness};

/// The story of a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Story {
    /// The name of the model.
    pub model: &'static str,
    /// `violation` or `consistent`.
    pub verdict: &'static str,
    /// What kind of evidence it tells.
    pub evidence: &'static str,
    /// The violation in one sentence. Empty if the history is consistent.
    pub heading: Line,
    /// The names of the threads of the nodes, in the order of the history.
    pub threads: Vec<String>,
    /// What the story is about, in the order of the history; initial values come first.
    pub nodes: Vec<Node>,
    /// Why it is a violation. The last part is the contradiction; the others prepare it.
    pub parts: Vec<Part>,
    /// Advice, such as a flag that may be missing.
    pub hints: Vec<Line>,
    /// Why it is consistent.
    pub witness: Option<Witness>,
}

/// An operation, an initial value, or several operations that are done as one, such as a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Node {
    /// The operations; none for an initial value. The number of an operation is its place in the history. Reads of
    /// final values have numbers beyond those of the history.
    pub operations: Vec<OperationId>,
    /// Its thread, as a number in [`Story::threads`]; none for an initial value.
    pub thread: Option<usize>,
    /// Where it stands: `line 3`. Empty for an initial value.
    pub place: String,
    /// The number of its line, if it stands on one.
    pub line: Option<u32>,
    /// What it does, without its thread: `r x 1`.
    pub action: String,
    /// The same with its thread: `[bob] r x 1`; `the initial value of x`.
    pub text: String,
    /// The location or the object; empty if there is only one.
    pub key: String,
    /// The value that it read or returned, else the one that it wrote or inserted.
    pub value: Option<String>,
    /// The moment of the call. Moments count the events of the history. None if no calls were recorded.
    pub call: Option<u32>,
    /// The moment of the return; none if no calls were recorded, or if it never returned.
    pub ret: Option<u32>,
    /// Whether it never returned.
    pub is_pending: bool,
}

/// Why an edge holds.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// Basic: the order of a thread.
    ProgramOrder,
    /// Basic: an initial value comes before all.
    Initial,
    /// Basic: a read, and the write that it returned.
    ReadsFrom,
    /// Basic: performed later on the same location (`sc-observed`).
    Performed,
    /// Basic: one returned before the other was called.
    RealTime,
    /// Basic: one returned the value that the other inserted or wrote.
    Value,
    /// Basic: the part supposes it.
    Supposed,
    /// Synchronisation: an acquire sees a release.
    Synchronises,
    /// A write before a read of another write comes before that write.
    Conflict,
    /// Two writes are stored in the order in which they happen.
    StoreOrder,
    /// A read comes before the write that overwrites what it read.
    ReadWrite,
    /// The modification order agrees with what happens before.
    Coherence,
    /// What a chain of read-modify-writes replaces stands together.
    Atomicity,
    /// The opposite was refuted by an earlier part.
    Refuted,
    /// One value was in the object before another, or one operation took effect before another.
    Before,
    /// Basic, of transactions: the order of a session.
    Session,
    /// Basic, of transactions: one ended before the other began.
    Ended,
    /// Basic, of transactions: one reads what the other wrote.
    WriteRead,
    /// Basic, of transactions: a list shows the version of one before that of the other.
    Version,
    /// Of transactions: the version of one must come before that of the other.
    VersionOrder,
    /// Of transactions: one reads a version that the other overwrites.
    AntiDependency,
}

impl Kind {
    /// The short name that drawings show.
    pub const fn label(self) -> &'static str {
        match self {
            Self::ProgramOrder => "po",
            Self::Initial => "init",
            Self::ReadsFrom => "rf",
            Self::Performed => "performed",
            Self::RealTime => "time",
            Self::Value => "value",
            Self::Supposed => "supposed",
            Self::Synchronises => "sw",
            Self::Conflict => "cf",
            Self::StoreOrder | Self::Version | Self::VersionOrder => "ww",
            Self::ReadWrite | Self::AntiDependency => "rw",
            Self::Coherence => "mo",
            Self::Atomicity => "atomic",
            Self::Refuted => "refuted",
            Self::Before => "before",
            Self::Session => "so",
            Self::Ended => "rt",
            Self::WriteRead => "wr",
        }
    }

    /// Whether the history itself, or a supposition, says it. Such an edge needs no premise.
    pub const fn is_basic(self) -> bool {
        matches!(
            self,
            Self::ProgramOrder
                | Self::Initial
                | Self::ReadsFrom
                | Self::Performed
                | Self::RealTime
                | Self::Value
                | Self::Supposed
                | Self::Session
                | Self::Ended
                | Self::WriteRead
                | Self::Version
        )
    }
}

/// One node comes before another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// The node that comes first, by its number in [`Story::nodes`].
    pub from: usize,
    /// The node that comes after it.
    pub to: usize,
    /// Why.
    pub kind: Kind,
    /// The short name that drawings show.
    pub label: &'static str,
    /// Why, in a sentence.
    pub sentence: Line,
    /// The edges that it follows from, by their numbers in [`Part::edges`]. They stand before this one.
    pub premises: Vec<usize>,
    /// The earlier part that refutes the opposite, by its number in [`Story::parts`].
    pub refuted_by: Option<usize>,
}

/// A contradiction, perhaps under suppositions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Default)]
pub struct Part {
    /// What it shows.
    pub title: Line,
    /// What it supposes. A part without suppositions holds in any case.
    pub supposes: Vec<Line>,
    /// Its edges.
    pub edges: Vec<Edge>,
    /// The edges that form a circle, by their numbers; none if there is no circle.
    pub circle: Vec<usize>,
    /// The nodes that contradict each other, by their numbers: those of the circle, or those of the core.
    pub core: Vec<usize>,
    /// The earlier parts that it uses besides those that its edges name.
    pub uses: Vec<usize>,
    /// For an object: what it would have to contain, and when.
    pub contents: Vec<Line>,
}

impl Story {
    /// The story of a verdict about a history. The evidence is that of a checker, or was verified.
    ///
    /// ```
    /// use certificate::{Evidence, Model, Verdict};
    /// use history::{History, OperationId};
    /// use report::Story;
    ///
    /// let history = History::parse("[0] w x 1\n[1] r x 7\n")?;
    /// let story = Story::new(&history, Model::Sc, Verdict::Violation, &Evidence::ThinAir(OperationId(1)));
    /// assert_eq!(story.nodes[story.parts[0].core[0]].text, "[1] r x 7");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(history: &History, model: Model, verdict: Verdict, evidence: &Evidence) -> Self {
        // The observed history has the reads of final values as operations, which stand on no line.
        let observed = &*history.observed();
        let mut story = Self {
            model: model.name(),
            verdict: verdict.name(),
            evidence: evidence.kind().name(),
            heading: Line::default(),
            threads: Vec::new(),
            nodes: Vec::new(),
            parts: Vec::new(),
            hints: Vec::new(),
            witness: None,
        };
        if verdict != Verdict::Violation {
            story.witness = Some(Witness::new(history, model, evidence));
            return story;
        }
        let told = words::explain(history, model, evidence);
        story.heading = told.into_iter().next().unwrap_or_default();
        if let Evidence::Transactions(evidence) = evidence {
            transaction::write(history, evidence, &mut story);
            return story;
        }
        let mut writer = Writer::new(observed, model);
        writer.violation(evidence);
        if matches!(evidence, Evidence::ThinAir(_) | Evidence::Core(_)) {
            story.hints.extend(hint::initial_value(observed));
        }
        writer.finish(&mut story);
        story
    }
}

/// Writes the parts of a story. Nodes are numbered in the end, when all are known.
struct Writer<'a> {
    teller: Teller<'a>,
    history: &'a History,
    model: Model,
    /// The source of each read, if the history says them all; made when the first edge needs it.
    sources: Option<HashMap<OperationId, certificate::Node>>,
    parts: Vec<Draft>,
}

/// A part whose nodes have no numbers yet.
#[derive(Default)]
struct Draft {
    title: Line,
    supposes: Vec<Line>,
    edges: Vec<DraftEdge>,
    /// The numbers of the basic edges.
    basic: HashMap<(certificate::Node, certificate::Node, Kind), usize>,
    circle: Vec<usize>,
    core: Vec<certificate::Node>,
    uses: Vec<usize>,
    contents: Vec<Line>,
}

struct DraftEdge {
    from: certificate::Node,
    to: certificate::Node,
    kind: Kind,
    sentence: Line,
    premises: Vec<usize>,
    refuted_by: Option<usize>,
    /// If the edge follows because a read of `to` comes after `from`: the edges that lead from `from` to that read.
    to_read: Vec<usize>,
}

impl DraftEdge {
    /// An edge that needs no premise.
    fn basic(kind: Kind, from: certificate::Node, to: certificate::Node, sentence: Line) -> Self {
        Self::derived(kind, from, to, sentence, Vec::new())
    }

    /// An edge that follows from others.
    fn derived(
        kind: Kind,
        from: certificate::Node,
        to: certificate::Node,
        sentence: Line,
        premises: Vec<usize>,
    ) -> Self {
        Self { from, to, kind, sentence, premises, refuted_by: None, to_read: Vec::new() }
    }
}

impl Draft {
    /// The number of this edge. If a basic edge is there already, it is not added again.
    fn add(&mut self, edge: DraftEdge) -> usize {
        let next = self.edges.len();
        if edge.kind.is_basic() {
            let number = *self.basic.entry((edge.from, edge.to, edge.kind)).or_insert(next);
            if number != next {
                return number;
            }
        }
        self.edges.push(edge);
        next
    }

    /// Drops the edges that neither the circle nor one of its premises needs.
    fn prune(&mut self) {
        let mut is_needed = vec![false; self.edges.len()];
        for &edge in &self.circle {
            is_needed[edge] = true;
        }
        // Premises stand before what follows from them.
        for at in (0..self.edges.len()).rev() {
            if is_needed[at] {
                for &premise in &self.edges[at].premises {
                    is_needed[premise] = true;
                }
            }
        }
        let mut numbers = vec![0; self.edges.len()];
        let needed = numbers.iter_mut().zip(&is_needed).filter(|(_, is_needed)| **is_needed);
        for (next, (number, _)) in needed.enumerate() {
            *number = next;
        }
        let mut needed = is_needed.iter();
        self.edges.retain(|_| needed.next().is_some_and(|&it| it));
        for edge in &mut self.edges {
            edge.to_read.clear();
        }
        let premises = self.edges.iter_mut().flat_map(|edge| &mut edge.premises);
        for edge in premises.chain(&mut self.circle) {
            *edge = numbers[*edge];
        }
        self.basic.clear();
    }

    fn nodes(&self) -> impl Iterator<Item = certificate::Node> {
        self.edges.iter().flat_map(|edge| [edge.from, edge.to]).chain(self.core.iter().copied())
    }
}

impl<'a> Writer<'a> {
    fn new(history: &'a History, model: Model) -> Self {
        Self { teller: Teller { history }, history, model, sources: None, parts: Vec::new() }
    }

    /// Numbers the nodes.
    fn finish(self, story: &mut Story) {
        let mut nodes: Vec<certificate::Node> = self.parts.iter().flat_map(Draft::nodes).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let number = |node| nodes.binary_search(&node).unwrap_or(0);
        let mut processes: Vec<history::ProcessId> = nodes.iter().filter_map(|&node| self.process(node)).collect();
        processes.sort_unstable();
        processes.dedup();
        story.threads =
            processes.iter().map(|&process| visible(&self.history.process_name(process)).into_owned()).collect();
        let thread = |node| self.process(node).and_then(|process| processes.binary_search(&process).ok());
        story.nodes = nodes.iter().map(|&node| self.node(node, thread(node))).collect();
        for draft in self.parts {
            let edges = draft.edges.into_iter().map(|edge| Edge {
                from: number(edge.from),
                to: number(edge.to),
                kind: edge.kind,
                label: edge.kind.label(),
                sentence: edge.sentence,
                premises: edge.premises,
                refuted_by: edge.refuted_by,
            });
            let edges: Vec<Edge> = edges.collect();
            let mut core: Vec<usize> = draft.core.into_iter().map(number).collect();
            core.extend(draft.circle.iter().flat_map(|&edge| [edges[edge].from, edges[edge].to]));
            core.sort_unstable();
            core.dedup();
            let Draft { title, supposes, circle, uses, contents, .. } = draft;
            story.parts.push(Part { title, supposes, edges, circle, core, uses, contents });
        }
    }

    fn process(&self, node: certificate::Node) -> Option<history::ProcessId> {
        match node {
            certificate::Node::Init(_) => None,
            certificate::Node::Operation(id) => Some(self.history.operation(id).process),
        }
    }

    fn node(&self, node: certificate::Node, thread: Option<usize>) -> Node {
        let shown = |value: Value| visible(&self.history.show(value)).into_owned();
        let key_name = |key: KeyId| visible(&self.history.key_name(key)).into_owned();
        let id = match node {
            certificate::Node::Operation(id) => id,
            certificate::Node::Init(location) => {
                let key = KeyId(location.0);
                let value = shown(self.history.initial_value(key));
                let name = key_name(key);
                let action = if name.is_empty() { value.clone() } else { format!("{name} = {value}") };
                return Node {
                    operations: Vec::new(),
                    thread: None,
                    place: String::new(),
                    line: None,
                    action,
                    text: self.teller.initial(key),
                    key: name,
                    value: Some(value),
                    call: None,
                    ret: None,
                    is_pending: false,
                };
            }
        };
        let operation = self.history.operation(id);
        let moments = self.history.moments().get(id.index()).copied();
        let value = [operation.result, operation.argument].into_iter().find(|value| value.is_some());
        Node {
            operations: vec![id],
            thread,
            place: self.history.place(id),
            line: Some(operation.line).filter(|&line| line > 0 && !operation.is_at_the_end()),
            action: visible(&render_action(self.history, id)).into_owned(),
            text: text::operation(self.history, id),
            key: key_name(operation.key),
            value: value.map(shown),
            call: moments.map(|moments| moments[0]),
            ret: moments.map(|moments| moments[1]).filter(|&ret| ret != History::NEVER),
            is_pending: matches!(operation.outcome, Outcome::Info | Outcome::Pending),
        }
    }
}
