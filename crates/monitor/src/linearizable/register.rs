//! Register, read and written only, each value written once: exactly, by the zones of [`crate::fast::register`].
//!
//! For a value, `f` is the first return and `s` the last call among its write and its reads. There is no linearization
//! exactly if a read returns a value that was not written yet, or two values have `f(a) < s(b)` and `f(b) < s(a)`.
//! As events come in the order of time:
//! - `f` is set once, to now, at the first return on a value. That alone is no violation, since every `s` is before
//!   now;
//! - `s` grows only when a read of the value returns, to the call `c` of that read. That is a violation exactly if
//!   another value b has `f(b) < c` and `s(b) > f(a)`. So what matters of the others is the largest `s` among those
//!   with `f` before c: each open read, and the read that is still to come, keeps the two values with `f` before its
//!   call that have the largest `s` (two, for one may be `a` itself). A value that returns for the first time concerns
//!   only the read to come. One whose `s` grows concerns the reads that were called after its `f`; but a read that
//!   keeps it goes on to do so, and so do those that were called before that read: they have fewer values to choose
//!   from.
//!
//! A value can be forgotten once some other has `f` before the calls of all open reads and `s` after its own `f`: no
//! read that returns from now on can have read it. If it is written again after that, it is as good as another value:
//! so values need to be unique only while they could be read. If one is written again before, the monitor gives up.
//!
//! Memory: the reads that are open, and the values that they, or reads still to come, could return: those written since
//! the first of them was called. Values are forgotten when there are twice as many as were left the last time.

use std::hint::select_unpredictable;

use certificate::object::{Core, Zone as Evidence};
use history::{Method, Value};
use serde::{Deserialize, Serialize};

use super::places::{Places, Values};
use super::{NOT_UNIQUE, Open, Stop, operation};

/// No operation; no moment.
const NONE: u64 = u64::MAX;
/// The place of no value.
const NOBODY: u32 = 0;
/// The read that is still to come: after the last and before the first of those that are open.
const TO_COME: u32 = 0;
/// Up to this number of values, none is forgotten: it would not be worth the time.
const KEPT_VALUES: usize = 32;

/// All that is known of a value.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Zone {
    /// The moment of the first return; none if there was none.
    first_return: u64,
    /// The moment of the last call.
    last_call: u64,
    /// The numbers of the write, of the one that returned first, and of the one that was called last.
    write: u64,
    returned: u64,
    called: u64,
    /// Whether a read keeps it; only while some are forgotten.
    is_kept: bool,
}

impl Zone {
    /// That of no value: it is in nobody's way, and nobody has written it.
    const NOBODY: Self = Self::new(NONE - 1, NONE, 0);

    const fn new(write: u64, first_return: u64, last_call: u64) -> Self {
        Self { first_return, last_call, write, returned: NONE, called: write, is_kept: false }
    }

    fn evidence(&self) -> Option<Evidence> {
        let optional = |number| if number == NONE { Some(None) } else { operation(number).map(Some) };
        Some(Evidence {
            write: optional(self.write)?,
            returned: optional(self.returned)?,
            called: operation(self.called)?,
        })
    }
}

/// A read that is open: a link of the ring of those, in the order of their calls.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Read {
    called: u64,
    previous: u32,
    next: u32,
    /// The places of the two values that were called last, of those whose first return was before it was called.
    latest: [u32; 2],
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Register {
    values: Values<Zone>,
    /// How many values there may be before some are forgotten.
    limit: usize,
    reads: Places<Read>,
}

impl Register {
    pub(super) fn new(initial: Value) -> Self {
        let mut values = Values::new(Zone::NOBODY);
        let initial = values.insert(initial.bits()).unwrap_or(NOBODY);
        values[initial] = Zone::new(NONE, 0, 0);
        let to_come = Read { called: NONE, previous: TO_COME, next: TO_COME, latest: [initial, NOBODY] };
        Self { values, limit: KEPT_VALUES, reads: Places::new(to_come) }
    }

    #[inline]
    pub(super) fn call(&mut self, open: &mut Open) -> Result<(), Stop> {
        open.place = match open.method {
            Method::Write => self.write(open)?,
            Method::Read => {
                let Read { previous, latest, .. } = self.reads[TO_COME];
                let at = self.reads.take();
                self.reads[at] = Read { called: open.called, previous, next: TO_COME, latest };
                self.reads[previous].next = at;
                self.reads[TO_COME].previous = at;
                at
            }
            _ => return Err(Stop::gave_up("the exact monitor of a register knows reads and writes only")),
        };
        Ok(())
    }

    #[inline]
    fn write(&mut self, open: &Open) -> Result<u32, Stop> {
        if self.values.len() >= self.limit {
            self.forget();
        }
        let value = open.argument.bits();
        let at = self.values.insert(value).or_else(|| {
            self.forget();
            self.values.insert(value)
        });
        let at = at.ok_or_else(|| Stop::gave_up(NOT_UNIQUE))?;
        self.values[at] = Zone::new(open.number, NONE, open.called);
        Ok(at)
    }

    #[inline]
    pub(super) fn return_(&mut self, open: &Open, result: Value, now: u64) -> Result<(), Stop> {
        if open.method == Method::Write {
            // It may have been read, and even forgotten, before it returned.
            let is_there = self.values[open.place].write == open.number;
            return if is_there { self.returns(open, open.place, TO_COME, now) } else { Ok(()) };
        }
        let verdict = if result.is_none() {
            Ok(())
        } else if let Some(at) = self.values.find(result.bits()) {
            self.returns(open, at, open.place, now)
        } else {
            Err(Stop::stuck(open))
        };
        self.close(open);
        verdict
    }

    /// An operation on a value returns: its write, or that read.
    #[allow(clippy::inline_always)] // a call would be a good part of what an event costs
    #[inline(always)]
    fn returns(&mut self, open: &Open, at: u32, read: u32, now: u64) -> Result<(), Stop> {
        let other = self.latest_other(read, at);
        let other_call = self.values[other].last_call;
        let zone = &mut self.values[at];
        let is_first = zone.first_return == NONE;
        let is_last = open.called > zone.last_call;
        let first_return = zone.first_return.min(now);
        if select_unpredictable(is_last, other_call, 0) > first_return {
            return Err(self.overlap(open, at, other));
        }
        zone.first_return = first_return;
        zone.last_call = zone.last_call.max(open.called);
        zone.returned = select_unpredictable(is_first, open.number, zone.returned);
        zone.called = select_unpredictable(is_last, open.number, zone.called);
        let mut is_kept = self.keep(TO_COME, at);
        let mut earlier = self.reads[TO_COME].previous;
        while !is_kept & (earlier != TO_COME) & (self.reads[earlier].called > first_return) {
            is_kept = self.keep(earlier, at);
            earlier = self.reads[earlier].previous;
        }
        Ok(())
    }

    /// The violation of a read of a value that another one is in the way of.
    #[cold]
    fn overlap(&self, open: &Open, at: u32, other: u32) -> Stop {
        let zone = Zone { called: open.number, ..self.values[at] };
        let evidence = zone.evidence().zip(self.values[other].evidence());
        Stop::violation(evidence.map(|(one, other)| Core::Zones([one, other])))
    }

    /// Of the values that a read keeps, but for this one, the one that was called last.
    #[inline]
    fn latest_other(&self, read: u32, at: u32) -> u32 {
        let [one, other] = self.reads[read].latest.map(|kept| select_unpredictable(kept == at, NOBODY, kept));
        select_unpredictable(self.values[one].last_call < self.values[other].last_call, other, one)
    }

    /// A read keeps a value, if that was called later than one of those that it keeps; whether it kept it before.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn keep(&mut self, read: u32, at: u32) -> bool {
        let last_call = |at: u32| self.values[at].last_call;
        let [one, other] = self.reads[read].latest;
        let is_later = last_call(one) < last_call(other);
        let first = select_unpredictable(is_later, other, one);
        let second = select_unpredictable(is_later, one, other);
        let is_second = (first != at) & (last_call(second) < last_call(at));
        self.reads[read].latest = [first, select_unpredictable(is_second, at, second)];
        (one == at) | (other == at)
    }

    /// A read is no longer open.
    #[inline]
    fn close(&mut self, open: &Open) {
        let Read { previous, next, .. } = self.reads[open.place];
        self.reads[previous].next = next;
        self.reads[next].previous = previous;
        self.reads.release(open.place);
    }

    /// Forgets the values that no read can return any more, but not those that a read keeps.
    fn forget(&mut self) {
        let mut read = TO_COME;
        loop {
            let Read { latest, next, .. } = self.reads[read];
            for at in latest {
                self.values[at].is_kept = true;
            }
            read = next;
            if read == TO_COME {
                break;
            }
        }
        let oldest = self.reads[TO_COME].next;
        let last_call = self.values[self.latest_other(oldest, NOBODY)].last_call;
        for at in self.values.places() {
            let zone = &mut self.values[at];
            if !std::mem::take(&mut zone.is_kept) & (zone.first_return < last_call) {
                self.drop_value(at);
            }
        }
        self.limit = KEPT_VALUES + 2 * self.values.len();
    }

    #[inline]
    fn drop_value(&mut self, at: u32) {
        let zone = &mut self.values[at];
        (zone.write, zone.first_return) = (Zone::NOBODY.write, NONE);
        self.values.remove(at);
    }

    pub(super) fn fail(&mut self, open: &Open) -> Result<(), Stop> {
        if open.method != Method::Write {
            self.close(open);
            return Ok(());
        }
        let zone = &self.values[open.place];
        if zone.write != open.number || zone.first_return != NONE {
            // Somebody read what was not written.
            return Err(Stop::did_not_happen());
        }
        self.drop_value(open.place);
        Ok(())
    }

    /// Nobody will hear of it again; a read that nobody knows the result of says nothing.
    pub(super) fn abandon(&mut self, open: &Open) {
        if open.method == Method::Read {
            self.close(open);
        }
    }

    pub(super) fn size(&self) -> usize {
        self.values.len() + self.reads.len()
    }
}
