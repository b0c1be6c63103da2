//! Queue, each value inserted once while it is inside: exactly, with pending operations.
//!
//! **What is decided.** A history in which every operation returned is linearizable exactly if no value overtakes
//! another and every `empty` finds a moment at which no value is certainly inside ([`crate::fast::queue`]; a value that
//! its removal returned before its insertion did was inserted by then). Pending: an insertion whose value nobody
//! removed need not have happened. A pending removal may have taken any value that is inside (inserted, and not removed
//! by one that returned), at any moment after its call, or none. Then what the others demand is this, where `A(x)` are
//! the values inside whose insertion returned before the moment x, and `P(t)` the pending removals that were called
//! before t:
//! - a value b that was removed demands that all of `A(call of b's insertion)` were taken before b's removal returned;
//! - an `empty` demands that for some moment t in its time which no removed value certainly covers, all of `A(t)` were
//!   taken before t.
//!
//! So a demand is a pair (x, t): all of `A(x)` are taken by different ones of `P(t)`. Two demands never get in each
//! other's way: the sets `A` and the sets `P` are nested, so all demands can be met together exactly if each has
//! `|A(x)| <= |P(t)|` (Hall); and pending removals, whose ends are after everything, make no demands of their own.
//!
//! **Event by event.** Demands are about the past: their sets only shrink. When a removal that was called at c returns
//! a value whose insertion returned at i, a demand (x, t) with `i < x` has lost its hope if `c > t`, and else one of
//! each set; one with `i > x` has lost one of `P(t)` if `c < t`. A demand whose `A(x)` is empty is met for good. Only
//! these numbers are kept.
//! - Of the demands of removed values, one with a larger x at the same `P(t)` stands for the others: there are no more
//!   than open removals.
//! - For `empty`, the moments between two insertions that return and two removals that are called are alike, and a
//!   moment t with `|A(t)| > |P(t)|` is of no use any more: so there are few moments to remember, too. An `empty` that
//!   returned is the interval of those it can still choose from; one that contains the choices of another is implied by
//!   it.
//!
//! So the verdict at each return is exact. Time: the open removals, for each event that is out of the ordinary, else
//! constant. Memory: the values inside and the operations that are open.

use std::ops::Range;

use certificate::object::{Core, Stay};
use history::{Method, Value};
use serde::{Deserialize, Serialize};

use super::places::{Places, Values};
use super::{NOT_UNIQUE, Open, Stop, operation};

/// Not returned yet; no longer open.
const NEVER: u64 = u64::MAX;
/// Where the list of the values inside begins and ends.
const ENDS: u32 = 0;

/// A value that was inserted: a link of the list of those inside, in the order in which their insertions returned.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// The number of the insertion.
    insert: u64,
    called: u64,
    returned: u64,
    previous: u32,
    next: u32,
    /// Whether its insertion is open, and whether it was removed.
    is_open: bool,
    is_removed: bool,
}

impl Entry {
    /// What is called then.
    const fn new(insert: u64, called: u64) -> Self {
        Self { insert, called, returned: NEVER, previous: ENDS, next: ENDS, is_open: true, is_removed: false }
    }
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
    entries: Values<Entry>,
    inside: u64,
    /// The calls of the removals that are open; and how many will never be heard of again.
    open_removals: Places<u64>,
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
            entries: Values::new(Entry::new(0, NEVER)),
            inside: 0,
            open_removals: Places::new(NEVER),
            abandoned: 0,
            demands: Vec::new(),
            moments: Vec::new(),
            empties: Vec::new(),
        }
    }

    fn pending(&self) -> u64 {
        self.open_removals.len() as u64 + self.abandoned
    }

    /// The first of the values inside; what is kept at [`ENDS`] if there is none.
    fn first(&self) -> &Entry {
        &self.entries[self.entries[ENDS].next]
    }

    /// What an `empty` could choose up to now differs from what it can choose from now on.
    #[inline]
    fn note_moment(&mut self, now: u64) {
        let (wanted, available) = (self.inside, self.pending());
        if wanted > available || self.open_removals.len() == 0 {
            return;
        }
        if self.moments.last().is_some_and(|last| last.wanted == wanted && last.available == available) {
            return;
        }
        // Between the last event and this one.
        self.moments.push(Demand { x: now, t: now, wanted, available, stay: [0; 2] });
    }

    #[inline]
    pub(super) fn call(&mut self, open: &mut Open) -> Result<(), Stop> {
        if open.method == Method::Dequeue {
            self.note_moment(open.called);
            open.place = self.open_removals.take();
            self.open_removals[open.place] = open.called;
            return Ok(());
        }
        open.place = self.entries.insert(open.argument.bits()).ok_or_else(|| Stop::gave_up(NOT_UNIQUE))?;
        self.entries[open.place] = Entry::new(open.number, open.called);
        Ok(())
    }

    #[inline]
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

    #[inline]
    fn insertion_returns(&mut self, open: &Open, now: u64) {
        // It is kept until it returns.
        let at = open.place;
        if self.entries[at].is_removed {
            self.entries.remove(at);
            return;
        }
        self.note_moment(now);
        self.inside += 1;
        let last = std::mem::replace(&mut self.entries[ENDS].previous, at);
        self.entries[last].next = at;
        let entry = &mut self.entries[at];
        entry.returned = now;
        entry.previous = last;
        entry.is_open = false;
    }

    /// A value leaves, and the list of those inside if it is there.
    #[inline]
    fn forget(&mut self, at: u32) {
        let Entry { previous, next, returned, .. } = self.entries[at];
        if returned != NEVER {
            self.entries[previous].next = next;
            self.entries[next].previous = previous;
            self.inside -= 1;
        }
        self.entries.remove(at);
    }

    fn removal_returns(&mut self, open: &Open, value: u64, now: u64) -> Result<(), Stop> {
        self.close(open);
        let Some(at) = self.entries.find(value).filter(|&at| !self.entries[at].is_removed) else {
            // It is one violation, whatever else follows.
            let _ = self.lose(open);
            return Err(Stop::stuck(open));
        };
        let entry = self.entries[at];
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
                verdict = Err(Stop::violation(
                    first.and_then(|(insert, remove)| overtaking(Stay::new(insert, Some(remove)), &demand)),
                ));
            } else if let Some(demand) = lost {
                verdict = Err(self.unmet(open, &demand));
            }
        }
        self.moments.retain_mut(|moment| moment.take(open.called, inserted));
        if entry.is_open {
            self.entries[at].is_removed = true;
        } else {
            self.forget(at);
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
        let (mut wanted, mut inside) = (0, self.first());
        while inside.returned < x && wanted <= available {
            wanted += 1;
            inside = &self.entries[inside.next];
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
        let is_plain = self.first().returned < demand.x && demand.available == 0;
        match operation(self.first().insert).filter(|_| is_plain) {
            Some(insert) => Stop::violation(overtaking(Stay::new(insert, None), demand)),
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
        self.close(open);
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
        let open_from = self.open_removals.all().map(|at| self.open_removals[at]).min().unwrap_or(NEVER);
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
        let is_plain = self.first().returned < open.called && self.pending() == 0;
        match operation(self.first().insert).zip(operation(open.number)).filter(|_| is_plain) {
            Some((insert, removal)) if open.method == Method::Dequeue => {
                Stop::violation(Some(Core::Covered { removal, by: vec![Stay::new(insert, None)] }))
            }
            _ => Stop::stuck(open),
        }
    }

    /// A removal is no longer open.
    #[inline]
    fn close(&mut self, open: &Open) {
        self.open_removals[open.place] = NEVER;
        self.open_removals.release(open.place);
    }

    pub(super) fn fail(&mut self, open: &Open) -> Result<(), Stop> {
        if open.method == Method::Dequeue {
            self.close(open);
            return self.lose(open).map_err(|_| Stop::did_not_happen());
        }
        let is_removed = self.entries[open.place].is_removed;
        self.forget(open.place);
        // Somebody removed what was not inserted.
        if is_removed { Err(Stop::did_not_happen()) } else { Ok(()) }
    }

    /// Nobody will hear of it again.
    pub(super) fn abandon(&mut self, open: &Open) {
        if open.method == Method::Dequeue {
            self.close(open);
            self.abandoned += 1;
        } else if self.entries[open.place].is_removed {
            self.forget(open.place);
        } else {
            self.entries[open.place].is_open = false;
        }
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.entries.len() == 0 && self.pending() == 0
    }

    pub(super) fn size(&self) -> usize {
        let waiting = self.demands.len() + self.moments.len() + self.empties.len();
        self.entries.len() + self.open_removals.len() + waiting
    }
}

/// That the value of a demand overtook another.
fn overtaking(first: Stay, demand: &Demand) -> Option<Core> {
    let [insert, remove] = demand.stay.map(operation);
    Some(Core::Overtaken { first, second: Stay::new(insert?, Some(remove?)) })
}
