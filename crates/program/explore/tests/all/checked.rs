//! The checker and the exploration agree on every class of random programs: what the exploration visits, the checker
//! allows, and a search that asks the checker alone finds nothing else.

use explore::Order::{Acquire, AcquireRelease, Relaxed, Release, SequentiallyConsistent as Sc};
use explore::{Model, Order, Source, Step, Update};
use history::MemoryOrder;
use history::execution::{Execution, ExecutionBuilder, Kind};
use memory::{MemoryOptions, check};
use model::Verdict;

use crate::common::{Class, Code, Line, Random, cases, explored, grown};

const MODELS: [(Model, model::Model); 8] = [
    (Model::C20, model::Model::C20),
    (Model::Rc11, model::Model::Rc11),
    (Model::Rc20, model::Model::Rc20),
    (Model::Ra, model::Model::Ra),
    (Model::Sra, model::Model::Sra),
    (Model::Relaxed, model::Model::Relaxed),
    (Model::Tso, model::Model::Tso),
    (Model::Sc, model::Model::Sc),
];

fn memory_order(order: Order) -> MemoryOrder {
    match order {
        Order::NonAtomic => MemoryOrder::Plain,
        Relaxed => MemoryOrder::Relaxed,
        Acquire => MemoryOrder::Acquire,
        Release => MemoryOrder::Release,
        AcquireRelease => MemoryOrder::AcquireRelease,
        Sc => MemoryOrder::SequentiallyConsistent,
    }
}

/// The class as an execution. An rmw that failed is a read.
fn execution(class: &Class, steps: &[Vec<Step>]) -> Execution {
    let mut builder = ExecutionBuilder::new();
    let mut ids = Vec::new();
    for (thread, (nodes, steps)) in (0..).zip(class.iter().zip(steps)) {
        let push = |(node, step): (&crate::common::Node, &Step)| {
            let (kind, order) = match *step {
                Step::Read { order, .. } => (Kind::Read, order),
                Step::Write { order, .. } => (Kind::Write, order),
                Step::Rmw { order, .. } if node.written.is_some() => (Kind::Rmw, order),
                Step::Rmw { failure, .. } => (Kind::Read, failure),
                Step::Fence(order) => (Kind::Fence, order),
                _ => unreachable!("the programs have no such steps"),
            };
            builder.push_ordered(thread, kind, step.location().unwrap_or(0), memory_order(order))
        };
        ids.push(nodes.iter().zip(steps).map(push).collect::<Vec<_>>());
    }
    for (nodes, own) in class.iter().zip(&ids) {
        for (node, &id) in nodes.iter().zip(own) {
            match node.source {
                Source::Write(thread, index) => builder.read_from(id, Some(ids[thread as usize][index as usize])),
                Source::Initial => builder.read_from(id, None),
                Source::Nothing => {}
            }
        }
    }
    builder.build()
}

/// A program of two or three threads, of which many accesses and fences are sequentially consistent. A location is
/// often written twice in a row, for the sake of release sequences.
fn program(random: &mut Random) -> (Code, u32) {
    let threads = 2 + random.below(2);
    let locations = 1 + random.below(3) as u32;
    let percent = [20, 50, 80][random.below(3)];
    let mut value = 0;
    let lines = |random: &mut Random, value: &mut i64| {
        let mut lines = Vec::new();
        let most = if threads == 2 { 4 } else { 3 };
        let count = 1 + random.below(most);
        while lines.len() < count {
            let mut order = |weak: &[Order]| if random.below(100) < percent { Sc } else { random.pick(weak) };
            let [read, write, both] =
                [order(&[Relaxed, Acquire]), order(&[Relaxed, Release]), order(&[Relaxed, AcquireRelease])];
            let fence = order(&[Acquire, Release, AcquireRelease]);
            let location = random.below(locations as usize) as u32;
            *value += 1;
            match random.below(10) {
                0..4 => lines.push(Line::Load(lines.len(), location, read)),
                4..7 => lines.push(Line::Store(location, write, *value)),
                7 => {
                    lines.push(Line::Store(location, write, *value));
                    *value += 1;
                    lines.push(Line::Store(location, Relaxed, *value));
                }
                8 => {
                    let update = random.pick(&[
                        Update::Add(100),
                        Update::Set(*value),
                        Update::CompareExchange { expected: 0, new: *value },
                    ]);
                    lines.push(Line::Rmw(lines.len(), location, both, read, update));
                }
                _ => lines.push(Line::Fence(fence)),
            }
        }
        lines
    };
    let code = (0..threads).map(|_| lines(random, &mut value)).collect();
    (Code::new(code), locations)
}

/// The same without sequentially consistent orders.
fn weakened(code: &Code) -> Code {
    let weak = |order: &mut Order, becomes: Order| {
        if order.is_sequential() {
            *order = becomes;
        }
    };
    let mut code = code.clone();
    for line in code.threads.iter_mut().flatten() {
        match line {
            Line::Load(_, _, order) => weak(order, Acquire),
            Line::Store(_, order, _) => weak(order, Release),
            Line::Rmw(_, _, order, failure, _) => {
                weak(order, AcquireRelease);
                weak(failure, Acquire);
            }
            Line::Fence(order) => weak(order, AcquireRelease),
            _ => {}
        }
    }
    code
}

#[test]
fn the_checker_agrees_on_every_class() {
    let mut random = Random(0x5EED);
    let mut differ = 0;
    for case in 0..cases(1000) {
        let (code, locations) = program(&mut random);
        let mut counts = Vec::new();
        for (explored_by, checked_by) in MODELS {
            let code = if explored_by == Model::Rc20 { weakened(&code) } else { code.clone() };
            let allows = |class: &Class, steps: &[Vec<Step>]| {
                let decision = check(checked_by, &execution(class, steps), &MemoryOptions::default());
                assert!(decision.verdict != Verdict::Unknown, "{checked_by}: {class:?}\n{code:#?}");
                decision.verdict == Verdict::Consistent
            };
            let (complete, _) = grown(&code, allows);
            let visited = explored(&code, explored_by, locations).complete;
            assert_eq!(visited, complete, "case {case}, {explored_by}: {code:#?}");
            counts.push(complete.len());
        }
        differ += usize::from(counts[0] != counts[1]);
    }
    assert!(differ > cases(1000) / 200, "c20 and rc11 differ on {differ} programs");
}
