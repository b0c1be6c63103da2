//! Condition variables.
//!
//! What is done with one is in one order, that of the updates of its word, and right after an update the list of those
//! that wait is as this order says. The word is odd while a thread chooses whom to wake: nothing else is done
//! meanwhile.

use explore::{Await, Chance, Comparison, Order, Step, Update};

use crate::machine::{Flow, Machine};
use crate::symbols::Cond;
use crate::thread::{Early, Lock, Then, Waiting};

/// The word while nobody chooses.
const EVEN: Await = Await { mask: 1, comparison: Comparison::Equal, value: 0 };

impl Machine {
    pub(crate) fn condition(&mut self, thread: u32, call: Cond, [cond, mutex, ..]: [u64; 6]) -> Flow {
        let (cond, mutex) = (cond as usize, mutex as usize);
        let Some(location) = self.marked(thread, cond, 4) else { return Flow::Wait };
        let (adds, then) = match call {
            Cond::Init => {
                self.write(thread, location, Order::NonAtomic, 0);
                return Flow::Answer(0);
            }
            Cond::Wait(_) if self.threads[thread as usize].held.iter().all(|(held, _)| *held != mutex) => {
                return self.misuse(thread, "a thread waits that has not locked the mutex");
            }
            Cond::Wait(timed) => (2, Then::Waits(Waiting { cond, mutex, token: 0, timed })),
            Cond::Signal => (1, Then::Wakes { cond, all: false }),
            Cond::Broadcast => (2, Then::Wakes { cond, all: true }),
        };
        self.update(thread, location, Order::Relaxed, Update::Add(adds), Some(EVEN), then);
        Flow::Answer(self.threads[thread as usize].answer)
    }

    pub(crate) fn condition_then(&mut self, thread: u32, then: Then, value: i64) {
        match then {
            Then::Waits(waiting) => self.wait(thread, waiting),
            Then::Leaves(waiting, chance) => {
                let list = self.waiting.entry(waiting.cond).or_default();
                if let Some(place) = list.iter().position(|&token| token == waiting.token) {
                    list.remove(place);
                    if let (Chance::RunsOut, Some(timed)) = (chance, waiting.timed) {
                        self.runs_out(thread, timed);
                    }
                    self.take_again(thread, waiting.mutex);
                } else if !self.is_redundant(thread) {
                    self.wait_for_token(thread, waiting);
                }
            }
            Then::Wakes { cond, all: true } => {
                for token in self.waiting.remove(&cond).unwrap_or_default() {
                    self.write(thread, token, Order::Release, 1);
                }
            }
            Then::Wakes { cond, .. } => match self.waiting.get(&cond).map_or(0, Vec::len) {
                count @ 2.. => self.ask(thread, Step::Choice(count as u32), Then::Chosen { cond, old: value }),
                _ => self.wake(thread, cond, 0, value),
            },
            Then::Chosen { cond, old } => self.wake(thread, cond, value as usize, old),
            _ => {}
        }
    }

    /// A thread has its place among those that wait. It gives the mutex back.
    fn wait(&mut self, thread: u32, waiting: Waiting) {
        let Waiting { cond, mutex, .. } = waiting;
        let of = &mut self.threads[thread as usize];
        of.tokens += 1;
        let number = of.tokens;
        of.held.retain(|(held, _)| *held != mutex);
        let token = self.places.token(thread, number);
        self.waiting.entry(cond).or_default().push(token);
        let Some(location) = self.marked(thread, mutex, 4) else { return };
        self.write(thread, location, Order::Release, 0);
        self.wait_by(thread, Waiting { token, ..waiting }, None);
    }

    /// Waits, or ends the wait by a chance that comes after this one.
    pub(crate) fn wait_by(&mut self, thread: u32, waiting: Waiting, after: Option<Chance>) {
        let chances: &[Chance] = match (after, waiting.timed) {
            (None, Some(_)) => &[Chance::RunsOut, Chance::Wakes],
            (None, None) | (Some(Chance::RunsOut), _) => &[Chance::Wakes],
            _ => &[],
        };
        for &chance in chances {
            if self.may_happen(thread, chance, Early::Wait(waiting)) {
                return;
            }
        }
        self.wait_for_token(thread, waiting);
    }

    /// The wait ends early, if nobody has woken the thread.
    pub(crate) fn leave(&mut self, thread: u32, waiting: Waiting, chance: Chance) {
        if let Some(location) = self.marked(thread, waiting.cond, 4) {
            let then = Then::Leaves(waiting, chance);
            self.update(thread, location, Order::Relaxed, Update::Add(2), Some(EVEN), then);
        }
    }

    fn wait_for_token(&mut self, thread: u32, Waiting { mutex, token, timed, .. }: Waiting) {
        self.waits_for_time(thread, timed.is_some());
        let until = Some(Await::equal(1));
        self.ask(thread, Step::Read { location: token, order: Order::Acquire, until }, Then::Woken);
        self.take_again(thread, mutex);
    }

    fn take_again(&mut self, thread: u32, mutex: usize) {
        if let Some(step) = self.locking(thread, mutex) {
            self.ask(thread, step, Then::Takes(Lock::Alone(mutex)));
        }
    }

    /// Wakes one of those that wait, if there are any, and lets others have their turn.
    fn wake(&mut self, thread: u32, cond: usize, at: usize, old: i64) {
        let token = self.waiting.get_mut(&cond).and_then(|list| (at < list.len()).then(|| list.remove(at)));
        if let Some(token) = token {
            self.write(thread, token, Order::Release, 1);
        }
        if let Some(location) = self.marked(thread, cond, 4) {
            self.write(thread, location, Order::Relaxed, old.wrapping_add(2));
        }
    }
}
