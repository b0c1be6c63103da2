//! What the threads of a program do next.

use crate::graph::{Graph, NONE};
use crate::program::{Next, Program, Step};

/// By thread: what it does next, if that is known.
#[derive(Debug, Default)]
pub(crate) struct Nexts(Vec<Option<Next>>);

impl Nexts {
    /// What a thread does next.
    #[inline]
    pub(crate) fn of(&mut self, program: &mut impl Program, graph: &Graph, thread: u32) -> &Next {
        let at = thread as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        self.0[at].get_or_insert_with(|| {
            if graph.is_waiting(thread) {
                Next::Stopped
            } else if thread >= program.threads() && graph.is_empty(thread) {
                Next::Step(Step::Begin)
            } else {
                program.next(thread, graph)
            }
        })
    }

    /// The same in a random run ([`Program::advance`]), in which no event waits.
    #[inline]
    pub(crate) fn advance(&mut self, program: &mut impl Program, graph: &mut Graph, thread: u32) -> &Next {
        let at = thread as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        self.0[at].get_or_insert_with(|| {
            if thread >= program.threads() && graph.is_empty(thread) {
                Next::Step(Step::Begin)
            } else {
                program.advance(thread, graph)
            }
        })
    }

    /// Whether nothing but a value keeps a thread from going on.
    pub(crate) fn is_ready(&mut self, program: &mut impl Program, graph: &Graph, thread: u32) -> bool {
        match *self.of(program, graph, thread) {
            Next::Step(Step::Begin) => graph.spawned[thread as usize] != NONE,
            Next::Step(Step::Join(child)) => {
                let has_begun = child < program.threads() || !graph.is_empty(child);
                has_begun && *self.of(program, graph, child) == Next::Finished
            }
            Next::Step(_) => true,
            _ => false,
        }
    }

    /// The next step of a thread, if nothing but a value keeps it from going on.
    pub(crate) fn step(&mut self, program: &mut impl Program, graph: &Graph, thread: u32) -> Option<Step> {
        if !self.is_ready(program, graph, thread) {
            return None;
        }
        let Some(Next::Step(step)) = self.0[thread as usize] else { return None };
        Some(step)
    }

    /// The step that is known to be the next one of a thread. The thread goes on.
    #[inline]
    pub(crate) fn take_step(&mut self, thread: u32) -> Option<Step> {
        let next = self.0.get_mut(thread as usize)?;
        let Some(Next::Step(step)) = *next else { return None };
        *next = None;
        Some(step)
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
