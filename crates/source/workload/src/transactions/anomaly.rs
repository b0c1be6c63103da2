//! Anomalies by the names that users know: each is a few transactions that no history of a certain level has.

use history::{HistoryBuilder, Status, Value};

use Op::{R, W};

/// What goes wrong. All transactions of an anomaly overlap in time, and each has a session of its own.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum InjectedAnomaly {
    /// Two transactions append to two lists in opposite orders.
    G0,
    /// A read of a value that an aborted transaction wrote.
    G1a,
    /// A read of a value that its transaction overwrote itself.
    G1b,
    /// Two transactions read from each other.
    G1c,
    /// A read of a value that nobody wrote.
    ThinAir,
    /// A transaction does not read its own write.
    Internal,
    /// A transaction reads what it writes later.
    FutureRead,
    /// Two reads of a list, neither of which is a beginning of the other.
    IncompatibleOrder,
    /// A transaction reads from another, and then an older version of a key that the other wrote.
    ObservedTransactionVanishes,
    /// Two reads of one key in one transaction differ.
    NonRepeatableRead,
    /// A transaction sees a part of another: first the older version of a key, then the newer one of another.
    FracturedRead,
    /// A transaction sees an effect, and not its cause.
    CausalityViolation,
    /// Two readers see two writes in opposite orders.
    LongFork,
    /// Two transactions read one version of a key, and both write it.
    LostUpdate,
    /// Two transactions each read what the other writes.
    WriteSkew,
    /// Three transactions each read what the next one writes.
    G2Item,
}

/// A read, which sees these elements of the list; for a register, the last of them. A write.
#[derive(Copy, Clone)]
enum Op {
    R(usize, &'static [u32]),
    W(usize, u32),
}

const X: usize = 0;
const Y: usize = 1;
const Z: usize = 2;
const DONE: Status = Status::Committed;

impl InjectedAnomaly {
    /// Every anomaly, those of the weakest levels first.
    pub const ALL: [Self; 16] = [
        Self::G0,
        Self::G1a,
        Self::G1b,
        Self::G1c,
        Self::ThinAir,
        Self::Internal,
        Self::FutureRead,
        Self::IncompatibleOrder,
        Self::ObservedTransactionVanishes,
        Self::NonRepeatableRead,
        Self::FracturedRead,
        Self::CausalityViolation,
        Self::LongFork,
        Self::LostUpdate,
        Self::WriteSkew,
        Self::G2Item,
    ];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::G0 => "g0",
            Self::G1a => "g1a",
            Self::G1b => "g1b",
            Self::G1c => "g1c",
            Self::ThinAir => "thin-air",
            Self::Internal => "internal",
            Self::FutureRead => "future-read",
            Self::IncompatibleOrder => "incompatible-order",
            Self::ObservedTransactionVanishes => "observed-transaction-vanishes",
            Self::NonRepeatableRead => "non-repeatable-read",
            Self::FracturedRead => "fractured-read",
            Self::CausalityViolation => "causality-violation",
            Self::LongFork => "long-fork",
            Self::LostUpdate => "lost-update",
            Self::WriteSkew => "write-skew",
            Self::G2Item => "g2-item",
        }
    }

    /// The anomaly of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|anomaly| anomaly.name() == name)
    }

    /// The weakest level that it violates.
    pub const fn violates(self) -> &'static str {
        match self {
            Self::G0
            | Self::G1a
            | Self::G1b
            | Self::G1c
            | Self::ThinAir
            | Self::Internal
            | Self::FutureRead
            | Self::IncompatibleOrder => "pl-2",
            Self::ObservedTransactionVanishes => "read-committed",
            Self::NonRepeatableRead => "repeatable-read",
            Self::FracturedRead => "read-atomic",
            Self::CausalityViolation => "causal",
            Self::LongFork => "prefix",
            Self::LostUpdate => "parallel-snapshot-isolation",
            Self::WriteSkew | Self::G2Item => "serializable",
        }
    }

    /// Whether it shows on lists only.
    pub const fn needs_lists(self) -> bool {
        matches!(self, Self::G0 | Self::IncompatibleOrder)
    }

    /// The transactions: how each ended, and what it did.
    const fn transactions(self) -> &'static [(Status, &'static [Op])] {
        match self {
            Self::G0 => &[
                (DONE, &[W(X, 1), W(Y, 1)]),
                (DONE, &[W(X, 2), W(Y, 2)]),
                (DONE, &[R(X, &[1, 2])]),
                (DONE, &[R(Y, &[2, 1])]),
            ],
            Self::G1a => &[(Status::Aborted, &[W(X, 1)]), (DONE, &[R(X, &[1])])],
            Self::G1b => &[(DONE, &[W(X, 1), W(X, 2)]), (DONE, &[R(X, &[1])])],
            Self::G1c => &[(DONE, &[W(X, 1), R(Y, &[1])]), (DONE, &[W(Y, 1), R(X, &[1])])],
            Self::ThinAir => &[(DONE, &[R(X, &[1])])],
            Self::Internal => &[(DONE, &[W(X, 1), R(X, &[])])],
            Self::FutureRead => &[(DONE, &[R(X, &[1]), W(X, 1)])],
            Self::IncompatibleOrder => {
                &[(DONE, &[W(X, 1)]), (DONE, &[W(X, 2)]), (DONE, &[R(X, &[1, 2])]), (DONE, &[R(X, &[2, 1])])]
            }
            Self::ObservedTransactionVanishes => &[(DONE, &[W(X, 1), W(Y, 1)]), (DONE, &[R(X, &[1]), R(Y, &[])])],
            Self::NonRepeatableRead => &[(DONE, &[W(X, 1)]), (DONE, &[R(X, &[]), R(X, &[1])])],
            Self::FracturedRead => &[(DONE, &[W(X, 1), W(Y, 1)]), (DONE, &[R(Y, &[]), R(X, &[1])])],
            Self::CausalityViolation => {
                &[(DONE, &[W(X, 1)]), (DONE, &[R(X, &[1]), W(Y, 1)]), (DONE, &[R(Y, &[1]), R(X, &[])])]
            }
            Self::LongFork => &[
                (DONE, &[W(X, 1)]),
                (DONE, &[W(Y, 1)]),
                (DONE, &[R(X, &[1]), R(Y, &[])]),
                (DONE, &[R(Y, &[1]), R(X, &[])]),
            ],
            Self::LostUpdate => &[(DONE, &[R(X, &[]), W(X, 1)]), (DONE, &[R(X, &[]), W(X, 2)])],
            Self::WriteSkew => &[(DONE, &[R(X, &[]), R(Y, &[]), W(X, 1)]), (DONE, &[R(X, &[]), R(Y, &[]), W(Y, 1)])],
            Self::G2Item => {
                &[(DONE, &[R(X, &[]), W(Y, 1)]), (DONE, &[R(Y, &[]), W(Z, 1)]), (DONE, &[R(Z, &[]), W(X, 1)])]
            }
        }
    }

    /// Adds the transactions of the anomaly.
    pub(super) fn add(self, builder: &mut HistoryBuilder, lists: bool) {
        let keys = ["x", "y", "z"].map(|name| builder.key(&format!("{name}-{}", self.name())));
        let mut sessions = Vec::new();
        for number in 1..=self.transactions().len() {
            let session = builder.process(&format!("{}-{number}", self.name()));
            builder.begin_transaction(session).expect("a new session");
            sessions.push(session);
        }
        for (&session, (status, operations)) in sessions.iter().zip(self.transactions()) {
            for operation in *operations {
                let added = match *operation {
                    W(key, value) if lists => builder.append(session, keys[key], Value::small(value)),
                    W(key, value) => builder.write(session, keys[key], Value::small(value)),
                    R(key, seen) if lists => {
                        let elements: Vec<Value> = seen.iter().map(|&element| Value::small(element)).collect();
                        builder.read_list(session, keys[key], &elements)
                    }
                    R(key, seen) => {
                        let value = seen.last().copied().unwrap_or(0);
                        builder.read(session, keys[key], Value::small(value))
                    }
                };
                added.expect("known names");
            }
            builder.end_transaction(session, *status).expect("it is open");
        }
    }
}
