//! Isolation levels of transactions: nine levels, each in three forms.

use super::Model;

/// A level, apart from what stands for session order. The order of the type is that of strength, except that `prefix`
/// and `parallel-snapshot-isolation` imply neither the other.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Level {
    Pl2,
    ReadCommitted,
    RepeatableRead,
    ReadAtomic,
    Causal,
    Prefix,
    ParallelSnapshotIsolation,
    SnapshotIsolation,
    Serializable,
}

impl Level {
    /// All levels, the weakest first.
    pub const ALL: [Self; 9] = [
        Self::Pl2,
        Self::ReadCommitted,
        Self::RepeatableRead,
        Self::ReadAtomic,
        Self::Causal,
        Self::Prefix,
        Self::ParallelSnapshotIsolation,
        Self::SnapshotIsolation,
        Self::Serializable,
    ];
}

/// What stands for session order.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sessions {
    /// Nothing: names that begin with `sessionless-`.
    None,
    /// The order of each session.
    Session,
    /// The order of each session, and real time: names that begin with `strong-`, and `strict-serializable`.
    RealTime,
}

impl Sessions {
    /// All three, the weakest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Session, Self::RealTime];
}

/// A level with what stands for session order: a [`Model`].
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Isolation {
    /// The level.
    pub level: Level,
    /// What stands for session order.
    pub sessions: Sessions,
}

/// The models, by what stands for session order and by level.
const MODELS: [[Model; 9]; 3] = [
    [
        Model::SessionlessPl2,
        Model::SessionlessReadCommitted,
        Model::SessionlessRepeatableRead,
        Model::SessionlessReadAtomic,
        Model::SessionlessCausal,
        Model::SessionlessPrefix,
        Model::SessionlessParallelSnapshotIsolation,
        Model::SessionlessSnapshotIsolation,
        Model::SessionlessSerializable,
    ],
    [
        Model::Pl2,
        Model::ReadCommitted,
        Model::RepeatableRead,
        Model::ReadAtomic,
        Model::Causal,
        Model::Prefix,
        Model::ParallelSnapshotIsolation,
        Model::SnapshotIsolation,
        Model::Serializable,
    ],
    [
        Model::StrongPl2,
        Model::StrongReadCommitted,
        Model::StrongRepeatableRead,
        Model::StrongReadAtomic,
        Model::StrongCausal,
        Model::StrongPrefix,
        Model::StrongParallelSnapshotIsolation,
        Model::StrongSnapshotIsolation,
        Model::StrictSerializable,
    ],
];

impl Isolation {
    /// All of them, in the order of the models.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        let of = |sessions| Level::ALL.into_iter().map(move |level| Self { level, sessions });
        Sessions::ALL.into_iter().flat_map(of)
    }

    /// The model.
    pub const fn model(self) -> Model {
        MODELS[self.sessions as usize][self.level as usize]
    }

    /// Short forms of the name of the model.
    pub(super) fn aliases(self) -> impl Iterator<Item = &'static str> {
        use Level::{ParallelSnapshotIsolation as Psi, Serializable as Ser, SnapshotIsolation as Si};
        let names: &[&str] = match (self.sessions, self.level) {
            (Sessions::None, Psi) => &["sessionless-psi"],
            (Sessions::None, Si) => &["sessionless-si"],
            (Sessions::None, Ser) => &["sessionless-ser"],
            (Sessions::Session, Psi) => &["psi"],
            (Sessions::Session, Si) => &["si"],
            (Sessions::Session, Ser) => &["ser"],
            (Sessions::RealTime, Psi) => &["strong-psi"],
            (Sessions::RealTime, Si) => &["strong-si"],
            (Sessions::RealTime, Ser) => &["strong-serializable", "strong-ser", "strict-ser"],
            _ => &[],
        };
        names.iter().copied()
    }

    /// The model that Elle calls by this name. Elle's names without a prefix do not know sessions.
    ///
    /// ```
    /// use certificate::Model;
    /// use certificate::model::Isolation;
    ///
    /// assert_eq!(Isolation::from_elle("serializable").unwrap().model(), Model::SessionlessSerializable);
    /// assert_eq!(Isolation::from_elle("strong-session-read-committed").unwrap().model(), Model::Pl2);
    /// assert_eq!(Isolation::from_elle("strict-serializable").unwrap().model(), Model::StrictSerializable);
    /// ```
    pub fn from_elle(name: &str) -> Option<Self> {
        if matches!(name, "strict-serializable" | "strong-serializable" | "PL-SS") {
            return Some(Self { level: Level::Serializable, sessions: Sessions::RealTime });
        }
        let (sessions, name) = match (name.strip_prefix("strong-session-"), name.strip_prefix("strong-")) {
            (Some(name), _) => (Sessions::Session, name),
            (None, Some(name)) => (Sessions::RealTime, name),
            (None, None) => (Sessions::None, name),
        };
        let level = match name {
            "read-committed" | "PL-2" => Level::Pl2,
            "monotonic-atomic-view" => Level::ReadCommitted,
            "read-atomic" => Level::ReadAtomic,
            "causal" | "causal-cerone" => Level::Causal,
            "prefix" => Level::Prefix,
            "consistent-view" | "parallel-snapshot-isolation" | "PL-2+" => Level::ParallelSnapshotIsolation,
            "snapshot-isolation" | "PL-SI" => Level::SnapshotIsolation,
            // On keys, without predicates, PL-2.99 forbids what PL-3 forbids.
            "repeatable-read" | "PL-2.99" | "serializable" | "PL-3" => Level::Serializable,
            _ => return None,
        };
        Some(Self { level, sessions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_is_a_model_with_a_name_of_its_form() {
        for isolation in Isolation::all() {
            let model = isolation.model();
            assert_eq!(model.isolation(), Some(isolation));
            let name = model.name();
            match isolation.sessions {
                Sessions::None => assert!(name.starts_with("sessionless-")),
                Sessions::Session => assert!(!name.contains("less-") && !name.starts_with("str")),
                Sessions::RealTime => assert!(name.starts_with("strong-") || name == "strict-serializable"),
            }
            assert!(model.aliases().all(|alias| Model::from_name(alias) == Some(model)));
        }
        assert_eq!(Model::Sc.isolation(), None);
    }
}
