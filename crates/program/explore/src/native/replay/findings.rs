//! What is wrong with an execution.
//!
//! *Freed memory.* An access of a place must happen before its memory is freed. If the replay comes to it after that,
//! the run itself hears of it ([`Offence`]). If the replay comes to it before, the clocks tell whether it happens
//! before. If not, whoever frees could have been faster. That is tried: what the free depends on is replayed alone, and
//! threads go no further than to the last event that it depends on. If the memory is freed again, then nothing that the
//! model does not know keeps the thread from it, as the counter of a `std::sync::Arc` would.

use super::super::Finding;
use super::super::place::{Kind, Look};
use super::super::runtime::{Offence, OffenceKind};
use super::super::titles::{shown, titles};
use super::{Asked, Native, Pending, Running};
use crate::exploration::ExplorationEnding;
use crate::graph::{Graph, NONE};
use crate::heap::{Death, Moment};
use crate::trace::{Trace, TraceWords};

impl Native {
    /// What is wrong with the execution that the exploration has come to.
    pub(in crate::native) fn finding(&mut self, graph: &Graph, ending: ExplorationEnding) -> Option<Finding> {
        if self.finding.is_some() || self.must_begin_again {
            return self.finding.clone();
        }
        if let Some([one, other]) = graph.race() {
            // The graph may be new. What the code would do after the race has no meaning.
            let slot = |(thread, index): (u32, u32)| graph.threads[thread as usize][index as usize] as usize;
            self.follow(graph, slot(one).max(slot(other)));
            self.finding = Some(Finding::Race([self.place(one.0, one.1), self.place(other.0, other.1)]));
            return self.finding.clone();
        }
        if self.find_use_after_free(graph) || self.must_begin_again {
            return self.finding.clone();
        }
        self.finding = match ending {
            ExplorationEnding::Failed => {
                let message = self.threads.iter().find_map(|thread| match &thread.pending {
                    Pending::Failed(message) => Some(message.clone()),
                    _ => None,
                });
                Some(Finding::Panic(message.unwrap_or_default()))
            }
            ExplorationEnding::Deadlock => {
                let has_time = |thread: &Running| thread.context.as_ref().is_some_and(|context| context.has_time.get());
                if self.threads.iter().any(has_time) {
                    return None;
                }
                let is_stuck = |thread: &u32| !matches!(self.threads[*thread as usize].pending, Pending::Finished);
                let stuck = (0..self.threads.len() as u32).filter(is_stuck);
                Some(Finding::Deadlock(stuck.map(|thread| self.place(thread, u32::MAX)).collect()))
            }
            ExplorationEnding::Complete => {
                let mut leaks = if self.is_running { self.run.finish() } else { Vec::new() };
                if self.is_running {
                    leaks.extend(self.run.leaks());
                }
                (!leaks.is_empty()).then_some(Finding::Leak(leaks))
            }
            ExplorationEnding::Blocked | ExplorationEnding::Bounded => None,
        };
        self.finding.clone()
    }

    /// The execution that was found, in lanes and as a token.
    pub(in crate::native) fn trace(&self, graph: &Graph) -> Trace {
        let is_failed = |thread: &u32| matches!(self.threads[*thread as usize].pending, Pending::Failed(_));
        let failed = (0..self.threads.len() as u32).find(is_failed).filter(|&thread| !graph.is_empty(thread));
        let of: Vec<(u32, u32)> = match (graph.race(), failed) {
            _ if !self.shown.is_empty() => self.shown.clone(),
            (Some(both), _) => both.to_vec(),
            (None, Some(thread)) => vec![(thread, graph.len(thread) - 1)],
            (None, None) => Vec::new(),
        };
        let code = |thread: u32, index: u32| {
            let places = self.threads.get(thread as usize).map(|thread| &thread.places[..])?;
            places.get(index as usize).map(ToString::to_string)
        };
        let choice = |thread: u32, index: u32, value: i64| {
            let chances = self.threads.get(thread as usize).map(|thread| &thread.chances[..]).unwrap_or_default();
            match chances.iter().find(|(at, _)| *at == index) {
                Some((_, chance)) => chance.shown(value),
                None => format!("chooses {value}"),
            }
        };
        let (objects, names) = (self.run.objects.borrow(), self.run.names.borrow());
        let origin = |location: u32| names.place(location).map(|place| objects[place as usize].origin);
        let titles = titles((0..graph.location_count()).map(|location| origin(location).map(|(code, _)| code)));
        graph.trace(
            &of,
            &TraceWords {
                name: &|location| titles[location as usize].clone(),
                value: &|location, value| shown(value, origin(location).map_or(Look::Word, |(_, look)| look)),
                choice: &choice,
                code: &code,
            },
        )
    }

    /// Where a step of a thread is in the code, or the last one.
    pub(super) fn place(&self, thread: u32, index: u32) -> String {
        let places = self.threads.get(thread as usize).map(|thread| &thread.places[..]).unwrap_or_default();
        let place = places.get(index as usize).or(places.last());
        place.map_or_else(|| format!("thread {thread}"), |place| format!("thread {thread} at {place}"))
    }

    /// When something was done: after which step of its thread.
    fn moment(&self, moment: Moment) -> String {
        match moment.steps.checked_sub(1) {
            Some(last) => self.place(moment.thread, last).replacen(" at ", " after ", 1),
            None => format!("thread {} at its start", moment.thread),
        }
    }

    /// A thread has done something with memory that was freed.
    pub(super) fn blame(&mut self, Offence { kind, moment, death }: Offence) {
        let freed = death.and_then(|death| self.run.heap.borrow().moments(death).last().copied());
        let of = freed.into_iter().chain([moment]);
        self.shown = of.filter_map(|at| Some((at.thread, at.steps.checked_sub(1)?))).collect();
        let freed = freed.map_or_else(|| "in an earlier execution".to_owned(), |freed| self.moment(freed));
        self.finding = Some(match kind {
            OffenceKind::Use(code) => Finding::UseAfterFree([freed, format!("thread {} at {code}", moment.thread)]),
            OffenceKind::Free => Finding::DoubleFree([freed, self.moment(moment)]),
        });
    }

    /// A thread accesses what was freed since it asked for the access.
    pub(super) fn blame_pending(&mut self, thread: u32, address: usize) {
        let running = &self.threads[thread as usize];
        let Some(&code) = running.places.last() else { return };
        let moment = Moment { thread, steps: running.had };
        let death = self.run.death_at(address);
        self.blame(Offence { kind: OffenceKind::Use(code), moment, death });
    }

    /// Finds an access that does not happen before its memory is freed.
    fn find_use_after_free(&mut self, graph: &Graph) -> bool {
        if self.run.dead.borrow().is_empty() || !self.is_running {
            return false;
        }
        // An access that a thread waits for, or has asked for and not got.
        let is_dead = |asked: &&Asked| {
            let place = asked.step.location();
            place.is_some_and(|place| {
                let object = &self.run.objects.borrow()[place as usize];
                object.is_dead && object.address == asked.address
            })
        };
        let pending = self.threads.iter().map(|running| running.asked().filter(is_dead));
        let pending = (0..).zip(pending).find_map(|(thread, asked)| Some((thread, asked?.address)));
        if let Some((thread, address)) = pending {
            self.blame_pending(thread, address);
            return true;
        }
        let dead = self.run.dead.borrow().clone();
        let late = |&(object, death): &(u32, Death)| {
            let location = self.run.objects.borrow()[object as usize].location;
            let heap = self.run.heap.borrow();
            let late = graph.late_access(location, heap.moments(death), heap.events(death))?;
            Some((heap.likeness(death)?, late))
        };
        let mut late: Vec<_> = dead.iter().filter_map(late).collect();
        late.dedup_by_key(|(likeness, _)| *likeness);
        for (likeness, (thread, index)) in late {
            let is_freed = self.is_freed_alone(graph, likeness);
            if self.must_begin_again {
                return false;
            }
            let slot = graph.threads[thread as usize][index as usize] as usize;
            if self.finding.is_none() && self.is_accessed_in(graph, slot, likeness) && is_freed {
                let moment = likeness.2;
                self.shown = moment.steps.checked_sub(1).map(|last| (moment.thread, last)).into_iter().collect();
                self.shown.push((thread, index));
                let places = [self.moment(moment), self.place(thread, index)];
                self.finding = Some(Finding::UseAfterFree(places));
            }
            if self.finding.is_some() {
                return true;
            }
        }
        false
    }

    /// Replays all of the graph. The answer is whether an access is in memory that is freed like this: a place may have
    /// moved since it became known.
    fn is_accessed_in(&mut self, graph: &Graph, slot: usize, likeness: (usize, Option<Moment>, Moment)) -> bool {
        self.is_stale = true;
        self.follow(graph, slot);
        let asked = self.threads[graph.events[slot].thread as usize].asked();
        let address = asked.map_or(0, |asked| asked.address);
        self.follow(graph, graph.events.len());
        let heap = self.run.heap.borrow();
        heap.death_at(address).is_some_and(|death| heap.likeness(death) == Some(likeness))
    }

    /// Whether memory is freed also if only that is replayed on which this depends.
    fn is_freed_alone(&mut self, graph: &Graph, likeness: (usize, Option<Moment>, Moment)) -> bool {
        let Moment { thread, steps } = likeness.2;
        let wanted = self.run.heap.borrow().count_like(likeness);
        let Some(last) = steps.checked_sub(1) else { return true };
        let target = graph.threads[thread as usize][last as usize] as usize;
        let mut last = vec![NONE; graph.threads.len()];
        for slot in (0..=target).filter(|&slot| graph.is_cause(slot, target)) {
            last[graph.events[slot].thread as usize] = slot as u32;
        }
        self.restart();
        self.partial = Some(true);
        for slot in (0..=target).filter(|&slot| graph.is_cause(slot, target)) {
            let of = graph.events[slot].thread;
            let is_at_once = self.threads[of as usize].asked().is_some_and(|asked: &Asked| asked.kind == Kind::Own);
            let goes_on = of == thread || last[of as usize] != slot as u32 || is_at_once;
            if let Some((of, value)) = self.accept(slot, graph)
                && goes_on
            {
                self.resume(of, value);
            }
            if self.partial == Some(false) || self.finding.is_some() || self.must_begin_again {
                break;
            }
        }
        self.is_stale = true;
        self.partial.take() == Some(true) && self.run.heap.borrow().count_like(likeness) >= wanted
    }
}
