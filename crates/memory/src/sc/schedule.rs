//! A linear order of the events that respects what is known, and is close to an interleaving.
//!
//! Threads take turns. An event waits for its predecessors. A write also waits while the last write of its location
//! still has readers to come; but where all threads wait, the one that waited longest goes on (it is *forced*), so the
//! schedule always comes to its end unless the predecessors are cyclic. A schedule without a forced write is an
//! interleaving: every read comes after its source with no write of the location between.

use std::collections::VecDeque;

use history::Execution;
use history::execution::{EventId, LocationId, ThreadId};
use order::saturation::NONE;

/// What a schedule came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End<E> {
    /// All events went; so many writes were forced.
    Complete(usize),
    /// The threads wait for each other: the next event of each thread that is not done.
    Stuck(Vec<u32>),
    /// The visitor refused.
    Stopped(E),
}

struct Turns<'a> {
    execution: &'a Execution,
    /// For each thread, its next event.
    next: Vec<u32>,
    /// By event (writes only): how many readers are still to come.
    readers: Vec<u32>,
    /// The same of the initial write, by location.
    initial_readers: Vec<u32>,
    /// By location, the last write that went.
    current: Vec<u32>,
    active: VecDeque<u32>,
    /// By event: the first thread that waits for it; by thread: the next that waits for the same.
    waiting_for: Vec<u32>,
    next_waiting: Vec<u32>,
    /// By location: the threads that wait for its readers, linked by `next_waiting`, too.
    waiting_at: Vec<u32>,
    /// Threads that wait for readers, the longest first; may be out of date.
    patient: VecDeque<(u32, u32)>,
}

impl<'a> Turns<'a> {
    fn new(execution: &'a Execution) -> Self {
        let mut readers = vec![0; execution.len()];
        let mut initial_readers = vec![0; execution.location_count()];
        for event in execution.events() {
            if event.source.is_event() {
                readers[event.source.index()] += 1;
            } else if event.source == EventId::INIT {
                initial_readers[event.location.index()] += 1;
            }
        }
        let threads = execution.thread_count();
        Self {
            execution,
            next: execution.starts()[..threads].to_vec(),
            readers,
            initial_readers,
            current: vec![NONE; execution.location_count()],
            active: (0..threads as u32).collect(),
            waiting_for: vec![NONE; execution.len()],
            next_waiting: vec![NONE; threads],
            waiting_at: vec![NONE; execution.location_count()],
            patient: VecDeque::new(),
        }
    }

    fn readers_to_come(&self, location: LocationId) -> u32 {
        match self.current[location.index()] {
            NONE => self.initial_readers[location.index()],
            write => self.readers[write as usize],
        }
    }

    fn wake(active: &mut VecDeque<u32>, next_waiting: &mut [u32], first: &mut u32) {
        let mut thread = std::mem::replace(first, NONE);
        while thread != NONE {
            active.push_back(thread);
            thread = std::mem::replace(&mut next_waiting[thread as usize], NONE);
        }
    }

    /// What goes with an event.
    fn go(&mut self, event: u32) {
        let access = self.execution.events()[event as usize];
        if access.kind.reads() {
            let (left, is_current) = if access.source == EventId::INIT {
                let left = &mut self.initial_readers[access.location.index()];
                *left -= 1;
                (*left, self.current[access.location.index()] == NONE)
            } else {
                let left = &mut self.readers[access.source.index()];
                *left -= 1;
                (*left, self.current[access.location.index()] == access.source.0)
            };
            // With one to come, a read-modify-write that is that reader may go.
            if left <= 1 && is_current {
                let first = &mut self.waiting_at[access.location.index()];
                Self::wake(&mut self.active, &mut self.next_waiting, first);
            }
        }
        if access.kind.writes() {
            self.current[access.location.index()] = event;
            Self::wake(&mut self.active, &mut self.next_waiting, &mut self.waiting_for[event as usize]);
            if self.readers[event as usize] == 0 {
                let first = &mut self.waiting_at[access.location.index()];
                Self::wake(&mut self.active, &mut self.next_waiting, first);
            }
        } else {
            Self::wake(&mut self.active, &mut self.next_waiting, &mut self.waiting_for[event as usize]);
        }
    }

    /// The thread that waited longest for readers, taken off its list.
    fn force(&mut self) -> Option<u32> {
        while let Some((thread, event)) = self.patient.pop_front() {
            if self.next[thread as usize] != event {
                continue;
            }
            let location = self.execution.events()[event as usize].location.index();
            let (mut before, mut at) = (NONE, self.waiting_at[location]);
            while at != thread && at != NONE {
                (before, at) = (at, self.next_waiting[at as usize]);
            }
            if at == thread {
                let after = std::mem::replace(&mut self.next_waiting[thread as usize], NONE);
                match before {
                    NONE => self.waiting_at[location] = after,
                    before => self.next_waiting[before as usize] = after,
                }
                return Some(thread);
            }
        }
        None
    }
}

/// Which events went already.
#[derive(Copy, Clone, Debug)]
pub struct Gone<'a> {
    next: &'a [u32],
    threads: &'a [ThreadId],
}

impl Gone<'_> {
    /// Whether an event went.
    pub fn contains(&self, event: u32) -> bool {
        event < self.next[self.threads[event as usize].index()]
    }
}

/// Schedules all events. `missing` tells a predecessor (outside the thread) of an event that did not go yet, if there
/// is one; `visit` is called with each event in turn.
pub fn schedule<E>(
    execution: &Execution,
    missing: impl Fn(u32, Gone<'_>) -> Option<u32>,
    mut visit: impl FnMut(u32) -> Result<(), E>,
) -> End<E> {
    let mut turns = Turns::new(execution);
    let ends = &execution.starts()[1..];
    let mut forced = 0;
    loop {
        let (thread, mut may_force) = match turns.active.pop_front() {
            Some(thread) => (thread, false),
            None => match turns.force() {
                Some(thread) => (thread, true),
                None => break,
            },
        };
        let end = ends[thread as usize];
        loop {
            let event = turns.next[thread as usize];
            if event == end {
                break;
            }
            let access = execution.events()[event as usize];
            let gone = Gone { next: &turns.next, threads: execution.threads() };
            if let Some(predecessor) = missing(event, gone) {
                turns.next_waiting[thread as usize] =
                    std::mem::replace(&mut turns.waiting_for[predecessor as usize], thread);
                break;
            }
            if access.kind.writes() {
                let own = u32::from(access.kind.reads() && {
                    let current = turns.current[access.location.index()];
                    access.source.0 == current || (access.source == EventId::INIT && current == NONE)
                });
                if turns.readers_to_come(access.location) > own {
                    if !may_force {
                        turns.next_waiting[thread as usize] =
                            std::mem::replace(&mut turns.waiting_at[access.location.index()], thread);
                        turns.patient.push_back((thread, event));
                        break;
                    }
                    may_force = false;
                    forced += 1;
                }
            }
            if let Err(stop) = visit(event) {
                return End::Stopped(stop);
            }
            turns.next[thread as usize] = event + 1;
            turns.go(event);
            if access.kind.writes() {
                turns.active.push_back(thread);
                break;
            }
        }
    }
    let stuck: Vec<u32> = turns.next.iter().zip(ends).filter(|(next, end)| next < end).map(|(&next, _)| next).collect();
    if stuck.is_empty() { End::Complete(forced) } else { End::Stuck(stuck) }
}
