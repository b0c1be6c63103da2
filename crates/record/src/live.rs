//! Events while the program runs: a ring of bounded size for each thread, and one iterator that merges them in the
//! order of time.
//!
//! An event may be handed out once no earlier one can come any more. A thread that has nothing in its ring could be
//! about to record an event: so it *announces* each event before it takes its time, with a fence between. Who merges
//! takes the time T first, and looks at what is announced after it, with a fence between. If it sees nothing announced,
//! then whatever that thread records next has a time after T (one of the two fences is first, and the time is taken on
//! the right side of each). If it sees an event announced that is not in the ring yet, it waits: between the two there
//! are only a few instructions. So a thread that is idle, or blocked inside an operation, holds up nobody.
//!
//! A thread whose ring is full waits before it calls the object, with nothing announced; there is always room for the
//! return.
//!
//! The texts of words are put beside the ring before the first event that has them, and only then is a lock taken.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use history::event::{Action, Event};
use history::{History, KeyId, Object, Value, Words};

use crate::clock::{Clock, Epoch};
use crate::prefix::Prefix;
use crate::thread::{Answer, Invocation, Lane, Thread};

/// How many events a ring holds.
const CAPACITY: u64 = 1 << 12;

/// On a cache line of its own.
#[repr(align(64))]
#[derive(Default)]
struct Apart<T>(T);

/// The events of one thread: written by that thread alone, taken by who merges alone.
pub(crate) struct Ring {
    process: u32,
    object: Object,
    /// Time, kind with method and key, argument or result, expected.
    slots: Box<[[AtomicU64; 4]]>,
    /// How many events are announced, and in the ring.
    announced: Apart<AtomicU64>,
    written: Apart<AtomicU64>,
    /// How many were taken out.
    taken: Apart<AtomicU64>,
    is_closed: AtomicBool,
    /// The words of the thread that were published, and how many they are.
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
            slots: (0..CAPACITY).map(|_| Default::default()).collect(),
            announced: Apart::default(),
            written: Apart::default(),
            taken: Apart::default(),
            is_closed: AtomicBool::new(is_closed),
            words: Mutex::default(),
            published: AtomicU32::new(Words::default().count()),
        }
    }

    /// Puts new words beside the ring, before an event has them.
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

    /// Waits until there is room for a call and its return; whether anybody still listens.
    #[inline]
    fn make_room(&self) -> bool {
        let written = self.written.0.load(Ordering::Relaxed);
        while written + 2 - self.taken.0.load(Ordering::Acquire) > CAPACITY {
            if self.is_closed.load(Ordering::Relaxed) {
                return false;
            }
            std::thread::yield_now();
        }
        !self.is_closed.load(Ordering::Relaxed)
    }

    /// An event will be written, with a time that is taken after the next fence.
    #[inline]
    pub(crate) fn announce(&self) {
        let written = self.written.0.load(Ordering::Relaxed);
        self.announced.0.store(written + 1, Ordering::Relaxed);
    }

    #[inline]
    fn write(&self, words: [u64; 4]) {
        let written = self.written.0.load(Ordering::Relaxed);
        for (slot, word) in self.slots[(written % CAPACITY) as usize].iter().zip(words) {
            slot.store(word, Ordering::Relaxed);
        }
        self.written.0.store(written + 1, Ordering::Release);
    }

    /// Writes a call, at the time that `now` gives; none if nobody listens.
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

    /// Writes the end of an operation, which was announced.
    #[inline]
    pub(crate) fn end(&self, time: u64, answer: Answer) {
        let (kind, result) = match answer {
            Answer::Returned(result) => (RETURNED, result),
            Answer::DidNotHappen => (DID_NOT_HAPPEN, Value::NONE),
            Answer::Unknown => (UNKNOWN, Value::NONE),
        };
        self.write([time, kind, result.bits(), Value::NONE.bits()]);
    }

    /// The event at a place, with its time; its values are those of the prefix.
    fn read(&self, at: u64, prefix: &mut Prefix) -> (u64, Event) {
        let [time, what, value, expected] =
            std::array::from_fn(|word| self.slots[(at % CAPACITY) as usize][word].load(Ordering::Relaxed));
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
        (time, Event { process: self.process, action })
    }
}

struct Shared {
    object: Object,
    epoch: Epoch,
    rings: Mutex<Vec<Arc<Ring>>>,
    /// No more threads, and no more events.
    is_finished: AtomicBool,
    /// Nobody listens any more.
    is_over: AtomicBool,
}

/// Records for a thread that looks at the events while the program runs. See the [crate](crate).
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
/// // The history up to there: any checker can say why.
/// assert_eq!(history.operations.len(), 2);
/// ```
pub struct Live<R> {
    shared: Arc<Shared>,
    consumer: JoinHandle<R>,
}

impl<R: Send + 'static> Live<R> {
    /// Starts a thread that is given the events. When it has seen enough it returns, and nothing more is recorded.
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
            lanes: Vec::new(),
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
        Thread::new(self.shared.epoch.clock(), Lane::Ring(ring))
    }

    /// Whether the thread that is given the events has seen enough.
    pub fn is_over(&self) -> bool {
        self.shared.is_over.load(Ordering::Relaxed)
    }

    /// Waits until all that was recorded has been looked at, and gives what came of it.
    ///
    /// # Panics
    /// If the thread that looks at the events did.
    pub fn finish(self) -> R {
        self.shared.is_finished.store(true, Ordering::Release);
        self.consumer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// What is known of a ring in this round.
struct Seen {
    ring: Arc<Ring>,
    taken: u64,
    written: u64,
    /// Whether nothing was announced beyond what is written.
    is_quiet: bool,
    next: Option<(u64, Event)>,
}

impl Seen {
    /// Calls come before returns of the same time: what has equal times overlaps.
    fn key(&self) -> Option<(u64, bool)> {
        self.next.map(|(time, event)| (time, !matches!(event.action, Action::Call { .. })))
    }

    fn load(&mut self, prefix: &mut Prefix) {
        self.next = (self.taken < self.written).then(|| self.ring.read(self.taken, prefix));
    }
}

/// The events of all threads, in the order of time; waits for the next. Ends when the recorder is finished.
pub struct Events {
    shared: Arc<Shared>,
    lanes: Vec<Seen>,
    /// What a quiet thread records next is later than this.
    bound: u64,
    /// Whether all was recorded before this round began.
    is_last_round: bool,
    /// The words of all events, and the events themselves if they are kept.
    prefix: Prefix,
    is_kept: bool,
}

impl Events {
    /// Keeps the events from here on, for [`history`](Self::history): to be called before the first is taken. Memory
    /// grows with the run.
    pub fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Says the capacity of semaphores, for [`history`](Self::history).
    pub fn set_capacity(&mut self, capacity: u64) {
        self.prefix.set_capacity(capacity);
    }

    /// The history of the events that were taken and [kept](Self::keep) so far: what a violation of a monitor is about.
    /// The checkers decide it again and explain why.
    pub fn history(&self) -> History {
        self.prefix.clone().into_history(self.lanes.len() as u32, self.shared.epoch.scale())
    }

    #[inline(never)]
    fn keep_event(&mut self, time: u64, event: &Event) {
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

    /// The texts of the values of the events so far.
    pub fn words(&self) -> &Words {
        self.prefix.words()
    }

    /// Looks at all rings again.
    fn look(&mut self) {
        self.is_last_round = self.shared.is_finished.load(Ordering::Acquire);
        self.bound = self.shared.epoch.clock().between();
        fence(Ordering::SeqCst);
        let rings = self.shared.rings.lock().unwrap_or_else(PoisonError::into_inner);
        for ring in &rings[self.lanes.len()..] {
            let ring = Arc::clone(ring);
            self.lanes.push(Seen { ring, taken: 0, written: 0, is_quiet: true, next: None });
        }
        drop(rings);
        for lane in &mut self.lanes {
            let announced = lane.ring.announced.0.load(Ordering::Acquire);
            lane.written = lane.ring.written.0.load(Ordering::Acquire);
            lane.is_quiet = announced <= lane.written;
            lane.load(&mut self.prefix);
        }
    }

    /// The next event of this round, if it is certain that no earlier one can come.
    fn take(&mut self) -> Option<Event> {
        let has_next = (0..self.lanes.len()).filter(|&at| self.lanes[at].next.is_some());
        let first = has_next.min_by_key(|&at| self.lanes[at].key())?;
        let (time, event) = self.lanes[first].next?;
        let is_later = |lane: &Seen| lane.next.is_some() || (lane.is_quiet && time < self.bound);
        if !self.lanes.iter().all(is_later) {
            return None;
        }
        let lane = &mut self.lanes[first];
        lane.taken += 1;
        lane.ring.taken.0.store(lane.taken, Ordering::Release);
        lane.load(&mut self.prefix);
        if self.is_kept {
            self.keep_event(time, &event);
        }
        Some(event)
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut rounds = 0_u32;
        loop {
            let event = self.take();
            if event.is_some() {
                return event;
            }
            let is_empty = self.lanes.iter().all(|lane| lane.next.is_none() && lane.is_quiet);
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
