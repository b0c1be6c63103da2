//! The exploration finds what brute force finds, each class once, in thousands of random programs.
//! `SERIATIM_CASES=3` tries three times as many.

use crate::common;
use std::ops::ControlFlow;

use common::{Code, Line, Random, cases, enumerated, explored, sampled, sampled_by};
use explore::Order::{Acquire, AcquireRelease, NonAtomic, Relaxed, Release, SequentiallyConsistent};
use explore::{Await, Counts, Exploration, Model, Order, RandomStrategy, Sampler, Update};

/// What a random program is made of.
#[derive(Copy, Clone)]
struct Shape {
    threads: usize,
    lines: usize,
    locations: u32,
    /// Of 16 accesses, how many are sequentially consistent.
    sequential: usize,
    has_awaits: bool,
    has_branches: bool,
    has_non_atomics: bool,
}

fn order(random: &mut Random, shape: Shape, orders: &[Order]) -> Order {
    if random.below(16) < shape.sequential {
        SequentiallyConsistent
    } else if shape.has_non_atomics && random.below(5) == 0 {
        NonAtomic
    } else {
        random.pick(orders)
    }
}

fn atomic(order: Order) -> Order {
    if order == NonAtomic { Relaxed } else { order }
}

fn program(random: &mut Random, shape: Shape) -> Code {
    let mut threads = Vec::new();
    let mut value = 0;
    for _ in 0..shape.threads {
        let count = 1 + random.below(shape.lines);
        let mut lines = Vec::new();
        let mut register = 0;
        while lines.len() < count {
            let location = random.below(shape.locations as usize) as u32;
            value += 1;
            lines.push(match random.below(16) {
                0..=4 => {
                    register = (register + 1) % 4;
                    Line::Load(register, location, order(random, shape, &[Relaxed, Acquire]))
                }
                5..=9 => Line::Store(location, order(random, shape, &[Relaxed, Release]), value % 3 + 1),
                10 => Line::StoreRegister(location, order(random, shape, &[Relaxed, Release]), register, 1),
                11 | 12 => {
                    register = (register + 1) % 4;
                    let order = atomic(order(random, shape, &[Relaxed, Acquire, Release, AcquireRelease]));
                    let update = match random.below(4) {
                        0 => Update::Set(value % 3 + 1),
                        1 => Update::Add(1),
                        _ => Update::CompareExchange { expected: random.below(3) as i64, new: value % 3 + 1 },
                    };
                    let failure =
                        if order == SequentiallyConsistent { random.pick(&[order, Relaxed]) } else { Relaxed };
                    Line::Rmw(register, location, order, failure, update)
                }
                13 => {
                    let fence = if shape.sequential > 0 && random.below(2) == 0 {
                        SequentiallyConsistent
                    } else {
                        random.pick(&[Acquire, Release, AcquireRelease])
                    };
                    Line::Fence(fence)
                }
                14 if shape.has_awaits => match random.below(3) {
                    0 => Line::Lock(location),
                    _ => Line::Wait(
                        register,
                        location,
                        atomic(order(random, shape, &[Relaxed, Acquire])),
                        random.pick(&[Await::not_equal(0), Await::equal(1), Await::equal(2)]),
                    ),
                },
                15 if shape.has_branches => match random.below(6) {
                    0 => Line::Assume(register, random.below(2) as i64),
                    1 => Line::Choice(register, 2),
                    _ => Line::Unless(register, random.below(3) as i64, 1),
                },
                _ => Line::Load(register, location, order(random, shape, &[Relaxed, Acquire])),
            });
        }
        threads.push(lines);
    }
    Code::new(threads)
}

/// The same program, in which the first thread spawns the others, and may join them before its last line.
fn spawning(random: &mut Random, mut code: Code) -> Code {
    let children = 1..code.threads.len() as u32;
    let first = &mut code.threads[0];
    for child in children {
        let spawn = random.below(first.len() + 1);
        first.insert(spawn, Line::Spawn(child));
        if random.below(2) == 0 {
            let join = spawn + 1 + random.below(first.len() - spawn);
            first.insert(join, Line::Join(child));
        }
    }
    // A line must not skip a spawn or a join.
    first.retain(|line| !matches!(line, Line::Unless(..)));
    Code { first: 1, ..code }
}

fn compare(code: &Code, model: Model, locations: u32) -> usize {
    let (engine, oracle) = (explored(code, model, locations), enumerated(code, model, locations));
    let missed = oracle.complete.difference(&engine.complete).next();
    assert_eq!(missed, None, "{model}: a class was missed\n{code:#?}");
    let excess = engine.complete.difference(&oracle.complete).next();
    assert_eq!(excess, None, "{model}: a class is not allowed\n{code:#?}");
    assert_eq!(engine.deadlocks, oracle.deadlocks, "{model}: deadlocks\n{code:#?}");
    assert_eq!(engine.memories, oracle.memories, "{model}: memories\n{code:#?}");
    assert_eq!(engine.has_race, oracle.has_race, "{model}: races\n{code:#?}");
    oracle.complete.len()
}

fn run(seed: u64, count: usize, shape: Shape, models: &[Model]) {
    let mut random = Random(seed);
    let (mut classes, count) = (0, cases(count));
    for _ in 0..count {
        let code = program(&mut random, shape);
        for &model in models {
            classes += compare(&code, model, shape.locations);
        }
    }
    // The programs are not trivial.
    assert!(classes > 2 * count * models.len(), "{classes} classes of {count} programs");
}

const SMALL: Shape = Shape {
    threads: 3,
    lines: 3,
    locations: 2,
    sequential: 0,
    has_awaits: false,
    has_branches: false,
    has_non_atomics: false,
};

#[test]
fn release_acquire() {
    run(1, 300, SMALL, &[Model::Rc20, Model::Ra, Model::Relaxed, Model::Rc11, Model::C20]);
    run(2, 150, Shape { threads: 2, lines: 5, ..SMALL }, &[Model::Rc20, Model::Ra, Model::Rc11]);
}

/// Random runs find only what brute force finds, and on small programs nearly all of it.
#[test]
fn random_runs() {
    let strategies =
        [RandomStrategy::Uniform, RandomStrategy::Pct { depth: 3 }, RandomStrategy::Pctwm { depth: 2, history: 2 }];
    let mut random = Random(12);
    let (mut all, mut seen) = (0, [0; 3]);
    for _ in 0..60 {
        let code = program(&mut random, Shape { sequential: 4, has_awaits: true, ..SMALL });
        for model in [Model::C20, Model::Ra, Model::Tso] {
            let oracle = enumerated(&code, model, SMALL.locations);
            all += oracle.complete.len();
            for (strategy, seen) in strategies.into_iter().zip(&mut seen) {
                let found = sampled(&code, model, strategy, 400);
                assert!(found.0.is_subset(&oracle.complete), "{model} {strategy:?}\n{code:#?}");
                assert!(found.1.is_subset(&oracle.deadlocks), "{model} {strategy:?}\n{code:#?}");
                assert_eq!(found, sampled(&code, model, strategy, 400), "the seed decides");
                *seen += found.0.len();
            }
        }
    }
    assert!(seen[0] * 100 > all * 97 && seen[1] * 100 > all * 85 && seen[2] * 100 > all * 50, "{seen:?} of {all}");
}

/// Runs as long ones are run find only what brute force finds, and most of it. Awaits may be passed over for ever.
#[test]
fn straight_runs() {
    let mut random = Random(14);
    let (mut all, mut seen) = ([0; 8], [0; 8]);
    let models = [Model::C20, Model::Rc11, Model::Ra, Model::Relaxed, Model::Tso, Model::Pso, Model::Sc, Model::Sra];
    for round in 0..60 {
        let shape = Shape { sequential: [0, 4, 10][round % 3], ..SMALL };
        let code = program(&mut random, shape);
        let code = if round % 4 == 0 { spawning(&mut random, code) } else { code };
        for (at, model) in models.into_iter().enumerate() {
            let oracle = enumerated(&code, model, SMALL.locations);
            let sampler = Sampler::new(code.clone(), model, RandomStrategy::Uniform).straight();
            let (found, _) = sampled_by(sampler, &code, 300);
            let excess = found.difference(&oracle.complete).next();
            assert_eq!(excess, None, "{model}: a class is not allowed\n{code:#?}");
            all[at] += oracle.complete.len();
            seen[at] += found.len();
        }
    }
    let is_most = all.iter().zip(&seen).all(|(all, seen)| seen * 100 > all * 85);
    assert!(is_most, "{seen:?} of {all:?}");
}

#[test]
fn spawned_threads() {
    let mut random = Random(11);
    let (mut classes, count) = (0, cases(250));
    for _ in 0..count {
        let code = program(&mut random, Shape { sequential: 4, ..SMALL });
        let code = spawning(&mut random, code);
        for model in [Model::C20, Model::Ra, Model::Sc, Model::Tso, Model::Pso, Model::Sra] {
            classes += compare(&code, model, SMALL.locations);
        }
    }
    assert!(classes > 10 * count, "{classes} classes of {count} programs");
}

#[test]
fn branches() {
    run(3, 150, Shape { has_branches: true, lines: 4, ..SMALL }, &[Model::Rc20, Model::Ra]);
}

#[test]
fn awaits() {
    run(4, 300, Shape { has_awaits: true, ..SMALL }, &[Model::Rc20, Model::Ra, Model::Sc]);
}

#[test]
fn races() {
    run(5, 300, Shape { has_non_atomics: true, ..SMALL }, &[Model::Rc20, Model::C20, Model::Rc11]);
}

#[test]
fn sequentially_consistent_accesses() {
    run(6, 300, Shape { sequential: 8, ..SMALL }, &[Model::C20, Model::Rc11]);
    run(7, 150, Shape { sequential: 14, has_branches: true, ..SMALL }, &[Model::C20, Model::Rc11]);
}

#[test]
fn total_orders() {
    run(8, 250, Shape { sequential: 2, ..SMALL }, &[Model::Sc, Model::Tso, Model::Pso, Model::Sra]);
    run(9, 150, Shape { sequential: 2, threads: 2, lines: 5, ..SMALL }, &[Model::Sc, Model::Tso, Model::Pso]);
}

#[test]
fn weak_release_acquire() {
    run(10, 300, SMALL, &[Model::Wra]);
}

/// Programs that are too large for brute force: which number a thread has changes the order of the exploration and
/// every canonical source, but not what is found.
#[test]
fn larger_programs() {
    let mut random = Random(13);
    let shape = Shape { lines: 6, locations: 3, sequential: 4, has_branches: true, ..SMALL };
    let models = [Model::C20, Model::Rc11, Model::Ra, Model::Tso, Model::Pso, Model::Sra, Model::Sc];
    let (mut classes, count) = (0, cases(250));
    for round in 0..count {
        let has_awaits = round % 4 == 0;
        let code = program(&mut random, Shape { has_awaits, ..shape });
        if code.threads.iter().map(Vec::len).sum::<usize>() < 11 {
            continue;
        }
        for model in models {
            let counts = |order: [usize; 3]| {
                let code = Code::new(order.map(|at| code.threads[at].clone()).to_vec());
                let mut exploration = Exploration::new(code, model);
                let mut seen = 0;
                let end = exploration.run(|_| {
                    seen += 1;
                    if seen < 30_000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                });
                let Counts { executions, deadlocks, .. } = exploration.counts();
                end.is_continue().then_some((executions, deadlocks))
            };
            let Some(first) = counts([0, 1, 2]) else { continue };
            classes += first.0;
            for order in [[2, 1, 0], [1, 2, 0]] {
                let other = counts(order);
                assert!(other.is_none_or(|other| other == first), "{model}: {first:?}, {other:?}\n{code:#?}");
            }
        }
    }
    assert!(classes > 250 * count as u64, "{classes} classes of {count} programs");
}
