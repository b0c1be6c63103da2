//! Random histories of a weak memory: a view machine for `ra`, `rc20` and `relaxed`.
//!
//! The memory is, for each location, a list of messages in modification order; each has a timestamp. A thread has a
//! view: for each location the timestamp that it knows of. It reads any message that is not older than its view, and
//! writes a message newer than its view, at the end of the list or in between; a read-modify-write puts its message right
//! after the one it reads, and nothing ever comes between the two. A message carries the view that its writer released,
//! and who acquires it joins that view to his own:
//!
//! - `ra`: every write releases the thread's view, every read acquires the message's;
//! - `rc20`: as the orders say. A relaxed read only remembers the view for a later acquire fence; a relaxed write carries
//!   what the last release fence published; a read-modify-write passes on the view of what it reads;
//! - `relaxed`: messages carry no view.
//!
//! So what the machine yields, in the order in which it yields it, is allowed by the model: the lists are the witness.
//! Only the last [`WINDOW`] messages of a location can be read, so memory does not grow with the number of operations.
//! Every write writes a value of its own (1, 2, 3, ...; every location holds 0 at first).
//!
//! Perturbation re-targets some reads to other messages in the window, which may be older than the view.

use history::execution::{ExecutionBuilder, Kind};
use history::{Execution, History, KeyId, MemoryOrder, Method, Operation, Outcome, ProcessId, Value};

use crate::memory::location_name;
use crate::random::SplitMix64;

/// How many messages of a location can be read.
pub const WINDOW: usize = 8;
/// The distance of timestamps at the end of a list; writes in between halve it.
const STEP: u32 = 16;

/// What the views are made of.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Machine {
    ReleaseAcquire,
    Rc20,
    Relaxed,
}

/// What to generate.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The machine.
    pub machine: Machine,
    /// How many threads; at least one.
    pub threads: u32,
    /// How many operations, all threads together.
    pub operations: u32,
    /// How many locations; at least one.
    pub locations: u32,
    /// How many of a hundred operations write.
    pub writes: u32,
    /// How many of a hundred operations are read-modify-writes.
    pub rmws: u32,
    /// How many of a hundred operations are fences (under `rc20`). The rest, up to a hundred, reads.
    pub fences: u32,
    /// How many of a hundred reads take any message they may, and writes any place, not the newest.
    pub stale: u32,
    /// How many reads return a message that they may have no right to; all that can, if there are fewer.
    pub perturb: u32,
    /// Where the random choices start.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            machine: Machine::ReleaseAcquire,
            threads: 4,
            operations: 1000,
            locations: 8,
            writes: 40,
            rmws: 10,
            fences: 0,
            stale: 20,
            perturb: 0,
            seed: 0,
        }
    }
}

impl Config {
    /// What is wrong with it, if anything.
    pub fn fault(&self) -> Option<&'static str> {
        if self.threads == 0 {
            Some("a history needs at least one thread")
        } else if self.locations == 0 {
            Some("a history needs at least one location")
        } else if self.writes.saturating_add(self.rmws).saturating_add(self.fences) > 100 {
            Some("writes, rmws and fences together are more than 100 percent")
        } else if self.stale > 100 {
            Some("more than 100 percent of the reads are stale")
        } else if self.operations > u32::MAX / STEP - 1 {
            Some("the view machine has timestamps for 268 million operations")
        } else {
            None
        }
    }
}

/// One operation of the machine.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The thread, from zero.
    pub thread: u32,
    /// The location, from zero; of no meaning for a fence.
    pub location: u32,
    /// What it is.
    pub kind: Kind,
    /// Its memory order.
    pub order: MemoryOrder,
    /// The value read, if it reads.
    pub read: u32,
    /// The value written, if it writes.
    pub written: u32,
}

/// A write that can be read.
struct Message {
    stamp: u32,
    value: u32,
    /// Whether a read-modify-write has read it.
    updated: bool,
    view: Vec<u32>,
}

/// The views of a thread.
struct Thread {
    current: Vec<u32>,
    /// What an acquire fence would add.
    pending: Vec<u32>,
    /// What the last release fence published.
    published: Vec<u32>,
}

/// The operations of the machine as they happen; see [`generate`].
pub struct Run {
    config: Config,
    random: SplitMix64,
    threads: Vec<Thread>,
    /// The last messages of each location, the oldest first.
    memory: Vec<Vec<Message>>,
    left: u32,
    written: u32,
    /// The choice of the reads to perturb: how many are wanted, of how many that are still to come.
    wanted: u64,
    candidates: u64,
    choice: SplitMix64,
    /// Views of messages that left the window, to be used again.
    spare: Vec<Vec<u32>>,
}

/// The operations of the machine, in the order in which they happen.
///
/// # Panics
/// If the configuration has a [fault](Config::fault).
pub fn generate(config: &Config) -> Run {
    assert_eq!(config.fault(), None);
    let views = if config.machine == Machine::Rc20 { config.locations as usize } else { 0 };
    let mut run = Run {
        config: *config,
        random: SplitMix64::new(config.seed),
        threads: (0..config.threads)
            .map(|_| Thread {
                current: vec![0; config.locations as usize],
                pending: vec![0; views],
                published: vec![0; views],
            })
            .collect(),
        memory: (0..config.locations).map(|_| Vec::new()).collect(),
        left: config.operations,
        written: 0,
        wanted: 0,
        candidates: 0,
        choice: SplitMix64::new(!config.seed),
        spare: Vec::new(),
    };
    for location in 0..config.locations as usize {
        let view = run.new_view();
        run.memory[location].push(Message { stamp: 0, value: 0, updated: false, view });
    }
    if config.perturb > 0 {
        let mut unperturbed = generate(&Config { perturb: 0, ..*config });
        while let Some((_, candidate)) = unperturbed.advance() {
            run.candidates += u64::from(candidate);
        }
        run.wanted = u64::from(config.perturb).min(run.candidates);
    }
    run
}

/// The same operations, first all of thread 0, then all of thread 1, and so on.
pub fn thread_by_thread(config: &Config) -> impl Iterator<Item = Step> + use<> {
    let config = *config;
    (0..config.threads).flat_map(move |thread| generate(&config).filter(move |step| step.thread == thread))
}

fn join(into: &mut [u32], from: &[u32]) {
    for (into, &from) in into.iter_mut().zip(from) {
        *into = (*into).max(from);
    }
}

impl Run {
    fn new_view(&mut self) -> Vec<u32> {
        let length = if self.config.machine == Machine::Relaxed { 0 } else { self.config.locations as usize };
        let mut view = self.spare.pop().unwrap_or_default();
        view.clear();
        view.resize(length, 0);
        view
    }

    fn order(&mut self, kind: Kind) -> MemoryOrder {
        use MemoryOrder::{Acquire, AcquireRelease, Plain, Relaxed, Release};
        if self.config.machine != Machine::Rc20 {
            return Plain;
        }
        match kind {
            Kind::Read => self.random.pick(&[Relaxed, Acquire]),
            Kind::Write => self.random.pick(&[Relaxed, Release]),
            Kind::Rmw => self.random.pick(&[Relaxed, Acquire, Release, AcquireRelease]),
            Kind::Fence => self.random.pick(&[Acquire, Release, AcquireRelease]),
        }
    }

    /// Which message of a location is read: one that is not older than the view and, for a read-modify-write, that no
    /// other has read and behind which there is room.
    fn choose(&mut self, thread: usize, location: usize, kind: Kind) -> Option<usize> {
        let view = self.threads[thread].current[location];
        let messages = &self.memory[location];
        let room = |at: usize| messages.get(at + 1).is_none_or(|next| next.stamp - messages[at].stamp > 1);
        let may = |&at: &usize| messages[at].stamp >= view && (kind == Kind::Read || !messages[at].updated && room(at));
        let newest = (0..messages.len()).rfind(may)?;
        if !self.random.percent(self.config.stale as u8) {
            return Some(newest);
        }
        let first = (0..messages.len()).find(may)?;
        let at = first + self.random.below((newest - first) as u64 + 1) as usize;
        Some(if may(&at) { at } else { newest })
    }

    /// Where a pure write goes: behind which message of the window, and with which timestamp.
    fn place(&mut self, thread: usize, location: usize) -> (usize, u32) {
        let view = self.threads[thread].current[location];
        let messages = &self.memory[location];
        let end = (messages.len() - 1, messages[messages.len() - 1].stamp + STEP);
        if !self.random.percent(self.config.stale as u8) {
            return end;
        }
        let first = messages.partition_point(|message| message.stamp < view);
        let at = first + self.random.below((messages.len() - first) as u64) as usize;
        match messages.get(at + 1) {
            Some(next) if !messages[at].updated && next.stamp - messages[at].stamp > 1 => {
                (at, messages[at].stamp + (next.stamp - messages[at].stamp) / 2)
            }
            _ => end,
        }
    }

    /// The next operation, and whether it is a read that a perturbation could have changed.
    fn advance(&mut self) -> Option<(Step, bool)> {
        self.left = self.left.checked_sub(1)?;
        let thread = self.random.below(u64::from(self.config.threads)) as usize;
        let location = self.random.below(u64::from(self.config.locations)) as usize;
        let percent = self.random.below(100) as u32;
        let Config { writes, rmws, fences, machine, .. } = self.config;
        let mut kind = match percent {
            _ if percent < writes => Kind::Write,
            _ if percent < writes + rmws => Kind::Rmw,
            _ if percent < writes + rmws + fences => Kind::Fence,
            _ => Kind::Read,
        };
        let chosen = if matches!(kind, Kind::Read | Kind::Rmw) { self.choose(thread, location, kind) } else { None };
        if kind == Kind::Rmw && chosen.is_none() {
            kind = Kind::Write;
        }
        let order = self.order(kind);
        let acquire = machine == Machine::ReleaseAcquire
            || kind != Kind::Write && matches!(order, MemoryOrder::Acquire | MemoryOrder::AcquireRelease);
        let release = machine == Machine::ReleaseAcquire
            || kind != Kind::Read && matches!(order, MemoryOrder::Release | MemoryOrder::AcquireRelease);
        let mut step = Step { thread: thread as u32, location: location as u32, kind, order, read: 0, written: 0 };
        let state = &mut self.threads[thread];
        if kind == Kind::Fence {
            if machine == Machine::Rc20 {
                if acquire {
                    join(&mut state.current, &state.pending);
                }
                if release {
                    state.published.copy_from_slice(&state.current);
                }
            }
            return Some((step, false));
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
            step.read = message.value;
            candidate = self.memory[location].len() > 1;
            if candidate && self.perturbs() {
                let others = self.memory[location].len() - 1;
                let other = (at + 1 + self.choice.below(others as u64) as usize) % (others + 1);
                step.read = self.memory[location][other].value;
            }
        }
        if kind.writes() {
            self.written += 1;
            step.written = self.written;
            let (at, stamp) = match chosen {
                Some(at) => (at, self.right_after(location, at)),
                None => self.place(thread, location),
            };
            let mut view = self.new_view();
            let state = &mut self.threads[thread];
            state.current[location] = stamp;
            if release {
                view.copy_from_slice(&state.current);
            } else if machine == Machine::Rc20 {
                view.copy_from_slice(&state.published);
                view[location] = stamp;
            }
            let messages = &mut self.memory[location];
            if kind == Kind::Rmw {
                messages[at].updated = true;
                join(&mut view, &messages[at].view);
            }
            messages.insert(at + 1, Message { stamp, value: self.written, updated: false, view });
            if messages.len() > WINDOW {
                self.spare.push(messages.remove(0).view);
            }
        }
        Some((step, candidate))
    }

    /// A timestamp right after a message: nothing will be written between the two.
    fn right_after(&self, location: usize, at: usize) -> u32 {
        let messages = &self.memory[location];
        match messages.get(at + 1) {
            None => messages[at].stamp + STEP,
            Some(next) => messages[at].stamp + (next.stamp - messages[at].stamp) / 2,
        }
    }

    fn perturbs(&mut self) -> bool {
        let perturbs = self.wanted > 0 && self.choice.below(self.candidates) < self.wanted;
        self.candidates = self.candidates.saturating_sub(1);
        self.wanted -= u64::from(perturbs);
        perturbs
    }
}

impl Iterator for Run {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        self.advance().map(|(step, _)| step)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Run {}

/// The history of such operations; processes are named 0, 1, 2, ..., locations by [`location_name`], and lines are those
/// of a text file without header.
pub fn history(config: &Config, steps: impl Iterator<Item = Step>) -> History {
    let processes = (0..config.threads).filter_map(|thread| Value::integer(i64::from(thread))).collect();
    let mut history = History { processes, ..History::default() };
    for location in 0..config.locations {
        let name = history.words.word(&location_name(location));
        history.keys.push(name);
    }
    let value = |is: bool, value: u32| Value::integer(i64::from(value)).filter(|_| is).unwrap_or(Value::NONE);
    history.operations = (1..)
        .zip(steps)
        .map(|(line, step)| Operation {
            process: ProcessId(step.thread),
            key: if step.kind == Kind::Fence { KeyId::NONE } else { KeyId(step.location) },
            line,
            method: match step.kind {
                Kind::Read => Method::Read,
                Kind::Write => Method::Write,
                Kind::Rmw => Method::Rmw,
                Kind::Fence => Method::Fence,
            },
            order: step.order,
            outcome: Outcome::Instant,
            argument: value(step.kind.writes(), step.written),
            result: value(step.kind.reads(), step.read),
        })
        .collect();
    history
}

/// The execution of such operations, without the way through a history.
pub fn execution(config: &Config) -> Execution {
    let mut builder = ExecutionBuilder::new();
    // Values count the writes, so the write of a value is at its index.
    let mut writes = Vec::new();
    for step in generate(config) {
        let event = builder.push_ordered(step.thread, step.kind, step.location, step.order);
        if step.kind.reads() {
            builder.read_from(event, step.read.checked_sub(1).map(|value| writes[value as usize]));
        }
        if step.kind.writes() {
            writes.push(event);
        }
    }
    builder.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configs() -> impl Iterator<Item = Config> {
        (0..60u32).map(|seed| Config {
            machine: [Machine::ReleaseAcquire, Machine::Rc20, Machine::Relaxed][seed as usize % 3],
            threads: 1 + seed % 5,
            operations: 10 * seed,
            locations: 1 + seed % 4,
            writes: 20 + seed % 30,
            rmws: seed % 31,
            fences: seed % 11,
            stale: 5 * (seed % 21),
            perturb: 0,
            seed: u64::from(seed),
        })
    }

    #[test]
    fn reads_return_values_written_before_and_histories_replay() {
        for config in configs() {
            let mut written = vec![vec![0]; config.locations as usize];
            for step in generate(&config) {
                let values = &mut written[step.location as usize];
                assert!(!step.kind.reads() || values.contains(&step.read), "{config:?}");
                if step.kind.writes() {
                    values.push(step.written);
                }
            }
            assert_eq!(generate(&config).len(), config.operations as usize);
            let viewed = Execution::from_history(&history(&config, generate(&config))).unwrap();
            assert_eq!(viewed.events(), execution(&config).events(), "{config:?}");
        }
    }

    #[test]
    fn some_reads_are_stale_and_perturbation_changes_reads_only() {
        let config = Config { operations: 2000, stale: 50, ..Config::default() };
        let mut newest = vec![0; config.locations as usize];
        let mut stale = 0;
        for step in generate(&config) {
            stale += usize::from(step.kind.reads() && step.read != newest[step.location as usize]);
            if step.kind.writes() {
                newest[step.location as usize] = step.written;
            }
        }
        assert!(stale > 50, "{stale}");
        let perturbed = Config { perturb: 7, ..config };
        let changed = generate(&config).zip(generate(&perturbed)).filter(|(a, b)| a.read != b.read).count();
        assert_eq!(changed, 7);
        let writes = |config| generate(config).map(|step| (step.thread, step.written)).collect::<Vec<_>>();
        assert_eq!(writes(&config), writes(&perturbed));
    }

    #[test]
    fn faults_are_named() {
        let config = Config::default();
        assert!(Config { threads: 0, ..config }.fault().is_some());
        assert!(Config { locations: 0, ..config }.fault().is_some());
        assert!(Config { writes: 90, rmws: 20, ..config }.fault().is_some());
        assert!(Config { stale: 101, ..config }.fault().is_some());
        assert!(Config { operations: u32::MAX, ..config }.fault().is_some());
        assert!(config.fault().is_none());
    }
}
