//! Threads of the same code: what is visited, with all renamings of it, is what there is.
//!
//! Random programs have some threads with equal lines. All their executions are enumerated by brute force. Each must be
//! one that is visited, once the threads have changed their names, and each that is visited must be one of them. No
//! execution is visited twice.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use explore::Order::{Acquire, AcquireRelease, NonAtomic, Relaxed, Release, SequentiallyConsistent};
use explore::{
    Await, Builder, Counts, Exploration, ExplorationEnding, Graph, Model, Next, Order, Program, Source, Update, Value,
    thread,
};

use crate::common::{Class, Code, Line, Node, Random, cases, class, enumerated};

/// A program in which threads of equal lines are alike.
#[derive(Clone)]
struct Alike(Code);

impl Program for Alike {
    fn threads(&self) -> u32 {
        self.0.threads()
    }

    fn initial(&self, location: u32) -> Value {
        self.0.initial(location)
    }

    fn next(&mut self, thread: u32, graph: &Graph) -> Next {
        self.0.next(thread, graph)
    }

    fn kind(&mut self, thread: u32) -> Option<u32> {
        kind(&self.0, thread as usize).map(|kind| kind as u32)
    }
}

/// The first thread with the same lines. Only those that neither start nor join threads have one.
fn kind(code: &Code, thread: usize) -> Option<usize> {
    let is_main = |lines: &[Line]| lines.iter().any(|line| matches!(line, Line::Spawn(_) | Line::Join(_)));
    let text = |thread: usize| format!("{:?}", code.threads[thread]);
    (!is_main(&code.threads[thread])).then(|| (0..=thread).find(|&other| text(other) == text(thread))).flatten()
}

/// All ways in which threads of one kind can change their names: by thread, its new name.
fn renamings(code: &Code) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for thread in 0..code.threads.len() {
        let is_allowed =
            |new: usize| new == thread || kind(code, new).is_some() && kind(code, new) == kind(code, thread);
        all = (0..code.threads.len())
            .filter(|&new| is_allowed(new))
            .flat_map(|new| all.iter().filter(move |names| !names.contains(&new)).map(move |names| (names, new)))
            .map(|(names, new)| names.iter().copied().chain([new]).collect())
            .collect();
    }
    all
}

fn renamed(class: &Class, names: &[usize]) -> Class {
    let mut new = vec![Vec::new(); class.len()];
    for (nodes, &name) in class.iter().zip(names) {
        let source = |source| match source {
            Source::Write(thread, index) => Source::Write(names[thread as usize] as u32, index),
            other => other,
        };
        new[name] = nodes.iter().map(|node| Node { source: source(node.source), ..node.clone() }).collect();
    }
    new
}

/// With all that differ from them in the names of threads alone.
fn with_renamed(code: &Code, classes: &BTreeSet<Class>) -> BTreeSet<Class> {
    let names = renamings(code);
    classes.iter().flat_map(|class| names.iter().map(|names| renamed(class, names))).collect()
}

struct Visited {
    complete: BTreeSet<Class>,
    deadlocks: BTreeSet<Class>,
    has_race: bool,
}

fn visited(code: &Code, model: Model) -> Visited {
    let mut found = Visited { complete: BTreeSet::new(), deadlocks: BTreeSet::new(), has_race: false };
    let mut exploration = Exploration::new(Alike(code.clone()), model);
    let answer = exploration.run(|run| {
        found.has_race |= run.graph().race().is_some();
        let class = class(code, run.graph());
        let is_new = match run.ending() {
            ExplorationEnding::Complete => found.complete.insert(class),
            ExplorationEnding::Deadlock => found.deadlocks.insert(class),
            ExplorationEnding::Blocked => true,
            ending => panic!("{ending:?}"),
        };
        assert!(is_new, "{model}: an execution came twice\n{code:#?}");
        ControlFlow::Continue(())
    });
    assert!(answer.is_continue());
    found
}

/// A line of a thread. Values are small, so that compare-exchanges succeed.
fn line(random: &mut Random, register: usize, locations: u32) -> Line {
    let location = random.below(locations as usize) as u32;
    let mut order = |all: &[Order]| random.pick(all);
    let read = order(&[Relaxed, Acquire, SequentiallyConsistent, NonAtomic]);
    let write = order(&[Relaxed, Release, SequentiallyConsistent, NonAtomic]);
    let both = order(&[Relaxed, AcquireRelease, SequentiallyConsistent]);
    let value = 1 + random.below(2) as Value;
    match random.below(12) {
        0..3 => Line::Load(register, location, read),
        3..5 => Line::Store(location, write, value),
        5 => Line::StoreRegister(location, write, random.below(register + 1), 1),
        6..8 => {
            let expected = random.below(2) as Value;
            let updates = [Update::Add(1), Update::Set(value), Update::CompareExchange { expected, new: value }];
            Line::Rmw(register, location, both, Relaxed, random.pick(&updates))
        }
        8 => Line::Fence(random.pick(&[Acquire, Release, SequentiallyConsistent])),
        9 => Line::Wait(register, location, read, Await::not_equal(0)),
        10 => Line::Choice(register, 2),
        _ => Line::Unless(random.below(register + 1), 1, 1),
    }
}

/// Some threads of equal lines, and perhaps one or two others. Brute force bears no more than seven lines.
fn program(random: &mut Random) -> (Code, u32) {
    loop {
        let (code, locations) = any_program(random);
        let count =
            |lines: &Vec<Line>| lines.iter().filter(|line| !matches!(line, Line::Spawn(_) | Line::Join(_))).count();
        if code.threads.iter().map(count).sum::<usize>() <= 7 {
            return (code, locations);
        }
    }
}

fn any_program(random: &mut Random) -> (Code, u32) {
    let locations = 1 + random.below(2) as u32;
    let lines = |random: &mut Random, most: usize| -> Vec<Line> {
        (0..=random.below(most)).map(|register| line(random, register, locations)).collect()
    };
    let equal = 2 + random.below(2);
    let mut lines_of_equal = lines(random, if equal == 2 { 4 } else { 2 });
    if random.below(5) == 0 {
        lines_of_equal.insert(0, Line::Lock(locations));
        lines_of_equal.push(Line::Store(locations, Release, 0));
    }
    let mut threads = vec![lines_of_equal; equal];
    for _ in 0..random.below(3).min(4 - equal) {
        let at = random.below(threads.len() + 1);
        let other = lines(random, 3);
        threads.insert(at, other);
    }
    if random.below(4) > 0 {
        return (Code::new(threads), locations + 1);
    }
    // All of them are started by one thread, which may wait for them.
    let numbers: Vec<u32> = (1..=threads.len() as u32).collect();
    // Equal ones are started one right after the other.
    threads.sort_by_key(|lines| format!("{lines:?}"));
    let mut main: Vec<Line> = vec![Line::Store(0, Relaxed, 1)];
    main.extend(numbers.iter().map(|&thread| Line::Spawn(thread)));
    if random.below(2) == 0 {
        main.extend(numbers.iter().map(|&thread| Line::Join(thread)));
    }
    main.push(Line::Load(0, 0, Relaxed));
    threads.insert(0, main);
    (Code { threads, first: 1 }, locations + 1)
}

#[test]
fn nothing_is_lost() {
    let mut random = Random(0x000A_11CE);
    let (mut all, mut kept) = (0, 0);
    for case in 0..cases(250) {
        let (code, locations) = program(&mut random);
        let other = random.pick(&[
            Model::Rc11,
            Model::Ra,
            Model::Wra,
            Model::Sra,
            Model::Relaxed,
            Model::Sc,
            Model::Tso,
            Model::Pso,
        ]);
        for model in [Model::C20, other] {
            let there = enumerated(&code, model, locations);
            let visited = visited(&code, model);
            let told = format!("case {case}, {model}: {code:#?}");
            assert_eq!(with_renamed(&code, &visited.complete), there.complete, "{told}");
            assert_eq!(with_renamed(&code, &visited.deadlocks), there.deadlocks, "{told}");
            assert_eq!(visited.has_race, there.has_race, "{told}");
            all += there.complete.len();
            kept += visited.complete.len();
        }
    }
    assert!(kept * 3 < all * 2, "{kept} of {all} were visited");
}

/// How many executions are visited with symmetry, and without.
fn both(threads: &[Vec<Line>]) -> [Counts; 2] {
    fn counts(program: impl Program) -> Counts {
        let mut exploration = Exploration::new(program, Model::C20);
        assert!(exploration.run(|_| ControlFlow::Continue(())).is_continue());
        exploration.counts()
    }
    let code = Code::new(threads.to_vec());
    [counts(Alike(code.clone())), counts(code)]
}

#[test]
fn of_n_factorial_one_is_visited() {
    let factorial = |count: u64| (1..=count).product::<u64>();
    let add = |location| Line::Rmw(0, location, Relaxed, Relaxed, Update::Add(1));
    let locked = vec![
        Line::Lock(0),
        Line::Load(0, 1, NonAtomic),
        Line::StoreRegister(1, NonAtomic, 0, 1),
        Line::Store(0, Release, 0),
    ];
    let ticket = vec![
        Line::Rmw(1, 2, Relaxed, Relaxed, Update::Add(1)),
        Line::WaitRegister(0, Acquire, 1, 0),
        Line::Load(0, 1, NonAtomic),
        Line::StoreRegister(1, NonAtomic, 0, 1),
        Line::StoreRegister(0, Release, 1, 1),
    ];
    for n in 1..=5 {
        let all = factorial(n as u64);
        for lines in [vec![add(0)], locked.clone(), ticket.clone()] {
            let [with, without] = both(&vec![lines; n]);
            assert_eq!((with.executions, without.executions), (1, all));
        }
        // What happens at the second location is told apart by the first.
        if n <= 4 {
            let [with, without] = both(&vec![vec![add(0), add(1)]; n]);
            assert_eq!((with.executions, without.executions), (all, all * all));
        }
        // So many read the new value, whoever they are.
        let mut threads = vec![vec![Line::Store(0, Release, 1)]];
        threads.extend(vec![vec![Line::Load(0, 0, Acquire)]; n]);
        let [with, without] = both(&threads);
        assert_eq!((with.executions, without.executions), (n as u64 + 1, 1 << n));
        // The same, where the other is a chosen number.
        let [with, without] = both(&vec![vec![Line::Choice(0, 2)]; n]);
        assert_eq!((with.executions, without.executions), (n as u64 + 1, 1 << n));
    }
}

/// However many workers there are, they visit the same executions.
#[test]
fn workers_visit_the_same() {
    let lines = vec![
        Line::Rmw(0, 0, Relaxed, Relaxed, Update::Add(1)),
        Line::Choice(1, 2),
        Line::Rmw(0, 1, Relaxed, Relaxed, Update::Add(1)),
    ];
    let code = Alike(Code::new(vec![lines; 5]));
    for model in [Model::C20, Model::Sc] {
        let keep_going = |(): &mut (), _: &mut explore::Run<'_, Alike>| ControlFlow::Continue(());
        let [alone, three] = [1, 3].map(|workers| explore::explore(code.clone(), model, workers, || (), keep_going).0);
        assert_eq!(alone, three);
        assert!(alone.executions > 512);
    }
}

/// Threads of Rust code that are alike, with a finding in some executions.
#[test]
fn rust_code() {
    use explore::sync::Arc;
    use explore::sync::atomic::{AtomicU32, Ordering};
    let code = |limit: u32| {
        move || {
            let both = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
            let theirs = Arc::clone(&both);
            let threads = thread::alike(4, move || {
                let seen = theirs[0].load(Ordering::Relaxed);
                theirs[0].store(seen + 1, Ordering::Relaxed);
                theirs[1].fetch_add(1, Ordering::Relaxed);
            });
            threads.join();
            assert_eq!(both[1].load(Ordering::Relaxed), 4);
            assert!(both[0].load(Ordering::Relaxed) > limit);
        }
    };
    let by = |symmetry, limit| Builder { symmetry, ..Builder::new() }.check(code(limit));
    let (with, without) = (by(true, 0), by(false, 0));
    assert!(with.is_complete && without.is_complete, "{with} {without}");
    assert!(with.counts.executions * 20 < without.counts.executions, "{with} {without}");
    // Some thread alone may have been heard.
    for limit in 1..4 {
        assert!(by(true, limit).finding.is_some() && by(false, limit).finding.is_some(), "{limit}");
    }
    // What the threads share is dropped once, by nobody that differs from one execution to another.
    let dropped = Builder::new().check(|| {
        struct Told(Arc<AtomicU32>);
        impl Drop for Told {
            fn drop(&mut self) {
                self.0.fetch_add(10, Ordering::Relaxed);
            }
        }
        let count = Arc::new(AtomicU32::new(0));
        let told = Told(Arc::clone(&count));
        drop(thread::alike(3, move || {
            told.0.fetch_add(1, Ordering::Relaxed);
        }));
        assert_eq!(count.load(Ordering::Relaxed), 13);
    });
    assert!(dropped.is_complete && dropped.finding.is_none() && dropped.counts.executions == 1, "{dropped}");
    let by_workers = Builder::new().check_by(2, code(0));
    assert_eq!(by_workers.counts, with.counts);
}

/// Estimates come near the numbers that are known, with symmetry and without.
#[test]
fn estimates() {
    let near = |estimate: u64, there: u64| estimate * 2 >= there && estimate <= there * 2;
    let of = |code: &Code, model| Exploration::new(code.clone(), model).estimate(4000, |_| true).executions;
    let add = Line::Rmw(0, 0, Relaxed, Relaxed, Update::Add(1));
    let mut readers = vec![vec![Line::Store(0, Release, 1)]];
    readers.extend(vec![vec![Line::Load(0, 0, Acquire)]; 10]);
    let cas = |at| Line::Rmw(0, 0, Relaxed, Relaxed, Update::CompareExchange { expected: at, new: at + 1 });
    let side = |mine: u32| {
        vec![
            Line::Store(mine, SequentiallyConsistent, 1),
            Line::Choice(1, 3),
            Line::Load(0, (mine + 1) % 4, SequentiallyConsistent),
            Line::StoreRegister(mine, Relaxed, 1, 2),
        ]
    };
    let programs = [
        Code::new(vec![vec![add]; 7]),
        Code::new(readers),
        Code::new((0..8).map(|at| vec![cas(at)]).collect()),
        Code::new((0..4).map(side).collect()),
    ];
    for code in &programs {
        for model in [Model::C20, Model::Sc] {
            let mut exploration = Exploration::new(code.clone(), model);
            let _ = exploration.run(|_| ControlFlow::Continue(()));
            let (there, about) = (exploration.counts().executions, of(code, model));
            assert!(near(about, there), "{model}: about {about}, and there are {there}");
        }
    }
    // A program is explored as it would be without, and is estimated at one if all of it is one execution.
    let code = Alike(programs[0].clone());
    let mut exploration = Exploration::new(code, Model::C20);
    assert_eq!(exploration.estimate(100, |_| true).executions, 1);
    let _ = exploration.run(|_| ControlFlow::Continue(()));
    assert_eq!(exploration.counts().executions, 1);
}
