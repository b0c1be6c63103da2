//! Long executions of `pso`, piece by piece.
//!
//! In the frame of `pso`, every thread has a chain for each location that it writes. A clock of all chains for each
//! event takes too much memory if there are many locations. A window has few chains.
//!
//! Take a beginning of an execution that is a memory order. The rest is an execution again: a read whose source is in
//! the beginning must read the value that is in memory, so its source becomes the initial write. Hence a *window*, the
//! next events of each thread, is saturated and searched as an execution of its own. A part of the memory order that is
//! found for the window is [taken](Part::take), and the next window begins there. The last events of each thread are
//! look-ahead: they make sure that what is taken fits the events that follow. Every thread has its own look-ahead. A
//! prefix of the memory order would not do: where threads meet seldom, some of them run to the end of the window in it,
//! and so before events of other threads that are beyond the window.
//!
//! A window is closed under sources: a thread stops before a read whose source is not in it. A write in it, or in
//! memory when it begins, may have readers beyond it. The first such reader in each thread, the *echo* of the write, is
//! added as a read at the end of that thread. It prevents that the write is overwritten too soon. So the window is
//! still a part of the remaining execution, in which each event has its source, and everything that is derived in the
//! window holds. Echoes are never taken, since other events of their threads come before them.
//!
//! A write stands where it reaches memory. When a window ends, some writes are *left* in their buffers although later
//! events of their threads were taken. They belong to the next window. An echo of a write that is still in the buffer
//! of the same thread reads from the buffer.
//!
//! An interleaving is a memory order of `tso`, and that is one of `pso`. The fewer pairs are relaxed, the fewer chains
//! a window has. So all windows are searched for an interleaving at first. From the first window on that has none,
//! more pairs are relaxed: see [`Relaxation`].
//!
//! If a window has no memory order (with all pairs relaxed that the model relaxes), either the events that were taken
//! were in a wrong order, or the execution has no memory order. To prove the latter, the window and the one before it
//! are saturated together, without reads of earlier writes. If that leads to no conflict, some of the taken events are
//! given back, and the look-ahead becomes longer, and then the windows larger. If no events were taken, the answer is
//! that nothing is known.
//!
//! Invariant: the events that were taken are a memory order, and no write among them that still has readers to come is
//! overwritten.

mod part;

use history::Execution;
use history::execution::LocationId;
use model::GaveUp;
use order::Saturation;
use order::saturation::NONE;

use super::Answer;
use super::frame::{Frame, Relaxation};
use super::saturate::{Saturated, Unsaturated};
use super::search::StoreOrder;
use crate::Limits;
use crate::knobs::WindowKnobs;
use crate::writes::Readers;
use part::Part;
use search::{Ending, Steps};

/// What is still to come of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rest {
    /// Of each thread, all events from here on.
    next: Vec<u32>,
    /// The writes before `next` that are left in store buffers, in the order of their numbers.
    left: Vec<u32>,
}

impl Rest {
    /// What is still to come when these events were taken.
    fn without(&self, taken: &[u32], execution: &Execution) -> Self {
        let mut next = self.next.clone();
        for &event in taken {
            let next = &mut next[execution.threads()[event as usize].index()];
            *next = (event + 1).max(*next);
        }
        let seen: usize = next.iter().zip(&self.next).map(|(next, before)| (next - before) as usize).sum();
        if self.left.len() + seen == taken.len() {
            return Self { next, left: Vec::new() };
        }
        let mut taken = taken.to_vec();
        taken.sort_unstable();
        let seen = self.next.iter().zip(&next).flat_map(|(&begin, &end)| begin..end);
        let mut left: Vec<u32> = self.left.iter().copied().chain(seen).collect();
        left.retain(|event| taken.binary_search(event).is_err());
        left.sort_unstable();
        Self { next, left }
    }
}

/// Of each thread, the events of the rest that are before `ends`.
#[derive(Clone, Debug)]
struct Window {
    rest: Rest,
    ends: Vec<u32>,
}

impl Window {
    fn events(&self) -> impl Iterator<Item = u32> + '_ {
        let next = self.rest.next.iter().zip(&self.ends).flat_map(|(&begin, &end)| begin..end);
        self.rest.left.iter().copied().chain(next)
    }
}

/// How many events a window of an execution has at first, as long as no pairs are relaxed. `None` if the execution is
/// too short for windows.
pub fn size(execution: &Execution, knobs: &WindowKnobs) -> Option<usize> {
    let size = knobs.events.max(knobs.events_per_thread * execution.thread_count());
    (execution.len() > knobs.shortest).then_some(size.min(execution.len()))
}

/// Looks for a memory order in which so many pairs are relaxed, at first in windows of about `size` events. There must
/// be no thin-air read. The search in a window is given up when all its threads have waited so often.
pub fn decide(
    execution: &Execution,
    relaxation: Relaxation,
    size: usize,
    deadlocks: u64,
    limits: &Limits,
) -> Result<Answer, GaveUp> {
    let readers = Readers::new(execution);
    Windows::new(execution, &readers, relaxation, size, deadlocks, limits).decide()
}

/// How large windows are.
#[derive(Copy, Clone)]
struct Shape {
    /// How many events a window has.
    size: usize,
    /// How many events of each thread are look-ahead.
    ahead: usize,
}

/// The search in windows. See the [module](self).
struct Windows<'a> {
    execution: &'a Execution,
    readers: &'a Readers,
    deadlocks: u64,
    limits: &'a Limits,
    /// The pairs that the model relaxes, and those that windows relax now.
    allowed: Relaxation,
    relaxation: Relaxation,
    /// How many events a window has while no pairs are relaxed.
    first_size: usize,
    /// The shape of the next window, and that of windows without trouble.
    shape: Shape,
    usual: Shape,
    /// How many events had been taken when windows had to become larger the last time.
    trouble: usize,
    part: Part<'a>,
    order: Saturation,
    taken: Taken,
    /// The last window of which events were taken, and its memory order.
    last: Option<(Window, Vec<u32>)>,
}

impl<'a> Windows<'a> {
    fn new(
        execution: &'a Execution,
        readers: &'a Readers,
        allowed: Relaxation,
        first_size: usize,
        deadlocks: u64,
        limits: &'a Limits,
    ) -> Self {
        let shape = Shape { size: first_size, ahead: limits.knobs.windows.look_ahead };
        Self {
            execution,
            readers,
            deadlocks,
            limits,
            allowed,
            relaxation: Relaxation::Nothing,
            first_size,
            shape,
            usual: shape,
            trouble: 0,
            part: Part::new(execution, readers),
            order: Saturation::default(),
            taken: Taken::new(readers, execution),
            last: None,
        }
    }

    fn decide(mut self) -> Result<Answer, GaveUp> {
        while !self.limits.knobs.windows.progressive && self.relaxation != self.allowed {
            self.relax();
        }
        loop {
            let last = self.last.as_ref().map(|(window, _)| window);
            let ends = ends(self.execution, self.readers, &self.taken.rest, last, self.shape.size);
            let window = Window { ends, rest: self.taken.rest.clone() };
            let is_last = window.ends == self.execution.starts()[1..];
            match self.search(&window) {
                Ok(found) if is_last => {
                    self.taken.line.extend(found.iter().filter(|&&event| event != NONE));
                    return Ok(Answer::Found(self.taken.line));
                }
                Ok(found) => self.take(window, found),
                Err(Halted::GaveUp(why)) => return Err(why),
                Err(Halted::Refuted | Halted::Paused) if self.relaxation != self.allowed => self.relax(),
                Err(Halted::Paused) => return Ok(Answer::Nothing),
                Err(Halted::Refuted) => {
                    if let Some(answer) = self.retreat(window)? {
                        return Ok(answer);
                    }
                }
            }
        }
    }

    /// A memory order of a window. If more pairs may be relaxed, the search has less patience.
    fn search(&mut self, window: &Window) -> Result<Vec<u32>, Halted> {
        let patience = match self.shape.size / self.limits.knobs.windows.events_per_deadlock {
            few if self.relaxation != self.allowed => few as u64,
            _ => u64::MAX,
        };
        self.part.find_echoes(window, self.readers, &self.taken.memory);
        self.part.search(window, self.relaxation, &mut self.order, self.deadlocks.min(patience), self.limits)
    }

    /// Relaxes more pairs. With a buffer for each thread and location, nearly every write of a window may be in a chain
    /// of its own. Such windows are short.
    fn relax(&mut self) {
        let knobs = self.limits.knobs.windows;
        self.relaxation = self.relaxation.more();
        if self.relaxation == Relaxation::WriteAny {
            let size = knobs.buffered_per_thread * self.execution.thread_count();
            let size = self.first_size.min(size.clamp(knobs.least_buffered, knobs.most_buffered));
            self.usual = Shape { size, ahead: knobs.buffered_look_ahead };
        }
        self.shape = self.usual;
    }

    /// Takes events of a window whose memory order was found, and shapes the next window.
    fn take(&mut self, window: Window, found: Vec<u32>) {
        let size = self.shape.size;
        let count = self.taken.take(&mut self.part, &window, &found, self.shape.ahead, self.execution);
        self.last = Some((window, found));
        if count * 8 < size {
            // Threads that wait for events far apart need a larger window.
            self.shape.size = (2 * size).min(self.execution.len());
            self.trouble = self.trouble.max(self.taken.line.len());
        } else if self.taken.line.len() > self.trouble + size {
            // Larger windows are not necessary any more. Each time, more events were taken, so this ends.
            let size = (size / 2).max(self.usual.size);
            let ahead = self.shape.ahead.min(self.longest_look_ahead(size)).max(self.usual.ahead);
            self.shape = Shape { size, ahead };
        }
    }

    /// What to do when a window has no memory order: proves that the execution has none, or gives events back that were
    /// taken.
    fn retreat(&mut self, window: Window) -> Result<Option<Answer>, GaveUp> {
        let (size, ahead) = (self.shape.size, self.shape.ahead);
        if 2 * ahead <= self.longest_look_ahead(size)
            && let Some((window, found)) = &self.last
            && let Some(&(_, length)) = self.taken.begins.last()
        {
            // Perhaps too much was taken of the window before.
            self.shape.ahead = 2 * ahead;
            self.trouble = self.trouble.max(self.taken.line.len());
            self.taken.give_back(length, self.readers, self.execution);
            self.part.find_echoes(window, self.readers, &self.taken.memory);
            self.taken.take(&mut self.part, window, found, 2 * ahead, self.execution);
            return Ok(None);
        }
        self.last = None;
        let since = self.taken.begins.last().map_or(&self.taken.rest, |(before, _)| before).clone();
        let window = Window { rest: since, ends: window.ends };
        self.part.find_echoes(&window, self.readers, &self.taken.memory);
        if let Some(cycle) = self.part.explain(&window, self.relaxation, self.limits)? {
            return Ok(Some(Answer::Refuted(cycle)));
        }
        if self.taken.begins.is_empty() {
            return Ok(Some(Answer::Nothing));
        }
        // The events that were taken lately are in a wrong order, because the look-ahead was too short. Each time, more
        // of them are given back.
        self.trouble = self.trouble.max(self.taken.line.len());
        self.taken.give_back(self.taken.line.len().saturating_sub(size), self.readers, self.execution);
        self.shape.ahead = (2 * ahead).min(self.execution.len());
        if self.shape.ahead > self.longest_look_ahead(size) {
            self.shape.size = (2 * size).min(self.execution.len());
        }
        Ok(None)
    }

    /// The longest look-ahead of each thread that windows of a size have: of a longer one, windows become larger.
    fn longest_look_ahead(&self, size: usize) -> usize {
        size / (self.limits.knobs.windows.per_look_ahead * self.execution.thread_count().max(1))
    }
}

/// What was taken.
struct Taken {
    /// The events, in their order.
    line: Vec<u32>,
    memory: Memory,
    rest: Rest,
    /// What was still to come when windows began of which events were taken, and how many events had been taken then.
    begins: Vec<(Rest, usize)>,
}

impl Taken {
    fn new(readers: &Readers, execution: &Execution) -> Self {
        let rest = Rest { next: execution.starts()[..execution.thread_count()].to_vec(), left: Vec::new() };
        Self { line: Vec::new(), memory: Memory::new(readers, execution), rest, begins: Vec::new() }
    }

    /// Takes events of a window whose memory order was found, and returns how many.
    fn take(
        &mut self,
        part: &mut Part<'_>,
        window: &Window,
        found: &[u32],
        ahead: usize,
        execution: &Execution,
    ) -> usize {
        let length = self.line.len();
        part.take(window, found, ahead, &mut self.memory, &mut self.line);
        self.rest = window.rest.without(&self.line[length..], execution);
        self.begins.push((window.rest.clone(), length));
        self.line.len() - length
    }

    /// Gives back the windows that end after the first so many events, or the last one.
    fn give_back(&mut self, length: usize, readers: &Readers, execution: &Execution) {
        while let Some((rest, begin)) = self.begins.pop() {
            self.line.truncate(begin);
            self.rest = rest;
            if begin <= length {
                break;
            }
        }
        self.memory = Memory::new(readers, execution);
        for &event in &self.line {
            self.memory.go(execution, event);
        }
    }
}

/// The memory: by location, the slot of the last write that was taken.
#[derive(Clone, Debug)]
struct Memory(Vec<usize>);

impl Memory {
    fn new(readers: &Readers, execution: &Execution) -> Self {
        Self((0..execution.location_count() as u32).map(|at| readers.slot_of_init(LocationId(at))).collect())
    }

    fn go(&mut self, execution: &Execution, event: u32) {
        let access = execution.events()[event as usize];
        if access.kind.writes() {
            self.0[access.location.index()] = event as usize;
        }
    }
}

/// Why no interleaving of a window is known.
enum Halted {
    Refuted,
    /// The threads have waited for each other too often.
    Paused,
    GaveUp(GaveUp),
}

impl From<GaveUp> for Halted {
    fn from(why: GaveUp) -> Self {
        Self::GaveUp(why)
    }
}

/// An interleaving of a window. The memory of `order` is used again.
fn interleaving(
    order: &mut Saturation,
    frame: &Frame<'_>,
    deadlocks: u64,
    limits: &Limits,
) -> Result<Vec<u32>, Halted> {
    // To allocate the clocks of many threads takes long, so the time is checked first.
    limits.budget.check()?;
    let saturated = match Saturated::reusing(std::mem::take(order), frame, &limits.budget) {
        Ok(Saturated { witness: Some(line), order: done, .. }) => {
            *order = done;
            return Ok(line);
        }
        Ok(saturated) => saturated,
        Err(Unsaturated::GaveUp(why)) => return Err(Halted::GaveUp(why)),
        Err(_) => return Err(Halted::Refuted),
    };
    let mut search = StoreOrder::search(frame, saturated, limits.knobs.store, &limits.budget);
    let outcome = search.run(&mut Steps::new(deadlocks));
    *order = search.into_theory().into_order();
    match outcome? {
        Ending::Found(line) => Ok(line),
        Ending::Refuted => Err(Halted::Refuted),
        Ending::Paused => Err(Halted::Paused),
    }
}

/// Where a window of about that size ends in each thread. Threads share its events in proportion to how many each still
/// has, so they come to their ends together. A thread of which little was taken the last time waits for others.
fn ends(execution: &Execution, readers: &Readers, rest: &Rest, last: Option<&Window>, size: usize) -> Vec<u32> {
    let (limits, next) = (&execution.starts()[1..], &rest.next);
    let has_waited = |thread: usize| {
        last.is_some_and(|last| {
            let begin = last.rest.next[thread];
            (next[thread] - begin) < (last.ends[thread] - begin).div_ceil(8)
        })
    };
    let share = |thread: usize| match u64::from(limits[thread] - next[thread]) {
        left if has_waited(thread) => left.min(1),
        left => left,
    };
    let shares: Vec<u64> = (0..next.len()).map(share).collect();
    let all = shares.iter().sum::<u64>().max(1);
    let end = |thread: usize| {
        let left = u64::from(limits[thread] - next[thread]);
        // The largest window has all events, so that the end is reached.
        let quota = if size >= execution.len() { left } else { (shares[thread] * size as u64).div_ceil(all) };
        next[thread] + left.min(quota) as u32
    };
    let mut ends: Vec<u32> = (0..next.len()).map(end).collect();
    close_under_sources(execution, readers, next, &mut ends);
    ends
}

/// Lets each thread stop before a read whose source is not before the ends.
fn close_under_sources(execution: &Execution, readers: &Readers, begins: &[u32], ends: &mut [u32]) {
    let thread_of = |event: u32| execution.threads()[event as usize].index();
    let mut cuts: Vec<(usize, u32)> = Vec::new();
    for thread in 0..ends.len() {
        let is_outside = |&event: &u32| {
            let source = execution.events()[event as usize].source;
            source.is_event() && source.0 >= ends[thread_of(source.0)]
        };
        cuts.extend((begins[thread]..ends[thread]).find(is_outside).map(|event| (thread, event)));
    }
    while let Some((thread, cut)) = cuts.pop() {
        for event in cut..ends[thread] {
            let reads = readers.of(event).iter().map(|&read| (thread_of(read), read));
            cuts.extend(reads.filter(|&(thread, read)| (begins[thread]..ends[thread]).contains(&read)));
        }
        ends[thread] = ends[thread].min(cut);
    }
}

#[cfg(test)]
mod tests;
