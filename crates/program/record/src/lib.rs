//! Records what the threads of a program do with a concurrent object: every call and every return, with its time.
//!
//! Use this crate in a test or a stress run of your own object. Each thread calls the object through a [`Thread`],
//! which records the call and the return. There are two recorders:
//! - A [`Recorder`] keeps all operations in memory. At the end it makes a [`History`], to be checked or written to a
//!   file.
//! - A [`Live`] recorder hands the events, in the order of time, to a consumer that runs beside the program, such as a
//!   monitor. It can also keep the events. When the monitor finds a violation, [`Events::history`] is the history up to
//!   that violation, and a checker can explain it.
//!
//! To record from another language, write the text format of the crate `history` instead.
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
//! One operation comes before another in the history only if it did so in the program. The return of the first is
//! stamped after all its effects are visible to every thread. The call of the second is stamped before it begins
//! ([`clock`]). Equal times mean that the two operations overlap. Within a thread, times grow. In the history, times
//! are nanoseconds since the recorder was made. Explanations name an operation by its number and its time (`operation
//! 12 [3] enqueue 5 (at 1.204 ms)`).
//!
//! # Values
//!
//! Integers, strings, booleans and options of them are values of a history ([`IntoValue`], [`ReturnedValue`]). An
//! integer is copied. A string is looked up in a table of the thread.
//!
//! # Cost
//!
//! To record an operation takes two readings of the clock, a fence, and 32 bytes of memory that only the thread itself
//! touches. It takes no lock and no shared memory. `Live` takes one more fence, and has a ring of bounded size for each
//! thread. A thread waits only if its ring is full, so no event is lost. The benchmark `cost` measures this.
//!
//! # What can go wrong
//!
//! An operation that panics may have happened or not. It is recorded as such ([`Answer::Unknown`]). If a [`Thread`] is
//! leaked (`std::mem::forget`), its record is lost.

pub mod clock;
mod live;
mod prefix;
mod thread;

use std::sync::{Arc, Mutex, PoisonError};

use history::{History, Object, Words};

pub use live::{Events, Live};
pub use thread::{Answer, Expecting, IntoValue, Invocation, Invoke, On, ReturnedValue, Thread};

use clock::{Clock, Epoch};
use prefix::Prefix;
use thread::{Destination, Entry, Tape};

/// The records of the threads that have ended.
#[derive(Default)]
struct Kept {
    threads: u32,
    tapes: Vec<(u32, Tape, Words)>,
}

/// Records in memory. See the [crate](self).
pub struct Recorder {
    object: Object,
    capacity: Option<u64>,
    epoch: Epoch,
    kept: Arc<Mutex<Kept>>,
}

impl Recorder {
    /// A recorder without records.
    pub fn new(object: Object) -> Self {
        Self { object, capacity: None, epoch: Epoch::new(Clock::new()), kept: Arc::default() }
    }

    /// A recorder of semaphores of that capacity.
    pub fn semaphore(capacity: u64) -> Self {
        Self { capacity: Some(capacity), ..Self::new(Object::Semaphore) }
    }

    /// The recorder of one more thread. Its record is kept when it is dropped.
    pub fn thread(&self) -> Thread {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let process = kept.threads;
        kept.threads += 1;
        let kept = Arc::clone(&self.kept);
        Thread::new(self.epoch.clock(), Destination::Memory { process, tape: Tape::default(), kept }, self.object)
    }

    /// The history of all threads whose recorders have been dropped.
    pub fn finish(&self) -> History {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries: Vec<(u32, Entry)> = Vec::new();
        let mut words = vec![Words::default(); kept.threads as usize];
        for (process, tape, own) in kept.tapes.drain(..) {
            entries.extend(tape.entries().map(|entry| (process, entry)));
            words[process as usize] = own;
        }
        let mut prefix = Prefix::new(self.object, self.capacity);
        merge(&mut prefix, &mut entries, &words);
        drop(entries);
        prefix.into_history(kept.threads, self.epoch.scale())
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Destination::Memory { process, tape, kept } = &mut self.destination {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.tapes.push((*process, std::mem::take(tape), std::mem::take(&mut self.words)));
        }
    }
}

/// Puts the operations of all threads into a history, in the order of time. At equal times, calls come before returns.
fn merge(prefix: &mut Prefix, entries: &mut [(u32, Entry)], words: &[Words]) {
    entries.sort_by_key(|&(process, entry)| (entry.called, process));
    let mut returns: Vec<(u64, u32)> = (0..entries.len() as u32)
        .filter(|&at| entries[at as usize].1.answer != Answer::Unknown)
        .map(|at| (entries[at as usize].1.returned, at))
        .collect();
    returns.sort_unstable();
    let mut returns = returns.into_iter().peekable();
    let end = |prefix: &mut Prefix, at: u32| {
        let (process, Entry { returned, answer, .. }) = entries[at as usize];
        let answer = match answer {
            Answer::Returned(result) => Answer::Returned(prefix.translate(result, &words[process as usize])),
            other => other,
        };
        prefix.end(process, returned, answer);
    };
    for &(process, Entry { called, invocation, answer, .. }) in &*entries {
        while let Some((_, other)) = returns.next_if(|&(returned, _)| returned < called) {
            end(prefix, other);
        }
        let words = &words[process as usize];
        let argument = prefix.translate(invocation.argument, words);
        let expected = prefix.translate(invocation.expected, words);
        prefix.call(process, called, &Invocation { argument, expected, ..invocation });
        if answer == Answer::Unknown {
            prefix.end(process, called, answer);
        }
    }
    for (_, other) in returns {
        end(prefix, other);
    }
}
