//! The clock that stamps the beginning and the end of an operation.
//!
//! Guarantee, for any two threads: if a stamp of [`Clock::after`] is smaller than a stamp of [`Clock::before`], then
//! all that the first thread did before its stamp is visible to the second thread after its own stamp.
//!
//! On x86-64 the clock is the time-stamp counter, under two conditions. The counter must be invariant: it ticks at one
//! rate in all states of the processor. And the operating system must itself use it as its clock, which it does only if
//! the counters of all cores agree. The manual of the processor says: an `lfence` after `rdtsc` keeps later
//! instructions from beginning before it; `rdtscp` waits until all earlier instructions are done; and a full fence
//! makes their stores visible to other cores. (Without the full fence, a store could still wait in its core when the
//! operation has its end stamp.) Elsewhere the clock is [`Instant`], between fences.

use std::sync::OnceLock;
use std::sync::atomic::{Ordering, fence};
use std::time::Instant;

/// A clock that all threads of the program share.
#[derive(Copy, Clone, Debug)]
pub struct Clock {
    source: Source,
}

#[derive(Copy, Clone, Debug)]
enum Source {
    #[cfg(target_arch = "x86_64")]
    Counter,
    Instant(Instant),
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock {
    /// The best clock of this machine.
    pub fn new() -> Self {
        #[cfg(target_arch = "x86_64")]
        if counter::is_trusted() {
            return Self { source: Source::Counter };
        }
        Self::instant()
    }

    /// The clock of the operating system.
    pub fn instant() -> Self {
        static START: OnceLock<Instant> = OnceLock::new();
        Self { source: Source::Instant(*START.get_or_init(Instant::now)) }
    }

    /// The name of the source that the clock reads.
    pub fn name(&self) -> &'static str {
        match self.source {
            #[cfg(target_arch = "x86_64")]
            Source::Counter => "time-stamp counter",
            Source::Instant(_) => "operating system",
        }
    }

    /// The time, taken before all that follows.
    #[inline]
    pub fn before(&self) -> u64 {
        match self.source {
            #[cfg(target_arch = "x86_64")]
            Source::Counter => counter::before(),
            Source::Instant(start) => {
                let time = nanoseconds(start);
                fence(Ordering::SeqCst);
                time
            }
        }
    }

    /// The time, taken after all that precedes and before all that follows.
    #[inline]
    pub fn between(&self) -> u64 {
        match self.source {
            #[cfg(target_arch = "x86_64")]
            Source::Counter => counter::between(),
            Source::Instant(start) => {
                fence(Ordering::SeqCst);
                let time = nanoseconds(start);
                fence(Ordering::SeqCst);
                time
            }
        }
    }

    /// The time, taken after all that precedes.
    #[inline]
    pub fn after(&self) -> u64 {
        match self.source {
            #[cfg(target_arch = "x86_64")]
            Source::Counter => counter::after(),
            Source::Instant(start) => {
                fence(Ordering::SeqCst);
                nanoseconds(start)
            }
        }
    }
}

/// The moment from which a recorder counts the time.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Epoch {
    clock: Clock,
    stamp: u64,
    moment: Instant,
}

impl Epoch {
    /// An epoch that begins now.
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, stamp: clock.between(), moment: Instant::now() }
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// A function from stamps to nanoseconds since the epoch. The length of a tick is measured from the epoch until
    /// now.
    pub(crate) fn scale(&self) -> impl Fn(u64) -> i64 + use<> {
        let ticks = self.clock.between().saturating_sub(self.stamp).max(1);
        let tick = match self.clock.source {
            #[cfg(target_arch = "x86_64")]
            Source::Counter => self.moment.elapsed().as_nanos() as f64 / ticks as f64,
            Source::Instant(_) => 1.0,
        };
        let first = self.stamp;
        move |stamp| (stamp.saturating_sub(first) as f64 * tick) as i64
    }
}

fn nanoseconds(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX - 1)
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod counter {
    use std::arch::x86_64::{__cpuid, __get_cpuid_max, __rdtscp, _mm_lfence, _rdtsc};
    use std::sync::atomic::{Ordering, fence};

    /// Whether the conditions in the header of the module hold.
    pub(super) fn is_trusted() -> bool {
        const FEATURES: u32 = 0x8000_0001;
        const RDTSCP: u32 = 1 << 27;
        const ADVANCED_POWER_MANAGEMENT: u32 = 0x8000_0007;
        const INVARIANT: u32 = 1 << 8;
        // SAFETY: every x86-64 processor has `cpuid`. (Newer compilers know that.)
        #[allow(unused_unsafe)]
        let is_invariant = unsafe {
            __get_cpuid_max(0x8000_0000).0 >= ADVANCED_POWER_MANAGEMENT
                && __cpuid(ADVANCED_POWER_MANAGEMENT).edx & INVARIANT != 0
                && __cpuid(FEATURES).edx & RDTSCP != 0
        };
        let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
        is_invariant && source.is_ok_and(|source| source.trim() == "tsc")
    }

    #[inline]
    pub(super) fn before() -> u64 {
        // SAFETY: every x86-64 processor has `rdtsc` and `lfence`.
        unsafe {
            let time = _rdtsc();
            _mm_lfence();
            time
        }
    }

    #[inline]
    pub(super) fn between() -> u64 {
        let time = after();
        // SAFETY: every x86-64 processor has `lfence`.
        unsafe { _mm_lfence() };
        time
    }

    #[inline]
    pub(super) fn after() -> u64 {
        fence(Ordering::SeqCst);
        let mut processor = 0;
        // SAFETY: the counter is used only if `rdtscp` is there.
        unsafe { __rdtscp(&raw mut processor) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    /// Two threads pass a stamp back and forth. It must not get smaller.
    #[test]
    fn time_does_not_run_backwards_between_threads() {
        for clock in [Clock::new(), Clock::instant()] {
            let ball = AtomicU64::new(0);
            let play = |player: u64| {
                let mut is_backwards = false;
                for _ in 0..1000 {
                    let seen = loop {
                        let seen = ball.load(Ordering::Acquire);
                        if seen & 1 == player {
                            break seen >> 1;
                        }
                        std::thread::yield_now();
                    };
                    is_backwards |= clock.between() < seen;
                    ball.store(clock.after() << 1 | (1 - player), Ordering::Release);
                }
                is_backwards
            };
            std::thread::scope(|scope| {
                let play = &play;
                let players = [0, 1].map(|player| scope.spawn(move || play(player)));
                for player in players {
                    assert!(!player.join().expect("no panic"), "the clock of the {}", clock.name());
                }
            });
        }
    }
}
