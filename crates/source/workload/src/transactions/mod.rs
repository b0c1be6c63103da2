//! Random histories of transactions of simulated databases.
//!
//! Sessions run transactions of reads and writes of random keys. The [`Store`] decides what a read returns. At every
//! step a random session begins a transaction, goes on with the one that it has open, or ends it, so that transactions
//! overlap. Every write writes a value of its own to its key (1, 2, 3, … ; every key holds 0, or the empty list, at
//! first), so it is always clear which write a read is from. The level that the store is named after allows the
//! history.
//!
//! [`InjectedAnomaly`] adds a few transactions by further sessions on further keys, which violate a known level.
//! [`TransactionConfig::perturb`] changes the results of reads to versions shortly before.

mod anomaly;
mod keys;
mod small;
mod store;

use history::{History, HistoryBuilder, KeyId, Method, Object, OperationId, ProcessId, Status, Value};

pub use anomaly::InjectedAnomaly;
pub use small::small;

use crate::random::SplitMix64;
use keys::Keys;
use store::Stores;

/// A database, by the level that it keeps.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Store {
    /// A transaction takes effect at one moment between its begin and its end. So it is strictly serializable, too.
    Serializable,
    /// A transaction reads the state at its begin. It takes effect at its end, unless another one wrote one of its keys
    /// in between: then it is done again at its end.
    SnapshotIsolation,
    /// Replicas that learn of each other's transactions in an order that respects causality. The last write wins.
    Causal,
    /// Replicas that learn of each other's transactions in any order, but of each as a whole. The last write wins.
    ReadAtomic,
    /// Every read returns what is committed at that moment.
    ReadCommitted,
}

impl Store {
    /// Every store, the strongest first.
    pub const ALL: [Self; 5] =
        [Self::Serializable, Self::SnapshotIsolation, Self::Causal, Self::ReadAtomic, Self::ReadCommitted];

    /// The name of the level that it keeps.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Serializable => "serializable",
            Self::SnapshotIsolation => "snapshot-isolation",
            Self::Causal => "causal",
            Self::ReadAtomic => "read-atomic",
            Self::ReadCommitted => "read-committed",
        }
    }
}

/// What to generate.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct TransactionConfig {
    /// The database.
    pub store: Store,
    /// How many sessions; at least one.
    pub sessions: u32,
    /// How many operations, all sessions together. The last transaction may be shorter for it.
    pub operations: u32,
    /// How many keys; at least one.
    pub keys: u32,
    /// Whether some keys are chosen more often than others: the second key half as often as the first, the third a
    /// third as often, and so on.
    pub zipf: bool,
    /// How many operations a transaction has on average; at least one.
    pub length: u32,
    /// How many of a hundred operations write or append. The others read.
    pub writes: u32,
    /// How many of a hundred writes come right after a read of the same key.
    pub rmws: u32,
    /// Whether the keys are lists.
    pub lists: bool,
    /// How many of a hundred transactions abort.
    pub aborts: u32,
    /// How many of a hundred transactions have an end of which nobody knows.
    pub unknown: u32,
    /// Whether the history does not say what happened before what in time.
    pub untimed: bool,
    /// How many reads return an older version.
    pub perturb: u32,
    /// What goes wrong.
    pub anomaly: Option<InjectedAnomaly>,
    /// Where the random choices start.
    pub seed: u64,
}

impl Default for TransactionConfig {
    fn default() -> Self {
        Self {
            store: Store::Serializable,
            sessions: 4,
            operations: 1000,
            keys: 8,
            zipf: false,
            length: 4,
            writes: 50,
            rmws: 0,
            lists: false,
            aborts: 0,
            unknown: 0,
            untimed: false,
            perturb: 0,
            anomaly: None,
            seed: 0,
        }
    }
}

impl TransactionConfig {
    /// What is wrong with the configuration, if anything.
    pub fn fault(&self) -> Option<&'static str> {
        if self.sessions == 0 {
            Some("a history needs at least one session")
        } else if self.keys == 0 {
            Some("a history needs at least one key")
        } else if self.length == 0 {
            Some("a transaction needs at least one operation")
        } else if [self.writes, self.rmws, self.aborts, self.unknown].iter().any(|&percent| percent > 100) {
            Some("more than 100 percent")
        } else if self.aborts + self.unknown > 100 {
            Some("aborted and unknown transactions together are more than 100 percent")
        } else if self.anomaly.is_some_and(|anomaly| anomaly.needs_lists() && !self.lists) {
            Some("this anomaly shows on lists only")
        } else {
            None
        }
    }
}

/// After so many appends, a new list takes the place of a list. Else a history of n reads would have n² elements.
const LONGEST_LIST: u32 = 32;

/// An operation of a transaction before it is done: whether it writes, and its key.
#[derive(Copy, Clone, Debug)]
struct Planned {
    is_write: bool,
    key: u32,
}

/// A transaction that is open.
#[derive(Clone, Debug, Default)]
struct OpenTransaction {
    planned: Vec<Planned>,
    /// How many operations are behind it.
    done: usize,
    /// What it did so far, for a store that does each operation in its turn.
    steps: Vec<store::StoreStep>,
    /// The moment of the store when it began.
    snapshot: u64,
    is_begun: bool,
}

/// The history of a configuration.
///
/// ```
/// use workload::transactions::{TransactionConfig, Store, history};
///
/// let config = TransactionConfig { store: Store::Causal, operations: 100, seed: 3, ..TransactionConfig::default() };
/// let made = history(&config);
/// assert!(made.is_of_transactions());
/// assert_eq!(made.operations().len(), 100);
/// ```
///
/// # Panics
/// If the configuration has a [fault](TransactionConfig::fault).
pub fn history(config: &TransactionConfig) -> History {
    assert_eq!(config.fault(), None);
    let mut run = TransactionRun::new(config);
    let anomaly_at = run.random.below(u64::from(config.operations) + 1) as u32;
    let mut has_anomaly = false;
    while run.left > 0 || run.open_count > 0 {
        if !has_anomaly && config.operations - run.left >= anomaly_at {
            has_anomaly = true;
            run.add_anomaly();
        }
        run.step();
    }
    if !has_anomaly {
        run.add_anomaly();
    }
    let TransactionRun { builder, mut random, .. } = run;
    let made = builder.finish().expect("a run keeps the invariants");
    perturb(config, made, &mut random)
}

struct TransactionRun<'c> {
    config: &'c TransactionConfig,
    random: SplitMix64,
    builder: HistoryBuilder,
    sessions: Vec<ProcessId>,
    names: Vec<KeyId>,
    keys: Keys,
    stores: Stores,
    open: Vec<OpenTransaction>,
    open_count: u32,
    /// How many operations are still to be planned.
    left: u32,
    /// The key at each place of the choice of keys. A list that has grown long makes room for a new one.
    slots: Vec<u32>,
}

impl<'c> TransactionRun<'c> {
    fn new(config: &'c TransactionConfig) -> Self {
        let mut builder = HistoryBuilder::new(Object::Transactions);
        if config.untimed {
            builder.set_untimed();
        }
        let sessions = (0..config.sessions).map(|session| builder.process(&session.to_string())).collect();
        let names = (0..config.keys).map(|key| builder.key(&format!("k{key}"))).collect();
        Self {
            config,
            random: SplitMix64::new(config.seed),
            builder,
            sessions,
            names,
            keys: Keys::new(config.keys, config.zipf),
            stores: Stores::new(config),
            open: vec![OpenTransaction::default(); config.sessions as usize],
            open_count: 0,
            left: config.operations,
            slots: (0..config.keys).collect(),
        }
    }

    /// A random session goes on.
    fn step(&mut self) {
        let session = self.random.below(self.sessions.len() as u64) as usize;
        if !self.open[session].is_begun {
            if self.left > 0 {
                self.begin(session);
            }
            return;
        }
        self.stores.step(&mut self.random);
        if self.open[session].done < self.open[session].planned.len() {
            let planned = self.open[session].planned[self.open[session].done];
            self.open[session].done += 1;
            if self.config.store == Store::ReadCommitted {
                let step = self.stores.read_now(planned, &self.open[session].steps);
                self.open[session].steps.push(step);
            }
        } else {
            self.end(session);
        }
    }

    fn begin(&mut self, session: usize) {
        let length = self.random.between(1, 2 * self.config.length - 1).min(self.left) as usize;
        let mut planned = std::mem::take(&mut self.open[session].planned);
        planned.clear();
        while planned.len() < length {
            let slot = self.keys.pick(&mut self.random) as usize;
            let key = self.key(slot);
            let is_write = self.random.percent(self.config.writes as u8);
            let room = length - planned.len();
            // A write that is to come after a read has no room in the last place, so that only the read is done.
            let is_rmw = is_write && (room > 1 || self.config.rmws > 0) && self.random.percent(self.config.rmws as u8);
            if is_rmw {
                planned.push(Planned { is_write: false, key });
            }
            if !is_rmw || room > 1 {
                planned.push(Planned { is_write, key });
            }
        }
        self.left -= length as u32;
        let open = &mut self.open[session];
        open.planned = planned;
        open.done = 0;
        open.steps.clear();
        open.snapshot = self.stores.now();
        open.is_begun = true;
        self.open_count += 1;
        self.builder.begin_transaction(self.sessions[session]).expect("no transaction of this session is open");
    }

    /// The key at a place.
    fn key(&mut self, slot: usize) -> u32 {
        if self.config.lists && self.stores.writes(self.slots[slot]) >= LONGEST_LIST {
            self.slots[slot] = self.names.len() as u32;
            self.names.push(self.builder.key(&format!("k{}", self.names.len())));
            self.stores.add_key();
        }
        self.slots[slot]
    }

    fn end(&mut self, session: usize) {
        let mut open = std::mem::take(&mut self.open[session]);
        let chance = self.random.below(100) as u32;
        let status = match chance {
            _ if chance < self.config.aborts => Status::Aborted,
            _ if chance < self.config.aborts + self.config.unknown => Status::Indeterminate,
            _ => Status::Committed,
        };
        // Of an unknown end, half took effect.
        let takes_effect = status == Status::Committed || status == Status::Indeterminate && self.random.percent(50);
        let steps =
            self.stores.finish(session, &open.planned, open.snapshot, std::mem::take(&mut open.steps), takes_effect);
        for step in &steps {
            let (process, key) = (self.sessions[session], self.names[step.key as usize]);
            let value = Value::small(step.value);
            let added = match (step.is_write, self.config.lists) {
                (true, false) => self.builder.write(process, key, value),
                (true, true) => self.builder.append(process, key, value),
                (false, false) => self.builder.read(process, key, value),
                (false, true) => {
                    let elements: Vec<Value> = self
                        .stores
                        .list(step.key, step.value)
                        .iter()
                        .chain(&step.own)
                        .map(|&element| Value::small(element))
                        .collect();
                    self.builder.read_list(process, key, &elements)
                }
            };
            added.expect("the session and the key are known");
        }
        self.builder.end_transaction(self.sessions[session], status).expect("it is open");
        self.open_count -= 1;
        self.open[session] = OpenTransaction { is_begun: false, ..open };
    }

    /// Adds the transactions of the anomaly, by sessions and on keys of their own.
    fn add_anomaly(&mut self) {
        if let Some(anomaly) = self.config.anomaly {
            anomaly.add(&mut self.builder, self.config.lists);
        }
    }
}

/// Changes the results of some reads of committed transactions to older versions.
fn perturb(config: &TransactionConfig, made: History, random: &mut SplitMix64) -> History {
    if config.perturb == 0 {
        return made;
    }
    let is_late = |id: &OperationId| {
        let read = made.operation(*id);
        let older = read.result.as_integer().map_or_else(|| made.list(read.result).len(), |value| value as usize);
        read.method == Method::Read && read.outcome == history::Outcome::Instant && older > 0
    };
    let mut reads: Vec<OperationId> = (0..made.operations().len() as u32).map(OperationId).filter(is_late).collect();
    let mut chosen = Vec::new();
    for _ in 0..config.perturb.min(reads.len() as u32) {
        chosen.push(reads.swap_remove(random.below(reads.len() as u64) as usize));
    }
    chosen.sort_unstable();
    let changes: Vec<(OperationId, KeyId, Value, Vec<Value>)> = chosen
        .into_iter()
        .map(|id| {
            let read = made.operation(id);
            let mut older = |most: usize| random.between(1, 3.min(most as u32)) as usize;
            if let Some(value) = read.result.as_integer() {
                let value = value as usize - older(value as usize);
                (id, read.key, Value::small(value as u32), Vec::new())
            } else {
                let list = made.list(read.result);
                let kept = list.len() - older(list.len());
                (id, read.key, Value::EMPTY_LIST, list[..kept].to_vec())
            }
        })
        .collect();
    let mut builder = HistoryBuilder::from(made);
    for (id, key, value, elements) in changes {
        let value = if value.as_list().is_some() { builder.list(key, &elements) } else { Ok(value) };
        let value = value.expect("elements of this history");
        builder.set_result(id, value).expect("a read of a committed transaction");
    }
    builder.finish().expect("only results have changed")
}
