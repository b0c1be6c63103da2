//! ENUMERATE: runs the linearizations of the completions of a history on the sequential object, one after the other
//! (Wing and Gong 1993).
//!
//! As in MR, everything is tried again from the beginning at each return. The enumeration is depth first. At each place
//! it tries every operation that can be next in real time, in the order of their calls. When the object refuses an
//! operation, all linearizations that begin in this way are given up, as in the classical algorithm that MR names. (MR
//! itself asks whether a whole linearization satisfies the theory, which gives the same verdict.) Nothing else is
//! remembered. A pending operation may come anywhere after its call, with any result, or not at all. The checker is
//! exact, and takes exponential time.
//!
//! The exchanger has no sequential specification. There, pairings are enumerated.

use crate::refinement::{Invocation, Monitor, Options, Step, Witness, reason};
use object::{Call, Numbered, Part, ValueId, specification};

/// After how many steps the clock is read again.
const STEPS_PER_CLOCK: u32 = 1024;

/// The monitor of a part.
pub fn monitor(part: &Part, options: Options) -> Box<dyn Monitor> {
    match specification(part) {
        Some(specification) => Box::new(Enumerate::new(specification, options)),
        None => Box::new(Pairings { prefix: Prefix::default(), pairs: Vec::new(), options }),
    }
}

/// The calls so far.
#[derive(Clone, Debug, Default)]
struct Prefix {
    calls: Vec<Call>,
    moment: u32,
}

impl Prefix {
    fn call(&mut self, number: u32, invocation: Invocation) {
        debug_assert_eq!(number as usize, self.calls.len());
        let Invocation { method, argument, expected, .. } = invocation;
        let operation = history::OperationId(number);
        let (call, ret) = (self.moment, Call::NEVER);
        self.calls.push(Call { operation, call, ret, argument, expected, result: ValueId::NONE, method });
        self.moment += 1;
    }

    fn return_(&mut self, number: u32, result: ValueId) {
        let call = &mut self.calls[number as usize];
        call.ret = self.moment;
        call.result = result;
        self.moment += 1;
    }
}

/// One way to go on from a state.
struct Branch {
    call: u32,
    state: u32,
    result: ValueId,
}

/// The monitor of any sequential object.
pub struct Enumerate {
    specification: Numbered,
    prefix: Prefix,
    order: Vec<(u32, ValueId)>,
    options: Options,
}

impl Enumerate {
    /// A monitor of a new object.
    pub fn new(specification: Numbered, options: Options) -> Self {
        Self { specification, prefix: Prefix::default(), order: Vec::new(), options }
    }

    /// All branches: the operations that can come next, with their steps.
    fn branches(&mut self, state: u32, taken: &[bool], first: usize) -> Vec<Branch> {
        let mut branches = Vec::new();
        let mut next = Vec::new();
        // An operation that was called after this moment cannot come next.
        let mut limit = Call::NEVER;
        for (at, call) in self.prefix.calls.iter().enumerate().skip(first) {
            if call.call > limit {
                break;
            }
            if taken[at] {
                continue;
            }
            limit = limit.min(call.ret);
            if call.is_pending() && self.specification.observes(call) {
                continue;
            }
            self.specification.steps(&state, call, &mut next);
            branches.extend(next.drain(..).map(|(state, result)| Branch { call: at as u32, state, result }));
        }
        branches.reverse();
        branches
    }

    fn search(&mut self) -> Step {
        let count = self.prefix.calls.len();
        let mut left = self.prefix.calls.iter().filter(|call| !call.is_pending()).count();
        let mut taken = vec![false; count];
        let mut first = 0;
        self.order.clear();
        let state = self.specification.initial();
        let mut stack = vec![self.branches(state, &taken, first)];
        let mut patience = STEPS_PER_CLOCK;
        while left > 0 {
            patience -= 1;
            if patience == 0 {
                patience = STEPS_PER_CLOCK;
                if self.options.budget.is_due() {
                    return Step::GaveUp(reason(&self.options.budget));
                }
            }
            let Some(branches) = stack.last_mut() else { return Step::Violation };
            if let Some(Branch { call, state, result }) = branches.pop() {
                taken[call as usize] = true;
                left -= usize::from(!self.prefix.calls[call as usize].is_pending());
                self.order.push((call, result));
                while first < count && taken[first] {
                    first += 1;
                }
                let branches = self.branches(state, &taken, first);
                stack.push(branches);
            } else {
                stack.pop();
                if let Some((call, _)) = self.order.pop() {
                    taken[call as usize] = false;
                    left += usize::from(!self.prefix.calls[call as usize].is_pending());
                    first = first.min(call as usize);
                }
            }
        }
        Step::Possible
    }
}

impl Monitor for Enumerate {
    fn call(&mut self, number: u32, invocation: Invocation) {
        self.prefix.call(number, invocation);
    }

    fn return_(&mut self, number: u32, result: ValueId) -> Step {
        self.prefix.return_(number, result);
        self.search()
    }

    fn witness(&mut self) -> Witness {
        let is_pending = |&&(call, result): &&(u32, ValueId)| {
            self.prefix.calls[call as usize].is_pending() && result != ValueId::NONE
        };
        let results = self.order.iter().filter(is_pending).copied().collect();
        Witness::Order(self.order.iter().map(|&(call, _)| call).collect(), results)
    }
}

/// The monitor of an exchanger.
struct Pairings {
    prefix: Prefix,
    pairs: Vec<[u32; 2]>,
    options: Options,
}

impl Pairings {
    fn can_pair(&self, this: u32, that: u32) -> bool {
        let (x, y) = (&self.prefix.calls[this as usize], &self.prefix.calls[that as usize]);
        let is_free = |call: &Call| call.is_pending() || call.result == ValueId::NONE;
        this != that
            && !x.precedes(y)
            && !y.precedes(x)
            && y.argument == x.result
            && (is_free(y) || y.result == x.argument)
    }

    fn search(&mut self) -> Step {
        let calls = &self.prefix.calls;
        let wants: Vec<u32> = (0..calls.len() as u32).filter(|&at| calls[at as usize].result.is_index()).collect();
        let mut paired = vec![false; calls.len()];
        // For each place in `wants`: the partner that was tried last.
        let mut tried: Vec<Option<u32>> = vec![None];
        self.pairs.clear();
        let mut patience = STEPS_PER_CLOCK;
        while tried.len() <= wants.len() {
            patience -= 1;
            if patience == 0 {
                patience = STEPS_PER_CLOCK;
                if self.options.budget.is_due() {
                    return Step::GaveUp(reason(&self.options.budget));
                }
            }
            let this = wants[tried.len() - 1];
            let last = tried[tried.len() - 1];
            let is_served = paired[this as usize] && last.is_none();
            if is_served {
                // It is marked as its own partner, so that backtracking skips it.
                tried.pop();
                tried.extend([Some(this), None]);
                continue;
            }
            if last == Some(this) {
                tried.pop();
            } else {
                if let Some(that) = last {
                    paired[this as usize] = false;
                    paired[that as usize] = false;
                    self.pairs.pop();
                }
                let next = last.map_or(0, |that| that + 1);
                let partner =
                    (next..calls.len() as u32).find(|&that| !paired[that as usize] && self.can_pair(this, that));
                tried.pop();
                if let Some(that) = partner {
                    paired[this as usize] = true;
                    paired[that as usize] = true;
                    self.pairs.push([this, that]);
                    tried.extend([Some(that), None]);
                    continue;
                }
            }
            if tried.is_empty() {
                return Step::Violation;
            }
        }
        Step::Possible
    }
}

impl Monitor for Pairings {
    fn call(&mut self, number: u32, invocation: Invocation) {
        self.prefix.call(number, invocation);
    }

    fn return_(&mut self, number: u32, result: ValueId) -> Step {
        self.prefix.return_(number, result);
        self.search()
    }

    fn witness(&mut self) -> Witness {
        Witness::Pairs(self.pairs.clone())
    }
}
