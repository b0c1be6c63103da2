//! A run for `sra`: an order of all events, looked for without saturation.
//!
//! Threads take turns ([`Interleaving`]). If all threads wait, they wait for each other in a cycle. A thread waits for
//! an event that must come first. Or it waits with a write, for the rmw that reads the last write of the location. One
//! of the latter pairs is turned round: of the last writes, the one that went latest goes back, and must now come after
//! the write that waits. This is a guess. If guesses do not help soon, no run is found. But they nearly always help,
//! and a run costs a fraction of saturation.

use history::execution::EventId;
use order::saturation::NONE;
use rustc_hash::FxHashMap;

use crate::Interrupt;
use crate::store::frame::Frame;
use crate::store::interleaving::{Gone, Interleaving};
use crate::store::saturate::Ages;

/// How many guesses there may be before the run must have come further.
const MAX_GUESSES_WITHOUT_PROGRESS: u32 = 16;

/// All events in an order in which no write comes between an rmw and its source, if one is found soon. Only rmws read
/// in the frame.
pub(super) fn run(frame: &Frame<'_>, interrupt: Interrupt) -> Option<Vec<u32>> {
    let execution = frame.execution();
    let mut updaters = vec![NONE; execution.len()];
    let mut initial_updaters = vec![NONE; execution.location_count()];
    for (id, event) in (0..).zip(execution.events()).filter(|(_, event)| event.kind.reads()) {
        match event.source {
            EventId::INIT => initial_updaters[event.location.index()] = id,
            source => updaters[source.index()] = id,
        }
    }
    let ages = Ages::new(frame);
    let mut interleaving: Interleaving<'_> = Interleaving::new(execution);
    // By event: the events that it must come after, by the guesses so far.
    let mut guesses: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    let (mut furthest, mut left) = (0, MAX_GUESSES_WITHOUT_PROGRESS);
    loop {
        let missing = |event: u32, gone: Gone<'_>| {
            let guessed = || guesses.get(&event)?.iter().copied().find(|&from| !gone.contains(from));
            frame.predecessors(event).find(|&predecessor| !gone.contains(predecessor)).or_else(guessed)
        };
        while let Some(event) = interleaving.advance(missing, &ages) {
            interleaving.go(event);
        }
        if interleaving.is_complete() {
            return Some(interleaving.line().collect());
        }
        if interleaving.line().len() > furthest {
            furthest = interleaving.line().len();
            left = MAX_GUESSES_WITHOUT_PROGRESS;
        }
        left = left.checked_sub(1).filter(|_| !interrupt.is_due())?;
        // The thread that each thread waits for. If it waits for an rmw, also the last write and the write that waits.
        let wait = |thread: usize| {
            let event = interleaving.next_of(thread);
            if let Some(predecessor) = missing(event, interleaving.gone()) {
                return (predecessor, None);
            }
            let location = execution.events()[event as usize].location.index();
            match interleaving.current(location) {
                NONE => (initial_updaters[location], None),
                current => {
                    let may_turn = execution.threads()[current as usize].index() != thread;
                    (updaters[current as usize], may_turn.then_some((current, event)))
                }
            }
        };
        let unfinished = |&thread: &usize| interleaving.next_of(thread) < execution.starts()[thread + 1];
        let mut thread = (0..execution.thread_count()).find(unfinished)?;
        let mut seen = vec![usize::MAX; execution.thread_count()];
        let mut waits = Vec::new();
        while seen[thread] == usize::MAX {
            seen[thread] = waits.len();
            let (needed, pair) = wait(thread);
            waits.push(pair);
            thread = execution.threads()[needed as usize].index();
        }
        let circle = waits[seen[thread]..].iter().flatten();
        let &(current, write) = circle.max_by_key(|(current, _)| interleaving.place(*current))?;
        if let Some(opposite) = guesses.get_mut(&write) {
            opposite.retain(|&from| from != current);
        }
        guesses.entry(current).or_default().push(write);
        interleaving.rewind(current);
        interleaving.reset(|_, _| false);
    }
}
