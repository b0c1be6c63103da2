//! The evidence for a verdict: a witness, or a derivation of a contradiction.
//!
//! A derivation is a cycle in an order that must be acyclic under the model. Each of its edges is program order,
//! reads-from, or derived. A derived edge is a [`Step`]: it has the rule that forces it, and the path that is the
//! premise of the rule. A path may use the edges of earlier steps only. So a derivation is well-founded, and it can be
//! checked in time linear in its length. The verifier knows which rules and premises each model allows.

use history::execution::LocationId;
use history::{OperationId, ProcessId};

use crate::object::{Core, Linearization};
use crate::transaction;

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
    /// Program order. An initial write comes before every operation.
    Po(Node, Node),
    /// Reads-from: the second node reads from the first.
    Rf(Node, Node),
    /// Synchronises-with, under memory orders. `write` is `release` itself or, if `release` is a fence, a later write
    /// of its thread. (In `rc11` it can also be a later write of the thread and location of the release.) `read` reads
    /// from `write`, or from a chain of rmws (read-modify-writes) that begins at `write`. `acquire` is `read` itself
    /// or, if `acquire` is a fence, comes later in its thread.
    Sw {
        /// The release write or fence, where the edge begins.
        release: Node,
        /// The write that the release reaches memory with.
        write: Node,
        /// The read that sees that write.
        read: Node,
        /// The acquire read or fence, where the edge ends.
        acquire: Node,
    },
    /// The edge of the step of that number.
    Derived(u32),
}

/// The rule that forces a derived edge. In each rule, the writes are distinct and all on one location.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// `cf`: the write `from` comes before `read`, and `read` reads from `to`; so `from` comes before `to`. The path
    /// leads from `from` to `read`. With a view, `read` is of the process of that view, and so are the reads of all
    /// `cf` steps that the path uses.
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
    /// Write or read coherence: the access `before` happens before the access `after`, along the path. So `from` comes
    /// before `to`. Here `from` is the write of `before`, or its source if `before` only reads. `to` is the source of
    /// `after`, or its write if `after` does not read.
    Coherence {
        /// Where the path begins.
        before: Node,
        /// Where it ends.
        after: Node,
    },
    /// Atomicity: a write and the chain of rmws that read from it, one after the other, stand together in the order of
    /// writes. So if one of the chain comes before a write outside it, all of the chain do. The path is one step; its
    /// beginning is in the same chain as `from`, and its end in the same chain as `to`.
    Atomicity,
    /// In a lemma of a [refutation](Evidence::Refutation): the edge is assumed. It has no path.
    Assumed,
    /// In a lemma of a [refutation](Evidence::Refutation): the earlier lemma of that number refuted that `to` comes
    /// before `from`, together with its other assumptions. Instead of a path, there are the steps that establish these
    /// other assumptions.
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

/// A cycle, and the steps that its derived edges need.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Derivation {
    /// The derived edges. Each step comes after the steps that it uses.
    pub steps: Vec<Step>,
    /// The cycle. It begins and ends at the same node, which may be any of its nodes.
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

/// The evidence for a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Violation: this read returned a value that nobody wrote.
    ThinAir(OperationId),
    /// Violation: a cycle.
    Cycle(Derivation),
    /// Violation (`sc-observed`): a cycle of operations. Each operation is later in the same thread than the operation
    /// before it, or conflicts with it and was performed later.
    Constraints(Vec<OperationId>),
    /// Violation (`sc`, `tso`, `pso`, `sra`): lemmas. Each lemma derives a cycle from some assumptions, which each
    /// order two writes of one location. So its assumptions cannot all hold. The last lemma assumes nothing.
    Refutation(Vec<Derivation>),
    /// Consistent (`sc`, `wsc`, `sc-observed`): a total order of all operations.
    Interleaving(Vec<OperationId>),
    /// Consistent (`tso`, `pso` and their weak forms): all operations in the order in which they take effect on memory.
    /// A write takes effect when it leaves the store buffer. A thread executes each write as late as possible: before
    /// that write takes effect, and before its next operation.
    MemoryOrder(Vec<OperationId>),
    /// Consistent (`ccv`): a total order of all writes.
    WriteOrder(Vec<OperationId>),
    /// Consistent (`cm`): for each process an order of the writes that it knows of and all its own operations.
    ViewOrders(Vec<Vec<OperationId>>),
    /// Consistent (the C11 family): for each location its writes in modification order, without the initial one.
    ModificationOrders(Vec<Vec<OperationId>>),
    /// The verifier decides again. Consistent, if a witness of the model would be no shorter. Violation, if only a
    /// search can show it.
    DecideAgain,
    /// Consistent (`linearizable`): an order of the operations of each object.
    Linearizations(Vec<Linearization>),
    /// Consistent (`linearizable`, exchanger): the pairs of operations that exchanged their values.
    Pairs(Vec<[OperationId; 2]>),
    /// Violation (`linearizable`): operations that contradict each other.
    Core(Core),
    /// Consistent, if the history leaves sources open: a source for each open read, and a witness with these sources.
    Sources(Vec<Choice>, Box<Evidence>),
    /// Violation, if the history leaves sources open: cases. Each shows that some choices cannot all hold. The last
    /// case has no choices.
    Cases(Vec<Case>),
    /// Of an isolation level of transactions.
    Transactions(Box<transaction::TransactionEvidence>),
}

/// The choice of a source for a read whose source the history leaves open.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Choice {
    /// The operation that reads.
    pub read: OperationId,
    /// The write that it reads from.
    pub source: Node,
}

/// Choices of sources that cannot all hold, and why. See [`history::OpenExecution`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The choices.
    pub choices: Vec<Choice>,
    /// Why they cannot all hold.
    pub because: Because,
}

/// Why some choices of sources cannot all hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Because {
    /// The execution in which all other open reads are left out is a violation.
    Violation(Evidence),
    /// None of the candidates is left for this read: each is refuted by one of these earlier cases, together with the
    /// choices.
    NoneLeft {
        /// The read.
        read: OperationId,
        /// The numbers of the earlier cases.
        cases: Vec<u32>,
    },
}

/// The kind of an [`Evidence`]. The [row](crate::Row) of a model says which kinds may prove its verdicts.
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
    Sources,
    Cases,
    CommitOrder,
    EventOrder,
    BadRead,
    Unrepeatable,
    LostUpdate,
}

impl EvidenceKind {
    /// The name that is printed.
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
            Self::Sources => "chosen sources",
            Self::Cases => "cases of chosen sources",
            Self::CommitOrder => "commit order",
            Self::EventOrder => "order of reads and commits",
            Self::BadRead => "bad read",
            Self::Unrepeatable => "unrepeatable read",
            Self::LostUpdate => "lost update",
        }
    }
}

impl Evidence {
    /// Evidence about an isolation level.
    pub fn of_transactions(evidence: transaction::TransactionEvidence) -> Self {
        Self::Transactions(Box::new(evidence))
    }

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
            Self::Sources(..) => EvidenceKind::Sources,
            Self::Cases(_) => EvidenceKind::Cases,
            Self::Transactions(evidence) => match **evidence {
                transaction::TransactionEvidence::CommitOrder(_) => EvidenceKind::CommitOrder,
                transaction::TransactionEvidence::EventOrder(_) => EvidenceKind::EventOrder,
                transaction::TransactionEvidence::Bad(_) => EvidenceKind::BadRead,
                transaction::TransactionEvidence::Unrepeatable(_) => EvidenceKind::Unrepeatable,
                transaction::TransactionEvidence::LostUpdate(_) => EvidenceKind::LostUpdate,
                transaction::TransactionEvidence::Cycle(_) => EvidenceKind::Cycle,
                transaction::TransactionEvidence::Refutation(_) => EvidenceKind::Refutation,
            },
        }
    }
}

impl Evidence {
    /// The operations that a violation is about, sorted. There are none if the evidence names none, or is a witness of
    /// a consistent history.
    pub fn operations(&self) -> Vec<OperationId> {
        let mut operations = match self {
            Self::ThinAir(read) => vec![*read],
            Self::Cycle(derivation) => derivation.operations(),
            Self::Constraints(cycle) => cycle.clone(),
            Self::Refutation(lemmas) => lemmas.iter().flat_map(Derivation::operations).collect(),
            Self::Core(core) => core.operations(),
            Self::Cases(cases) => cases.iter().flat_map(Case::operations).collect(),
            Self::Transactions(evidence) => evidence.operations(),
            Self::Interleaving(_)
            | Self::MemoryOrder(_)
            | Self::WriteOrder(_)
            | Self::ViewOrders(_)
            | Self::ModificationOrders(_)
            | Self::DecideAgain
            | Self::Linearizations(_)
            | Self::Pairs(_)
            | Self::Sources(..) => Vec::new(),
        };
        operations.sort_unstable();
        operations.dedup();
        operations
    }
}

impl Case {
    /// The operations of the choices, and those that clash.
    fn operations(&self) -> Vec<OperationId> {
        let mut operations = match &self.because {
            Because::Violation(evidence) => evidence.operations(),
            Because::NoneLeft { read, .. } => vec![*read],
        };
        for choice in &self.choices {
            operations.push(choice.read);
            operations.extend(choice.source.operation());
        }
        operations
    }
}

impl Node {
    /// The operation, unless it is an initial write.
    fn operation(self) -> Option<OperationId> {
        match self {
            Self::Operation(id) => Some(id),
            Self::Init(_) => None,
        }
    }
}

impl Derivation {
    /// The operations of the cycle and of the steps, some of them several times.
    fn operations(&self) -> Vec<OperationId> {
        let of_edge = |edge: &Edge| match *edge {
            Edge::Po(from, to) | Edge::Rf(from, to) => vec![from, to],
            Edge::Sw { release, write, read, acquire } => vec![release, write, read, acquire],
            Edge::Derived(_) => Vec::new(),
        };
        let of_step = |step: &Step| {
            let mut nodes = vec![step.from, step.to];
            match step.rule {
                Rule::Conflict { read, .. } => nodes.push(read),
                Rule::Coherence { before, after } => nodes.extend([before, after]),
                Rule::StoreOrder | Rule::ReadWrite | Rule::Atomicity | Rule::Assumed | Rule::Lemma(_) => {}
            }
            nodes.extend(step.path.iter().flat_map(of_edge));
            nodes
        };
        let nodes = self.cycle.iter().flat_map(of_edge).chain(self.steps.iter().flat_map(of_step));
        nodes.filter_map(Node::operation).collect()
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
pub struct Decided {
    /// The answer.
    pub verdict: Verdict,
    /// The name of the tactic or algorithm that decided. `--strategy` or `--algorithm` accepts
    /// it.
    pub strategy: &'static str,
    /// Why the verdict is unknown.
    pub reason: Option<String>,
    /// The evidence. A violation always has it; `consistent` has it if a witness was asked for.
    pub evidence: Option<Evidence>,
}
