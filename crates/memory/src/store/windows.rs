//! Long executions of `sc`, piece by piece.
//!
//! What is left of an execution after a beginning that is an interleaving is an execution again: a read whose source went can only
//! read what is in memory, so that is its initial write. Hence a *window*, the next events of each thread, is saturated and searched as an
//! execution of its own, small enough for the cache. The first part of the interleaving that is found for it is taken, the next window
//! begins there; the rest was look-ahead, so that what is taken fits what follows.
//!
//! A window is closed under sources: a thread stops before a read whose source is not in it. A write in it, or in memory when it begins, may
//! have readers beyond it. The first of them in each thread, its *echo*, stands as a read at the end of that thread, so that the write is not
//! overwritten too soon: the window remains a part of what is left, each event with its source, and whatever can be derived in it holds.
//!
//! Where a window has no interleaving, either the beginning that was taken is the wrong one, or there is none at all. The latter is shown
//! without the beginning: the window and the one before it are saturated, and reads of earlier writes are left out. If that leads to no
//! conflict, some of what was taken is given back, and windows become larger. If nothing was taken, nothing is known.
//!
//! Invariant: what was taken is an interleaving, and no write in it is overwritten that still has readers to come.

use certificate::Derivation;
use history::Execution;
use history::execution::{Event, EventId, Kind, LocationId};
use order::Saturation;
use order::saturation::NONE;

use super::cycle_of;
use super::frame::Frame;
use super::saturate::{Saturated, Unsaturated};
use super::search::{Outcome, Search};
use crate::Interrupt;
use crate::writes::Readers;

/// The fewest events of a window, all together, and of each thread.
const FEWEST: usize = 1 << 14;
const FEWEST_EACH: usize = 1 << 10;
/// How many events of each thread are look-ahead, on average.
const AHEAD: usize = 1 << 6;

/// What the windows of an execution tell.
#[derive(Debug)]
pub enum Answer {
    /// An interleaving of all events.
    Found(Vec<u32>),
    /// There is none, since saturation leads to this cycle.
    Refuted(Derivation),
    /// Nothing.
    Nothing,
    /// There was no time left.
    Interrupted,
}

/// Events `begin..end` of each thread.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Window {
    begins: Vec<u32>,
    ends: Vec<u32>,
}

impl Window {
    fn events(&self) -> impl Iterator<Item = u32> + '_ {
        self.begins.iter().zip(&self.ends).flat_map(|(&begin, &end)| begin..end)
    }
}

/// How many events a window of an execution has, if the execution is so long that windows are worth while.
pub fn size(execution: &Execution) -> Option<usize> {
    let size = FEWEST.max(FEWEST_EACH * execution.thread_count());
    (execution.len() > 2 * size).then_some(size)
}

/// Looks for an interleaving, at first in windows of about `size` events. There must be no thin-air read.
pub fn decide(execution: &Execution, mut size: usize, interrupt: Interrupt) -> Answer {
    let readers = Readers::new(execution);
    let mut part = Part::new(execution);
    let mut order = Saturation::default();
    let mut ahead = AHEAD * execution.thread_count();
    let mut line = Vec::with_capacity(execution.len());
    let mut memory = Memory::new(&readers, execution);
    let mut next = execution.starts()[..execution.thread_count()].to_vec();
    // Where the windows began that something was taken of.
    let mut begins: Vec<Vec<u32>> = Vec::new();
    loop {
        let window = Window { ends: ends(execution, &readers, &next, begins.last(), size), begins: next.clone() };
        part.listen(&window, &readers, &memory);
        let frame = Frame::sequential(part.fill(&window, Early::Initial));
        let found = match interleaving(&mut order, &frame, interrupt) {
            Ok(found) => found,
            Err(Halted::Interrupted) => return Answer::Interrupted,
            Err(Halted::Refuted) => {
                let before = begins.pop();
                let window = Window { begins: before.clone().unwrap_or(window.begins), ends: window.ends };
                part.listen(&window, &readers, &memory);
                let frame = Frame::sequential(part.fill(&window, Early::LeftOut));
                match Saturated::new(&frame, interrupt) {
                    Err(Unsaturated::Interrupted) => return Answer::Interrupted,
                    Err(unsaturated) => return cycle_of(&frame, &unsaturated).map_or(Answer::Nothing, Answer::Refuted),
                    Ok(_) => {}
                }
                // What was taken lately is wrong, for want of look-ahead. With each time more of it is given back.
                let Some(mut begin) = before else { return Answer::Nothing };
                let count = |begin: &[u32]| next.iter().zip(begin).map(|(next, begin)| (next - begin) as usize).sum();
                let mut given_back: usize = count(&begin);
                while given_back < size
                    && let Some(before) = begins.pop()
                {
                    given_back = count(&before);
                    begin = before;
                }
                line.truncate(line.len() - given_back);
                memory = Memory::new(&readers, execution);
                for &event in &line {
                    memory.go(execution, event);
                }
                next = begin;
                [size, ahead] = [size, ahead].map(|count| (2 * count).min(execution.len()));
                continue;
            }
        };
        let is_last = window.ends == execution.starts()[1..];
        let wanted = if is_last { found.len() } else { found.len() - ahead.min(found.len() / 2) };
        let taken = line.len();
        for &event in &found[..wanted] {
            let thread = frame.execution().thread(EventId(event)).index();
            if next[thread] == window.ends[thread] {
                break;
            }
            memory.go(execution, next[thread]);
            line.push(next[thread]);
            next[thread] += 1;
        }
        if is_last {
            return Answer::Found(line);
        }
        // Threads that wait for each other from afar need a larger window.
        if (line.len() - taken) * 8 < size {
            size = (2 * size).min(execution.len());
        }
        begins.push(window.begins);
    }
}

/// By location, the slot of the last write that was taken.
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

/// Why a window has no interleaving.
enum Halted {
    Refuted,
    Interrupted,
}

/// An interleaving of a window. The memory of the order is used again.
fn interleaving(order: &mut Saturation, frame: &Frame<'_>, interrupt: Interrupt) -> Result<Vec<u32>, Halted> {
    let saturated = match Saturated::reusing(std::mem::take(order), frame, interrupt) {
        Ok(Saturated { witness: Some(line), order: done, .. }) => {
            *order = done;
            return Ok(line);
        }
        Ok(saturated) => saturated,
        Err(Unsaturated::Interrupted) => return Err(Halted::Interrupted),
        Err(_) => return Err(Halted::Refuted),
    };
    let mut search = Search::new(frame, saturated);
    let outcome = search.run(interrupt);
    *order = search.into_order();
    match outcome {
        Outcome::Found(line) => Ok(line),
        Outcome::Refuted(_) => Err(Halted::Refuted),
        Outcome::Interrupted => Err(Halted::Interrupted),
    }
}

/// Where a window of about that size ends in each thread. Threads share its events in proportion to how many of each were taken of
/// the window before.
fn ends(execution: &Execution, readers: &Readers, next: &[u32], before: Option<&Vec<u32>>, size: usize) -> Vec<u32> {
    let limits = &execution.starts()[1..];
    // One more, so that no thread is left out.
    let share = |thread: usize| match before {
        _ if next[thread] == limits[thread] => 0,
        Some(before) => u64::from(next[thread] - before[thread]) + 1,
        None => 1,
    };
    let shares: Vec<u64> = (0..next.len()).map(share).collect();
    let all = shares.iter().sum::<u64>().max(1);
    let end = |thread: usize| {
        let left = u64::from(limits[thread] - next[thread]);
        // The largest window has everything, so that the end is reached.
        let quota = if size >= execution.len() { left } else { (shares[thread] * size as u64).div_ceil(all) };
        next[thread] + left.min(quota) as u32
    };
    let mut ends: Vec<u32> = (0..next.len()).map(end).collect();
    let thread_of = |event: u32| execution.threads()[event as usize].index();
    let mut cuts: Vec<(usize, u32)> = Vec::new();
    for thread in 0..ends.len() {
        let is_outside = |&event: &u32| {
            let source = execution.events()[event as usize].source;
            source.is_event() && source.0 >= ends[thread_of(source.0)]
        };
        cuts.extend((next[thread]..ends[thread]).find(is_outside).map(|event| (thread, event)));
    }
    while let Some((thread, cut)) = cuts.pop() {
        for event in cut..ends[thread] {
            let reads = readers.of(event).iter().map(|&read| (thread_of(read), read));
            cuts.extend(reads.filter(|&(thread, read)| (next[thread]..ends[thread]).contains(&read)));
        }
        ends[thread] = ends[thread].min(cut);
    }
    ends
}

/// What a read of a write before the window is in it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Early {
    /// A read of what is in memory.
    Initial,
    /// Nothing: it is left out.
    LeftOut,
}

/// A window as an execution, whose memory is used again for the next.
struct Part<'a> {
    whole: &'a Execution,
    execution: Execution,
    /// The number of each location in the part; [`NONE`] if it has none.
    numbers: Vec<u32>,
    /// The locations that have one.
    numbered: Vec<LocationId>,
    /// The reads beyond the window that stand in the part.
    echoes: Vec<u32>,
    /// How many windows there were, and by location the last in which the readers of what was in memory were looked for.
    windows: u32,
    heard: Vec<u32>,
}

impl<'a> Part<'a> {
    fn new(whole: &'a Execution) -> Self {
        Self {
            whole,
            execution: Execution::default(),
            numbers: vec![NONE; whole.location_count()],
            numbered: Vec::new(),
            echoes: Vec::new(),
            windows: 0,
            heard: vec![0; whole.location_count()],
        }
    }

    /// Finds the echoes of a window.
    fn listen(&mut self, window: &Window, readers: &Readers, memory: &Memory) {
        self.echoes.clear();
        self.windows += 1;
        for id in window.events() {
            let event = self.whole.events()[id as usize];
            if event.kind.writes() {
                self.listen_to(readers.of(id), window);
                let location = event.location.index();
                if self.heard[location] != self.windows {
                    self.heard[location] = self.windows;
                    self.listen_to(readers.slot(memory.0[location]), window);
                }
            }
        }
        self.echoes.sort_unstable();
    }

    /// Finds the echoes of one write, given its readers.
    fn listen_to(&mut self, mut reads: &[u32], window: &Window) {
        while let Some(&read) = reads.first() {
            let thread = self.whole.threads()[read as usize].index();
            let past = if read < window.ends[thread] {
                window.ends[thread]
            } else {
                self.echoes.push(read);
                self.whole.starts()[thread + 1]
            };
            reads = &reads[reads.partition_point(|&read| read < past)..];
        }
    }

    /// The execution of a window and of the echoes that were found.
    fn fill(&mut self, window: &Window, early: Early) -> &Execution {
        let Self { whole, execution, numbers, numbered, echoes, .. } = self;
        let starts = whole.starts();
        let mut ranges = Vec::with_capacity(window.ends.len());
        // What is to be added to an event of each thread for its number in the part.
        let mut offsets = Vec::with_capacity(window.ends.len());
        let (mut count, mut heard) = (0u32, 0);
        for (thread, (&begin, &end)) in window.begins.iter().zip(&window.ends).enumerate() {
            let first = heard;
            heard += echoes[first..].partition_point(|&read| read < starts[thread + 1]);
            ranges.push((begin..end, first..heard));
            offsets.push(count.wrapping_sub(begin));
            count += end - begin + (heard - first) as u32;
        }
        for location in numbered.drain(..) {
            numbers[location.index()] = NONE;
        }
        let echoes = &*echoes;
        let events = ranges.into_iter().flat_map(|(own, heard)| own.chain(echoes[heard].iter().copied()));
        let parts = events.map(|id| {
            let thread = whole.threads()[id as usize];
            let mut event = whole.events()[id as usize];
            if id >= window.ends[thread.index()] {
                event.kind = Kind::Read;
            }
            if event.source.is_event() {
                let source = event.source.0;
                let home = whole.threads()[source as usize].index();
                event = match early {
                    _ if source >= window.begins[home] => {
                        Event { source: EventId(source.wrapping_add(offsets[home])), ..event }
                    }
                    Early::Initial => Event { source: EventId::INIT, ..event },
                    Early::LeftOut => event.without_read(),
                };
            }
            // In a part that is to be explained, locations keep their names.
            if early == Early::Initial && event.location != LocationId::NONE {
                let number = &mut numbers[event.location.index()];
                if *number == NONE {
                    *number = numbered.len() as u32;
                    numbered.push(event.location);
                }
                event.location = LocationId(*number);
            }
            (thread, event, whole.operations()[id as usize])
        });
        execution.refill(whole.thread_count(), parts);
        execution
    }
}
