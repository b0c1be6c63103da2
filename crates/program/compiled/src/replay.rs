//! The program as the exploration sees it: the events of its graph are replayed, and then threads say what they want.
//!
//! Events are replayed in the order in which they stand in the graph, which respects reads-from. Without a race, what
//! plain memory holds then is right. When the graph loses an event that was replayed, the program begins again.

use explore::heap::Moment;
use explore::{Graph, Next, Program, Step, Value};

use crate::finding::DefectKind;
use crate::machine::{Flow, Machine};
use crate::space::{self, Object, Region};
use crate::thread::State;

impl Machine {
    /// Replays the first events of the graph.
    fn follow_graph(&mut self, graph: &Graph, count: usize) {
        if std::mem::take(&mut self.is_stale) {
            self.restart();
        }
        while self.replayed < count && !self.is_over() {
            let (thread, index) = graph.added(self.replayed);
            self.replayed += 1;
            self.accept(thread, index, graph);
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.finding.is_some() || self.refusal.is_some() || self.places.is_outdated
    }

    /// Lets a thread have an event.
    fn accept(&mut self, thread: u32, index: u32, graph: &Graph) {
        let step = graph.step(thread, index);
        if index + 1 == graph.len(thread) && graph.is_waiting(thread) {
            return;
        }
        let Some(of) = self.threads.get_mut(thread as usize) else { return };
        if of.state != State::Asks || of.queue.front().map(|(asked, _)| *asked) != Some(step) {
            let asked = of.queue.front().map(|(asked, _)| *asked);
            let (site, steps) = (of.site, index);
            self.refuse(
                format!(
                    "the program is not deterministic: step {steps} of thread {thread} was {step:?}, and is {asked:?}"
                ),
                site,
            );
            return;
        }
        let Some((step, then)) = of.queue.pop_front() else { return };
        of.sites.push((of.site, of.is_freeing));
        if self.keeps_stacks {
            let callers = self.callers(thread);
            self.threads[thread as usize].callers.push(callers);
        }
        let of = &mut self.threads[thread as usize];
        of.counted += u32::from(!matches!(step, Step::Access { .. }));
        self.activate(thread);
        let value = match step.location() {
            Some(location) => {
                let size = self.places.locations[location as usize].size;
                space::cut(graph.value(thread, index), size)
            }
            None => graph.value(thread, index),
        };
        if self.is_before_birth(thread, index, step, graph) {
            return;
        }
        self.take(thread, step, then, value);
        let of = &self.threads[thread as usize];
        if of.state == State::Asks && of.queue.is_empty() && !self.is_over() {
            self.go_on(thread);
        }
    }

    /// Whether a thread accesses what another one has allocated, and nothing makes it wait for that. This is found.
    fn is_before_birth(&mut self, thread: u32, index: u32, step: Step, graph: &Graph) -> bool {
        let Some(location) = step.location() else { return false };
        let address = self.places.locations[location as usize].address;
        if !matches!(self.space.region(address), Region::Heap(owner) if owner != thread) {
            return false;
        }
        let Some(Object { made, .. }) = self.space.holder(address) else { return false };
        let is_race = !graph.is_after((thread, index), Moment { thread: made.thread, steps: made.steps });
        if is_race {
            let me = self.place(thread, index).0;
            let message = "data race: nothing makes the access wait for the allocation".to_owned();
            self.find(DefectKind::Race, message, vec![me, made]);
        }
        is_race
    }

    /// The hook of a thread has all that it has asked for.
    fn go_on(&mut self, thread: u32) {
        let of = &mut self.threads[thread as usize];
        let flow = match (of.passes.take(), of.enters.take(), std::mem::take(&mut of.is_again), of.called) {
            (Some(function), ..) => Flow::Pass(function),
            (_, Some(stack), ..) => Flow::Enter(stack),
            (.., true, Some(called)) => self.acted(thread, self.hook(called), called),
            _ => Flow::Answer(of.answer),
        };
        self.run(thread, flow);
    }

    /// Replays the graph once more, and keeps the stacks of calls of all steps.
    pub(crate) fn keep_stacks(&mut self, graph: &Graph) {
        let finding = self.finding.take();
        (self.keeps_stacks, self.is_stale) = (true, true);
        let count = self.replayed;
        self.follow_graph(graph, count);
        self.keeps_stacks = false;
        self.finding = finding;
    }

    /// Replays the graph as far as two of its events.
    pub(crate) fn follow_to(&mut self, graph: &Graph, both: [(u32, u32); 2]) {
        let last = (0..graph.size()).rev().find(|&at| both.contains(&graph.added(at)));
        self.follow_graph(graph, last.unwrap_or_default());
    }
}

/// A machine that is explored.
#[derive(Debug)]
pub(crate) struct Explored<'a>(pub(crate) &'a mut Machine);

impl Program for Explored<'_> {
    fn threads(&self) -> u32 {
        1
    }

    fn initial(&self, location: u32) -> Value {
        self.0.places.locations[location as usize].initial
    }

    fn next(&mut self, thread: u32, graph: &Graph) -> Next {
        let machine = &mut *self.0;
        // What comes after a race has no meaning.
        if graph.race().is_some() {
            return Next::Stopped;
        }
        machine.follow_graph(graph, graph.size());
        if machine.finding.is_some() {
            return Next::Failed;
        }
        if machine.is_over() {
            return Next::Stopped;
        }
        let Some(of) = machine.threads.get(thread as usize) else { return Next::Stopped };
        match of.state {
            State::Missing | State::Stopped => Next::Stopped,
            State::Finished | State::Exited => Next::Finished,
            State::Spins(steps) => Next::Spins(steps),
            State::Asks if of.counted >= machine.max_steps || of.sites.len() as u32 >= 100 * machine.max_steps => {
                Next::Bounded
            }
            State::Asks => of.queue.front().map_or(Next::Stopped, |(step, _)| Next::Step(*step)),
        }
    }

    fn rewound(&mut self) -> bool {
        self.0.is_stale = true;
        true
    }

    fn kind(&mut self, thread: u32) -> Option<u32> {
        self.0.kinds.get(&thread).copied().filter(|_| self.0.symmetry)
    }

    fn wake(&mut self, thread: u32, graph: &Graph) {
        self.0.follow_graph(graph, graph.size());
        if let Some(of) = self.0.threads.get_mut(thread as usize)
            && matches!(of.state, State::Spins(_))
        {
            of.state = State::Asks;
        }
    }
}
