//! Long executions of `sc`, `tso` and `pso`, piece by piece.
//!
//! Take a beginning of an execution that is an interleaving. The rest is an execution again: a read whose source is in
//! the beginning must read the value that is in memory, so its source becomes the initial write. Hence a *window*, the
//! next events of each thread, is saturated and searched as an execution of its own, which is small enough for the
//! cache. A part of the interleaving that is found for the window is [taken](Part::take), and the next window begins
//! there. The last events of each thread are look-ahead: they make sure that what is taken fits the events that follow.
//! Every thread has its own look-ahead. A prefix of the interleaving would not do: where threads meet seldom, some of
//! them run to the end of the window in it, and so before events of other threads that are beyond the window.
//!
//! A window is closed under sources: a thread stops before a read whose source is not in it. A write in it, or in
//! memory when it begins, may have readers beyond it. The first such reader in each thread, the *echo* of the write, is
//! added as a read at the end of that thread. It prevents that the write is overwritten too soon. So the window is
//! still a part of the remaining execution, in which each event has its source, and everything that is derived in the
//! window holds.
//!
//! With store buffers, the interleaving is a memory order: a write stands where it reaches memory. When a window ends,
//! some writes are *left* in their buffers although later events of their threads were taken. They belong to the next
//! window. An echo of a write that is still in the buffer of the same thread reads from the buffer.
//!
//! Echoes are never taken, since other events of their threads come before them. So no write is taken that overwrites
//! a write with an echo.
//!
//! At first, windows only help a [run](super::run) where it is stuck. What it found is taken, but for the last events.
//! Then a small window follows, and the run goes on where that ended. If it is stuck again and again, windows go on
//! without it.
//!
//! An interleaving is a memory order of `tso`, and that is one of `pso`. The fewer pairs are relaxed, the fewer chains
//! a window has. So all windows are searched for an interleaving at first. From the first window on that has none,
//! more pairs are relaxed: see [`Relaxation`].
//!
//! If a window has no interleaving (with all pairs relaxed that the model relaxes), either the events that were taken
//! were in a wrong order, or the execution has no interleaving. To prove the latter, the window and the one before it
//! are saturated together, without reads of earlier writes. If that leads to no conflict, some of the taken events are
//! given back, and the look-ahead becomes longer, and then the windows larger. If no events were taken, the answer is
//! that nothing is known.
//!
//! The two halves of an execution are decided at the same time, if a [cut](Cut) between them can be guessed.
//!
//! Invariant: the events that were taken are an interleaving, and no write among them that still has readers to come is
//! overwritten.

mod part;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use certificate::{Derivation, GaveUp};
use history::Execution;
use history::execution::LocationId;
use order::Saturation;
use order::saturation::NONE;

use super::frame::{Frame, Relaxation};
use super::interleaving::Interleaving;
use super::run::{Run, run};
use super::saturate::{Saturated, Unsaturated};
use super::search::{Outcome, Search};
use crate::c11::causal::known_writes;
use crate::writes::Readers;
use crate::{Limits, join_helper, spawn_helper};
use part::{Early, Part};

/// The fewest events of a window in total, and of each thread.
const MIN_EVENTS: usize = 1 << 14;
const MIN_EVENTS_PER_THREAD: usize = 1 << 10;
/// How many events of each thread are look-ahead.
const LOOK_AHEAD: usize = 1 << 6;
/// If the look-ahead would be more than this part of a window, the window becomes larger.
const WINDOWS_PER_LOOK_AHEAD: usize = 4;
/// A thread waits for others if less than this part of its events in a window was taken.
const WAITS: u32 = 8;
/// For every so many events of a window, its threads may wait for each other once, if more pairs may be relaxed.
const EVENTS_PER_DEADLOCK: usize = 1 << 6;
/// Where a run is stuck, a window is this part of its usual size.
const WINDOWS_AFTER_RUN: usize = 4;
/// So many times, a run may be stuck again within such a window.
const MAX_RUNS_IN_VAIN: u32 = 4;
/// If pairs may be relaxed, a second window in which a cut is guessed is at most this part of an execution.
const MIN_WINDOWS_FOR_CUT: usize = 8;
/// With a buffer for each thread and location: how many events of each thread a window has, how few and how many events
/// in total, and how many events of each thread are look-ahead.
const BUFFERED_EVENTS: usize = 1 << 7;
const MIN_BUFFERED_EVENTS: usize = 1 << 10;
const MAX_BUFFERED_EVENTS: usize = 6 << 10;
const BUFFERED_LOOK_AHEAD: usize = 1 << 5;

/// The result of the search in windows.
#[derive(Debug)]
pub enum Answer {
    /// An interleaving of all events, and which pairs had to be relaxed.
    Found(Vec<u32>, Relaxation),
    /// There is none, since saturation leads to this cycle.
    Refuted(Derivation),
    /// Nothing is known.
    Nothing,
}

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

/// How many events a window of an execution has at first. `None` if the execution is too short for windows.
pub fn size(execution: &Execution, relaxation: Relaxation) -> Option<usize> {
    let size = MIN_EVENTS.max(MIN_EVENTS_PER_THREAD * execution.thread_count());
    match relaxation {
        Relaxation::Nothing | Relaxation::WriteRead => (execution.len() > 2 * size).then_some(size),
        Relaxation::WriteAny => (execution.len() > 4 * MIN_BUFFERED_EVENTS).then_some(size.min(execution.len())),
    }
}

/// Looks for an interleaving in which so many pairs are relaxed, at first in windows of about `size` events. There must
/// be no thin-air read.
pub fn decide(execution: &Execution, relaxation: Relaxation, size: usize, limits: &Limits) -> Result<Answer, GaveUp> {
    let readers = Readers::new(execution);
    let (begins, ends) = (execution.starts()[..execution.thread_count()].to_vec(), execution.starts()[1..].to_vec());
    let memory = Memory::new(&readers, execution);
    let search = Windows { execution, readers: &readers, relaxation, size, limits };
    if let Some(cut) = search.guess_cut() {
        let first = Span { begins: &begins, ends: &cut.place, memory: &memory, cut: Some(&cut) };
        let second = Span { begins: &cut.place, ends: &ends, memory: &cut.memory, cut: None };
        let is_over = AtomicBool::new(false);
        let answers = std::thread::scope(|scope| {
            let second = spawn_helper(scope, || search.run(&second, &is_over));
            let first = search.run(&first, &AtomicBool::new(false));
            // The first half may stop the second, but not the other way round. So the same violation is found every
            // time.
            is_over.store(matches!(first, Ok(Answer::Refuted(_))), Ordering::Relaxed);
            (first, join_helper(second))
        });
        match answers {
            (Ok(Answer::Found(mut line, first)), Ok(Answer::Found(rest, second))) => {
                line.extend(rest);
                return Ok(Answer::Found(line, first.max(second)));
            }
            (Ok(Answer::Refuted(cycle)), _) | (_, Ok(Answer::Refuted(cycle))) => return Ok(Answer::Refuted(cycle)),
            (Err(why), _) | (_, Err(why)) => return Err(why),
            // The cut was wrong, or there is no interleaving.
            (Ok(Answer::Found(..) | Answer::Nothing), Ok(Answer::Found(..) | Answer::Nothing)) => {}
        }
    }
    search.run(&Span { begins: &begins, ends: &ends, memory: &memory, cut: None }, &AtomicBool::new(false))
}

/// What is searched in windows.
#[derive(Copy, Clone)]
struct Windows<'a> {
    execution: &'a Execution,
    readers: &'a Readers,
    /// The pairs that the model relaxes.
    relaxation: Relaxation,
    /// How many events a window has at first.
    size: usize,
    limits: &'a Limits,
}

/// A part of an execution that is decided by itself.
struct Span<'a> {
    begins: &'a [u32],
    ends: &'a [u32],
    /// The writes that are in memory when it begins.
    memory: &'a Memory,
    /// Where it ends, if it does not end with the execution.
    cut: Option<&'a Cut>,
}

impl Span<'_> {
    /// The interleaving of which no event was taken yet.
    fn interleaving<'a>(&self, execution: &'a Execution) -> Interleaving<'a> {
        let write = |&slot: &usize| if slot < execution.len() { slot as u32 } else { NONE };
        let current = self.memory.0.iter().map(write).collect();
        Interleaving::within(execution, self.begins, self.ends, current)
    }
}

/// A place in each thread at which an execution may be cut in two, so that each half is an execution: no read before it
/// has its source after it, and of each location at most one write before it, or the initial one, has readers after it.
/// That write must be in memory when the first half is over. It is not known whether some interleaving passes through
/// the cut.
struct Cut {
    place: Vec<u32>,
    memory: Memory,
    /// By location, a read after the cut of a write before the cut. [`NONE`] if there is none.
    reads: Vec<u32>,
}

impl Cut {
    /// Guesses a cut: the middle of an interleaving of a window of about that size, which lies in the middle of each
    /// thread. `None` if that is no cut. The error is that the window has no interleaving. `runs` says whether to try a
    /// run first.
    fn guess(
        execution: &Execution,
        readers: &Readers,
        size: usize,
        runs: bool,
        limits: &Limits,
    ) -> Result<Option<Self>, Halted> {
        let all = execution.starts().windows(2).map(|thread| thread[0]..thread[1]);
        let middle = |thread: Range<u32>| {
            let length = thread.len() as u64;
            let share = (length * size as u64).div_ceil(2 * execution.len().max(1) as u64).min(length / 2) as u32;
            let middle = thread.start + (length / 2) as u32;
            (middle - share, middle + share)
        };
        let (begins, mut ends): (Vec<u32>, Vec<u32>) = all.map(middle).unzip();
        close_under_sources(execution, readers, &begins, &mut ends);
        let window = Window { rest: Rest { next: begins, left: Vec::new() }, ends };
        let mut part = Part::new(execution, readers);
        part.find_echoes(&window, readers, &Memory::new(readers, execution));
        let frame = Frame::sequential(part.fill(&window, Early::LeftOut));
        let run = if runs { quick_run(&frame, limits) } else { None };
        let found = run.map_or_else(|| interleaving(&mut Saturation::default(), &frame, limits), Ok)?;
        let middle = found[..found.len() / 2].iter().map(|&event| part.origins[event as usize]);
        let taken: Vec<u32> = middle.take_while(|&origin| origin != NONE).collect();
        Ok(Self::at(execution, readers, window.rest.without(&taken, execution).next))
    }

    /// The cut at that place, if it is one.
    fn at(execution: &Execution, readers: &Readers, place: Vec<u32>) -> Option<Self> {
        let is_before = |event: u32| event < place[execution.threads()[event as usize].index()];
        let mut memory = Memory::new(readers, execution);
        let mut reads = vec![NONE; execution.location_count()];
        for (id, event) in (0u32..).zip(execution.events()).filter(|(_, event)| event.kind.reads()) {
            let location = event.location.index();
            let source_is_before = !event.source.is_event() || is_before(event.source.0);
            match (is_before(id), source_is_before) {
                (true, false) => return None,
                (false, true) => {
                    let slot = readers.slot_of(*event);
                    if reads[location] != NONE && memory.0[location] != slot {
                        return None;
                    }
                    (reads[location], memory.0[location]) = (id, slot);
                }
                (true, true) | (false, false) => {}
            }
        }
        Some(Self { place, memory, reads })
    }
}

impl Windows<'_> {
    /// A cut, if one can be guessed. The longer an execution is, the further its threads may have drifted apart, and
    /// the larger is the window that is needed. If pairs may be relaxed, there may be no cut at all. Then a window that
    /// has no interleaving is the last to be tried, and a larger one is tried only if it is a small part of the
    /// execution.
    fn guess_cut(&self) -> Option<Cut> {
        let may_relax = self.relaxation != Relaxation::Nothing;
        for (tried, size) in [self.size / 2, self.size, 2 * self.size].into_iter().enumerate() {
            if may_relax && tried > 0 && size > self.execution.len() / MIN_WINDOWS_FOR_CUT {
                return None;
            }
            let runs = !may_relax || tried > 0;
            match Cut::guess(self.execution, self.readers, size, runs, self.limits) {
                Ok(None) => {}
                Ok(cut) => return cut,
                Err(_) if may_relax => return None,
                Err(_) => {}
            }
        }
        None
    }

    /// How many events a window usually has, and how many of each thread are look-ahead. With a buffer for each thread
    /// and location, nearly every write of a window may be in a chain of its own. Such windows are short.
    fn usual(&self, relaxation: Relaxation) -> (usize, usize) {
        match relaxation {
            Relaxation::Nothing | Relaxation::WriteRead => (self.size, LOOK_AHEAD),
            Relaxation::WriteAny => {
                let size = BUFFERED_EVENTS * self.execution.thread_count();
                (self.size.min(size.clamp(MIN_BUFFERED_EVENTS, MAX_BUFFERED_EVENTS)), BUFFERED_LOOK_AHEAD)
            }
        }
    }

    /// The longest look-ahead of each thread that windows of a size have.
    fn longest_look_ahead(&self, size: usize) -> usize {
        size / (WINDOWS_PER_LOOK_AHEAD * self.execution.thread_count().max(1))
    }

    /// Looks for an interleaving of a part of the execution, until `is_over` is set.
    fn run(&self, span: &Span<'_>, is_over: &AtomicBool) -> Result<Answer, GaveUp> {
        let Self { execution, readers, limits, .. } = *self;
        let mut relaxation = Relaxation::Nothing;
        // How many events a window has, and how many of each thread are look-ahead.
        let mut usual = self.usual(relaxation);
        let (mut size, mut ahead) = usual;
        // How many events were taken when larger windows became necessary.
        let mut trouble = 0;
        let mut part = Part::new(execution, readers);
        let mut order = Saturation::default();
        let frame = Frame::sequential(execution);
        let mut taken = Taken::new(span);
        // The last window of which events were taken, and its interleaving.
        let mut last: Option<(Window, Vec<u32>)> = None;
        // Whether to run, and how often that was in vain.
        let (mut runs, mut runs_in_vain) = (limits.guesses > 0, 0);
        while !is_over.load(Ordering::Relaxed) {
            let may_relax = relaxation != self.relaxation;
            let mut size_now = size;
            let begin = taken.line.len();
            // A first window that is not sequentially consistent shows that runs are in vain.
            if runs && taken.run.is_none() && (!may_relax || begin > 0) {
                taken.run = Some(Run::new(&frame, None, Some(readers), span.interleaving(execution)));
            }
            if let Some(run) = taken.run.as_mut().filter(|_| begin >= trouble) {
                run.follow(&taken.line);
                run.go_on(limits.guesses, limits.interrupt);
                if run.is_complete() {
                    return Ok(Answer::Found(run.line().collect(), relaxation));
                }
                let length = run.line().len().saturating_sub(ahead * execution.thread_count());
                run.rewind_to(length.max(begin));
                taken.take_run(size, execution);
                // A run is stuck in a small part of the execution.
                size_now = size.div_ceil(WINDOWS_AFTER_RUN);
                last = None;
                runs_in_vain = if taken.line.len() - begin < size_now { runs_in_vain + 1 } else { 0 };
                if runs_in_vain > MAX_RUNS_IN_VAIN {
                    (runs, taken.run) = (false, None);
                }
            }
            let before = last.as_ref().map(|(window, _)| window);
            let ends = ends(execution, readers, span, &taken.rest, before, size_now);
            let window = Window { ends, rest: taken.rest.clone() };
            let is_last = window.ends == span.ends;
            part.find_echoes(&window, readers, &taken.memory);
            if let Some(cut) = span.cut.filter(|_| is_last) {
                part.find_echoes_after_cut(&window, cut);
            }
            let patience = if may_relax { (size / EVENTS_PER_DEADLOCK) as u64 } else { u64::MAX };
            let limits = &Limits { deadlocks: limits.deadlocks.min(patience), ..*limits };
            let found = match part.search(&window, relaxation, &mut order, limits) {
                Ok(found) => found,
                Err(Halted::GaveUp(why)) => return Err(why),
                Err(Halted::Refuted | Halted::Paused) if may_relax && taken.run.is_some() => {
                    // Perhaps the run was wrong, and no pairs need be relaxed.
                    (runs, taken, last) = (false, Taken::new(span), None);
                    continue;
                }
                Err(Halted::Refuted | Halted::Paused) if may_relax => {
                    runs = false;
                    relaxation = relaxation.more();
                    usual = self.usual(relaxation);
                    (size, ahead) = usual;
                    continue;
                }
                // A last window without an interleaving mostly shows that the cut is wrong.
                Err(Halted::Refuted) if is_last && span.cut.is_some() => return Ok(Answer::Nothing),
                Err(Halted::Paused) => return Ok(Answer::Nothing),
                Err(Halted::Refuted) => {
                    if 2 * ahead <= self.longest_look_ahead(size)
                        && let (Some((window, found)), Some(&(_, length))) = (&last, taken.begins.last())
                    {
                        // Perhaps too much was taken of the window before.
                        ahead *= 2;
                        trouble = trouble.max(taken.line.len());
                        taken.give_back(length, span, execution);
                        part.find_echoes(window, readers, &taken.memory);
                        part.take(window, found, ahead, &mut taken.memory, &mut taken.line);
                        taken.begins.push((window.rest.clone(), length));
                        taken.rest = window.rest.without(&taken.line[length..], execution);
                        continue;
                    }
                    last = None;
                    let before = taken.begins.last();
                    let since = before.map_or(&taken.rest, |(before, _)| before).clone();
                    let window = Window { rest: since, ends: window.ends };
                    part.find_echoes(&window, readers, &taken.memory);
                    match part.explain(&window, relaxation, limits) {
                        Ok(None) => {}
                        Ok(Some(cycle)) => return Ok(Answer::Refuted(cycle)),
                        Err(why) => return Err(why),
                    }
                    // The events that were taken lately are in a wrong order, because the look-ahead was too short.
                    // Each time, more of them are given back.
                    if taken.begins.is_empty() {
                        return Ok(Answer::Nothing);
                    }
                    trouble = trouble.max(taken.line.len());
                    taken.give_back(taken.line.len().saturating_sub(size), span, execution);
                    ahead = (2 * ahead).min(execution.len());
                    if ahead > self.longest_look_ahead(size) {
                        size = (2 * size).min(execution.len());
                    }
                    continue;
                }
            };
            let length = taken.line.len();
            if is_last {
                taken.line.extend(found.iter().filter(|&&event| event != NONE));
                return Ok(Answer::Found(taken.line, relaxation));
            }
            part.take(&window, &found, ahead, &mut taken.memory, &mut taken.line);
            taken.rest = window.rest.without(&taken.line[length..], execution);
            taken.begins.push((window.rest.clone(), length));
            if (taken.line.len() - length) * 8 < size_now {
                // Threads that wait for events far apart need a larger window.
                size = (2 * size).min(execution.len());
                trouble = trouble.max(taken.line.len());
            } else if taken.line.len() > trouble + size {
                // Larger windows are not necessary any more. Each time, more events were taken, so this ends.
                size = (size / 2).max(usual.0);
                ahead = ahead.min(self.longest_look_ahead(size)).max(usual.1);
            }
            last = Some((window, found));
        }
        Ok(Answer::Nothing)
    }
}

/// What was taken of a span.
struct Taken<'a> {
    /// The events, in their order.
    line: Vec<u32>,
    memory: Memory,
    rest: Rest,
    /// What was still to come when windows and pieces of runs began of which events were taken, and how many events had
    /// been taken then.
    begins: Vec<(Rest, usize)>,
    /// The run, if there is one. What went in it is the beginning of the line.
    run: Option<Run<'a>>,
}

impl Taken<'_> {
    fn new(span: &Span<'_>) -> Self {
        let rest = Rest { next: span.begins.to_vec(), left: Vec::new() };
        Self { line: Vec::new(), memory: span.memory.clone(), rest, begins: Vec::new(), run: None }
    }

    /// Takes the events of the run that were not taken yet, in pieces of that size.
    fn take_run(&mut self, size: usize, execution: &Execution) {
        debug_assert!(self.run.iter().flat_map(Run::line).zip(&self.line).all(|(event, &taken)| event == taken));
        let new: Vec<u32> = self.run.iter().flat_map(|run| run.line_from(self.line.len())).collect();
        for piece in new.chunks(size) {
            let rest = self.rest.without(piece, execution);
            self.begins.push((std::mem::replace(&mut self.rest, rest), self.line.len()));
            for &event in piece {
                self.memory.go(execution, event);
            }
            self.line.extend_from_slice(piece);
        }
    }

    /// Gives back the windows and pieces that end after the first so many events, or the last one.
    fn give_back(&mut self, length: usize, span: &Span<'_>, execution: &Execution) {
        while let Some((rest, begin)) = self.begins.pop() {
            self.line.truncate(begin);
            self.rest = rest;
            if begin <= length {
                break;
            }
        }
        if let Some(run) = &mut self.run {
            run.rewind_to(self.line.len());
        }
        self.memory.clone_from(span.memory);
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

/// An interleaving that a run finds.
fn quick_run(frame: &Frame<'_>, limits: &Limits) -> Option<Vec<u32>> {
    let known = known_writes(frame.execution(), limits.interrupt)?;
    run(frame, Some(&known), limits.guesses, limits.interrupt)
}

/// An interleaving of a window. The memory of `order` is used again.
fn interleaving(order: &mut Saturation, frame: &Frame<'_>, limits: &Limits) -> Result<Vec<u32>, Halted> {
    // To allocate the clocks of many threads takes long, so the time is checked first.
    limits.interrupt.check()?;
    let saturated = match Saturated::reusing(std::mem::take(order), frame, limits.interrupt) {
        Ok(Saturated { witness: Some(line), order: done, .. }) => {
            *order = done;
            return Ok(line);
        }
        Ok(saturated) => saturated,
        Err(Unsaturated::GaveUp(why)) => return Err(Halted::GaveUp(why)),
        Err(_) => return Err(Halted::Refuted),
    };
    let mut search = Search::new(frame, saturated);
    let outcome = search.run_for(limits.deadlocks, limits.interrupt);
    *order = search.into_order();
    match outcome? {
        Some(Outcome::Found(line)) => Ok(line),
        Some(Outcome::Refuted(_)) => Err(Halted::Refuted),
        None => Err(Halted::Paused),
    }
}

/// Where a window of about that size ends in each thread. Threads share its events in proportion to how many each still
/// has, so they come to their ends together. A thread of which little was taken the last time waits for others.
fn ends(
    execution: &Execution,
    readers: &Readers,
    span: &Span<'_>,
    rest: &Rest,
    last: Option<&Window>,
    size: usize,
) -> Vec<u32> {
    let (limits, next) = (&span.ends, &rest.next);
    let has_waited = |thread: usize| {
        last.is_some_and(|last| {
            let begin = last.rest.next[thread];
            (next[thread] - begin) < (last.ends[thread] - begin).div_ceil(WAITS)
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
mod tests {
    use workload::memory::{Config, execution};

    use super::*;

    /// A wrong cut never leads to a wrong answer, but it costs time.
    #[test]
    fn the_halves_of_a_valid_execution_have_interleavings_that_fit() {
        for seed in 0..20 {
            let threads = 2 + seed as u32 % 7;
            let config = Config { threads, operations: 4_000, locations: 8, seed, ..Config::default() };
            let execution = execution(&config);
            let limits = &Limits::default();
            let readers = Readers::new(&execution);
            let mut memory = Memory::new(&readers, &execution);
            let cut = Cut::guess(&execution, &readers, 1_000, true, limits).ok().flatten().expect("a cut");
            let (begins, ends) = (execution.starts()[..threads as usize].to_vec(), execution.starts()[1..].to_vec());
            let first = Span { begins: &begins, ends: &cut.place, memory: &memory, cut: Some(&cut) };
            let second = Span { begins: &cut.place, ends: &ends, memory: &cut.memory, cut: None };
            let windows = Windows {
                execution: &execution,
                readers: &readers,
                relaxation: Relaxation::Nothing,
                size: 500,
                limits,
            };
            let answers = [first, second].map(|half| windows.run(&half, &AtomicBool::new(false)));
            let [Ok(Answer::Found(first, _)), Ok(Answer::Found(second, _))] = answers else {
                panic!("seed {seed}: a half without an interleaving");
            };
            assert!(first.len().abs_diff(second.len()) < 1_000, "seed {seed}: {} and {}", first.len(), second.len());
            for event in first {
                memory.go(&execution, event);
            }
            for (location, &read) in cut.reads.iter().enumerate() {
                assert!(read == NONE || memory.0[location] == cut.memory.0[location], "seed {seed}");
            }
        }
    }
}
