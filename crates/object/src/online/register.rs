//! Register, read and written only, each value written once: exactly, by the zones of [`crate::fast::register`].
//!
//! For a value, `f` is the first return and `s` the last call among its write and its reads. There is no linearization
//! exactly if a read returns a value that was not written yet, or two values have `f(a) < s(b)` and `f(b) < s(a)`.
//! As events come in the order of time:
//! - `f` is set once, to now, at the first return on a value. That alone is no violation, since every `s` is before now;
//! - `s` grows only when a read of the value returns, to the call `c` of that read. That is a violation exactly if another
//!   value b has `f(b) < c` and `s(b) > f(a)`. So what matters of the others is the largest `s` among those with `f` before c,
//!   for the calls c of the reads that are open, and for now: the others are kept in groups, by the open reads between
//!   whose calls their `f` is, and of each group only the two with the largest `s` (two, for one may be `a` itself).
//!
//! A value is forgotten once some other has `f` before the calls of all open reads and `s` after its own `f`: no read that
//! returns from now on can have read it. If it is written again after that, it is as good as another value: so values need
//! to be unique only while they could be read. If one is written again before, the monitor gives up.
//!
//! Memory: the reads that are open, and the values that they, or reads still to come, could return: those written since
//! the first of them was called.

use std::collections::VecDeque;

use certificate::object::{Core, Zone as Evidence};
use history::{Method, Value};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{NOT_UNIQUE, Open, Stop, operation};

/// No operation; no moment.
const NONE: u64 = u64::MAX;

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
}

impl Zone {
    fn evidence(&self) -> Option<Evidence> {
        let optional = |number| if number == NONE { Some(None) } else { operation(number).map(Some) };
        Some(Evidence {
            write: optional(self.write)?,
            returned: optional(self.returned)?,
            called: operation(self.called)?,
        })
    }
}

/// A value that can still be read. Free slots have no write.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Slot {
    value: u64,
    zone: Zone,
}

/// The two values of a group that were called last, the later one first.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Latest([Option<Zone>; 2]);

impl Latest {
    fn add(&mut self, zone: Zone) {
        let [first, second] = &mut self.0;
        match first {
            Some(known) if known.write == zone.write => *known = zone,
            Some(known) if known.last_call > zone.last_call => {
                if second.is_none_or(|other| other.write == zone.write || other.last_call < zone.last_call) {
                    *second = Some(zone);
                }
            }
            _ => {
                *second = first.replace(zone);
            }
        }
    }

    fn merge(&mut self, other: Self) {
        other.0.into_iter().flatten().for_each(|zone| self.add(zone));
    }

    /// The latest that is not the value of that write.
    fn other_than(&self, write: u64) -> Option<Zone> {
        self.0.into_iter().flatten().find(|zone| zone.write != write)
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Register {
    /// The values, each at its place in `slots`.
    by_value: FxHashMap<u64, u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// The values by their first returns: the moment, and the slot.
    by_return: VecDeque<(u64, u32)>,
    /// The value that would be forgotten, were it not the one that outlives the others.
    current: Option<u32>,
    /// The calls of the reads that are open, sorted.
    open_reads: Vec<u64>,
    /// The values whose first return is before the call of each open read and after that of the one before it; and those
    /// after all of them.
    groups: Vec<Latest>,
}

impl Register {
    pub(super) fn new(initial: Value) -> Self {
        let zone = Zone { first_return: 0, last_call: 0, write: NONE, returned: NONE, called: NONE };
        let mut groups = Latest::default();
        groups.add(zone);
        Self {
            by_value: FxHashMap::from_iter([(initial.bits(), 0)]),
            slots: vec![Slot { value: initial.bits(), zone }],
            free: Vec::new(),
            by_return: VecDeque::from([(0, 0)]),
            current: None,
            open_reads: Vec::new(),
            groups: vec![groups],
        }
    }

    /// Where it keeps the value, if it is a write.
    pub(super) fn call(&mut self, open: &Open) -> Result<u32, Stop> {
        match open.method {
            Method::Write => {
                let number = open.number;
                let zone =
                    Zone { first_return: NONE, last_call: open.called, write: number, returned: NONE, called: number };
                let slot = Slot { value: open.argument.bits(), zone };
                let at = if let Some(at) = self.free.pop() {
                    self.slots[at as usize] = slot;
                    at
                } else {
                    self.slots.push(slot);
                    self.slots.len() as u32 - 1
                };
                match self.by_value.insert(slot.value, at) {
                    None => Ok(at),
                    Some(_) => Err(Stop::GaveUp(NOT_UNIQUE)),
                }
            }
            Method::Read => {
                self.open_reads.push(open.called);
                self.groups.push(Latest::default());
                Ok(0)
            }
            _ => Err(Stop::GaveUp("the exact monitor of a register knows reads and writes only")),
        }
    }

    pub(super) fn return_(&mut self, open: &Open, result: Value, now: u64) -> Result<(), Stop> {
        let verdict = if open.method == Method::Write {
            // It may have been read, and even forgotten, before it returned.
            let zone = &self.slots[open.entry as usize].zone;
            if zone.write == open.number && zone.first_return == NONE {
                self.first_return(open, open.entry, now);
            }
            Ok(())
        } else {
            let verdict = if result.is_none() { Ok(()) } else { self.read(open, result.bits(), now) };
            self.close(open.called);
            verdict
        };
        self.forget();
        verdict
    }

    /// The first return on a value.
    fn first_return(&mut self, open: &Open, at: u32, now: u64) {
        let zone = &mut self.slots[at as usize].zone;
        zone.first_return = now;
        zone.returned = open.number;
        if open.called > zone.last_call {
            zone.last_call = open.called;
            zone.called = open.number;
        }
        if let Some(group) = self.groups.last_mut() {
            group.add(*zone);
        }
        self.by_return.push_back((now, at));
    }

    fn read(&mut self, open: &Open, value: u64, now: u64) -> Result<(), Stop> {
        // A value that was forgotten cannot be read any more.
        let Some(&at) = self.by_value.get(&value) else { return Err(Stop::stuck(open)) };
        let zone = self.slots[at as usize].zone;
        if zone.first_return == NONE {
            self.first_return(open, at, now);
            return Ok(());
        }
        if open.called < zone.last_call {
            return Ok(());
        }
        let moved = Zone { last_call: open.called, called: open.number, ..zone };
        let before = self.open_reads.partition_point(|&call| call < open.called);
        let others = self.groups[..=before].iter().filter_map(|group| group.other_than(zone.write));
        if let Some(other) = others.filter(|other| other.last_call > zone.first_return).max_by_key(|z| z.last_call) {
            let core = moved.evidence().zip(other.evidence()).map(|(one, other)| Core::Zones([one, other]));
            return Err(Stop::Violation(core));
        }
        self.slots[at as usize].zone = moved;
        let group = self.open_reads.partition_point(|&call| call < zone.first_return);
        self.groups[group].add(moved);
        Ok(())
    }

    /// A read is no longer open.
    fn close(&mut self, called: u64) {
        let Ok(at) = self.open_reads.binary_search(&called) else { return };
        self.open_reads.remove(at);
        let later = self.groups.remove(at + 1);
        self.groups[at].merge(later);
    }

    /// Forgets the values that no read can return any more.
    fn forget(&mut self) {
        let [Some(latest), second] = self.groups[0].0 else { return };
        while let Some(&(first_return, at)) = self.by_return.front() {
            if first_return > latest.last_call {
                break;
            }
            self.by_return.pop_front();
            let write = self.slots[at as usize].zone.write;
            let outlives = write == latest.write && second.is_none_or(|second| second.last_call < first_return);
            if let Some(gone) = if outlives { self.current.replace(at) } else { Some(at) } {
                self.drop_value(gone);
            }
        }
        if let Some(at) = self.current.filter(|&at| self.slots[at as usize].zone.write != latest.write) {
            self.current = None;
            self.drop_value(at);
        }
    }

    fn drop_value(&mut self, at: u32) {
        let slot = &mut self.slots[at as usize];
        slot.zone.write = NONE;
        self.by_value.remove(&slot.value);
        self.free.push(at);
    }

    pub(super) fn fail(&mut self, open: &Open) -> Result<(), Stop> {
        if open.method != Method::Write {
            self.close(open.called);
            return Ok(());
        }
        let zone = &self.slots[open.entry as usize].zone;
        if zone.write != open.number || zone.first_return != NONE {
            // Somebody read what was not written.
            return Err(Stop::hindsight());
        }
        self.drop_value(open.entry);
        Ok(())
    }

    /// Nobody will hear of it again; a read that nobody knows the result of says nothing.
    pub(super) fn abandon(&mut self, open: &Open) {
        if open.method == Method::Read {
            self.close(open.called);
        }
    }

    pub(super) fn size(&self) -> usize {
        self.by_value.len() + self.by_return.len() + self.open_reads.len()
    }
}
