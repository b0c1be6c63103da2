//! A run: an interleaving in a frame, looked for without saturation.
//!
//! Threads take turns ([`Interleaving`]). If all threads wait, they wait for each other in a cycle. A thread waits for
//! an event that must come first. Or it waits with a write, for a reader of the last write of the location. One of the
//! latter pairs is turned round: of the last writes, the one that went latest goes back, and must now come after the
//! write that waits. This is a guess. If guesses do not help soon, no run is found. But they often help, and a run
//! costs a fraction of saturation.
//!
//! A run needs to know which writes must come before a write, because a reader of it knows of them. That is one round
//! of the first rule of saturation.

use std::cell::LazyCell;

use order::saturation::NONE;
use rustc_hash::FxHashMap;

use super::frame::{Frame, Lists};
use super::interleaving::{Gone, Interleaving};
use super::saturate::Ages;
use crate::Interrupt;
use crate::writes::Readers;

/// How many guesses there may be before the run must have come further.
const MAX_GUESSES_WITHOUT_PROGRESS: u32 = 16;

/// An interleaving, if one is found soon. `known` has, for each write, the writes that must come before it, if they are
/// not among its base predecessors.
pub fn run(frame: &Frame<'_>, known: Option<&Lists>, interrupt: Interrupt) -> Option<Vec<u32>> {
    let execution = frame.execution();
    let readers = LazyCell::new(|| Readers::new(execution));
    let ages = Ages::new(frame);
    let mut interleaving: Interleaving<'_> = Interleaving::new(execution);
    // By event: the events that it must come after, by the guesses so far.
    let mut guesses: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    let (mut furthest, mut left) = (0, MAX_GUESSES_WITHOUT_PROGRESS);
    loop {
        let missing = |event: u32, gone: Gone<'_>| {
            let is_missing = |&predecessor: &u32| !gone.contains(predecessor);
            let known = || known?.of(event).iter().copied().find(is_missing);
            let guessed = || guesses.get(&event)?.iter().copied().find(is_missing);
            frame.predecessors(event).find(is_missing).or_else(known).or_else(guessed)
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
        // The event that each thread waits for. If it is a reader, also the last write and the write that waits.
        let wait = |thread: usize| {
            let event = interleaving.next_of(thread);
            if let Some(predecessor) = missing(event, interleaving.gone()) {
                return Some((predecessor, None));
            }
            let location = execution.events()[event as usize].location;
            let current = interleaving.current(location.index());
            let slot = if current == NONE { readers.slot_of_init(location) } else { current as usize };
            let mut to_come = readers.slot(slot).iter().filter(|&&read| !interleaving.gone().contains(read));
            let reader = *to_come.find(|&&read| read != event)?;
            let may_turn = current != NONE && execution.threads()[current as usize].index() != thread;
            Some((reader, may_turn.then_some((current, event))))
        };
        let unfinished = |&thread: &usize| interleaving.next_of(thread) < execution.starts()[thread + 1];
        let mut thread = (0..execution.thread_count()).find(unfinished)?;
        let mut seen = vec![usize::MAX; execution.thread_count()];
        let mut waits = Vec::new();
        while seen[thread] == usize::MAX {
            seen[thread] = waits.len();
            let (needed, pair) = wait(thread)?;
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
