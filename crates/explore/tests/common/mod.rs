//! Small programs, and every execution of them by brute force: the axioms of the models, taken literally.
//!
//! It shares nothing with the engine but the types of steps. Graphs are found breadth first: the next event of any
//! thread, with every source, is added to every graph. A graph is allowed if some modification order satisfies the
//! axioms; all orders are tried.

#![allow(dead_code, reason = "each test uses a part of this")]

use std::collections::{BTreeMap, BTreeSet};

use explore::{
    Await, Ending, Exploration, Graph, Model, Next, Order, Program, Sampler, Source, Step, Strategy, Update, Value,
};

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
                Line::Assume(register, value) => {
                    if registers[register] != value {
                        return Next::Stopped;
                    }
                    continue;
                }
                Line::Choice(register, count) => (Step::Choice(count), Some(register)),
                Line::Spawn(thread) => (Step::Spawn(thread), None),
                Line::Join(thread) => (Step::Join(thread), None),
            };
            if taken == values.len() {
                return Next::Step(step);
            }
            if let Some(register) = register {
                registers[register] = values[taken];
            }
            steps.push(step);
            taken += 1;
        }
        Next::Finished
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
            Ending::Complete => {
                assert!(found.complete.insert(class.clone()), "{model}: a class came twice: {class:?}\n{code:#?}");
                let mut memories = BTreeSet::new();
                run.memories(&all, |memory| assert!(memories.insert(memory.to_vec())));
                found.memories.insert(class, memories);
            }
            Ending::Deadlock => {
                assert!(found.deadlocks.insert(class.clone()), "{model}: a deadlock came twice: {class:?}\n{code:#?}");
            }
            Ending::Blocked => {
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
pub fn sampled(code: &Code, model: Model, strategy: Strategy, runs: u64) -> (BTreeSet<Class>, BTreeSet<Class>) {
    sampled_by(Sampler::new(code.clone(), model, strategy), code, runs)
}

/// The same by these random runs.
pub fn sampled_by(mut sampler: Sampler<Code>, code: &Code, runs: u64) -> (BTreeSet<Class>, BTreeSet<Class>) {
    let (mut complete, mut deadlocks) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..runs {
        let run = sampler.run(seed);
        let class = class(code, run.graph());
        match run.ending() {
            Ending::Complete => drop(complete.insert(class)),
            Ending::Deadlock => drop(deadlocks.insert(class)),
            ending => panic!("{ending:?}"),
        }
    }
    (complete, deadlocks)
}

/// The class of a graph, without what waits.
fn class(code: &Code, graph: &Graph) -> Class {
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
    let mut found = Found::default();
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
                let execution = Execution::new(&larger, &steps);
                if execution.memories(model, locations).is_some() {
                    is_leaf = false;
                    found.has_race |= execution.has_race(model);
                    seen.insert(larger.clone());
                    work.push(larger);
                }
            }
        }
        if is_leaf {
            if nexts.iter().all(|&next| next == Next::Finished) {
                let memories = Execution::new(&class, &steps).memories(model, locations).unwrap();
                found.memories.insert(class.clone(), memories);
                found.complete.insert(class);
            } else if !is_stopped {
                found.deadlocks.insert(class);
            }
        }
    }
    found
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

type Relation = Vec<u64>;

fn compose(one: &Relation, two: &Relation) -> Relation {
    one.iter().map(|&row| (0..two.len()).filter(|&at| row >> at & 1 == 1).fold(0, |all, at| all | two[at])).collect()
}

fn union(one: &Relation, two: &Relation) -> Relation {
    one.iter().zip(two).map(|(one, two)| one | two).collect()
}

fn closure(one: &Relation) -> Relation {
    let mut all = one.clone();
    for middle in 0..all.len() {
        for row in 0..all.len() {
            if all[row] >> middle & 1 == 1 {
                all[row] |= all[middle];
            }
        }
    }
    all
}

fn reflexive(one: &Relation) -> Relation {
    one.iter().enumerate().map(|(at, &row)| row | 1 << at).collect()
}

fn inverse(one: &Relation) -> Relation {
    (0..one.len())
        .map(|at| (0..one.len()).filter(|&row| one[row] >> at & 1 == 1).fold(0, |all, row| all | 1 << row))
        .collect()
}

fn is_irreflexive(one: &Relation) -> bool {
    one.iter().enumerate().all(|(at, &row)| row >> at & 1 == 0)
}

fn is_acyclic(one: &Relation) -> bool {
    is_irreflexive(&closure(one))
}

/// An execution with initial writes, which are the first nodes: one for each location.
struct Execution {
    nodes: Vec<(Option<usize>, Option<Step>, Node)>,
    po: Relation,
    rf: Relation,
    /// The edges of spawn and join.
    forks: Relation,
}

const LOCATIONS: usize = 4;

impl Execution {
    fn new(class: &Class, steps: &[Vec<Step>]) -> Self {
        let mut nodes: Vec<_> =
            (0..LOCATIONS).map(|_| (None, None, Node { source: Source::Nothing, read: 0, written: Some(0) })).collect();
        let mut number = BTreeMap::new();
        for thread in 0..class.len() {
            for index in 0..class[thread].len() {
                number.insert((thread, index), nodes.len());
                nodes.push((Some(thread), Some(steps[thread][index]), class[thread][index].clone()));
            }
        }
        let count = nodes.len();
        let mut this = Self { po: vec![0; count], rf: vec![0; count], forks: vec![0; count], nodes };
        for (&(thread, index), &at) in &number {
            for initial in 0..LOCATIONS {
                this.po[initial] |= 1 << at;
            }
            for later in index + 1..class[thread].len() {
                this.po[at] |= 1 << number[&(thread, later)];
            }
            match class[thread][index].source {
                Source::Nothing => {}
                Source::Initial => {
                    let location = this.location(at).unwrap();
                    this.rf[location] |= 1 << at;
                }
                Source::Write(thread, index) => this.rf[number[&(thread as usize, index as usize)]] |= 1 << at,
            }
            match this.nodes[at].1 {
                Some(Step::Begin) => this.forks[number[&spawner(steps, thread).unwrap()]] |= 1 << at,
                Some(Step::Join(child)) => {
                    if let Some(last) = class[child as usize].len().checked_sub(1) {
                        this.forks[number[&(child as usize, last)]] |= 1 << at;
                    }
                }
                _ => {}
            }
        }
        this
    }

    fn location(&self, at: usize) -> Option<usize> {
        if at < LOCATIONS { Some(at) } else { self.nodes[at].1?.location().map(|location| location as usize) }
    }

    fn order(&self, at: usize) -> Order {
        match self.nodes[at].1 {
            Some(Step::Read { order, .. } | Step::Write { order, .. } | Step::Fence(order)) => order,
            Some(Step::Rmw { order, failure, .. }) => {
                if self.writes(at) {
                    order
                } else {
                    failure
                }
            }
            _ => Order::NonAtomic,
        }
    }

    fn reads(&self, at: usize) -> bool {
        self.nodes[at].2.source != Source::Nothing
    }

    fn writes(&self, at: usize) -> bool {
        self.nodes[at].2.written.is_some()
    }

    fn is_fence(&self, at: usize) -> bool {
        matches!(self.nodes[at].1, Some(Step::Fence(_)))
    }

    fn is_atomic(&self, at: usize) -> bool {
        self.order(at) != Order::NonAtomic
    }

    fn only(&self, is_in: impl Fn(usize) -> bool) -> Relation {
        (0..self.nodes.len()).map(|at| u64::from(is_in(at)) << at).collect()
    }

    fn filter(&self, one: &Relation, is_in: impl Fn(usize, usize) -> bool) -> Relation {
        let pairs = |row: usize| (0..self.nodes.len()).filter(move |&at| one[row] >> at & 1 == 1);
        (0..one.len()).map(|row| pairs(row).filter(|&at| is_in(row, at)).fold(0, |all, at| all | 1 << at)).collect()
    }

    fn happens_before(&self, model: Model) -> Relation {
        let base = union(&self.po, &self.forks);
        let sw = match model {
            Model::Relaxed | Model::Tso | Model::Pso => return closure(&base),
            Model::Ra | Model::Sra | Model::Wra | Model::Sc => self.rf.clone(),
            Model::C20 | Model::Rc20 | Model::Rc11 => {
                let released = self.only(|at| self.is_atomic(at) && self.order(at).releases());
                let acquired = self.only(|at| self.is_atomic(at) && self.order(at).acquires());
                let fence = self.only(|at| self.is_fence(at));
                let rf = self.filter(&self.rf, |one, two| self.is_atomic(one) && self.is_atomic(two));
                let through = if model == Model::Rc11 {
                    let same = self.filter(&self.po, |one, two| {
                        let is_write = |at: usize| at >= LOCATIONS && self.writes(at) && self.is_atomic(at);
                        is_write(one) && is_write(two) && self.location(one) == self.location(two)
                    });
                    let updates = self.filter(&rf, |_, two| self.writes(two));
                    compose(&reflexive(&same), &compose(&reflexive(&closure(&updates)), &rf))
                } else {
                    closure(&rf)
                };
                let into = reflexive(&compose(&fence, &self.po));
                let out = reflexive(&compose(&self.po, &fence));
                // Between fence and write, and read and fence, there may be anything.
                compose(&released, &compose(&into, &compose(&through, &compose(&out, &acquired))))
            }
        };
        closure(&union(&base, &sw))
    }

    fn has_race(&self, model: Model) -> bool {
        if !model.has_races() {
            return false;
        }
        let hb = self.happens_before(model);
        let count = self.nodes.len();
        (LOCATIONS..count).any(|one| {
            (one + 1..count).any(|two| {
                self.nodes[one].0 != self.nodes[two].0
                    && self.location(one).is_some()
                    && self.location(one) == self.location(two)
                    && (self.writes(one) || self.writes(two))
                    && !(self.is_atomic(one) && self.is_atomic(two))
                    && hb[one] >> two & 1 == 0
                    && hb[two] >> one & 1 == 0
            })
        })
    }

    /// The final memories of all modification orders that the model allows; none if there is no such order.
    fn memories(&self, model: Model, locations: u32) -> Option<BTreeSet<Vec<Value>>> {
        let causes = union(&union(&self.po, &self.rf), &self.forks);
        if !is_acyclic(&causes) {
            return None;
        }
        let hb = self.happens_before(model);
        let writes: Vec<Vec<usize>> = (0..LOCATIONS)
            .map(|location| {
                (LOCATIONS..self.nodes.len())
                    .filter(|&at| self.writes(at) && self.location(at) == Some(location))
                    .collect()
            })
            .collect();
        let mut memories = BTreeSet::new();
        if model == Model::Wra {
            if !self.is_wra(&hb) {
                return None;
            }
            // Any write that no other happens after.
            let mut all: Vec<Vec<Value>> = vec![Vec::new()];
            for (location, writes) in writes.iter().enumerate().take(locations as usize) {
                let nodes: Vec<usize> = std::iter::once(location).chain(writes.iter().copied()).collect();
                let last = |at: &&usize| nodes.iter().all(|&other| hb[**at] >> other & 1 == 0);
                let values: Vec<Value> =
                    nodes.iter().filter(last).map(|&at| self.nodes[at].2.written.unwrap()).collect();
                all = all
                    .iter()
                    .flat_map(|memory| values.iter().map(|&value| [&memory[..], &[value]].concat()))
                    .collect();
            }
            return Some(all.into_iter().collect());
        }
        let mut orders: Vec<Vec<Vec<usize>>> = vec![Vec::new()];
        for writes in &writes {
            let mut all = permutations(writes);
            // An rmw comes right after its source, and the writes of a thread are in its order, in every model.
            all.retain(|order| self.is_plausible(order));
            orders = orders
                .iter()
                .flat_map(|order| all.iter().map(|one| [&order[..], std::slice::from_ref(one)].concat()))
                .collect();
        }
        for order in &orders {
            let mut mo = vec![0; self.nodes.len()];
            for (location, order) in order.iter().enumerate() {
                for (place, &at) in order.iter().enumerate() {
                    mo[location] |= 1 << at;
                    for &later in &order[place + 1..] {
                        mo[at] |= 1 << later;
                    }
                }
            }
            if self.is_allowed(model, &hb, &mo) {
                let last = |location: usize| order[location].last().map_or(0, |&at| self.nodes[at].2.written.unwrap());
                memories.insert((0..locations as usize).map(last).collect());
            }
        }
        (!memories.is_empty()).then_some(memories)
    }

    fn is_plausible(&self, order: &[usize]) -> bool {
        (0..order.len()).all(|place| {
            let at = order[place];
            let is_updated = |source: usize| self.rf[source] >> at & 1 == 1;
            let right_before = place.checked_sub(1).map(|before| order[before]);
            let is_atomic = !self.reads(at) || right_before.map_or_else(|| (0..LOCATIONS).any(is_updated), is_updated);
            is_atomic && order[place + 1..].iter().all(|&later| self.po[later] >> at & 1 == 0)
        })
    }

    fn is_wra(&self, hb: &Relation) -> bool {
        let count = self.nodes.len();
        let updated_twice = (0..count)
            .any(|at| (0..count).filter(|&other| self.rf[at] >> other & 1 == 1 && self.writes(other)).count() > 1);
        let overwritten = (0..count).any(|write| {
            (0..count).filter(|&read| self.rf[write] >> read & 1 == 1).any(|read| {
                (0..count).any(|other| {
                    self.writes(other)
                        && other != read
                        && self.location(other) == self.location(write)
                        && hb[write] >> other & 1 == 1
                        && hb[other] >> read & 1 == 1
                })
            })
        });
        is_irreflexive(hb) && !updated_twice && !overwritten
    }

    fn is_allowed(&self, model: Model, hb: &Relation, mo: &Relation) -> bool {
        let rf = &self.rf;
        let fr = self.filter(&compose(&inverse(rf), mo), |one, two| one != two);
        let atomic = is_irreflexive(&compose(&fr, mo));
        let base = union(&union(&self.po, &self.forks), rf);
        let same = |one: usize, two: usize| self.location(one).is_some() && self.location(one) == self.location(two);
        match model {
            Model::Wra => unreachable!(),
            Model::Sc => is_acyclic(&union(&base, &union(mo, &fr))),
            Model::Tso | Model::Pso => {
                let local = self.filter(&union(&self.po, &self.forks), same);
                let external = self.filter(rf, |one, two| one < LOCATIONS || self.nodes[one].0 != self.nodes[two].0);
                let both = union(mo, &fr);
                is_acyclic(&union(&union(&local, rf), &both))
                    && is_acyclic(&union(&union(&self.preserved(model), &external), &both))
            }
            Model::Ra | Model::Sra | Model::Rc20 | Model::Relaxed | Model::C20 | Model::Rc11 => {
                let reads = reflexive(rf);
                atomic
                    && is_irreflexive(hb)
                    && is_irreflexive(&compose(mo, &compose(&reads, &reflexive(hb))))
                    && is_irreflexive(&compose(&fr, &compose(&reads, hb)))
                    && (model != Model::Sra || is_acyclic(&union(hb, mo)))
                    && (!matches!(model, Model::C20 | Model::Rc11) || is_acyclic(&self.psc(hb, mo, &fr)))
            }
        }
    }

    /// `ppo`: a fence counts if it is sequentially consistent; spawns and joins order everything.
    fn preserved(&self, model: Model) -> Relation {
        let is_pure_write = |at: usize| self.writes(at) && !self.reads(at);
        let is_full = |at: usize| {
            matches!(
                self.nodes[at].1,
                Some(Step::Fence(Order::SequentiallyConsistent) | Step::Spawn(_) | Step::Join(_) | Step::Begin)
            )
        };
        let is_event = |at: usize| self.location(at).is_some() || is_full(at);
        let po = self.filter(&self.po, |one, two| {
            let pair = is_pure_write(one) && one >= LOCATIONS && self.location(two).is_some();
            let to_read = pair && self.reads(two) && !self.writes(two);
            let to_other = pair && self.writes(two) && self.location(one) != self.location(two) && model == Model::Pso;
            is_event(one) && is_event(two) && !to_read && !to_other
        });
        // All that a thread has done is done when it is joined.
        let mut all = union(&po, &self.forks);
        for at in 0..self.nodes.len() {
            if let Some(Step::Join(child)) = self.nodes[at].1 {
                for (other, row) in all.iter_mut().enumerate() {
                    if self.nodes[other].0 == Some(child as usize) {
                        *row |= 1 << at;
                    }
                }
            }
        }
        all
    }

    fn psc(&self, hb: &Relation, mo: &Relation, fr: &Relation) -> Relation {
        let eco = closure(&union(&self.rf, &union(mo, fr)));
        let same = |one: usize, two: usize| self.location(one).is_some() && self.location(one) == self.location(two);
        let is_event = |at: usize| !matches!(self.nodes[at].1, Some(Step::Choice(_)));
        let po = self.filter(&self.po, |one, two| one >= LOCATIONS && is_event(one) && is_event(two));
        let other = self.filter(&po, |one, two| !same(one, two));
        let local = self.filter(hb, same);
        let scb = union(&union(&po, &compose(&other, &compose(hb, &other))), &union(&local, &union(mo, fr)));
        let sc = self.only(|at| self.order(at) == Order::SequentiallyConsistent);
        let fence = self.only(|at| self.is_fence(at) && self.order(at) == Order::SequentiallyConsistent);
        let hbs = reflexive(hb);
        let start = union(&sc, &compose(&fence, &hbs));
        let end = union(&sc, &compose(&hbs, &fence));
        let base = compose(&start, &compose(&scb, &end));
        let fences = compose(&fence, &compose(&union(hb, &compose(hb, &compose(&eco, hb))), &fence));
        union(&base, &fences)
    }
}

fn permutations(all: &[usize]) -> Vec<Vec<usize>> {
    if all.is_empty() {
        return vec![Vec::new()];
    }
    (0..all.len())
        .flat_map(|at| {
            let mut rest = all.to_vec();
            let first = rest.remove(at);
            permutations(&rest).into_iter().map(move |tail| [&[first], &tail[..]].concat())
        })
        .collect()
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
