//! Faults that show for certain.
//!
//! A fault among overlapping calls may be explained by another order of these calls, or by a call that never returns.
//! So a run that [shows](ObjectConfig::shows) its fault lets it happen where no calls overlap and all calls have
//! returned. From a random moment on, the only calls that begin are those that release a lock. When no call is open,
//! one thread goes on alone. It removes everything that is inside, and then makes the few calls of the [`plan`]. One of
//! these goes wrong.
//!
//! All linearizations agree on which calls have returned, and on their results. So they agree on how much is inside,
//! and on everything after that. Hence the plan has only one correct outcome, and the run has another.
//!
//! After the random moment, the run waits until little is inside. But it waits no longer than until just enough
//! operations are left to remove everything.

use std::collections::VecDeque;

use history::{Method, Object};

use super::{Action, Fault, ObjectConfig, ObjectRun, OpenCall, RunEvent, plain_methods};

/// If no more values than this are inside, the run does not wait for fewer.
const SMALL_CONTENT: usize = 8;

/// How far a run has come with showing its fault.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// There is nothing to show, or it has been shown. Faults happen when they are due.
    Free,
    /// No fault happens yet.
    Before,
    /// Only calls that release a lock begin.
    Closing,
    /// One thread makes all calls.
    Alone {
        thread: usize,
        calls: VecDeque<Planned>,
        /// Whether the open call goes wrong.
        goes_wrong: bool,
    },
}

/// A call of the plan.
#[derive(Copy, Clone, Debug)]
pub(super) struct Planned {
    method: Method,
    /// Which of two values is its argument.
    argument: usize,
    goes_wrong: bool,
}

/// A family of objects that show a fault in the same way.
enum Family {
    /// An object that is as new when everything is removed: the methods that insert and remove a value.
    Container {
        insert: Method,
        remove: Method,
    },
    /// A lock: the methods that enter and leave it, and how many threads may hold it.
    Lock {
        enter: Method,
        leave: Method,
        holders: u32,
    },
    Elements,
    Exchanger,
    Text,
    /// An object that holds one number: a method that changes it, and one that observes it.
    Plain {
        change: Method,
        observe: Method,
    },
    Register,
}

fn family(config: &ObjectConfig) -> Family {
    match config.object {
        Object::Queue => Family::Container { insert: Method::Enqueue, remove: Method::Dequeue },
        Object::Stack => Family::Container { insert: Method::Push, remove: Method::Pop },
        Object::PriorityQueue => Family::Container { insert: Method::Insert, remove: Method::DeleteMax },
        Object::Mutex => Family::Lock { enter: Method::Lock, leave: Method::Unlock, holders: 1 },
        Object::Semaphore => Family::Lock { enter: Method::Acquire, leave: Method::Release, holders: config.capacity },
        Object::TaggedMutex => Family::Lock { enter: Method::AcquireAs, leave: Method::ReleaseAs, holders: 1 },
        Object::TaggedSemaphore => {
            Family::Lock { enter: Method::AcquireAs, leave: Method::ReleaseAs, holders: config.capacity }
        }
        Object::Set | Object::Multiset => Family::Elements,
        Object::Exchanger => Family::Exchanger,
        Object::KeyValue => Family::Text,
        Object::Register => Family::Register,
        object => {
            let first = |observe| plain_methods(object, observe).next();
            match (first(false), first(true)) {
                (Some(change), Some(observe)) => Family::Plain { change, observe },
                // A misfit, which has no runs.
                _ => Family::Register,
            }
        }
    }
}

/// How many threads may hold the object, if it is a lock.
fn holders(config: &ObjectConfig) -> Option<u32> {
    match family(config) {
        Family::Lock { holders, .. } => Some(holders),
        _ => None,
    }
}

/// The calls by which a thread alone shows a fault.
fn plan(config: &ObjectConfig, fault: Fault) -> Vec<Planned> {
    let right = |method, argument| Planned { method, argument, goes_wrong: false };
    let wrong = |method, argument| Planned { method, argument, goes_wrong: true };
    match (family(config), fault) {
        (Family::Container { insert, remove }, Fault::OutOfOrder(_) | Fault::Lost) => {
            vec![right(insert, 0), right(insert, 1), wrong(remove, 0), right(remove, 0)]
        }
        (Family::Container { insert, remove }, Fault::Duplicated | Fault::LateEmpty) => {
            vec![right(insert, 0), wrong(remove, 0), right(remove, 0)]
        }
        // If the lock has tags, all calls have one tag.
        (Family::Lock { enter, leave, holders }, _) => {
            let mut calls = vec![right(enter, 0); holders as usize];
            calls.push(wrong(enter, 0));
            calls.extend(vec![right(leave, 0); holders as usize + 1]);
            calls
        }
        (Family::Elements, _) => vec![right(Method::Add, 0), wrong(Method::Contains, 0)],
        (Family::Exchanger, _) => vec![wrong(Method::Exchange, 0)],
        (Family::Text, Fault::Lost) => vec![right(Method::Put, 0), wrong(Method::Append, 1), right(Method::Get, 0)],
        (Family::Text, _) => vec![right(Method::Put, 0), right(Method::Append, 1), wrong(Method::Get, 0)],
        (Family::Plain { change, observe }, Fault::Lost) => vec![wrong(change, 1), right(observe, 0)],
        (Family::Plain { change, observe }, _) => vec![right(change, 0), wrong(observe, 0)],
        (Family::Register, Fault::Lost) => {
            vec![right(Method::Write, 0), wrong(Method::Write, 1), right(Method::Read, 0)]
        }
        (Family::Register, _) => vec![right(Method::Write, 0), right(Method::Write, 1), wrong(Method::Read, 0)],
    }
}

/// How many calls the plan has. It is computed without the plan, because the plan of a semaphore may be very long.
fn length(config: &ObjectConfig, fault: Fault) -> u64 {
    match holders(config) {
        Some(holders) => 2 * (u64::from(holders) + 1),
        None => plan(config, fault).len() as u64,
    }
}

impl ObjectConfig {
    /// Whether each change of a plain object changes what is observed.
    fn changes_always(&self) -> bool {
        self.object == Object::Counter || self.object == Object::MaxRegister && self.values == 0
    }

    /// Why the fault may not show. `None` if there is no fault, or if it will show.
    pub fn hides(&self) -> Option<String> {
        let fault = self.fault?;
        let length = length(self, fault);
        let wants_two_values = match fault {
            Fault::OutOfOrder(_) => matches!(family(self), Family::Container { .. }),
            Fault::Lost => self.object == Object::Register,
            Fault::Duplicated | Fault::LateEmpty => false,
        };
        if self.faults == 0 {
            Some("it is to happen 0 times".to_owned())
        } else if length > u64::from(self.operations) {
            Some(format!("it takes {length} operations to show it"))
        } else if wants_two_values && self.values == 1 {
            Some("there is only one value".to_owned())
        } else if fault == Fault::Lost && matches!(family(self), Family::Plain { .. }) && !self.changes_always() {
            Some("what is lost may be nothing: an earlier operation may have done the same".to_owned())
        } else {
            None
        }
    }
}

impl ObjectRun {
    /// Whether a thread may call a method now.
    pub(super) fn may_call(&mut self, thread: usize) -> bool {
        if self.called >= self.config.operations {
            return false;
        }
        if matches!(self.stage, Stage::Before) && self.is_time() {
            self.stage = Stage::Closing;
        }
        match self.stage {
            Stage::Closing => self.threads[thread].held.is_some(),
            _ => true,
        }
    }

    /// How many values have to be removed.
    fn inside(&self) -> usize {
        let cell = &self.cells[self.shown as usize];
        match family(&self.config) {
            Family::Container { .. } => cell.items.len().max(cell.sorted.len()),
            _ => 0,
        }
    }

    fn is_time(&self) -> bool {
        let ObjectConfig { fault: Some(fault), threads, operations, .. } = self.config else { return false };
        // A thread that acquires a semaphore of capacity 0 waits for ever.
        let at_once = holders(&self.config) == Some(0);
        let is_due = self.fault_at.last().is_some_and(|&at| at <= self.called);
        // Open calls may insert a value, or hold a lock that must be released.
        let needed = self.inside() as u64 + 2 * u64::from(threads) + length(&self.config, fault);
        let is_last = u64::from(operations - self.called) <= needed;
        at_once || is_last || is_due && self.inside() <= SMALL_CONTENT
    }

    /// The next event of the thread that calls alone, if one does, or now can.
    pub(super) fn alone(&mut self) -> Option<RunEvent> {
        if matches!(self.stage, Stage::Closing)
            && self.threads.iter().all(|thread| thread.open.is_none() && thread.held.is_none())
        {
            self.begin_alone();
        }
        let Stage::Alone { thread, calls, goes_wrong } = &mut self.stage else { return None };
        let thread = *thread;
        if self.threads[thread].open.is_none() {
            let Planned { method, argument, goes_wrong: wrong } = calls.pop_front()?;
            *goes_wrong = wrong;
            let argument = if method.takes_argument() { self.shown_values[argument] } else { 0 };
            let key = self.shown;
            return Some(
                self.begin(thread, OpenCall { method, key, expected: 0, argument, answer: None, is_doomed: false }),
            );
        }
        let took_effect = self.take_effect(thread);
        debug_assert!(took_effect, "nothing that is planned waits");
        if matches!(&self.stage, Stage::Alone { calls, .. } if calls.is_empty()) {
            self.stage = Stage::Free;
        }
        let answer = self.threads[thread].open.take()?.answer?;
        Some(RunEvent { process: self.threads[thread].process, action: Action::Return(answer) })
    }

    /// Chooses the thread that goes on alone. No call is open, and no lock is held.
    fn begin_alone(&mut self) {
        let Some(fault) = self.config.fault else { return };
        self.fault_at.pop();
        let mut calls = VecDeque::new();
        if let Family::Container { remove, .. } = family(&self.config) {
            calls.resize(self.inside(), Planned { method: remove, argument: 0, goes_wrong: false });
        }
        calls.extend(plan(&self.config, fault));
        debug_assert!(u64::from(self.called) + calls.len() as u64 <= u64::from(self.config.operations));
        self.shown_values = match self.config.object {
            Object::Set | Object::Multiset => [self.random.below(u64::from(self.config.values.max(1))) as u32; 2],
            _ => [self.new_value(), self.new_value()],
        };
        if self.shown_values[0] == self.shown_values[1] && self.config.values > 1 {
            self.shown_values[1] = self.shown_values[0] % self.config.values + 1;
        }
        let thread = self.random.below(self.threads.len() as u64) as usize;
        self.stage = Stage::Alone { thread, calls, goes_wrong: false };
    }
}
