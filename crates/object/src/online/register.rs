//! Register, read and written only, each value written once: exactly, by the zones of [`crate::fast::register`].
//!
//! For a value, `f` is the first return and `s` the last call among its write and its reads. There is no linearization
//! exactly if a read returns a value that was not written yet, or two values have `f(a) < s(b)` and `f(b) < s(a)`.
//! As events come in the order of time:
//! - `f` is set once, to now, at the first return on a value. That alone is no violation, since every `s` is before now;
//! - `s` grows only when a read of the value returns, to the call `c` of that read. That is a violation exactly if another
//!   value b has `f(b) < c` and `s(b) > f(a)`. So what matters of the others is the largest `s` among those with `f` before c:
//!   each open read, and the read that is still to come, keeps the two values with `f` before its call that have the largest
//!   `s` (two, for one may be `a` itself). A value that returns for the first time concerns only the read to come; one
//!   whose `s` grows, the reads that were called after its `f`.
//!
//! A value can be forgotten once some other has `f` before the calls of all open reads and `s` after its own `f`: no read that
//! returns from now on can have read it. If it is written again after that, it is as good as another value: so values need
//! to be unique only while they could be read. If one is written again before, the monitor gives up.
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
/// Not a write, either.
const FORGOTTEN: u64 = u64::MAX - 1;
/// The read that is still to come: after the last and before the first of those that are open.
const TO_COME: u32 = 0;
/// So many values are not worth the time to forget some.
const FEW: usize = 32;

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

/// The two values of some that were called last, the later one first: when that was, and their places.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Latest([(u64, u32); 2]);

impl Latest {
    /// A value is one of them, called last at that moment.
    #[inline]
    fn add(&mut self, last_call: u64, at: u32) {
        // Any of the outcomes is as likely as another, so none of them is a branch.
        let [first, second] = self.0;
        let is_first = last_call >= first.0;
        let is_second = (at != first.1) & (last_call >= second.0);
        let new = (last_call, at);
        let below = select_unpredictable(is_second, new, second);
        let shifted = select_unpredictable(at == first.1, second, first);
        self.0 = [select_unpredictable(is_first, new, first), select_unpredictable(is_first, shifted, below)];
    }

    /// The latest that is not the value of that place.
    #[inline]
    fn other_than(&self, at: u32) -> (u64, u32) {
        let [first, second] = self.0;
        select_unpredictable(first.1 == at, second, first)
    }
}

/// A read that is open: a link of the ring of those, in the order of their calls.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Read {
    called: u64,
    previous: u32,
    next: u32,
    /// Of the values whose first return was before it was called.
    latest: Latest,
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
        let mut values = Values::new(Zone::new(FORGOTTEN, NONE, 0));
        let initial = values.insert(initial.bits(), Zone::new(NONE, 0, 0)).unwrap_or_default();
        let mut reads = Places::new();
        let latest = Latest([(0, initial), (0, 0)]);
        reads.insert(Read { called: NONE, previous: TO_COME, next: TO_COME, latest });
        Self { values, limit: FEW, reads }
    }

    #[inline]
    pub(super) fn call(&mut self, open: &mut Open) -> Result<(), Box<Stop>> {
        open.place = match open.method {
            Method::Write => self.write(open)?,
            Method::Read => {
                let Read { previous, latest, .. } = self.reads[TO_COME];
                let at = self.reads.insert(Read { called: open.called, previous, next: TO_COME, latest });
                self.reads[previous].next = at;
                self.reads[TO_COME].previous = at;
                at
            }
            _ => return Err(Stop::gave_up("the exact monitor of a register knows reads and writes only")),
        };
        Ok(())
    }

    #[inline]
    fn write(&mut self, open: &Open) -> Result<u32, Box<Stop>> {
        if self.values.len() >= self.limit {
            self.forget();
        }
        let (value, zone) = (open.argument.bits(), Zone::new(open.number, NONE, open.called));
        if let Some(at) = self.values.insert(value, zone) {
            return Ok(at);
        }
        self.forget();
        self.values.insert(value, zone).ok_or_else(|| Stop::gave_up(NOT_UNIQUE))
    }

    #[inline]
    pub(super) fn return_(&mut self, open: &Open, result: Value, now: u64) -> Result<(), Box<Stop>> {
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
    #[inline]
    fn returns(&mut self, open: &Open, at: u32, read: u32, now: u64) -> Result<(), Box<Stop>> {
        let mut zone = self.values[at];
        let is_first = zone.first_return == NONE;
        let is_last = open.called > zone.last_call;
        zone.first_return = zone.first_return.min(now);
        zone.last_call = zone.last_call.max(open.called);
        zone.returned = select_unpredictable(is_first, open.number, zone.returned);
        zone.called = select_unpredictable(is_last, open.number, zone.called);
        let (other_call, other) = self.reads[read].latest.other_than(at);
        if is_last & (other_call > zone.first_return) {
            let evidence = zone.evidence().zip(self.values[other].evidence());
            return Err(Stop::violation(evidence.map(|(one, other)| Core::Zones([one, other]))));
        }
        self.values[at] = zone;
        self.reads[TO_COME].latest.add(zone.last_call, at);
        let mut later = self.reads[TO_COME].previous;
        while self.reads[later].called > zone.first_return && later != TO_COME {
            self.reads[later].latest.add(zone.last_call, at);
            later = self.reads[later].previous;
        }
        Ok(())
    }

    /// A read is no longer open.
    #[inline]
    fn close(&mut self, open: &Open) {
        let Read { previous, next, .. } = self.reads[open.place];
        self.reads[previous].next = next;
        self.reads[next].previous = previous;
        self.reads.remove(open.place);
    }

    /// Forgets the values that no read can return any more, but not those that a read keeps.
    fn forget(&mut self) {
        let oldest = self.reads[self.reads[TO_COME].next].latest;
        let mut read = TO_COME;
        loop {
            let Read { latest, next, .. } = self.reads[read];
            latest.0.into_iter().for_each(|(_, at)| self.values[at].is_kept = true);
            read = next;
            if read == TO_COME {
                break;
            }
        }
        for at in self.values.places() {
            let zone = &mut self.values[at];
            let is_kept = std::mem::take(&mut zone.is_kept);
            let is_over = oldest.other_than(at).0 > zone.first_return;
            if is_over && !is_kept && zone.write != FORGOTTEN {
                self.drop_value(at);
            }
        }
        self.limit = FEW + 2 * self.values.len();
    }

    fn drop_value(&mut self, at: u32) {
        self.values[at].write = FORGOTTEN;
        self.values.remove(at);
    }

    pub(super) fn fail(&mut self, open: &Open) -> Result<(), Box<Stop>> {
        if open.method != Method::Write {
            self.close(open);
            return Ok(());
        }
        let zone = &self.values[open.place];
        if zone.write != open.number || zone.first_return != NONE {
            // Somebody read what was not written.
            return Err(Stop::hindsight());
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
        self.values.len() + self.reads.len() - 1
    }
}
