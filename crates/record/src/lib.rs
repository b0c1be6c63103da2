//! Records what the threads of a program do with a concurrent object: every call and every return, with its time.
//!
//! A [`Recorder`] keeps all in memory, thread by thread, and makes a [`History`] of it, which can be checked or
//! written to a file. A [`Live`] recorder hands the events, merged in the order of time, to a thread that looks at them
//! while the program runs: to a monitor, say. Both give each thread a [`Thread`], through which it calls the object:
//!
//! ```
//! use history::{Method, Object};
//! use std::collections::VecDeque;
//! use std::sync::Mutex;
//!
//! let queue = Mutex::new(VecDeque::new());
//! let recorder = record::Recorder::new(Object::Queue);
//! std::thread::scope(|scope| {
//!     for first in [0_u32, 100] {
//!         let mut thread = recorder.thread();
//!         let queue = &queue;
//!         scope.spawn(move || {
//!             for value in first..first + 100 {
//!                 thread.record((Method::Enqueue, value), || queue.lock().unwrap().push_back(value));
//!                 thread.record(Method::Dequeue, || queue.lock().unwrap().pop_front());
//!             }
//!         });
//!     }
//! });
//! let history = recorder.finish();
//! let view = object::ObjectHistory::new(&history).unwrap();
//! assert_eq!(object::check(&view, &Default::default()).verdict.name(), "consistent");
//! ```
//!
//! # What the times mean
//!
//! An operation is said to come before another only if it did: its return is stamped after all that it did is visible to every
//! thread, and the other's call is stamped before it begins ([`clock`]). Equal times mean that the two overlap. Within a thread,
//! times grow.
//!
//! # Cost
//!
//! Recording takes two looks at the clock, a fence, and 32 bytes in memory that only the thread itself touches; no lock, no
//! shared memory. `Live` takes one more fence and a ring of bounded size for each thread. A thread waits only if its ring is full:
//! nothing is lost. The benchmark `cost` measures it.
//!
//! # What can go wrong
//!
//! An operation that panics may have happened or not, and that is what is recorded ([`Answer::Unknown`]). A [`Thread`] that is
//! leaked (`std::mem::forget`) takes its record with it.

pub mod clock;
mod live;
mod thread;

use std::sync::{Arc, Mutex, PoisonError};

use history::{History, MemoryOrder, Object, Operation, OperationId, Outcome, ProcessId, Value};

pub use live::Live;
pub use thread::{Answer, Invocation, Number, Returns, Thread};

use clock::Clock;
use thread::{Entry, Lane, Tape};

/// What the threads of a recorder have given back.
#[derive(Default)]
struct Kept {
    threads: u32,
    tapes: Vec<(u32, Tape)>,
}

/// Records in memory. See the [crate](self).
pub struct Recorder {
    object: Object,
    capacity: Option<u64>,
    clock: Clock,
    kept: Arc<Mutex<Kept>>,
}

impl Recorder {
    /// Nothing recorded yet.
    pub fn new(object: Object) -> Self {
        Self { object, capacity: None, clock: Clock::new(), kept: Arc::default() }
    }

    /// A recorder of semaphores of that capacity.
    pub fn semaphore(capacity: u64) -> Self {
        Self { capacity: Some(capacity), ..Self::new(Object::Semaphore) }
    }

    /// The recorder of one more thread. What it records is kept when it is dropped.
    pub fn thread(&self) -> Thread {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let process = kept.threads;
        kept.threads += 1;
        let kept = Arc::clone(&self.kept);
        Thread::new(self.clock, Lane::Memory { process, tape: Tape::default(), kept })
    }

    /// The history of all that was recorded by the threads whose recorders have been dropped.
    pub fn finish(&self) -> History {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries: Vec<(u32, Entry)> = Vec::new();
        for (process, tape) in kept.tapes.drain(..) {
            entries.extend(tape.entries().map(|entry| (process, entry)));
        }
        let mut history = History { object: self.object, capacity: self.capacity, ..History::default() };
        history.processes = (0..kept.threads).map(i64::from).filter_map(Value::integer).collect();
        merge(&mut history, &mut entries);
        history
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Lane::Memory { process, tape, kept } = &mut self.lane {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.tapes.push((*process, std::mem::take(tape)));
        }
    }
}

/// Puts the operations of all threads into a history, in the order of time. At equal times, calls come before returns.
fn merge(history: &mut History, entries: &mut [(u32, Entry)]) {
    entries.sort_by_key(|&(process, entry)| (entry.called, process));
    let mut returns: Vec<(u64, u32)> = (0..entries.len() as u32)
        .filter(|&at| entries[at as usize].1.answer != Answer::Unknown)
        .map(|at| (entries[at as usize].1.returned, at))
        .collect();
    returns.sort_unstable();
    let mut returns = returns.into_iter().peekable();
    let mut moment = 0;
    let keys = entries.iter().map(|(_, entry)| entry.invocation.key.0.wrapping_add(1)).max().unwrap_or(0);
    history.keys = (0..keys).map(i64::from).filter_map(Value::integer).collect();
    let mut moments = vec![[0, History::NEVER]; entries.len()];
    for (at, &(process, entry)) in entries.iter().enumerate() {
        while let Some((_, other)) = returns.next_if(|&(returned, _)| returned < entry.called) {
            moments[other as usize][1] = moment;
            moment += 1;
        }
        moments[at][0] = moment;
        moment += 1;
        let Invocation { key, method, argument, expected } = entry.invocation;
        if expected.is_some() {
            history.expected.push((OperationId(at as u32), expected));
        }
        let (outcome, result) = match entry.answer {
            Answer::Returned(result) => (Outcome::Ok, result),
            Answer::DidNotHappen => (Outcome::Fail, Value::NONE),
            Answer::Unknown => (Outcome::Info, Value::NONE),
        };
        history.operations.push(Operation {
            process: ProcessId(process),
            key,
            line: 0,
            method,
            order: MemoryOrder::Plain,
            outcome,
            argument,
            result,
        });
    }
    for (_, other) in returns {
        moments[other as usize][1] = moment;
        moment += 1;
    }
    history.moments = moments;
}
