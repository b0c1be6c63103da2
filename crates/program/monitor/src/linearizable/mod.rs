//! The monitors of linearizability, one for each kind of object. They take calls and returns as these happen. At each
//! return they say whether the events so far are linearizable, pending operations included. They forget what cannot
//! matter any more.
//!
//! SATURATE is an algorithm of MR (Emmi, Enea, Hamza: Monitoring Refinement via Symbolic Reasoning, PLDI 2015). It
//! infers orders by unit propagation.
//!
//! | object | exact ([`OnlineAlgorithm::Fast`]) | search | SATURATE |
//! | --- | --- | --- | --- |
//! | queue | [`queue`] | exact up to a limit | sound |
//! | register, read and written | [`register`] | exact up to a limit | sound |
//! | register with compare-and-swap, stack, priority queue | — | exact up to a limit | sound |
//! | set, mutex | [`element`] | exact up to a limit | sound |
//! | mutex with try-lock | [`element`] | exact up to a limit | — |
//! | semaphore | [`permits`] | exact up to a limit | sound |
//! | exchanger | — | — | sound |
//! | multiset, tagged mutex and semaphore, counter, max-register | — | exact up to a limit | — |
//! | string | — | — | — |
//!
//! *Exact*: a violation is reported at the first return at which the prefix is not linearizable. *Up to a limit*: if
//! too many operations overlap, the [`search`] gives up, and SATURATE goes on alone. *Sound*: a report is a violation,
//! but silence is no proof, and the report may come late. The test `tests/linearizable.rs` compares each of them with
//! the definition, event by event, on thousands of small runs near the boundary, with operations that fail or never
//! return, and with values that repeat. SATURATE misses one or two of a hundred violations there, or speaks late.
//!
//! Memory is in proportion to what the objects hold and to the operations in flight, whatever the length of the run.
//! The exact monitors of queues and registers, and SATURATE, need values that are unique while they matter: a value
//! that can no longer be returned may be inserted or written again. For the search, values may repeat.
//!
//! Invariant: moments count the events from zero, and numbers count the calls from zero. So the number of a call is its
//! [`OperationId`] in the history that is recorded at the same time.

mod element;
mod engine;
mod permits;
mod places;
mod queue;
mod register;
mod saturate;
mod search;

use history::event::{Action, ProcessEvent};
use history::{KeyId, Method, Object, OperationId, Value};
use model::Evidence;
use model::object::Core;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Monitor, Progress, Violation};
use engine::Engine;

/// The reason to give up if values repeat.
pub const NOT_UNIQUE: &str =
    "a value is inserted or written again while the first can still be returned; `--algorithm search` allows that";

/// The reason to give up if a whole set is read.
pub const WHOLE_READ_UNSUPPORTED: &str = "the monitors do not support `read` of a whole set; `check` does";

/// The reason to give up if a container is peeked.
pub const PEEK_UNSUPPORTED: &str = "this monitor does not support `peek`; the search and `check` do";

/// The reason to give up if SATURATE gets a `try-lock`.
pub const TRY_LOCK_UNSUPPORTED: &str = "SATURATE does not support `try-lock`; the exact monitor does";

/// The reason to give up if the search has too much to look at, and SATURATE does not know the object.
pub const TOO_MANY: &str = "too many operations overlap, and too much can have happened; `check` may decide";

/// The monitor to use.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum OnlineAlgorithm {
    /// The exact monitor if the object has one, else the search.
    #[default]
    Auto,
    /// The exact monitor, in near-constant time for each event.
    Fast,
    /// The search through all that can have happened, with SATURATE beside it.
    Search,
    /// SATURATE, with removal of matches.
    Saturate,
}

/// An open operation.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OpenOperation {
    /// How many operations were called before it.
    number: u64,
    /// The moment of its call.
    called: u64,
    method: Method,
    argument: Value,
    expected: Value,
    part: u32,
    /// Where the engine keeps its own data about the operation, if it has any.
    place: u32,
}

/// The answer to an event, if the answer is not [`Progress::Possible`].
enum Trouble {
    /// The events so far are not linearizable. The core is a few operations that show this, if there are such. They
    /// show it only if their values are inserted or written once in the whole run.
    Violation(Option<Core>),
    Refused(String),
    GaveUp(&'static str),
}

/// The reason of every violation.
const NOT_LINEARIZABLE: &str =
    "this operation cannot end as it did: no order of the operations so far is a run of the object";

/// Why an engine stops at an event. It is behind a pointer, so that the result without a stop is one word.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stopped(Box<Reason>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reason {
    Violation(Option<Core>),
    GaveUp(&'static str),
}

impl Stopped {
    #[cold]
    fn violation(core: Option<Core>) -> Self {
        Self(Box::new(Reason::Violation(core)))
    }

    #[cold]
    fn gave_up(reason: &'static str) -> Self {
        Self(Box::new(Reason::GaveUp(reason)))
    }

    /// The violation at the return of an operation: no order of the operations is left.
    fn stuck(open: &OpenOperation) -> Self {
        Self::violation(operation(open.number).map(Core::Stuck))
    }

    /// The violation at the failure of an operation: the results so far are not possible without it.
    fn did_not_happen() -> Self {
        Self::violation(None)
    }

    /// Whether the engine gives up.
    fn is_give_up(&self) -> bool {
        matches!(*self.0, Reason::GaveUp(_))
    }
}

/// For each object: a bit set of its methods. A method whose number does not fit is a compile error.
const METHODS: [u64; Object::ALL.len()] = {
    let mut sets = [0; Object::ALL.len()];
    let mut at = 0;
    while at < sets.len() {
        let mut methods = Object::ALL[at].methods();
        while let [(method, _), rest @ ..] = methods {
            sets[Object::ALL[at] as usize] |= 1 << *method as u32;
            methods = rest;
        }
        at += 1;
    }
    sets
};

/// The operation with that number in the recorded history. `None` if no history can have so many operations.
fn operation(number: u64) -> Option<OperationId> {
    u32::try_from(number).ok().map(OperationId)
}

/// One object, or one element of a set. Linearizability is local: each part can be checked alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ObjectPart {
    engine: Engine,
    key: (KeyId, u64),
    /// How many operations on the part are open.
    open: u32,
}

/// The monitor of linearizability, for objects of one kind. See the [module](self).
///
/// ```
/// use history::event::{Action, ProcessEvent};
/// use history::{KeyId, Method, Object, Value};
/// use monitor::linearizable::OnlineAlgorithm;
/// use monitor::{Linearizable, Monitor};
///
/// let call = |method, argument| Action::Call { key: KeyId::NONE, method, argument, expected: Value::NONE };
/// let mut monitor = Linearizable::new(Object::Queue, OnlineAlgorithm::Auto)?;
/// let enqueue = call(Method::Enqueue, Value::small(1));
/// for action in [enqueue, Action::Return(Value::NONE), call(Method::Dequeue, Value::NONE)] {
///     monitor.push(ProcessEvent { process: 0, action })?;
/// }
/// // The queue holds a value, but the removal says that it is empty.
/// let empty = monitor.push(ProcessEvent { process: 0, action: Action::Return(Value::EMPTY) });
/// assert_eq!(empty.unwrap_err().event, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Linearizable {
    object: Object,
    algorithm: OnlineAlgorithm,
    capacity: u64,
    initial: Value,
    initials: FxHashMap<KeyId, Value>,
    parts: Vec<ObjectPart>,
    free: Vec<u32>,
    by_key: FxHashMap<(KeyId, u64), u32>,
    /// The key and the number of the part that was called last.
    last: Option<((KeyId, u64), u32)>,
    /// For each process: its open operation.
    open: Vec<Option<OpenOperation>>,
    calls: u64,
    ends: u64,
    has_given_up: bool,
}

/// The error for an object that the chosen algorithm does not support.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no {algorithm} monitor of a {}", .object.name())]
pub struct NoMonitor {
    object: Object,
    algorithm: &'static str,
}

impl Linearizable {
    /// A monitor of objects in their initial states.
    pub fn new(object: Object, algorithm: OnlineAlgorithm) -> Result<Self, NoMonitor> {
        let has_exact = Engine::exact(object, 1, Value::ZERO).is_some();
        let algorithm = match algorithm {
            OnlineAlgorithm::Auto if has_exact => OnlineAlgorithm::Fast,
            OnlineAlgorithm::Auto => OnlineAlgorithm::Search,
            algorithm => algorithm,
        };
        if algorithm == OnlineAlgorithm::Fast && !has_exact {
            return Err(NoMonitor { object, algorithm: "exact" });
        }
        if algorithm == OnlineAlgorithm::Saturate && Engine::saturate(object, 1, Value::ZERO).is_none() {
            return Err(NoMonitor { object, algorithm: "SATURATE" });
        }
        if algorithm == OnlineAlgorithm::Search && Engine::search(object, 1, Value::ZERO).is_none() {
            return Err(NoMonitor { object, algorithm: "online" });
        }
        Ok(Self {
            object,
            algorithm,
            capacity: 1,
            initial: Value::ZERO,
            initials: FxHashMap::default(),
            parts: Vec::new(),
            free: Vec::new(),
            by_key: FxHashMap::default(),
            last: None,
            open: Vec::new(),
            calls: 0,
            ends: 0,
            has_given_up: false,
        })
    }

    /// Sets the capacity of semaphores. The default is 1.
    pub fn set_capacity(&mut self, capacity: u64) {
        self.capacity = capacity;
    }

    /// Sets the initial value of one register, or of all registers if no key is given. The default is 0.
    pub fn set_initial(&mut self, key: Option<KeyId>, value: Value) {
        match key {
            Some(key) => {
                self.initials.insert(key, value);
            }
            None => self.initial = value,
        }
    }

    /// How many values and operations the monitor remembers.
    pub fn size(&self) -> usize {
        self.parts.iter().map(|part| part.engine.size()).sum()
    }

    /// Whether silence is proof so far. If not, the monitor may have missed violations.
    pub fn is_exact(&self) -> bool {
        self.algorithm != OnlineAlgorithm::Saturate && self.parts.iter().all(|part| part.engine.is_exact())
    }

    /// How many events the monitor has taken.
    #[inline]
    pub fn events(&self) -> u64 {
        self.calls + self.ends
    }

    #[cold]
    fn stop(&mut self, Stopped(reason): Stopped) -> Trouble {
        match *reason {
            Reason::Violation(core) => Trouble::Violation(core),
            Reason::GaveUp(reason) => {
                self.has_given_up = true;
                Trouble::GaveUp(reason)
            }
        }
    }

    /// Refuses a call that cannot come now.
    #[inline]
    fn refuse(&self, process: u32, method: Method, argument: Value) -> Result<(), Box<Trouble>> {
        let is_open = self.open.get(process as usize).is_some_and(Option::is_some);
        let has_method = METHODS[self.object as usize] >> method as u32 & 1 == 1;
        let is_number = argument.as_integer().is_some() | (argument.is_none() & (method != Method::Insert));
        if has_method & is_number & !is_open { Ok(()) } else { self.refuse_odd(process, method, argument) }
    }

    /// Like [`Self::refuse`], with the reason, for a call that is not of the common kind.
    fn refuse_odd(&self, process: u32, method: Method, argument: Value) -> Result<(), Box<Trouble>> {
        let refused = |reason: String| Err(Box::new(Trouble::Refused(reason)));
        if self.open.get(process as usize).is_some_and(Option::is_some) {
            return refused(format!("process {process} calls again before its operation returned"));
        }
        if !self.object.methods().iter().any(|&(known, _)| known == method) {
            return refused(format!("a {} has no such method", self.object.name()));
        }
        let inserts = matches!(method, Method::Enqueue | Method::Push | Method::Insert);
        if inserts && argument == Value::EMPTY {
            return refused(format!(
                "the value `empty` cannot be told from the answer of an empty {}",
                self.object.name()
            ));
        }
        if method == Method::Exchange && argument == Value::NULL {
            return refused("the value `null` cannot be told from an exchange without a partner".to_owned());
        }
        if method == Method::Insert && argument.as_integer().is_none() {
            return refused("the values of a priority queue are integers".to_owned());
        }
        Ok(())
    }

    fn call(
        &mut self,
        process: u32,
        key: KeyId,
        method: Method,
        argument: Value,
        expected: Value,
    ) -> Result<(), Box<Trouble>> {
        if self.has_given_up {
            return Ok(());
        }
        self.refuse(process, method, argument)?;
        let number = self.calls;
        self.calls += 1;
        let element = if object::is_by_element(self.object) { argument.bits() } else { 0 };
        let part = self.part((key, element));
        let process = process as usize;
        if self.open.len() <= process {
            self.open.resize(process + 1, None);
        }
        let open = OpenOperation { number, called: self.events(), method, argument, expected, part, place: 0 };
        let open = self.open[process].insert(open);
        let verdict = match method {
            Method::Fence => Ok(()),
            Method::Peek if self.algorithm != OnlineAlgorithm::Search => Err(Stopped::gave_up(PEEK_UNSUPPORTED)),
            Method::ReadAll => Err(Stopped::gave_up(WHOLE_READ_UNSUPPORTED)),
            Method::TryLock if self.algorithm == OnlineAlgorithm::Saturate => {
                Err(Stopped::gave_up(TRY_LOCK_UNSUPPORTED))
            }
            _ => {
                let part = &mut self.parts[part as usize];
                part.open += 1;
                part.engine.call(open)
            }
        };
        verdict.map_err(|stop| Box::new(self.stop(stop)))
    }

    fn end(
        &mut self,
        process: u32,
        tell: impl FnOnce(&mut Engine, &OpenOperation, u64) -> Result<(), Stopped>,
    ) -> Result<(), Box<Trouble>> {
        if self.has_given_up {
            return Ok(());
        }
        let Some(Some(open)) = self.open.get(process as usize) else {
            return Err(Box::new(Trouble::Refused(format!("process {process} has no operation open"))));
        };
        self.ends += 1;
        let now = self.calls + self.ends;
        let at = open.part;
        let mut verdict = Ok(());
        if open.method != Method::Fence {
            let part = &mut self.parts[at as usize];
            part.open -= 1;
            verdict = tell(&mut part.engine, open, now);
            if part.open == 0 && self.by_key.len() > 1 && part.engine.is_fresh() {
                self.by_key.remove(&part.key);
                self.free.push(at);
                self.last = None;
            }
        }
        self.open[process as usize] = None;
        verdict.map_err(|stop| Box::new(self.stop(stop)))
    }

    fn part(&mut self, key: (KeyId, u64)) -> u32 {
        if let Some((_, part)) = self.last.filter(|&(last, _)| last == key) {
            return part;
        }
        let part = match self.by_key.get(&key) {
            Some(&part) => part,
            None => self.new_part(key),
        };
        self.last = Some((key, part));
        part
    }

    fn new_part(&mut self, key: (KeyId, u64)) -> u32 {
        let initial = self.initials.get(&key.0).copied().unwrap_or(self.initial);
        let engine = match self.algorithm {
            OnlineAlgorithm::Saturate => Engine::saturate(self.object, self.capacity, initial),
            OnlineAlgorithm::Search => Engine::search(self.object, self.capacity, initial),
            OnlineAlgorithm::Auto | OnlineAlgorithm::Fast => Engine::exact(self.object, self.capacity, initial),
        };
        let engine = engine.expect("the object has this monitor");
        let part = ObjectPart { engine, key, open: 0 };
        let at = if let Some(at) = self.free.pop() {
            self.parts[at as usize] = part;
            at
        } else {
            self.parts.push(part);
            self.parts.len() as u32 - 1
        };
        self.by_key.insert(key, at);
        at
    }
}

/// After a violation, the operation counts as ended, and its impossible effects are forgotten. Later reports may be
/// consequences of the first violation. SATURATE says nothing more about that object.
impl Monitor for Linearizable {
    type Event = ProcessEvent;

    #[inline]
    fn push(&mut self, event: ProcessEvent) -> Result<Progress, Violation> {
        let before = self.events();
        let process = event.process;
        let said = match event.action {
            Action::Call { key, method, argument, expected } => self.call(process, key, method, argument, expected),
            Action::Return(result) => self.end(process, |engine, open, now| engine.return_(open, result, now)),
            Action::Fail => self.end(process, |engine, open, _| engine.fail(open)),
            Action::Info => self.end(process, |engine, open, _| {
                engine.abandon(open);
                Ok(())
            }),
        };
        match said {
            Ok(()) => Ok(Progress::Possible),
            Err(trouble) => tell(before, *trouble),
        }
    }
}

/// The answer of the monitor to the event with that number.
#[cold]
fn tell(event: u64, trouble: Trouble) -> Result<Progress, Violation> {
    match trouble {
        Trouble::Refused(reason) => Ok(Progress::Refused(reason)),
        Trouble::GaveUp(reason) => Ok(Progress::GaveUp(reason.to_owned())),
        Trouble::Violation(core) => {
            let evidence = core.map(|core| Box::new(Evidence::Core(core)));
            Err(Violation { event, reason: NOT_LINEARIZABLE.to_owned(), evidence })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(process: u32, method: Method, argument: i64) -> ProcessEvent {
        let argument = Value::integer(argument).filter(|_| argument > 0).unwrap_or(Value::NONE);
        ProcessEvent { process, action: Action::Call { key: KeyId::NONE, method, argument, expected: Value::NONE } }
    }

    /// A monitor that is saved and restored after every event says the same at the same event.
    #[test]
    fn a_queue_goes_on_from_where_it_was_saved() {
        let one = Value::integer(1).unwrap_or(Value::NONE);
        let events = [
            call(0, Method::Enqueue, 1),
            ProcessEvent { process: 0, action: Action::Return(Value::NONE) },
            call(0, Method::Enqueue, 2),
            call(1, Method::Dequeue, 0),
            ProcessEvent { process: 1, action: Action::Return(one) },
            ProcessEvent { process: 0, action: Action::Return(Value::NONE) },
            call(1, Method::Dequeue, 0),
            ProcessEvent { process: 1, action: Action::Return(Value::EMPTY) },
        ];
        for algorithm in [OnlineAlgorithm::Fast, OnlineAlgorithm::Search, OnlineAlgorithm::Saturate] {
            let mut monitor = Linearizable::new(Object::Queue, algorithm).expect("a monitor");
            for (at, event) in events.into_iter().enumerate() {
                let bytes = postcard::to_stdvec(&monitor).expect("it can be saved");
                monitor = postcard::from_bytes(&bytes).expect("and restored");
                match monitor.push(event) {
                    Ok(progress) => assert_eq!((progress, at < 7), (Progress::Possible, true), "event {at}"),
                    Err(violation) => assert_eq!((violation.event, at), (7, 7)),
                }
            }
        }
    }
}
