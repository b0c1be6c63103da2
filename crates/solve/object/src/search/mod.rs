//! The search that decides every sequential object. It is the search of Wing and Gong, with Lowe's two improvements: it
//! remembers states that failed, and it lets operations take effect only when they must.
//!
//! Events are taken in the order of time. The search has a choice only when an operation returns that has not taken
//! effect yet. Then the open operations take effect, one after the other, until this one has. What can follow depends
//! only on three things: the event, which of the open operations have taken effect, and the state of the object. These
//! three are a place. A place that failed is remembered, and never entered again. Each open operation has a slot, and a
//! set of slots is a few machine words. With few processes there are few such sets.
//!
//! Three rules save steps without losing a solution. An operation that changes no state takes effect as soon as it can.
//! Of several open operations with the same method, argument and result, only the one that returns first is tried. And
//! no step is tried after which the operation that returns cannot take effect any more: if it read a text, say, and the
//! text so far is no beginning of that, and no put is open.
//!
//! Queues and stacks have searches of their own, since the search here has too many states if values are inserted more
//! than once. A priority queue tells the search which steps of pending removals need not be tried; if many operations
//! overlap, a SAT solver decides it.
//!
//! If there is no linearization, the operation whose return was reached last is blamed: the operations up to this
//! return have no linearization already.

pub mod frontier;

use history::OperationId;
use model::object::{Core, Linearization};

use crate::answer::Answer;
use crate::objects::Machine;
use crate::search::frontier::{NONE, Slots, Timeline};
use crate::shards::Shards;
use crate::view::{Call, Endpoint, Part, ValueId};

pub use model::{Budget, GaveUp};

/// The most places that are remembered. They take about two gigabytes. This is a limit, not a knob: a caller who has
/// less memory says so in the budget.
const MOST_PLACES: usize = 1 << 25;
/// After how many steps a search asks again whether it has to stop.
const STEPS_PER_CLOCK: u64 = 1 << 10;

/// When a search has to stop.
#[derive(Copy, Clone, Debug)]
pub struct Limits<'a> {
    /// What it may use in all.
    pub budget: &'a Budget,
    /// How many steps it may take. They are counted, so the end does not depend on the speed of the machine.
    pub steps: u64,
}

impl<'a> From<&'a Budget> for Limits<'a> {
    fn from(budget: &'a Budget) -> Self {
        Self { budget, steps: u64::MAX }
    }
}

/// How much a search may still use.
#[derive(Copy, Clone, Debug)]
pub struct Allowance<'a> {
    pub limits: Limits<'a>,
    /// How many steps are left until it asks again whether it has to stop.
    left: u64,
}

impl<'a> Allowance<'a> {
    /// The first steps are free of questions. So a small search always ends.
    pub fn new(mut limits: Limits<'a>) -> Self {
        let left = limits.steps.min(STEPS_PER_CLOCK);
        limits.steps -= left;
        Self { limits, left }
    }

    /// Counts one more step, of a search that remembers `places` places.
    pub fn spend(&mut self, places: usize) -> Result<(), GaveUp> {
        if self.left == 0 {
            self.ask(places)?;
        }
        self.left -= 1;
        Ok(())
    }

    /// Counts many more steps.
    pub fn spend_many(&mut self, mut count: u64, places: usize) -> Result<(), GaveUp> {
        while count > self.left {
            count -= self.left;
            self.ask(places)?;
        }
        self.left -= count;
        Ok(())
    }

    #[cold]
    fn ask(&mut self, places: usize) -> Result<(), GaveUp> {
        if self.limits.steps == 0 {
            return Err(GaveUp::Steps);
        }
        self.left = self.limits.steps.min(STEPS_PER_CLOCK);
        self.limits.steps -= self.left;
        self.limits.budget.check()?;
        if places > MOST_PLACES { Err(GaveUp::Places) } else { Ok(()) }
    }
}

/// Decides a part by its sequential specification.
pub fn check<'l, S: Machine>(
    part: &Part,
    specification: &mut S,
    limits: impl Into<Limits<'l>>,
) -> Result<Answer, GaveUp> {
    let limits = limits.into();
    let timeline = Timeline::new(part.events(), part.calls.len());
    match timeline.width() {
        0..=64 => Search::<S, u64>::new(part, specification, timeline).run(limits),
        65..=128 => Search::<S, u128>::new(part, specification, timeline).run(limits),
        _ => Search::<S, Box<[u64]>>::new(part, specification, timeline).run(limits),
    }
}

/// The answer for a part, if a search `found` a linearization or none. If there is none, the first operation is blamed
/// up to whose return there is none. Then the number of steps is not limited any more.
pub fn answer(
    part: &Part,
    found: Option<Linearization>,
    limits: Limits,
    linearize: impl Fn(&Part, Limits) -> Result<Option<Linearization>, GaveUp>,
) -> Answer {
    if found.is_some() {
        return Answer::Linearizable(found);
    }
    let blamed = first_failure(part, |prefix| Ok(linearize(prefix, limits.budget.into())?.is_some()));
    Answer::Violation(Core::Stuck(blamed))
}

/// In a part that is not linearizable: the first operation up to whose return the part is not linearizable. It is found
/// by steps of doubling length, since linearizable beginnings are decided fast, and then by halving the last step. If a
/// decision gives up, the result is the first such operation that is known.
pub fn first_failure(part: &Part, is_linearizable: impl Fn(&Part) -> Result<bool, GaveUp>) -> OperationId {
    let returned = part.calls.iter().filter(|call| !call.is_pending());
    let mut returns: Vec<(u32, OperationId)> = returned.map(|call| (call.ret, call.operation)).collect();
    returns.sort_unstable();
    let mut calls = Vec::new();
    // The part up to the return `last` is not linearizable; the part before the return `first` is.
    let (mut first, mut last) = (0, returns.len() - 1);
    let mut stride = 64;
    while first < last {
        let middle = first.midpoint(last).min(first + stride);
        match is_linearizable(&part.before(returns[middle].0 + 1, &mut calls)) {
            Ok(true) => {
                first = middle + 1;
                stride *= 2;
            }
            Ok(false) => {
                last = middle;
                stride = returns.len();
            }
            Err(_) => break,
        }
    }
    returns[last].1
}

/// How often each value is inserted into a container, and when it was first certain that it had been inserted.
pub struct Seen {
    inserts: Vec<u32>,
    first: Vec<u32>,
}

impl Seen {
    pub fn new(part: &Part) -> Self {
        let count = part.values.len();
        let (mut inserts, mut first) = (vec![0; count], vec![Call::NEVER; count]);
        for call in part.calls {
            if call.argument.is_index() {
                inserts[call.argument.index()] += 1;
            } else if call.result.is_index() {
                let first = &mut first[call.result.index()];
                *first = call.ret.min(*first);
            }
        }
        Self { inserts, first }
    }

    /// When an insertion returns. If it is pending and the only insertion of its value, it returns when the value was
    /// first seen. None if nobody saw the value: then the insertion can be left out.
    pub fn return_of(&self, call: &Call) -> Option<u32> {
        let first = self.first[call.argument.index()];
        if !call.is_pending() {
            Some(call.ret)
        } else if first == Call::NEVER {
            None
        } else {
            let is_source = self.inserts[call.argument.index()] == 1 && first > call.call;
            Some(if is_source { first } else { Call::NEVER })
        }
    }
}

/// A place: here an operation returns that has not taken effect.
struct Place<M> {
    event: u32,
    taken: M,
    /// Where its steps begin in the list of all steps that are still to be tried.
    steps: usize,
    /// How many operations had taken effect.
    order: usize,
}

struct Step<State> {
    at: u32,
    state: State,
    result: ValueId,
}

struct Search<'a, S: Machine, M> {
    part: &'a Part<'a>,
    specification: &'a mut S,
    timeline: Timeline,
    places: Vec<Place<M>>,
    steps: Vec<Step<S::State>>,
    order: Vec<(u32, ValueId)>,
    failed: Shards<(u32, M, S::State), ()>,
    furthest: u32,
    scratch: Vec<(S::State, ValueId)>,
}

impl<'a, S: Machine, M: Slots> Search<'a, S, M> {
    fn new(part: &'a Part<'a>, specification: &'a mut S, timeline: Timeline) -> Self {
        Self {
            part,
            specification,
            timeline,
            places: Vec::new(),
            steps: Vec::new(),
            order: Vec::new(),
            failed: Shards::default(),
            furthest: 0,
            scratch: Vec::new(),
        }
    }

    fn run(mut self, limits: Limits) -> Result<Answer, GaveUp> {
        let state = self.specification.initial();
        if self.go_on(0, M::none(self.timeline.width()), state) {
            return Ok(self.linearizable());
        }
        let mut budget = Allowance::new(limits);
        while let Some(place) = self.places.last() {
            budget.spend(self.failed.len())?;
            self.order.truncate(place.order);
            if self.steps.len() == place.steps {
                self.places.pop();
                continue;
            }
            let (event, mut taken) = (place.event, place.taken.clone());
            let step = self.steps.pop().expect("there are more than the place began with");
            taken.insert(self.timeline.slot(step.at));
            self.order.push((step.at, step.result));
            if self.go_on(event, taken, step.state) {
                return Ok(self.linearizable());
            }
        }
        let Some(Endpoint::Return(blamed)) = self.timeline.event(self.furthest) else {
            unreachable!("a search stops only at returns");
        };
        Ok(Answer::Violation(Core::Stuck(self.part.calls[blamed as usize].operation)))
    }

    fn linearizable(&self) -> Answer {
        let call = |at: u32| &self.part.calls[at as usize];
        let results = self.order.iter().filter(|&&(at, result)| call(at).is_pending() && result != ValueId::NONE);
        let mut results: Vec<_> = results.map(|&(at, result)| (call(at).operation, self.part.value(result))).collect();
        results.sort_unstable_by_key(|&(id, _)| id);
        let order = self.order.iter().map(|&(at, _)| call(at).operation).collect();
        Answer::Linearizable(Some(Linearization { order, results }))
    }

    /// Lets an operation that changes nothing take effect, if it can.
    fn observe(&mut self, at: u32, taken: &mut M, state: &mut S::State) {
        let call = &self.part.calls[at as usize];
        if self.specification.observes(call) && !call.is_pending() {
            self.scratch.clear();
            self.specification.steps(state, call, &mut self.scratch);
            if let Some((next, result)) = self.scratch.pop() {
                self.order.push((at, result));
                taken.insert(self.timeline.slot(at));
                *state = next;
            }
        }
    }

    /// Goes on from an event, after an operation took effect. Returns whether the end is reached. If not, the search is
    /// at a new place, or at one that failed before.
    fn go_on(&mut self, mut event: u32, mut taken: M, mut state: S::State) -> bool {
        self.timeline.move_to(event);
        for slot in 0..self.timeline.width() {
            let at = self.timeline.open()[slot];
            if at != NONE && !taken.contains(slot as u32) {
                self.observe(at, &mut taken, &mut state);
            }
        }
        loop {
            match self.timeline.event(event) {
                None => return true,
                Some(Endpoint::Return(at)) => {
                    let slot = self.timeline.slot(at);
                    if !taken.contains(slot) {
                        break;
                    }
                    taken.remove(slot);
                }
                Some(Endpoint::Call(at)) => self.observe(at, &mut taken, &mut state),
                Some(Endpoint::Nothing) => {}
            }
            event += 1;
        }
        self.furthest = self.furthest.max(event);
        if self.failed.insert((event, taken.clone(), state.clone())) {
            self.enter(event, taken, &state);
        }
        false
    }

    /// Enters a new place. All operations that can take effect there are still to be tried, first the one that returns
    /// first.
    fn enter(&mut self, event: u32, taken: M, state: &S::State) {
        self.timeline.move_to(event);
        let is_free = |&(slot, &at): &(u32, &u32)| at != NONE && !taken.contains(slot);
        let mut candidates: Vec<u32> = (0..).zip(self.timeline.open()).filter(is_free).map(|(_, &at)| at).collect();
        let calls = self.part.calls;
        candidates.sort_unstable_by_key(|&at| (calls[at as usize].ret, at));
        let is_same = |a: &Call, b: &Call| {
            (a.method, a.argument, a.expected, a.result) == (b.method, b.argument, b.expected, b.result)
        };
        let Some(Endpoint::Return(returns)) = self.timeline.event(event) else {
            unreachable!("a search stops only at returns");
        };
        let goal = &calls[returns as usize];
        let specification = &self.specification;
        let mut preparing =
            candidates.iter().filter(|&&at| at != returns && specification.prepares(&calls[at as usize], goal));
        let (first, has_second) = (preparing.next().copied(), preparing.next().is_some());
        let steps = self.steps.len();
        for (place, &at) in candidates.iter().enumerate().rev() {
            let call = &calls[at as usize];
            let is_tried = candidates[..place].iter().any(|&other| is_same(call, &calls[other as usize]));
            if is_tried {
                continue;
            }
            self.scratch.clear();
            self.specification.steps(state, call, &mut self.scratch);
            let is_prepared = at == returns || has_second || first.is_some_and(|first| first != at);
            for (next, result) in self.scratch.drain(..).rev() {
                if !(is_prepared || self.specification.is_on_the_way(&next, goal)) {
                    continue;
                }
                // A pending operation that changes nothing need not happen.
                if !(call.is_pending() && next == *state) {
                    self.steps.push(Step { at, state: next, result });
                }
            }
        }
        self.places.push(Place { event, taken, steps, order: self.order.len() });
    }
}
