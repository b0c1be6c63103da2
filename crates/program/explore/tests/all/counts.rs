//! The known counts of the literature, and the models by family of programs.

use crate::common;
use common::{Code, Line};
use explore::Order::{Acquire, NonAtomic, Relaxed, Release, SequentiallyConsistent};
use explore::{Counts, Exploration, Model, Update};

fn counts(code: &Code, model: Model) -> Counts {
    let mut exploration = Exploration::new(code.clone(), model);
    assert!(exploration.run(|_| std::ops::ControlFlow::Continue(())).is_continue());
    exploration.counts()
}

fn executions(threads: Vec<Vec<Line>>) -> u64 {
    let code = Code::new(threads);
    let all: Vec<u64> = [Model::C20, Model::Rc20, Model::Rc11, Model::Ra, Model::Sc, Model::Tso]
        .into_iter()
        .map(|model| counts(&code, model).executions)
        .collect();
    assert!(all.iter().all(|&count| count == all[0]), "{all:?}");
    all[0]
}

fn factorial(count: u64) -> u64 {
    (1..=count).product()
}

fn add(location: u32) -> Line {
    Line::Rmw(0, location, Relaxed, Relaxed, Update::Add(1))
}

#[test]
fn counters() {
    for n in 1..=6 {
        assert_eq!(executions(vec![vec![add(0)]; n]), factorial(n as u64), "ainc({n})");
    }
    for n in 1..=4 {
        assert_eq!(executions(vec![vec![add(0), add(1)]; n]), factorial(n as u64).pow(2), "binc({n})");
    }
}

#[test]
fn locks() {
    let critical = [Line::Load(0, 1, NonAtomic), Line::StoreRegister(1, NonAtomic, 0, 1)];
    for n in 1..=4 {
        let mut lines = vec![Line::Lock(0)];
        lines.extend(critical.clone());
        lines.push(Line::Store(0, Release, 0));
        assert_eq!(executions(vec![lines; n]), factorial(n as u64), "lockinc({n})");

        let mut lines = vec![Line::Rmw(1, 2, Relaxed, Relaxed, Update::Add(1)), Line::WaitRegister(0, Acquire, 1, 0)];
        lines.extend(critical.clone());
        lines.push(Line::StoreRegister(0, Release, 1, 1));
        assert_eq!(executions(vec![lines; n]), factorial(n as u64), "ticket({n})");
    }
}

#[test]
fn readers() {
    for n in 1..=8 {
        let mut threads = vec![vec![Line::Store(0, Release, 1)]];
        threads.extend(vec![vec![Line::Load(0, 0, Acquire)]; n]);
        assert_eq!(executions(threads), 1 << n, "readers({n})");
    }
}

/// Thread 0 looks for the last zero of an array, from its end; thread i makes element i one more than the one before.
#[test]
fn last_zero() {
    for n in 2..=6_u32 {
        let mut search = Vec::new();
        for at in (0..=n).rev() {
            search.push(Line::Load(0, at, Acquire));
            // If the element is not zero, go on; else leave out all that follows.
            search.push(Line::Unless(0, 0, 1));
            search.push(Line::Unless(0, 1, 100));
        }
        let mut threads = vec![search];
        for at in 1..=n {
            threads.push(vec![Line::Load(0, at - 1, Acquire), Line::StoreRegister(at, Release, 0, 1)]);
        }
        assert_eq!(executions(threads), u64::from(n + 3) << (n - 2), "lastzero({n})");
    }
}

/// Thread i makes i + 1 of i.
#[test]
fn rotations() {
    for (n, count) in (2..).zip([2, 5, 14, 43, 144, 523, 2048]) {
        let cas = |at| Line::Rmw(0, 0, Relaxed, Relaxed, Update::CompareExchange { expected: at, new: at + 1 });
        assert_eq!(executions((0..n).map(|at| vec![cas(at)]).collect()), count, "casrot({n})");
    }
}

/// However many workers there are, they visit the same executions.
#[test]
fn workers() {
    let cas = |at| Line::Rmw(0, 0, Relaxed, Relaxed, Update::CompareExchange { expected: at, new: at + 1 });
    let side = |mine: u32| {
        vec![
            Line::Store(mine, SequentiallyConsistent, 1),
            Line::Load(0, (mine + 1) % 4, SequentiallyConsistent),
            Line::Choice(1, 2),
            Line::StoreRegister(mine, Relaxed, 1, 2),
            Line::Load(0, (mine + 1) % 4, Relaxed),
        ]
    };
    let lock = vec![Line::Lock(0), Line::Load(0, 1, NonAtomic), Line::Store(0, Release, 0)];
    let programs = [
        Code::new((0..9).map(|at| vec![cas(at)]).collect()),
        Code::new(vec![vec![add(0)]; 7]),
        Code::new((0..4).map(side).collect()),
        Code::new(vec![lock; 5]),
    ];
    for code in &programs {
        for model in [Model::C20, Model::Ra, Model::Sc] {
            let alone = counts(code, model);
            for workers in [2, 5] {
                let keep_going = |(): &mut (), _: &mut explore::Run<'_, Code>| std::ops::ControlFlow::Continue(());
                let (counts, _, end) = explore::explore(code.clone(), model, workers, || (), keep_going);
                assert!(end.is_continue());
                // How often a worker looked in vain for the value of an await depends on nothing either.
                assert_eq!(counts, alone, "{model}, {workers} workers");
            }
        }
    }
}

#[test]
fn spawned_threads() {
    // A thread that is joined has been seen; one that is not may not have been.
    let child = vec![Line::Store(0, Relaxed, 1)];
    let parent = |join: bool| {
        let mut lines = vec![Line::Spawn(1)];
        lines.extend(join.then_some(Line::Join(1)));
        lines.push(Line::Load(0, 0, Relaxed));
        lines
    };
    for model in Model::ALL {
        let code = |join| Code { threads: vec![parent(join), child.clone()], first: 1 };
        assert_eq!(counts(&code(true), model).executions, 1, "{model}");
        assert_eq!(counts(&code(false), model).executions, 2, "{model}");
    }
    // What was written before the spawn is seen by the child.
    let parent = vec![Line::Store(0, Relaxed, 1), Line::Spawn(1)];
    let code = Code { threads: vec![parent, vec![Line::Load(0, 0, Relaxed)]], first: 1 };
    for model in Model::ALL {
        assert_eq!(counts(&code, model).executions, 1, "{model}");
    }
}

#[test]
fn deadlocks() {
    // Two locks, taken in both orders.
    let lines =
        |one, two| vec![Line::Lock(one), Line::Lock(two), Line::Store(two, Release, 0), Line::Store(one, Release, 0)];
    let code = Code::new(vec![lines(0, 1), lines(1, 0)]);
    for model in [Model::C20, Model::Rc20, Model::Sc, Model::Tso] {
        let counts = counts(&code, model);
        assert_eq!((counts.executions, counts.deadlocks), (2, 1), "{model}");
    }
}

#[test]
fn store_buffering_by_model() {
    let side = |mine, other, order, fence: bool| {
        let mut lines = vec![Line::Store(mine, order, 1)];
        lines.extend(fence.then_some(Line::Fence(SequentiallyConsistent)));
        lines.push(Line::Load(0, other, order));
        lines
    };
    let plain = Code::new(vec![side(0, 1, Relaxed, false), side(1, 0, Relaxed, false)]);
    let fenced = Code::new(vec![side(0, 1, Relaxed, true), side(1, 0, Relaxed, true)]);
    let sequential =
        Code::new(vec![side(0, 1, SequentiallyConsistent, false), side(1, 0, SequentiallyConsistent, false)]);
    let of = |code: &Code, model| counts(code, model).executions;
    for model in [Model::C20, Model::Rc11, Model::Tso, Model::Pso] {
        assert_eq!((of(&plain, model), of(&fenced, model)), (4, 3), "{model}");
    }
    assert_eq!((of(&sequential, Model::C20), of(&sequential, Model::Ra), of(&plain, Model::Sc)), (3, 4, 3));
}
