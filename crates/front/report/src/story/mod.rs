//! The story of a verdict, as data: which operations it is about, and why each edge between them holds.
//!
//! A [`Story`] is the only thing that understands evidence. The text of `check`, that of `explain`, the drawings and
//! the page only show it. It says no more than the evidence of the certificate, and in the order in which a person can
//! follow it. It can be serialised.
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
//! - An edge without premises is of a [basic kind](EdgeKind::is_basic), or is refuted by an earlier part.
//! - The edges of a circle follow each other, and the last leads to where the first begins.

mod anomaly;
mod draft;
mod hint;
mod memory;
mod names;
mod object;
mod outline;
mod title;
mod transaction;
mod witness;

use history::{History, OperationId};
use model::{Evidence, Model, Verdict};
use serde::Serialize;

use crate::text::Line;

pub use anomaly::anomalies;
pub use witness::{CellKind, Change, ShownCell, ShownOrder, ShownStep, Witness};

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
    pub nodes: Vec<StoryNode>,
    /// Why it is a violation. The last part is the contradiction; the others prepare it.
    pub parts: Vec<Contradiction>,
    /// Advice, such as a flag that may be missing.
    pub hints: Vec<Line>,
    /// Why it is consistent.
    pub witness: Option<Witness>,
}

/// An operation, an initial value, or several operations that are done as one, such as a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct StoryNode {
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
pub enum EdgeKind {
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

impl EdgeKind {
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

    /// Whether it is one of transactions.
    pub const fn is_of_transactions(self) -> bool {
        matches!(
            self,
            Self::Session | Self::Ended | Self::WriteRead | Self::Version | Self::VersionOrder | Self::AntiDependency
        )
    }

    /// Whether it is one of an object with calls and returns.
    pub const fn is_of_objects(self) -> bool {
        matches!(self, Self::RealTime | Self::Value | Self::Before)
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
pub struct StoryEdge {
    /// The node that comes first, by its number in [`Story::nodes`].
    pub from: usize,
    /// The node that comes after it.
    pub to: usize,
    /// Why.
    pub kind: EdgeKind,
    /// The short name that drawings show.
    pub label: &'static str,
    /// Why, in a sentence.
    pub sentence: Line,
    /// Why, in a few words that may stand behind the text of `to` in a table: `reads from line 3`. Empty if it takes
    /// the sentence.
    #[serde(skip)]
    pub reason: String,
    /// The edges that it follows from, by their numbers in [`Contradiction::edges`]. They stand before this one.
    pub premises: Vec<usize>,
    /// The earlier part that refutes the opposite, by its number in [`Story::parts`].
    pub refuted_by: Option<usize>,
}

/// A contradiction, perhaps under suppositions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Default)]
pub struct Contradiction {
    /// What it shows.
    pub title: Line,
    /// What it supposes. A part without suppositions holds in any case.
    pub supposes: Vec<Line>,
    /// Its edges.
    pub edges: Vec<StoryEdge>,
    /// The edges that form a circle, by their numbers; none if there is no circle.
    pub circle: Vec<usize>,
    /// If the circle says no more than that a read returned what had been overwritten: the edges from the write of that
    /// value over the one that overwrote it to the read, each of which has a [reason](StoryEdge::reason).
    #[serde(skip)]
    pub chain: Vec<usize>,
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
    /// use model::{Evidence, Model, Verdict};
    /// use history::{History, OperationId};
    /// use report::Story;
    ///
    /// let history = format::parse("[0] w x 1\n[1] r x 7\n")?;
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
        if let Evidence::Transactions(evidence) = evidence {
            transaction::write(history, evidence, &mut story);
            return story;
        }
        memory::StoryWriter::new(observed, model).write(evidence, &mut story);
        if matches!(evidence, Evidence::ThinAir(_) | Evidence::Core(_)) {
            story.hints.extend(hint::initial_value(observed));
        }
        story
    }
}
