//! The exact monitor of a queue, with pending operations. A value must be unique while it is inside.
//!
//! **Definition.** A value is *inside* if it was inserted and no removal that returned has returned it. A history
//! without pending operations is linearizable exactly if no value overtakes another, and every `empty` has a moment at
//! which no value is certainly inside (see `objects/queue/fast.rs` in the crate `object`). If a removal returns a value
//! before the insertion of that value returns, the insertion counts as done by then.
//!
//! Pending operations: an insertion whose value nobody removed need not have happened. A pending removal may have taken
//! any value that is inside, at any moment after its call, or none. Let `A(x)` be the values inside whose insertion
//! returned before the moment x. Let `P(t)` be the pending removals that were called before the moment t. Then the
//! other operations demand this:
//! - A removed value b demands that all of `A(call of b's insertion)` were taken before b's removal returned.
//! - An `empty` demands that there is a moment t between its call and its return such that all of `A(t)` were taken
//!   before t, and no removed value was certainly inside at t.
//!
//! So a demand is a pair (x, t): different removals of `P(t)` take all of `A(x)`. The sets `A` are nested, and so are
//! the sets `P`. So all demands can be met together exactly if each demand has `|A(x)| <= |P(t)|` (Hall's theorem).
//! Pending removals make no demands of their own, since they end after all other operations.
//!
//! **Event by event.** Demands are about the past, so their sets only shrink. Let a removal that was called at c return
//! a value whose insertion returned at i. For a demand (x, t):
//! - If `i < x` and `c > t`, the demand cannot be met any more.
//! - If `i < x` and `c < t`, `A(x)` and `P(t)` lose one each.
//! - If `i > x` and `c < t`, `P(t)` loses one.
//!
//! A demand whose `A(x)` is empty is met for good. Only these sizes are kept:
//! - For removed values: of the demands with the same `P(t)`, the one with the largest x implies the others. So there
//!   are at most as many demands as open removals.
//! - For `empty`: two moments are alike if no insertion returns and no removal is called between them. A moment t with
//!   `|A(t)| > |P(t)|` is useless from then on. So there are few moments to remember. An `empty` that returned is the
//!   interval of the moments that it can still choose. If its interval contains the interval of another `empty`, it is
//!   implied by the other.
//!
//! So the verdict at each return is exact. Time: constant for an ordinary event, else the number of open removals.
//! Memory: the values inside and the open operations.

use std::ops::Range;

use history::{Method, Value};
use model::object::{Core, Stay};
use serde::{Deserialize, Serialize};

use super::places::{Places, Values};
use super::{NOT_UNIQUE, OpenOperation, Stopped, operation};

/// The moment of a return that has not come, and of the call of a free place.
const NEVER: u64 = u64::MAX;
/// The place that is the head and the end of the list of the values inside.
const LIST_ENDS: u32 = 0;

/// A value that was inserted. The values inside form a list, in the order in which their insertions returned.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Inserted {
    /// The number of the call of the insertion.
    insert: u64,
    called: u64,
    returned: u64,
    previous: u32,
    next: u32,
    /// Whether its insertion is open, and whether the value was removed.
    is_open: bool,
    is_removed: bool,
}

impl Inserted {
    /// A value whose insertion was called at the moment `called`.
    const fn new(insert: u64, called: u64) -> Self {
        Self { insert, called, returned: NEVER, previous: LIST_ENDS, next: LIST_ENDS, is_open: true, is_removed: false }
    }
}

/// A demand (see the module). `wanted` is `|A(x)|`, and `available` is `|P(t)|`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Demand {
    x: u64,
    t: u64,
    wanted: u64,
    available: u64,
    /// The numbers of the insertion and the removal of the value that makes the demand.
    stay: [u64; 2],
}

impl Demand {
    fn can_be_met(&self) -> bool {
        self.wanted <= self.available
    }

    /// A removal that was called at `called` is no longer pending, and took no value of `A(x)`. Returns whether the
    /// demand can still be met.
    fn lose(&mut self, called: u64) -> bool {
        if called < self.t {
            self.available -= 1;
        }
        self.can_be_met()
    }

    /// A removal that was called at `called` took a value whose insertion returned at `inserted`. Returns whether the
    /// demand can still be met.
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

/// The monitor of one queue. See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Queue {
    entries: Values<Inserted>,
    inside: u64,
    /// The moments of the calls of the open removals; and how many removals will never end.
    open_removals: Places<u64>,
    abandoned: u64,
    /// The demands of removed values. Both x and t grow.
    demands: Vec<Demand>,
    /// The moments that an `empty` can still choose. In each, x and t are the moment.
    moments: Vec<Demand>,
    /// The call and the return of each `empty` that is not decided.
    empties: Vec<[u64; 2]>,
}

impl Queue {
    pub(super) fn new() -> Self {
        Self {
            entries: Values::new(Inserted::new(0, NEVER)),
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

    /// The first of the values inside. If there is none, the entry at [`LIST_ENDS`].
    fn first(&self) -> &Inserted {
        &self.entries[self.entries[LIST_ENDS].next]
    }

    /// Notes that the choices of an `empty` change here: moments before `now` differ from moments after it.
    #[inline]
    fn note_moment(&mut self, now: u64) {
        let (wanted, available) = (self.inside, self.pending());
        if wanted > available || self.open_removals.len() == 0 {
            return;
        }
        if self.moments.last().is_some_and(|last| last.wanted == wanted && last.available == available) {
            return;
        }
        // This moment is between the last event and this one.
        self.moments.push(Demand { x: now, t: now, wanted, available, stay: [0; 2] });
    }

    #[inline]
    pub(super) fn call(&mut self, open: &mut OpenOperation) -> Result<(), Stopped> {
        if open.method == Method::Dequeue {
            self.note_moment(open.called);
            open.place = self.open_removals.take();
            self.open_removals[open.place] = open.called;
            return Ok(());
        }
        open.place = self.entries.insert(open.argument.bits()).ok_or_else(|| Stopped::gave_up(NOT_UNIQUE))?;
        self.entries[open.place] = Inserted::new(open.number, open.called);
        Ok(())
    }

    #[inline]
    pub(super) fn return_(&mut self, open: &OpenOperation, result: Value, now: u64) -> Result<(), Stopped> {
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
    fn insertion_returns(&mut self, open: &OpenOperation, now: u64) {
        // The entry exists until its insertion has returned.
        let at = open.place;
        if self.entries[at].is_removed {
            self.entries.remove(at);
            return;
        }
        self.note_moment(now);
        self.inside += 1;
        let last = std::mem::replace(&mut self.entries[LIST_ENDS].previous, at);
        self.entries[last].next = at;
        let entry = &mut self.entries[at];
        entry.returned = now;
        entry.previous = last;
        entry.is_open = false;
    }

    /// Removes a value, also from the list of the values inside if it is there.
    #[inline]
    fn forget(&mut self, at: u32) {
        let Inserted { previous, next, returned, .. } = self.entries[at];
        if returned != NEVER {
            self.entries[previous].next = next;
            self.entries[next].previous = previous;
            self.inside -= 1;
        }
        self.entries.remove(at);
    }

    fn removal_returns(&mut self, open: &OpenOperation, value: u64, now: u64) -> Result<(), Stopped> {
        self.close(open);
        let Some(at) = self.entries.find(value).filter(|&at| !self.entries[at].is_removed) else {
            // There is a violation already, so another one does not matter.
            let _ = self.lose(open);
            return Err(Stopped::stuck(open));
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
                verdict = Err(Stopped::violation(
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

    /// Adds the demand of a removed value: all values that were inserted before it were taken before.
    fn demand(&mut self, entry: &Inserted, open: &OpenOperation, now: u64) -> Result<(), Stopped> {
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

    /// The violation of a demand for which too few pending removals are left.
    fn unmet(&self, open: &OpenOperation, demand: &Demand) -> Stopped {
        let is_plain = self.first().returned < demand.x && demand.available == 0;
        match operation(self.first().insert).filter(|_| is_plain) {
            Some(insert) => Stopped::violation(overtaking(Stay::new(insert, None), demand)),
            None => Stopped::stuck(open),
        }
    }

    /// A removal is no longer pending, and took nothing.
    fn lose(&mut self, open: &OpenOperation) -> Result<(), Stopped> {
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

    fn finds_nothing(&mut self, open: &OpenOperation, now: u64) -> Result<(), Stopped> {
        self.note_moment(now);
        self.close(open);
        self.empties.push([open.called, now]);
        self.lose(open)
    }

    /// The indices of the moments that an `empty` can still choose.
    fn choices(&self, [called, returned]: [u64; 2]) -> Range<usize> {
        let first = self.moments.partition_point(|moment| moment.t <= called);
        first..self.moments.partition_point(|moment| moment.t <= returned)
    }

    /// Drops every `empty` that is decided or implied by another, and every moment that no `empty` can choose.
    fn choose(&mut self, open: &OpenOperation) -> Result<(), Stopped> {
        let (mut is_lost, mut is_own) = (false, false);
        let mut left: Vec<[u64; 2]> = Vec::new();
        let mut left_choices: Vec<Range<usize>> = Vec::new();
        for &empty in &self.empties {
            let choices = self.choices(empty);
            is_lost |= choices.is_empty();
            is_own |= choices.is_empty() && empty[0] == open.called;
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
                // The two moments have become alike, so an `empty` that can choose one can choose both.
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
        if is_own {
            Err(self.covered(open))
        } else if is_lost {
            Err(Stopped::stuck(open))
        } else {
            Ok(())
        }
    }

    /// The violation of an `empty` that has just returned and has no moment to choose.
    fn covered(&self, open: &OpenOperation) -> Stopped {
        let is_plain = self.first().returned < open.called && self.pending() == 0;
        match operation(self.first().insert).zip(operation(open.number)).filter(|_| is_plain) {
            Some((insert, removal)) => {
                Stopped::violation(Some(Core::Covered { removal, by: vec![Stay::new(insert, None)] }))
            }
            None => Stopped::stuck(open),
        }
    }

    /// Closes a removal.
    #[inline]
    fn close(&mut self, open: &OpenOperation) {
        self.open_removals[open.place] = NEVER;
        self.open_removals.release(open.place);
    }

    pub(super) fn fail(&mut self, open: &OpenOperation) -> Result<(), Stopped> {
        if open.method == Method::Dequeue {
            self.close(open);
            return self.lose(open).map_err(|_| Stopped::did_not_happen());
        }
        let is_removed = self.entries[open.place].is_removed;
        self.forget(open.place);
        // Somebody removed a value that was not inserted.
        if is_removed { Err(Stopped::did_not_happen()) } else { Ok(()) }
    }

    /// The operation will never end.
    pub(super) fn abandon(&mut self, open: &OpenOperation) {
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

/// The evidence that the value of a demand overtook another value.
fn overtaking(first: Stay, demand: &Demand) -> Option<Core> {
    let [insert, remove] = demand.stay.map(operation);
    Some(Core::Overtaken { first, second: Stay::new(insert?, Some(remove?)) })
}
