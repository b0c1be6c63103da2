//! Litmus tests on this machine's own memory.
//!
//! Most threads of litmus tests do the same accesses whatever they read. Such a thread is run from a list of accesses,
//! and its registers are computed afterwards. Whether the list was right is seen then: if a thread turns out to do
//! other accesses, that round counts for nothing, and from there on all threads are interpreted while they run.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Instant;

use explore::litmus::{Report, Test, Walk};
use explore::{Await, Next, Step};
use workload::random::SplitMix64;

use super::{Act, Arena, Layout, LayoutFault, act, of_fence, of_load, of_rmw, of_store, round};

/// How often a thread looks for a value that it waits for, before the instance counts as one that does not end.
const PATIENCE: u32 = 10_000;
/// How many accesses a thread may have.
const MAX_STEPS: usize = 10_000;

/// Runs a test until the deadline, or for so many rounds. The answer is herd's histogram of outcomes.
///
/// ```
/// use explore::litmus::Test;
/// use machine::hardware::{Layout, run_litmus};
///
/// let test = Test::parse(b"C one { [x] = 0; } P0 (atomic_int* x) { atomic_store(x, 1); } exists ([x]=1)")?;
/// let report = run_litmus(&test, &Layout { instances: 10, ..Layout::default() }, None, 2)?;
/// assert_eq!((report.counts.executions, report.is_ok()), (20, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run_litmus(test: &Test, layout: &Layout, deadline: Option<Instant>, rounds: u64) -> Result<Report, LayoutFault> {
    let threads = test.thread_count();
    if let Some(fault) = layout.fault(threads, test.initial().len()) {
        return Err(fault);
    }
    let mut walks: Vec<Walk<'_>> = (0..threads).map(|thread| test.walk(thread)).collect();
    let mut lists: Option<Vec<Vec<Act>>> = walks.iter_mut().map(list).collect();
    let mut random = SplitMix64::new(layout.seed);
    let mut states: BTreeMap<Vec<i64>, u64> = BTreeMap::new();
    for _ in 0..rounds {
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            break;
        }
        let arena = Arena::new(layout, test.initial());
        let told = match &lists {
            Some(lists) => round(
                layout,
                threads,
                |thread, instance, told: &mut Vec<i64>| {
                    let cells = arena.cells(instance);
                    for &it in &lists[thread] {
                        let value = act(it, cells, arena.stride);
                        if matches!(it, Act::Load(..) | Act::Rmw(..)) {
                            told.push(value);
                        }
                    }
                    told.push(0);
                },
                &mut random,
            ),
            None => {
                round(layout, threads, |thread, at, told| interpret(test.walk(thread), &arena, at, told), &mut random)
            }
        };
        match count(test, &mut walks, &told, lists.as_deref(), &arena, layout.instances) {
            Some(seen) => {
                for (state, count) in seen {
                    *states.entry(state).or_insert(0) += count;
                }
            }
            None => lists = None,
        }
    }
    Ok(test.judge(states))
}

/// The access that a step is.
fn compile(step: Step) -> (Act, Option<Await>) {
    match step {
        Step::Read { location, order, until } => (Act::Load(location, of_load(order)), until),
        Step::Write { location, order, value } => (Act::Store(location, of_store(order), value), None),
        Step::Rmw { location, order, failure, update, until } => {
            (Act::Rmw(location, of_rmw(order), of_load(failure), update), until)
        }
        Step::Fence(order) => (of_fence(order), None),
        // Litmus tests have no other steps.
        _ => (Act::Nothing, None),
    }
}

/// The accesses of a thread, if it waits for nothing and all that it reads is 0.
fn list(walk: &mut Walk<'_>) -> Option<Vec<Act>> {
    walk.restart();
    let mut acts = Vec::new();
    loop {
        match walk.next() {
            Next::Step(step) => {
                let (act, until) = compile(step);
                if until.is_some() || acts.len() == MAX_STEPS {
                    return None;
                }
                acts.push(act);
                walk.feed(0);
            }
            Next::Finished => return Some(acts),
            _ => return None,
        }
    }
}

/// Runs a thread in one instance, and tells what it reads; in the end 0, or 1 if it did not come to its end.
fn interpret(mut walk: Walk<'_>, arena: &Arena, instance: u32, told: &mut Vec<i64>) {
    let cells = arena.cells(instance);
    for _ in 0..MAX_STEPS {
        let Next::Step(step) = walk.next() else { break };
        let (it, until) = compile(step);
        if let (Some(until), Act::Load(location, _) | Act::Rmw(location, ..)) = (until, it) {
            let cell = &cells[location as usize * arena.stride];
            let mut turns = 0;
            // For a read-modify-write, another thread may be faster; then this one waits again in the next look.
            while !until.accepts(cell.load(Ordering::Relaxed)) && turns < PATIENCE {
                turns += 1;
                if turns % 256 == 0 { std::thread::yield_now() } else { std::hint::spin_loop() }
            }
        }
        let value = act(it, cells, arena.stride);
        if until.is_some_and(|until| !until.accepts(value)) {
            told.push(value);
            told.push(1);
            return;
        }
        if matches!(it, Act::Load(..) | Act::Rmw(..)) {
            told.push(value);
        }
        walk.feed(value);
    }
    told.push(i64::from(!matches!(walk.next(), Next::Finished)));
}

/// Counts the final states of a round. None if a thread should have done other accesses than those of its list.
fn count(
    test: &Test,
    walks: &mut [Walk<'_>],
    told: &[Vec<i64>],
    lists: Option<&[Vec<Act>]>,
    arena: &Arena,
    instances: u32,
) -> Option<BTreeMap<Vec<i64>, u64>> {
    let mut seen = BTreeMap::new();
    let mut places: Vec<usize> = vec![0; walks.len()];
    for instance in 0..instances {
        let mut is_complete = true;
        for (thread, walk) in walks.iter_mut().enumerate() {
            walk.restart();
            let mut next_told = || {
                places[thread] += 1;
                told[thread].get(places[thread] - 1).copied().unwrap_or(0)
            };
            let mut done = 0;
            let mut is_stopped = false;
            while let Next::Step(step) = walk.next() {
                let (it, until) = compile(step);
                if lists.is_some_and(|lists| lists[thread].get(done) != Some(&it)) {
                    return None;
                }
                let value = if matches!(it, Act::Load(..) | Act::Rmw(..)) { next_told() } else { 0 };
                if until.is_some_and(|until| !until.accepts(value)) || done == MAX_STEPS {
                    is_stopped = true;
                    break;
                }
                walk.feed(value);
                done += 1;
            }
            if lists.is_some_and(|lists| lists[thread].len() != done) {
                return None;
            }
            is_complete &= next_told() == 0 && !is_stopped && matches!(walk.next(), Next::Finished);
        }
        if is_complete {
            let memory = arena.memory(instance, test.initial().len());
            *seen.entry(test.state(walks, &memory)).or_insert(0) += 1;
        }
    }
    Some(seen)
}
