//! Small programs, and every execution of them by brute force: the axioms of the models, taken literally.
//!
//! It shares nothing with the engine but the types of steps. Graphs are found breadth first: the next event of any
//! thread, with every source, is added to every graph. A graph is allowed if some modification order satisfies the
//! axioms; all orders are tried.

#![allow(dead_code, reason = "each test uses a part of this")]

pub mod axioms;

use std::collections::{BTreeMap, BTreeSet};

use explore::{
    Await, Exploration, ExplorationEnding, Graph, Model, Next, Order, Program, RandomStrategy, Sampler, Source, Step,
    Update, Value,
};

use axioms::Execution;

/// An instruction of a thread. Registers are numbers; all of them are 0 at first.
#[derive(Clone, Debug)]
pub enum Line {
    Load(usize, u32, Order),
    /// Stores a constant.
    Store(u32, Order, Value),
    /// Stores a register plus a constant.
    StoreRegister(u32, Order, usize, Value),
    Rmw(usize, u32, Order, Order, Update),
    Fence(Order),
    /// Waits for a value.
    Wait(usize, u32, Order, Await),
    /// Waits for 0 and makes it 1.
    Lock(u32),
    /// Waits for a value that a register plus a constant has.
    WaitRegister(u32, Order, usize, Value),
    /// Skips as many lines if the register is not this value.
    Unless(usize, Value, usize),
    /// Goes back as many lines if the register is, or is not, this value.
    Back(usize, bool, Value, usize),
    /// Stops for good if the register is not this value.
    Assume(usize, Value),
    Choice(usize, u32),
    Spawn(u32),
    Join(u32),
}

/// Threads of lines. The first `first` run from the start.
#[derive(Clone, Debug)]
pub struct Code {
    pub threads: Vec<Vec<Line>>,
    pub first: u32,
}

impl Code {
    pub fn new(threads: Vec<Vec<Line>>) -> Self {
        Self { first: threads.len() as u32, threads }
    }

    /// What a thread does after it has had these values, one for each step.
    pub fn after(&self, thread: u32, values: &[Value], steps: &mut Vec<Step>) -> Next {
        self.run(thread, values, steps).0
    }

    /// Where a thread is then, and its registers.
    pub fn state(&self, thread: u32, values: &[Value]) -> (usize, Vec<Value>) {
        self.run(thread, values, &mut Vec::new()).1
    }

    fn run(&self, thread: u32, values: &[Value], steps: &mut Vec<Step>) -> (Next, (usize, Vec<Value>)) {
        let lines = &self.threads[thread as usize];
        let (mut at, mut taken, mut registers) = (0, 0, vec![0; 8]);
        while at < lines.len() {
            let line = &lines[at];
            at += 1;
            let (step, register) = match *line {
                Line::Load(register, location, order) => (Step::Read { location, order, until: None }, Some(register)),
                Line::Store(location, order, value) => (Step::Write { location, order, value }, None),
                Line::StoreRegister(location, order, register, add) => {
                    (Step::Write { location, order, value: registers[register] + add }, None)
                }
                Line::Rmw(register, location, order, failure, update) => {
                    (Step::Rmw { location, order, failure, update, until: None }, Some(register))
                }
                Line::Fence(order) => (Step::Fence(order), None),
                Line::Wait(register, location, order, until) => {
                    (Step::Read { location, order, until: Some(until) }, Some(register))
                }
                Line::WaitRegister(location, order, register, add) => {
                    let until = Some(Await::equal(registers[register] + add));
                    (Step::Read { location, order, until }, None)
                }
                Line::Lock(location) => {
                    let update = Update::CompareExchange { expected: 0, new: 1 };
                    let (order, failure) = (Order::Acquire, Order::Acquire);
                    (Step::Rmw { location, order, failure, update, until: Some(Await::equal(0)) }, None)
                }
                Line::Unless(register, value, skip) => {
                    if registers[register] != value {
                        at += skip;
                    }
                    continue;
                }
                Line::Back(register, is_equal, value, back) => {
                    if (registers[register] == value) == is_equal {
                        at -= 1 + back;
                    }
                    continue;
                }
                Line::Assume(register, value) => {
                    if registers[register] != value {
                        return (Next::Stopped, (at, registers));
                    }
                    continue;
                }
                Line::Choice(register, count) => (Step::Choice(count), Some(register)),
                Line::Spawn(thread) => (Step::Spawn(thread), None),
                Line::Join(thread) => (Step::Join(thread), None),
            };
            if taken == values.len() {
                return (Next::Step(step), (at, registers));
            }
            if let Some(register) = register {
                registers[register] = values[taken];
            }
            steps.push(step);
            taken += 1;
        }
        (Next::Finished, (at, registers))
    }
}

impl Program for Code {
    fn threads(&self) -> u32 {
        self.first
    }

    fn initial(&self, _: u32) -> Value {
        0
    }

    fn next(&mut self, thread: u32, graph: &Graph) -> Next {
        // The start of a thread is no line of it.
        let skip = u32::from(thread >= self.first);
        let values: Vec<Value> = (skip..graph.len(thread)).map(|index| graph.value(thread, index)).collect();
        self.after(thread, &values, &mut Vec::new())
    }
}

/// An event of the oracle, of a thread: its step, its source, what it read, and what it wrote.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    pub source: Source,
    pub read: Value,
    pub written: Option<Value>,
}

/// By thread: its events.
pub type Class = Vec<Vec<Node>>;

/// All that an exploration finds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub complete: BTreeSet<Class>,
    pub deadlocks: BTreeSet<Class>,
    /// The final memories of the complete classes.
    pub memories: BTreeMap<Class, BTreeSet<Vec<Value>>>,
    pub has_race: bool,
}

/// What the engine finds. It must find each class once.
pub fn explored(code: &Code, model: Model, locations: u32) -> Found {
    let mut found = Found::default();
    let all: Vec<u32> = (0..locations).collect();
    let mut exploration = Exploration::new(code.clone(), model);
    let mut blocked = BTreeSet::new();
    let answer = exploration.run(|run| {
        let graph = run.graph();
        let class = class(code, graph);
        found.has_race |= graph.race().is_some();
        match run.ending() {
            ExplorationEnding::Complete => {
                assert!(found.complete.insert(class.clone()), "{model}: a class came twice: {class:?}\n{code:#?}");
                let mut memories = BTreeSet::new();
                run.memories(&all, |memory| assert!(memories.insert(memory.to_vec())));
                found.memories.insert(class, memories);
            }
            ExplorationEnding::Deadlock => {
                assert!(found.deadlocks.insert(class.clone()), "{model}: a deadlock came twice: {class:?}\n{code:#?}");
            }
            ExplorationEnding::Blocked => {
                let waiting: Vec<bool> = (0..graph.thread_count()).map(|thread| graph.is_waiting(thread)).collect();
                assert!(blocked.insert((class, waiting)), "{model}: a blocked run came twice\n{code:#?}");
            }
            ending => panic!("{ending:?}"),
        }
        std::ops::ControlFlow::Continue(())
    });
    assert!(answer.is_continue());
    assert_eq!(exploration.counts().executions, found.complete.len() as u64);
    found
}

/// The complete classes and the deadlocks that random runs find.
pub fn sampled(code: &Code, model: Model, strategy: RandomStrategy, runs: u64) -> (BTreeSet<Class>, BTreeSet<Class>) {
    sampled_by(Sampler::new(code.clone(), model, strategy), code, runs)
}

/// The same by these random runs.
pub fn sampled_by(mut sampler: Sampler<Code>, code: &Code, runs: u64) -> (BTreeSet<Class>, BTreeSet<Class>) {
    let (mut complete, mut deadlocks) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..runs {
        let run = sampler.run(seed);
        let class = class(code, run.graph());
        match run.ending() {
            ExplorationEnding::Complete => drop(complete.insert(class)),
            ExplorationEnding::Deadlock => drop(deadlocks.insert(class)),
            ending => panic!("{ending:?}"),
        }
    }
    (complete, deadlocks)
}

/// The class of a graph, without what waits.
pub fn class(code: &Code, graph: &Graph) -> Class {
    (0..code.threads.len() as u32)
        .map(|thread| {
            (0..graph.len(thread) - u32::from(graph.is_waiting(thread)))
                .map(|index| Node {
                    source: graph.source(thread, index),
                    read: graph.value(thread, index),
                    written: graph.written(thread, index),
                })
                .collect()
        })
        .collect()
}

/// What brute force finds.
pub fn enumerated(code: &Code, model: Model, locations: u32) -> Found {
    let mut has_race = false;
    let (complete, deadlocks) = grown(code, |class, steps| {
        let execution = Execution::new(class, steps);
        let is_allowed = execution.memories(model, locations).is_some();
        has_race |= is_allowed && execution.has_race(model);
        is_allowed
    });
    let memories = |class: &Class| Execution::new(class, &steps(code, class).0).memories(model, locations).unwrap();
    let memories = complete.iter().map(|class| (class.clone(), memories(class))).collect();
    Found { complete, deadlocks, memories, has_race }
}

/// The complete classes and the deadlocks that come of adding events as long as the graphs are allowed.
pub fn grown(code: &Code, mut allows: impl FnMut(&Class, &[Vec<Step>]) -> bool) -> (BTreeSet<Class>, BTreeSet<Class>) {
    let (mut complete, mut deadlocks) = (BTreeSet::new(), BTreeSet::new());
    let mut seen: BTreeSet<Class> = BTreeSet::new();
    let mut work: Vec<Class> = vec![vec![Vec::new(); code.threads.len()]];
    while let Some(class) = work.pop() {
        let (steps, nexts) = steps(code, &class);
        let (mut is_leaf, mut is_stopped) = (true, false);
        for (thread, &next) in nexts.iter().enumerate() {
            let step = match next {
                Next::Step(step) => step,
                next => {
                    is_stopped |= next == Next::Stopped;
                    continue;
                }
            };
            let can_go_on = match step {
                Step::Begin => spawner(&steps, thread).is_some(),
                Step::Join(child) => nexts[child as usize] == Next::Finished,
                _ => true,
            };
            if !can_go_on {
                continue;
            }
            for node in nodes(&class, &steps, step) {
                let mut larger = class.clone();
                larger[thread].push(node);
                if seen.contains(&larger) {
                    is_leaf = false;
                    continue;
                }
                let mut steps = steps.clone();
                steps[thread].push(step);
                if allows(&larger, &steps) {
                    is_leaf = false;
                    seen.insert(larger.clone());
                    work.push(larger);
                }
            }
        }
        if is_leaf {
            if nexts.iter().all(|&next| next == Next::Finished) {
                complete.insert(class);
            } else if !is_stopped {
                deadlocks.insert(class);
            }
        }
    }
    (complete, deadlocks)
}

/// By thread: its steps, and what it does next.
fn steps(code: &Code, class: &Class) -> (Vec<Vec<Step>>, Vec<Next>) {
    (0..class.len())
        .map(|thread| {
            let mut nodes = &class[thread][..];
            let mut steps = Vec::new();
            if thread >= code.first as usize {
                let [_, rest @ ..] = nodes else { return (steps, Next::Step(Step::Begin)) };
                nodes = rest;
                steps.push(Step::Begin);
            }
            let values: Vec<Value> = nodes.iter().map(|node| node.read).collect();
            let next = code.after(thread as u32, &values, &mut steps);
            (steps, next)
        })
        .unzip()
}

fn spawner(steps: &[Vec<Step>], child: usize) -> Option<(usize, usize)> {
    (0..steps.len())
        .flat_map(|thread| (0..steps[thread].len()).map(move |index| (thread, index)))
        .find(|&(thread, index)| steps[thread][index] == Step::Spawn(child as u32))
}

/// The events that a step can be.
fn nodes(class: &Class, steps: &[Vec<Step>], now: Step) -> Vec<Node> {
    let plain = |read| Node { source: Source::Nothing, read, written: None };
    let location = match now {
        Step::Write { value, .. } => {
            return vec![Node { source: Source::Nothing, read: 0, written: Some(value) }];
        }
        Step::Choice(count) => return (0..count).map(|chosen| plain(chosen.into())).collect(),
        Step::Read { location, .. } | Step::Rmw { location, .. } => location,
        _ => return vec![plain(0)],
    };
    let mut sources = vec![(Source::Initial, 0)];
    for thread in 0..class.len() {
        for index in 0..class[thread].len() {
            if let Some(written) = class[thread][index].written
                && steps[thread][index].location() == Some(location)
            {
                sources.push((Source::Write(thread as u32, index as u32), written));
            }
        }
    }
    let until = now.until();
    sources.retain(|&(_, value)| until.is_none_or(|until| until.accepts(value)));
    let node = |(source, read)| match now {
        Step::Rmw { update, .. } => Node { source, read, written: update.apply(read) },
        _ => Node { source, read, written: None },
    };
    sources.into_iter().map(node).collect()
}

/// A small generator of random numbers: the same numbers everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % count
    }

    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// How many cases to try: as many as told, times `SERIATIM_CASES` if that is set.
pub fn cases(default: usize) -> usize {
    let factor = std::env::var("SERIATIM_CASES").ok().and_then(|factor| factor.trim().parse::<f64>().ok());
    (default as f64 * factor.unwrap_or(1.0)).max(1.0) as usize
}
