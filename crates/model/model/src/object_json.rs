//! The JSON of evidence about linearizability.
//!
//! A stay is `[insert, remove]` or `[insert, null]`, followed by the list of its peeks if there are any. A zone is
//! `[write, returned, called]`; for the initial value, the first two are `null`.
//!
//! ```json
//! {"linearizations":[{"order":[0,2,1,3],"results":[[3,"7"]]}]}
//! {"core":{"overtaken":[[0,5],[2,3]]}}
//! ```

use history::{History, OperationId};
use serde::{Deserialize, Serialize};

use crate::JsonError;
use crate::object::{Core, Linearization, Stay, Zone};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinearizationJson {
    order: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    results: Vec<(u32, String)>,
}

impl LinearizationJson {
    pub(crate) fn new(linearization: &Linearization, history: &History) -> Self {
        Self {
            order: linearization.order.iter().map(|id| id.0).collect(),
            results: linearization
                .results
                .iter()
                .map(|&(id, value)| (id.0, history.words().canonical(value)))
                .collect(),
        }
    }

    pub(crate) fn read(self, history: &History) -> Result<Linearization, JsonError> {
        let results = self.results.into_iter().map(|(id, text)| {
            let value = history.words().find(&text).ok_or(JsonError::Name(text))?;
            Ok((OperationId(id), value))
        });
        Ok(Linearization {
            results: results.collect::<Result<_, JsonError>>()?,
            order: self.order.into_iter().map(OperationId).collect(),
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum StayJson {
    Unseen(u32, Option<u32>),
    Seen(u32, Option<u32>, Vec<u32>),
}

impl StayJson {
    fn new(stay: &Stay) -> Self {
        let (insert, remove) = (stay.insert.0, stay.remove.map(|id| id.0));
        if stay.peeks.is_empty() {
            Self::Unseen(insert, remove)
        } else {
            Self::Seen(insert, remove, stay.peeks.iter().map(|id| id.0).collect())
        }
    }

    fn read(self) -> Stay {
        let (insert, remove, peeks) = match self {
            Self::Unseen(insert, remove) => (insert, remove, Vec::new()),
            Self::Seen(insert, remove, peeks) => (insert, remove, peeks),
        };
        Stay {
            insert: OperationId(insert),
            remove: remove.map(OperationId),
            peeks: peeks.into_iter().map(OperationId).collect(),
        }
    }
}

type ZoneJson = (Option<u32>, Option<u32>, u32);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CoreJson {
    NeverInserted(u32),
    RemovedTwice(u32, [u32; 2]),
    TooEarly(u32, u32),
    TooLate(u32, u32, u32),
    Overtaken(StayJson, StayJson),
    Circle(Vec<StayJson>),
    Covered { removal: u32, by: Vec<StayJson> },
    Tangled(Vec<StayJson>),
    Zones(ZoneJson, ZoneJson),
    Unpaired(u32),
    Stuck(u32),
}

impl CoreJson {
    pub(crate) fn new(core: &Core) -> Self {
        let stay = StayJson::new;
        let zone = |zone: &Zone| (zone.write.map(|id| id.0), zone.returned.map(|id| id.0), zone.called.0);
        match core {
            Core::NeverInserted(id) => Self::NeverInserted(id.0),
            Core::RemovedTwice { insert, removes } => Self::RemovedTwice(insert.0, removes.map(|id| id.0)),
            Core::TooEarly { insert, remove } => Self::TooEarly(insert.0, remove.0),
            Core::TooLate { insert, remove, peek } => Self::TooLate(insert.0, remove.0, peek.0),
            Core::Circle(stays) => Self::Circle(stays.iter().map(stay).collect()),
            Core::Overtaken { first, second } => Self::Overtaken(stay(first), stay(second)),
            Core::Covered { removal, by } => Self::Covered { removal: removal.0, by: by.iter().map(stay).collect() },
            Core::Tangled(stays) => Self::Tangled(stays.iter().map(stay).collect()),
            Core::Zones([first, second]) => Self::Zones(zone(first), zone(second)),
            Core::Unpaired(id) => Self::Unpaired(id.0),
            Core::Stuck(id) => Self::Stuck(id.0),
        }
    }

    pub(crate) fn read(self) -> Core {
        let stay = StayJson::read;
        let zone = |(write, returned, called): ZoneJson| Zone {
            write: write.map(OperationId),
            returned: returned.map(OperationId),
            called: OperationId(called),
        };
        match self {
            Self::NeverInserted(id) => Core::NeverInserted(OperationId(id)),
            Self::RemovedTwice(insert, removes) => {
                Core::RemovedTwice { insert: OperationId(insert), removes: removes.map(OperationId) }
            }
            Self::TooEarly(insert, remove) => {
                Core::TooEarly { insert: OperationId(insert), remove: OperationId(remove) }
            }
            Self::TooLate(insert, remove, peek) => {
                let [insert, remove, peek] = [insert, remove, peek].map(OperationId);
                Core::TooLate { insert, remove, peek }
            }
            Self::Circle(stays) => Core::Circle(stays.into_iter().map(stay).collect()),
            Self::Overtaken(first, second) => Core::Overtaken { first: stay(first), second: stay(second) },
            Self::Covered { removal, by } => {
                Core::Covered { removal: OperationId(removal), by: by.into_iter().map(stay).collect() }
            }
            Self::Tangled(stays) => Core::Tangled(stays.into_iter().map(stay).collect()),
            Self::Zones(first, second) => Core::Zones([zone(first), zone(second)]),
            Self::Unpaired(id) => Core::Unpaired(OperationId(id)),
            Self::Stuck(id) => Core::Stuck(OperationId(id)),
        }
    }
}
