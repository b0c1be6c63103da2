//! Executions with rmws that saturation does not decide under `sra`, of any size.
//!
//! A *variable* is a location with two writes, each in a thread of its own, and an rmw of each in the same thread. One
//! of the two pairs of a write and its rmw comes before the other, and either order is possible: if write 0 comes
//! before write 1, so does the rmw of write 0. A *condition* says which write of a variable comes first. A *ring* is a
//! list of conditions. For each condition, the write that comes second happens before the rmw of the write that comes
//! first in the next condition. If all conditions held, the first write of each condition would come before its rmw,
//! the rmw before the second write, the second write before the next rmw, and so on round the ring: a cycle. So a ring
//! forbids that all its conditions hold, and saturation derives nothing from it while two of them are open. A ring is
//! like a clause of a formula, which is why `sra` is NP-hard (Theorem 1.2 of RF).
//!
//! A write happens before an rmw because of a message: a location that the writer writes after its write and the other
//! thread reads before its rmw.

use history::execution::{Execution, ExecutionBuilder, Kind};

use crate::memory::MemoryStep;
use crate::random::SplitMix64;

/// The condition that one of the two writes of a variable comes first.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The variable.
    pub variable: u32,
    /// The write that comes first: 0 or 1.
    pub first: u32,
}

/// Conditions that must not all hold.
pub type Ring = Vec<Condition>;

/// The rings that forbid three of the four ways to order two variables, or all four.
pub fn crossed(violating: bool) -> Vec<Ring> {
    let ways = [[1, 1], [1, 0], [0, 0], [0, 1]];
    let ring = |way: &[u32; 2]| (0..).zip(way).map(|(variable, &first)| Condition { variable, first }).collect();
    ways[..if violating { 4 } else { 3 }].iter().map(ring).collect()
}

/// Rings of three conditions on random variables. They are hard if there are a little more than four rings for each
/// variable.
pub fn random(variables: u32, count: u32, seed: u64) -> Vec<Ring> {
    let mut random = SplitMix64::new(seed);
    let mut ring = |_| {
        let mut ring: Ring = Vec::new();
        while ring.len() < variables.min(3) as usize {
            let variable = random.between(0, variables - 1);
            if ring.iter().all(|condition| condition.variable != variable) {
                ring.push(Condition { variable, first: random.between(0, 1) });
            }
        }
        ring
    };
    (0..count).map(&mut ring).collect()
}

/// The operations of copies of the variables, each with its rings, thread by thread. The copies share locations. They
/// also share threads, unless they are side by side.
pub fn steps(variables: u32, copies: &[Vec<Ring>], side_by_side: bool) -> Vec<MemoryStep> {
    let width = 2 * variables;
    let mut threads: Vec<Vec<MemoryStep>> = Vec::new();
    let mut written = 0;
    for (copy, rings) in (0..).zip(copies) {
        let first = if side_by_side { copy * width } else { 0 };
        threads.resize_with(threads.len().max((first + width) as usize), Vec::new);
        // By thread of the copy: the values of its write, its message and its rmw.
        let values: Vec<[u32; 3]> = (0..width).map(|at| [1, 2, 3].map(|value| written + 3 * at + value)).collect();
        written += 3 * width;
        for (at, &[write, message, rmw]) in (0..).zip(&values) {
            let mut push = |kind, location, read, written| {
                let order = history::MemoryOrder::Plain;
                let thread = first + at;
                threads[thread as usize].push(MemoryStep { thread, location, kind, order, read, written });
            };
            push(Kind::Write, at / 2, 0, write);
            push(Kind::Write, variables + at, 0, message);
            let knows_of = |ring: &Ring, place: usize| {
                let before = ring[(place + ring.len() - 1) % ring.len()];
                let own = 2 * ring[place].variable + ring[place].first == at;
                own.then_some(2 * before.variable + 1 - before.first)
            };
            let mut known: Vec<u32> =
                rings.iter().flat_map(|ring| (0..ring.len()).filter_map(|place| knows_of(ring, place))).collect();
            known.sort_unstable();
            known.dedup();
            for other in known {
                push(Kind::Read, variables + other, values[other as usize][1], 0);
            }
            push(Kind::Rmw, at / 2, write, rmw);
        }
    }
    threads.into_iter().flatten().collect()
}

/// The execution of such operations.
pub fn execution(steps: &[MemoryStep]) -> Execution {
    let mut builder = ExecutionBuilder::new();
    let events: Vec<usize> = steps.iter().map(|step| builder.push(step.thread, step.kind, step.location)).collect();
    let mut writes = vec![None; steps.len() + 1];
    for (step, &event) in steps.iter().zip(&events) {
        if let Some(value) = step.value_written() {
            writes[value as usize] = Some(event);
        }
    }
    for (step, &event) in steps.iter().zip(&events) {
        if let Some(value) = step.value_read() {
            builder.read_from(event, writes[value as usize]);
        }
    }
    builder.build()
}
