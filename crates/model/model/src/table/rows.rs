//! The models, and their table: one row for each model, in the order of their declaration. That is from weak to strong
//! in each family, first the memory models, then the others.

use EvidenceKind::{
    BadRead, CommitOrder, Constraints, Core, Cycle, DecideAgain, EventOrder, Interleaving, Linearizations, LostUpdate,
    MemoryOrder, ModificationOrders, Pairs, Refutation, ThinAir, Unrepeatable, ViewOrders, WriteOrder,
};

use super::{Family, Row, View};
use crate::evidence::EvidenceKind;

/// A consistency model. The checkers decide it, and certificates are about it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Model {
    /// SC per location.
    Coherence,
    /// Causal consistency.
    Cc,
    /// Causal convergence.
    Ccv,
    /// Causal memory.
    Cm,
    /// Convergent causal memory.
    Ccm,
    /// Relaxed accesses of C11.
    Relaxed,
    /// RC20: C11 without sequentially consistent accesses.
    Rc20,
    /// RC20 with sequentially consistent accesses and fences.
    C20,
    /// The same with the longer release sequences of RC11.
    Rc11,
    /// Weak release-acquire.
    Wra,
    /// Release-acquire.
    Ra,
    /// Strong release-acquire.
    Sra,
    /// The saturation of partial store order.
    Wpso,
    /// Partial store order.
    Pso,
    /// Weak convergent causal memory.
    Wccm,
    /// The saturation of total store order.
    Wtso,
    /// Total store order.
    Tso,
    /// Weak sequential consistency.
    Wsc,
    /// Sequential consistency.
    Sc,
    /// Sequential consistency of operations, if the order in which they were performed was recorded.
    ScObserved,
    /// Linearizability of objects with calls and returns. It is not a memory model.
    Linearizable,
    /// PL-2 of transactions, without the order of sessions.
    SessionlessPl2,
    /// Read committed of transactions, without the order of sessions.
    SessionlessReadCommitted,
    /// Repeatable read of transactions, without the order of sessions.
    SessionlessRepeatableRead,
    /// Read atomic of transactions, without the order of sessions.
    SessionlessReadAtomic,
    /// Causal consistency of transactions, without the order of sessions.
    SessionlessCausal,
    /// Prefix consistency of transactions, without the order of sessions.
    SessionlessPrefix,
    /// Parallel snapshot isolation of transactions, without the order of sessions.
    SessionlessParallelSnapshotIsolation,
    /// Snapshot isolation of transactions, without the order of sessions.
    SessionlessSnapshotIsolation,
    /// Serializability of transactions, without the order of sessions.
    SessionlessSerializable,
    /// PL-2 of transactions.
    Pl2,
    /// Read committed of transactions.
    ReadCommitted,
    /// Repeatable read of transactions.
    RepeatableRead,
    /// Read atomic of transactions.
    ReadAtomic,
    /// Causal consistency of transactions.
    Causal,
    /// Prefix consistency of transactions.
    Prefix,
    /// Parallel snapshot isolation of transactions.
    ParallelSnapshotIsolation,
    /// Snapshot isolation of transactions.
    SnapshotIsolation,
    /// Serializability of transactions.
    Serializable,
    /// PL-2 of transactions, in real time.
    StrongPl2,
    /// Read committed of transactions, in real time.
    StrongReadCommitted,
    /// Repeatable read of transactions, in real time.
    StrongRepeatableRead,
    /// Read atomic of transactions, in real time.
    StrongReadAtomic,
    /// Causal consistency of transactions, in real time.
    StrongCausal,
    /// Prefix consistency of transactions, in real time.
    StrongPrefix,
    /// Parallel snapshot isolation of transactions, in real time.
    StrongParallelSnapshotIsolation,
    /// Snapshot isolation of transactions, in real time.
    StrongSnapshotIsolation,
    /// Strict serializability of transactions.
    StrictSerializable,
}

/// What the rows of isolation levels share.
const TRANSACTIONS: Row = Row {
    model: Model::Serializable,
    name: "",
    title: "",
    definition: "",
    family: Family::Transactions,
    view: View::Transactions,
    sequential_accesses: false,
    implies: &[],
    implies_without_rmws: &[],
    consistent: &[],
    violation: &[],
    polynomial: false,
    monitored: false,
};

/// The rows: first the memory models, the weakest first, then the others.
pub(super) static ROWS: [Row; 48] = [
    Row {
        model: Model::Coherence,
        name: "coherence",
        title: "coherence, sc per location",
        definition: "each location by itself has one order that explains its reads",
        family: Family::Coherence,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[],
        implies_without_rmws: &[],
        consistent: &[ModificationOrders],
        violation: &[ThinAir, Cycle],
        polynomial: true,
        monitored: false,
    },
    Row {
        model: Model::Cc,
        name: "cc",
        title: "causal consistency",
        definition: "no read returns a value that its causal past has overwritten",
        family: Family::Causal,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[],
        implies_without_rmws: &[Model::Wra],
        consistent: &[Interleaving, DecideAgain],
        violation: &[ThinAir, Cycle],
        polynomial: true,
        monitored: false,
    },
    Row {
        model: Model::Ccv,
        name: "ccv",
        title: "causal convergence",
        definition: "cc, and all threads agree on one order of conflicting writes",
        family: Family::Causal,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[Model::Cc],
        implies_without_rmws: &[Model::Sra],
        consistent: &[WriteOrder],
        violation: &[ThinAir, Cycle],
        polynomial: true,
        monitored: false,
    },
    Row {
        model: Model::Cm,
        name: "cm",
        title: "causal memory",
        definition: "for each thread, one order of all that it knows of explains its own reads",
        family: Family::Causal,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[Model::Cc],
        implies_without_rmws: &[],
        consistent: &[ViewOrders],
        violation: &[ThinAir, Cycle],
        polynomial: true,
        monitored: false,
    },
    Row {
        model: Model::Ccm,
        name: "ccm",
        title: "convergent causal memory",
        definition: "cm and ccv, with one order of writes for both that no read contradicts",
        family: Family::Causal,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[Model::Wccm, Model::Cm],
        implies_without_rmws: &[],
        consistent: &[Interleaving, DecideAgain],
        violation: &[ThinAir, Cycle],
        polynomial: true,
        monitored: false,
    },
    Row {
        model: Model::Relaxed,
        name: "relaxed",
        title: "relaxed C11 accesses",
        definition: "each location is coherent by itself, and no value comes out of thin air",
        family: Family::C11,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[Model::Coherence],
        implies_without_rmws: &[],
        consistent: &[ModificationOrders],
        violation: &[ThinAir, Cycle],
        polynomial: true,
        monitored: true,
    },
    Row {
        model: Model::Rc20,
        name: "rc20",
        title: "RC20, C11 without sc accesses",
        definition: "coherence, where releases, acquires and fences synchronise threads",
        family: Family::C11,
        view: View::Execution,
        sequential_accesses: false,
        implies: &[Model::Relaxed],
        implies_without_rmws: &[],
        consistent: &[ModificationOrders],
        violation: &[ThinAir, Cycle],
        polynomial: true,
        monitored: true,
    },
    Row {
        model: Model::C20,
        name: "c20",
        title: "C++20 with sc accesses",
        definition: "rc20, and what sequentially consistent accesses and fences order has no cycle",
        family: Family::C11,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[Model::Rc20],
        implies_without_rmws: &[],
        consistent: &[Interleaving, ModificationOrders],
        violation: &[ThinAir, Cycle, Refutation],
        polynomial: false,
        monitored: false,
    },
    Row {
        model: Model::Rc11,
        name: "rc11",
        title: "RC11, without plain accesses",
        definition: "c20, where a release goes on over later writes of its thread and location",
        family: Family::C11,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[Model::C20],
        implies_without_rmws: &[],
        consistent: &[Interleaving, ModificationOrders],
        violation: &[ThinAir, Cycle, Refutation],
        polynomial: false,
        monitored: false,
    },
    Row {
        model: Model::Wra,
        name: "wra",
        title: "weak release-acquire",
        definition: "cc, and no two read-modify-writes read the same write",
        family: Family::C11,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[Model::Cc],
        implies_without_rmws: &[],
        consistent: &[Interleaving, ModificationOrders, DecideAgain],
        violation: &[ThinAir, Cycle],
        polynomial: true,
        monitored: true,
    },
    Row {
        model: Model::Ra,
        name: "ra",
        title: "release-acquire",
        definition: "every access synchronises, and each location has a coherent order of its writes",
        family: Family::C11,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[Model::Wra, Model::Rc20],
        implies_without_rmws: &[],
        consistent: &[ModificationOrders],
        violation: &[ThinAir, Cycle],
        polynomial: true,
        monitored: true,
    },
    Row {
        model: Model::Sra,
        name: "sra",
        title: "strong release-acquire",
        definition: "ra, and the orders of all locations agree with one order of all writes",
        family: Family::C11,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[Model::Ra, Model::Ccv],
        implies_without_rmws: &[],
        consistent: &[ModificationOrders],
        violation: &[ThinAir, Cycle, Refutation, DecideAgain],
        polynomial: false,
        monitored: false,
    },
    Row {
        model: Model::Wpso,
        name: "wpso",
        title: "weak partial store order",
        definition: "the order that reads and writes force on each other under pso has no cycle",
        family: Family::StoreBuffers,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[Model::Relaxed],
        implies_without_rmws: &[],
        consistent: &[Interleaving, MemoryOrder, DecideAgain],
        violation: &[ThinAir, Cycle],
        polynomial: true,
        monitored: false,
    },
    Row {
        model: Model::Pso,
        name: "pso",
        title: "partial store order",
        definition: "every thread has a store buffer for each location, and its reads look there first",
        family: Family::StoreBuffers,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[Model::Wpso],
        implies_without_rmws: &[],
        consistent: &[MemoryOrder],
        violation: &[ThinAir, Cycle, Refutation],
        polynomial: false,
        monitored: false,
    },
    Row {
        model: Model::Wccm,
        name: "wccm",
        title: "weak convergent causal memory",
        definition: "ccm for threads with store buffers: reads may overtake earlier writes",
        family: Family::StoreBuffers,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[Model::Ccv, Model::Wra],
        implies_without_rmws: &[],
        consistent: &[Interleaving, DecideAgain],
        violation: &[ThinAir, Cycle],
        polynomial: true,
        monitored: false,
    },
    Row {
        model: Model::Wtso,
        name: "wtso",
        title: "weak total store order",
        definition: "the order that reads and writes force on each other under tso has no cycle",
        family: Family::StoreBuffers,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[Model::Wccm, Model::Wpso, Model::Ra],
        implies_without_rmws: &[],
        consistent: &[Interleaving, MemoryOrder, DecideAgain],
        violation: &[ThinAir, Cycle],
        polynomial: true,
        monitored: false,
    },
    Row {
        model: Model::Tso,
        name: "tso",
        title: "total store order",
        definition: "every thread has a store buffer, and its reads look there first",
        family: Family::StoreBuffers,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[Model::Wtso, Model::Pso, Model::Sra],
        implies_without_rmws: &[],
        consistent: &[MemoryOrder],
        violation: &[ThinAir, Cycle, Refutation],
        polynomial: false,
        monitored: true,
    },
    Row {
        model: Model::Wsc,
        name: "wsc",
        title: "weak sequential consistency",
        definition: "the order that reads and writes force on each other has no cycle",
        family: Family::Sequential,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[Model::Wtso, Model::Ccm],
        implies_without_rmws: &[],
        consistent: &[Interleaving, DecideAgain],
        violation: &[ThinAir, Cycle],
        polynomial: true,
        monitored: true,
    },
    Row {
        model: Model::Sc,
        name: "sc",
        title: "sequential consistency",
        definition: "in one interleaving of all threads, each read returns the last write",
        family: Family::Sequential,
        view: View::Execution,
        sequential_accesses: true,
        implies: &[Model::Wsc, Model::Tso, Model::Rc11],
        implies_without_rmws: &[],
        consistent: &[Interleaving],
        violation: &[ThinAir, Cycle, Refutation],
        polynomial: false,
        monitored: false,
    },
    Row {
        model: Model::ScObserved,
        name: "sc-observed",
        title: "observed sequential consistency",
        definition: "one interleaving keeps the order in which conflicting operations were performed",
        family: Family::Observed,
        view: View::Performed,
        sequential_accesses: true,
        implies: &[],
        implies_without_rmws: &[],
        consistent: &[Interleaving],
        violation: &[Constraints],
        polynomial: true,
        monitored: true,
    },
    Row {
        model: Model::Linearizable,
        name: "linearizable",
        title: "linearizability",
        definition: "every operation takes effect at a moment between its call and its return",
        family: Family::Objects,
        view: View::Calls,
        sequential_accesses: true,
        implies: &[],
        implies_without_rmws: &[],
        consistent: &[Linearizations, Pairs],
        violation: &[Core],
        polynomial: false,
        monitored: true,
    },
    Row {
        model: Model::SessionlessPl2,
        name: "sessionless-pl-2",
        title: "PL-2, without sessions",
        definition: "no cycle of reads-from and known versions",
        implies: &[],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle],
        polynomial: true,
        ..TRANSACTIONS
    },
    Row {
        model: Model::SessionlessReadCommitted,
        name: "sessionless-read-committed",
        title: "read committed, without sessions",
        definition: "once a transaction has read from another, it reads nothing older than what that one wrote",
        implies: &[Model::SessionlessPl2],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle],
        polynomial: true,
        ..TRANSACTIONS
    },
    Row {
        model: Model::SessionlessRepeatableRead,
        name: "sessionless-repeatable-read",
        title: "repeatable read, without sessions",
        definition: "read-committed, and all reads of a key in a transaction have one source",
        implies: &[Model::SessionlessReadCommitted],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle, Unrepeatable],
        polynomial: true,
        ..TRANSACTIONS
    },
    Row {
        model: Model::SessionlessReadAtomic,
        name: "sessionless-read-atomic",
        title: "read atomic, without sessions",
        definition: "a transaction sees all or nothing of each transaction that it reads from",
        implies: &[Model::SessionlessRepeatableRead],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle, Unrepeatable],
        polynomial: true,
        ..TRANSACTIONS
    },
    Row {
        model: Model::SessionlessCausal,
        name: "sessionless-causal",
        title: "causal consistency, without sessions",
        definition: "a transaction sees all that its sources, and theirs in turn, have seen",
        implies: &[Model::SessionlessReadAtomic],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle, Unrepeatable],
        polynomial: true,
        ..TRANSACTIONS
    },
    Row {
        model: Model::SessionlessPrefix,
        name: "sessionless-prefix",
        title: "prefix consistency, without sessions",
        definition: "a transaction reads from a snapshot that is a prefix of the commit order",
        implies: &[Model::SessionlessCausal],
        consistent: &[EventOrder],
        violation: &[BadRead, Cycle, Unrepeatable, Refutation],
        polynomial: false,
        ..TRANSACTIONS
    },
    Row {
        model: Model::SessionlessParallelSnapshotIsolation,
        name: "sessionless-parallel-snapshot-isolation",
        title: "parallel snapshot isolation, without sessions",
        definition: "causal, and of two writers of a key one sees the other",
        implies: &[Model::SessionlessCausal],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle, Unrepeatable, LostUpdate, Refutation],
        polynomial: false,
        ..TRANSACTIONS
    },
    Row {
        model: Model::SessionlessSnapshotIsolation,
        name: "sessionless-snapshot-isolation",
        title: "snapshot isolation, without sessions",
        definition: "prefix, and of two writers of a key one sees the other: the first committer wins",
        implies: &[Model::SessionlessPrefix, Model::SessionlessParallelSnapshotIsolation],
        consistent: &[EventOrder],
        violation: &[BadRead, Cycle, Unrepeatable, LostUpdate, Refutation],
        polynomial: false,
        ..TRANSACTIONS
    },
    Row {
        model: Model::SessionlessSerializable,
        name: "sessionless-serializable",
        title: "serializability, without sessions",
        definition: "the transactions take effect one at a time, in the commit order",
        implies: &[Model::SessionlessSnapshotIsolation],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle, Unrepeatable, LostUpdate, Refutation],
        polynomial: false,
        ..TRANSACTIONS
    },
    Row {
        model: Model::Pl2,
        name: "pl-2",
        title: "PL-2",
        definition: "no cycle of session order, reads-from and known versions",
        implies: &[Model::SessionlessPl2],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle],
        polynomial: true,
        ..TRANSACTIONS
    },
    Row {
        model: Model::ReadCommitted,
        name: "read-committed",
        title: "read committed",
        definition: "once a transaction has read from another, it reads nothing older than what that one wrote",
        implies: &[Model::Pl2, Model::SessionlessReadCommitted],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle],
        polynomial: true,
        monitored: true,
        ..TRANSACTIONS
    },
    Row {
        model: Model::RepeatableRead,
        name: "repeatable-read",
        title: "repeatable read",
        definition: "read-committed, and all reads of a key in a transaction have one source",
        implies: &[Model::ReadCommitted, Model::SessionlessRepeatableRead],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle, Unrepeatable],
        polynomial: true,
        ..TRANSACTIONS
    },
    Row {
        model: Model::ReadAtomic,
        name: "read-atomic",
        title: "read atomic",
        definition: "a transaction sees all or nothing of each transaction that it reads from, and of its session",
        implies: &[Model::RepeatableRead, Model::SessionlessReadAtomic],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle, Unrepeatable],
        polynomial: true,
        monitored: true,
        ..TRANSACTIONS
    },
    Row {
        model: Model::Causal,
        name: "causal",
        title: "causal consistency",
        definition: "a transaction sees all that its sources, its session, and theirs in turn, have seen",
        implies: &[Model::ReadAtomic, Model::SessionlessCausal],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle, Unrepeatable],
        polynomial: true,
        monitored: true,
        ..TRANSACTIONS
    },
    Row {
        model: Model::Prefix,
        name: "prefix",
        title: "prefix consistency",
        definition: "a transaction reads from a snapshot that is a prefix of the commit order",
        implies: &[Model::Causal, Model::SessionlessPrefix],
        consistent: &[EventOrder],
        violation: &[BadRead, Cycle, Unrepeatable, Refutation],
        polynomial: false,
        ..TRANSACTIONS
    },
    Row {
        model: Model::ParallelSnapshotIsolation,
        name: "parallel-snapshot-isolation",
        title: "parallel snapshot isolation",
        definition: "causal, and of two writers of a key one sees the other",
        implies: &[Model::Causal, Model::SessionlessParallelSnapshotIsolation],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle, Unrepeatable, LostUpdate, Refutation],
        polynomial: false,
        ..TRANSACTIONS
    },
    Row {
        model: Model::SnapshotIsolation,
        name: "snapshot-isolation",
        title: "snapshot isolation",
        definition: "prefix, and of two writers of a key one sees the other: the first committer wins",
        implies: &[Model::Prefix, Model::ParallelSnapshotIsolation, Model::SessionlessSnapshotIsolation],
        consistent: &[EventOrder],
        violation: &[BadRead, Cycle, Unrepeatable, LostUpdate, Refutation],
        polynomial: false,
        ..TRANSACTIONS
    },
    Row {
        model: Model::Serializable,
        name: "serializable",
        title: "serializability",
        definition: "the transactions take effect one at a time, in the commit order",
        implies: &[Model::SnapshotIsolation, Model::SessionlessSerializable],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle, Unrepeatable, LostUpdate, Refutation],
        polynomial: false,
        monitored: true,
        ..TRANSACTIONS
    },
    Row {
        model: Model::StrongPl2,
        name: "strong-pl-2",
        title: "PL-2, in real time",
        definition: "the plain level, and what ended before a transaction began is before it",
        implies: &[Model::Pl2],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle],
        polynomial: true,
        ..TRANSACTIONS
    },
    Row {
        model: Model::StrongReadCommitted,
        name: "strong-read-committed",
        title: "read committed, in real time",
        definition: "the plain level, and what ended before a transaction began is before it",
        implies: &[Model::StrongPl2, Model::ReadCommitted],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle],
        polynomial: true,
        ..TRANSACTIONS
    },
    Row {
        model: Model::StrongRepeatableRead,
        name: "strong-repeatable-read",
        title: "repeatable read, in real time",
        definition: "the plain level, and what ended before a transaction began is before it",
        implies: &[Model::StrongReadCommitted, Model::RepeatableRead],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle, Unrepeatable],
        polynomial: true,
        ..TRANSACTIONS
    },
    Row {
        model: Model::StrongReadAtomic,
        name: "strong-read-atomic",
        title: "read atomic, in real time",
        definition: "the plain level, and what ended before a transaction began is before it",
        implies: &[Model::StrongRepeatableRead, Model::ReadAtomic],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle, Unrepeatable],
        polynomial: true,
        ..TRANSACTIONS
    },
    Row {
        model: Model::StrongCausal,
        name: "strong-causal",
        title: "causal consistency, in real time",
        definition: "the plain level, and what ended before a transaction began is before it",
        implies: &[Model::StrongReadAtomic, Model::Causal],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle, Unrepeatable],
        polynomial: true,
        ..TRANSACTIONS
    },
    Row {
        model: Model::StrongPrefix,
        name: "strong-prefix",
        title: "prefix consistency, in real time",
        definition: "the plain level, and what ended before a transaction began is before it",
        implies: &[Model::StrongCausal, Model::Prefix],
        consistent: &[EventOrder],
        violation: &[BadRead, Cycle, Unrepeatable, Refutation],
        polynomial: false,
        ..TRANSACTIONS
    },
    Row {
        model: Model::StrongParallelSnapshotIsolation,
        name: "strong-parallel-snapshot-isolation",
        title: "parallel snapshot isolation, in real time",
        definition: "the plain level, and what ended before a transaction began is before it",
        implies: &[Model::StrongCausal, Model::ParallelSnapshotIsolation],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle, Unrepeatable, LostUpdate, Refutation],
        polynomial: false,
        ..TRANSACTIONS
    },
    Row {
        model: Model::StrongSnapshotIsolation,
        name: "strong-snapshot-isolation",
        title: "snapshot isolation, in real time",
        definition: "the plain level, and what ended before a transaction began is before it",
        implies: &[Model::StrongPrefix, Model::StrongParallelSnapshotIsolation, Model::SnapshotIsolation],
        consistent: &[EventOrder],
        violation: &[BadRead, Cycle, Unrepeatable, LostUpdate, Refutation],
        polynomial: false,
        ..TRANSACTIONS
    },
    Row {
        model: Model::StrictSerializable,
        name: "strict-serializable",
        title: "strict serializability",
        definition: "the transactions take effect one at a time, each between its begin and its end",
        implies: &[Model::StrongSnapshotIsolation, Model::Serializable],
        consistent: &[CommitOrder],
        violation: &[BadRead, Cycle, Unrepeatable, LostUpdate, Refutation],
        polynomial: false,
        ..TRANSACTIONS
    },
];

const _: () = {
    let mut at = 0;
    while at < ROWS.len() {
        assert!(ROWS[at].model as usize == at, "the rows are in the order of the models");
        at += 1;
    }
};
