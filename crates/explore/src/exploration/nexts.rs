//! What the threads of a program do next.

use crate::graph::{Graph, NONE};
use crate::program::{Next, Program, Step};

/// By thread: what it does next, if that is known.
#[derive(Debug, Default)]
pub(crate) struct Nexts(Vec<Option<Next>>);

impl Nexts {
    /// What a thread does next.
    pub(crate) fn of(&mut self, program: &mut impl Program, graph: &Graph, thread: u32) -> Next {
        let at = thread as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        *self.0[at].get_or_insert_with(|| {
            if graph.is_waiting(thread) {
                Next::Stopped
            } else if thread >= program.threads() && graph.is_empty(thread) {
                Next::Step(Step::Begin)
            } else {
                program.next(thread, graph)
            }
        })
    }

    /// The next step of a thread, if nothing but a value keeps it from going on.
    pub(crate) fn step(&mut self, program: &mut impl Program, graph: &Graph, thread: u32) -> Option<Step> {
        let Next::Step(step) = self.of(program, graph, thread) else { return None };
        let can_go_on = match step {
            Step::Begin => graph.spawned[thread as usize] != NONE,
            Step::Join(child) => {
                let has_begun = child < program.threads() || !graph.is_empty(child);
                has_begun && self.of(program, graph, child) == Next::Finished
            }
            _ => true,
        };
        can_go_on.then_some(step)
    }

    /// The thread has gone on, or back.
    pub(crate) fn forget(&mut self, thread: u32) {
        if let Some(next) = self.0.get_mut(thread as usize) {
            *next = None;
        }
    }

    pub(crate) fn forget_all(&mut self) {
        self.0.fill(None);
    }
}
