//! The search for a violation: clients of varying shape, one execution after the other, until one breaks the model.
//!
//! Execution number k depends on k and on the seed alone, and the answer is the first execution that breaks the model,
//! whatever the number of workers. So a hunt can be stopped after any execution and go on from the next one.

use std::num::NonZero;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use workload::random::SplitMix64;

use crate::client::Client;
use crate::core::Cores;
use crate::execution::execute;
use crate::setup::{MachineRun, vary_client};
use crate::system::MemorySystem;

/// What a hunt has come to.
#[derive(Clone, Debug)]
pub struct Hunted<T> {
    /// The number of the first execution that broke the model, and what was found there.
    pub found: Option<(u64, T)>,
    /// All executions before this number were looked at.
    pub next: u64,
}

/// Looks at executions in the order of their numbers, by several workers, until `look` finds something or the time is
/// over.
///
/// ```
/// let hunted = machine::hunt::first(0..100, 2.try_into().unwrap(), None, |number| (number > 41).then_some(()));
/// assert_eq!((hunted.found, hunted.next), (Some((42, ())), 43));
/// ```
pub fn first<T: Send>(
    numbers: Range<u64>,
    jobs: NonZero<usize>,
    deadline: Option<Instant>,
    look: impl Fn(u64) -> Option<T> + Sync,
) -> Hunted<T> {
    let next = AtomicU64::new(numbers.start);
    let end = AtomicU64::new(numbers.end);
    let is_late = AtomicBool::new(false);
    let found: Mutex<Option<(u64, T)>> = Mutex::new(None);
    let work = || {
        while !is_late.load(Ordering::Relaxed) {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                is_late.store(true, Ordering::Relaxed);
                return;
            }
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= end.load(Ordering::Relaxed) {
                return;
            }
            if let Some(it) = look(number) {
                // Only smaller numbers matter from here on.
                end.fetch_min(number, Ordering::Relaxed);
                let mut found = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if found.as_ref().is_none_or(|(best, _)| number < *best) {
                    *found = Some((number, it));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.get() {
            scope.spawn(work);
        }
        work();
    });
    let found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let looked = next.into_inner().min(numbers.end);
    let next = found.as_ref().map_or(looked, |(number, _)| number + 1);
    Hunted { found, next }
}

/// Runs clients on a memory system of one's own until `violates` says so. `make` makes the memory system for a client;
/// each client has at most as many threads, operations and locations as `most`.
pub fn hunt<M: MemorySystem>(
    numbers: Range<u64>,
    most: &Client,
    cores: &Cores,
    make: impl Fn(&Client) -> M + Sync,
    violates: impl Fn(&MachineRun) -> bool + Sync,
) -> Hunted<MachineRun> {
    first(numbers, NonZero::<usize>::MIN, None, |number| {
        let mut random = SplitMix64::new(most.seed ^ SplitMix64::new(number).next());
        let client = vary_client(most, &mut random);
        let mut operations = Vec::new();
        let ending = execute(&mut make(&client), &client, cores, &mut |operation| operations.push(operation));
        let run = MachineRun { client, operations, ending };
        violates(&run).then_some(run)
    })
}
