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
//!
//! The two counts are one: if time goes backwards, a push is a pop and a pop is a push. So both are made by one
//! [`Direction`] of time. It counts block by block: a block in which no count can become wrong is passed at once.

use history::Method;
use order::Rows;

use crate::search::{Allowance, GaveUp};
use crate::view::{Call, Endpoint, Part, ValueId};

/// How many events, or entries of blocks, count as one step.
const EVENTS_PER_STEP: u64 = 64;
/// How many moments a block has. Without blocks, a stack of 8 threads, 50,000 operations and 10 values takes 713 ms
/// instead of 488; with 16, 515 ms.
const BLOCK: u32 = 64;

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

impl Partners {
    /// The partners of all operations.
    pub fn new(part: &Part, events: &[Endpoint], budget: &mut Allowance) -> Result<Self, GaveUp> {
        let until = Direction::forwards(part, events).limits(budget)?;
        let mut since = Direction::backwards(part, events).limits(budget)?;
        for moment in &mut since {
            *moment = (part.moments - 1).saturating_sub(*moment);
        }
        let none = Rows::default();
        let mut partners = Self { pushes: none.clone(), pops: none, are_all: true, since, until };
        partners.pair(part, events, budget)?;
        Ok(partners)
    }

    /// Finds the partners. If a pop has too many, those are kept that fit best if every operation takes effect in the
    /// middle of its time: as many copies of the value, and as many values, are inside before the push and after the
    /// pop. Then the last pushed are kept.
    fn pair(&mut self, part: &Part, events: &[Endpoint], budget: &mut Allowance) -> Result<(), GaveUp> {
        let call = |at: u32| &part.calls[at as usize];
        let (inside, _) = inside(part);
        // The pushes that returned, in this order; and those that are open.
        let returned = events.iter().filter_map(|event| match *event {
            Endpoint::Return(at) if is_push(call(at)) => Some((call(at).argument.index(), at)),
            _ => None,
        });
        let by_value = Rows::new(part.values.len(), returned);
        let mut open: Vec<u32> = Vec::new();
        let mut pairs: Vec<[u32; 2]> = Vec::new();
        let mut found: Vec<u32> = Vec::new();
        for &event in events {
            let pop = match event {
                Endpoint::Call(at) if is_push(call(at)) => {
                    open.push(at);
                    continue;
                }
                Endpoint::Return(at) if is_push(call(at)) => {
                    open.retain(|&push| push != at);
                    continue;
                }
                Endpoint::Return(at) if is_pop(call(at)) => at,
                _ => continue,
            };
            let of_pop = call(pop);
            let of_value = by_value.of(of_pop.result.index());
            let first = of_value.partition_point(|&push| call(push).ret < self.since[pop as usize]);
            let last = of_value.partition_point(|&push| call(push).ret < of_pop.ret);
            let overlapping = open.iter().filter(|&&push| call(push).argument == of_pop.result);
            let can_belong = |&push: &u32| of_pop.call < self.until[push as usize];
            found.clear();
            found.extend(of_value[first..last].iter().chain(overlapping).copied().filter(can_belong));
            let count = found.len();
            let [of_value, all] = inside[pop as usize];
            let misfit = |push: u32| {
                let [before, all_before] = inside[push as usize];
                before.abs_diff(of_value) + all_before.abs_diff(all)
            };
            found.sort_by_cached_key(|&push| (misfit(push), std::cmp::Reverse((call(push).ret, push))));
            self.are_all &= count <= part.knobs.stack.partners;
            found.truncate(part.knobs.stack.partners);
            pairs.extend(found.iter().map(|&push| [pop, push]));
            budget.spend_many(1 + count as u64 / EVENTS_PER_STEP, 0)?;
        }
        self.pushes = Rows::new(part.calls.len(), pairs.iter().map(|&[pop, push]| (pop as usize, push)));
        self.pops = Rows::new(part.calls.len(), pairs.iter().map(|&[pop, push]| (push as usize, pop)));
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

/// An operation in one direction of time, which is either way from its `start` to its `end`.
#[derive(Copy, Clone)]
struct Span {
    start: u32,
    end: u32,
    /// Its value. An `empty` has a value of its own, which is never pushed.
    value: u32,
    role: Role,
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Role {
    /// Its limit is wanted: a push if time goes forwards, a pop if it goes backwards. It can be the partner of an
    /// operation of the other role that ends after its start.
    Own,
    /// If it lies between an operation and its partner, it needs a partner between them, too. An `empty` has none.
    Other,
    Neither,
}

/// What happens to the count of a value in a block: the sum of its changes, and the most that it is on the way.
#[derive(Copy, Clone, Default)]
struct Change {
    value: u32,
    sum: i32,
    most: i32,
}

/// One direction of time.
struct Direction {
    events: Vec<Endpoint>,
    spans: Vec<Span>,
    blocks: Rows<Change>,
    values: usize,
}

/// For each value, a number that is at most 0 if nothing is wrong.
struct Counts {
    of: Vec<i32>,
    changed: Vec<u32>,
}

impl Counts {
    fn new(values: usize) -> Self {
        Self { of: vec![0; values], changed: Vec::new() }
    }

    /// Changes the number of a value. Returns it.
    fn add(&mut self, value: u32, change: i32) -> i32 {
        let count = &mut self.of[value as usize];
        *count += change;
        self.changed.push(value);
        *count
    }

    fn clear(&mut self) {
        for value in self.changed.drain(..) {
            self.of[value as usize] = 0;
        }
    }
}

impl Direction {
    fn forwards(part: &Part, events: &[Endpoint]) -> Self {
        let span = |call: &Call| {
            let role = if is_push(call) { Role::Own } else { Role::Other };
            Self::span(part, call, role, [call.call, call.ret])
        };
        Self::new(part, events.to_vec(), part.calls.iter().map(span).collect())
    }

    fn backwards(part: &Part, events: &[Endpoint]) -> Self {
        let turned = |event: &Endpoint| match *event {
            Endpoint::Call(at) => Endpoint::Return(at),
            Endpoint::Return(at) => Endpoint::Call(at),
            Endpoint::Nothing => Endpoint::Nothing,
        };
        let span = |call: &Call| {
            let role = match call {
                // It need not have happened.
                call if call.is_pending() => Role::Neither,
                call if is_pop(call) => Role::Own,
                _ => Role::Other,
            };
            let last = part.moments - 1;
            Self::span(part, call, role, [last.saturating_sub(call.ret), last - call.call])
        };
        Self::new(part, events.iter().rev().map(turned).collect(), part.calls.iter().map(span).collect())
    }

    fn span(part: &Part, call: &Call, role: Role, [start, end]: [u32; 2]) -> Span {
        let value = match call {
            call if is_push(call) => call.argument.0,
            call if is_pop(call) => call.result.0,
            call if call.result == ValueId::EMPTY => part.values.len() as u32,
            _ => return Span { start, end, value: 0, role: Role::Neither },
        };
        Span { start, end, value, role }
    }

    fn new(part: &Part, events: Vec<Endpoint>, spans: Vec<Span>) -> Self {
        let values = part.values.len() + 1;
        let mut direction = Self { events, spans, blocks: Rows::default(), values };
        let mut changes: Vec<(usize, Change)> = Vec::new();
        // For each value, the place of its change in the last block that has one.
        let mut places = vec![usize::MAX; values];
        for (block, events) in direction.events.chunks(BLOCK as usize).enumerate() {
            let first = changes.len();
            for &event in events {
                let Some((value, by)) = direction.change(event, None) else { continue };
                let place = &mut places[value as usize];
                if !(first..changes.len()).contains(place) {
                    *place = changes.len();
                    changes.push((block, Change { value, sum: 0, most: i32::MIN }));
                }
                let (_, change) = &mut changes[*place];
                change.sum += by;
                change.most = change.most.max(change.sum);
            }
        }
        direction.blocks = Rows::new(direction.events.len().div_ceil(BLOCK as usize), changes.iter().copied());
        direction
    }

    /// The value whose count changes at an event, and by how much. An operation that started before a moment does not
    /// lie after it.
    fn change(&self, event: Endpoint, after: Option<u32>) -> Option<(u32, i32)> {
        match event {
            Endpoint::Nothing => None,
            Endpoint::Call(at) => {
                let span = &self.spans[at as usize];
                (span.role == Role::Own).then_some((span.value, -1))
            }
            Endpoint::Return(at) => {
                let span = &self.spans[at as usize];
                let counts = span.role == Role::Other && after.is_none_or(|after| span.start > after);
                counts.then_some((span.value, 1))
            }
        }
    }

    /// For each operation whose limit is wanted: its partner starts before this moment; [`Call::NEVER`] if it may have
    /// none.
    fn limits(&self, budget: &mut Allowance) -> Result<Vec<u32>, GaveUp> {
        let mut limits = vec![Call::NEVER; self.spans.len()];
        let mut counts = Counts::new(self.values);
        let mut open: Vec<u32> = Vec::new();
        for &event in &self.events {
            match event {
                Endpoint::Nothing => {}
                Endpoint::Call(at) => open.push(at),
                Endpoint::Return(at) => {
                    open.retain(|&other| other != at);
                    if self.spans[at as usize].role == Role::Own {
                        let (limit, looked_at) = self.limit(at, &open, &mut counts);
                        limits[at as usize] = limit;
                        budget.spend_many(1 + looked_at / EVENTS_PER_STEP, 0)?;
                    }
                }
            }
        }
        Ok(limits)
    }

    /// The limit of an operation, and how many events and entries were looked at. `open` are the other operations that
    /// are open at its end.
    fn limit(&self, of: u32, open: &[u32], counts: &mut Counts) -> (u32, u64) {
        let Span { start, end, .. } = self.spans[of as usize];
        let ended = self.events[start as usize + 1..end as usize].iter().filter_map(|event| match *event {
            Endpoint::Return(at) => Some(at),
            _ => None,
        });
        counts.clear();
        let mut looked_at = u64::from(end - start);
        // From this moment on, all that ends has started after the end of the operation.
        let mut settled = 0;
        for span in open.iter().copied().chain(ended).map(|at| &self.spans[at as usize]) {
            match span.role {
                Role::Own => _ = counts.add(span.value, -1),
                Role::Other => settled = settled.max(span.end),
                Role::Neither => {}
            }
        }
        let mut moment = end + 1;
        while let Some(&event) = self.events.get(moment as usize) {
            looked_at += 1;
            if moment.is_multiple_of(BLOCK) && moment > settled {
                let changes = self.blocks.of((moment / BLOCK) as usize);
                looked_at += changes.len() as u64;
                if changes.iter().all(|change| counts.of[change.value as usize] + change.most <= 0) {
                    for change in changes {
                        counts.add(change.value, change.sum);
                    }
                    moment += BLOCK;
                    continue;
                }
            }
            if let Some((value, by)) = self.change(event, Some(end))
                && counts.add(value, by) > 0
            {
                return (moment, looked_at);
            }
            moment += 1;
        }
        (Call::NEVER, looked_at)
    }
}
