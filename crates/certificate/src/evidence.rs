//! What a checker says for its verdict: a witness, or a derivation of a contradiction.
//!
//! A derivation is a cycle in an order that the model wants acyclic. Its edges are program order, reads-from, or
//! derived; each derived edge is a [`Step`] with the rule that forces it and the path that is the rule's premise. A
//! path may use the edges of earlier steps only, so a derivation is well-founded, and it can be checked in time linear
//! in its length. Which rules and which premises a model allows is the verifier's business.

use history::execution::LocationId;
use history::{OperationId, ProcessId};

use crate::object::{Core, Linearization};

/// A vertex of a derivation.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// The initial write of a location.
    Init(LocationId),
    /// An operation of the history.
    Operation(OperationId),
}

/// One edge of a path or of the cycle.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Program order; from an initial write to anything, too.
    Po(Node, Node),
    /// Reads-from: the second node reads from the first.
    Rf(Node, Node),
    /// Synchronises-with, under memory orders: `write` is `release` itself or later in its thread, if that is a fence;
    /// `read` reads from `write` or from a chain of rmws that does; it is `acquire` itself or earlier in its thread.
    Sw {
        /// The release write or fence, where the edge begins.
        release: Node,
        /// The write that carries it.
        write: Node,
        /// The read that learns of it.
        read: Node,
        /// The acquire read or fence, where the edge ends.
        acquire: Node,
    },
    /// The edge of the step of that number.
    Derived(u32),
}

/// Why a derived edge holds. In each, the writes are distinct and all on one location.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// `cf`: `from` is a write that comes before `read`, which reads from `to`; so `from` comes before `to`. The
    /// path leads from `from` to `read`. With a view, `read` is of that process and so are the reads of all `cf`
    /// steps that the path uses.
    Conflict {
        /// The read of `to`.
        read: Node,
        /// The process in whose view it holds; none if it holds for all.
        view: Option<ProcessId>,
    },
    /// `ww`: two writes that happen in this order are stored in this order. The path leads from `from` to `to`.
    StoreOrder,
    /// `rw`: `from` reads from a write that comes before the write `to`; so `from` comes before `to`. The path leads
    /// from the source of `from` to `to`.
    ReadWrite,
    /// Write or read coherence: access `before` happens before access `after`, along the path. So what `before` wrote,
    /// or read from if it only reads, which is `from`, comes before what `after` reads from, or writes if it does not
    /// read, which is `to`.
    Coherence {
        /// Where the path begins.
        before: Node,
        /// Where it ends.
        after: Node,
    },
    /// Atomicity: a write and the rmws that read from it, one after the other, stand together in the order of writes.
    /// So if one of them comes before a write that is not of them, all do. The path is one step, and each of its ends
    /// stands together with that of this edge.
    Atomicity,
    /// In a lemma of a [refutation](Evidence::Refutation): assumed for the sake of the argument. No path.
    Assumed,
    /// In a lemma of a [refutation](Evidence::Refutation): the lemma of that number, an earlier one, refuted an
    /// assumption that `to` comes before `from`, together with others. No path, but the steps that say what its other
    /// assumptions do.
    Lemma(u32),
}

/// A derived edge, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The rule.
    pub rule: Rule,
    /// Where the edge begins.
    pub from: Node,
    /// Where it ends.
    pub to: Node,
    /// The premise.
    pub path: Vec<Edge>,
}

/// A cycle and the steps that its derived edges stand on.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Derivation {
    /// The derived edges, each after those it uses.
    pub steps: Vec<Step>,
    /// The cycle, from any of its nodes round to the same.
    pub cycle: Vec<Edge>,
}

impl Derivation {
    /// Both ends of an edge.
    pub fn ends(&self, edge: Edge) -> (Node, Node) {
        match edge {
            Edge::Po(from, to) | Edge::Rf(from, to) | Edge::Sw { release: from, acquire: to, .. } => (from, to),
            Edge::Derived(step) => (self.steps[step as usize].from, self.steps[step as usize].to),
        }
    }
}

/// What stands behind a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Violation: this read returned a value that nobody wrote.
    ThinAir(OperationId),
    /// Violation: a cycle.
    Cycle(Derivation),
    /// Violation (`sc-observed`): each of these operations is later in the thread of the one before it, or conflicts
    /// with it and was performed later; and so is the first after the last.
    Constraints(Vec<OperationId>),
    /// Violation (`sc`, `tso`, `pso`, `sra`): lemmas. Each is a derivation of a cycle from some assumed orders of two
    /// writes of one location: so these orders refute each other. The last one assumes nothing.
    Refutation(Vec<Derivation>),
    /// Consistent (`sc`, `wsc`, `sc-observed`): a total order of all operations.
    Interleaving(Vec<OperationId>),
    /// Consistent (`tso`, `pso` and their weak forms): all operations in the order in which they take effect on memory,
    /// a write when it leaves the store buffer. A thread executes its writes as late as that, or its next operation,
    /// allows.
    MemoryOrder(Vec<OperationId>),
    /// Consistent (`ccv`): a total order of all writes.
    WriteOrder(Vec<OperationId>),
    /// Consistent (`cm`): for each process an order of the writes that it knows of and all its own operations.
    ViewOrders(Vec<Vec<OperationId>>),
    /// Consistent (the C11 family): for each location its writes in modification order, without the initial one.
    ModificationOrders(Vec<Vec<OperationId>>),
    /// Consistent, in a model whose witness would be no shorter than deciding again, or violation where only a
    /// search says so: the verifier decides again.
    DecideAgain,
    /// Consistent (`linearizable`): an order of the operations of each object.
    Linearizations(Vec<Linearization>),
    /// Consistent (`linearizable`, exchanger): who exchanged with whom.
    Pairs(Vec<[OperationId; 2]>),
    /// Violation (`linearizable`): operations that cannot be.
    Core(Core),
}

/// What kind of [`Evidence`] it is. Which kind may prove which verdict of which model stands in the model's
/// [row](crate::model::Row).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum EvidenceKind {
    ThinAir,
    Cycle,
    Constraints,
    Refutation,
    Interleaving,
    MemoryOrder,
    WriteOrder,
    ViewOrders,
    ModificationOrders,
    DecideAgain,
    Linearizations,
    Pairs,
    Core,
}

impl EvidenceKind {
    /// In a word or two.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ThinAir => "read from thin air",
            Self::Cycle => "cycle",
            Self::Constraints => "cycle of constraints",
            Self::Refutation => "lemmas",
            Self::Interleaving => "interleaving",
            Self::MemoryOrder => "memory order",
            Self::WriteOrder => "order of writes",
            Self::ViewOrders => "orders of views",
            Self::ModificationOrders => "modification orders",
            Self::DecideAgain => "decide again",
            Self::Linearizations => "linearizations",
            Self::Pairs => "pairs",
            Self::Core => "core",
        }
    }
}

impl Evidence {
    /// Its kind.
    pub const fn kind(&self) -> EvidenceKind {
        match self {
            Self::ThinAir(_) => EvidenceKind::ThinAir,
            Self::Cycle(_) => EvidenceKind::Cycle,
            Self::Constraints(_) => EvidenceKind::Constraints,
            Self::Refutation(_) => EvidenceKind::Refutation,
            Self::Interleaving(_) => EvidenceKind::Interleaving,
            Self::MemoryOrder(_) => EvidenceKind::MemoryOrder,
            Self::WriteOrder(_) => EvidenceKind::WriteOrder,
            Self::ViewOrders(_) => EvidenceKind::ViewOrders,
            Self::ModificationOrders(_) => EvidenceKind::ModificationOrders,
            Self::DecideAgain => EvidenceKind::DecideAgain,
            Self::Linearizations(_) => EvidenceKind::Linearizations,
            Self::Pairs(_) => EvidenceKind::Pairs,
            Self::Core(_) => EvidenceKind::Core,
        }
    }
}

/// The answer.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Verdict {
    Consistent,
    Violation,
    Unknown,
}

impl Verdict {
    /// The word in the output and in certificates.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Consistent => "consistent",
            Self::Violation => "violation",
            Self::Unknown => "unknown",
        }
    }
}

/// What a checker decided, how, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The answer.
    pub verdict: Verdict,
    /// What decided it: the name of a [tactic](crate::model::Tactic) or algorithm, which `--strategy` or `--algorithm`
    /// takes.
    pub strategy: &'static str,
    /// Why the verdict is unknown.
    pub reason: Option<String>,
    /// Always there for a violation; for `consistent` when a witness was asked for.
    pub evidence: Option<Evidence>,
}
