//! One value of a priority queue, if it is chosen which gaps are clear: can its copies and its removals be matched?
//!
//! A copy is open from the first gap of its insert to its *deadline*, the first gap after the return that is clear of
//! the value. A removal is open from its first gap to the last gap before its return that is clear above the value.
//! Both can be partners if they are open at the same gap: then the removal takes effect at the last such gap. A copy
//! with a deadline needs a partner, and so does a removal. Whichever ends first takes the open partner that ends first.
//! All that overlap what ends are open then, and of these, those that end later can do all that those that end earlier
//! can. So this finds a partner for all if that is possible.
//!
//! If one of them finds no partner, a few that ended last are looked at, then twice as many, and so on, until they
//! alone cannot find partners. What they depend on is reduced to as few gaps as possible. These are a
//! [conflict](Conflict). If a gap that must be clear is replaced by one nearby, that often is a conflict, too.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Span;
use crate::containers::NONE;
use crate::knobs::PriorityQueueKnobs;
use crate::search::{Allowance, GaveUp};

/// Above which levels the gaps are clear: the least level of each gap, and a tree of minima over them.
pub struct Clear {
    leaves: usize,
    least: Vec<u32>,
}

impl Clear {
    /// Gaps with these least levels; [`NONE`] for a gap that is not clear above any level.
    pub fn new(levels: &[u32]) -> Self {
        let leaves = levels.len().next_power_of_two();
        let mut least = vec![NONE; 2 * leaves];
        least[leaves..leaves + levels.len()].copy_from_slice(levels);
        for node in (1..leaves).rev() {
            least[node] = least[2 * node].min(least[2 * node + 1]);
        }
        Self { leaves, least }
    }

    /// Whether a gap is clear above a level.
    fn at(&self, gap: u32, level: u32) -> bool {
        self.least[self.leaves + gap as usize] <= level
    }

    /// The first such gap from a gap on; [`NONE`] if there is none.
    fn from(&self, gap: u32, level: u32) -> u32 {
        if gap as usize >= self.leaves {
            return NONE;
        }
        let mut node = self.leaves + gap as usize;
        while self.least[node] > level {
            // The next node to the right, as high as possible.
            node += 1;
            if node.is_power_of_two() {
                return NONE;
            }
            node >>= node.trailing_zeros();
        }
        while node < self.leaves {
            node = 2 * node + usize::from(self.least[2 * node] > level);
        }
        (node - self.leaves) as u32
    }

    /// The last such gap up to a gap; [`NONE`] if there is none.
    fn up_to(&self, gap: u32, level: u32) -> u32 {
        let mut node = self.leaves + gap as usize;
        while self.least[node] > level {
            if node.is_power_of_two() {
                return NONE;
            }
            // The next node to the left, as high as possible.
            node -= 1;
            node >>= node.trailing_ones();
        }
        while node < self.leaves {
            node = 2 * node + usize::from(self.least[2 * node + 1] <= level);
        }
        (node - self.leaves) as u32
    }
}

/// What cannot be chosen together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Gaps that are clear of the value.
    pub clear: Vec<u32>,
    /// Gaps that are not clear above the value.
    pub closed: Vec<u32>,
    /// Copies that are taken no earlier than now.
    pub takes: Vec<u32>,
    /// Whether one more copy that is taken would help.
    pub lacks_removal: bool,
}

/// A value, its operations, and what is chosen.
pub struct Value<'a> {
    /// Its number.
    pub number: u32,
    pub inserts: &'a [Span],
    pub removals: &'a [Span],
    /// The copies that pending removals take: from which gaps on.
    pub takes: &'a [u32],
    /// The first gap of a pending removal.
    pub first_pending: u32,
    /// For each gap, the least level above which it can be clear.
    pub least: &'a [u32],
    pub clear: &'a Clear,
    pub knobs: PriorityQueueKnobs,
}

/// From which gap to which an operation is open ([`NONE`] if it does not end), and whether it needs a partner.
#[derive(Copy, Clone, Debug)]
struct Open {
    first: u32,
    last: u32,
    needs: bool,
}

const COPIES: usize = 0;
const REMOVALS: usize = 1;

/// The partners on both sides, and the operations that need one and find none, in the order of their ends.
#[derive(Default)]
struct Partners {
    of: [Vec<u32>; 2],
    alone: Vec<(usize, u32)>,
}

/// Matches copies with removals.
fn pair(sides: [&[Open]; 2]) -> Partners {
    let mut events: Vec<(u32, bool, usize, u32)> = Vec::with_capacity(2 * (sides[0].len() + sides[1].len()));
    for (side, open) in sides.iter().enumerate() {
        for (at, open) in (0..).zip(*open) {
            events.push((open.first, false, side, at));
            if open.last != NONE {
                events.push((open.last, true, side, at));
            }
        }
    }
    events.sort_unstable();
    let mut partners = Partners { of: sides.map(|side| vec![NONE; side.len()]), alone: Vec::new() };
    let mut open: [BinaryHeap<Reverse<(u32, u32)>>; 2] = Default::default();
    for (gap, is_end, side, at) in events {
        if !is_end {
            open[side].push(Reverse((sides[side][at as usize].last, at)));
            continue;
        }
        if partners.of[side][at as usize] != NONE {
            continue;
        }
        let other = 1 - side;
        let partner = loop {
            match open[other].pop() {
                Some(Reverse((last, at))) if last < gap || partners.of[other][at as usize] != NONE => {}
                found => break found,
            }
        };
        match partner {
            Some(Reverse((_, partner))) => {
                partners.of[side][at as usize] = partner;
                partners.of[other][partner as usize] = at;
            }
            None if sides[side][at as usize].needs => partners.alone.push((side, at)),
            None => {}
        }
    }
    partners
}

/// Something that a conflict depends on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Reason {
    Clear(u32),
    Closed(u32),
    Take(u32),
}

impl Value<'_> {
    /// The partners of the removals, those that returned first, then the pending ones; and the conflicts of those that
    /// find none. `can_be_clear` says at which gaps the value may have to be absent.
    pub fn decide(
        &self,
        can_be_clear: impl Fn(u32) -> bool,
        budget: &mut Allowance,
    ) -> Result<(Vec<u32>, Vec<Conflict>), GaveUp> {
        let deadline = |insert: &Span| match insert.last {
            NONE => NONE,
            last => self.clear.from(last + 1, self.number),
        };
        let copies: Vec<Open> = self
            .inserts
            .iter()
            .map(|insert| Open { first: insert.first, last: deadline(insert), needs: true })
            .collect();
        let last = |removal: &Span| self.clear.up_to(removal.last, self.number + 1);
        let mut removals: Vec<Open> = self
            .removals
            .iter()
            .map(|removal| Open { first: removal.first, last: last(removal), needs: true })
            .collect();
        removals.extend(self.takes.iter().map(|&first| Open { first, last: NONE, needs: false }));
        let Partners { of: [_, partners], alone } = pair([&copies, &removals]);
        let mut conflicts = Vec::new();
        // Both sides in the order of their ends.
        let mut ended: [Vec<u32>; 2] = Default::default();
        let mut explain = |side: usize, at: u32, most: usize| -> Result<bool, GaveUp> {
            let open = [&copies[..], &removals][side];
            let key = |at: u32| (open[at as usize].last, at);
            if ended[side].is_empty() {
                ended[side] = (0..open.len() as u32).filter(|&at| open[at as usize].last != NONE).collect();
                ended[side].sort_unstable_by_key(|&at| key(at));
            }
            let end = ended[side].partition_point(|&other| key(other) <= key(at));
            let mut count = 1;
            while count <= most {
                let seen = &ended[side][end.saturating_sub(count)..end];
                let explanation = Explanation::new(self, side, seen, &copies);
                let is_conflict = explanation.is_conflict(&explanation.reasons);
                if is_conflict {
                    explanation.conflicts(&can_be_clear, &mut conflicts);
                }
                budget.spend_many(explanation.steps.get(), 0)?;
                if is_conflict {
                    return Ok(true);
                }
                assert!(count < end, "those that ended cannot be matched");
                count *= 2;
            }
            Ok(false)
        };
        // A long explanation is looked for only if there is no short one.
        let mut is_explained = false;
        for &(side, at) in &alone {
            is_explained |= explain(side, at, self.knobs.long_look)?;
        }
        if let (false, Some(&(side, at))) = (is_explained, alone.first()) {
            explain(side, at, usize::MAX)?;
        }
        Ok((partners, conflicts))
    }

    /// Whether the value may be removed at a gap.
    fn can_be_open(&self, gap: u32) -> bool {
        self.least[gap as usize] <= self.number + 1
    }
}

/// Some operations of one side that cannot all find partners.
struct Explanation<'a> {
    value: &'a Value<'a>,
    side: usize,
    /// These operations, and all of the other side that may be their partners.
    inserts: Vec<Span>,
    removals: Vec<Span>,
    /// The first gap of these operations.
    first: u32,
    /// Whether inserts were left out that had returned long before.
    leaves_out: bool,
    /// The first gap and the last for which `inserts` and `removals` are complete.
    bounds: [u32; 2],
    reasons: Vec<Reason>,
    /// How many operations were looked at.
    steps: Cell<u64>,
}

impl<'a> Explanation<'a> {
    fn new(value: &'a Value<'a>, side: usize, seen: &[u32], copies: &[Open]) -> Self {
        let own = [value.inserts, value.removals][side];
        let own: Vec<Span> = seen.iter().map(|&at| own[at as usize]).collect();
        let first = own.iter().map(|span| span.first).min().unwrap_or(0);
        let (reasons, steps) = (Vec::new(), Cell::default());
        if side == COPIES {
            let mut deadlines: Vec<u32> = seen.iter().map(|&at| copies[at as usize].last).collect();
            deadlines.dedup();
            let last = deadlines.last().map_or(0, |&last| last) + value.knobs.reach;
            let near = |removal: &&Span| removal.first <= last && removal.last >= first;
            let removals: Vec<Span> = value.removals.iter().filter(near).copied().collect();
            let bounds = [0, last];
            let closed = removals.iter().map(|removal| [removal.first.max(first), removal.last]).collect();
            let mut explanation =
                Self { value, side, inserts: own, removals, first, leaves_out: false, bounds, reasons, steps };
            explanation.reasons.extend(deadlines.into_iter().rev().map(Reason::Clear));
            let is_late = |take: &u32| value.takes[*take as usize] > value.first_pending;
            explanation.reasons.extend((0..value.takes.len() as u32).filter(is_late).map(Reason::Take));
            explanation.add_closed(closed);
            explanation
        } else {
            let last = own.iter().map(|span| span.last).max().unwrap_or(0);
            let before = if first == 0 { NONE } else { value.clear.up_to(first - 1, value.number) };
            let bound = if before == NONE { 0 } else { before.saturating_sub(value.knobs.reach) };
            let near = |insert: &&Span| insert.first <= last && insert.last >= bound;
            let inserts: Vec<Span> = value.inserts.iter().filter(near).copied().collect();
            let leaves_out = value.inserts.iter().any(|insert| insert.last < bound);
            let bounds = [bound, NONE - 1];
            let closed = own.iter().map(|removal| [removal.first, removal.last]).collect();
            let mut explanation =
                Self { value, side, inserts, removals: own, first, leaves_out, bounds, reasons, steps };
            let clear = (first..=last).filter(|&gap| value.clear.at(gap, value.number));
            let clear = (before != NONE).then_some(before).into_iter().chain(clear);
            explanation.reasons.extend(clear.map(Reason::Clear));
            explanation.add_closed(closed);
            explanation
        }
    }

    /// Adds the gaps in these ranges at which a removal cannot take effect.
    fn add_closed(&mut self, mut ranges: Vec<[u32; 2]>) {
        ranges.sort_unstable();
        let mut next = 0;
        for [first, last] in ranges {
            let closed = (first.max(next)..=last)
                .filter(|&gap| self.value.can_be_open(gap) && !self.value.clear.at(gap, self.value.number + 1));
            self.reasons.extend(closed.map(Reason::Closed));
            next = next.max(last + 1);
        }
    }

    /// Whether the operations cannot be matched for these reasons alone.
    fn is_conflict(&self, reasons: &[Reason]) -> bool {
        let steps = self.inserts.len() + self.removals.len() + reasons.len();
        self.steps.set(self.steps.get() + steps as u64);
        let (mut clear, mut closed, mut late) = (Vec::new(), Vec::new(), Vec::new());
        for &reason in reasons {
            match reason {
                Reason::Clear(gap) => clear.push(gap),
                Reason::Closed(gap) => closed.push(gap),
                Reason::Take(take) => late.push(take),
            }
        }
        clear.sort_unstable();
        closed.sort_unstable();
        let in_bounds = clear.iter().all(|gap| (self.bounds[0]..=self.bounds[1]).contains(gap));
        // What was left out must have been removed by then.
        let is_complete = !self.leaves_out || clear.first().is_some_and(|&gap| gap < self.first);
        if !(in_bounds && is_complete) {
            return false;
        }
        let (needs_copies, needs_removals) = (self.side == REMOVALS, self.side == COPIES);
        let deadline = |insert: &Span| match insert.last {
            NONE => NONE,
            last => clear.get(clear.partition_point(|&gap| gap <= last)).copied().unwrap_or(NONE),
        };
        let copies = self.inserts.iter().map(|insert| Open {
            first: insert.first,
            last: deadline(insert),
            needs: needs_removals,
        });
        let copies: Vec<Open> = copies.filter(|copy| needs_copies || copy.last != NONE).collect();
        let is_open = |gap: &u32| self.value.can_be_open(*gap) && closed.binary_search(gap).is_err();
        let last = |removal: &Span| (removal.first..=removal.last).rev().find(is_open);
        let removals = self
            .removals
            .iter()
            .filter_map(|removal| last(removal).map(|last| Open { first: removal.first, last, needs: needs_copies }));
        let mut removals: Vec<Open> = removals.collect();
        if needs_copies && removals.len() < self.removals.len() {
            return true;
        }
        if needs_removals {
            // Those that are taken after the last deadline are of no use.
            let end = clear.last().map_or(0, |&last| self.value.takes.partition_point(|&first| first <= last) as u32);
            let first = |take: u32| {
                if late.contains(&take) { self.value.takes[take as usize] } else { self.value.first_pending }
            };
            removals.extend((0..end).map(|take| Open { first: first(take), last: NONE, needs: false }));
        }
        !pair([&copies, &removals]).alone.is_empty()
    }

    /// Appends a conflict with as few reasons as possible, and those in which one gap is replaced by another.
    fn conflicts(&self, can_be_clear: impl Fn(u32) -> bool, conflicts: &mut Vec<Conflict>) {
        let mut rest = &self.reasons[..];
        let mut kept: Vec<Reason> = Vec::new();
        let with = |kept: &[Reason], more: &[Reason]| self.is_conflict(&[kept, more].concat());
        while !with(&kept, &[]) {
            // The last reason of the shortest beginning that suffices is needed.
            let (mut few, mut many) = (0, rest.len());
            while few + 1 < many {
                let middle = few.midpoint(many);
                if with(&kept, &rest[..middle]) {
                    many = middle;
                } else {
                    few = middle;
                }
            }
            kept.push(rest[many - 1]);
            rest = &rest[..many - 1];
        }
        conflicts.push(self.conflict(&kept));
        if [&self.inserts, &self.removals][self.side].len() > self.value.knobs.long_look {
            return;
        }
        for at in 0..kept.len() {
            let Reason::Clear(gap) = kept[at] else { continue };
            let mut try_all = |gaps: &mut dyn Iterator<Item = u32>| {
                let mut reasons = kept.clone();
                for gap in gaps {
                    reasons[at] = Reason::Clear(gap);
                    if !self.is_conflict(&reasons) {
                        break;
                    }
                    if can_be_clear(gap) && !kept.contains(&reasons[at]) {
                        conflicts.push(self.conflict(&reasons));
                    }
                }
            };
            let reach = self.value.knobs.reach;
            let end = (self.value.least.len() as u32).min(gap + reach);
            try_all(&mut (gap.saturating_sub(reach)..gap).rev());
            try_all(&mut (gap + 1..end));
        }
    }

    fn conflict(&self, reasons: &[Reason]) -> Conflict {
        let lacks_removal = self.side == COPIES;
        let mut conflict = Conflict { clear: Vec::new(), closed: Vec::new(), takes: Vec::new(), lacks_removal };
        for &reason in reasons {
            match reason {
                Reason::Clear(gap) => conflict.clear.push(gap),
                Reason::Closed(gap) => conflict.closed.push(gap),
                Reason::Take(take) => conflict.takes.push(take),
            }
        }
        conflict
    }
}
