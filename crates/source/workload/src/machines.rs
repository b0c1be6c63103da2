//! The machines that small executions run on, from an atomic memory to views that agree only on coherence. Writes are
//! named by their numbers of insertion; `None` is the initial write.

use crate::random::SplitMix64;

/// A memory system under simulation.
pub(crate) enum Machine {
    Replicas(Replicas),
    Views(Views),
}

impl Machine {
    /// A random machine. All its replicas or views have only the initial writes.
    pub(crate) fn random(threads: u32, locations: u32, random: &mut SplitMix64) -> Self {
        let (threads, locations) = (threads as usize, locations as usize);
        let replicas = |kind| Self::Replicas(Replicas::new(kind, threads, locations));
        let views = |synchronizes| Self::Views(Views::new(synchronizes, threads, locations));
        match random.below(8) {
            0 => replicas(ReplicaKind::Atomic),
            1 => replicas(ReplicaKind::StoreBuffer),
            2 => replicas(ReplicaKind::Causal),
            3 => replicas(ReplicaKind::Convergent),
            4 => views(true),
            5 => views(false),
            _ => replicas(ReplicaKind::Divergent),
        }
    }

    /// The write that a read finds.
    pub(crate) fn read(&mut self, thread: u32, location: u32, random: &mut SplitMix64) -> Option<usize> {
        match self {
            Self::Replicas(replicas) => replicas.read(thread as usize, location as usize, random),
            Self::Views(views) => views.read(thread as usize, location as usize, random),
        }
    }

    /// Performs a write.
    pub(crate) fn write(&mut self, thread: u32, location: u32, write: usize) {
        match self {
            Self::Replicas(replicas) => replicas.write(thread as usize, location as usize, write),
            Self::Views(views) => views.write(thread as usize, location as usize, write),
        }
    }

    /// Delivers some write to some thread, if there is one to deliver.
    pub(crate) fn propagate(&mut self, random: &mut SplitMix64) {
        if let Self::Replicas(replicas) = self {
            replicas.propagate(random);
        }
    }

    /// Empties the store buffer of a thread, if it has one.
    pub(crate) fn drain(&mut self, thread: u32) {
        if let Self::Replicas(replicas) = self {
            replicas.drain(thread as usize);
        }
    }
}

/// When a replica hears of a write, and whether it then stores it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum ReplicaKind {
    /// A write is visible to all threads at once.
    Atomic,
    /// A write waits in its thread's buffer, where only that thread sees it.
    StoreBuffer,
    /// Writes arrive late, but in causal order. A replica stores the write that arrived last.
    Causal,
    /// As `Causal`, but a replica stores the write with the largest timestamp of those that arrived.
    Convergent,
    /// As `Causal`, but a read finds any write that arrived, unless another write that arrived has causally overwritten
    /// it.
    Divergent,
}

/// A write with a Lamport timestamp. The thread decides between equal timestamps.
#[derive(Copy, Clone)]
struct Stamped {
    write: usize,
    stamp: (usize, usize),
}

/// A write as it travels to the replicas.
struct Message {
    stamped: Stamped,
    location: usize,
    /// How many writes of each thread its writer had heard of.
    after: Vec<usize>,
}

/// Memory by replicas: each thread has a replica and hears of the writes of each thread in their order. On an atomic
/// memory it hears of a write at once. A write in a store buffer reaches all other threads at the same moment.
pub(crate) struct Replicas {
    kind: ReplicaKind,
    messages: Vec<Vec<Message>>,
    /// How many writes of each thread (second index) each thread (first index) has heard of.
    heard: Vec<Vec<usize>>,
    /// The write that each thread sees at each location.
    seen: Vec<Vec<Option<Stamped>>>,
    clock: Vec<usize>,
}

impl Replicas {
    fn new(kind: ReplicaKind, threads: usize, locations: usize) -> Self {
        Self {
            kind,
            messages: (0..threads).map(|_| Vec::new()).collect(),
            heard: vec![vec![0; threads]; threads],
            seen: vec![vec![None; locations]; threads],
            clock: vec![0; threads],
        }
    }

    fn read(&self, thread: usize, location: usize, random: &mut SplitMix64) -> Option<usize> {
        if self.kind == ReplicaKind::Divergent {
            let arrived = |from: usize| (0..self.heard[thread][from]).map(move |at| (from, at));
            let arrived = (0..self.messages.len()).flat_map(arrived);
            let arrived: Vec<_> = arrived.filter(|&(from, at)| self.messages[from][at].location == location).collect();
            let overwrites =
                |by: (usize, usize), (from, at): (usize, usize)| self.messages[by.0][by.1].after[from] > at;
            let newest: Vec<_> = arrived.iter().filter(|&&w| !arrived.iter().any(|&by| overwrites(by, w))).collect();
            return (!newest.is_empty())
                .then(|| random.pick(&newest))
                .map(|&(u, at)| self.messages[u][at].stamped.write);
        }
        self.seen[thread][location].map(|seen| seen.write)
    }

    fn write(&mut self, thread: usize, location: usize, write: usize) {
        self.clock[thread] += 1;
        let stamped = Stamped { write, stamp: (self.clock[thread], thread) };
        let after = self.heard[thread].clone();
        self.messages[thread].push(Message { stamped, location, after });
        self.deliver(thread, thread);
        if self.kind == ReplicaKind::Atomic {
            self.drain(thread);
        }
    }

    /// Delivers some write to some thread, if there is one to deliver.
    fn propagate(&mut self, random: &mut SplitMix64) {
        let threads = self.messages.len() as u64;
        let (from, to) = (random.below(threads) as usize, random.below(threads) as usize);
        match self.kind {
            ReplicaKind::Atomic => {}
            ReplicaKind::StoreBuffer => self.broadcast(from),
            ReplicaKind::Causal | ReplicaKind::Convergent | ReplicaKind::Divergent => {
                let next = self.messages[from].get(self.heard[to][from]);
                if next.is_some_and(|message| (0..).zip(&message.after).all(|(u, &n)| self.heard[to][u] >= n)) {
                    self.deliver(from, to);
                }
            }
        }
    }

    /// Makes all writes of a thread known to all, where the machine has atomic writes.
    fn drain(&mut self, thread: usize) {
        if matches!(self.kind, ReplicaKind::Atomic | ReplicaKind::StoreBuffer) {
            while (0..self.heard.len()).any(|to| self.heard[to][thread] < self.messages[thread].len()) {
                self.broadcast(thread);
            }
        }
    }

    /// Moves the oldest write of a thread's store buffer to memory: all others hear of it.
    fn broadcast(&mut self, from: usize) {
        for to in 0..self.heard.len() {
            if to != from && self.heard[to][from] < self.messages[from].len() {
                self.deliver(from, to);
            }
        }
    }

    fn deliver(&mut self, from: usize, to: usize) {
        let message = &self.messages[from][self.heard[to][from]];
        self.heard[to][from] += 1;
        self.clock[to] = self.clock[to].max(message.stamped.stamp.0);
        let seen = &mut self.seen[to][message.location];
        let outdated = seen.is_some_and(|seen| match self.kind {
            ReplicaKind::Atomic | ReplicaKind::Causal | ReplicaKind::Divergent => false,
            ReplicaKind::Convergent => seen.stamp > message.stamped.stamp,
            // A thread sees its own buffer first: a write in its buffer hides a write that reaches memory.
            ReplicaKind::StoreBuffer => {
                let own = self.messages[to].iter().position(|message| message.stamped.write == seen.write);
                to != from && own.is_some_and(|own| self.heard[from][to] <= own)
            }
        });
        if !outdated {
            *seen = Some(message.stamped);
        }
    }
}

/// Memory by views: all writes of a location are kept, in their order, and a read finds any that is not older than what
/// its thread has seen. If accesses synchronize, a thread that reads a write has seen all that its writer had seen:
/// this is release-acquire. If they do not, there is only coherence.
pub(crate) struct Views {
    synchronizes: bool,
    /// The writes of each location, each with its writer's view.
    writes: Vec<Vec<(usize, Vec<usize>)>>,
    /// How many writes of each location each thread has seen.
    seen: Vec<Vec<usize>>,
}

impl Views {
    fn new(synchronizes: bool, threads: usize, locations: usize) -> Self {
        Self { synchronizes, writes: vec![Vec::new(); locations], seen: vec![vec![0; locations]; threads] }
    }

    fn read(&mut self, thread: usize, location: usize, random: &mut SplitMix64) -> Option<usize> {
        let view = &mut self.seen[thread];
        let found = random.between(view[location] as u32, self.writes[location].len() as u32) as usize;
        view[location] = found;
        let (write, written) = &self.writes[location][found.checked_sub(1)?];
        if self.synchronizes {
            for (seen, &also) in view.iter_mut().zip(written) {
                *seen = (*seen).max(also);
            }
        }
        Some(*write)
    }

    fn write(&mut self, thread: usize, location: usize, write: usize) {
        self.seen[thread][location] = self.writes[location].len() + 1;
        self.writes[location].push((write, self.seen[thread].clone()));
    }
}
