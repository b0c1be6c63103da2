//! Queue, each value inserted once while it is inside: exactly, with pending operations.
//!
//! **What is decided.** A history in which every operation returned is linearizable exactly if no value overtakes another and
//! every `empty` finds a moment at which no value is certainly inside ([`crate::fast::queue`]; a value that its removal
//! returned before its insertion did was inserted by then). Pending: an insertion whose value nobody removed need not have
//! happened. A pending removal may have taken any value that is inside (inserted, and not removed by one that returned), at
//! any moment after its call, or none. Then what the others demand is this, where `A(x)` are the values inside whose
//! insertion returned before the moment x, and `P(t)` the pending removals that were called before t:
//! - a value b that was removed demands that all of `A(call of b's insertion)` were taken before b's removal returned;
//! - an `empty` demands that for some moment t in its time which no removed value certainly covers, all of `A(t)` were taken
//!   before t.
//!
//! So a demand is a pair (x, t): all of `A(x)` are taken by different ones of `P(t)`. Two demands never get in each other's way: the
//! sets `A` and the sets `P` are nested, so all demands can be met together exactly if each has `|A(x)| <= |P(t)|` (Hall); and
//! pending removals, whose ends are after everything, make no demands of their own.
//!
//! **Event by event.** Demands are about the past: their sets only shrink. When a removal that was called at c returns a value
//! whose insertion returned at i, a demand (x, t) with `i < x` has lost its hope if `c > t`, and else one of each set; one with
//! `i > x` has lost one of `P(t)` if `c < t`. A demand whose `A(x)` is empty is met for good. Only these numbers are kept.
//! - Of the demands of removed values, one with a larger x at the same `P(t)` stands for the others: there are no more than open
//!   removals.
//! - For `empty`, the moments between two insertions that return and two removals that are called are alike, and a moment t with
//!   `|A(t)| > |P(t)|` is of no use any more: so there are few moments to remember, too. An `empty` that returned is the
//!   interval of those it can still choose from; one that contains the choices of another is implied by it.
//!
//! So the verdict at each return is exact. Time: the open removals, for each event that is out of the ordinary, else constant.
//! Memory: the values inside and the operations that are open.

use std::ops::Range;

use certificate::object::{Core, Stay};
use history::{Method, Value};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{NOT_UNIQUE, Open, Stop, operation};

/// No entry; not returned yet.
const NONE: u32 = u32::MAX;
const OPEN: u64 = u64::MAX;

/// A value that was inserted: a link of the list of those inside, in the order in which their insertions returned.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// The number of the insertion.
    insert: u64,
    called: u64,
    returned: u64,
    is_removed: bool,
    previous: u32,
    next: u32,
}

/// See the module: `wanted` is `|A(x)|`, `available` is `|P(t)|`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Demand {
    x: u64,
    t: u64,
    wanted: u64,
    available: u64,
    /// The numbers of the insertion and the removal that demand it.
    stay: [u64; 2],
}

impl Demand {
    fn can_be_met(&self) -> bool {
        self.wanted <= self.available
    }

    /// A removal that was called then is no longer pending, and took none of the values that matter.
    fn lose(&mut self, called: u64) -> bool {
        if called < self.t {
            self.available -= 1;
        }
        self.can_be_met()
    }

    /// A removal that was called then took a value whose insertion returned then.
    fn take(&mut self, called: u64, inserted: u64) -> bool {
        if inserted >= self.x {
            return self.lose(called);
        }
        let is_in_time = called < self.t;
        if is_in_time {
            self.wanted -= 1;
            self.available -= 1;
        }
        is_in_time
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Queue {
    by_value: FxHashMap<u64, u32>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// The ends of the list of values inside.
    first: u32,
    last: u32,
    inside: u64,
    /// The calls of the removals that are open, sorted; and how many will never be heard of again.
    open_removals: Vec<u64>,
    abandoned: u64,
    /// The demands of removed values; both x and t grow.
    demands: Vec<Demand>,
    /// The moments that an `empty` can still choose; x and t are the moment.
    moments: Vec<Demand>,
    /// The `empty` whose choice is not made: call and return.
    empties: Vec<[u64; 2]>,
}

impl Queue {
    pub(super) fn new() -> Self {
        Self {
            by_value: FxHashMap::default(),
            entries: Vec::new(),
            free: Vec::new(),
            first: NONE,
            last: NONE,
            inside: 0,
            open_removals: Vec::new(),
            abandoned: 0,
            demands: Vec::new(),
            moments: Vec::new(),
            empties: Vec::new(),
        }
    }

    fn pending(&self) -> u64 {
        self.open_removals.len() as u64 + self.abandoned
    }

    /// What an `empty` could choose up to now differs from what it can choose from now on.
    fn note_moment(&mut self, now: u64) {
        let (wanted, available) = (self.inside, self.pending());
        if wanted > available || self.open_removals.is_empty() {
            return;
        }
        if self.moments.last().is_some_and(|last| last.wanted == wanted && last.available == available) {
            return;
        }
        // Between the last event and this one.
        self.moments.push(Demand { x: now, t: now, wanted, available, stay: [0; 2] });
    }

    /// Where it keeps the value, if it is an insertion.
    pub(super) fn call(&mut self, open: &Open) -> Result<u32, Stop> {
        if open.method == Method::Dequeue {
            self.note_moment(open.called);
            self.open_removals.push(open.called);
            return Ok(0);
        }
        let entry = Entry {
            insert: open.number,
            called: open.called,
            returned: OPEN,
            is_removed: false,
            previous: NONE,
            next: NONE,
        };
        let at = if let Some(at) = self.free.pop() {
            self.entries[at as usize] = entry;
            at
        } else {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        };
        match self.by_value.insert(open.argument.bits(), at) {
            None => Ok(at),
            Some(_) => Err(Stop::GaveUp(NOT_UNIQUE)),
        }
    }

    pub(super) fn return_(&mut self, open: &Open, result: Value, now: u64) -> Result<(), Stop> {
        if open.method == Method::Enqueue {
            self.insertion_returns(open, now);
            return Ok(());
        }
        if result == Value::EMPTY || result.is_none() {
            self.finds_nothing(open, now)
        } else {
            self.removal_returns(open, result.bits(), now)
        }
    }

    fn insertion_returns(&mut self, open: &Open, now: u64) {
        // It is kept until it returns.
        let at = open.entry;
        if self.entries[at as usize].is_removed {
            self.forget(open.argument.bits(), at);
            return;
        }
        self.note_moment(now);
        self.inside += 1;
        let last = std::mem::replace(&mut self.last, at);
        let entry = &mut self.entries[at as usize];
        entry.returned = now;
        entry.previous = last;
        match self.entries.get_mut(last as usize) {
            Some(last) => last.next = at,
            None => self.first = at,
        }
    }

    fn forget(&mut self, value: u64, at: u32) {
        self.by_value.remove(&value);
        self.free.push(at);
    }

    /// A value that is inside leaves the list.
    fn unlink(&mut self, at: u32) {
        let Entry { previous, next, .. } = self.entries[at as usize];
        match self.entries.get_mut(previous as usize) {
            Some(entry) => entry.next = next,
            None => self.first = next,
        }
        match self.entries.get_mut(next as usize) {
            Some(entry) => entry.previous = previous,
            None => self.last = previous,
        }
        self.inside -= 1;
    }

    fn removal_returns(&mut self, open: &Open, value: u64, now: u64) -> Result<(), Stop> {
        self.close(open.called);
        let at = self.by_value.get(&value).copied();
        let Some((at, entry)) = at.map(|at| (at, self.entries[at as usize])).filter(|(_, entry)| !entry.is_removed)
        else {
            // It is one violation, whatever else follows.
            let _ = self.lose(open);
            return Err(Stop::stuck(open));
        };
        // An insertion that has not returned has taken effect by now.
        let inserted = entry.returned.min(now);
        let mut verdict = Ok(());
        if !self.demands.is_empty() {
            let (mut lost, mut overtaken) = (None, None);
            self.demands.retain_mut(|demand| {
                if demand.take(open.called, inserted) {
                    return demand.wanted > 0;
                }
                *if inserted < demand.x { &mut overtaken } else { &mut lost } = Some(*demand);
                false
            });
            if let Some(demand) = overtaken {
                let first = operation(entry.insert).zip(operation(open.number));
                verdict = Err(Stop::Violation(
                    first.and_then(|(insert, remove)| overtaking(Stay::new(insert, Some(remove)), &demand)),
                ));
            } else if let Some(demand) = lost {
                verdict = Err(self.unmet(open, &demand));
            }
        }
        self.moments.retain_mut(|moment| moment.take(open.called, inserted));
        if entry.returned == OPEN {
            self.entries[at as usize].is_removed = true;
        } else {
            self.unlink(at);
            self.forget(value, at);
        }
        verdict?;
        self.demand(&entry, open, now)?;
        if self.moments.is_empty() && self.empties.is_empty() { Ok(()) } else { self.choose(open) }
    }

    /// A removed value demands that those inserted before it were taken before.
    fn demand(&mut self, entry: &Entry, open: &Open, now: u64) -> Result<(), Stop> {
        let x = entry.called;
        if self.demands.last().is_some_and(|last| last.x >= x) {
            return Ok(());
        }
        let available = self.pending();
        let (mut wanted, mut at) = (0, self.first);
        while let Some(entry) = self.entries.get(at as usize).filter(|entry| entry.returned < x && wanted <= available)
        {
            wanted += 1;
            at = entry.next;
        }
        if wanted == 0 {
            return Ok(());
        }
        let demand = Demand { x, t: now, wanted, available, stay: [entry.insert, open.number] };
        if !demand.can_be_met() {
            return Err(self.unmet(open, &demand));
        }
        while self.demands.last().is_some_and(|last| last.available == available) {
            self.demands.pop();
        }
        self.demands.push(demand);
        Ok(())
    }

    /// The violation of a demand that too few pending removals are left for.
    fn unmet(&self, open: &Open, demand: &Demand) -> Stop {
        let first = self.entries.get(self.first as usize).filter(|first| first.returned < demand.x);
        match first.and_then(|first| operation(first.insert)).filter(|_| demand.available == 0) {
            Some(insert) => Stop::Violation(overtaking(Stay::new(insert, None), demand)),
            None => Stop::stuck(open),
        }
    }

    /// A removal is no longer pending, and took nothing.
    fn lose(&mut self, open: &Open) -> Result<(), Stop> {
        let mut lost = None;
        self.demands.retain_mut(|demand| {
            let can_be_met = demand.lose(open.called);
            if !can_be_met {
                lost = Some(*demand);
            }
            can_be_met
        });
        self.moments.retain_mut(|moment| moment.lose(open.called));
        let is_quiet = self.moments.is_empty() && self.empties.is_empty();
        let chosen = if is_quiet { Ok(()) } else { self.choose(open) };
        match lost {
            Some(demand) => Err(self.unmet(open, &demand)),
            None => chosen,
        }
    }

    fn finds_nothing(&mut self, open: &Open, now: u64) -> Result<(), Stop> {
        self.note_moment(now);
        self.close(open.called);
        self.empties.push([open.called, now]);
        self.lose(open)
    }

    /// The moments that an `empty` can still choose, by their places.
    fn choices(&self, [called, returned]: [u64; 2]) -> Range<usize> {
        let first = self.moments.partition_point(|moment| moment.t <= called);
        first..self.moments.partition_point(|moment| moment.t <= returned)
    }

    /// Drops every `empty` that is decided, or implied by another, and every moment that nobody can choose.
    fn choose(&mut self, open: &Open) -> Result<(), Stop> {
        let mut is_lost = false;
        let mut left: Vec<[u64; 2]> = Vec::new();
        let mut left_choices: Vec<Range<usize>> = Vec::new();
        for &empty in &self.empties {
            let choices = self.choices(empty);
            is_lost |= choices.is_empty();
            if choices.is_empty() || self.moments[choices.start].wanted == 0 {
                continue;
            }
            let contains = |a: &Range<usize>, b: &Range<usize>| a.start <= b.start && b.end <= a.end;
            if !left_choices.iter().any(|other| contains(&choices, other)) {
                left.retain(|&other| !contains(&self.choices(other), &choices));
                left_choices.retain(|other| !contains(other, &choices));
                left.push(empty);
                left_choices.push(choices);
            }
        }
        let is_chosen = |at: usize| left_choices.iter().any(|choices| choices.contains(&at));
        let open_from = self.open_removals.first().copied().unwrap_or(OPEN);
        let mut kept: Vec<Demand> = Vec::new();
        for (at, &moment) in self.moments.iter().enumerate() {
            if moment.t <= open_from && !is_chosen(at) {
                continue;
            }
            match kept.last_mut() {
                // What told them apart is gone: whoever could choose the one can choose both.
                Some(last) if (last.wanted, last.available) == (moment.wanted, moment.available) => {
                    let one = last.t;
                    *last = moment;
                    for [called, returned] in &mut left {
                        if *called < one && one <= *returned {
                            *returned = moment.t.max(*returned);
                        }
                    }
                }
                _ => kept.push(moment),
            }
        }
        self.moments = kept;
        self.empties = left;
        if is_lost { Err(self.covered(open)) } else { Ok(()) }
    }

    /// The violation of an `empty` that has nothing to choose from.
    fn covered(&self, open: &Open) -> Stop {
        let first = self.entries.get(self.first as usize).filter(|first| first.returned < open.called);
        let insert = first.and_then(|first| operation(first.insert)).filter(|_| self.pending() == 0);
        match insert.zip(operation(open.number)) {
            Some((insert, removal)) if open.method == Method::Dequeue => {
                Stop::Violation(Some(Core::Covered { removal, by: vec![Stay::new(insert, None)] }))
            }
            _ => Stop::stuck(open),
        }
    }

    fn close(&mut self, called: u64) {
        if let Ok(at) = self.open_removals.binary_search(&called) {
            self.open_removals.remove(at);
        }
    }

    pub(super) fn fail(&mut self, open: &Open) -> Result<(), Stop> {
        if open.method == Method::Dequeue {
            self.close(open.called);
            return self.lose(open).map_err(|_| Stop::hindsight());
        }
        let value = open.argument.bits();
        let Some(&at) = self.by_value.get(&value) else { return Ok(()) };
        self.forget(value, at);
        // Somebody removed what was not inserted.
        if self.entries[at as usize].is_removed { Err(Stop::hindsight()) } else { Ok(()) }
    }

    /// Nobody will hear of it again.
    pub(super) fn abandon(&mut self, open: &Open) {
        if open.method == Method::Dequeue {
            self.close(open.called);
            self.abandoned += 1;
        }
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.by_value.is_empty() && self.pending() == 0
    }

    pub(super) fn size(&self) -> usize {
        let waiting = self.demands.len() + self.moments.len() + self.empties.len();
        self.by_value.len() + self.open_removals.len() + waiting
    }
}

/// That the value of a demand overtook another.
fn overtaking(first: Stay, demand: &Demand) -> Option<Core> {
    let [insert, remove] = demand.stay.map(operation);
    Some(Core::Overtaken { first, second: Stay::new(insert?, Some(remove?)) })
}
