//! What the clients do: each draws its next operations from a seeded source of random numbers, so that a run can be
//! asked for again. No key gets a value twice, so that a read shows its write.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use workload::random::SplitMix64;

use crate::{End, ProbeConfig, Scheme};

/// What the clients do.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Workload {
    /// PostgreSQL: transactions that read and write registers. Redis, etcd: single reads, writes and compare-and-swaps
    /// of registers.
    Register,
    /// Transactions that append to lists, and read them.
    List,
    /// Transactions that move money between two accounts, or read all accounts.
    Bank,
    /// Transactions that read and write registers, on every database.
    Transaction,
}

impl Workload {
    /// Every workload.
    pub const ALL: [Self; 4] = [Self::Register, Self::List, Self::Bank, Self::Transaction];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::List => "list",
            Self::Bank => "bank",
            Self::Transaction => "transaction",
        }
    }

    /// The workload of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| workload.name() == name)
    }
}

/// What each account holds in the beginning.
pub(crate) const BALANCE: i64 = 100;
/// After so many appends, a list makes room for a new one.
const LONGEST_LIST: u64 = 32;

/// A task of a client, and what was done of it.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// A transaction whose operations are known beforehand.
    Transaction { planned: Vec<Planned>, done: Vec<Done> },
    /// A transaction that moves money. The values that it writes end in these numbers, so that they are unique.
    Transfer { accounts: [u64; 2], amount: i64, numbers: [u64; 2], done: Vec<Done> },
    /// One operation of a register.
    Call { key: u64, call: Call, answer: Option<String> },
}

/// An operation of a transaction.
#[derive(Clone, Debug)]
pub(crate) enum Planned {
    Read(u64),
    Write(u64, u64),
    ReadList(u64),
    Append(u64, u64),
}

/// An operation that was done.
#[derive(Clone, Debug)]
pub(crate) enum Done {
    /// `None` if the key has no value.
    Read(u64, Option<String>),
    Write(u64, String),
    ReadList(u64, Vec<String>),
    Append(u64, u64),
}

/// One operation of a register.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    Read,
    Write(String),
    Cas(String, String),
}

/// What a client remembers: the values of keys that it has read or written last.
#[derive(Debug, Default)]
pub(crate) struct ClientMemory {
    values: BTreeMap<u64, String>,
}

impl ClientMemory {
    pub fn learn(&mut self, task: &Task, end: End) {
        let Task::Call { key, call, answer } = task else { return };
        if end != End::Committed {
            return;
        }
        let value = match call {
            Call::Read => answer.clone(),
            Call::Write(value) => Some(value.clone()),
            Call::Cas(_, new) if answer.as_deref() == Some("true") => Some(new.clone()),
            Call::Cas(..) => None,
        };
        match value {
            Some(value) => drop(self.values.insert(*key, value)),
            None => drop(self.values.remove(key)),
        }
    }
}

/// Plans tasks for all clients.
pub(crate) struct Planner {
    workload: Workload,
    scheme: Scheme,
    keys: u64,
    length: u32,
    writes: u8,
    /// The last value that was planned to be written.
    values: AtomicU64,
    /// By place: how many appends were planned there.
    appends: Vec<AtomicU64>,
}

impl Planner {
    pub fn new(config: &ProbeConfig) -> Self {
        let keys = u64::from(config.keys.max(2));
        Self {
            workload: config.workload,
            scheme: config.url.scheme,
            keys,
            length: config.length.max(1),
            writes: config.writes.min(100) as u8,
            values: AtomicU64::new(0),
            appends: (0..keys).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn value(&self) -> u64 {
        self.values.fetch_add(1, Relaxed) + 1
    }

    pub fn task(&self, random: &mut SplitMix64, memory: &mut ClientMemory) -> Task {
        match self.workload {
            Workload::Bank if random.percent(30) => {
                let planned = (0..self.keys).map(Planned::Read).collect();
                Task::Transaction { planned, done: Vec::new() }
            }
            Workload::Bank => {
                let from = random.below(self.keys);
                let to = (from + 1 + random.below(self.keys - 1)) % self.keys;
                let amount = i64::from(random.between(1, 5));
                let numbers = [self.value(), self.value()];
                Task::Transfer { accounts: [from, to], amount, numbers, done: Vec::new() }
            }
            Workload::Register if self.scheme != Scheme::Postgres => self.call(random, memory),
            Workload::List => self.lists(random),
            Workload::Register | Workload::Transaction => self.registers(random),
        }
    }

    fn call(&self, random: &mut SplitMix64, memory: &ClientMemory) -> Task {
        let key = random.below(self.keys);
        let call = match memory.values.get(&key) {
            _ if !random.percent(self.writes) => Call::Read,
            Some(old) if random.percent(40) => Call::Cas(old.clone(), self.value().to_string()),
            _ => Call::Write(self.value().to_string()),
        };
        Task::Call { key, call, answer: None }
    }

    /// Reads come before writes, and each key is written once: that is all that a transaction of etcd can do. Keys are
    /// written in their order, as [lists](Self::lists) are.
    fn registers(&self, random: &mut SplitMix64) -> Task {
        let length = random.between(1, 2 * self.length - 1);
        let (mut reads, mut written) = (Vec::new(), Vec::new());
        for _ in 0..length {
            let key = random.below(self.keys);
            if !random.percent(self.writes) {
                reads.push(key);
                continue;
            }
            // Half of the writes read their key first.
            if random.percent(50) {
                reads.push(key);
            }
            if !written.contains(&key) {
                written.push(key);
            }
        }
        written.sort_unstable();
        let reads = reads.into_iter().map(Planned::Read);
        let planned = reads.chain(written.into_iter().map(|key| Planned::Write(key, self.value()))).collect();
        Task::Transaction { planned, done: Vec::new() }
    }

    /// Keys are appended to in their order, as all workloads change keys. So no two transactions wait for each other:
    /// PostgreSQL would look at that only after a second (`deadlock_timeout`), and nothing else would happen meanwhile.
    fn lists(&self, random: &mut SplitMix64) -> Task {
        let length = random.between(1, 2 * self.length - 1);
        let operation = |_| {
            let place = random.below(self.keys) as usize;
            let is_append = random.percent(self.writes);
            let appends = &self.appends[place];
            let count = if is_append { appends.fetch_add(1, Relaxed) } else { appends.load(Relaxed) };
            let key = place as u64 + count / LONGEST_LIST * self.keys;
            if is_append { Planned::Append(key, self.value()) } else { Planned::ReadList(key) }
        };
        let mut planned: Vec<Planned> = (0..length).map(operation).collect();
        let is_append = |operation: &Planned| matches!(operation, Planned::Append(..));
        let mut appends: Vec<(u64, u64)> = planned
            .iter()
            .filter_map(|operation| match *operation {
                Planned::Append(key, value) => Some((key, value)),
                _ => None,
            })
            .collect();
        appends.sort_unstable();
        for (operation, (key, value)) in planned.iter_mut().filter(|it| is_append(it)).zip(appends) {
            *operation = Planned::Append(key, value);
        }
        Task::Transaction { planned, done: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No two transactions can wait for each other: each changes its keys in their order.
    #[test]
    fn keys_are_changed_in_their_order() {
        for workload in [Workload::Register, Workload::List, Workload::Transaction] {
            let url = "postgres://me@localhost/test".parse().unwrap();
            let planner = Planner::new(&ProbeConfig { workload, keys: 8, length: 6, ..ProbeConfig::new(url) });
            let (mut random, mut memory) = (SplitMix64::new(1), ClientMemory::default());
            let mut changes = 0;
            for _ in 0..1000 {
                let Task::Transaction { planned, .. } = planner.task(&mut random, &mut memory) else { panic!() };
                let changed: Vec<u64> = planned
                    .iter()
                    .filter_map(|operation| match *operation {
                        Planned::Write(key, _) | Planned::Append(key, _) => Some(key),
                        _ => None,
                    })
                    .collect();
                assert!(changed.is_sorted(), "{planned:?}");
                changes += changed.len();
            }
            assert!(changes > 1000);
        }
    }
}
