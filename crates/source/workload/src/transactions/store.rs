//! The simulated databases.
//!
//! A version of a register is a number that counts the writes of its key. A version of a list is its length. Where a
//! store has replicas, a list is kept by one of them, and the replicas read old beginnings of it: a history of lists
//! has one order of versions for each key.

use std::collections::VecDeque;

use super::{Planned, Store, TransactionConfig};
use crate::random::SplitMix64;

/// An operation that was done.
#[derive(Clone, Debug)]
pub(super) struct StoreStep {
    pub is_write: bool,
    pub key: u32,
    /// The value of a register that was read or written; the element that was appended; the length of the list that was
    /// read, without the transaction's own elements.
    pub value: u32,
    /// The transaction's own elements, at the end of a list that was read.
    pub own: Vec<u32>,
}

/// The most replicas: more than this say nothing new, and each keeps all keys.
const MOST_REPLICAS: usize = 8;

/// How many transactions of others a replica may not know yet.
const LATEST: usize = 48;

/// The state of a database.
pub(super) struct Stores {
    store: Store,
    is_list: bool,
    /// How many transactions took effect.
    now: u64,
    /// How many values were written to each key.
    written: Vec<u32>,
    /// By key: the versions, each with the moment from which on it is current. The last few of a register are enough;
    /// all of a list are kept.
    versions: Vec<Vec<(u64, u32)>>,
    replicas: Vec<Replica>,
    /// By session: the moment of the state that it has seen (lists on replicas).
    seen: Vec<u64>,
}

/// A replica of all registers.
#[derive(Clone, Debug, Default)]
struct Replica {
    /// By key: the version, and the time stamp of its transaction.
    current: Vec<(u64, u32)>,
    /// The largest time stamp that it knows.
    clock: u64,
    /// By replica: how many of its transactions are known here.
    known: Vec<u32>,
    /// Transactions of others that are still to come.
    incoming: VecDeque<Update>,
    /// How many transactions it has done itself.
    own: u32,
}

/// What a replica tells the others of a transaction.
#[derive(Clone, Debug)]
struct Update {
    from: usize,
    number: u32,
    stamp: u64,
    /// What its replica knew of all replicas.
    known: Vec<u32>,
    writes: Vec<(u32, u32)>,
}

impl Stores {
    pub fn new(config: &TransactionConfig) -> Self {
        let keys = config.keys as usize;
        let has_replicas = matches!(config.store, Store::Causal | Store::ReadAtomic) && !config.lists;
        let count = if has_replicas { (config.sessions as usize).min(MOST_REPLICAS) } else { 0 };
        let replica = Replica { current: vec![(0, 0); keys], known: vec![0; count], ..Replica::default() };
        Self {
            store: config.store,
            is_list: config.lists,
            now: 0,
            written: vec![0; keys],
            versions: vec![vec![(0, 0)]; keys],
            replicas: vec![replica; count],
            seen: vec![0; config.sessions as usize],
        }
    }

    /// How many transactions took effect so far.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// How many values were written to a key.
    pub fn writes(&self, key: u32) -> u32 {
        self.written[key as usize]
    }

    /// Adds a key. Only lists have new keys.
    pub fn add_key(&mut self) {
        self.written.push(0);
        self.versions.push(vec![(0, 0)]);
    }

    /// The elements of a list, of which the first `length` are wanted: they are the versions themselves.
    pub fn list(&self, key: u32, length: u32) -> Vec<u32> {
        self.versions[key as usize][1..=length as usize].iter().map(|&(_, value)| value).collect()
    }

    /// Something happens inside: a replica learns of a transaction.
    pub fn step(&mut self, random: &mut SplitMix64) {
        if self.replicas.is_empty() {
            return;
        }
        let at = random.below(self.replicas.len() as u64) as usize;
        if random.percent(30) {
            self.learn(at, random);
        }
        while self.replicas[at].incoming.len() > LATEST {
            self.learn(at, random);
        }
    }

    /// A replica learns of one of the transactions that are still to come there.
    fn learn(&mut self, at: usize, random: &mut SplitMix64) {
        let is_causal = self.store == Store::Causal;
        let replica = &mut self.replicas[at];
        if replica.incoming.is_empty() {
            return;
        }
        let waits = replica.incoming.len().min(16) as u64;
        let chosen = random.below(waits) as usize;
        let is_ready = |update: &Update, replica: &Replica| {
            let next = replica.known[update.from] + 1 == update.number;
            next && (0..update.known.len()).all(|of| of == update.from || update.known[of] <= replica.known[of])
        };
        let chosen = if is_causal {
            // The first of the queue is always ready.
            (0..=chosen).rev().find(|&place| is_ready(&replica.incoming[place], replica))
        } else {
            Some(chosen)
        };
        let Some(update) = chosen.and_then(|place| replica.incoming.remove(place)) else { return };
        replica.known[update.from] = replica.known[update.from].max(update.number);
        replica.apply(update.stamp, &update.writes);
    }

    /// A read or a write at this moment, for a store that keeps no snapshot. `before` is what the transaction did.
    pub fn read_now(&mut self, planned: Planned, before: &[StoreStep]) -> StoreStep {
        self.perform(planned, u64::MAX, before)
    }

    /// Ends a transaction of a session: does what is still to be done, and installs its writes if it takes effect.
    pub fn finish(
        &mut self,
        session: usize,
        planned: &[Planned],
        snapshot: u64,
        steps: Vec<StoreStep>,
        takes_effect: bool,
    ) -> Vec<StoreStep> {
        if !self.replicas.is_empty() {
            return self.finish_on_replica(session, planned, takes_effect);
        }
        let snapshot = match self.store {
            Store::SnapshotIsolation if self.has_conflict(planned, snapshot) => self.now,
            Store::SnapshotIsolation => snapshot,
            // Lists of a store with replicas: an old state, but not older than what the session has seen.
            Store::Causal | Store::ReadAtomic => self.seen[session].max(snapshot.saturating_sub(20)),
            Store::Serializable | Store::ReadCommitted => self.now,
        };
        let mut steps = if self.store == Store::ReadCommitted { steps } else { self.perform_all(planned, snapshot) };
        if self.is_torn(&steps) {
            steps = self.perform_all(planned, self.now);
        }
        if takes_effect {
            self.install(&steps);
            self.seen[session] = self.now;
        } else {
            self.seen[session] = self.seen[session].max(snapshot.min(self.now));
        }
        steps
    }

    /// A whole transaction on the state at a moment.
    fn perform_all(&mut self, planned: &[Planned], snapshot: u64) -> Vec<StoreStep> {
        let mut steps = Vec::with_capacity(planned.len());
        for &planned in planned {
            let step = self.perform(planned, snapshot, &steps);
            steps.push(step);
        }
        steps
    }

    /// Whether a transaction saw its own elements at the end of a list that has grown since. Then they would not be
    /// there in the end, and it is done again.
    fn is_torn(&self, steps: &[StoreStep]) -> bool {
        let has_grown = |step: &StoreStep| step.value as usize + 1 < self.versions[step.key as usize].len();
        self.is_list && steps.iter().any(|step| !step.is_write && !step.own.is_empty() && has_grown(step))
    }

    /// One operation on the state at a moment, after what the transaction did before.
    fn perform(&mut self, planned: Planned, snapshot: u64, before: &[StoreStep]) -> StoreStep {
        let Planned { is_write, key } = planned;
        let versions = &self.versions[key as usize];
        if is_write {
            self.written[key as usize] += 1;
            return StoreStep { is_write, key, value: self.written[key as usize], own: Vec::new() };
        }
        let mut own = before.iter().filter(|step| step.is_write && step.key == key).map(|step| step.value);
        let place = versions.iter().rposition(|&(since, _)| since <= snapshot).unwrap_or(0);
        if self.is_list {
            return StoreStep { is_write, key, value: place as u32, own: own.collect() };
        }
        StoreStep { is_write, key, value: own.next_back().unwrap_or(versions[place].1), own: Vec::new() }
    }

    /// Whether a key that is to be written has a version after the snapshot.
    fn has_conflict(&self, planned: &[Planned], snapshot: u64) -> bool {
        let is_newer = |key: u32| self.versions[key as usize].last().is_some_and(|&(since, _)| since > snapshot);
        planned.iter().any(|planned| planned.is_write && is_newer(planned.key))
    }

    fn install(&mut self, steps: &[StoreStep]) {
        self.now += 1;
        for (at, step) in steps.iter().enumerate().filter(|(_, step)| step.is_write) {
            let is_final = !steps[at + 1..].iter().any(|later| later.is_write && later.key == step.key);
            let versions = &mut self.versions[step.key as usize];
            if self.is_list || is_final {
                versions.push((self.now, step.value));
            }
            // Old versions of registers are not read any more: a snapshot is younger than a few hundred transactions.
            if !self.is_list && versions.len() > 4096 {
                versions.drain(..2048);
            }
        }
    }

    fn finish_on_replica(&mut self, session: usize, planned: &[Planned], takes_effect: bool) -> Vec<StoreStep> {
        let at = session % self.replicas.len();
        let mut steps: Vec<StoreStep> = Vec::with_capacity(planned.len());
        for &Planned { is_write, key } in planned {
            let own = steps.iter().rev().find(|step| step.is_write && step.key == key).map(|step| step.value);
            let value = if is_write {
                self.written[key as usize] += 1;
                self.written[key as usize]
            } else {
                own.unwrap_or(self.replicas[at].current[key as usize].1)
            };
            steps.push(StoreStep { is_write, key, value, own: Vec::new() });
        }
        if !takes_effect {
            return steps;
        }
        self.now += 1;
        let replica = &mut self.replicas[at];
        // Time stamps of different replicas differ: the number of the replica is their last part.
        let stamp = (replica.clock / MOST_REPLICAS as u64 + 1) * MOST_REPLICAS as u64 + at as u64;
        let mut writes: Vec<(u32, u32)> = Vec::new();
        for step in steps.iter().filter(|step| step.is_write) {
            writes.retain(|&(key, _)| key != step.key);
            writes.push((step.key, step.value));
        }
        replica.own += 1;
        replica.known[at] = replica.own;
        replica.apply(stamp, &writes);
        let update = Update { from: at, number: replica.own, stamp, known: replica.known.clone(), writes };
        for (_, replica) in self.replicas.iter_mut().enumerate().filter(|&(other, _)| other != at) {
            replica.incoming.push_back(update.clone());
        }
        steps
    }
}

impl Replica {
    /// Takes in a transaction: of two writes of a key, the one with the larger time stamp stays.
    fn apply(&mut self, stamp: u64, writes: &[(u32, u32)]) {
        self.clock = self.clock.max(stamp);
        for &(key, value) in writes {
            let current = &mut self.current[key as usize];
            if current.0 < stamp {
                *current = (stamp, value);
            }
        }
    }
}
