//! The search over frontiers, with or without saturation before. (The algorithm of the tool DBCOP, as section 5 of wSC
//! describes it.)
//!
//! A state is how far each chain of a frame has come. For `sc` a chain is a thread. For `tso` and `pso` the chains tell
//! how far a thread has come, and how far its writes have reached memory. The writes between the two are in its store
//! buffers, so the search goes through the runs of the machine. Reads go as soon as they can. A write may go only if no
//! write of its location that went still has readers to come, so the frontier determines which write of a location
//! still matters, and no state is visited twice. The search is polynomial in the length of the execution, for a fixed
//! number of threads.

use history::Execution;
use history::execution::EventId;
use order::Rows;
use order::saturation::NONE;
use rustc_hash::FxHashSet;

use memory::Budget;
use memory::research::Frame;

use crate::strategy::Line;

/// After how many moves the budget is asked.
const MOVES_PER_STEP: u32 = 32;

struct State<'a> {
    frame: &'a Frame<'a>,
    constraints: &'a Rows,
    execution: &'a Execution,
    next: Vec<u32>,
    /// By event: how many of its readers are to come. Behind the events, the same for the initial writes, by location.
    readers: Vec<u32>,
    /// By location: the last write that went, in the numbering of `readers`. The line has the write that was the last
    /// before.
    current: Vec<u32>,
    line: Vec<(u32, u32)>,
}

impl State<'_> {
    fn source(&self, event: u32) -> u32 {
        let access = self.execution.events()[event as usize];
        match access.source {
            EventId::INIT => self.execution.len() as u32 + access.location.0,
            source => source.0,
        }
    }

    fn can_go(&self, event: u32) -> bool {
        let access = self.execution.events()[event as usize];
        let chains = self.execution.threads();
        let gone = |event: u32| event < self.next[chains[event as usize].index()];
        if !self.frame.predecessors(event).all(gone) || !self.constraints.of(event as usize).iter().copied().all(gone) {
            return false;
        }
        if access.kind.reads() && self.current[access.location.index()] != self.source(event) {
            // A thread may read its own write before the write is in memory.
            return access.source.is_event() && !gone(access.source.0);
        }
        !access.kind.writes()
            || self.readers[self.current[access.location.index()] as usize] == u32::from(access.kind.reads())
    }

    fn go(&mut self, event: u32) {
        let access = self.execution.events()[event as usize];
        self.next[self.execution.threads()[event as usize].index()] += 1;
        let mut displaced = NONE;
        if access.kind.reads() {
            let source = self.source(event);
            self.readers[source as usize] -= 1;
        }
        if access.kind.writes() {
            displaced = std::mem::replace(&mut self.current[access.location.index()], event);
        }
        self.line.push((event, displaced));
    }

    fn back(&mut self, length: usize) {
        while self.line.len() > length
            && let Some((event, displaced)) = self.line.pop()
        {
            let access = self.execution.events()[event as usize];
            self.next[self.execution.threads()[event as usize].index()] -= 1;
            if access.kind.writes() {
                self.current[access.location.index()] = displaced;
            }
            if access.kind.reads() {
                let source = self.source(event);
                self.readers[source as usize] += 1;
            }
        }
    }

    /// Lets all reads and fences go that can.
    fn settle(&mut self) {
        let ends = &self.execution.starts()[1..];
        let mut moved = true;
        while moved {
            moved = false;
            for (thread, &end) in ends.iter().enumerate() {
                while self.next[thread] < end {
                    let event = self.next[thread];
                    if self.execution.events()[event as usize].kind.writes() || !self.can_go(event) {
                        break;
                    }
                    self.go(event);
                    moved = true;
                }
            }
        }
    }
}

/// Looks for a line of all events, by a search over frontiers.
pub fn search(frame: &Frame<'_>, budget: &Budget) -> Line {
    search_after(frame, &Rows::new(frame.execution().len(), std::iter::empty()), budget)
}

/// As [`search`], with further constraints: the events in the list of an event come before it. (wSC+DBCOP of wSC, if
/// the constraints are the saturated store order.)
pub fn search_after(frame: &Frame<'_>, constraints: &Rows, budget: &Budget) -> Line {
    walk(frame, constraints, budget, &mut 0)
}

/// As [`search`], and how many dead ends it met: states from which every way was tried in vain.
pub fn dead_ends(frame: &Frame<'_>, budget: &Budget) -> (Line, u64) {
    let mut dead_ends = 0;
    let line = walk(frame, &Rows::new(frame.execution().len(), std::iter::empty()), budget, &mut dead_ends);
    (line, dead_ends)
}

fn walk(frame: &Frame<'_>, constraints: &Rows, budget: &Budget, dead_ends: &mut u64) -> Line {
    let execution = frame.execution();
    let threads = execution.thread_count();
    let mut state = State {
        frame,
        constraints,
        execution,
        next: execution.starts()[..threads].to_vec(),
        readers: vec![0; execution.len() + execution.location_count()],
        current: (0..execution.location_count() as u32).map(|x| execution.len() as u32 + x).collect(),
        line: Vec::new(),
    };
    for id in execution.ids().filter(|&id| execution.event(id).kind.reads()) {
        let source = state.source(id.0);
        state.readers[source as usize] += 1;
    }
    let mut visited: FxHashSet<Box<[u32]>> = FxHashSet::default();
    state.settle();
    // The length of the line at each open state, and the thread to try next there.
    let mut stack = vec![(state.line.len(), 0usize)];
    let mut steps = 0u32;
    while let Some((length, thread)) = stack.last_mut() {
        if state.line.len() == execution.len() {
            return Ok(Some(state.line.iter().map(|&(event, _)| event).collect()));
        }
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(MOVES_PER_STEP) {
            budget.check()?;
        }
        state.back(*length);
        let tried = *thread;
        *thread += 1;
        if tried == threads {
            *dead_ends += 1;
            stack.pop();
            continue;
        }
        let event = state.next[tried];
        if event < execution.starts()[tried + 1] && state.can_go(event) {
            state.go(event);
            state.settle();
            if visited.insert(state.next.clone().into_boxed_slice()) {
                stack.push((state.line.len(), 0));
            }
        }
    }
    Ok(None)
}
