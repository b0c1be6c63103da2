//! Loops that wait.
//!
//! A thread hints that it spins. If the steps since its last effect only read, it is let run on
//! without events, and each read gets the value that it got last. If the thread does the same steps up to the same hint
//! again, it is in a loop that waits for another value, and stands at the same point as before. It then stops, and the
//! executions in which it reads another value are explored by changing the reads that it has. If it does anything else,
//! that hint is no loop's. Then the exploration begins again and treats it as none: its second round is explored.

use std::mem;

use super::{Native, Pending};
use crate::native::place::Kind;
use crate::native::runtime::{Code, Request};
use crate::program::Step;

impl Native {
    /// Whether a thread that hints waits for another value.
    pub(super) fn is_waiting(&mut self, thread: u32, code: Code) -> bool {
        const MOST_IDLE_HINTS: u32 = 10_000;
        let max_spins = self.max_spins;
        let running = &mut self.threads[thread as usize];
        let (had, reads) = (running.had, running.pure.len());
        running.hints += 1;
        let last = running.last_hint.replace((code, had));
        if running.hints <= max_spins && max_spins > 0 {
            return false;
        }
        if running.pure.iter().any(|&(step, value)| matches!(step, Step::Choice(_)) && value != 0) {
            // What happened without a reason does not happen again, so this is no wait.
            running.forget_pure();
            return false;
        }
        if reads == 0 {
            // Nothing but another thread could end this, and nothing is read of it.
            if running.hints > MOST_IDLE_HINTS {
                running.pending = Pending::Spins(0);
                return true;
            }
            return false;
        }
        if self.lessons.not_loops.contains(&code) {
            let is_second =
                last.is_some_and(|(other, before)| other == code && before < had && had - before <= reads as u32);
            if let Some((_, before)) = last.filter(|_| is_second) {
                running.pending = Pending::Spins(had - before);
            }
            return is_second;
        }
        if let Some(steps) = self.round(thread, code) {
            self.threads[thread as usize].pending = Pending::Spins(steps as u32);
        } else {
            self.lessons.not_loops.push(code);
            self.must_begin_again = true;
            self.threads[thread as usize].pending = Pending::Stopped;
        }
        true
    }

    /// Lets a thread run on from a hint without events. How many of its steps are the loop, if it is in one.
    fn round(&mut self, thread: u32, code: Code) -> Option<usize> {
        const MOST_STEPS: usize = 64;
        const MOST_HINTS: usize = 1000;
        // What the thread does now is no event.
        let graph = self.run.graph.replace(std::ptr::null_mut());
        let [mut round, mut last] = mem::take(&mut self.rounds);
        round.clear();
        last.clear();
        let (mut value, mut rounds, mut hints) = (0, 0, 0);
        let answer = loop {
            let Some(request) = self.switch(thread, value) else { break None };
            let pure = &self.threads[thread as usize].pure;
            // SAFETY: the thread has not gone on since.
            match unsafe { &*request } {
                &Request::Hint(other) => {
                    value = 0;
                    hints += 1;
                    if hints > MOST_HINTS {
                        break None;
                    }
                    if round.is_empty() || other != code {
                        continue;
                    }
                    let last_steps = pure.iter().rev().map(|(step, _)| step);
                    if round.len() <= pure.len() && round.iter().rev().eq(last_steps.take(round.len())) {
                        break Some(round.len());
                    }
                    if round == last {
                        break Some(pure.len());
                    }
                    rounds += 1;
                    if rounds > 3 {
                        break None;
                    }
                    mem::swap(&mut round, &mut last);
                    round.clear();
                }
                Request::Step(asked, _) => {
                    let known = |place: u32| {
                        pure.iter().rev().find(|(step, _)| step.location() == Some(place)).map(|&(_, value)| value)
                    };
                    value = match asked.step {
                        Step::Fence(_) | Step::Access { writes: false, .. } => 0,
                        Step::Choice(_) if matches!(asked.kind, Kind::Chance(_)) => 0,
                        Step::Read { location, until: None, .. } => match known(location) {
                            Some(value) => value,
                            None => break None,
                        },
                        Step::Rmw { location, until: None, update, .. } => {
                            match known(location).filter(|&value| update.apply(value).is_none()) {
                                Some(value) => value,
                                None => break None,
                            }
                        }
                        _ => break None,
                    };
                    round.push(asked.step);
                    if round.len() > MOST_STEPS {
                        break None;
                    }
                }
                Request::Stop(_) => break None,
            }
        };
        self.rounds = [round, last];
        self.run.graph.set(graph);
        answer
    }
}
