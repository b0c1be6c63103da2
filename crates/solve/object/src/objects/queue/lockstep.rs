//! The search for a queue. Enqueues and dequeues go in lockstep, so that the contents need not be known.
//!
//! The enqueues of a linearization are a sequence e1, e2, ..., and its dequeues of values are a sequence d1, d2, ...:
//! the dequeue di takes the value that ei put. A peek of that value stands between d(i-1) and di. The level of ei, of
//! di and of these peeks is i.
//!
//! Conversely, let two sequences be given: one of the enqueues, and one of the removals, which are here the dequeues
//! and the peeks. Both agree with real time, and have the same value on each level. They can be merged into a
//! linearization if and only if no removal of a level j returned before the call of an enqueue ei with i <= j.
//!
//! The condition is necessary, since ei comes before ej, and ej before the removal. It is also sufficient. Suppose that
//! the sequences cannot be merged. Then there is a circle of operations, each of which must come before the next.
//! Somewhere on the circle, a removal x returned before the call of an enqueue el. The circle goes on to an enqueue ei,
//! where i is l or larger. From ei it comes back to a removal y, which is x or stands before x. There are two reasons
//! why ei must come before y:
//! - The level of y is i or larger. Then so is the level of x, and the condition says that x did not return before the
//!   call of el.
//! - ei returned before the call of y. Since the enqueues agree with real time, el was called before ei returned. So x
//!   returned before the call of y, and y cannot be x or stand before x.
//!
//! An `empty` stands where as many values were dequeued as enqueued, and where all operations that are done can come
//! before all others. Enqueues whose values nobody dequeues come last. A pending enqueue may happen or not, and so may
//! a pending dequeue. A pending dequeue may be any di.
//!
//! So a state is two [frontiers](Frontier), one of each sequence, whatever the queue holds. For a fixed number of
//! processes, the number of states is polynomial. An enqueue can be next in its sequence if it is called before the
//! first return of all operations that are not done. So no removal of its level, or of a later one, returned before its
//! call. A removal or `empty` can be next if it is called before the first return of those that are not done. An
//! `empty` needs more: no enqueue that is not done may have returned before the call of the `empty`, or before the call
//! of a removal that is done.
//!
//! An operation is *ready* if it can be next. A removal is *timely* if no enqueue that is not done has returned before
//! its call. Some choices need not be tried, since any solution can be changed to one without them:
//! - A ready `empty` is done at once. A ready peek is done at once if it is timely; otherwise an `empty` might find no
//!   place any more.
//! - Of several enqueues of one value, the first to return is done first. The same holds for dequeues, if the first to
//!   return is timely; it is also done before any pending dequeue. Pending dequeues are done in the order of their
//!   calls.
//! - Let a ready enqueue and a ready, timely dequeue of one value both be the first to return of those that are left of
//!   their kind and value, and let no peek of the value be left. Then both are done at once: in any solution they can
//!   be the first two on that value, and they can come earlier. So if all values are different, only the places of the
//!   pending dequeues have to be searched.
//! - A pending dequeue does not take a value that another dequeue then lacks, nor the value of a pending enqueue that
//!   nobody saw.

use history::Method;
use model::object::Linearization;

use crate::answer::Answer;
use crate::search::frontier::{ByValue, Frontier, Slots, Timeline};
use crate::search::{Allowance, GaveUp, Limits, Seen, answer};
use crate::shards::Shards;
use crate::view::{Call, Endpoint, Part, ValueId};

/// Decides a queue.
pub fn check(part: &Part, limits: Limits) -> Result<Answer, GaveUp> {
    Ok(answer(part, linearize(part, limits)?, limits, linearize))
}

fn linearize(part: &Part, limits: Limits) -> Result<Option<Linearization>, GaveUp> {
    let sides = Sides::new(part);
    match sides.inserts.width().max(sides.removals.width()) {
        0..=64 => Lockstep::<u64>::new(sides, limits).run(),
        65..=128 => Lockstep::<u128>::new(sides, limits).run(),
        _ => Lockstep::<Box<[u64]>>::new(sides, limits).run(),
    }
}

/// The operations of a queue, in their two sequences.
struct Sides<'a> {
    part: &'a Part<'a>,
    /// The calls of the part. A pending enqueue that is the only one of its value returns when its value was first
    /// seen.
    calls: Vec<Call>,
    inserts: Timeline,
    /// Dequeues and peeks that returned.
    removals: Timeline,
    inserts_of: ByValue,
    dequeues_of: ByValue,
    peeks_of: ByValue,
    /// Pending dequeues, in the order of their calls.
    pending: Vec<u32>,
    empties: u32,
}

impl<'a> Sides<'a> {
    fn new(part: &'a Part<'a>) -> Self {
        let mut calls = part.calls.to_vec();
        let seen = Seen::new(part);
        let (mut inserts, mut dequeues, mut peeks, mut pending) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut empties = 0;
        let mut events =
            [vec![Endpoint::Nothing; part.moments as usize], vec![Endpoint::Nothing; part.moments as usize]];
        for (at, call) in (0..).zip(&mut calls) {
            let is_insert = call.method == Method::Enqueue;
            if is_insert {
                let Some(ret) = seen.return_of(call) else { continue };
                call.ret = ret;
                inserts.push((call.argument, at));
            } else if call.is_pending() {
                pending.push(at);
                continue;
            } else if call.result == ValueId::EMPTY {
                empties += 1;
            } else {
                let of = if call.method == Method::Peek { &mut peeks } else { &mut dequeues };
                of.push((call.result, at));
            }
            let events = &mut events[usize::from(!is_insert)];
            events[call.call as usize] = Endpoint::Call(at);
            if !call.is_pending() {
                events[call.ret as usize] = Endpoint::Return(at);
            }
        }
        let [inserting, removing] = events.map(|events| Timeline::new(events, calls.len()));
        let by_value = |of| ByValue::new(part.values.len(), &calls, of);
        let (inserts_of, dequeues_of, peeks_of) = (by_value(inserts), by_value(dequeues), by_value(peeks));
        Self {
            part,
            inserts: inserting,
            removals: removing,
            inserts_of,
            dequeues_of,
            peeks_of,
            pending,
            empties,
            calls,
        }
    }
}

#[derive(Clone)]
struct State<M> {
    inserted: Frontier<M>,
    removed: Frontier<M>,
    /// The value in front, if an enqueue has no dequeue yet.
    front: ValueId,
    /// How many of the pending dequeues are done.
    used: u32,
    /// How many `empty` are left.
    empties: u32,
    /// The last call of a removal that is done.
    last_call: u32,
    /// How long the two sequences are.
    lengths: [usize; 2],
}

/// A state in which there is more than one way to go on.
struct Place<M> {
    state: State<M>,
    /// Where its steps begin in the list of all steps that are still to be tried.
    steps: usize,
}

struct Lockstep<'a, M> {
    sides: Sides<'a>,
    budget: Allowance<'a>,
    enqueues: Vec<u32>,
    /// The removals so far, with their levels.
    removals: Vec<(u32, u32)>,
    places: Vec<Place<M>>,
    steps: Vec<u32>,
    failed: Shards<(Frontier<M>, Frontier<M>, ValueId), ()>,
    scratch: Vec<u32>,
}

impl<'a, M: Slots> Lockstep<'a, M> {
    fn new(sides: Sides<'a>, limits: Limits<'a>) -> Self {
        Self {
            sides,
            budget: Allowance::new(limits),
            enqueues: Vec::new(),
            removals: Vec::new(),
            places: Vec::new(),
            steps: Vec::new(),
            failed: Shards::default(),
            scratch: Vec::new(),
        }
    }

    fn run(mut self) -> Result<Option<Linearization>, GaveUp> {
        let width = self.sides.inserts.width().max(self.sides.removals.width());
        let mut state = State {
            inserted: Frontier::new(&self.sides.inserts, width),
            removed: Frontier::new(&self.sides.removals, width),
            front: ValueId::NONE,
            used: 0,
            empties: self.sides.empties,
            last_call: 0,
            lengths: [0; 2],
        };
        loop {
            if self.go_on(&mut state)? {
                return Ok(Some(self.merge(&state)));
            }
            // Back to the last state with a step left.
            loop {
                let Some(place) = self.places.last() else {
                    return Ok(None);
                };
                if self.steps.len() > place.steps {
                    state = place.state.clone();
                    break;
                }
                self.places.pop();
            }
            self.enqueues.truncate(state.lengths[0]);
            self.removals.truncate(state.lengths[1]);
            let step = self.steps.pop().expect("there are more than the place began with");
            self.take(&mut state, step)?;
        }
    }

    fn call(&self, at: u32) -> &Call {
        &self.sides.calls[at as usize]
    }

    /// Takes all steps that need no choice. Returns whether they lead to the end. If not, they lead to a new place, or
    /// to a state that failed before.
    fn go_on(&mut self, state: &mut State<M>) -> Result<bool, GaveUp> {
        loop {
            if state.front == ValueId::NONE {
                self.take_empties(state)?;
                while self.take_pairs(state)? {
                    self.take_empties(state)?;
                }
            } else {
                self.take_peeks(state)?;
            }
            if state.removed.event == self.sides.part.moments {
                return Ok(true);
            }
            let steps = self.steps.len();
            if state.front == ValueId::NONE {
                self.find_inserts(state);
            } else {
                self.find_removals(state);
            }
            match self.steps.len() - steps {
                0 => return Ok(false),
                1 => {
                    let step = self.steps.pop().expect("there is one");
                    self.take(state, step)?;
                }
                _ => {
                    if !self.failed.insert((state.inserted.clone(), state.removed.clone(), state.front)) {
                        self.steps.truncate(steps);
                        return Ok(false);
                    }
                    self.places.push(Place { state: state.clone(), steps });
                    return Ok(false);
                }
            }
        }
    }

    /// Appends an operation to its sequence.
    fn take(&mut self, state: &mut State<M>, at: u32) -> Result<(), GaveUp> {
        self.budget.spend(self.failed.len())?;
        let call = self.sides.calls[at as usize];
        if call.method == Method::Enqueue {
            state.inserted.take(&self.sides.inserts, at);
            state.front = call.argument;
            self.enqueues.push(at);
        } else {
            if call.is_pending() {
                state.used += 1;
            } else {
                state.removed.take(&self.sides.removals, at);
            }
            if call.result == ValueId::EMPTY {
                state.empties -= 1;
            } else if call.method == Method::Dequeue {
                state.front = ValueId::NONE;
            }
            state.last_call = state.last_call.max(call.call);
            self.removals.push((at, self.enqueues.len() as u32));
        }
        state.lengths = [self.enqueues.len(), self.removals.len()];
        Ok(())
    }

    /// Takes every `empty` that is ready.
    fn take_empties(&mut self, state: &mut State<M>) -> Result<(), GaveUp> {
        while state.empties > 0 && state.last_call < state.inserted.event {
            let before = state.inserted.event.min(state.removed.event);
            let Sides { removals, calls, .. } = &mut self.sides;
            let fits = |&at: &u32| {
                let call = &calls[at as usize];
                call.result == ValueId::EMPTY && call.call < before
            };
            let Some(at) = removals.free(&state.removed).find(fits) else {
                break;
            };
            self.take(state, at)?;
        }
        Ok(())
    }

    /// Takes every ready and timely peek of the value in front.
    fn take_peeks(&mut self, state: &mut State<M>) -> Result<(), GaveUp> {
        while self.first_left(&self.sides.peeks_of, &self.sides.removals, state.front, &state.removed).is_some() {
            let Sides { removals, calls, .. } = &mut self.sides;
            let fits = |&at: &u32| {
                let call = &calls[at as usize];
                call.method == Method::Peek && call.result == state.front && is_timely(state, call)
            };
            let Some(at) = removals.free(&state.removed).find(fits) else {
                break;
            };
            self.take(state, at)?;
        }
        Ok(())
    }

    /// Takes pairs of a ready enqueue and a ready dequeue that return first of those that are left of their value.
    /// Returns whether there were any.
    fn take_pairs(&mut self, state: &mut State<M>) -> Result<bool, GaveUp> {
        let mut found = false;
        let mut free = std::mem::take(&mut self.scratch);
        free.clear();
        free.extend(self.sides.inserts.free(&state.inserted));
        for &at in &free {
            let call = self.call(at);
            let Sides { inserts, removals, inserts_of, dequeues_of, peeks_of, .. } = &self.sides;
            let value = call.argument;
            if call.call > state.inserted.event.min(state.removed.event)
                || self.first_left(inserts_of, inserts, value, &state.inserted) != Some(at)
                || self.first_left(peeks_of, removals, value, &state.removed).is_some()
            {
                continue;
            }
            let Some(dequeue) = self.first_left(dequeues_of, removals, value, &state.removed) else {
                continue;
            };
            let call = self.call(dequeue);
            let is_timely = || {
                let mut after = state.inserted.clone();
                after.take(inserts, at);
                call.call < after.event
            };
            if call.call < state.removed.event && (state.empties == 0 || is_timely()) {
                self.take(state, at)?;
                self.take(state, dequeue)?;
                found = true;
            }
        }
        self.scratch = free;
        Ok(found)
    }

    fn first_left(&self, of: &ByValue, timeline: &Timeline, value: ValueId, done: &Frontier<M>) -> Option<u32> {
        of.first_left(&self.sides.calls, timeline, value, done)
    }

    /// How many enqueues of a value are left, and how many dequeues.
    fn count_left(&mut self, value: ValueId, state: &State<M>) -> [usize; 2] {
        let Sides { inserts, removals, inserts_of, dequeues_of, calls, .. } = &mut self.sides;
        let is_dequeue = |call: &Call| call.method == Method::Dequeue && call.result == value;
        let enqueues = inserts_of.count_left(calls, inserts, value, &state.inserted, |call| call.argument == value);
        [enqueues, dequeues_of.count_left(calls, removals, value, &state.removed, is_dequeue)]
    }

    /// Whether the next pending dequeue is ready and may take a value: at least `more` more enqueues than dequeues of
    /// the value are left.
    fn may_be_pending(&mut self, state: &State<M>, value: ValueId, more: usize) -> bool {
        let next = self.sides.pending.get(state.used as usize);
        if next.is_none_or(|&next| self.call(next).call > state.removed.event) {
            return false;
        }
        let [enqueues, dequeues] = self.count_left(value, state);
        enqueues >= more + dequeues
    }

    /// The enqueues that may be next, the best last: of each value the one that returns first.
    fn find_inserts(&mut self, state: &State<M>) {
        let before = state.inserted.event.min(state.removed.event);
        let mut free = std::mem::take(&mut self.scratch);
        free.clear();
        let Sides { inserts, removals, calls, .. } = &mut self.sides;
        free.extend(inserts.free(&state.inserted).filter(|&at| calls[at as usize].call < before));
        let mut seen: Vec<ValueId> = removals.free(&state.removed).map(|at| calls[at as usize].result).collect();
        seen.sort_unstable();
        free.sort_unstable_by_key(|&at| (calls[at as usize].argument, calls[at as usize].ret, at));
        free.dedup_by_key(|at| calls[*at as usize].argument);
        free.sort_unstable_by_key(|&at| (calls[at as usize].ret, at));
        let (fitting, others): (Vec<u32>, Vec<u32>) =
            free.iter().partition(|&&at| seen.binary_search(&calls[at as usize].argument).is_ok());
        for at in others.into_iter().rev() {
            if !self.call(at).is_pending() && self.may_be_pending(state, self.call(at).argument, 1) {
                self.steps.push(at);
            }
        }
        self.steps.extend(fitting.into_iter().rev());
        self.scratch = free;
    }

    /// The removals that may be next after the enqueue of the value in front, the best last.
    fn find_removals(&mut self, state: &State<M>) {
        let value = state.front;
        let mut free = std::mem::take(&mut self.scratch);
        free.clear();
        let Sides { removals, calls, .. } = &mut self.sides;
        free.extend(removals.free(&state.removed).filter(|&at| calls[at as usize].result == value));
        free.sort_unstable_by_key(|&at| (self.call(at).ret, at));
        let (peeks, dequeues): (Vec<u32>, Vec<u32>) =
            free.iter().partition(|&&at| self.call(at).method == Method::Peek);
        let Sides { inserts, removals, inserts_of, peeks_of, .. } = &self.sides;
        // A peek that is left must see another copy of the value.
        let is_missed = self.first_left(peeks_of, removals, value, &state.removed).is_some()
            && self.first_left(inserts_of, inserts, value, &state.inserted).is_none();
        if !is_missed {
            let has_timely = dequeues.iter().any(|&at| is_timely(state, self.call(at)));
            let enqueue = self.enqueues.last().map(|&at| self.call(at));
            let is_seen = self.removals.last().is_some_and(|&(_, level)| level as usize == self.enqueues.len());
            let is_idle = enqueue.is_some_and(Call::is_pending) && !is_seen;
            if !has_timely && !is_idle && self.may_be_pending(state, value, 0) {
                self.steps.push(self.sides.pending[state.used as usize]);
            }
            self.push_undominated(state, &dequeues);
        }
        self.push_undominated(state, &peeks);
        self.scratch = free;
    }

    /// Adds removals of one value to the steps, but none that returns after another one that is timely or called
    /// earlier. `removals` is sorted by the returns.
    fn push_undominated(&mut self, state: &State<M>, removals: &[u32]) {
        let steps = self.steps.len();
        let mut first_call = u32::MAX;
        for &at in removals {
            let call = self.call(at).call;
            let is_last = is_timely(state, self.call(at));
            if call < first_call {
                self.steps.push(at);
                first_call = call;
            }
            if is_last {
                break;
            }
        }
        self.steps[steps..].reverse();
    }

    /// The two sequences as one.
    fn merge(&self, state: &State<M>) -> Linearization {
        let part = self.sides.part;
        let mut enqueues = self.enqueues.clone();
        // The enqueues of values that nobody dequeued are not done. They come in the order of their calls.
        let is_left = |at: u32, call: &Call| {
            call.method == Method::Enqueue
                && !call.is_pending()
                && !state.inserted.contains(&self.sides.inserts, at, call)
        };
        enqueues.extend((0..).zip(&self.sides.calls).filter(|&(at, call)| is_left(at, call)).map(|(at, _)| at));
        let first_return = |ats: &mut dyn DoubleEndedIterator<Item = u32>| {
            let mut returns = vec![Call::NEVER];
            for at in ats.rev() {
                returns.push(returns[returns.len() - 1].min(self.call(at).ret));
            }
            returns.reverse();
            returns
        };
        let returns =
            [first_return(&mut enqueues.iter().copied()), first_return(&mut self.removals.iter().map(|&(at, _)| at))];
        let is_empty = |&&(at, _): &&(u32, u32)| self.call(at).result == ValueId::EMPTY;
        let mut empties = self.removals.iter().filter(is_empty).map(|&(_, level)| level as usize).peekable();
        let mut order = Vec::with_capacity(enqueues.len() + self.removals.len());
        let mut results = Vec::new();
        let (mut inserted, mut removed) = (0, 0);
        while inserted < enqueues.len() || removed < self.removals.len() {
            if let Some(&(at, level)) = self.removals.get(removed)
                && level as usize <= inserted
                && self.call(at).call < returns[0][inserted]
            {
                let call = self.call(at);
                if call.result == ValueId::EMPTY {
                    empties.next();
                } else if call.is_pending() {
                    let value = self.call(enqueues[level as usize - 1]).argument;
                    results.push((call.operation, part.value(value)));
                }
                order.push(call.operation);
                removed += 1;
            } else {
                let at = enqueues[inserted];
                debug_assert!(self.call(at).call < returns[1][removed], "the two sequences can be merged");
                debug_assert!(empties.peek().is_none_or(|&level| inserted < level), "an `empty` is at its place");
                order.push(self.call(at).operation);
                inserted += 1;
            }
        }
        results.sort_unstable_by_key(|&(id, _)| id);
        Linearization { order, results }
    }
}

/// Whether no enqueue that is not done has returned before the call. If no `empty` is left, this does not matter.
fn is_timely<M>(state: &State<M>, call: &Call) -> bool {
    state.empties == 0 || call.call < state.inserted.event
}
