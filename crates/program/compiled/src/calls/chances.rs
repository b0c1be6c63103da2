//! What may happen to a thread without a reason: a weak compare-exchange fails, a wait ends, its time runs out. Each
//! may happen as often as told at each place in the code of a thread.
//!
//! A choice comes before. If it says yes, a read shows whether there is anything to it: an exchange that fails anyway,
//! a lock that is free, and a wait that was ended by a signal are what they are without the choice. Such an execution
//! is explored already, and ends there; a random run goes on as if the choice had said no.

use explore::{Chance, Step};

use crate::machine::Machine;
use crate::space;
use crate::symbols::{Hook, Timed};
use crate::thread::{Early, Lock, State, Then};

/// The second at which clocks begin.
pub(crate) const START: u64 = 1_000_000_000;

impl Machine {
    /// Whether something may happen to a thread where it is now. If so, it is asked for.
    pub(crate) fn may_happen(&mut self, thread: u32, chance: Chance, early: Early) -> bool {
        let of = &self.threads[thread as usize];
        let is_here = |&&(other, site, _): &&(Chance, usize, u32)| other == chance && site == of.site;
        let had = of.chances.iter().find(is_here).map_or(0, |&(.., had)| had);
        if had >= self.most_chances[chance as usize] {
            self.has_denied[chance as usize] = true;
            return false;
        }
        self.threads[thread as usize].early = Some(early);
        self.ask(thread, Step::Choice(2), Then::Chance(chance));
        true
    }

    /// Takes a lock: the answer of the hook comes with it.
    pub(crate) fn take_lock(&mut self, thread: u32, step: Step, lock: Lock, timed: Option<Timed>) {
        let may_run_out = timed.is_some_and(|timed| {
            let early = Early::Lock(step, lock, timed);
            self.may_happen(thread, Chance::RunsOut, early)
        });
        if !may_run_out {
            self.waits_for_time(thread, timed.is_some());
            self.ask(thread, step, Then::Takes(lock));
        }
    }

    /// A thread waits from here on, for no longer than some time if told.
    pub(crate) fn waits_for_time(&mut self, thread: u32, has_time: bool) {
        self.threads[thread as usize].has_time = has_time && self.most_chances[Chance::RunsOut as usize] > 0;
    }

    /// The choice is made.
    pub(crate) fn chance(&mut self, thread: u32, chance: Chance, happens: bool) {
        let Some(early) = self.threads[thread as usize].early else { return };
        if happens {
            let of = &mut self.threads[thread as usize];
            let site = of.site;
            match of.chances.iter_mut().find(|(other, place, _)| *other == chance && *place == site) {
                Some((.., had)) => *had += 1,
                None => of.chances.push((chance, site, 1)),
            }
        }
        match (early, happens) {
            (Early::Exchange(step), false) => self.look(thread, step),
            (Early::Lock(step, lock, _), false) => {
                self.waits_for_time(thread, true);
                self.ask(thread, step, Then::Takes(lock));
            }
            (Early::Exchange(step) | Early::Lock(step, ..), true) => {
                let Step::Rmw { location, failure, .. } = step else { return };
                self.ask(thread, Step::Read { location, order: failure, until: None }, Then::Happened);
            }
            (Early::Wait(waiting), false) => self.wait_by(thread, waiting, Some(chance)),
            (Early::Wait(waiting), true) => self.leave(thread, waiting, chance),
        }
    }

    /// What happened was read: a value with which the step would have gone another way, or not.
    pub(crate) fn happened(&mut self, thread: u32, value: i64) {
        let Some(early) = self.threads[thread as usize].early else { return };
        let (is_early, step) = match early {
            Early::Exchange(step @ Step::Rmw { update, .. }) => (update.apply(value).is_some(), step),
            Early::Lock(step, ..) => (step.until().is_some_and(|until| !until.accepts(value)), step),
            _ => return,
        };
        let of = &mut self.threads[thread as usize];
        match early {
            Early::Exchange(_) if is_early => of.answer = 0,
            Early::Lock(.., timed) if is_early => self.runs_out(thread, timed),
            _ if self.is_redundant(thread) => {}
            Early::Lock(_, lock, _) => {
                self.waits_for_time(thread, true);
                self.ask(thread, step, Then::Takes(lock));
            }
            _ => self.then(thread, Then::Answer, value),
        }
    }

    /// What a thread does from here on, another execution does without a chance: this one ends, if all are explored.
    pub(crate) fn is_redundant(&mut self, thread: u32) -> bool {
        if self.prunes {
            self.threads[thread as usize].state = State::Stopped;
        }
        self.prunes
    }

    /// The time of a wait is up. The clock of the thread says so, too.
    pub(crate) fn runs_out(&mut self, thread: u32, timed: Timed) {
        let of = &mut self.threads[thread as usize];
        of.answer = timed.answer.into();
        let Some(called) = of.called else { return };
        let at = called.arguments[usize::from(timed.argument)] as usize;
        if let Hook::Semaphore(_) = self.hook(called) {
            space::set_error_number(timed.answer.into());
            self.threads[thread as usize].answer = -1_i64 as u64;
        }
        if self.wrong(thread, at, 16) {
            return;
        }
        let (seconds, nanos) = (space::number(at, 8) as u64, space::number(at + 8, 8) as u64);
        let ticks = seconds.saturating_sub(START).saturating_mul(1000).saturating_add(nanos / 1_000_000);
        let of = &mut self.threads[thread as usize];
        // A time that no clock comes to.
        if ticks < 1 << 50 {
            of.ticks = of.ticks.max(ticks);
        }
    }
}
