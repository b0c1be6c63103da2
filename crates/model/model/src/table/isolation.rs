//! Isolation levels of transactions: nine levels, each in three forms (without sessions, with them, in real time). Each
//! form of a level is a model of the table; the names of Elle are here, too.

use super::Model;
use super::rows::ROWS;

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

impl Isolation {
    /// All of them, in the order of the models.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        let of = |sessions| Level::ALL.into_iter().map(move |level| Self { level, sessions });
        Sessions::ALL.into_iter().flat_map(of)
    }

    /// The model.
    pub const fn model(self) -> Model {
        // The models stand in the table by what stands for session order, and then by level.
        let place = Model::SessionlessPl2 as usize + self.sessions as usize * Level::ALL.len() + self.level as usize;
        ROWS[place].model
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
    /// use model::Model;
    /// use model::Isolation;
    ///
    /// assert_eq!(Isolation::from_elle("serializable").unwrap().model(), Model::SessionlessSerializable);
    /// assert_eq!(Isolation::from_elle("strong-session-read-committed").unwrap().model(), Model::Pl2);
    /// assert_eq!(Isolation::from_elle("strict-serializable").unwrap().model(), Model::StrictSerializable);
    /// ```
    pub fn from_elle(name: &str) -> Option<Self> {
        if matches!(name, "strict-serializable" | "strong-serializable" | "PL-SS") {
            return Some(Self { level: Level::Serializable, sessions: Sessions::RealTime });
        }
        let (sessions, name) = sessions_of_elle(name);
        let level = match name {
            "read-committed" | "PL-2" => Level::Pl2,
            "monotonic-atomic-view" => Level::ReadCommitted,
            "read-atomic" => Level::ReadAtomic,
            "causal" | "causal-cerone" => Level::Causal,
            "prefix" => Level::Prefix,
            "consistent-view" | "parallel-snapshot-isolation" | "PL-2+" => Level::ParallelSnapshotIsolation,
            "snapshot-isolation" | "PL-SI" => Level::SnapshotIsolation,
            // On keys, without predicates, PL-2.99 forbids what PL-3 forbids. PL-3 is conflict serializability.
            "repeatable-read" | "PL-2.99" | "serializable" | "conflict-serializable" | "PL-3" => Level::Serializable,
            _ => return None,
        };
        Some(Self { level, sessions })
    }

    /// The name that Elle has for this; none if it has none. [`Self::from_elle`] reads it.
    pub const fn elle_name(self) -> Option<&'static str> {
        let [sessionless, session, real_time] = match self.level {
            Level::Pl2 => ["read-committed", "strong-session-read-committed", "strong-read-committed"],
            Level::ReadCommitted => {
                ["monotonic-atomic-view", "strong-session-monotonic-atomic-view", "strong-monotonic-atomic-view"]
            }
            Level::RepeatableRead => return None,
            Level::ReadAtomic => ["read-atomic", "strong-session-read-atomic", "strong-read-atomic"],
            Level::Causal => ["causal-cerone", "strong-session-causal-cerone", "strong-causal-cerone"],
            Level::Prefix => ["prefix", "strong-session-prefix", "strong-prefix"],
            Level::ParallelSnapshotIsolation => {
                ["consistent-view", "strong-session-consistent-view", "strong-consistent-view"]
            }
            Level::SnapshotIsolation => {
                ["snapshot-isolation", "strong-session-snapshot-isolation", "strong-snapshot-isolation"]
            }
            Level::Serializable => ["serializable", "strong-session-serializable", "strict-serializable"],
        };
        Some(match self.sessions {
            Sessions::None => sessionless,
            Sessions::Session => session,
            Sessions::RealTime => real_time,
        })
    }

    /// The levels that are nearest to one of Elle's that is not checked here: the next weaker and the next stronger
    /// one, by Elle's names. None for a name that Elle does not have, or whose level is checked.
    pub fn nearest_of_elle(name: &str) -> Option<[Option<&'static str>; 2]> {
        use Level::{Causal, ParallelSnapshotIsolation, Pl2, ReadAtomic, Serializable, SnapshotIsolation};
        let (sessions, plain) = sessions_of_elle(name);
        let [weaker, stronger] = match plain {
            "read-uncommitted" | "PL-1" => [None, Some(Pl2)],
            "cursor-stability" | "PL-CS" | "monotonic-view" | "PL-2L" => [Some(Pl2), Some(ParallelSnapshotIsolation)],
            "monotonic-snapshot-read" | "PL-MSR" => [Some(Pl2), Some(SnapshotIsolation)],
            "forward-consistent-view" | "PL-FCV" => [Some(ParallelSnapshotIsolation), Some(SnapshotIsolation)],
            "update-serializable" | "update-atomic" | "PL-3U" => [Some(ParallelSnapshotIsolation), Some(Serializable)],
            "ROLA" => [Some(ReadAtomic), Some(ParallelSnapshotIsolation)],
            "1SR" | "view-serializable" => [Some(SnapshotIsolation), Some(Serializable)],
            // These three are of sessions without saying so.
            "session-serializable" => return Some([Some("serializable"), Some("strict-serializable")]),
            "sequential" => return Some([Some("strong-session-causal-cerone"), Some("strong-session-serializable")]),
            "monotonic-reads" | "monotonic-writes" | "read-your-writes" | "writes-follow-reads" | "PRAM" => {
                let stronger = Self { level: Causal, sessions: Sessions::Session };
                return Some([None, stronger.elle_name()]);
            }
            _ => return None,
        };
        let name = |level: Option<Level>| Self { level: level?, sessions }.elle_name();
        Some([name(weaker), name(stronger)])
    }
}

/// What a name of Elle says of sessions, and the rest of it.
fn sessions_of_elle(name: &str) -> (Sessions, &str) {
    match (name.strip_prefix("strong-session-"), name.strip_prefix("strong-")) {
        (Some(name), _) => (Sessions::Session, name),
        (None, Some(name)) => (Sessions::RealTime, name),
        (None, None) => (Sessions::None, name),
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

    #[test]
    fn elle_has_a_name_for_every_level_but_one() {
        for isolation in Isolation::all() {
            match isolation.elle_name() {
                Some(name) => assert_eq!(Isolation::from_elle(name), Some(isolation), "{name}"),
                None => assert_eq!(isolation.level, Level::RepeatableRead),
            }
        }
    }

    /// Every level of Elle's own list is checked here, or has neighbours that are. They know as much of sessions, and
    /// the one is weaker than the other.
    #[test]
    fn every_level_of_elle_has_an_answer() {
        let plain = "1SR PL-1 PL-2 PL-2+ PL-2.99 PL-2L PL-3 PL-3U PL-CS PL-FCV PL-MSR PL-SI PL-SS PRAM ROLA \
                     causal causal-cerone conflict-serializable consistent-view cursor-stability \
                     forward-consistent-view monotonic-atomic-view monotonic-reads monotonic-snapshot-read \
                     monotonic-view monotonic-writes parallel-snapshot-isolation prefix read-atomic read-committed \
                     read-uncommitted read-your-writes repeatable-read sequential serializable session-serializable \
                     snapshot-isolation strict-serializable strong-PL-1 strong-PL-2 strong-read-committed \
                     strong-read-uncommitted strong-serializable strong-session-PL-1 strong-session-PL-2 \
                     strong-session-read-committed strong-session-read-uncommitted strong-session-serializable \
                     strong-session-snapshot-isolation strong-snapshot-isolation update-serializable \
                     view-serializable writes-follow-reads strong-session-monotonic-view strong-monotonic-view";
        for name in plain.split_whitespace() {
            let nearest = Isolation::nearest_of_elle(name);
            assert_ne!(Isolation::from_elle(name).is_some(), nearest.is_some(), "{name}");
            let named = nearest.into_iter().flatten().flatten();
            let near: Vec<Isolation> = named.map(|name| Isolation::from_elle(name).expect(name)).collect();
            if let [weaker, stronger] = near[..] {
                assert!(crate::implies(stronger.model(), weaker.model()), "{name}");
            }
            if name.starts_with("strong-") && nearest.is_some() {
                assert!(near.iter().all(|near| near.sessions == sessions_of_elle(name).0), "{name}");
            }
        }
        assert_eq!(Isolation::nearest_of_elle("snapshot"), None);
    }
}
