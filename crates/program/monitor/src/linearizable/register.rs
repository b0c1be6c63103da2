//! The exact monitor of a register with reads and writes, by zones (see `objects/register/fast.rs` in the crate
//! `object`). A value must be unique while it can be read.
//!
//! For a value, let `f` be the first return and `s` the last call among its write and its reads. There is no
//! linearization exactly if a read returns a value that was not written yet, or two values a and b have `f(a) < s(b)`
//! and `f(b) < s(a)`. Events come in the order of time, so:
//! - `f` is set once, at the first return on a value, to that moment. This alone is no violation, since every `s` is
//!   before that moment.
//! - `s(a)` grows only when a read of a returns, to the call `c` of that read. This is a violation exactly if another
//!   value b has `f(b) < c` and `s(b) > f(a)`.
//!
//! So of the other values only the largest `s` matters, among the values with `f` before c. Each open read keeps the
//! two values with the largest `s` among the values with `f` before its call. (It keeps two, since one of them may be a
//! itself.) The next read, which has not been called yet, keeps two values, too. There are two kinds of change:
//! - A value gets its `f`. This concerns the next read only.
//! - The `s` of a value grows. This concerns the reads that were called after its `f`, the latest first. If a read
//!   keeps the value already, then so does every earlier read that it concerns, since that read has fewer values to
//!   choose from.
//!
//! A value can be forgotten once another value has an `f` before the calls of all open reads and an `s` after the `f`
//! of the first: then no read that returns later can return the first value. If a forgotten value is written again, it
//! counts as a new value. So values need to be unique only while they can be read. If a value is written again earlier,
//! the monitor gives up.
//!
//! Memory: the open reads, and the values that an open or later read could return, which were written since the first
//! open read was called. Values are forgotten when there are twice as many as were left the last time.

use std::hint::select_unpredictable;

use history::{Method, Value};
use model::object::{Core, Zone as Evidence};
use serde::{Deserialize, Serialize};

use super::places::{Places, Values};
use super::{NOT_UNIQUE, OpenOperation, Stopped, operation};

/// No operation, or no moment.
const NONE: u64 = u64::MAX;
/// The place that holds no value.
const NO_VALUE: u32 = 0;
/// The next read, which has not been called. In the ring of the open reads, it is after the last and before the first.
const NEXT_READ: u32 = 0;
/// Up to this many values, none is forgotten: it would not be worth the time.
const KEPT_VALUES: usize = 32;

/// The zone of a value.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Zone {
    /// The moment of the first return; [`NONE`] if there was none.
    first_return: u64,
    /// The moment of the last call.
    last_call: u64,
    /// The numbers of three operations: the write, the one that returned first, and the one that was called last.
    write: u64,
    returned: u64,
    called: u64,
    /// Whether a read keeps the value. It is set only while values are forgotten.
    is_kept: bool,
}

impl Zone {
    /// The zone of no value: it conflicts with no zone, and nobody has written it.
    const NO_VALUE: Self = Self::new(NONE - 1, NONE, 0);

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

/// An open read. The open reads form a ring, in the order of their calls.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OpenRead {
    called: u64,
    previous: u32,
    next: u32,
    /// The places of two values: those with the last calls, among the values whose first return was before this read's
    /// call.
    latest: [u32; 2],
}

/// The reason to give up if a register is swapped.
const ONLY_READS_AND_WRITES: &str =
    "the exact monitor of a register supports reads and writes only; `--algorithm search` supports the rest";

/// The monitor of one register. See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Register {
    values: Values<Zone>,
    /// How many values there may be before some are forgotten.
    limit: usize,
    reads: Places<OpenRead>,
}

impl Register {
    pub(super) fn new(initial: Value) -> Self {
        let mut values = Values::new(Zone::NO_VALUE);
        let initial = values.insert(initial.bits()).unwrap_or(NO_VALUE);
        values[initial] = Zone::new(NONE, 0, 0);
        let next_read = OpenRead { called: NONE, previous: NEXT_READ, next: NEXT_READ, latest: [initial, NO_VALUE] };
        Self { values, limit: KEPT_VALUES, reads: Places::new(next_read) }
    }

    #[inline]
    pub(super) fn call(&mut self, open: &mut OpenOperation) -> Result<(), Stopped> {
        open.place = match open.method {
            Method::Write => self.write(open)?,
            Method::Read => {
                let OpenRead { previous, latest, .. } = self.reads[NEXT_READ];
                let at = self.reads.take();
                self.reads[at] = OpenRead { called: open.called, previous, next: NEXT_READ, latest };
                self.reads[previous].next = at;
                self.reads[NEXT_READ].previous = at;
                at
            }
            _ => return Err(Stopped::gave_up(ONLY_READS_AND_WRITES)),
        };
        Ok(())
    }

    #[inline]
    fn write(&mut self, open: &OpenOperation) -> Result<u32, Stopped> {
        if self.values.len() >= self.limit {
            self.forget();
        }
        let value = open.argument.bits();
        let at = self.values.insert(value).or_else(|| {
            self.forget();
            self.values.insert(value)
        });
        let at = at.ok_or_else(|| Stopped::gave_up(NOT_UNIQUE))?;
        self.values[at] = Zone::new(open.number, NONE, open.called);
        Ok(at)
    }

    #[inline]
    pub(super) fn return_(&mut self, open: &OpenOperation, result: Value, now: u64) -> Result<(), Stopped> {
        if open.method == Method::Write {
            // The value may have been read, and even forgotten, before its write returned.
            let is_there = self.values[open.place].write == open.number;
            return if is_there { self.returns(open, open.place, NEXT_READ, now) } else { Ok(()) };
        }
        let verdict = if result.is_none() {
            Ok(())
        } else if let Some(at) = self.values.find(result.bits()) {
            self.returns(open, at, open.place, now)
        } else {
            Err(Stopped::stuck(open))
        };
        self.close(open);
        verdict
    }

    /// An operation on a value returns: its write, or the given read.
    #[allow(clippy::inline_always)] // a call would be a good part of what an event costs
    #[inline(always)]
    fn returns(&mut self, open: &OpenOperation, at: u32, read: u32, now: u64) -> Result<(), Stopped> {
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
        let mut is_kept = self.keep(NEXT_READ, at);
        let mut earlier = self.reads[NEXT_READ].previous;
        while !is_kept & (earlier != NEXT_READ) & (self.reads[earlier].called > first_return) {
            is_kept = self.keep(earlier, at);
            earlier = self.reads[earlier].previous;
        }
        Ok(())
    }

    /// The violation of a read of a value whose zone conflicts with the zone of another value.
    #[cold]
    fn overlap(&self, open: &OpenOperation, at: u32, other: u32) -> Stopped {
        let zone = Zone { called: open.number, ..self.values[at] };
        let evidence = zone.evidence().zip(self.values[other].evidence());
        Stopped::violation(evidence.map(|(one, other)| Core::Zones([one, other])))
    }

    /// Of the values that a read keeps, other than this one, the one with the last call.
    #[inline]
    fn latest_other(&self, read: u32, at: u32) -> u32 {
        let [one, other] = self.reads[read].latest.map(|kept| select_unpredictable(kept == at, NO_VALUE, kept));
        select_unpredictable(self.values[one].last_call < self.values[other].last_call, other, one)
    }

    /// Lets a read keep a value, if its last call is later than that of a value that the read keeps. Returns whether
    /// the read kept the value before.
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

    /// Closes a read.
    #[inline]
    fn close(&mut self, open: &OpenOperation) {
        let OpenRead { previous, next, .. } = self.reads[open.place];
        self.reads[previous].next = next;
        self.reads[next].previous = previous;
        self.reads.release(open.place);
    }

    /// Forgets the values that no read can return any more. Values that a read keeps stay.
    fn forget(&mut self) {
        let mut read = NEXT_READ;
        loop {
            let OpenRead { latest, next, .. } = self.reads[read];
            for at in latest {
                self.values[at].is_kept = true;
            }
            read = next;
            if read == NEXT_READ {
                break;
            }
        }
        let oldest = self.reads[NEXT_READ].next;
        let last_call = self.values[self.latest_other(oldest, NO_VALUE)].last_call;
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
        (zone.write, zone.first_return) = (Zone::NO_VALUE.write, NONE);
        self.values.remove(at);
    }

    pub(super) fn fail(&mut self, open: &OpenOperation) -> Result<(), Stopped> {
        if open.method != Method::Write {
            self.close(open);
            return Ok(());
        }
        let zone = &self.values[open.place];
        if zone.write != open.number || zone.first_return != NONE {
            // Somebody read a value that was not written.
            return Err(Stopped::did_not_happen());
        }
        self.drop_value(open.place);
        Ok(())
    }

    /// The operation will never end. A read without a result says nothing.
    pub(super) fn abandon(&mut self, open: &OpenOperation) {
        if open.method == Method::Read {
            self.close(open);
        }
    }

    pub(super) fn size(&self) -> usize {
        self.values.len() + self.reads.len()
    }
}
