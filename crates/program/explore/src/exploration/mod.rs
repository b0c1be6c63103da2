//! Every execution of a program that a model allows: each reads-from class exactly once, in memory polynomial in the
//! size of one execution.
//!
//! The algorithm is TruSt's (Kokologiannakis, Marmanis, Gladstein, Vafeiadis, POPL 2022) without the modification
//! order, which is no part of a class here. Events are added one at a time. A read tries every source with which the
//! graph is consistent. A write that is added after a read may be its source, too: the read is *revisited*. Then the
//! events that were added after the read, and that the write does not depend on, are deleted, and the read gets the
//! write as its source.
//!
//! The same graph could be reached from many graphs in this way. Only one of them may do it: the one in which the read
//! and all deleted reads have their *canonical* source, a source that depends on the set of events that stay and on
//! nothing else. Where nothing but coherence counts, it is the end of a chain that precedes no other chain: the chain
//! whose first write has the greatest place (thread, index), the initial chain last. Otherwise it is the write with the
//! greatest place with which the graph is consistent. A waiting await is canonical if it waits.
//!
//! Where threads are alike, executions that differ in their names are left out. That is a question of consistency, and
//! of what an event depends on: `graph/alike.rs`.
//!
//! Nothing is remembered of the classes that were visited. A forward step is undone by popping an event; a revisit gets
//! a graph of its own (`level.rs`). A write that was used in a revisit is not deleted below it, so at most as many
//! levels nest as there are writes.

mod estimate;
mod level;
mod nexts;
mod revisits;
mod run;

use std::ops::ControlFlow;

use crate::graph::{Event, Graph, NONE, NOTHING};
use crate::model::Model;
use crate::program::{Await, Next, Program, Step, Value};
use level::{Frame, Level};
use revisits::{Part, find_revisits};

pub use estimate::Estimate;
pub(crate) use nexts::Nexts;
pub use run::{Counts, ExplorationEnding, Run};

/// What became of the attempt to add an event.
enum Forward {
    /// It was added.
    Added,
    /// It has sources to choose from.
    Choose,
    /// No thread can go on.
    Leaf,
}

/// The exploration of one program.
#[derive(Debug)]
pub struct Exploration<P> {
    program: P,
    levels: Vec<Level>,
    /// How many levels are in use.
    depth: usize,
    /// The graph in which canonical sources are looked for, and the events of the explored graph in it.
    trial: Graph,
    places: Vec<u32>,
    parts: Vec<Part>,
    /// How many events of the graph were there when the program was asked last.
    seen: usize,
    counts: Counts,
    is_started: bool,
}

impl<P: Program> Exploration<P> {
    /// The exploration of a program under a model.
    pub fn new(program: P, model: Model) -> Self {
        let mut level = Level::new(model);
        for thread in 0..program.threads() {
            level.graph.admit_thread(thread);
        }
        Self {
            program,
            levels: vec![level],
            depth: 1,
            trial: Graph::new(model),
            places: Vec::new(),
            parts: Vec::new(),
            seen: 0,
            counts: Counts::default(),
            is_started: false,
        }
    }

    /// The program.
    pub fn program(&self) -> &P {
        &self.program
    }

    /// What has been found so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What has been found so far; it is not counted any more.
    pub(crate) fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }

    /// Another thread of the operating system goes on.
    pub(crate) fn detach(&mut self) {
        self.program.detach();
        self.levels.iter_mut().for_each(|level| level.nexts.forget_all());
    }

    /// Explores all that is left, and tells each execution. The answer says whether the exploration went to its end.
    pub fn run(&mut self, mut tell: impl FnMut(&mut Run<'_, P>) -> ControlFlow<()>) -> ControlFlow<()> {
        if self.is_started && !self.turn() {
            return ControlFlow::Continue(());
        }
        self.is_started = true;
        loop {
            match self.forward() {
                Forward::Added => continue,
                Forward::Choose => {}
                Forward::Leaf => {
                    let ending = self.ending();
                    let graph = &mut self.levels[self.depth - 1].graph;
                    self.counts.count(ending, graph);
                    tell(&mut Run::new(graph, &mut self.program, ending))?;
                }
            }
            if !self.turn() {
                return ControlFlow::Continue(());
            }
        }
    }

    /// The thread that goes on, and its step: the lowest one, one that waits for a value only if no other can go on.
    /// Also whether it is the only one that can go on.
    fn choose(&mut self) -> Option<(u32, Step, bool)> {
        let Self { levels, program, depth, seen, .. } = self;
        let Level { graph, nexts, .. } = &mut levels[*depth - 1];
        *seen = graph.events.len();
        let mut waiting = None;
        let mut is_only = true;
        for thread in 0..graph.thread_count() {
            let Some(step) = nexts.step(program, graph, thread) else { continue };
            if step.until().is_none() {
                return Some((thread, step, false));
            }
            is_only &= waiting.is_none();
            waiting = waiting.or(Some((thread, step)));
        }
        waiting.map(|(thread, step)| (thread, step, is_only))
    }

    /// Adds one event.
    fn forward(&mut self) -> Forward {
        let Some((thread, step, is_only)) = self.choose() else { return Forward::Leaf };
        let Self { levels, program, depth, .. } = self;
        let level = &mut levels[*depth - 1];
        admit(&mut level.graph, program, &step);
        if level.graph.is_empty(thread) {
            level.graph.set_kind(thread, program.kind(thread));
        }
        level.nexts.forget(thread);
        let stamp = level.take_stamp();
        match step {
            Step::Fence(_) | Step::Spawn(_) | Step::Join(_) | Step::Begin | Step::Access { .. } => {
                level.graph.push_plain(thread, &step, 0, stamp);
                level.frames.push(Frame::Plain);
            }
            Step::Choice(count) => {
                let limit = level.graph.choices(thread, count);
                level.graph.push_plain(thread, &step, 0, stamp);
                let slot = level.graph.events.len() as u32 - 1;
                level.frames.push(Frame::Choice { slot, thread, count, limit, chosen: 0, stamp });
            }
            Step::Write { .. } => {
                level.graph.push_write(thread, &step, stamp);
                level.push_write_frame(true);
            }
            Step::Read { location, until, .. } | Step::Rmw { location, until, .. } => {
                let bottom = level.list.len();
                if until.is_some() {
                    level.list.push(NOTHING);
                }
                let Level { graph, list, .. } = level;
                let accepts = |source: u32| until.is_none_or(|it| it.accepts(graph.value_of(location, source)));
                // The last of the list is tried first.
                let sources = graph.locations[location as usize].writes.iter().rev().copied();
                let first = list.len();
                list.extend(sources.filter(|&source| accepts(source)));
                if matches!(step, Step::Rmw { .. }) {
                    // A write that another rmw updates leads to revisits alone. These come when the program has ended:
                    // to end a thread in the middle costs more than to run it.
                    let updaters = &graph.locations[location as usize].updaters;
                    list[first..].sort_by_key(|&source| updaters[graph.write_number(source) as usize] == NONE);
                }
                if let Some(until) = until.filter(|_| is_only)
                    && has_source(graph, thread, step, &list[bottom + 1..])
                    && !(program.asks_for_liveness() && may_lack(graph, location, until))
                {
                    list.remove(bottom);
                }
                let slot = level.graph.events.len() as u32;
                level.frames.push(Frame::Read { slot, thread, step, stamp, bottom, is_pushed: false });
                return Forward::Choose;
            }
        }
        Forward::Added
    }

    /// Goes back to the last point of choice that has another alternative, and takes it. False if there is none. The
    /// program hears of it if the graph has lost events that it knows.
    fn turn(&mut self) -> bool {
        let Some(has_lost) = self.find_turn() else { return false };
        if has_lost && self.program.rewound() {
            self.levels[self.depth - 1].nexts.forget_all();
        }
        true
    }

    /// The same. The answer is whether the graph has lost events that the program knows: those that were there when it
    /// was asked last. (A read that has had a source in vain is no such event.)
    fn find_turn(&mut self) -> Option<bool> {
        let start = self.depth;
        // How many events of the graph have stayed, and whether it is another graph.
        let (mut stayed, mut is_other) = (usize::MAX, false);
        while self.depth > 0 {
            let Self { levels, depth, trial, places, parts, .. } = self;
            let (used, unused) = levels.split_at_mut(*depth);
            let level = &mut used[*depth - 1];
            match level.frames.last_mut() {
                None => {
                    is_other |= *depth == start;
                    *depth -= 1;
                    continue;
                }
                Some(Frame::Plain) => {
                    level.pop();
                    level.frames.pop();
                }
                Some(&mut Frame::Choice { thread, count, limit, ref mut chosen, stamp, .. }) => {
                    *chosen += 1;
                    let chosen = *chosen;
                    if chosen < limit {
                        level.choose(thread, count, chosen, stamp);
                        return Some(true);
                    }
                    level.pop();
                    level.stamp = stamp + 1;
                    level.frames.pop();
                }
                Some(&mut Frame::Read { slot, is_pushed, .. }) => {
                    if is_pushed && *depth == start {
                        stayed = stayed.min(slot as usize);
                    }
                    if level.try_next_source() {
                        return Some(is_other || *depth != start || stayed < self.seen);
                    }
                }
                Some(&mut Frame::Write { slot, ref mut is_revisiting, .. }) if !*is_revisiting => {
                    *is_revisiting = true;
                    find_revisits(level, slot, trial, places, parts);
                }
                Some(&mut Frame::Write { slot, bottom, is_in_graph, .. }) => {
                    if level.list.len() > bottom
                        && let Some(read) = level.list.pop()
                    {
                        if unused.is_empty() {
                            let new = Level::new(level.graph.model());
                            levels.push(new);
                        }
                        let (used, unused) = self.levels.split_at_mut(self.depth);
                        let [.., level] = used else { return None };
                        let new = &mut unused[0];
                        if new.revisit(level, slot, read, &mut self.places) {
                            self.depth += 1;
                            if !new.is_turning() {
                                return Some(true);
                            }
                        }
                        continue;
                    }
                    if is_in_graph {
                        level.pop_part();
                    }
                    level.frames.pop();
                }
            }
            if self.depth == start {
                stayed = stayed.min(self.levels[start - 1].graph.events.len());
            }
        }
        None
    }

    /// Gives a part of what is left to another exploration, the first that can be given away. None if all that is left
    /// is the execution at hand.
    ///
    /// Every point of choice can be continued on its own: all that it needs is the events below it.
    pub(crate) fn give(&mut self) -> Option<Self>
    where
        P: Clone,
    {
        let model = self.trial.model();
        let Self { levels, depth, program, places, .. } = self;
        let level = levels[..*depth].iter_mut().find_map(|level| level.give(model, places))?;
        Some(Self {
            program: program.clone(),
            levels: vec![level],
            depth: 1,
            trial: Graph::new(model),
            places: Vec::new(),
            parts: Vec::new(),
            seen: 0,
            counts: Counts::default(),
            is_started: true,
        })
    }

    fn ending(&mut self) -> ExplorationEnding {
        let Self { levels, program, depth, .. } = self;
        let Level { graph, list, nexts, .. } = &mut levels[*depth - 1];
        let threads = 0..graph.thread_count();
        let (mut is_complete, mut is_stopped, mut is_bounded) = (true, false, false);
        for thread in threads.clone() {
            match *nexts.of(program, graph, thread) {
                Next::Finished => {}
                Next::Failed => return ExplorationEnding::Failed,
                Next::Bounded => is_bounded = true,
                Next::Stopped => {
                    is_stopped |= !graph.is_waiting(thread);
                    is_complete = false;
                }
                // No thread of this execution.
                Next::Step(Step::Begin) if graph.spawned[thread as usize] == NONE => {}
                Next::Spins(_) | Next::Step(_) => is_complete = false,
            }
        }
        if is_bounded {
            return ExplorationEnding::Bounded;
        }
        if is_complete {
            return ExplorationEnding::Complete;
        }
        // An execution that is not visited under this name counts, too.
        graph.set_free(true);
        let may_go_on = threads.into_iter().any(|thread| {
            if let Next::Spins(steps) = *nexts.of(program, graph, thread) {
                return may_leave_loop(graph, thread, steps);
            }
            let Some(&slot) = graph.threads[thread as usize].last() else { return false };
            let Event { step, .. } = graph.events[slot as usize];
            let (Some(location), Some(until)) = (step.location(), step.until()) else { return false };
            if !graph.events[slot as usize].waits() {
                return false;
            }
            let bottom = list.len();
            let sources = graph.locations[location as usize].writes.iter().copied();
            list.extend(sources.filter(|&source| until.accepts(graph.value_of(location, source))));
            // The question is asked in place of the await, not after it.
            graph.threads[thread as usize].pop();
            let answer = has_source(graph, thread, step, &list[bottom..]);
            graph.threads[thread as usize].push(slot);
            list.truncate(bottom);
            answer
        });
        graph.set_free(false);
        if may_go_on && program.asks_for_liveness() && !is_stopped && hangs(program, graph, nexts) {
            return ExplorationEnding::Deadlock;
        }
        if may_go_on || is_stopped { ExplorationEnding::Blocked } else { ExplorationEnding::Deadlock }
    }
}

/// Whether the last write of a location may have none of the values that are waited for.
fn may_lack(graph: &mut Graph, location: u32, until: Await) -> bool {
    let mut lacks = false;
    graph.memories(&[location], &mut |memory| lacks |= !until.accepts(memory[0]));
    lacks
}

/// Whether threads that cannot go on may stay where they are for ever: the last writes of some modification order have
/// none of the values that they wait for. A loop that has read such writes alone reads the same in its next round.
fn hangs<P: Program>(program: &mut P, graph: &mut Graph, nexts: &mut Nexts) -> bool {
    let mut locations: Vec<u32> = Vec::new();
    // By place in `locations`: the value that must not be, or the value that must be.
    let mut waits: Vec<(usize, Await)> = Vec::new();
    let mut reads: Vec<(usize, Value)> = Vec::new();
    let mut place = |location: u32| {
        locations.iter().position(|&other| other == location).unwrap_or_else(|| {
            locations.push(location);
            locations.len() - 1
        })
    };
    for thread in 0..graph.thread_count() {
        let len = graph.len(thread);
        if graph.is_waiting(thread) {
            let step = graph.event(thread, len - 1).step;
            if let (Some(location), Some(until)) = (step.location(), step.until()) {
                waits.push((place(location), until));
            }
        } else if let Next::Spins(steps) = *nexts.of(program, graph, thread) {
            for event in (len.saturating_sub(steps)..len).map(|index| graph.event(thread, index)) {
                if let Step::Read { location, .. } | Step::Rmw { location, .. } = event.step {
                    reads.push((place(location), event.read));
                }
            }
        }
    }
    let mut can_stay = false;
    graph.memories(&locations, &mut |memory| {
        can_stay |= waits.iter().all(|&(place, until)| !until.accepts(memory[place]))
            && reads.iter().all(|&(place, value)| memory[place] == value);
    });
    can_stay
}

/// Makes room for the location of a step.
#[inline]
pub(crate) fn admit(graph: &mut Graph, program: &impl Program, step: &Step) {
    if let Some(location) = step.location() {
        while graph.location_count() <= location {
            graph.admit_location(program.initial(graph.location_count()));
        }
    }
}

/// Whether a step could read from one of these sources as the next event of its thread.
fn has_source(graph: &mut Graph, thread: u32, step: Step, sources: &[u32]) -> bool {
    sources.iter().any(|&source| may_read(graph, thread, step, source))
}

/// Whether a read or rmw could be the next event of its thread with this source.
pub(crate) fn may_read(graph: &mut Graph, thread: u32, step: Step, source: u32) -> bool {
    if let Some(answer) = graph.told_by_coherence(thread, &step, source) {
        return answer;
    }
    if !graph.push_read(thread, &step, source, 0) {
        return false;
    }
    let read = graph.events[graph.events.len() - 1].read;
    let writes = matches!(step, Step::Rmw { update, .. } if update.apply(read).is_some());
    let answer = (!writes || graph.push_update(0)) && graph.holds();
    graph.pop();
    answer
}

/// Whether a thread that spins can read another value in one of its last steps, which are the loop.
pub(crate) fn may_leave_loop(graph: &mut Graph, thread: u32, steps: u32) -> bool {
    let len = graph.len(thread);
    (len.saturating_sub(steps)..len).any(|index| {
        let Event { step, read, .. } = *graph.event(thread, index);
        let (Step::Read { location, .. } | Step::Rmw { location, .. }) = step else { return false };
        // The newest is the most likely one.
        (0..graph.locations[location as usize].writes.len()).rev().any(|write| {
            let source = graph.locations[location as usize].writes[write];
            graph.value_of(location, source) != read && may_read(graph, thread, step, source)
        })
    })
}
