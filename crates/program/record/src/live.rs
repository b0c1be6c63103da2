//! The events of a running program. Each thread has a ring of bounded size, and one iterator merges the rings in the
//! order of time.
//!
//! The merging thread may hand out an event only if no earlier event can still come. A thread whose ring is empty could
//! be about to record one. So a thread *announces* each event before it takes the time of the event, with a fence in
//! between. The merging thread takes a time T first, and then looks at the announcements, with a fence in between.
//! There are two cases:
//! - No event is announced. Then the next event of that thread has a time after T, since one of the two fences comes
//!   first, and each time is taken on the right side of its fence.
//! - An event is announced that is not in the ring yet. Then the merging thread waits. The recording thread needs only
//!   a few instructions to write the event.
//!
//! So a thread that is idle, or blocked inside an operation, does not delay the others.
//!
//! A thread whose ring is full waits before it calls the object, while it has announced nothing. A call leaves room for
//! its return, so a return never waits.
//!
//! The texts of new words are put beside the ring, before the first event that uses them. Only this takes a lock.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use history::event::{Action, ProcessEvent};
use history::{History, KeyId, Object, Value, Words};

use crate::clock::{Clock, Epoch};
use crate::prefix::Prefix;
use crate::thread::{Answer, Destination, Invocation, Thread};

/// How many events a ring holds.
const RING_CAPACITY: u64 = 1 << 12;

/// A value on a cache line of its own.
#[repr(align(64))]
#[derive(Default)]
struct CacheLine<T>(T);

/// The events of one thread. Only that thread writes them, and only the merging thread takes them out.
pub(crate) struct Ring {
    process: u32,
    object: Object,
    /// For each event: the time; the kind with method and key; the argument or the result; the expected value.
    slots: Box<[[AtomicU64; 4]]>,
    /// How many events were announced, and how many were written.
    announced: CacheLine<AtomicU64>,
    written: CacheLine<AtomicU64>,
    /// How many events were taken out.
    taken: CacheLine<AtomicU64>,
    is_closed: AtomicBool,
    /// The words of the thread that are published, and their number.
    words: Mutex<Words>,
    published: AtomicU32,
}

const CALL: u64 = 0;
const RETURNED: u64 = 1;
const DID_NOT_HAPPEN: u64 = 2;
const UNKNOWN: u64 = 3;

impl Ring {
    fn new(process: u32, object: Object, is_closed: bool) -> Self {
        Self {
            process,
            object,
            slots: (0..RING_CAPACITY).map(|_| Default::default()).collect(),
            announced: CacheLine::default(),
            written: CacheLine::default(),
            taken: CacheLine::default(),
            is_closed: AtomicBool::new(is_closed),
            words: Mutex::default(),
            published: AtomicU32::new(Words::default().count()),
        }
    }

    /// Publishes new words, before an event that uses them is written.
    #[inline]
    pub(crate) fn publish(&self, words: &Words) {
        if words.count() > self.published.load(Ordering::Relaxed) {
            self.publish_new(words);
        }
    }

    #[cold]
    fn publish_new(&self, words: &Words) {
        let mut published = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        for index in self.published.load(Ordering::Relaxed)..words.count() {
            published.word(words.text(index));
        }
        self.published.store(words.count(), Ordering::Relaxed);
    }

    /// Waits until there is room for a call and its return. `false` if nobody takes events any more.
    #[inline]
    fn make_room(&self) -> bool {
        let written = self.written.0.load(Ordering::Relaxed);
        while written + 2 - self.taken.0.load(Ordering::Acquire) > RING_CAPACITY {
            if self.is_closed.load(Ordering::Relaxed) {
                return false;
            }
            std::thread::yield_now();
        }
        !self.is_closed.load(Ordering::Relaxed)
    }

    /// Announces an event. Its time is taken after the next fence.
    #[inline]
    pub(crate) fn announce(&self) {
        let written = self.written.0.load(Ordering::Relaxed);
        self.announced.0.store(written + 1, Ordering::Relaxed);
    }

    #[inline]
    fn write(&self, words: [u64; 4]) {
        let written = self.written.0.load(Ordering::Relaxed);
        for (slot, word) in self.slots[(written % RING_CAPACITY) as usize].iter().zip(words) {
            slot.store(word, Ordering::Relaxed);
        }
        self.written.0.store(written + 1, Ordering::Release);
    }

    /// Writes a call at the time that `now` returns. `None` if nobody takes events any more.
    #[inline]
    pub(crate) fn call(&self, invocation: &Invocation, now: impl FnOnce() -> u64) -> Option<u64> {
        if !self.make_room() {
            return None;
        }
        self.announce();
        let time = now();
        let Invocation { key, method, argument, expected } = *invocation;
        let methods = self.object.methods();
        let method = methods.iter().position(|&(known, _)| known == method).unwrap_or(methods.len()) as u64;
        self.write([time, CALL | method << 8 | u64::from(key.0) << 32, argument.bits(), expected.bits()]);
        Some(time)
    }

    /// Writes the end of an operation. It must be announced.
    #[inline]
    pub(crate) fn end(&self, time: u64, answer: Answer) {
        let (kind, result) = match answer {
            Answer::Returned(result) => (RETURNED, result),
            Answer::DidNotHappen => (DID_NOT_HAPPEN, Value::NONE),
            Answer::Unknown => (UNKNOWN, Value::NONE),
        };
        self.write([time, kind, result.bits(), Value::NONE.bits()]);
    }

    /// The event at a position, and its time. The values of the event are values of `prefix`.
    fn read(&self, at: u64, prefix: &mut Prefix) -> (u64, ProcessEvent) {
        let [time, what, value, expected] =
            std::array::from_fn(|word| self.slots[(at % RING_CAPACITY) as usize][word].load(Ordering::Relaxed));
        let mut value_of = |bits| {
            let value = Value::from_bits(bits);
            if value.is_own_word() {
                let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
                return prefix.translate(value, &words);
            }
            value
        };
        let value = value_of(value);
        let action = match what & 0xff {
            CALL => {
                let methods = self.object.methods();
                let method = methods[((what >> 8 & 0xff) as usize).min(methods.len() - 1)].0;
                let key = KeyId((what >> 32) as u32);
                Action::Call { key, method, argument: value, expected: value_of(expected) }
            }
            RETURNED => Action::Return(value),
            DID_NOT_HAPPEN => Action::Fail,
            _ => Action::Info,
        };
        (time, ProcessEvent { process: self.process, action })
    }
}

struct Shared {
    object: Object,
    epoch: Epoch,
    rings: Mutex<Vec<Arc<Ring>>>,
    /// No more threads and no more events will come.
    is_finished: AtomicBool,
    /// Nobody takes events any more.
    is_over: AtomicBool,
}

/// Records for a consumer that looks at the events while the program runs. See the [crate](crate).
///
/// ```
/// use history::{Method, Object};
/// use monitor::{Linearizable, Monitor};
///
/// let mut monitor = Linearizable::new(Object::Register, Default::default()).unwrap();
/// let live = record::Live::new(Object::Register, move |events| {
///     events.keep();
///     let violation = events.map(|event| monitor.push(event)).find_map(Result::err)?;
///     Some((violation, events.history()))
/// });
/// let register = std::sync::atomic::AtomicU32::new(0);
/// let mut thread = live.thread();
/// thread.record((Method::Write, 5_u32), || register.store(5, std::sync::atomic::Ordering::SeqCst));
/// // A register that forgets:
/// thread.record(Method::Read, || 0_u32);
/// drop(thread);
/// let (violation, history) = live.finish().unwrap();
/// assert!(violation.to_string().contains("this operation cannot end as it did"));
/// // A checker can say why this history is a violation.
/// assert_eq!(history.operations().len(), 2);
/// ```
pub struct Live<R> {
    shared: Arc<Shared>,
    consumer: JoinHandle<R>,
}

impl<R: Send + 'static> Live<R> {
    /// Starts a thread that runs `consumer`. It gets the events of all recorded threads. When it returns, nothing more
    /// is recorded.
    pub fn new(object: Object, consumer: impl FnOnce(&mut Events) -> R + Send + 'static) -> Self {
        let shared = Arc::new(Shared {
            object,
            epoch: Epoch::new(Clock::new()),
            rings: Mutex::default(),
            is_finished: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        let mut events = Events {
            shared: Arc::clone(&shared),
            rings: Vec::new(),
            bound: 0,
            is_last_round: false,
            prefix: Prefix::new(object, None),
            is_kept: false,
        };
        let consumer = std::thread::spawn(move || consumer(&mut events));
        Self { shared, consumer }
    }

    /// The recorder of one more thread.
    pub fn thread(&self) -> Thread {
        let mut rings = self.shared.rings.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = self.shared.is_over.load(Ordering::Relaxed);
        let ring = Arc::new(Ring::new(rings.len() as u32, self.shared.object, is_over));
        rings.push(Arc::clone(&ring));
        Thread::new(self.shared.epoch.clock(), Destination::Ring(ring), self.shared.object)
    }

    /// Whether the consumer has returned.
    pub fn is_over(&self) -> bool {
        self.shared.is_over.load(Ordering::Relaxed)
    }

    /// Waits until the consumer has taken all events, and returns its result.
    ///
    /// # Panics
    /// If the consumer panicked.
    pub fn finish(self) -> R {
        self.shared.is_finished.store(true, Ordering::Release);
        self.consumer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// What the merging thread knows of a ring in this round.
struct RingState {
    ring: Arc<Ring>,
    taken: u64,
    written: u64,
    /// Whether every announced event is written.
    is_quiet: bool,
    next: Option<(u64, ProcessEvent)>,
}

impl RingState {
    /// The order of the next event: by time. At equal times calls come before returns, so that the operations overlap.
    fn key(&self) -> Option<(u64, bool)> {
        self.next.map(|(time, event)| (time, !matches!(event.action, Action::Call { .. })))
    }

    fn load(&mut self, prefix: &mut Prefix) {
        self.next = (self.taken < self.written).then(|| self.ring.read(self.taken, prefix));
    }
}

/// The events of all threads, in the order of time. The iterator waits for the next event, and ends when the recorder
/// is finished.
pub struct Events {
    shared: Arc<Shared>,
    rings: Vec<RingState>,
    /// The next event of a quiet thread is later than this time.
    bound: u64,
    /// Whether all events were recorded before this round began.
    is_last_round: bool,
    /// The words of all events; and the events themselves, if they are kept.
    prefix: Prefix,
    is_kept: bool,
}

impl Events {
    /// Keeps the events, so that [`history`](Self::history) has them. Call this before the first event is taken. Memory
    /// then grows with the run.
    pub fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Sets the capacity of semaphores in [`history`](Self::history).
    pub fn set_capacity(&mut self, capacity: u64) {
        self.prefix.set_capacity(capacity);
    }

    /// The history of the events that were taken and [kept](Self::keep) so far. When a monitor finds a violation, this
    /// is the history that a checker can decide and explain.
    pub fn history(&self) -> History {
        self.prefix.clone().into_history(self.rings.len() as u32, self.shared.epoch.scale())
    }

    #[inline(never)]
    fn keep_event(&mut self, time: u64, event: &ProcessEvent) {
        let process = event.process;
        let answer = match event.action {
            Action::Call { key, method, argument, expected } => {
                return self.prefix.call(process, time, &Invocation { key, method, argument, expected });
            }
            Action::Return(result) => Answer::Returned(result),
            Action::Fail => Answer::DidNotHappen,
            Action::Info => Answer::Unknown,
        };
        self.prefix.end(process, time, answer);
    }

    /// The texts of the words among the values of the events so far.
    pub fn words(&self) -> &Words {
        self.prefix.words()
    }

    /// Looks at all rings again: begins a new round.
    fn look(&mut self) {
        self.is_last_round = self.shared.is_finished.load(Ordering::Acquire);
        self.bound = self.shared.epoch.clock().between();
        fence(Ordering::SeqCst);
        let rings = self.shared.rings.lock().unwrap_or_else(PoisonError::into_inner);
        for ring in &rings[self.rings.len()..] {
            let ring = Arc::clone(ring);
            self.rings.push(RingState { ring, taken: 0, written: 0, is_quiet: true, next: None });
        }
        drop(rings);
        for state in &mut self.rings {
            let announced = state.ring.announced.0.load(Ordering::Acquire);
            state.written = state.ring.written.0.load(Ordering::Acquire);
            state.is_quiet = announced <= state.written;
            state.load(&mut self.prefix);
        }
    }

    /// The next event of this round, if no earlier event can come.
    fn take(&mut self) -> Option<ProcessEvent> {
        let has_next = (0..self.rings.len()).filter(|&at| self.rings[at].next.is_some());
        let first = has_next.min_by_key(|&at| self.rings[at].key())?;
        let (time, event) = self.rings[first].next?;
        let is_later = |state: &RingState| state.next.is_some() || (state.is_quiet && time < self.bound);
        if !self.rings.iter().all(is_later) {
            return None;
        }
        let state = &mut self.rings[first];
        state.taken += 1;
        state.ring.taken.0.store(state.taken, Ordering::Release);
        state.load(&mut self.prefix);
        if self.is_kept {
            self.keep_event(time, &event);
        }
        Some(event)
    }
}

impl Iterator for Events {
    type Item = ProcessEvent;

    fn next(&mut self) -> Option<ProcessEvent> {
        let mut rounds = 0_u32;
        loop {
            let event = self.take();
            if event.is_some() {
                return event;
            }
            let is_empty = self.rings.iter().all(|state| state.next.is_none() && state.is_quiet);
            if is_empty && self.is_last_round {
                return None;
            }
            if rounds > 0 {
                std::thread::yield_now();
            }
            rounds += 1;
            self.look();
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let rings = self.shared.rings.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.is_over.store(true, Ordering::Relaxed);
        for ring in rings.iter() {
            ring.is_closed.store(true, Ordering::Relaxed);
        }
    }
}
