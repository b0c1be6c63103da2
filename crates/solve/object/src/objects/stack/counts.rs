//! Which pops of a stack have no push, by counts alone, where values are pushed more than once.
//!
//! A count never needs to know which pop took which copy. Between two instants, each push that was called and returned
//! there put a copy in. Each pop that was open there may have taken one; a pending pop may have taken any value. If
//! more copies went in than can have been taken, one of them is still inside.
//!
//! A pop needs a push of its value whose copy it can take. Every push that was called and returned between the two
//! needs a pop, of its value, that was called before this pop returned. Every pop that was called and returned between
//! the two needs a push, of its value, that had not returned before this push was called. And no `empty` is called and
//! returns between the two.
//!
//! A pop without such a push is a violation. The operation that is blamed is the last to return of the operations whose
//! results were counted: the operations up to its return have no linearization.

use history::{Method, OperationId};

use crate::containers::last_counted;
use crate::view::{Call, Endpoint, Part, ValueId};

/// An operation of a stack at whose return no order is left, if the counts tell.
pub fn violation(part: &Part) -> Option<OperationId> {
    let mut pushes = vec![0_i64; part.values.len()];
    let mut pending = 0;
    for call in part.calls.iter().filter(|call| call.is_pending()) {
        if call.method == Method::Push {
            pushes[call.argument.index()] += 1;
        } else {
            pending += 1;
        }
    }
    let pushed = (0..).zip(&pushes).filter(|(_, count)| **count > 0).map(|(value, _)| value).collect();
    let balances = Balances::new(part.values.len());
    let mut scan = Scan { part, events: part.events(), pushes, pushed, pending, balances };
    let mut effort = part.knobs.stack.counted_events;
    let mut open: Vec<u32> = Vec::new();
    for moment in 0..part.moments {
        match scan.events[moment as usize] {
            Endpoint::Nothing => {}
            Endpoint::Return(at) => open.retain(|&other| other != at),
            Endpoint::Call(at) => {
                let call = &part.calls[at as usize];
                if call.method == Method::Pop && call.result.is_index() {
                    let (has_push, events) = scan.has_push(call, &open);
                    if !has_push {
                        return Some(last_counted(part, call));
                    }
                    effort = effort.checked_sub(events)?;
                }
                if !call.is_pending() {
                    open.push(at);
                }
            }
        }
    }
    None
}

/// For each value, how many operations that were called and returned between two instants lack a partner: pushes that
/// lack a pop, and pops that lack a push.
struct Balances {
    /// Pushes between the two instants, less the pops that can have taken their copies.
    pushes: Vec<i64>,
    /// Pops between the two instants, less the pushes whose copies they can have taken.
    pops: Vec<i64>,
    /// How many pushes lack a pop, all values together.
    lacking_pops: i64,
    /// How many pops lack a push, all values together.
    lacking_pushes: i64,
    changed: Vec<u32>,
}

impl Balances {
    fn new(values: usize) -> Self {
        let changed = Vec::new();
        Self { pushes: vec![0; values], pops: vec![0; values], lacking_pops: 0, lacking_pushes: 0, changed }
    }

    fn add_to_pushes(&mut self, value: ValueId, change: i64) {
        self.changed.push(value.0);
        add(&mut self.pushes[value.index()], change, &mut self.lacking_pops);
    }

    fn add_to_pops(&mut self, value: ValueId, change: i64) {
        self.changed.push(value.0);
        add(&mut self.pops[value.index()], change, &mut self.lacking_pushes);
    }

    fn clear(&mut self) {
        for value in self.changed.drain(..) {
            self.pushes[value as usize] = 0;
            self.pops[value as usize] = 0;
        }
        (self.lacking_pops, self.lacking_pushes) = (0, 0);
    }
}

/// Changes a balance by one, and the sum of all positive balances with it.
const fn add(balance: &mut i64, change: i64, positive: &mut i64) {
    *positive -= if *balance > 0 { *balance } else { 0 };
    *balance += change;
    *positive += if *balance > 0 { *balance } else { 0 };
}

/// Looks for the pushes whose copies a pop can have taken.
struct Scan<'a> {
    part: &'a Part<'a>,
    events: Vec<Endpoint>,
    /// How many pending pushes of each value there are, and the values that have any.
    pushes: Vec<i64>,
    pushed: Vec<u32>,
    /// How many pending pops there are.
    pending: i64,
    balances: Balances,
}

impl Scan<'_> {
    /// Whether there is a push whose copy the pop can have taken, and how many events were looked at. `open` are the
    /// operations that were open when the pop was called, without the pending ones.
    fn has_push(&mut self, pop: &Call, open: &[u32]) -> (bool, usize) {
        let part = self.part;
        let value = pop.result;
        let inside = pop.call as usize + 1..pop.ret as usize;
        let called = self.events[inside.clone()].iter().filter_map(|event| match *event {
            Endpoint::Call(at) => Some(at),
            _ => None,
        });
        // The operations that overlap the pop.
        let mut has_push = self.pushes[value.index()] > 0;
        for at in open.iter().copied().chain(called) {
            let call = &part.calls[at as usize];
            if call.method == Method::Push {
                has_push |= call.argument == value;
                self.balances.add_to_pops(call.argument, -1);
            } else if call.method == Method::Pop && call.result.is_index() {
                self.balances.add_to_pushes(call.result, -1);
            }
        }
        let mut moment = pop.call;
        while !has_push && moment > 0 {
            moment -= 1;
            match self.events[moment as usize] {
                Endpoint::Nothing => {}
                Endpoint::Call(at) => {
                    let call = &part.calls[at as usize];
                    if call.ret > pop.call {
                        continue;
                    }
                    if call.method == Method::Push {
                        self.balances.add_to_pushes(call.argument, 1);
                    } else if call.result == ValueId::EMPTY {
                        break;
                    } else if call.method == Method::Pop {
                        self.balances.add_to_pops(call.result, 1);
                    }
                    // Such a push lacks a pop whatever came before it.
                    if self.balances.lacking_pops > self.pending {
                        break;
                    }
                }
                Endpoint::Return(at) => {
                    let call = &part.calls[at as usize];
                    if call.method == Method::Push {
                        has_push = call.argument == value && self.lacks_few(call);
                        self.balances.add_to_pops(call.argument, -1);
                    } else if call.method == Method::Pop && call.result.is_index() {
                        self.balances.add_to_pushes(call.result, -1);
                    }
                }
            }
        }
        self.balances.clear();
        (has_push, inside.len() + open.len() + (pop.call - moment) as usize)
    }

    /// Whether the pops that lack a push can have taken copies of pending pushes, or of pushes that returned after this
    /// push was called.
    fn lacks_few(&mut self, push: &Call) -> bool {
        if self.balances.lacking_pushes == 0 {
            return true;
        }
        let mut added: Vec<ValueId> = Vec::new();
        for event in &self.events[push.call as usize..push.ret as usize] {
            if let Endpoint::Return(at) = *event
                && self.part.calls[at as usize].method == Method::Push
            {
                added.push(self.part.calls[at as usize].argument);
            }
        }
        for &value in &added {
            self.balances.add_to_pops(value, -1);
        }
        let mut lacking = self.balances.lacking_pushes;
        if lacking > 0 {
            let lacks = |&value: &u32| self.balances.pops[value as usize].clamp(0, self.pushes[value as usize]);
            lacking -= self.pushed.iter().map(lacks).sum::<i64>();
        }
        for &value in &added {
            self.balances.add_to_pops(value, 1);
        }
        lacking == 0
    }
}
