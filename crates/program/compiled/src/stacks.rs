//! Where threads are in the code: the calls on their stacks.

use crate::machine::Machine;
use crate::shim;
use crate::space::{self, Doer};
use crate::switch::Called;

impl Machine {
    /// Where a hook was called, in the code of the program: the call itself if it is there, or else the nearest call
    /// below it on the stack.
    pub(crate) fn site(&self, thread: u32, called: Called) -> usize {
        self.site_above(thread, called.stack + 8 * shim::SAVED)
    }

    /// The nearest call from an address of the stack of a thread on; 0 if there is none.
    pub(crate) fn site_above(&self, thread: u32, at: usize) -> usize {
        let end = self.space.stack_end(thread);
        let word = |at: usize| space::number(at, 8) as usize;
        if self.is_loading || !self.space.is_in_stack(thread, at) {
            return 0;
        }
        let mut words = (at..end).step_by(8).take(512).map(word);
        words.find(|&word| self.space.is_code(word)).unwrap_or_default()
    }

    /// The calls on the stack of a thread below that of its hook: where they return to, the innermost first.
    pub(crate) fn callers(&self, thread: u32) -> Vec<usize> {
        const MOST: usize = 64;
        let of = &self.threads[thread as usize];
        let Some(called) = of.called else { return Vec::new() };
        let end = self.space.stack_end(thread);
        let word = |at: usize| space::number(at, 8) as usize;
        let mut callers = vec![of.site];
        let mut frame = word(called.stack + 8 * (shim::SAVED - 1));
        let mut before = called.stack;
        while frame > before && frame + 16 <= end && frame.is_multiple_of(8) && callers.len() < MOST {
            let caller = word(frame + 8);
            if self.space.is_code(caller) && callers.last() != Some(&caller) {
                callers.push(caller);
            }
            before = frame;
            frame = word(frame);
        }
        callers
    }

    /// The last thing that a thread has done, or does now.
    pub(crate) fn stack_at(&self, doer: Doer) -> Vec<usize> {
        let of = &self.threads[doer.thread as usize];
        let now = self.callers(doer.thread);
        if now.first() == Some(&doer.site) {
            return now;
        }
        let earlier = of.callers.iter().rfind(|callers| callers.first() == Some(&doer.site));
        earlier.cloned().unwrap_or_else(|| vec![doer.site])
    }

    /// Where a step of a thread is, or what it asks for now; and whether it frees memory.
    pub(crate) fn place(&self, thread: u32, index: u32) -> (Doer, bool) {
        let of = &self.threads[thread as usize];
        let (site, frees) = of.sites.get(index as usize).copied().unwrap_or((of.site, of.is_freeing));
        (Doer { thread, site, steps: index + 1 }, frees)
    }
}
