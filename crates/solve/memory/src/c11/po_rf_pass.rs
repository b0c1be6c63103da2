//! The order of a pass. It respects `po u rf`, and is close to an order in which the events may have happened.
//!
//! Threads take turns of a few events. If the next read of a thread reads a write that was not passed yet, the thread
//! waits until that write is passed. So the clocks that an event needs were written not long ago, and are still in the
//! cache.
//!
//! Invariant: a thread that is not at its end is in the queue, or waits for exactly one write. Until a write is passed,
//! its mark is the first thread that waits for it. Further waiting threads are linked through `next_waiting`. When the
//! queue is empty and a thread is not at its end, `po u rf` has a cycle.

use std::collections::VecDeque;

use history::Execution;
use model::{Budget, GaveUp};

/// How many events a thread does in one turn.
pub(super) const EVENTS_PER_TURN: u32 = 32;
/// How many turns go by between two looks at the time, for one thread. With more threads there are fewer turns, because
/// larger vector clocks take longer.
const TURNS_PER_TIME_CHECK: u32 = 1 << 14;

/// A mark with this bit is that of a write not passed yet; the rest is the thread that waits for it, or [`NOBODY`].
pub(super) const NOT_PASSED: u32 = 1 << 31;
const NOBODY: u32 = NOT_PASSED - 1;

/// The state of a pass over all threads.
#[derive(Debug, Default)]
pub(super) struct PoRfPass {
    /// By event: see [`NOT_PASSED`]. The pass chooses the mark of a passed write. At the end, zero for the initial
    /// writes.
    pub marks: Vec<u32>,
    next: Vec<u32>,
    queue: VecDeque<u32>,
    next_waiting: Vec<u32>,
    /// How many turns go by between two looks at the time, and how many are left until the next look.
    time_check: [u32; 2],
}

/// A thread's turn: its events from `at` to `end`.
pub(super) struct ThreadTurn {
    pub thread: usize,
    pub at: u32,
    pub end: u32,
}

impl PoRfPass {
    /// Starts a pass.
    pub(super) fn start(&mut self, execution: &Execution) {
        let threads = execution.thread_count();
        self.marks.clear();
        self.marks.resize(execution.len(), NOT_PASSED | NOBODY);
        self.marks.push(0);
        self.next.clear();
        self.next.extend_from_slice(&execution.starts()[..threads]);
        self.queue.clear();
        self.queue.extend(0..threads as u32);
        self.next_waiting.clear();
        self.next_waiting.resize(threads, NOBODY);
        self.time_check = [1 + TURNS_PER_TIME_CHECK / (1 + threads as u32); 2];
    }

    /// The next turn. `None` if no thread can go on.
    #[inline]
    pub(super) fn next(&mut self, execution: &Execution, budget: &Budget) -> Result<Option<ThreadTurn>, GaveUp> {
        if budget.is_limited() {
            let [all, left] = &mut self.time_check;
            *left -= 1;
            if *left == 0 {
                *left = *all;
                budget.check()?;
            }
        }
        Ok(self.queue.pop_front().map(|thread| {
            let at = self.next[thread as usize];
            let end = execution.starts()[thread as usize + 1].min(at.saturating_add(EVENTS_PER_TURN));
            ThreadTurn { thread: thread as usize, at, end }
        }))
    }

    /// The turn ends before its event `at`, which is the thread's next.
    #[inline]
    pub(super) fn finish(&mut self, execution: &Execution, thread: usize, at: u32) {
        self.next[thread] = at;
        if at < execution.starts()[thread + 1] {
            self.queue.push_back(thread as u32);
        }
    }

    /// The turn ends before its event `at`, which must wait for a write that was not passed yet.
    #[inline]
    pub(super) fn wait(&mut self, thread: usize, at: u32, write: u32) {
        self.next[thread] = at;
        let mark = &mut self.marks[write as usize];
        self.next_waiting[thread] = *mark & !NOT_PASSED;
        *mark = NOT_PASSED | thread as u32;
    }

    /// Notes that a write is passed: sets its mark, and wakes the threads that wait for it.
    #[inline]
    pub(super) fn pass(&mut self, write: u32, mark: u32) {
        let old = std::mem::replace(&mut self.marks[write as usize], mark);
        let mut waiting = old & !NOT_PASSED;
        while waiting != NOBODY {
            self.queue.push_back(waiting);
            waiting = self.next_waiting[waiting as usize];
        }
    }

    /// The next event of a thread, if it is not at its end.
    pub(super) fn next_of(&self, execution: &Execution, thread: usize) -> Option<u32> {
        Some(self.next[thread]).filter(|&next| next < execution.starts()[thread + 1])
    }

    /// Whether all threads are at their end.
    pub(super) fn is_done(&self, execution: &Execution) -> bool {
        self.next.iter().zip(&execution.starts()[1..]).all(|(next, end)| next == end)
    }
}
