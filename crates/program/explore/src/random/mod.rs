//! One execution at a time, at random: for programs that are too large to be explored.
//!
//! Each step, the strategy picks a thread that can go on, and a read or rmw picks one of the writes with which the
//! graph is consistent. So every run is an execution that the model allows, and a run never gets stuck on a read. A
//! run is given by its seed. If runs are long, the modification order is the order in which writes come, and a read
//! chooses among the newest writes that it may read; then the cost of a step does not grow with the run.
//!
//! *Eager steps.* Whether the graph of a short run is consistent does not depend on the order in which its events came.
//! So if threads are chosen uniformly, one that does not read goes on at once, and only a read or rmw waits for its
//! turn. Every execution can still be had. Of its events that are not yet in the graph, take one whose causes all are:
//! it is a read, since all else is done at once, and its source is in the graph.

mod schedule;

use crate::bits::nth_one;
use crate::exploration::{Counts, ExplorationEnding, Nexts, Run, admit, may_read};
use crate::graph::{Graph, INITIAL};
use crate::model::Model;
use crate::program::{Next, Program, Step, Value};
use crate::trace::Taken;
use schedule::State;

/// Runs with more steps than this are [straight](Graph::straight): their cost is in proportion to their steps.
const LONG: usize = 2000;

/// How a random run chooses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum RandomStrategy {
    /// Any thread that can go on, any source: C11Tester's. In runs that are not long, a thread that does not read goes
    /// on at once.
    Uniform,
    /// Threads have random priorities, and the first of those that can go on does. At `depth - 1` random steps the
    /// thread that would go on gets the lowest priority. Sources are chosen at random. (Burckhardt and others, *A
    /// randomized scheduler with probabilistic guarantees of finding bugs*.)
    Pct {
        /// The number of events whose order makes the bug.
        depth: u32,
    },
    /// As `Pct`, but a read takes the newest write that its thread knows of. At `depth` random reads it takes one of
    /// the `history` newest of the others. (Gao and others, *Probabilistic concurrency testing for weak memory
    /// programs*.)
    Pctwm {
        /// The number of events whose order makes the bug, and of reads that are not ordinary.
        depth: u32,
        /// How far such reads look back.
        history: u32,
    },
}

/// A generator of random numbers: splitmix64.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^= word >> 31;
        ((u128::from(word) * count as u128) >> 64) as usize
    }
}

/// Random executions of a program.
#[derive(Debug)]
pub struct Sampler<P> {
    program: P,
    graph: Graph,
    nexts: Nexts,
    strategy: RandomStrategy,
    counts: Counts,
    random: Random,
    /// How many steps and reads a run has, as far as one run can tell. The strategy places its changes among them.
    expected: Option<(usize, usize)>,
    is_always_straight: bool,
    /// By thread: its priority. The greatest goes first.
    priorities: Vec<i64>,
    /// The steps of this run at which a thread loses its priority, and the reads that are not ordinary.
    changes: Vec<usize>,
    surprises: Vec<usize>,
    /// By thread: whether it can go on.
    states: Vec<State>,
    /// By thread: how many writes there were when it could not go on for want of a value. Without another write, it
    /// still cannot.
    asleep: Vec<u32>,
    /// By thread: if it is at the start of a loop that waits, the value with which it would go round once more.
    stale: Vec<Option<Value>>,
    /// The threads that can go on; those that wait for something; those of them that can go on now, but perhaps not
    /// later; and those that were spawned and have not begun.
    ready: Vec<u32>,
    waiting: Vec<u32>,
    awake: Vec<u32>,
    spawned: Vec<u32>,
    /// The sources of a read.
    sources: Vec<u32>,
}

impl<P: Program> Sampler<P> {
    /// Random executions of a program under a model.
    pub fn new(program: P, model: Model, strategy: RandomStrategy) -> Self {
        Self {
            program,
            graph: Graph::straight(model),
            nexts: Nexts::default(),
            strategy,
            counts: Counts::default(),
            random: Random(0),
            expected: None,
            is_always_straight: false,
            priorities: Vec::new(),
            changes: Vec::new(),
            surprises: Vec::new(),
            states: Vec::new(),
            asleep: Vec::new(),
            stale: Vec::new(),
            ready: Vec::new(),
            waiting: Vec::new(),
            awake: Vec::new(),
            spawned: Vec::new(),
            sources: Vec::new(),
        }
    }

    /// The same, where every run is run as a long one is, whatever its length: the modification order is the order in
    /// which writes come.
    #[must_use]
    pub fn straight(mut self) -> Self {
        self.is_always_straight = true;
        self
    }

    /// What the runs have found so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// One execution. It depends on the seed, the strategy and the program, and on nothing else.
    pub fn run(&mut self, seed: u64) -> Run<'_, P> {
        if self.expected.is_none() {
            // How long runs are is found by one of them, always the same.
            let strategy = std::mem::replace(&mut self.strategy, RandomStrategy::Uniform);
            let expected = self.execute(0);
            self.strategy = strategy;
            self.expected = Some(expected);
            if expected.0 <= LONG && !self.is_always_straight {
                self.graph = Graph::new(self.graph.model());
            }
        }
        self.execute(seed);
        let ending = self.ending();
        self.counts.count(ending, &self.graph);
        Run::new(&mut self.graph, &mut self.program, ending)
    }

    /// The execution that takes these steps: for each its thread and, if there is a choice, which write is read, by its
    /// number among those of its location, or what is chosen. If `strict`, a step that cannot be taken ends it, and so
    /// does the last step. Otherwise such a step is left out, a read that cannot read its write reads the newest that
    /// it may, and after the last step the lowest thread goes on.
    pub fn follow(&mut self, steps: &[Taken], strict: bool) -> Option<Run<'_, P>> {
        self.graph = Graph::new(self.graph.model());
        self.start(0);
        let (mut given, mut is_over) = (steps.iter().copied(), false);
        loop {
            let item = given.next();
            let (thread, chosen) = match item {
                Some((thread, chosen)) if thread < self.graph.thread_count() => (thread, chosen),
                Some(_) if strict => return None,
                Some(_) => continue,
                None if strict => break,
                None => {
                    self.strategy = RandomStrategy::Pct { depth: 1 };
                    self.priorities = (0..i64::from(self.graph.thread_count())).rev().collect();
                    if !std::mem::replace(&mut is_over, true) {
                        self.settle_all();
                    }
                    let Some(thread) = self.choose(usize::MAX) else { break };
                    (thread, None)
                }
            };
            if self.graph.race().is_some() {
                break;
            }
            let Some(step) = self.nexts.step(&mut self.program, &self.graph, thread) else {
                if strict {
                    return None;
                }
                continue;
            };
            admit(&mut self.graph, &self.program, &step);
            let source = if let Step::Read { location, .. } | Step::Rmw { location, .. } = step {
                let writes = &self.graph.locations[location as usize].writes;
                let wanted = chosen.and_then(|chosen| writes.get(chosen).copied());
                self.find_sources(thread, step);
                let wanted = wanted.filter(|wanted| self.sources.contains(wanted));
                let newest = self.sources.last().copied().filter(|_| !strict);
                match wanted.or(newest) {
                    Some(source) => Some(source),
                    None if strict => return None,
                    None => continue,
                }
            } else {
                None
            };
            self.nexts.forget(thread);
            match (step, source) {
                (_, Some(source)) => self.read(thread, step, source),
                (Step::Choice(count), _) => {
                    let chosen = chosen.filter(|&chosen| chosen < count as usize).unwrap_or(0);
                    let stamp = self.graph.events.len() as u32;
                    self.graph.push_plain(thread, &step, chosen as i64, stamp);
                }
                _ => self.add(thread, &step),
            }
            if is_over {
                self.settle(thread);
            }
            if *self.nexts.of(&mut self.program, &self.graph, thread) == Next::Failed {
                break;
            }
        }
        let ending = self.ending();
        self.counts.count(ending, &self.graph);
        Some(Run::new(&mut self.graph, &mut self.program, ending))
    }

    /// Adds a read or rmw with any source that it may have, each as likely as the others: one that may not be read is
    /// not tried again.
    fn read_any(&mut self, thread: u32, step: &Step) {
        let stale = self.stale[thread as usize].take();
        // What the loop was woken for may have gone since.
        let is_added = self.read_fresh(thread, step, stale) || stale.is_some() && self.read_fresh(thread, step, None);
        debug_assert!(is_added, "a read that can go on has a source");
    }

    /// Adds a read or rmw with any source that it may have whose value is not this one. False if there is none.
    fn read_fresh(&mut self, thread: u32, step: &Step, stale: Option<Value>) -> bool {
        let Some(location) = step.location() else { return false };
        let until = step.until();
        let accepts = |value: Value| stale != Some(value) && until.is_none_or(|until| until.accepts(value));
        let Self { graph, sources, random, .. } = self;
        let stamp = graph.events.len() as u32;
        if let Some(known) = graph.known_by(thread, step) {
            let mut writes = graph.not_less(location, known);
            while writes != 0 {
                let number = nth_one(writes, random.below(writes.count_ones() as usize));
                writes &= !(1 << number);
                let source = graph.locations[location as usize].writes[number];
                if accepts(graph.value_of(location, source))
                    && let Some(known) = graph.known_with(known, step, source)
                    && try_source(graph, thread, step, source, stamp, Some(known))
                {
                    return true;
                }
            }
            return false;
        }
        sources.clear();
        let writes = graph.locations[location as usize].writes.iter().copied();
        sources.extend(writes.filter(|&source| accepts(graph.value_of(location, source))));
        while !sources.is_empty() {
            let source = sources.swap_remove(random.below(sources.len()));
            if graph.told_by_coherence(thread, step, source) != Some(false)
                && try_source(graph, thread, step, source, stamp, None)
            {
                return true;
            }
        }
        false
    }

    /// Adds a read or rmw with a source that it may have.
    fn read(&mut self, thread: u32, step: Step, source: u32) {
        let stamp = self.graph.events.len() as u32;
        let is_added = try_source(&mut self.graph, thread, &step, source, stamp, None);
        debug_assert!(is_added, "the source was asked for");
    }

    /// Adds a step that reads nothing.
    pub(super) fn add(&mut self, thread: u32, step: &Step) {
        let stamp = self.graph.events.len() as u32;
        match *step {
            Step::Write { .. } => self.graph.push_write(thread, step, stamp),
            Step::Choice(count) => {
                let chosen = self.random.below(count as usize);
                self.graph.push_plain(thread, step, chosen as i64, stamp);
            }
            _ => self.graph.push_plain(thread, step, 0, stamp),
        }
        if let Step::Spawn(child) = *step {
            self.spawned.push(child);
        }
    }

    /// Fills the graph with an execution. The answer is how many steps and reads it has.
    fn execute(&mut self, seed: u64) -> (usize, usize) {
        self.start(seed);
        self.graph.is_eager = self.strategy == RandomStrategy::Uniform && !self.graph.is_straight();
        let is_picked = self.graph.is_straight() || matches!(self.strategy, RandomStrategy::Pctwm { .. });
        self.settle_all();
        let mut reads = 0;
        while let Some(thread) = self.choose(self.graph.events.len()) {
            let Some(step) = self.nexts.take_step(thread) else { break };
            admit(&mut self.graph, &self.program, &step);
            if matches!(step, Step::Read { .. } | Step::Rmw { .. }) {
                if is_picked {
                    self.find_sources(thread, step);
                    self.leave_stale(thread, step);
                    let source = self.pick(thread, step, reads);
                    self.read(thread, step, source);
                } else {
                    self.read_any(thread, &step);
                }
                reads += 1;
            } else {
                self.add(thread, &step);
            }
            self.settle(thread);
        }
        (self.graph.events.len(), reads)
    }

    fn start(&mut self, seed: u64) {
        self.random = Random(seed);
        self.graph.clear();
        self.program.rewound();
        self.nexts.forget_all();
        self.priorities.clear();
        self.states.clear();
        self.asleep.clear();
        self.stale.clear();
        self.ready.clear();
        self.waiting.clear();
        self.awake.clear();
        self.spawned.clear();
        for thread in 0..self.program.threads() {
            self.graph.admit_thread(thread);
        }
        let (depth, surprises) = match self.strategy {
            RandomStrategy::Uniform => (0, 0),
            RandomStrategy::Pct { depth } => (depth, 0),
            RandomStrategy::Pctwm { depth, .. } => (depth, depth),
        };
        let (steps, reads) = self.expected.unwrap_or_default();
        let Self { random, changes, .. } = self;
        changes.clear();
        changes.extend((1..depth).map(|_| random.below(steps.max(1))));
        self.surprises.clear();
        self.surprises.extend((0..surprises).map(|_| random.below(reads.max(1))));
    }

    /// The writes that a step may read.
    fn find_sources(&mut self, thread: u32, step: Step) {
        self.sources.clear();
        let Some(location) = step.location() else { return };
        if self.graph.is_straight() {
            return self.graph.straight_sources(thread, step, &mut self.sources);
        }
        for write in 0..self.graph.locations[location as usize].writes.len() {
            let source = self.graph.locations[location as usize].writes[write];
            let value = self.graph.value_of(location, source);
            if step.until().is_none_or(|until| until.accepts(value)) && may_read(&mut self.graph, thread, step, source)
            {
                self.sources.push(source);
            }
        }
    }

    /// Leaves out the sources with which a loop would go round once more.
    fn leave_stale(&mut self, thread: u32, step: Step) {
        let Self { graph, sources, stale, .. } = self;
        if let (Some(stale), Some(location)) = (stale[thread as usize].take(), step.location()) {
            let is_fresh = |source: &u32| graph.value_of(location, *source) != stale;
            if sources.iter().any(is_fresh) {
                sources.retain(is_fresh);
            }
        }
    }

    fn pick(&mut self, thread: u32, step: Step, now: usize) -> u32 {
        let Self { random, sources, graph, surprises, .. } = self;
        let RandomStrategy::Pctwm { history, .. } = self.strategy else { return sources[random.below(sources.len())] };
        let location = step.location().map_or(0, |location| location as usize);
        let is_known = |source: u32| graph.knows(thread, location, source);
        // Events are numbered in the order in which they came, so the newest is the last.
        let known = sources.iter().rposition(|&source| is_known(source));
        let Some(known) = known.filter(|_| !surprises.contains(&now)) else {
            let others = sources.iter().rev().copied().filter(|&source| !is_known(source));
            let count = others.clone().count().min(history as usize);
            let other = if count > 0 { others.clone().nth(random.below(count)) } else { None };
            return other.or(sources.last().copied()).unwrap_or(INITIAL);
        };
        sources[known]
    }

    fn ending(&mut self) -> ExplorationEnding {
        let Self { nexts, program, graph, .. } = self;
        let (mut is_complete, mut is_stopped, mut is_bounded) = (true, false, false);
        for thread in 0..graph.thread_count() {
            match *nexts.of(program, graph, thread) {
                Next::Finished => {}
                Next::Failed => return ExplorationEnding::Failed,
                Next::Bounded => is_bounded = true,
                Next::Stopped => (is_complete, is_stopped) = (false, true),
                // No thread of this execution.
                Next::Step(Step::Begin) if graph.spawner(thread).is_none() => {}
                Next::Spins(_) | Next::Step(_) => is_complete = false,
            }
        }
        match () {
            () if is_bounded => ExplorationEnding::Bounded,
            () if is_complete => ExplorationEnding::Complete,
            () if is_stopped => ExplorationEnding::Blocked,
            () => ExplorationEnding::Deadlock,
        }
    }
}

/// Adds a read or rmw with this source, if it may have it. It may be known what it then knows.
#[inline]
fn try_source(graph: &mut Graph, thread: u32, step: &Step, source: u32, stamp: u32, known: Option<u64>) -> bool {
    if !graph.push_read_knowing(thread, step, source, stamp, known) {
        return false;
    }
    let is_allowed = (!graph.last_updates() || graph.push_update(stamp)) && graph.holds();
    if !is_allowed {
        graph.pop();
    }
    is_allowed
}
