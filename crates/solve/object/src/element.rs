//! Decides one element of a set, which is in or out; or a mutex that threads may try to lock, which is held or not.
//!
//! Events are taken in the order of time. An operation that only observes (a test, or an addition or removal that
//! changed nothing) is served as soon as the state is the one that it saw. The state changes only when an operation
//! returns that was not served. Of the operations that can change it, the one that returns first does, since any other
//! can do so later just as well. If there is none, the history is a violation. Values may repeat. The operations must
//! say what they returned.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use history::{Method, OperationId};
use model::object::{Core, Linearization};

use crate::answer::Answer;
use crate::view::{Call, Endpoint, Part, ValueId};

/// What an operation does to an element.
enum Role {
    /// It found the element in or out.
    Observes(bool),
    /// It put the element in, or took it out.
    Makes(bool),
}

struct Sweep<'a> {
    part: &'a Part<'a>,
    is_in: bool,
    is_served: Vec<bool>,
    /// The operations that wait to find the element out, or in.
    observers: [Vec<u32>; 2],
    /// The operations that can take it out, or put it in, by their returns.
    changers: [BinaryHeap<Reverse<(u32, u32)>>; 2],
    order: Option<Vec<OperationId>>,
}

impl Sweep<'_> {
    fn serve(&mut self, at: u32) {
        self.is_served[at as usize] = true;
        if let Some(order) = &mut self.order {
            order.push(self.part.calls[at as usize].operation);
        }
    }

    fn role(&self, at: u32) -> Role {
        let call = &self.part.calls[at as usize];
        match call.method {
            Method::Contains => Role::Observes(call.result == ValueId::TRUE),
            Method::Add | Method::TryLock if call.result == ValueId::FALSE => Role::Observes(true),
            Method::Add | Method::TryLock | Method::Lock => Role::Makes(true),
            _ if call.result == ValueId::FALSE => Role::Observes(false),
            _ => Role::Makes(false),
        }
    }

    /// Lets the change `at` take effect.
    fn change(&mut self, at: u32) {
        self.serve(at);
        self.is_in = !self.is_in;
        for observer in std::mem::take(&mut self.observers[usize::from(self.is_in)]) {
            self.serve(observer);
        }
    }

    /// Changes the state by the operation that returns first. Returns whether there is one.
    fn change_by_any(&mut self) -> bool {
        while let Some(Reverse((_, at))) = self.changers[usize::from(!self.is_in)].pop() {
            if !self.is_served[at as usize] {
                self.change(at);
                return true;
            }
        }
        false
    }

    fn call(&mut self, at: u32) {
        match self.role(at) {
            Role::Observes(state) if state == self.is_in => self.serve(at),
            Role::Observes(state) => self.observers[usize::from(state)].push(at),
            Role::Makes(state) => {
                let Call { call, ret, .. } = self.part.calls[at as usize];
                let changers = &mut self.changers[usize::from(state)];
                // An operation that has returned took effect, and is dropped. Only open operations are kept.
                while changers.peek().is_some_and(|Reverse((ret, _))| *ret < call) {
                    changers.pop();
                }
                changers.push(Reverse((ret, at)));
            }
        }
    }

    /// Whether the operation can return.
    fn can_return(&mut self, at: u32) -> bool {
        if self.is_served[at as usize] {
            return true;
        }
        match self.role(at) {
            Role::Observes(_) => self.change_by_any(),
            Role::Makes(state) => {
                if state == self.is_in && !self.change_by_any() {
                    return false;
                }
                self.change(at);
                true
            }
        }
    }
}

/// Whether a method returns something.
const fn returns(method: Method) -> bool {
    !matches!(method, Method::Lock | Method::Unlock)
}

/// Decides an element, or a mutex.
pub fn check(part: &Part, witness: bool) -> Answer {
    if part.calls.iter().any(|call| !call.is_pending() && call.result == ValueId::NONE && returns(call.method)) {
        return Answer::Declined("an operation does not say what it returned");
    }
    let mut sweep = Sweep {
        part,
        is_in: false,
        is_served: vec![false; part.calls.len()],
        observers: [Vec::new(), Vec::new()],
        changers: [BinaryHeap::new(), BinaryHeap::new()],
        order: witness.then(Vec::new),
    };
    for event in part.events() {
        match event {
            Endpoint::Nothing => {}
            Endpoint::Call(at) => sweep.call(at),
            Endpoint::Return(at) => {
                if !sweep.can_return(at) {
                    return Answer::Violation(Core::Stuck(part.calls[at as usize].operation));
                }
            }
        }
    }
    Answer::Linearizable(sweep.order.map(|order| {
        // The results of the pending operations that are in the order. Each of them changed the state.
        let pending = part.calls.iter().zip(&sweep.is_served).filter(|(call, served)| **served && call.is_pending());
        let answers = pending.filter(|(call, _)| returns(call.method));
        let results = answers.map(|(call, _)| (call.operation, history::Value::TRUE)).collect();
        Linearization { order, results }
    }))
}
