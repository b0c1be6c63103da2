//! The evidence for verdicts about isolation levels of transactions.
//!
//! A consistent history has a commit order, or an order of the events of its transactions. A violation has a read that
//! no level allows, two reads that clash by themselves, or a cycle. The edges of a cycle are session order, real time,
//! reads-from, known versions of lists, and derived edges. A derived edge is a [`TransactionStep`]: the axiom that
//! forces it, and the path that is the premise of the axiom. Steps use earlier steps only.
//!
//! Under `prefix` and `snapshot-isolation` a transaction is two events: its reads R, and after them its writes W. There
//! an edge leads from an event to an event, as its kind says:
//!
//! | edge | other levels | `prefix` | `snapshot-isolation` |
//! | --- | --- | --- | --- |
//! | session order, real time, reads-from | t → u | W_t → R_u | W_t → R_u |
//! | version, [`Overwritten`], [`Assumed`], [`Lemma`] | t → u | W_t → W_u | W_t → R_u |
//! | [`TransactionRule::AntiDependency`] | t → u | R_t → W_u | R_t → W_u |
//! | [`TransactionRule::Conflict`] | | | W_t → R_u |
//!
//! A path may go on from R_t to W_t, and not from W_t to R_t.
//!
//! [`Overwritten`]: TransactionRule::Overwritten
//! [`Assumed`]: TransactionRule::Assumed
//! [`Lemma`]: TransactionRule::Lemma

use history::{KeyId, OperationId, TransactionId};

/// A transaction, or the initial transaction, which writes the initial value of every key.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TransactionNode {
    /// The initial transaction.
    Init,
    /// A transaction of the history.
    Transaction(TransactionId),
}

impl TransactionNode {
    /// The transaction, unless it is the initial one.
    pub const fn transaction(self) -> Option<TransactionId> {
        match self {
            Self::Init => None,
            Self::Transaction(id) => Some(id),
        }
    }
}

/// An edge of a path or of a cycle.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TransactionEdge {
    /// The first is before the second in its session, and committed. The initial transaction is before all others.
    Session(TransactionNode, TransactionNode),
    /// The first ended, committed, before the second began.
    RealTime(TransactionNode, TransactionNode),
    /// The second reads from the first, with this operation.
    Reads(TransactionNode, TransactionNode, OperationId),
    /// The version of this list that the first makes is before that of the second.
    Version(TransactionNode, TransactionNode, KeyId),
    /// The edge of the step of that number.
    Derived(u32),
}

impl TransactionEdge {
    /// The number of the step, if the edge is derived.
    pub const fn step(self) -> Option<u32> {
        match self {
            Self::Derived(step) => Some(step),
            _ => None,
        }
    }
}

/// The axiom that forces a derived edge.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TransactionRule {
    /// `read`, in a transaction t, returns the version of `to`. The path leads from `from`, which writes the same key,
    /// to t. So `from` comes before `to`.
    Overwritten {
        /// The read.
        read: OperationId,
    },
    /// `read` returns the version of `to`. Before it in the same transaction, `earlier` reads from `from`, which writes
    /// the key of `read`. So `from` comes before `to`. There is no path.
    ReadBefore {
        /// The earlier read.
        earlier: OperationId,
        /// The read.
        read: OperationId,
    },
    /// `read`, in `from`, returns a version that another transaction t made. The path leads from t to `to`, which
    /// writes the same key. So `from` comes before `to`.
    AntiDependency {
        /// The read.
        read: OperationId,
    },
    /// Both write this key. The path leads from the reads of `from` to the writes of `to`. So `from` comes before `to`.
    Conflict {
        /// The key.
        key: KeyId,
    },
    /// In a lemma: the order of two transactions that write a common key is assumed. There is no path.
    Assumed,
    /// The earlier lemma of that number refuted that `to` comes before `from`, together with its other assumptions.
    /// Instead of a path, [`TransactionStep::others`] establishes these.
    Lemma(u32),
}

/// A derived edge, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionStep {
    /// The rule.
    pub rule: TransactionRule,
    /// Where the edge begins.
    pub from: TransactionNode,
    /// Where it ends.
    pub to: TransactionNode,
    /// The premise.
    pub path: Vec<TransactionEdge>,
    /// For [`TransactionRule::Lemma`]: for each other assumption of the lemma, in their order, a path between its ends.
    pub others: Vec<Vec<TransactionEdge>>,
}

/// A cycle, and the steps that its derived edges need.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TransactionDerivation {
    /// The derived edges. Each step comes after the steps that it uses.
    pub steps: Vec<TransactionStep>,
    /// The cycle.
    pub cycle: Vec<TransactionEdge>,
}

impl TransactionDerivation {
    /// Both ends of an edge.
    pub fn ends(&self, edge: TransactionEdge) -> (TransactionNode, TransactionNode) {
        match edge {
            TransactionEdge::Session(from, to)
            | TransactionEdge::RealTime(from, to)
            | TransactionEdge::Reads(from, to, _)
            | TransactionEdge::Version(from, to, _) => (from, to),
            TransactionEdge::Derived(step) => (self.steps[step as usize].from, self.steps[step as usize].to),
        }
    }
}

/// What no level allows, by the names that users know.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Anomaly {
    /// A read does not return the last write of its own transaction.
    Internal,
    /// A read returns what its own transaction writes later.
    FutureRead,
    /// A read returns what only an aborted transaction wrote.
    G1a,
    /// A read returns what another transaction overwrote itself, or the first part of its appends.
    G1b,
    /// A read returns what nobody wrote.
    ThinAir,
    /// A list has an element twice.
    DuplicateElements,
    /// Appends of one transaction to a list do not lie together: a dirty write.
    G0,
    /// Two versions of a list, neither of which is a prefix of the other.
    IncompatibleOrder,
}

impl Anomaly {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Internal,
        Self::FutureRead,
        Self::G1a,
        Self::G1b,
        Self::ThinAir,
        Self::DuplicateElements,
        Self::G0,
        Self::IncompatibleOrder,
    ];

    /// The name that is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::FutureRead => "future-read",
            Self::G1a => "G1a",
            Self::G1b => "G1b",
            Self::ThinAir => "thin-air",
            Self::DuplicateElements => "duplicate-elements",
            Self::G0 => "G0",
            Self::IncompatibleOrder => "incompatible-order",
        }
    }

    /// The anomaly of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|anomaly| anomaly.name() == name)
    }
}

/// A read that no level allows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    /// What is wrong.
    pub anomaly: Anomaly,
    /// The read.
    pub read: OperationId,
    /// The operation that it clashes with, if there is one: the write that it returns or should have returned, or the
    /// other read.
    pub other: Option<OperationId>,
}

/// The evidence for a verdict about a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionEvidence {
    /// Consistent: the transactions that count, in commit order.
    CommitOrder(Vec<TransactionId>),
    /// Consistent (`prefix`, `snapshot-isolation`): each transaction that counts, twice: where it reads, and then where
    /// its writes become visible.
    EventOrder(Vec<TransactionId>),
    /// Violation: a read that no level allows.
    Bad(Bad),
    /// Violation (`repeatable-read` and above): two reads of one key in one transaction, from different transactions.
    Unrepeatable([OperationId; 2]),
    /// Violation (`parallel-snapshot-isolation` and above): two transactions read one version of a key, and both write
    /// the key.
    LostUpdate([OperationId; 2]),
    /// Violation: a cycle.
    Cycle(TransactionDerivation),
    /// Violation: lemmas. Each derives a cycle from some assumptions, so these cannot all hold. The last assumes
    /// nothing.
    Refutation(Vec<TransactionDerivation>),
}

impl TransactionEvidence {
    /// The operations that a violation names.
    pub(crate) fn operations(&self) -> Vec<OperationId> {
        match self {
            Self::CommitOrder(_) | Self::EventOrder(_) => Vec::new(),
            Self::Bad(bad) => [Some(bad.read), bad.other].into_iter().flatten().collect(),
            Self::Unrepeatable(reads) | Self::LostUpdate(reads) => reads.to_vec(),
            Self::Cycle(derivation) => derivation.operations(),
            Self::Refutation(lemmas) => lemmas.iter().flat_map(TransactionDerivation::operations).collect(),
        }
    }

    /// The transactions that a cycle or lemmas name, sorted.
    pub fn transactions(&self) -> Vec<TransactionId> {
        let of = |derivation: &TransactionDerivation| {
            let edges = derivation.steps.iter().flat_map(|step| step.path.iter().chain(step.others.iter().flatten()));
            let edges = edges.chain(&derivation.cycle).map(|&edge| derivation.ends(edge));
            let steps = derivation.steps.iter().map(|step| (step.from, step.to));
            edges
                .chain(steps)
                .flat_map(|(from, to)| [from, to])
                .filter_map(TransactionNode::transaction)
                .collect::<Vec<_>>()
        };
        let mut all = match self {
            Self::Cycle(derivation) => of(derivation),
            Self::Refutation(lemmas) => lemmas.iter().flat_map(of).collect(),
            _ => Vec::new(),
        };
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl TransactionDerivation {
    fn operations(&self) -> Vec<OperationId> {
        let of_edge =
            |edge: &TransactionEdge| if let TransactionEdge::Reads(.., read) = edge { Some(*read) } else { None };
        let mut operations: Vec<OperationId> = self.cycle.iter().filter_map(of_edge).collect();
        for step in &self.steps {
            match step.rule {
                TransactionRule::Overwritten { read } | TransactionRule::AntiDependency { read } => {
                    operations.push(read);
                }
                TransactionRule::ReadBefore { earlier, read } => operations.extend([earlier, read]),
                TransactionRule::Conflict { .. } | TransactionRule::Assumed | TransactionRule::Lemma(_) => {}
            }
            operations.extend(step.path.iter().chain(step.others.iter().flatten()).filter_map(of_edge));
        }
        operations
    }
}
