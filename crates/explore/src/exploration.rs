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
//! Nothing is remembered of the classes that were visited. A forward step is undone by popping an event; a revisit gets
//! a graph of its own ([`Level`]). A write that was used in a revisit is not deleted below it, so at most as many
//! levels nest as there are writes.

use std::ops::{AddAssign, ControlFlow};

use crate::graph::{Event, Graph, INITIAL, NONE, NOTHING, less};
use crate::model::{Model, Together};
use crate::program::{Next, Program, Step, Value};

/// How a run of the program ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// Every thread has finished.
    Complete,
    /// Some thread cannot go on, but a value that it waits for could be read, in this execution or in another one that
    /// is explored.
    Blocked,
    /// Threads wait, and no value that any of them waits for can ever be read.
    Deadlock,
    /// An assertion failed. The execution is a finding, though other threads have not finished.
    Failed,
    /// Some thread has had too many steps.
    Bounded,
}

/// What an exploration has found.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The complete executions: reads-from classes.
    pub executions: u64,
    /// The executions in which some thread cannot go on, deadlocks among them.
    pub blocked: u64,
    /// The deadlocks.
    pub deadlocks: u64,
    /// The executions in which an assertion failed.
    pub failed: u64,
    /// The executions in which a thread had too many steps.
    pub bounded: u64,
    /// The complete executions that have a data race.
    pub races: u64,
}

impl Counts {
    pub(crate) fn count(&mut self, ending: Ending, graph: &Graph) {
        match ending {
            Ending::Complete => {
                self.executions += 1;
                self.races += u64::from(graph.race().is_some());
            }
            Ending::Blocked => self.blocked += 1,
            Ending::Deadlock => (self.blocked, self.deadlocks) = (self.blocked + 1, self.deadlocks + 1),
            Ending::Failed => self.failed += 1,
            Ending::Bounded => self.bounded += 1,
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        let Self { executions, blocked, deadlocks, failed, bounded, races } = other;
        self.executions += executions;
        self.blocked += blocked;
        self.deadlocks += deadlocks;
        self.failed += failed;
        self.bounded += bounded;
        self.races += races;
    }
}

/// What became of the attempt to add an event.
enum Forward {
    /// It was added.
    Added,
    /// It has sources to choose from.
    Choose,
    /// No thread can go on.
    Leaf,
}

/// A point of choice, with the events that are above it in the graph.
#[derive(Debug)]
enum Frame {
    /// An event without a choice.
    Plain,
    /// A choice among numbers: the one that was tried last.
    Choice { slot: u32, thread: u32, count: u32, chosen: u32, stamp: u32 },
    /// A read or rmw. Its sources are in the list of the level, and the next one to try is the last.
    Read { slot: u32, thread: u32, step: Step, stamp: u32, bottom: usize, is_pushed: bool },
    /// A write, or the write of an rmw. If the graph with it is consistent, that graph is explored first. Then the
    /// reads that it revisits are in the list of the level. If the graph with it is not consistent, the write is not in
    /// the graph, and still revisits.
    Write { slot: u32, bottom: usize, is_revisiting: bool, is_in_graph: bool },
}

impl Frame {
    fn bottom(&self) -> Option<usize> {
        match *self {
            Self::Read { bottom, .. } | Self::Write { bottom, .. } => Some(bottom),
            Self::Plain | Self::Choice { .. } => None,
        }
    }

    fn bottom_mut(&mut self) -> Option<&mut usize> {
        match self {
            Self::Read { bottom, .. } | Self::Write { bottom, .. } => Some(bottom),
            Self::Plain | Self::Choice { .. } => None,
        }
    }
}

/// A graph, and how it was built since the revisit that it began with.
#[derive(Debug)]
struct Level {
    graph: Graph,
    frames: Vec<Frame>,
    /// The sources and reads of the frames.
    list: Vec<u32>,
    /// The stamp of the next event.
    stamp: u32,
    nexts: Nexts,
}

/// By thread: what it does next, if that is known.
#[derive(Debug, Default)]
pub(crate) struct Nexts(Vec<Option<Next>>);

impl Nexts {
    /// What a thread does next.
    pub(crate) fn of(&mut self, program: &mut impl Program, graph: &Graph, thread: u32) -> Next {
        let at = thread as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        *self.0[at].get_or_insert_with(|| {
            if graph.is_waiting(thread) {
                Next::Stopped
            } else if thread >= program.threads() && graph.is_empty(thread) {
                Next::Step(Step::Begin)
            } else {
                program.next(thread, graph)
            }
        })
    }

    /// The next step of a thread, if nothing but a value keeps it from going on.
    pub(crate) fn step(&mut self, program: &mut impl Program, graph: &Graph, thread: u32) -> Option<Step> {
        let Next::Step(step) = self.of(program, graph, thread) else { return None };
        let can_go_on = match step {
            Step::Begin => graph.spawned[thread as usize] != NONE,
            Step::Join(child) => {
                let has_begun = child < program.threads() || !graph.is_empty(child);
                has_begun && self.of(program, graph, child) == Next::Finished
            }
            _ => true,
        };
        can_go_on.then_some(step)
    }

    /// The thread has gone on, or back.
    pub(crate) fn forget(&mut self, thread: u32) {
        if let Some(next) = self.0.get_mut(thread as usize) {
            *next = None;
        }
    }

    pub(crate) fn forget_all(&mut self) {
        self.0.fill(None);
    }
}

/// A part of an event in the order in which events were added.
#[derive(Copy, Clone, Debug)]
struct Part {
    stamp: u32,
    slot: u32,
    is_write: bool,
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
                    tell(&mut Run { graph, program: &mut self.program, ending })?;
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
        let Self { levels, program, depth, .. } = self;
        let Level { graph, nexts, .. } = &mut levels[*depth - 1];
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
        admit(&mut level.graph, program, step);
        level.nexts.forget(thread);
        let stamp = level.take_stamp();
        match step {
            Step::Fence(_) | Step::Spawn(_) | Step::Join(_) | Step::Begin | Step::Access { .. } => {
                level.graph.push_plain(thread, step, 0, stamp);
                level.frames.push(Frame::Plain);
            }
            Step::Choice(count) => {
                level.graph.push_plain(thread, step, 0, stamp);
                let slot = level.graph.events.len() as u32 - 1;
                level.frames.push(Frame::Choice { slot, thread, count, chosen: 0, stamp });
            }
            Step::Write { .. } => {
                level.graph.push_write(thread, step, stamp);
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
                list.extend(sources.filter(|&source| accepts(source)));
                if is_only && until.is_some() && has_source(graph, thread, step, &list[bottom + 1..]) {
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

    fn find_turn(&mut self) -> Option<bool> {
        let mut has_lost = false;
        while self.depth > 0 {
            let Self { levels, depth, trial, places, parts, .. } = self;
            let (used, unused) = levels.split_at_mut(*depth);
            let level = &mut used[*depth - 1];
            match level.frames.last_mut() {
                None => {
                    *depth -= 1;
                    has_lost = true;
                }
                Some(Frame::Plain) => {
                    has_lost = true;
                    level.pop();
                    level.frames.pop();
                }
                Some(&mut Frame::Choice { thread, count, ref mut chosen, stamp, .. }) => {
                    *chosen += 1;
                    let chosen = *chosen;
                    level.pop();
                    level.stamp = stamp + 1;
                    if chosen < count {
                        level.graph.push_plain(thread, Step::Choice(count), chosen.into(), stamp);
                        return Some(true);
                    }
                    level.frames.pop();
                }
                Some(&mut Frame::Read { is_pushed, .. }) => {
                    has_lost |= is_pushed;
                    if level.try_next_source() {
                        return Some(has_lost);
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
                    has_lost = true;
                    if is_in_graph {
                        level.pop_part();
                    }
                    level.frames.pop();
                }
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
            counts: Counts::default(),
            is_started: true,
        })
    }

    fn ending(&mut self) -> Ending {
        let Self { levels, program, depth, .. } = self;
        let Level { graph, list, nexts, .. } = &mut levels[*depth - 1];
        let threads = 0..graph.thread_count();
        let (mut is_complete, mut is_stopped, mut is_bounded) = (true, false, false);
        for thread in threads.clone() {
            match nexts.of(program, graph, thread) {
                Next::Finished => {}
                Next::Failed => return Ending::Failed,
                Next::Bounded => is_bounded = true,
                Next::Stopped => {
                    is_stopped |= !graph.is_waiting(thread);
                    is_complete = false;
                }
                Next::Spins(_) => is_complete = false,
                // No thread of this execution.
                Next::Step(Step::Begin) if graph.spawned[thread as usize] == NONE => {}
                Next::Step(_) => is_complete = false,
            }
        }
        if is_bounded {
            return Ending::Bounded;
        }
        if is_complete {
            return Ending::Complete;
        }
        let may_go_on = threads.into_iter().any(|thread| {
            if let Next::Spins(steps) = nexts.of(program, graph, thread) {
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
        if may_go_on || is_stopped { Ending::Blocked } else { Ending::Deadlock }
    }
}

impl Level {
    fn new(model: Model) -> Self {
        Self { graph: Graph::new(model), frames: Vec::new(), list: Vec::new(), stamp: 0, nexts: Nexts::default() }
    }

    fn take_stamp(&mut self) -> u32 {
        self.stamp += 1;
        self.stamp - 1
    }

    fn forget_next(&mut self) {
        if let Some(event) = self.graph.events.last() {
            self.nexts.forget(event.thread);
        }
    }

    /// Takes the last event back.
    fn pop(&mut self) {
        self.forget_next();
        self.graph.pop();
    }

    /// Takes the last write back. Of an rmw, the read stays.
    fn pop_part(&mut self) {
        if matches!(self.graph.events.last(), Some(Event { step: Step::Rmw { .. }, .. })) {
            self.graph.pop_update();
        } else {
            self.pop();
        }
    }

    /// Whether the graph is not to be explored, only what comes after it.
    fn is_turning(&self) -> bool {
        matches!(self.frames.last(), Some(Frame::Write { is_in_graph: false, .. }))
    }

    fn push_write_frame(&mut self, is_in_graph: bool) {
        let slot = self.graph.events.len() as u32 - 1;
        self.frames.push(Frame::Write { slot, bottom: self.list.len(), is_revisiting: false, is_in_graph });
    }

    /// Gives the read on top its next source. The answer is whether the graph is to be explored.
    fn try_next_source(&mut self) -> bool {
        let Some(&mut Frame::Read { thread, step, stamp, bottom, ref mut is_pushed, .. }) = self.frames.last_mut()
        else {
            return false;
        };
        let was_pushed = std::mem::replace(is_pushed, true);
        self.stamp = stamp + 1;
        if was_pushed {
            self.pop();
        }
        while self.list.len() > bottom
            && let Some(source) = self.list.pop()
        {
            if source == NOTHING {
                self.graph.push_waiting(thread, step, stamp);
                self.forget_next();
                return true;
            }
            if self.graph.push_read(thread, step, source, stamp) {
                self.forget_next();
                match self.settle() {
                    Settled::Consistent => return true,
                    // Of two rmws that update one write, the later can become the source of the earlier, unless it
                    // depends on it.
                    Settled::WithoutWrite => {
                        self.push_write_frame(false);
                        return false;
                    }
                    Settled::Inconsistent => self.graph.pop(),
                }
            }
        }
        self.frames.pop();
        false
    }

    /// Finds out whether the graph is consistent with the read on top, and if this is an rmw that succeeds, with its
    /// write, which it adds. Its frame is added, too.
    fn settle(&mut self) -> Settled {
        let Some(event) = self.graph.events.last() else { return Settled::Inconsistent };
        let writes = matches!(event.step, Step::Rmw { update, .. } if update.apply(event.read).is_some());
        if !writes {
            return if self.graph.holds() { Settled::Consistent } else { Settled::Inconsistent };
        }
        let stamp = self.take_stamp();
        if let Some(event) = self.graph.events.last_mut() {
            event.stamps[1] = stamp;
        }
        if self.graph.push_update(stamp) {
            if self.graph.holds() {
                self.push_write_frame(true);
                return Settled::Consistent;
            }
            self.graph.pop_update();
        }
        if self.is_hopeless() || !self.graph.holds() { Settled::Inconsistent } else { Settled::WithoutWrite }
    }

    /// Whether the rmw on top depends on another one that updates the same write.
    fn is_hopeless(&self) -> bool {
        let slot = self.graph.events.len() - 1;
        let event = &self.graph.events[slot];
        let Some(location) = event.step.location() else { return true };
        let of = &self.graph.locations[location as usize];
        let updater = of.updaters[self.graph.write_number(event.source) as usize];
        updater != NONE && self.graph.is_cause(of.writes[updater as usize] as usize, slot)
    }

    /// Takes the alternatives of the lowest point of choice that has any, and makes a level of its own of them.
    fn give(&mut self, model: Model, places: &mut Vec<u32>) -> Option<Self> {
        for at in 0..self.frames.len() {
            let top = self.frames[at + 1..].iter().find_map(Frame::bottom).unwrap_or(self.list.len());
            let (frame, slots, alternatives) = match self.frames[at] {
                Frame::Read { slot, thread, step, stamp, bottom, .. } if bottom < top => {
                    let frame = Frame::Read { slot, thread, step, stamp, bottom: 0, is_pushed: false };
                    (frame, slot, bottom..top)
                }
                Frame::Choice { slot, thread, count, chosen, stamp } if chosen + 1 < count => {
                    self.frames[at] = Frame::Choice { slot, thread, count: chosen + 1, chosen, stamp };
                    (Frame::Choice { slot, thread, count, chosen, stamp }, slot + 1, 0..0)
                }
                Frame::Write { slot, bottom, is_revisiting, is_in_graph } if !is_revisiting || bottom < top => {
                    self.frames[at] = Frame::Write { slot, bottom, is_revisiting: true, is_in_graph };
                    let alternatives = if is_revisiting { bottom..top } else { 0..0 };
                    (Frame::Write { slot, bottom: 0, is_revisiting, is_in_graph }, slot + 1, alternatives)
                }
                _ => continue,
            };
            let mut given = Self::new(model);
            prepare(&mut given.graph, &self.graph, places);
            for slot in 0..slots as usize {
                let is_allowed = copy(&self.graph, &mut given.graph, slot, false, places);
                debug_assert!(is_allowed, "a part of a consistent graph is consistent");
                // Also where the write is not in the graph.
                given.graph.events[slot].stamps = self.graph.events[slot].stamps;
            }
            let is_allowed = given.graph.holds();
            debug_assert!(is_allowed, "a part of a consistent graph is consistent");
            given.stamp = self.stamp;
            given.list.extend_from_slice(&self.list[alternatives.clone()]);
            given.frames.push(frame);
            self.list.drain(alternatives.clone());
            for later in &mut self.frames[at + 1..] {
                if let Some(bottom) = later.bottom_mut() {
                    *bottom -= alternatives.len();
                }
            }
            return Some(given);
        }
        None
    }

    /// Becomes the graph of another level in which a read gets a write as its source. The answer is whether that is
    /// consistent.
    fn revisit(&mut self, from: &Self, write: u32, read: u32, places: &mut Vec<u32>) -> bool {
        self.graph.clear();
        self.frames.clear();
        self.list.clear();
        self.nexts.forget_all();
        self.stamp = from.stamp;
        prepare(&mut self.graph, &from.graph, places);
        let until = from.graph.events[read as usize].stamps[0];
        for slot in 0..from.graph.events.len() {
            let stays = from.graph.is_cause(slot, write as usize)
                || slot != read as usize && first_stamp(&from.graph.events[slot]) < until;
            if stays && !copy(&from.graph, &mut self.graph, slot, slot == write as usize, places) {
                return false;
            }
        }
        let Event { thread, step, stamps, .. } = from.graph.events[read as usize];
        if !self.graph.push_read(thread, step, places[write as usize], stamps[0]) {
            return false;
        }
        match self.settle() {
            Settled::Consistent => true,
            Settled::WithoutWrite => {
                self.push_write_frame(false);
                true
            }
            Settled::Inconsistent => false,
        }
    }
}

/// Makes room for the location of a step.
pub(crate) fn admit(graph: &mut Graph, program: &impl Program, step: Step) {
    if let Some(location) = step.location() {
        while graph.location_count() <= location {
            graph.admit_location(program.initial(graph.location_count()));
        }
    }
}

/// Whether a graph is consistent with the event on top.
enum Settled {
    Consistent,
    /// It is an rmw, and the graph is only consistent without its write.
    WithoutWrite,
    Inconsistent,
}

/// When the event was added.
fn first_stamp(event: &Event) -> u32 {
    event.stamps[0].min(event.stamps[1])
}

/// Makes an empty graph ready for events of another.
fn prepare(graph: &mut Graph, from: &Graph, places: &mut Vec<u32>) {
    places.clear();
    places.resize(from.events.len(), NONE);
    for thread in 0..from.thread_count() {
        graph.admit_thread(thread);
    }
    for location in graph.location_count() as usize..from.locations.len() {
        graph.admit_location(from.locations[location].initial);
    }
}

/// Pushes an event of one graph on another. The write of an rmw comes with it if it is in the graph, or if asked for.
fn copy(from: &Graph, to: &mut Graph, slot: usize, with_write: bool, places: &mut [u32]) -> bool {
    let event = &from.events[slot];
    places[slot] = to.events.len() as u32;
    match event.step {
        Step::Write { .. } => to.push_write(event.thread, event.step, event.stamps[1]),
        Step::Read { .. } | Step::Rmw { .. } if event.waits() => {
            to.push_waiting(event.thread, event.step, event.stamps[0]);
        }
        Step::Read { .. } | Step::Rmw { .. } => {
            let source = if event.source == INITIAL { INITIAL } else { places[event.source as usize] };
            let is_rmw = matches!(event.step, Step::Rmw { .. });
            return to.push_read(event.thread, event.step, source, event.stamps[0])
                && (!(event.writes || with_write && is_rmw) || to.push_update(event.stamps[1]));
        }
        _ => to.push_plain(event.thread, event.step, event.read, event.stamps[0]),
    }
    true
}

/// Whether a step could read from one of these sources as the next event of its thread.
fn has_source(graph: &mut Graph, thread: u32, step: Step, sources: &[u32]) -> bool {
    sources.iter().any(|&source| may_read(graph, thread, step, source))
}

/// Whether a read or rmw could be the next event of its thread with this source.
pub(crate) fn may_read(graph: &mut Graph, thread: u32, step: Step, source: u32) -> bool {
    if !graph.push_read(thread, step, source, 0) {
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
        (0..graph.locations[location as usize].writes.len()).any(|write| {
            let source = graph.locations[location as usize].writes[write];
            graph.value_of(location, source) != read && may_read(graph, thread, step, source)
        })
    })
}

/// Finds the reads that a write revisits, the newest last, and adds them to the list of the level.
fn find_revisits(level: &mut Level, write: u32, trial: &mut Graph, places: &mut Vec<u32>, parts: &mut Vec<Part>) {
    let Level { graph, list, .. } = level;
    let write = write as usize;
    let Some(location) = graph.events[write].step.location() else { return };
    let value = graph.events[write].written;
    let is_candidate = |event: &Event| {
        matches!(event.step, Step::Read { .. } | Step::Rmw { .. })
            && event.step.location() == Some(location)
            && event.step.until().is_none_or(|until| until.accepts(value))
    };
    let is_deleted = |slot: usize| !graph.is_cause(slot, write);
    // The last write outside of the causes that an earlier event reads. Nothing up to it may be deleted.
    let (mut fixed, mut newest) = (0, None);
    for (slot, event) in graph.events.iter().enumerate() {
        if event.source < NOTHING && is_deleted(event.source as usize) {
            let stamp = graph.events[event.source as usize].stamps[1];
            if event.stamps[0] < stamp {
                fixed = fixed.max(stamp + 1);
            }
        }
        if is_candidate(event) && is_deleted(slot) {
            newest = newest.max(Some(event.stamps[0]));
        }
    }
    if newest.is_none_or(|newest| newest < fixed) {
        return;
    }
    parts.clear();
    for (slot, event) in graph.events.iter().enumerate().filter(|&(slot, _)| is_deleted(slot)) {
        let part = |is_write| Part { stamp: event.stamps[usize::from(is_write)], slot: slot as u32, is_write };
        if !matches!(event.step, Step::Write { .. }) {
            parts.push(part(false));
        }
        if event.writes {
            parts.push(part(true));
        }
    }
    parts.sort_unstable_by_key(|part| part.stamp);
    let mut start = parts.partition_point(|part| part.stamp < fixed);
    if let Some(part) = parts.get(start)
        && part.is_write
        && graph.events[part.slot as usize].stamps[0] < fixed
    {
        start += 1;
    }
    let of_part = |part: &Part| &graph.events[part.slot as usize];
    let is_candidate = |part: &Part| !part.is_write && is_candidate(of_part(part));
    let Some(first) = (start..parts.len()).find(|&at| is_candidate(&parts[at])) else { return };
    let limit = parts[start].stamp;

    // What stays, the causes of the write, and then what would be deleted, one after the other.
    trial.clear();
    prepare(trial, graph, places);
    for slot in 0..graph.events.len() {
        let stays = slot != write && graph.is_cause(slot, write)
            || is_deleted(slot) && first_stamp(&graph.events[slot]) < limit;
        if stays || slot == write && matches!(graph.events[slot].step, Step::Rmw { .. }) {
            let is_allowed = if slot == write {
                let event = &graph.events[slot];
                let source = if event.source == INITIAL { INITIAL } else { places[event.source as usize] };
                trial.push_read(event.thread, event.step, source, event.stamps[0])
            } else {
                copy(graph, trial, slot, false, places)
            };
            debug_assert!(is_allowed, "a part of a consistent graph is consistent");
        }
    }
    let mut begin = first;
    for (at, part) in parts.iter().enumerate().skip(start) {
        let slot = part.slot as usize;
        let event = &graph.events[slot];
        if part.is_write && matches!(event.step, Step::Rmw { .. }) {
            continue;
        }
        if at >= first && !is_canonical(trial, event, places) {
            begin = at + 1;
        }
        let is_allowed = copy(graph, trial, slot, false, places);
        debug_assert!(is_allowed, "a part of a consistent graph is consistent");
    }
    list.extend(parts[begin.min(parts.len())..].iter().filter(|part| is_candidate(part)).map(|part| part.slot));
}

/// Whether an event has its canonical source, or its canonical choice, in this graph.
fn is_canonical(graph: &mut Graph, event: &Event, places: &[u32]) -> bool {
    let (location, orders) = match event.step {
        Step::Choice(_) => return event.read == 0,
        Step::Read { .. } | Step::Rmw { .. } if event.step.until().is_some() => return event.waits(),
        Step::Read { location, order, .. } => (location, [order; 2]),
        Step::Rmw { location, order, failure, .. } => (location, [order, failure]),
        _ => return true,
    };
    let source = if event.source == INITIAL { INITIAL } else { places[event.source as usize] };
    let place = |graph: &Graph, source: u32| match source {
        INITIAL => None,
        slot => Some((graph.events[slot as usize].thread, graph.events[slot as usize].index)),
    };
    let is_local = match graph.together {
        Together::Nothing => graph.model() != Model::Wra,
        Together::Psc => graph.sequential.is_empty() && !orders.iter().any(|order| order.is_sequential()),
        Together::Order(_) => false,
    };
    let of = &graph.locations[location as usize];
    if is_local {
        let is_last = |end: &usize| graph.relations.row(less(location as usize), *end).iter().all(|&word| word == 0);
        let top = |end: &usize| place(graph, of.writes[of.tops[*end] as usize]);
        let end = (0..of.writes.len()).filter(is_last).max_by_key(top);
        return end.map(|end| of.writes[end]) == Some(source);
    }
    let mine = place(graph, source);
    (0..of.writes.len()).all(|write| {
        let other = graph.locations[location as usize].writes[write];
        place(graph, other) <= mine || !may_read(graph, event.thread, event.step, other)
    })
}

/// An execution of the program that the exploration has come to.
#[derive(Debug)]
pub struct Run<'a, P> {
    graph: &'a mut Graph,
    program: &'a mut P,
    ending: Ending,
}

impl<'a, P: Program> Run<'a, P> {
    pub(crate) fn new(graph: &'a mut Graph, program: &'a mut P, ending: Ending) -> Self {
        Self { graph, program, ending }
    }

    /// The events of the execution.
    pub fn graph(&self) -> &Graph {
        self.graph
    }

    /// The program.
    pub fn program(&mut self) -> &mut P {
        self.program
    }

    /// The program, and the events that it stands after.
    pub fn parts(&mut self) -> (&mut P, &Graph) {
        (self.program, self.graph)
    }

    /// How the execution ended.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// The memories with which the execution may end: the values of these locations, each memory once.
    pub fn memories(&mut self, locations: &[u32], mut tell: impl FnMut(&[Value])) {
        let count = locations.iter().max().map_or(0, |&last| last + 1);
        while self.graph.location_count() < count {
            self.graph.admit_location(self.program.initial(self.graph.location_count()));
        }
        self.graph.memories(locations, &mut tell);
    }
}
