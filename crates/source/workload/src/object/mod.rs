//! Concurrent runs of a simulated object: calls that overlap, take effect one at a time, and return.
//!
//! Each thread calls a method. At some later step the call takes effect on the object, all at once. At some step after
//! that, it returns. So every run without [`Fault`]s is linearizable, and its linearization is the order of the
//! effects. Some calls may never return, with or without an effect. Then the thread ends, and another takes its place.
//!
//! Events come one by one, so a run of any length takes no more memory than its object.

mod effects;
mod plain;
mod shown;
mod small;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};

use history::{Call, CallEnd, History, HistoryBuilder, KeyId, Method, Object, ProcessId, Value};

use crate::random::SplitMix64;
pub use plain::{PlainAnswer, plain_start, plain_step};
use shown::Stage;
pub use small::{small, small_with_duplicates, small_with_peeks};

/// What goes wrong at a removal, a read, a test or an acquisition.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A removal takes one of the first so many values, but not the first. A register returns one of its last so many
    /// values.
    OutOfOrder(u32),
    /// The value that would be taken is lost, and the next value is taken. A write or an addition has no effect.
    Lost,
    /// A value is taken, and also stays inside. A lock is taken while it is held.
    Duplicated,
    /// The answer is `empty`, although something is inside. A test gives the wrong answer.
    LateEmpty,
}

/// What to simulate.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct ObjectConfig {
    /// The object.
    pub object: Object,
    /// How many threads; at least one.
    pub threads: u32,
    /// How many operations, all threads together.
    pub operations: u32,
    /// How many of a hundred steps continue an open call. The others begin a new call. The fewer continue a call, the
    /// more calls overlap.
    pub progress: u32,
    /// How many of a hundred operations insert, write or add. The others remove, read or test.
    pub inserts: u32,
    /// How many of a hundred operations of a register are compare-and-swaps, and how many of a hundred locks of a mutex
    /// only try to lock.
    pub swaps: u32,
    /// How many of a hundred operations of a queue, a stack or a priority queue peek.
    pub peeks: u32,
    /// How many different values there are, or elements of a set. With 0, each insertion or write has a value of its
    /// own, and each addition to a counter is of 1.
    pub values: u32,
    /// How many objects there are, each with its key. With 0, there is a single object without a key.
    pub keys: u32,
    /// The capacity of a semaphore.
    pub capacity: u32,
    /// How many of a thousand calls never return.
    pub pending: u32,
    /// What goes wrong.
    pub fault: Option<Fault>,
    /// How many times it goes wrong.
    pub faults: u32,
    /// Whether every run shows one of its faults, if it [can](Self::hides). Otherwise each fault happens at random, and
    /// another order of overlapping calls may explain it.
    pub shows: bool,
    /// Where the random choices start.
    pub seed: u64,
}

impl ObjectConfig {
    /// A run of that object without faults.
    pub const fn new(object: Object) -> Self {
        Self {
            object,
            threads: 4,
            operations: 1000,
            progress: 66,
            inserts: 50,
            swaps: 0,
            peeks: 0,
            values: 0,
            keys: 0,
            capacity: 2,
            pending: 0,
            fault: None,
            faults: 1,
            shows: false,
            seed: 0,
        }
    }

    /// What is wrong with the configuration, if anything.
    pub fn misfit(&self) -> Option<&'static str> {
        if self.object == Object::Memory {
            Some("a memory has no calls and returns; the object is a register")
        } else if matches!(self.object, Object::Open | Object::Transactions) {
            Some("only an object that is built in can be simulated")
        } else if self.threads == 0 {
            Some("a history needs at least one thread")
        } else if self.progress == 0
            || self.progress > 100
            || self.inserts > 100
            || self.swaps > 100
            || self.peeks > 100
        {
            Some("a percentage is at most 100, and the percentage of steps that continue an open call is at least 1")
        } else if self.pending > 1000 {
            Some("at most 1000 of a thousand calls never return")
        } else {
            None
        }
    }
}

/// A call or a return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEvent {
    /// The process, from zero.
    pub process: u32,
    /// What happens.
    pub action: Action,
}

/// What happens at an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A method is called.
    Call {
        /// The method.
        method: Method,
        /// The object, if there are several.
        key: Option<u32>,
        /// What a compare-and-swap expects.
        expected: Option<u32>,
        /// The argument.
        argument: Option<u32>,
    },
    /// The open call of the process returns.
    Return(Answer),
}

/// What a call returns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Answer {
    Nothing,
    Value(u32),
    Empty,
    Null,
    Boolean(bool),
    Text(String),
}

/// The state of an object. Each kind of object uses the one field that it needs.
#[derive(Clone, Debug, Default)]
struct ObjectCell {
    items: VecDeque<u32>,
    sorted: BTreeSet<(u32, u32)>,
    held: i64,
    /// What a [plain](plain_start) object holds.
    number: i128,
    text: String,
}

#[derive(Clone, Debug)]
struct OpenCall {
    method: Method,
    key: u32,
    expected: u32,
    argument: u32,
    answer: Option<Answer>,
    /// The call never returns. It ends after its effect, if it has one.
    is_doomed: bool,
}

#[derive(Clone, Debug)]
struct ObjectThread {
    process: u32,
    open: Option<OpenCall>,
    /// The lock that it holds, if any: its key, and the tag under which the thread entered it. A thread waits for a
    /// lock only while it holds none, so there is no deadlock.
    held: Option<(u32, u32)>,
}

/// The events of a run; see [`events`].
#[derive(Clone, Debug)]
pub struct ObjectRun {
    config: ObjectConfig,
    random: SplitMix64,
    threads: Vec<ObjectThread>,
    processes: u32,
    cells: Vec<ObjectCell>,
    called: u32,
    inserted: u32,
    /// A number that tells equal priorities apart.
    stamp: u32,
    /// For each fault to come, the number of the call from which on it may happen, the last first.
    fault_at: Vec<u32>,
    stage: Stage,
    /// The key of the object that shows the fault, and the values with which it does.
    shown: u32,
    shown_values: [u32; 2],
    /// How many consecutive steps could do nothing.
    idle: u32,
}

/// The events of a run, in the order of time.
///
/// ```
/// use history::{Method, Object};
/// use workload::object::{Action, ObjectConfig, events};
///
/// let mut run = events(&ObjectConfig { operations: 50, inserts: 100, ..ObjectConfig::new(Object::Stack) });
/// let first = run.next().unwrap();
/// assert!(matches!(first.action, Action::Call { method: Method::Push, .. }));
/// ```
///
/// # Panics
/// If the configuration has a [misfit](ObjectConfig::misfit).
pub fn events(config: &ObjectConfig) -> ObjectRun {
    assert_eq!(config.misfit(), None);
    let mut random = SplitMix64::new(config.seed);
    let mut fault_at = Vec::new();
    if config.fault.is_some() {
        let positions = (0..config.faults).map(|_| random.below(u64::from(config.operations.max(1))) as u32);
        fault_at = positions.collect();
        fault_at.sort_unstable_by(|a, b| b.cmp(a));
    }
    let (mut stage, mut shown) = (Stage::Free, 0);
    if config.shows && config.fault.is_some() && config.hides().is_none() {
        stage = Stage::Before;
        shown = random.below(u64::from(config.keys.max(1))) as u32;
    }
    ObjectRun {
        config: *config,
        random,
        threads: (0..config.threads).map(|process| ObjectThread { process, open: None, held: None }).collect(),
        processes: config.threads,
        cells: vec![
            ObjectCell { number: plain_start(config.object).unwrap_or(0), ..ObjectCell::default() };
            config.keys.max(1) as usize
        ],
        called: 0,
        inserted: 0,
        stamp: 0,
        fault_at,
        stage,
        shown,
        shown_values: [0; 2],
        idle: 0,
    }
}

/// The methods of a plain object that only observe, or those that do not.
fn plain_methods(object: Object, observe: bool) -> impl Iterator<Item = Method> {
    object.methods().iter().map(|&(method, _)| method).filter(move |method| method.observes() == observe)
}

impl ObjectRun {
    /// A value to insert or write: values are from 1, since 0 is what registers begin with.
    fn new_value(&mut self) -> u32 {
        self.inserted += 1;
        match (self.config.values, self.config.object) {
            // Priorities come in a mixed order. All are different, and not much larger than the number of operations:
            // multiplication by an odd factor permutes the numbers.
            (0, Object::PriorityQueue) => {
                let mask = self.config.operations.next_power_of_two().max(2) - 1;
                (self.inserted.wrapping_mul(0x9e37_79b1) & mask) + 1
            }
            (0, Object::Counter) => 1,
            (0, _) => self.inserted,
            (values, _) => 1 + self.random.below(u64::from(values)) as u32,
        }
    }

    fn call(&mut self, thread: usize) -> RunEvent {
        let config = self.config;
        let percent = self.random.below(100) as u32;
        let inserts = percent < config.inserts;
        let peeks = !inserts && percent < config.inserts + config.peeks;
        let held = self.threads[thread].held;
        let method = match config.object {
            Object::Queue | Object::Stack | Object::PriorityQueue if peeks => Method::Peek,
            Object::Memory | Object::Register if inserts => Method::Write,
            Object::Memory | Object::Register if percent < config.inserts + config.swaps => Method::Cas,
            Object::Memory | Object::Register => Method::Read,
            Object::Queue if inserts => Method::Enqueue,
            Object::Queue => Method::Dequeue,
            Object::Stack if inserts => Method::Push,
            Object::Stack => Method::Pop,
            Object::PriorityQueue if inserts => Method::Insert,
            Object::PriorityQueue => Method::DeleteMax,
            Object::Set | Object::Multiset if inserts => Method::Add,
            Object::Set => self.random.pick(&[Method::Remove, Method::Contains]),
            Object::Multiset => self.random.pick(&[Method::Remove, Method::Contains, Method::Count]),
            Object::Mutex if held.is_some() => Method::Unlock,
            Object::Mutex if percent < config.swaps => Method::TryLock,
            Object::Mutex => Method::Lock,
            Object::Semaphore if held.is_some() => Method::Release,
            Object::Semaphore => Method::Acquire,
            Object::TaggedMutex | Object::TaggedSemaphore if held.is_some() => Method::ReleaseAs,
            Object::TaggedMutex | Object::TaggedSemaphore => Method::AcquireAs,
            Object::Exchanger => Method::Exchange,
            Object::KeyValue if inserts => self.random.pick(&[Method::Put, Method::Append, Method::Append]),
            Object::KeyValue => Method::Get,
            // A plain object.
            object => {
                let fits: Vec<Method> = plain_methods(object, !inserts).collect();
                if fits.len() == 1 { fits[0] } else { self.random.pick(&fits) }
            }
        };
        let argument = match config.object {
            Object::Set | Object::Multiset => self.random.below(u64::from(config.values.max(1))) as u32,
            _ if method.takes_argument() => held.map_or_else(|| self.new_value(), |(_, tag)| tag),
            _ => 0,
        };
        let key = self.random.below(u64::from(config.keys.max(1))) as u32;
        let key = held.map_or(key, |(held, _)| held);
        let expected = if method == Method::Cas && self.random.percent(70) {
            self.cells[key as usize].items.back().copied().unwrap_or(0)
        } else {
            self.inserted.min(argument.saturating_sub(1))
        };
        let is_doomed = self.random.below(1000) < u64::from(config.pending) && matches!(self.stage, Stage::Free);
        self.begin(thread, OpenCall { method, key, expected, argument, answer: None, is_doomed })
    }

    fn begin(&mut self, thread: usize, open: OpenCall) -> RunEvent {
        let OpenCall { method, key, expected, argument, .. } = open;
        self.called += 1;
        self.idle = 0;
        self.threads[thread].open = Some(open);
        RunEvent {
            process: self.threads[thread].process,
            action: Action::Call {
                method,
                key: (self.config.keys > 0).then_some(key),
                expected: (method == Method::Cas).then_some(expected),
                argument: method.takes_argument().then_some(argument),
            },
        }
    }

    /// Ends a thread, and lets another take its place.
    fn replace_thread(&mut self, thread: usize) {
        let held = self.threads[thread].held;
        self.threads[thread] = ObjectThread { process: self.processes, open: None, held };
        self.processes += 1;
    }

    /// One step of a thread with an open call. `None` if the step is not visible.
    fn go_on(&mut self, thread: usize) -> Option<RunEvent> {
        let open = self.threads[thread].open.as_ref()?;
        if open.answer.is_none() {
            if open.is_doomed && self.random.percent(50) {
                self.replace_thread(thread);
            } else if self.take_effect(thread) {
                self.idle = 0;
            }
            return None;
        }
        if open.is_doomed {
            self.replace_thread(thread);
            return None;
        }
        self.idle = 0;
        let answer = self.threads[thread].open.take()?.answer?;
        Some(RunEvent { process: self.threads[thread].process, action: Action::Return(answer) })
    }
}

impl Iterator for ObjectRun {
    type Item = RunEvent;

    fn next(&mut self) -> Option<RunEvent> {
        loop {
            if let Some(event) = self.alone() {
                return Some(event);
            }
            let thread = self.random.below(self.threads.len() as u64) as usize;
            if self.threads[thread].open.is_some() {
                if self.random.below(100) < u64::from(self.config.progress) {
                    self.idle += 1;
                    if let Some(event) = self.go_on(thread) {
                        return Some(event);
                    }
                }
            } else if self.may_call(thread) {
                return Some(self.call(thread));
            } else if self.called >= self.config.operations {
                self.idle += 1;
            }
            // Calls stay open if they wait for a lock that no thread will release.
            let is_done =
                self.called >= self.config.operations && self.threads.iter().all(|thread| thread.open.is_none());
            if is_done || self.idle > 64 + 64 * self.config.threads {
                return None;
            }
        }
    }
}

/// The history of a run. Line numbers are those of a text file that begins with one line of header.
///
/// ```
/// use history::Object;
/// use workload::object::{ObjectConfig, history};
///
/// let mutexes = history(&ObjectConfig { operations: 50, keys: 3, ..ObjectConfig::new(Object::Mutex) });
/// assert_eq!((mutexes.operations().len(), mutexes.keys().len()), (50, 3));
/// ```
pub fn history(config: &ObjectConfig) -> History {
    let mut builder = HistoryBuilder::new(config.object);
    if matches!(config.object, Object::Semaphore | Object::TaggedSemaphore) {
        builder.set_capacity(u64::from(config.capacity));
    }
    let keys: Vec<KeyId> = (0..config.keys).map(|key| builder.key(&key.to_string())).collect();
    let mut processes: Vec<ProcessId> = Vec::new();
    for (line, event) in (2..).zip(events(config)) {
        while processes.len() <= event.process as usize {
            let name = processes.len().to_string();
            processes.push(builder.process(&name));
        }
        let process = processes[event.process as usize];
        let pushed = match event.action {
            Action::Call { method, key, expected, argument } => {
                let argument = match (argument, config.object) {
                    (Some(argument), Object::KeyValue) => builder.word(&format!("{argument};")),
                    (argument, _) => argument.map_or(Value::NONE, Value::small),
                };
                let call = Call::new(process, method)
                    .key(key.map_or(KeyId::NONE, |key| keys[key as usize]))
                    .line(line)
                    .argument(argument)
                    .expected(expected.map_or(Value::NONE, Value::small));
                builder.call(&call)
            }
            Action::Return(answer) => {
                let result = match answer {
                    Answer::Nothing => Value::NONE,
                    Answer::Value(value) => Value::small(value),
                    Answer::Empty => Value::EMPTY,
                    Answer::Null => Value::NULL,
                    Answer::Boolean(b) => Value::boolean(b),
                    Answer::Text(text) => builder.word(&text),
                };
                builder.end(process, CallEnd::Ok(result))
            }
        };
        pushed.expect("a thread calls when it has no call open, and returns when it has one");
    }
    builder.finish().expect("events name no labels")
}
