//! Guesses which pop of a stack takes the copy of which push, where values are pushed more than once.
//!
//! **Definition.** A guess is a matching: each pop has a push of its value, each push at most one pop, and a push
//! without a pop stays. The history is linearizable exactly if the pairs of some matching can be nested. This module
//! repairs a matching until its pairs can be nested, or until it finds no way to go on. Then the search decides.
//!
//! **Invariant.** Pairs do not cross, and no pairs are together that are remembered as impossible together.
//!
//! **What it is worth.** 32 threads, 20,000 operations and 10 values take 352 ms with the guess, and more than 12 s
//! without; 8 threads and 50,000 operations 480 ms and 3,303 ms.
//!
//! If the matching is known, a near-linear algorithm decides the stack ([`fast`]). So only the pairs have to be found,
//! not an order. Pairs *cross* if one certainly begins before the other, certainly ends before the other, and both
//! copies are certainly inside at one time. No pairs cross in a linearization.
//!
//! - At first, every pop takes the last pushed copy that [can belong](super::partners) to it, as if all operations took
//!   effect in the middle of their times. Pairs that cross others are taken apart.
//! - Then the operations without a partner get one, one after the other, along an augmenting path: the operation takes
//!   a partner from another one, which takes a partner from the next, until one is free. The path may cost pairs that
//!   are not on it, since its new pairs cross them. The cheapest path is taken. A pair costs the more, the more often
//!   its operations lost their partners. Of equally cheap operations on a path, the one is followed first that is
//!   nearest to a free copy: free copies can be far away.
//! - More than two pairs can be in each other's way although no two of them cross. After each new pair, those nearby
//!   are decided by the near-linear algorithm. If they cannot be nested, a few of them are remembered as impossible
//!   together. So are those that cannot be nested when all operations have partners.
//!
//! Only a linearization proves anything. If no guess is found, the search decides.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use model::object::{Core, Stay};
use rustc_hash::FxHashMap;

use super::fast;
use super::maxima::Maxima;
use super::partners::{Partners, inside, is_pop, is_push};
use super::peel::{Nest, Peel};
use crate::answer::Answer;
use crate::containers::Stays;
use crate::search::{Allowance, GaveUp, Limits};
use crate::view::{Call, Endpoint, Part, ValueId};

/// No operation: not matched.
const NONE: u32 = u32::MAX;
/// The pop of a copy that stays.
const STAYS: u32 = u32::MAX - 1;
/// How many steps the check of the pairs near a new pair counts as.
const STEPS_PER_CHECK: u64 = 16;

/// A guess, which goes on where it stopped.
pub struct Guess<'a> {
    part: &'a Part<'a>,
    /// The pairs so far; none before the partners are known.
    copies: Option<Copies<'a>>,
    is_over: bool,
}

impl<'a> Guess<'a> {
    /// The beginning.
    pub fn new(part: &'a Part<'a>) -> Self {
        let is_other =
            |call: &Call| !(is_push(call) || is_pop(call) || call.is_pending() || call.result == ValueId::EMPTY);
        Self { part, copies: None, is_over: part.calls.iter().any(is_other) }
    }

    /// Goes on. None if there is no guess.
    pub fn run(&mut self, limits: Limits) -> Result<Option<Answer>, GaveUp> {
        if self.is_over {
            return Ok(None);
        }
        let budget = &mut Allowance::new(limits);
        let copies = match &mut self.copies {
            Some(copies) => copies,
            copies => copies.insert(Copies::new(self.part, budget)?),
        };
        if !copies.is_apart {
            copies.take_crossing_apart(budget)?;
        }
        while copies.complete(budget)? {
            let tangles = copies.tangles(budget)?;
            for pushes in &tangles {
                copies.forbid(pushes, None);
            }
            if !tangles.is_empty() {
                continue;
            }
            let answer = match Stays::with_copies(self.part, &copies.taken()) {
                Ok(stays) => fast::check(&stays, true),
                Err(core) => Answer::Violation(core),
            };
            match answer {
                Answer::Violation(core) if copies.learn(&core) => {}
                Answer::Linearizable(_) => return Ok(Some(answer)),
                _ => break,
            }
        }
        self.is_over = true;
        Ok(None)
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
    popped: Maxima,
    /// At the call of each pop, the return of its push, as a number that is the larger the earlier it is.
    pushed: Maxima,
    /// How often each operation lost its partner.
    losses: Vec<u32>,
    /// Pairs that cannot be together, and where each pair is among them.
    impossible: Vec<Vec<Pair>>,
    impossible_with: FxHashMap<Pair, Vec<u32>>,
    /// Whether the pairs of the beginning that cross others are taken apart.
    is_apart: bool,
    /// Pops without a partner.
    waiting: VecDeque<u32>,
    /// The pushes without a partner: their values, their returns, and they themselves.
    free: BTreeSet<(ValueId, u32, u32)>,
}

impl<'a> Copies<'a> {
    fn new(part: &'a Part<'a>, budget: &mut Allowance) -> Result<Self, GaveUp> {
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
        let pushes = (0..).zip(part.calls).filter(|(_, call)| is_push(call));
        let free = pushes.map(|(at, call)| (call.argument, call.ret, at)).collect();
        let mut copies = Self {
            part,
            events,
            width,
            partners,
            partner: vec![NONE; count],
            popped: Maxima::new(vec![0; part.moments as usize]),
            pushed: Maxima::new(vec![0; part.moments as usize]),
            losses: vec![0; count],
            impossible: Vec::new(),
            impossible_with: FxHashMap::default(),
            is_apart: false,
            waiting: VecDeque::new(),
            free,
        };
        copies.match_last_pushed();
        Ok(copies)
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

    /// Whether an operation is a push that must have a pop, or stay.
    fn counts(&self, at: u32) -> bool {
        is_push(self.call(at)) && !self.call(at).is_pending()
    }

    fn may_stay(&self, push: u32) -> bool {
        self.partners.until[push as usize] == Call::NEVER
    }

    fn join(&mut self, [push, pop]: Pair) {
        let Call { call, ret, argument, .. } = *self.call(push);
        self.free.remove(&(argument, ret, push));
        self.partner[push as usize] = pop;
        self.popped.set(call, self.times(pop)[0]);
        if pop != STAYS {
            self.partner[pop as usize] = push;
            self.pushed.set(self.call(pop).call, u32::MAX - ret);
        }
    }

    /// Takes a pair apart. Returns the pop.
    fn separate(&mut self, push: u32) -> u32 {
        let Call { call, ret, argument, .. } = *self.call(push);
        self.free.insert((argument, ret, push));
        let pop = std::mem::replace(&mut self.partner[push as usize], NONE);
        self.popped.set(call, 0);
        if pop != STAYS {
            self.partner[pop as usize] = NONE;
            self.pushed.set(self.call(pop).call, 0);
        }
        pop
    }

    /// Takes a pair apart that is in the way. Its pop waits for another copy.
    fn lose(&mut self, push: u32) {
        let pop = self.separate(push);
        self.losses[push as usize] += 1;
        if pop != STAYS {
            self.losses[pop as usize] += 1;
            self.waiting.push_back(pop);
        }
    }

    /// Every pop takes the copy that was pushed last. Pairs may cross, and some operations may have no partner.
    fn match_last_pushed(&mut self) {
        let (_, order) = inside(self.part);
        let mut places = vec![NONE; self.partner.len()];
        for (place, &at) in (0..).zip(&order) {
            places[at as usize] = place;
            if is_push(self.call(at)) {
                continue;
            }
            let pushes = self.partners.pushes.of(at as usize).iter().copied();
            let inside = pushes.filter(|&push| places[push as usize] != NONE && self.partner[push as usize] == NONE);
            match inside.max_by_key(|&push| places[push as usize]) {
                Some(push) => self.join([push, at]),
                None => self.waiting.push_back(at),
            }
        }
        for push in 0..self.partner.len() as u32 {
            if self.counts(push) && self.partner[push as usize] == NONE && self.may_stay(push) {
                self.join([push, STAYS]);
            }
        }
    }

    /// Takes pairs apart until none cross, those that cross most first.
    fn take_crossing_apart(&mut self, budget: &mut Allowance) -> Result<(), GaveUp> {
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
                self.lose(push);
            }
        }
        self.is_apart = true;
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
        self.popped.above([ret + 1, to], pop_ret, |moment| others.extend(at(moment)));
        let push_of = |pop: u32| self.partner[pop as usize];
        self.pushed.above([ret + 1, to], u32::MAX - call, |moment| others.extend(at(moment).map(push_of)));
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
    fn complete(&mut self, budget: &mut Allowance) -> Result<bool, GaveUp> {
        loop {
            while let Some(&pop) = self.waiting.front() {
                if self.partner[pop as usize] == NONE && !self.augment(pop, budget)? {
                    return Ok(false);
                }
                self.waiting.pop_front();
            }
            let mut is_complete = true;
            for push in 0..self.partner.len() as u32 {
                if self.partner[push as usize] == NONE && self.counts(push) {
                    is_complete = false;
                    if !self.augment(push, budget)? {
                        return Ok(false);
                    }
                }
            }
            if is_complete {
                return Ok(true);
            }
        }
    }

    /// Gives a partner to an operation, along the cheapest augmenting path. Returns whether there is one.
    fn augment(&mut self, start: u32, budget: &mut Allowance) -> Result<bool, GaveUp> {
        let of_push = is_push(self.call(start));
        let pair = |at: u32, partner: u32| if of_push { [at, partner] } else { [partner, at] };
        // For each operation that was reached: the cost, the operation before it, and what that one takes from it.
        let mut reached: FxHashMap<u32, (u64, u32, u32)> = FxHashMap::from_iter([(start, (0, NONE, NONE))]);
        let mut queue = BinaryHeap::from([Reverse((0, 0, 0, start))]);
        let mut end: Option<(u64, u32, u32)> = None;
        let mut others = Vec::new();
        while let Some(Reverse((cost, _, _, at))) = queue.pop() {
            if end.is_some_and(|(least, ..)| least <= cost) {
                break;
            }
            if reached[&at].0 < cost {
                continue;
            }
            let partners = if of_push { &self.partners.pops } else { &self.partners.pushes };
            let stays = (of_push && self.may_stay(at)).then_some(STAYS);
            for partner in partners.of(at as usize).iter().copied().chain(stays) {
                let next = if partner == STAYS { NONE } else { self.partner[partner as usize] };
                let is_reached = |cost: u64| reached.get(&next).is_some_and(|&(least, ..)| least <= cost);
                if next == at || is_reached(cost) {
                    continue;
                }
                self.find_in_the_way(pair(at, partner), &mut others);
                budget.spend_many(1 + others.len() as u64 / 4, 0)?;
                let on_path = if of_push { [at, next] } else { [self.partner[at as usize], partner] };
                let lost = others.iter().filter(|push| !on_path.contains(push));
                let cost = cost + lost.map(|&push| u64::from(self.weight(push))).sum::<u64>();
                if next >= STAYS {
                    if end.is_none_or(|(least, ..)| cost < least) {
                        end = Some((cost, at, partner));
                    }
                } else if !is_reached(cost) {
                    let distance = if of_push { 0 } else { self.distance(next) };
                    queue.push(Reverse((cost, distance, reached.len(), next)));
                    reached.insert(next, (cost, at, partner));
                }
            }
        }
        let Some((_, mut at, mut partner)) = end else { return Ok(false) };
        // The last operation of the path takes its partner first. So every state on the way is a matching.
        loop {
            let own = if of_push { at } else { self.partner[at as usize] };
            if self.partner[at as usize] != NONE {
                self.separate(own);
            }
            self.take(pair(at, partner), &mut others, budget)?;
            if at == start {
                return Ok(true);
            }
            (_, at, partner) = reached[&at];
        }
    }

    /// How far a pop is from a free copy of its value.
    fn distance(&self, pop: u32) -> u32 {
        let Call { call, result, .. } = *self.call(pop);
        let before = self.free.range((result, 0, 0)..(result, call, 0)).next_back();
        let after = self.free.range((result, call, 0)..=(result, NONE, NONE)).next();
        before.into_iter().chain(after).map(|&(_, ret, _)| ret.abs_diff(call)).min().unwrap_or(NONE)
    }

    /// Makes a pair of two operations, and takes apart what is in its way.
    fn take(&mut self, pair: Pair, others: &mut Vec<u32>, budget: &mut Allowance) -> Result<(), GaveUp> {
        self.find_in_the_way(pair, others);
        for &push in &*others {
            self.lose(push);
        }
        self.join(pair);
        budget.spend_many(STEPS_PER_CHECK, 0)?;
        while let Some(core) = self.tangled_near(pair, budget)? {
            self.forbid(&core, Some(pair[0]));
        }
        Ok(())
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
            self.lose(push);
        }
    }

    /// The pushes of a few pairs near a pair that cannot be nested, if there are such.
    fn tangled_near(&self, [push, pop]: Pair, budget: &mut Allowance) -> Result<Option<Vec<u32>>, GaveUp> {
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
        near.retain(|&push| self.is_certainly_inside(push));
        let left = self.tangled(&near);
        if left.is_empty() { Ok(None) } else { self.few_tangled(left, budget).map(Some) }
    }

    /// A few of some pairs that cannot be nested.
    fn few_tangled(&self, mut left: Vec<u32>, budget: &mut Allowance) -> Result<Vec<u32>, GaveUp> {
        let mut piece = left.len() / 2;
        while piece > 0 {
            let mut at = 0;
            while at < left.len() {
                let mut fewer = left.clone();
                fewer.drain(at..(at + piece).min(left.len()));
                budget.spend_many(fewer.len() as u64, 0)?;
                match self.tangled(&fewer) {
                    tangled if tangled.is_empty() => at += piece,
                    tangled => left = tangled,
                }
            }
            piece /= 2;
        }
        Ok(left)
    }

    /// All pairs that cannot be nested: a few of each cluster.
    fn tangles(&self, budget: &mut Allowance) -> Result<Vec<Vec<u32>>, GaveUp> {
        let pushes = (0..self.partner.len() as u32).filter(|&at| is_push(self.call(at)));
        let mut inside: Vec<u32> = pushes.filter(|&push| self.is_certainly_inside(push)).collect();
        inside.sort_unstable_by_key(|&push| self.gaps(push)[1]);
        let left = self.tangled(&inside);
        let mut reached = 0;
        let clusters = left.chunk_by(|&push, &next| {
            reached = self.gaps(push)[2].max(reached);
            self.gaps(next)[1] <= reached
        });
        clusters.map(|cluster| self.few_tangled(cluster.to_vec(), budget)).collect()
    }

    /// Whether a push has a pop, and its copy is certainly inside between them.
    fn is_certainly_inside(&self, push: u32) -> bool {
        self.partner[push as usize] != NONE && {
            let [_, from, to, _] = self.gaps(push);
            from < to
        }
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
