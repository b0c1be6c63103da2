//! Atomic operations.

use explore::{Chance, Integer, Order, Step, Update, Value};

use crate::machine::{Flow, Machine};
use crate::space::{self, Region, cut};
use crate::switch::Called;
use crate::symbols::{Fetch, Hook, order};
use crate::thread::{Early, State, Then};

impl Machine {
    pub(crate) fn atomic(&mut self, thread: u32, hook: Hook, called: Called) -> Flow {
        let [address, two, three, four, five, _] = called.arguments;
        let at = address as usize;
        if hook == Hook::Fence {
            let order = order(address);
            if order != Order::Relaxed {
                self.ask(thread, Step::Fence(order), Then::Nothing);
            }
            return Flow::Answer(0);
        }
        let (Hook::Load(size)
        | Hook::Store(size)
        | Hook::Exchange(size)
        | Hook::Fetch(size, _)
        | Hook::CompareExchange { size, .. }
        | Hook::CompareValue(size)) = hook
        else {
            return Flow::Wait;
        };
        let Some(location) = self.marked(thread, at, size) else { return Flow::Wait };
        let rmw = |update, by: Order, failure| Step::Rmw { location, order: by, failure, update, until: None };
        let step = match hook {
            Hook::Load(_) => Step::Read { location, order: order(two), until: None },
            Hook::Store(_) => {
                let value = cut(two as i64, size);
                self.ask(thread, Step::Write { location, order: order(three), value }, Then::Nothing);
                return Flow::Answer(0);
            }
            Hook::Exchange(_) => rmw(Update::Set(cut(two as i64, size)), order(three), order(three)),
            Hook::Fetch(_, fetch) => {
                let (operand, integer) = (cut(two as i64, size), Integer::Signed(size * 8));
                let update = match fetch {
                    Fetch::Add => Update::AddWithin(integer, operand),
                    Fetch::Sub => Update::AddWithin(integer, operand.wrapping_neg()),
                    Fetch::And => Update::And(operand),
                    Fetch::Or => Update::Or(operand),
                    Fetch::Xor => Update::Xor(operand),
                    Fetch::Nand => Update::Nand(operand),
                };
                rmw(update, order(three), order(three))
            }
            _ => {
                let mut expected = cut(two as i64, size);
                if let Hook::CompareExchange { .. } = hook {
                    if self.wrong(thread, two as usize, size.into()) {
                        return Flow::Wait;
                    }
                    self.access(thread, two as usize, size.into(), false);
                    expected = space::number(two as usize, size);
                }
                rmw(Update::CompareExchange { expected, new: cut(three as i64, size) }, order(four), order(five))
            }
        };
        // clang does not tell which exchanges are weak.
        self.takes_as_strong |= matches!(hook, Hook::CompareValue(_));
        let is_weak = matches!(hook, Hook::CompareExchange { is_weak: true, .. });
        if !is_weak || !self.may_happen(thread, Chance::Fails, Early::Exchange(step)) {
            self.look(thread, step);
        }
        Flow::Answer(self.threads[thread as usize].answer)
    }

    /// Asks for a step that may be the one that a loop waits at.
    pub(crate) fn look(&mut self, thread: u32, step: Step) {
        let is_first = !self.is_flat && self.threads[thread as usize].queue.is_empty();
        let waits = if is_first { self.is_waiting(thread, step) } else { None };
        self.ask(thread, step, Then::Answer);
        if let Some(steps) = waits {
            self.threads[thread as usize].state = State::Spins(steps);
        }
    }

    /// The location of an atomic. None if the access is wrong or not supported.
    pub(crate) fn marked(&mut self, thread: u32, address: usize, size: u8) -> Option<u32> {
        if self.wrong(thread, address, size.into()) {
            return None;
        }
        let site = self.threads[thread as usize].site;
        if !address.is_multiple_of(size.into()) {
            self.refuse(format!("misaligned atomic of {size} bytes"), site);
            return None;
        }
        if let Some(location) = self.places.location(address, size) {
            return Some(location);
        }
        self.knows_stack(address);
        let is_own = !self.is_flat && matches!(self.space.region(address), Region::Stack(_) | Region::Heap(_));
        match self.places.marked(address, size, is_own) {
            Ok(location) => {
                self.first_sites.entry(address).or_insert(site);
                Some(location)
            }
            Err((other, bytes)) => {
                let first = self.first_sites.get(&other).copied().unwrap_or_default();
                let message = format!("mixed-size atomic access: {size} bytes here, {bytes} bytes");
                self.refuse_beside(message, site, first);
                None
            }
        }
    }

    /// What an atomic operation returns if it reads this value.
    pub(crate) fn answer(&mut self, called: Called, value: Value) -> u64 {
        let [_, expected, ..] = called.arguments;
        match self.hook(called) {
            Hook::CompareExchange { size, .. } => {
                let value = cut(value, size);
                let is_there = value == space::number(expected as usize, size);
                if !is_there {
                    space::put_number(expected as usize, size, value);
                }
                u64::from(is_there)
            }
            Hook::Load(size) | Hook::Exchange(size) | Hook::Fetch(size, _) | Hook::CompareValue(size) => {
                let unused = 64 - 8 * u32::from(size);
                (value as u64) << unused >> unused
            }
            _ => value as u64,
        }
    }
}
