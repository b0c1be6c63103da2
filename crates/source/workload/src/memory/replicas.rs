//! Replicated memory with causal broadcast: the machines of `cc`, `ccv` and `cm`.
//!
//! Each thread has a replica of the memory. It reads its replica, writes to it at once, and sends the write to all
//! other replicas. A message takes up to the configured delay to each of them, and arrives when its time has come and
//! all that its writer had heard of before the write has arrived, too. Messages of one thread arrive in their order. A
//! replica makes of the writes that arrive:
//!
//! - `cm`: it stores each write when it arrives. So the thread sees one order of all writes that it heard of, which
//!   extends causality; another thread may see another order;
//! - `ccv`: the last writer wins: it keeps the write with the largest Lamport timestamp (the thread decides between
//!   equal ones). So all replicas agree in the end;
//! - `cc`: it keeps all writes that no other write has causally overwritten, and each read returns any of these.
//!
//! A read-modify-write reads and writes its replica. It is atomic only there: two of them may read one write, as these
//! models allow. A fence does nothing.
//!
//! A message is forgotten when all replicas have it, so memory does not grow with the number of operations.
//!
//! A perturbed read returns one of the last values of the location that were overwritten, by the time at which they
//! were written, and not the value that the machine gives.

use std::collections::VecDeque;

use history::execution::Kind;

use super::buffers::{BufferedLocation, REMEMBERED_VALUES};
use super::{Chance, MemoryConfig, MemoryMachine, MemoryStep};
use crate::random::SplitMix64;

/// A write that a replica holds.
#[derive(Copy, Clone)]
struct Held {
    value: u32,
    /// The Lamport timestamp, with the thread.
    stamp: (u64, u32),
    /// Its number among the writes of its thread, from one.
    number: u64,
}

/// A write on its way.
struct SentWrite {
    held: Held,
    location: u32,
    sent: u64,
    /// How many writes of each thread its writer had heard of.
    after: Vec<u64>,
}

/// The messages of a thread that some replica has not got.
#[derive(Default)]
struct Channel {
    forgotten: u64,
    messages: VecDeque<SentWrite>,
}

/// The replica of a thread.
struct Replica {
    /// By location: the writes that it holds.
    cells: Vec<Vec<Held>>,
    /// How many writes of each thread it has heard of.
    heard: Vec<u64>,
    clock: u64,
}

/// The replicas and what is on its way between them.
pub(super) struct Replicas {
    machine: MemoryMachine,
    threads: Vec<Replica>,
    channels: Vec<Channel>,
    /// What a perturbed read can find.
    memory: Vec<BufferedLocation>,
    remembered: usize,
    delay: u64,
    now: u64,
    seed: u64,
}

/// About how many bytes the replicas and the messages on their way take.
pub(super) fn bytes(config: &MemoryConfig) -> u64 {
    let (threads, operations) = (u64::from(config.threads), u64::from(config.operations));
    let cells = threads * u64::from(config.locations) * size_of::<Vec<Held>>() as u64;
    let held = (threads * u64::from(config.locations)).min(threads * operations) * size_of::<Held>() as u64;
    // A message waits until the slowest thread has done something after the delay.
    let waiting = operations.min(threads * (u64::from(config.delay) + 16));
    cells + held + (waiting + threads) * threads * size_of::<u64>() as u64
}

impl Replicas {
    pub(super) fn new(config: &MemoryConfig) -> Self {
        let (threads, locations) = (config.threads as usize, config.locations as usize);
        let replica = || Replica { cells: vec![Vec::new(); locations], heard: vec![0; threads], clock: 0 };
        Self {
            machine: config.machine,
            threads: (0..threads).map(|_| replica()).collect(),
            channels: (0..threads).map(|_| Channel::default()).collect(),
            memory: vec![BufferedLocation::default(); locations],
            remembered: config.distance.map_or(REMEMBERED_VALUES, |distance| distance as usize),
            delay: u64::from(config.delay) * u64::from(config.threads),
            now: 0,
            seed: config.seed,
        }
    }

    /// Performs an operation, and finds the value that it reads. The answer is whether a perturbation could change this
    /// value.
    pub(super) fn perform(&mut self, step: &mut MemoryStep, chance: &mut Chance) -> bool {
        self.now += 1;
        let thread = step.thread as usize;
        self.receive(thread);
        if step.kind == Kind::Fence {
            return false;
        }
        let mut can_change = false;
        if step.kind.reads() {
            let held = &self.threads[thread].cells[step.location as usize];
            step.read = match held.len() {
                0 => 0,
                1 => held[0].value,
                _ => chance.random.pick(held).value,
            };
            let others: Vec<u32> =
                self.memory[step.location as usize].overwritten().filter(|&value| value != step.read).collect();
            can_change = !others.is_empty();
            if can_change && chance.perturbed.takes_next() {
                step.read = chance.perturbed.random.pick(&others);
            }
        }
        if step.kind.writes() {
            self.memory[step.location as usize].store(step.written, self.remembered);
            self.write(thread, step.location, step.written);
        }
        can_change
    }

    fn write(&mut self, thread: usize, location: u32, value: u32) {
        let replica = &mut self.threads[thread];
        replica.clock += 1;
        let number = replica.heard[thread] + 1;
        let held = Held { value, stamp: (replica.clock, thread as u32), number };
        let message = SentWrite { held, location, sent: self.now, after: replica.heard.clone() };
        replica.deliver(self.machine, &message);
        if self.threads.len() > 1 {
            self.channels[thread].messages.push_back(message);
        }
    }

    /// Delivers all messages that are due at a replica, and whose causes it has heard of.
    fn receive(&mut self, to: usize) {
        let mut is_waiting = true;
        while std::mem::take(&mut is_waiting) {
            for from in (0..self.channels.len()).filter(|&from| from != to) {
                let channel = &mut self.channels[from];
                let replica = &mut self.threads[to];
                while let Some(message) = channel.messages.get((replica.heard[from] - channel.forgotten) as usize) {
                    // The delay of a message to a replica is drawn by its names, so that it need not be kept.
                    let name = [to as u64, from as u64, message.held.number];
                    let seed = name.into_iter().fold(self.seed, |seed, part| SplitMix64::new(seed ^ part).next());
                    let due = message.sent + SplitMix64::new(seed).below(self.delay + 1);
                    let is_ready = message.after.iter().zip(&replica.heard).all(|(after, heard)| after <= heard);
                    if due >= self.now || !is_ready {
                        break;
                    }
                    replica.deliver(self.machine, message);
                    is_waiting = true;
                }
            }
        }
        for from in 0..self.channels.len() {
            let everywhere = (0..self.threads.len()).map(|to| self.threads[to].heard[from]).min().unwrap_or(0);
            let channel = &mut self.channels[from];
            let forgotten = (everywhere - channel.forgotten).min(channel.messages.len() as u64);
            channel.messages.drain(..forgotten as usize);
            channel.forgotten += forgotten;
        }
    }
}

impl Replica {
    fn deliver(&mut self, machine: MemoryMachine, message: &SentWrite) {
        let SentWrite { held, after, location, .. } = message;
        let from = held.stamp.1 as usize;
        self.heard[from] = held.number;
        self.clock = self.clock.max(held.stamp.0);
        let cell = &mut self.cells[*location as usize];
        match machine {
            MemoryMachine::Convergent if cell.iter().any(|other| other.stamp > held.stamp) => return,
            MemoryMachine::Causal => cell.retain(|other| after[other.stamp.1 as usize] < other.number),
            _ => cell.clear(),
        }
        cell.push(*held);
    }
}
