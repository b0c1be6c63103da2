//! Guesses which pop of a stack takes the copy of which push, where values are pushed more than once.
//!
//! If that is known, a near-linear algorithm decides the stack ([`fast::stack`](crate::fast::stack)). So only the pairs
//! have to be found, not an order. Pairs *cross* if one certainly begins before the other, certainly ends before the
//! other, and both copies are certainly inside at one time. No pairs cross in a linearization.
//!
//! - At first, every pop takes the last pushed copy that [can belong](super::partners) to it, as if all operations took
//!   effect in the middle of their times. The rest is matched by augmenting paths, so that every push has a
//!   pop unless its copy may stay.
//! - Pairs that cross others are taken apart. Then the operations without a partner get one, one after the other. An
//!   operation takes the partner for which the fewest pairs have to be taken apart: those of the two operations, and
//!   those that the new pair crosses. A pair counts the more, the more often its operations lost their partners.
//! - More than two pairs can be in each other's way although no two of them cross. After each new pair, those nearby
//!   are decided by the near-linear algorithm. If they cannot be nested, a few of them are remembered as impossible
//!   together. So are the pairs of a core, if the decision of the whole history fails.
//!
//! Only a linearization proves anything. If no guess is found, the search decides.

use std::collections::VecDeque;

use certificate::object::{Core, Stay};
use order::Rows;
use rustc_hash::FxHashMap;

use super::partners::{Partners, inside, is_pop, is_push};
use super::{Budget, GaveUp, Limits};
use crate::fast::Answer;
use crate::fast::containers::Stays;
use crate::fast::stack::peel::{Nest, Peel};
use crate::view::{Call, Endpoint, Part, ValueId};

/// No operation: not matched.
const NONE: u32 = u32::MAX;
/// The pop of a copy that stays.
const STAYS: u32 = u32::MAX - 1;
/// How many steps the check of the pairs near a new pair counts as.
const STEPS_PER_CHECK: u64 = 16;

/// Decides a stack by guesses. None if no guess is found.
pub fn guess(part: &Part, limits: Limits) -> Result<Option<Answer>, GaveUp> {
    let is_other = |call: &Call| !(is_push(call) || is_pop(call) || call.is_pending() || call.result == ValueId::EMPTY);
    if part.calls.iter().any(is_other) {
        return Ok(None);
    }
    let budget = &mut Budget::new(limits);
    let mut copies = Copies::new(part, budget)?;
    if !copies.match_all(budget)? {
        return Ok(None);
    }
    copies.take_crossing_apart(budget)?;
    loop {
        if !copies.complete(budget)? {
            return Ok(None);
        }
        let answer = match Stays::with_copies(part, &copies.taken()) {
            Ok(stays) => stays.decide(true),
            Err(core) => Answer::Violation(core),
        };
        match answer {
            Answer::Violation(core) if copies.learn(&core) => {}
            Answer::Linearizable(_) => return Ok(Some(answer)),
            _ => return Ok(None),
        }
    }
}

/// A row of numbers, in which large numbers are found fast: a tree of maxima.
struct Largest {
    leaves: usize,
    tree: Vec<u32>,
}

impl Largest {
    fn new(count: u32) -> Self {
        let leaves = (count as usize).next_power_of_two();
        Self { leaves, tree: vec![0; 2 * leaves] }
    }

    fn set(&mut self, place: u32, number: u32) {
        let mut node = self.leaves + place as usize;
        self.tree[node] = number;
        while node > 1 {
            node /= 2;
            let largest = self.tree[2 * node].max(self.tree[2 * node + 1]);
            if self.tree[node] == largest {
                break;
            }
            self.tree[node] = largest;
        }
    }

    /// Calls `visit` with the places from the first up to, but without, the second, whose numbers are more than a
    /// bound.
    fn above(&self, [from, to]: [u32; 2], bound: u32, visit: &mut impl FnMut(u32)) {
        self.descend(1, [0, self.leaves], [from as usize, to as usize], bound, visit);
    }

    fn descend(
        &self,
        node: usize,
        [start, end]: [usize; 2],
        range: [usize; 2],
        bound: u32,
        visit: &mut impl FnMut(u32),
    ) {
        if end <= range[0] || range[1] <= start || self.tree[node] <= bound {
            return;
        }
        if end - start == 1 {
            return visit(start as u32);
        }
        let middle = start.midpoint(end);
        self.descend(2 * node, [start, middle], range, bound, visit);
        self.descend(2 * node + 1, [middle, end], range, bound, visit);
    }
}

/// A push and its pop.
type Pair = [u32; 2];

struct Copies<'a> {
    part: &'a Part<'a>,
    events: Vec<Endpoint>,
    /// How many operations are open at a time, at most.
    width: u32,
    partners: Partners,
    /// For each push its pop, for each pop its push.
    partner: Vec<u32>,
    /// At the call of each push, the call of its pop.
    popped: Largest,
    /// At the call of each pop, the return of its push, as a number that is the larger the earlier it is.
    pushed: Largest,
    /// How often each operation lost its partner.
    losses: Vec<u32>,
    /// Pairs that cannot be together, and where each pair is among them.
    impossible: Vec<Vec<Pair>>,
    impossible_with: FxHashMap<Pair, Vec<u32>>,
    /// Pops without a partner.
    waiting: VecDeque<u32>,
    mixed: u32,
    scratch: Vec<u32>,
}

impl<'a> Copies<'a> {
    fn new(part: &'a Part<'a>, budget: &mut Budget) -> Result<Self, GaveUp> {
        let events = part.events();
        let partners = Partners::new(part, &events, budget)?;
        let (mut open, mut width) = (0_u32, 0);
        for event in &events {
            match event {
                Endpoint::Call(_) => open += 1,
                Endpoint::Return(_) => open -= 1,
                Endpoint::Nothing => {}
            }
            width = width.max(open);
        }
        let count = part.calls.len();
        Ok(Self {
            part,
            events,
            width,
            partners,
            partner: vec![NONE; count],
            popped: Largest::new(part.moments),
            pushed: Largest::new(part.moments),
            losses: vec![0; count],
            impossible: Vec::new(),
            impossible_with: FxHashMap::default(),
            waiting: VecDeque::new(),
            mixed: 0,
            scratch: Vec::new(),
        })
    }

    fn call(&self, at: u32) -> &'a Call {
        &self.part.calls[at as usize]
    }

    /// The call and the return of a pop.
    fn times(&self, pop: u32) -> [u32; 2] {
        match pop {
            STAYS => [self.part.moments + 1, self.part.moments + 2],
            pop => [self.call(pop).call, self.call(pop).ret],
        }
    }

    /// Whether a push must have a pop, or stay.
    fn counts(&self, at: u32) -> bool {
        is_push(self.call(at)) && !self.call(at).is_pending()
    }

    fn may_stay(&self, push: u32) -> bool {
        self.partners.until[push as usize] == Call::NEVER
    }

    fn join(&mut self, [push, pop]: Pair) {
        self.partner[push as usize] = pop;
        self.popped.set(self.call(push).call, self.times(pop)[0]);
        if pop != STAYS {
            self.partner[pop as usize] = push;
            self.pushed.set(self.call(pop).call, u32::MAX - self.call(push).ret);
        }
    }

    /// Takes a pair apart.
    fn separate(&mut self, push: u32) {
        let pop = std::mem::replace(&mut self.partner[push as usize], NONE);
        self.popped.set(self.call(push).call, 0);
        self.losses[push as usize] += 1;
        if pop != STAYS {
            self.partner[pop as usize] = NONE;
            self.pushed.set(self.call(pop).call, 0);
            self.losses[pop as usize] += 1;
            self.waiting.push_back(pop);
        }
    }

    /// Matches all operations. Pairs may cross. Returns whether there is a match. If not all partners are known, some
    /// operations may have none.
    fn match_all(&mut self, budget: &mut Budget) -> Result<bool, GaveUp> {
        let (_, order) = inside(self.part);
        let mut partner = vec![NONE; self.partner.len()];
        let mut places = vec![NONE; self.partner.len()];
        for (place, &at) in (0..).zip(&order) {
            places[at as usize] = place;
            if is_push(self.call(at)) {
                continue;
            }
            let pushes = self.partners.pushes.of(at as usize).iter().copied();
            let inside = pushes.filter(|&push| places[push as usize] != NONE && partner[push as usize] == NONE);
            if let Some(push) = inside.max_by_key(|&push| places[push as usize]) {
                (partner[at as usize], partner[push as usize]) = (push, at);
            }
        }
        let count = self.partner.len() as u32;
        let mut paths = Paths { from: vec![NONE; count as usize], reached: Vec::new() };
        for pop in 0..count {
            if !is_pop(self.call(pop)) {
                continue;
            }
            let is_free = |push: u32, partner: &[u32]| partner[push as usize] == NONE;
            if partner[pop as usize] == NONE
                && !paths.augment(pop, &self.partners.pushes, &mut partner, is_free, budget)?
            {
                if self.partners.are_all {
                    return Ok(false);
                }
                self.waiting.push_back(pop);
            }
        }
        for push in (0..count).filter(|&at| self.counts(at)) {
            let is_free = |pop: u32, partner: &[u32]| match partner[pop as usize] {
                NONE => true,
                push => self.may_stay(push) || !self.counts(push),
            };
            if partner[push as usize] == NONE
                && !self.may_stay(push)
                && !paths.augment(push, &self.partners.pops, &mut partner, is_free, budget)?
                && self.partners.are_all
            {
                return Ok(false);
            }
        }
        for push in 0..count {
            match partner[push as usize] {
                _ if !is_push(self.call(push)) => {}
                NONE if self.call(push).is_pending() || !self.may_stay(push) => {}
                NONE => self.join([push, STAYS]),
                pop => self.join([push, pop]),
            }
        }
        Ok(true)
    }

    /// Takes pairs apart until none cross, those that cross most first.
    fn take_crossing_apart(&mut self, budget: &mut Budget) -> Result<(), GaveUp> {
        let mut crossing: Vec<(usize, u32)> = Vec::new();
        let mut others = Vec::new();
        for push in 0..self.partner.len() as u32 {
            if is_push(self.call(push)) && self.partner[push as usize] != NONE {
                others.clear();
                self.find_crossing([push, self.partner[push as usize]], &mut others);
                crossing.extend((!others.is_empty()).then_some((others.len(), push)));
                budget.spend(0)?;
            }
        }
        crossing.sort_unstable();
        for (_, push) in crossing.into_iter().rev() {
            others.clear();
            self.find_crossing([push, self.partner[push as usize]], &mut others);
            if !others.is_empty() {
                self.separate(push);
            }
        }
        Ok(())
    }

    /// Appends the pushes of the pairs that a pair crosses.
    fn find_crossing(&self, [push, pop]: Pair, others: &mut Vec<u32>) {
        let Call { call, ret, .. } = *self.call(push);
        let [pop_call, pop_ret] = self.times(pop);
        let to = pop_call.min(self.part.moments);
        if ret >= to {
            return;
        }
        let at = |moment: u32| match self.events[moment as usize] {
            Endpoint::Call(at) if self.call(at).ret < pop_call => Some(at),
            _ => None,
        };
        self.popped.above([ret + 1, to], pop_ret, &mut |moment| others.extend(at(moment)));
        let push_of = |pop: u32| self.partner[pop as usize];
        self.pushed.above([ret + 1, to], u32::MAX - call, &mut |moment| others.extend(at(moment).map(push_of)));
    }

    /// Finds the pushes of the pairs that must be taken apart for a new pair.
    fn find_in_the_way(&self, pair: Pair, others: &mut Vec<u32>) {
        others.clear();
        let [push, pop] = pair;
        if self.partner[push as usize] != NONE {
            others.push(push);
        }
        if pop != STAYS && self.partner[pop as usize] != NONE {
            others.push(self.partner[pop as usize]);
        }
        self.find_crossing(pair, others);
        for &number in self.impossible_with.get(&pair).into_iter().flatten() {
            let rest = || self.impossible[number as usize].iter().filter(|&&other| other != pair);
            if rest().all(|&[push, pop]| self.partner[push as usize] == pop && !others.contains(&push)) {
                others.extend(rest().map(|&[push, _]| push).min_by_key(|&push| self.weight(push)));
            }
        }
        others.sort_unstable();
        others.dedup();
    }

    /// How much a pair counts that must be taken apart.
    fn weight(&self, push: u32) -> u32 {
        let pop = self.partner[push as usize];
        4 + self.losses[push as usize] + if pop == STAYS { 4 } else { self.losses[pop as usize] }
    }

    /// Gives a partner to every operation. Returns whether that is possible.
    fn complete(&mut self, budget: &mut Budget) -> Result<bool, GaveUp> {
        loop {
            while let Some(pop) = self.waiting.pop_front() {
                if self.partner[pop as usize] == NONE && !self.place(pop, budget)? {
                    return Ok(false);
                }
            }
            let mut is_complete = true;
            for push in 0..self.partner.len() as u32 {
                if self.partner[push as usize] == NONE && self.counts(push) {
                    is_complete = false;
                    if !self.place(push, budget)? {
                        return Ok(false);
                    }
                }
            }
            if is_complete {
                return Ok(true);
            }
        }
    }

    /// Gives a partner to an operation. Returns whether there is one.
    fn place(&mut self, at: u32, budget: &mut Budget) -> Result<bool, GaveUp> {
        let of_push = is_push(self.call(at));
        let partners = if of_push { &self.partners.pops } else { &self.partners.pushes };
        let stays = (of_push && self.may_stay(at)).then_some(STAYS);
        let mut others = std::mem::take(&mut self.scratch);
        let mut best: Option<(u32, Pair)> = None;
        for partner in partners.of(at as usize).iter().copied().chain(stays) {
            let pair = if of_push { [at, partner] } else { [partner, at] };
            self.find_in_the_way(pair, &mut others);
            budget.spend_many(1 + others.len() as u64 / 4, 0)?;
            let weight = others.iter().map(|&push| self.weight(push)).sum::<u32>();
            // Equal choices are mixed, so that operations do not take each other's partners for ever.
            self.mixed = self.mixed.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
            let key = if weight == 0 { 0 } else { 4 * weight + (self.mixed >> 29) };
            if best.is_none_or(|(least, _)| key < least) {
                best = Some((key, pair));
            }
            if key == 0 {
                break;
            }
        }
        let found = best.is_some();
        if let Some((_, pair)) = best {
            self.find_in_the_way(pair, &mut others);
            for &push in &others {
                self.separate(push);
            }
            self.join(pair);
            while let Some(core) = self.tangled_near(pair) {
                budget.spend_many(STEPS_PER_CHECK * core.len() as u64, 0)?;
                self.forbid(&core, Some(pair[0]));
            }
            budget.spend_many(STEPS_PER_CHECK, 0)?;
        }
        self.scratch = others;
        Ok(found)
    }

    /// Remembers that some pairs cannot be together, and takes one of them apart. It is not the pair of the push
    /// `but`, if there is another.
    fn forbid(&mut self, pushes: &[u32], but: Option<u32>) {
        let number = self.impossible.len() as u32;
        let pairs: Vec<Pair> = pushes.iter().map(|&push| [push, self.partner[push as usize]]).collect();
        for &pair in &pairs {
            self.impossible_with.entry(pair).or_default().push(number);
        }
        self.impossible.push(pairs);
        let others = pushes.iter().copied().filter(|&push| Some(push) != but);
        if let Some(push) = others.min_by_key(|&push| self.weight(push)).or(but) {
            self.separate(push);
        }
    }

    /// The pushes of a few pairs near a pair that cannot be nested, if there are such.
    fn tangled_near(&self, [push, pop]: Pair) -> Option<Vec<u32>> {
        let mut near: Vec<u32> = Vec::new();
        let mut add = |from: u32, to: u32| {
            let range = from.saturating_sub(self.width) as usize..(to + self.width).min(self.part.moments) as usize;
            for event in &self.events[range] {
                let (Endpoint::Call(at) | Endpoint::Return(at)) = *event else { continue };
                let push = if is_push(self.call(at)) { at } else { self.partner[at as usize] };
                if push < STAYS && self.partner[push as usize] != NONE {
                    near.push(push);
                }
            }
        };
        add(self.call(push).call, self.call(push).ret.min(self.part.moments));
        if pop != STAYS {
            add(self.call(pop).call, self.call(pop).ret);
        }
        near.sort_unstable();
        near.dedup();
        near.retain(|&push| {
            let [_, from, to, _] = self.gaps(push);
            from < to
        });
        let mut left = self.tangled(&near);
        let mut at = 0;
        while at < left.len() {
            let mut fewer = left.clone();
            fewer.remove(at);
            match self.tangled(&fewer) {
                tangled if tangled.is_empty() => at += 1,
                tangled => left = tangled,
            }
        }
        (!left.is_empty()).then_some(left)
    }

    /// The gaps of a pair: see [`Nest::values`].
    fn gaps(&self, push: u32) -> [u32; 4] {
        let Call { call, ret, .. } = *self.call(push);
        let [pop_call, pop_ret] = self.times(self.partner[push as usize]);
        [call, ret.min(pop_ret), pop_call.max(call), pop_ret]
    }

    /// Those of some pairs that cannot be nested.
    fn tangled(&self, pushes: &[u32]) -> Vec<u32> {
        let mut values: Vec<[u32; 4]> = pushes.iter().map(|&push| self.gaps(push)).collect();
        let mut bounds: Vec<u32> = values.iter().flatten().copied().collect();
        bounds.sort_unstable();
        bounds.dedup();
        values.iter_mut().flatten().for_each(|gap| *gap = bounds.partition_point(|&bound| bound < *gap) as u32);
        let nest = Nest { gaps: bounds.len() as u32, values, peeks: Vec::new() };
        let mut peel = Peel::new(&nest, false);
        peel.run();
        pushes.iter().enumerate().filter(|(value, _)| peel.is_left(*value)).map(|(_, &push)| push).collect()
    }

    /// For each pop, the push whose copy it takes.
    fn taken(&self) -> Vec<u32> {
        let taken = |(at, &partner): (u32, &u32)| if is_pop(self.call(at)) { partner } else { NONE };
        (0..).zip(&self.partner).map(taken).collect()
    }

    /// Learns from the core of a decision. Returns whether there is anything to learn.
    fn learn(&mut self, core: &Core) -> bool {
        let (Core::Tangled(stays) | Core::Covered { by: stays, .. }) = core else { return false };
        let push = |stay: &Stay| self.part.calls.iter().position(|call| call.operation == stay.insert);
        let pushes: Vec<u32> = stays.iter().filter_map(push).map(|at| at as u32).collect();
        self.forbid(&pushes, None);
        !pushes.is_empty()
    }
}

/// Augmenting paths.
struct Paths {
    /// For each operation of the other side that was reached: from which one.
    from: Vec<u32>,
    reached: Vec<u32>,
}

impl Paths {
    /// Matches an operation that has no partner. The path ends at an operation that `is_free`; it loses its partner, if
    /// it has one. Returns whether there is such a path.
    fn augment(
        &mut self,
        start: u32,
        partners: &Rows<u32>,
        partner: &mut [u32],
        is_free: impl Fn(u32, &[u32]) -> bool,
        budget: &mut Budget,
    ) -> Result<bool, GaveUp> {
        for other in self.reached.drain(..) {
            self.from[other as usize] = NONE;
        }
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            budget.spend(0)?;
            for &other in partners.of(at as usize) {
                if self.from[other as usize] != NONE {
                    continue;
                }
                self.from[other as usize] = at;
                self.reached.push(other);
                if is_free(other, partner) {
                    self.turn(start, other, partner);
                    return Ok(true);
                }
                queue.push_back(partner[other as usize]);
            }
        }
        Ok(false)
    }

    /// Matches along the path that ends at an operation.
    fn turn(&self, start: u32, mut end: u32, partner: &mut [u32]) {
        let last = partner[end as usize];
        if last != NONE {
            partner[last as usize] = NONE;
        }
        loop {
            let at = self.from[end as usize];
            let next = std::mem::replace(&mut partner[at as usize], end);
            partner[end as usize] = at;
            if at == start {
                return;
            }
            end = next;
        }
    }
}
