//! Which push and which pop of a stack can belong together, if values are pushed more than once.
//!
//! While the copy of a push is inside, the other values above it come and go. So if a pop takes the copy of a push that
//! returned before the pop was called, then:
//! - every push that was called and returned between the two lost its copy before the pop returned. Go back from the
//!   call of the pop. For each value, count the pushes that lie between, and the other pops that can have taken their
//!   copies: those that return later, and were called before the pop returned. Where there are more pushes than pops, a
//!   copy is left. No push that returned earlier belongs to the pop ([`Partners::since`]).
//! - every pop that was called and returned between the two took a copy that was pushed later. Go on from the return of
//!   the push. For each value, count the pops that lie between, and the other pushes whose copies they can have taken.
//!   Where there are more pops than pushes, the copy is gone. No pop that was called later belongs to the push
//!   ([`Partners::until`]). If there is no such place, the copy may stay for ever.
//! - no `empty` was called and returned between the two.
//!
//! A push and a pop that overlap can always belong together.

use history::Method;
use order::Rows;

use super::{Budget, GaveUp};
use crate::view::{Call, Endpoint, Part, ValueId};

/// The most partners of a pop that are kept.
const MOST_PARTNERS: usize = 32;
/// How many events count as one step.
const EVENTS_PER_STEP: u64 = 64;

/// What can belong together.
pub struct Partners {
    /// For each pop: the pushes whose copies it can have taken, the likely ones first.
    pub pushes: Rows<u32>,
    /// For each push: the pops that can have taken its copy.
    pub pops: Rows<u32>,
    /// Whether these are all, and none was left out because there were too many.
    pub are_all: bool,
    /// For each pop: the first moment at which a push of its copy can return.
    since: Vec<u32>,
    /// For each push: before this moment a pop of its copy is called; [`Call::NEVER`] if its copy may stay.
    pub until: Vec<u32>,
}

/// The pops of values, and the pushes. All other operations are neither.
pub const fn is_push(call: &Call) -> bool {
    matches!(call.method, Method::Push)
}

/// See [`is_push`].
pub const fn is_pop(call: &Call) -> bool {
    matches!(call.method, Method::Pop) && call.result.is_index()
}

/// For each value, a number that is at most 0 if nothing is wrong.
struct Counts {
    of: Vec<i32>,
    changed: Vec<u32>,
}

impl Counts {
    /// Changes the number of a value. Returns whether something is wrong.
    fn add(&mut self, value: ValueId, change: i32) -> bool {
        let count = &mut self.of[value.index()];
        *count += change;
        self.changed.push(value.0);
        *count > 0
    }

    fn clear(&mut self) {
        for value in self.changed.drain(..) {
            self.of[value as usize] = 0;
        }
    }
}

impl Partners {
    /// The partners of all operations.
    pub fn new(part: &Part, events: &[Endpoint], budget: &mut Budget) -> Result<Self, GaveUp> {
        let none = Rows::default();
        let (since, until) = (vec![0; part.calls.len()], vec![Call::NEVER; part.calls.len()]);
        let mut partners = Self { pushes: none.clone(), pops: none, are_all: true, since, until };
        partners.find_limits(part, events, budget)?;
        partners.pair(part, budget)?;
        Ok(partners)
    }

    fn find_limits(&mut self, part: &Part, events: &[Endpoint], budget: &mut Budget) -> Result<(), GaveUp> {
        let mut counts = Counts { of: vec![0; part.values.len()], changed: Vec::new() };
        let mut open: Vec<u32> = Vec::new();
        let call = |at: u32| &part.calls[at as usize];
        for (moment, event) in (0..).zip(events) {
            let looked_at = match *event {
                Endpoint::Nothing => continue,
                Endpoint::Call(at) => {
                    let mut looked_at = 0;
                    if is_pop(call(at)) {
                        counts.clear();
                        for &pop in open.iter().filter(|&&other| is_pop(call(other))) {
                            counts.add(call(pop).result, -1);
                        }
                        self.since[at as usize] = since(part, events, call(at), &mut counts);
                        looked_at = moment - self.since[at as usize];
                    }
                    open.push(at);
                    looked_at
                }
                Endpoint::Return(at) => {
                    open.retain(|&other| other != at);
                    if !is_push(call(at)) {
                        continue;
                    }
                    counts.clear();
                    for &push in open.iter().filter(|&&other| is_push(call(other))) {
                        counts.add(call(push).argument, -1);
                    }
                    self.until[at as usize] = until(part, events, call(at), &mut counts);
                    self.until[at as usize].min(part.moments) - moment
                }
            };
            budget.spend_many(1 + u64::from(looked_at) / EVENTS_PER_STEP, 0)?;
        }
        Ok(())
    }

    /// Finds the partners. If a pop has too many, those are kept that fit best if every operation takes effect in the
    /// middle of its time: as many copies of the value, and as many values, are inside before the push and after the
    /// pop. Then the last pushed are kept.
    fn pair(&mut self, part: &Part, budget: &mut Budget) -> Result<(), GaveUp> {
        let call = |at: u32| &part.calls[at as usize];
        let (inside, _) = inside(part);
        let of = (0..).zip(part.calls).filter(|(_, call)| is_push(call));
        let mut pushes: Vec<(usize, u32)> = of.map(|(at, call)| (call.argument.index(), at)).collect();
        pushes.sort_unstable_by_key(|&(_, at)| (call(at).ret, at));
        let by_value = Rows::new(part.values.len(), pushes.iter().copied());
        let mut pairs: Vec<(usize, u32)> = Vec::new();
        let mut found: Vec<u32> = Vec::new();
        for (pop, of_pop) in (0_u32..).zip(part.calls).filter(|(_, call)| is_pop(call)) {
            let of_value = by_value.of(of_pop.result.index());
            let first = of_value.partition_point(|&push| call(push).ret < self.since[pop as usize]);
            let can_belong = |&push: &u32| call(push).call < of_pop.ret && of_pop.call < self.until[push as usize];
            found.clear();
            found.extend(of_value[first..].iter().copied().filter(can_belong));
            let [of_value, all] = inside[pop as usize];
            let misfit = |push: u32| {
                let [before, all_before] = inside[push as usize];
                before.abs_diff(of_value) + all_before.abs_diff(all)
            };
            found.sort_by_cached_key(|&push| (misfit(push), std::cmp::Reverse((call(push).ret, push))));
            self.are_all &= found.len() <= MOST_PARTNERS;
            found.truncate(MOST_PARTNERS);
            pairs.extend(found.iter().map(|&push| (pop as usize, push)));
            budget.spend(0)?;
        }
        self.pushes = Rows::new(part.calls.len(), pairs.iter().copied());
        self.pops = Rows::new(part.calls.len(), pairs.iter().map(|&(pop, push)| (push as usize, pop as u32)));
        Ok(())
    }
}

/// If every operation takes effect in the middle of its time: how many copies of its value, and how many values, are
/// inside before each push and after each pop. And the operations in that order.
pub fn inside(part: &Part) -> (Vec<[i32; 2]>, Vec<u32>) {
    let mut order: Vec<u32> =
        (0..).zip(part.calls).filter(|(_, it)| is_push(it) || is_pop(it)).map(|(at, _)| at).collect();
    let twice_the_middle = |at: u32| {
        let Call { call, ret, .. } = part.calls[at as usize];
        call + ret.min(part.moments)
    };
    order.sort_unstable_by_key(|&at| (twice_the_middle(at), at));
    let mut inside = vec![[0; 2]; part.calls.len()];
    let mut copies = vec![0_i32; part.values.len()];
    let mut all = 0_i32;
    for &at in &order {
        let call = &part.calls[at as usize];
        if is_push(call) {
            let copies = &mut copies[call.argument.index()];
            inside[at as usize] = [*copies, all];
            *copies += 1;
            all += 1;
        } else {
            let copies = &mut copies[call.result.index()];
            *copies -= 1;
            all -= 1;
            inside[at as usize] = [*copies, all];
        }
    }
    (inside, order)
}

/// The first moment at which a push can return whose copy a pop took. The pops that are open at its call are counted.
fn since(part: &Part, events: &[Endpoint], pop: &Call, counts: &mut Counts) -> u32 {
    let call = |at: u32| &part.calls[at as usize];
    for event in &events[pop.call as usize + 1..pop.ret as usize] {
        if let Endpoint::Call(at) = *event
            && is_pop(call(at))
        {
            counts.add(call(at).result, -1);
        }
    }
    for moment in (0..pop.call).rev() {
        match events[moment as usize] {
            Endpoint::Call(at) if call(at).ret < pop.call => {
                let between = call(at);
                let is_wrong =
                    if is_push(between) { counts.add(between.argument, 1) } else { between.result == ValueId::EMPTY };
                if is_wrong {
                    return moment;
                }
            }
            Endpoint::Return(at) if is_pop(call(at)) => _ = counts.add(call(at).result, -1),
            _ => {}
        }
    }
    0
}

/// Before which moment a pop is called that takes the copy of a push; [`Call::NEVER`] if the copy may stay. The pushes
/// that are open at its return are counted.
fn until(part: &Part, events: &[Endpoint], push: &Call, counts: &mut Counts) -> u32 {
    let call = |at: u32| &part.calls[at as usize];
    for event in &events[push.call as usize + 1..push.ret as usize] {
        if let Endpoint::Return(at) = *event
            && is_push(call(at))
        {
            counts.add(call(at).argument, -1);
        }
    }
    for moment in push.ret + 1..part.moments {
        match events[moment as usize] {
            Endpoint::Return(at) if call(at).call > push.ret => {
                let between = call(at);
                let is_wrong =
                    if is_pop(between) { counts.add(between.result, 1) } else { between.result == ValueId::EMPTY };
                if is_wrong {
                    return moment;
                }
            }
            Endpoint::Call(at) if is_push(call(at)) => _ = counts.add(call(at).argument, -1),
            _ => {}
        }
    }
    Call::NEVER
}
