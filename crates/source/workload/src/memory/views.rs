//! Memory with views: the machines of `ra`, `rc20` and `relaxed`.
//!
//! For each location, the memory has a list of messages in modification order. Each message has a timestamp. A thread
//! has a view: for each location, the timestamp that it knows of. It reads any message that is not older than its view,
//! and writes a message newer than its view, at the end of the list or in between; a read-modify-write puts its message
//! right after the one it reads, and nothing ever comes between the two. A message carries the view that its writer
//! released. A thread that acquires the message joins that view to its own:
//!
//! - `ra`: every write releases the thread's view, every read acquires the message's;
//! - `rc20`: as the orders say. A relaxed read only remembers the view for a later acquire fence; a relaxed write
//!   carries what the last release fence published; a read-modify-write passes on the view of what it reads;
//! - `relaxed`: messages carry no view.
//!
//! Under `rc20`, a sequentially consistent operation releases and acquires, and takes its view from all such operations
//! before it: these are in one order, and `c20` allows the history, too.
//!
//! So the model allows every history of the machine, and the lists are the witness. Only the last [`READABLE_MESSAGES`]
//! messages of a location can be read, so memory does not grow with the number of operations.
//!
//! Perturbation re-targets some reads to other readable messages, which may be older than the view.

use history::MemoryOrder;
use history::execution::Kind;

use super::{Chance, MemoryConfig, MemoryMachine, MemoryStep};
use crate::random::SplitMix64;

/// How many messages of a location can be read: the last ones.
const READABLE_MESSAGES: usize = 8;
/// The distance of timestamps at the end of a list. Writes in between halve it.
const TIMESTAMP_STEP: u32 = 16;
/// The most operations for which there are timestamps.
pub(super) const MAX_OPERATIONS: u32 = u32::MAX / TIMESTAMP_STEP - 1;

/// The most bytes that the views may take.
pub(super) const MAX_BYTES: u64 = 4 << 30;

/// An upper bound of the bytes that the views of messages and threads take.
pub(super) fn bytes(config: &MemoryConfig) -> u64 {
    let messages = u64::from(config.operations).min(READABLE_MESSAGES as u64 * u64::from(config.locations));
    let (of_message, of_thread) = match config.machine {
        MemoryMachine::Relaxed => (0, 1),
        MemoryMachine::Rc20 => (1, 3),
        _ => (1, 1),
    };
    let views = of_message * messages + of_thread * u64::from(config.threads) + 1;
    views.saturating_mul(u64::from(config.locations)).saturating_mul(size_of::<u32>() as u64)
}

/// A write that can be read.
struct ReadableWrite {
    stamp: u32,
    value: u32,
    /// Whether a read-modify-write has read it.
    updated: bool,
    /// The view that it carries. Entries that are missing are zero.
    view: Vec<u32>,
}

/// The views of a thread.
struct ThreadViews {
    current: Vec<u32>,
    /// The view that an acquire fence would add.
    pending: Vec<u32>,
    /// The view that the last release fence published.
    published: Vec<u32>,
}

/// The memory with the views of all threads.
pub(super) struct Views {
    machine: MemoryMachine,
    stale: u8,
    distance: Option<u32>,
    threads: Vec<ThreadViews>,
    /// The view of all sequentially consistent operations.
    sequential: Vec<u32>,
    /// The last messages of each location, the oldest first.
    memory: Vec<Vec<ReadableWrite>>,
    /// Views of messages that cannot be read any more, to be used again.
    spare: Vec<Vec<u32>>,
}

impl Views {
    pub(super) fn new(config: &MemoryConfig) -> Self {
        let locations = config.locations as usize;
        let fence_views = if config.machine == MemoryMachine::Rc20 { locations } else { 0 };
        let thread = || ThreadViews {
            current: vec![0; locations],
            pending: vec![0; fence_views],
            published: vec![0; fence_views],
        };
        let initial = || Vec::from([ReadableWrite { stamp: 0, value: 0, updated: false, view: Vec::new() }]);
        Self {
            machine: config.machine,
            stale: config.stale as u8,
            distance: config.distance,
            threads: (0..config.threads).map(|_| thread()).collect(),
            sequential: vec![0; locations],
            memory: (0..locations).map(|_| initial()).collect(),
            spare: Vec::new(),
        }
    }

    fn new_view(&mut self) -> Vec<u32> {
        let length = if self.machine == MemoryMachine::Relaxed { 0 } else { self.memory.len() };
        let mut view = self.spare.pop().unwrap_or_default();
        view.clear();
        view.resize(length, 0);
        view
    }

    fn order(&self, kind: Kind, random: &mut SplitMix64) -> MemoryOrder {
        use MemoryOrder::{Acquire, AcquireRelease, Plain, Relaxed, Release};
        if self.machine != MemoryMachine::Rc20 {
            return Plain;
        }
        match kind {
            Kind::Read => random.pick(&[Relaxed, Acquire]),
            Kind::Write => random.pick(&[Relaxed, Release]),
            Kind::Rmw => random.pick(&[Relaxed, Acquire, Release, AcquireRelease]),
            Kind::Fence => random.pick(&[Acquire, Release, AcquireRelease]),
        }
    }

    /// Which message of a location is read: one that is not older than the view and, for a read-modify-write, that no
    /// other has read and behind which there is room.
    fn choose(&self, thread: usize, location: usize, kind: Kind, random: &mut SplitMix64) -> Option<usize> {
        let view = self.threads[thread].current[location];
        let messages = &self.memory[location];
        let room = |at: usize| messages.get(at + 1).is_none_or(|next| next.stamp - messages[at].stamp > 1);
        let may = |&at: &usize| messages[at].stamp >= view && (kind == Kind::Read || !messages[at].updated && room(at));
        let newest = (0..messages.len()).rfind(may)?;
        if !random.percent(self.stale) {
            return Some(newest);
        }
        let first = (0..messages.len()).find(may)?;
        let at = first + random.below((newest - first) as u64 + 1) as usize;
        Some(if may(&at) { at } else { newest })
    }

    /// Where a pure write goes: behind which message, and with which timestamp.
    fn place(&self, thread: usize, location: usize, random: &mut SplitMix64) -> (usize, u32) {
        let view = self.threads[thread].current[location];
        let messages = &self.memory[location];
        let end = (messages.len() - 1, messages[messages.len() - 1].stamp + TIMESTAMP_STEP);
        if !random.percent(self.stale) {
            return end;
        }
        let first = messages.partition_point(|message| message.stamp < view);
        let at = first + random.below((messages.len() - first) as u64) as usize;
        match messages.get(at + 1) {
            Some(next) if !messages[at].updated && next.stamp - messages[at].stamp > 1 => {
                (at, messages[at].stamp + (next.stamp - messages[at].stamp) / 2)
            }
            _ => end,
        }
    }

    /// Performs an operation, and finds its memory order and the value that it reads. The answer is whether a
    /// perturbation could change this value. A read-modify-write that finds nothing to read becomes a write.
    pub(super) fn perform(&mut self, step: &mut MemoryStep, chance: &mut Chance) -> bool {
        let (thread, location, machine) = (step.thread as usize, step.location as usize, self.machine);
        let random = &mut chance.random;
        let is_sequential = step.order == MemoryOrder::SequentiallyConsistent;
        if is_sequential {
            join(&mut self.threads[thread].current, &self.sequential);
        }
        let accesses = matches!(step.kind, Kind::Read | Kind::Rmw);
        let chosen = if accesses { self.choose(thread, location, step.kind, random) } else { None };
        if step.kind == Kind::Rmw && chosen.is_none() {
            step.kind = Kind::Write;
        }
        if !is_sequential {
            step.order = self.order(step.kind, random);
        }
        let (kind, order) = (step.kind, step.order);
        let acquire = machine == MemoryMachine::ReleaseAcquire
            || is_sequential
            || kind != Kind::Write && matches!(order, MemoryOrder::Acquire | MemoryOrder::AcquireRelease);
        let release = machine == MemoryMachine::ReleaseAcquire
            || is_sequential
            || kind != Kind::Read && matches!(order, MemoryOrder::Release | MemoryOrder::AcquireRelease);
        let state = &mut self.threads[thread];
        if kind == Kind::Fence {
            if machine == MemoryMachine::Rc20 {
                if acquire {
                    join(&mut state.current, &state.pending);
                }
                if release {
                    state.published.copy_from_slice(&state.current);
                }
                if is_sequential {
                    self.sequential.copy_from_slice(&state.current);
                }
            }
            return false;
        }

        let mut candidate = false;
        if let Some(at) = chosen {
            let message = &self.memory[location][at];
            if acquire {
                join(&mut state.current, &message.view);
            } else {
                join(&mut state.pending, &message.view);
            }
            state.current[location] = state.current[location].max(message.stamp);
            if is_sequential {
                self.sequential.copy_from_slice(&state.current);
            }
            step.read = message.value;
            candidate = self.memory[location].len() > 1;
            if candidate && chance.perturbed.takes_next() {
                let messages = &self.memory[location];
                let near = |distance: u32| {
                    let distance = distance as usize;
                    at.saturating_sub(distance)..messages.len().min(at.saturating_add(distance + 1))
                };
                let range = self.distance.map_or(0..messages.len(), near);
                let others = range.len() - 1;
                let other =
                    (at - range.start + 1 + chance.perturbed.random.below(others as u64) as usize) % (others + 1);
                step.read = messages[range.start + other].value;
            }
        }
        if kind.writes() {
            let (at, stamp) = match chosen {
                Some(at) => (at, self.right_after(location, at)),
                None => self.place(thread, location, random),
            };
            let mut view = self.new_view();
            let state = &mut self.threads[thread];
            state.current[location] = stamp;
            if is_sequential {
                self.sequential.copy_from_slice(&state.current);
            }
            if release {
                view.copy_from_slice(&state.current);
            } else if machine == MemoryMachine::Rc20 {
                view.copy_from_slice(&state.published);
                view[location] = stamp;
            }
            let messages = &mut self.memory[location];
            if kind == Kind::Rmw {
                messages[at].updated = true;
                join(&mut view, &messages[at].view);
            }
            messages.insert(at + 1, ReadableWrite { stamp, value: step.written, updated: false, view });
            if messages.len() > READABLE_MESSAGES {
                self.spare.push(messages.remove(0).view);
            }
        }
        candidate
    }

    /// A timestamp right after a message. No message will be written between the two.
    fn right_after(&self, location: usize, at: usize) -> u32 {
        let messages = &self.memory[location];
        match messages.get(at + 1) {
            None => messages[at].stamp + TIMESTAMP_STEP,
            Some(next) => messages[at].stamp + (next.stamp - messages[at].stamp) / 2,
        }
    }
}

fn join(into: &mut [u32], from: &[u32]) {
    for (into, &from) in into.iter_mut().zip(from) {
        *into = (*into).max(from);
    }
}
