//! Operational definitions of SC, TSO and PSO: a search of all runs of a machine.
//!
//! They share nothing with the axioms except the execution, so that the two halves of the oracle can be compared.
//!
//! A thread executes its events in program order. Its writes go to its store buffer. Under TSO a thread has one store
//! buffer, under PSO one for each location. The oldest entry of a buffer may move to memory at any time. A read takes
//! the newest entry for the location in its own buffer. If there is none, it takes the value in memory. This must be
//! the source that the execution names. A full fence waits for the thread's buffers to be empty. An rmw waits for the
//! buffer that a write of its location would go to, and then reads and writes memory at once. Under SC a write goes to
//! memory immediately.

use std::collections::HashSet;

use history::execution::{EventId, Kind};
use history::{Execution, MemoryOrder};

/// The machines.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Machine {
    /// An atomic memory.
    Sc,
    /// One store buffer for each thread.
    Tso,
    /// One store buffer for each thread and location.
    Pso,
}

/// Whether some run of the machine is this execution.
///
/// ```
/// use history::{Execution, History};
/// use oracle::machine::{Machine, runs};
///
/// // Two writes leave their buffers in the other order.
/// let history = format::parse("[0] w data 1\n[0] w flag 1\n[1] r flag 1\n[1] r data 0\n")?;
/// let execution = Execution::from_history(&history)?;
/// assert!(!runs(Machine::Tso, &execution));
/// assert!(runs(Machine::Pso, &execution));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn runs(machine: Machine, execution: &Execution) -> bool {
    let start = State {
        next: execution.starts()[..execution.thread_count()].to_vec(),
        buffers: vec![Vec::new(); execution.thread_count() * slots(machine, execution)],
        memory: vec![EventId::INIT; execution.location_count()],
    };
    execution.thin_air().is_empty() && search(machine, execution, &start, &mut HashSet::new())
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// The next event of each thread.
    next: Vec<u32>,
    /// The buffered writes, oldest first. Each thread has [`slots`] buffers.
    buffers: Vec<Vec<EventId>>,
    /// The last write to each location.
    memory: Vec<EventId>,
}

fn slots(machine: Machine, execution: &Execution) -> usize {
    if machine == Machine::Pso { execution.location_count() } else { 1 }
}

fn search(machine: Machine, execution: &Execution, state: &State, seen: &mut HashSet<State>) -> bool {
    if (0..execution.thread_count()).all(|thread| state.next[thread] == execution.starts()[thread + 1]) {
        return true;
    }
    if !seen.insert(state.clone()) {
        return false;
    }
    let flushes = (0..state.buffers.len()).filter_map(|buffer| flush(execution, state, buffer));
    let steps = (0..execution.thread_count()).filter_map(|thread| step(machine, execution, state, thread));
    let reached: Vec<State> = flushes.chain(steps).collect();
    reached.iter().any(|next| search(machine, execution, next, seen))
}

/// Moves the oldest entry of a buffer to memory.
fn flush(execution: &Execution, state: &State, buffer: usize) -> Option<State> {
    let &write = state.buffers[buffer].first()?;
    let mut next = state.clone();
    next.buffers[buffer].remove(0);
    next.memory[execution.event(write).location.index()] = write;
    Some(next)
}

/// Executes the next event of a thread, if the machine can.
fn step(machine: Machine, execution: &Execution, state: &State, thread: usize) -> Option<State> {
    let id = EventId(state.next[thread]);
    if id.0 == execution.starts()[thread + 1] {
        return None;
    }
    let event = execution.event(id);
    let slots = slots(machine, execution);
    let own = thread * slots..(thread + 1) * slots;
    let location = event.location.index();
    let mut next = state.clone();
    next.next[thread] += 1;
    match event.kind {
        Kind::Fence => {
            let full = matches!(event.order, MemoryOrder::Plain | MemoryOrder::SequentiallyConsistent);
            (!full || state.buffers[own].iter().all(Vec::is_empty)).then_some(next)
        }
        Kind::Read => {
            let on_location = |&&write: &&EventId| execution.event(write).location == event.location;
            let newest = state.buffers[own].iter().flatten().rfind(on_location);
            (event.source == newest.copied().unwrap_or(state.memory[location])).then_some(next)
        }
        Kind::Rmw => {
            let buffer = if machine == Machine::Pso { own.start + location } else { own.start };
            next.memory[location] = id;
            (state.buffers[buffer].is_empty() && event.source == state.memory[location]).then_some(next)
        }
        Kind::Write => {
            match machine {
                Machine::Sc => next.memory[location] = id,
                Machine::Tso => next.buffers[thread].push(id),
                Machine::Pso => next.buffers[thread * slots + location].push(id),
            }
            Some(next)
        }
    }
}
