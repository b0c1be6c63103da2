//! What a piece of work may use: until when, how much memory, and whether somebody has cancelled it.
//!
//! A [`Budget`] is a value. The caller makes it and hands it down to whoever works for him: readers, engines, and the
//! threads that help them. They ask it from time to time whether they have to [stop](Budget::check), and before they
//! make a large table whether there is [room](Budget::check_room). What gives up says why ([`GaveUp`]).
//!
//! ```
//! use std::thread;
//! use std::time::Duration;
//!
//! use budget::{Budget, Cancel, GaveUp};
//!
//! let cancel = Cancel::new();
//! let budget = Budget::default().timeout(Duration::from_secs(60)).memory(1 << 40).cancel(&cancel);
//! assert_eq!(budget.check(), Ok(()));
//! thread::spawn(move || cancel.cancel()).join().unwrap();
//! assert_eq!(budget.check(), Err(GaveUp::Cancelled));
//! ```
//!
//! **Memory.** Nobody counts the bytes of his own tables. The system says how much memory the process has in use
//! ([`ram::resident`]), and that is what a limit is compared with. So the figure is the process's, and the limit is the
//! budget's: of two checks side by side, the one with the smaller limit gives up first, and the other goes on.
//!
//! **Invariants.** Nothing here belongs to the process: what one budget is asked changes no answer of another. A clone
//! is the same budget. Once a budget is cancelled, its deadline has passed, or its answers are used up, that stays so;
//! memory can be free again.

mod gave_up;
pub mod ram;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub use gave_up::GaveUp;

/// Without a limit, room for fewer bytes than this is there.
const SMALL: usize = 64 << 20;
/// To ask for room for fewer bytes than this is to ask whether the limit is exceeded already.
const LITTLE: usize = 1 << 20;
/// If the limit was not exceeded, the system is asked again after this time. In so short a time a process cannot fill
/// more than a few megabytes.
const INTERVAL: Duration = Duration::from_millis(4);

/// What a piece of work may use. By default there is no limit.
///
/// It is cheap to clone, and to ask: without limits it asks nobody, and the system is asked at most once in four
/// milliseconds how much memory is in use, unless that is too much.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    deadline: Option<Instant>,
    memory: Option<Arc<Memory>>,
    cancel: Option<Cancel>,
    asks: Option<Arc<AtomicU64>>,
}

impl Budget {
    /// No limit.
    pub const UNLIMITED: Self = Self { deadline: None, memory: None, cancel: None, asks: None };

    /// The same, but not beyond this moment, if one is given. The time is over as soon as this moment has come.
    #[must_use]
    pub fn until(self, deadline: Option<Instant>) -> Self {
        Self { deadline: [self.deadline, deadline].into_iter().flatten().min(), ..self }
    }

    /// The same, but not for longer than this from now. A moment that is too far away for the clock is no limit.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.until(Instant::now().checked_add(timeout))
    }

    /// The same, as long as the process has no more than so many bytes of memory in use.
    #[must_use]
    pub fn memory(self, bytes: usize) -> Self {
        let memory = Memory { limit: bytes, begun: Instant::now(), good_until: AtomicU64::new(0) };
        Self { memory: Some(Arc::new(memory)), ..self }
    }

    /// The same, until somebody cancels this.
    #[must_use]
    pub fn cancel(self, cancel: &Cancel) -> Self {
        Self { cancel: Some(cancel.clone()), ..self }
    }

    /// The same, but it answers only so many times that the work may go on. Who works on one thread asks at fixed
    /// places of the work. So the same work is given up at the same place in every run, whatever else the machine does.
    ///
    /// ```
    /// let budget = budget::Budget::default().asks(2);
    /// assert_eq!([(); 3].map(|()| budget.is_due()), [false, false, true]);
    /// assert_eq!(budget.check(), Err(budget::GaveUp::Asks));
    /// ```
    #[must_use]
    pub fn asks(self, most: u64) -> Self {
        Self { asks: Some(Arc::new(AtomicU64::new(most))), ..self }
    }

    /// The moment at which the time is over, if there is one.
    pub const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether there is any limit.
    #[inline]
    pub const fn is_limited(&self) -> bool {
        self.deadline.is_some() || self.memory.is_some() || self.cancel.is_some() || self.asks.is_some()
    }

    /// Gives up if the work has to stop.
    #[inline]
    pub fn check(&self) -> Result<(), GaveUp> {
        if self.is_limited() { self.ask() } else { Ok(()) }
    }

    /// Whether the work has to stop.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.check().is_err()
    }

    /// Why work that was told to stop had to. If there is time and nobody cancelled it, then it was memory, of which
    /// there may be enough again.
    pub fn why(&self) -> GaveUp {
        self.check().err().unwrap_or_else(|| self.no_memory())
    }

    fn ask(&self) -> Result<(), GaveUp> {
        if self.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
            return Err(GaveUp::Cancelled);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(GaveUp::Time);
        }
        let is_used_up =
            |asks: &Arc<AtomicU64>| asks.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err();
        if self.asks.as_ref().is_some_and(is_used_up) {
            return Err(GaveUp::Asks);
        }
        if self.memory.as_ref().is_some_and(|memory| memory.is_exceeded()) { Err(self.no_memory()) } else { Ok(()) }
    }

    /// Checks that there is room for a table of so many bytes. Without a limit they must fit into what the system has
    /// left. To ask for little is cheap.
    pub fn check_room(&self, bytes: usize) -> Result<(), GaveUp> {
        if self.has_room(bytes) { Ok(()) } else { Err(self.no_memory()) }
    }

    /// Checks that there is room for so many clocks of so many entries, which take so many bytes.
    pub fn check_room_for_clocks(&self, clocks: usize, entries: usize, bytes: usize) -> Result<(), GaveUp> {
        if self.has_room(bytes) { Ok(()) } else { Err(GaveUp::Clocks { clocks, entries, bytes, limit: self.most() }) }
    }

    fn has_room(&self, bytes: usize) -> bool {
        match &self.memory {
            None => bytes < SMALL || ram::left().is_none_or(|left| bytes <= left),
            Some(memory) if bytes < LITTLE => !memory.is_exceeded(),
            Some(memory) => memory.allows(bytes),
        }
    }

    /// How many bytes may still be taken: what the system has left, or what is left of the limit if that is less.
    /// `None` if nobody says.
    pub fn left(&self) -> Option<usize> {
        let of_limit = self.memory.as_ref().map(|memory| memory.limit.saturating_sub(ram::resident()));
        [of_limit, ram::left()].into_iter().flatten().min()
    }

    /// How many bytes the process may take in all: the limit, or what the system would give.
    fn most(&self) -> usize {
        let given = || ram::left().map_or(usize::MAX, |left| left.saturating_add(ram::resident()));
        self.memory.as_ref().map_or_else(given, |memory| memory.limit)
    }

    fn no_memory(&self) -> GaveUp {
        GaveUp::Memory { limit: self.most() }
    }
}

/// Cancels work, from another thread or from the handler of a signal. A clone is the same token: it can be given away,
/// and whoever has it can cancel all that runs on [budgets](Budget::cancel) with it. That cannot be undone.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A token that nobody has cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells all who ask to give up soon.
    pub fn cancel(&self) {
        self.0.store(true, Relaxed);
    }

    /// Whether somebody has cancelled it.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// A limit of memory, and until when it was found to be kept.
#[derive(Debug)]
struct Memory {
    limit: usize,
    begun: Instant,
    /// Until this moment, in nanoseconds after `begun`, the system is not asked again.
    good_until: AtomicU64,
}

impl Memory {
    /// Whether the process takes more memory than it may. That it does not is remembered for a while. That it does is
    /// not: whoever hears it gives memory back, and the next to ask may go on.
    fn is_exceeded(&self) -> bool {
        let now = self.begun.elapsed().as_nanos() as u64;
        let good_until = self.good_until.load(Relaxed);
        let next = now + INTERVAL.as_nanos() as u64;
        // Of several threads at once, one asks.
        if now < good_until || self.good_until.compare_exchange(good_until, next, Relaxed, Relaxed).is_err() {
            return false;
        }
        let is_exceeded = !self.allows(0);
        if is_exceeded {
            self.good_until.store(0, Relaxed);
        }
        is_exceeded
    }

    /// Whether the limit allows so many bytes more. The system is asked.
    fn allows(&self, bytes: usize) -> bool {
        ram::resident().saturating_add(bytes) <= self.limit
    }
}

/// How many bytes a table takes that grows soon: it has room for `capacity` entries, and has `length`. While it grows,
/// the old table is there as well, so one has to ask for [room](Budget::check_room) before. 0 if the table does not
/// grow soon.
pub const fn growth(length: usize, capacity: usize, bytes_of_entry: usize) -> usize {
    if length < capacity - capacity / 8 { 0 } else { (2 * capacity).saturating_mul(bytes_of_entry) }
}
