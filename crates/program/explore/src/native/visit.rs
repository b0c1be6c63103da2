//! The executions of code, told to whoever wants more than a verdict.

use std::rc::Rc;

use super::replay::{Lessons, Native};
use super::{Builder, Verdict};
use crate::exploration::ExplorationEnding;
use crate::graph::Graph;
use crate::random::{RandomStrategy, Sampler};

impl Builder {
    /// Explores every execution of the code, as [`Self::check`] does, and tells the events of each and how it ended. An
    /// execution may be told twice if the exploration begins anew, because it has learnt which loops only wait.
    ///
    /// ```
    /// use explore::sync::Arc;
    /// use explore::sync::atomic::{AtomicUsize, Ordering};
    /// use explore::{Builder, thread};
    ///
    /// let mut events = Vec::new();
    /// let code = || {
    ///     let counter = Arc::new(AtomicUsize::new(0));
    ///     let other = Arc::clone(&counter);
    ///     thread::spawn(move || other.fetch_add(1, Ordering::Relaxed));
    ///     counter.fetch_add(1, Ordering::Relaxed);
    /// };
    /// Builder::new().visit(code, |graph, _| events.push(graph.accesses().len()));
    /// // Two executions, each with two additions, the spawn and the begin of the thread.
    /// assert_eq!(events, [4, 4]);
    /// ```
    pub fn visit(&self, code: impl Fn() + 'static, mut tell: impl FnMut(&Graph, ExplorationEnding)) -> Verdict {
        self.explore(&(Rc::new(code) as Rc<dyn Fn()>), &mut |graph, ending| {
            tell(graph, ending);
            None
        })
    }

    /// Runs the code once at random, as [`Self::sample`] does with this seed if runs are long, and tells the events:
    /// writes take effect in the order in which the code makes them, so under `sc` the run is an interleaving, in the
    /// order in which the code ran.
    pub fn visit_sample(
        &self,
        strategy: RandomStrategy,
        seed: u64,
        code: impl Fn() + 'static,
        tell: impl FnOnce(&Graph, ExplorationEnding),
    ) {
        let code: Rc<dyn Fn()> = Rc::new(code);
        let mut lessons = Lessons::default();
        loop {
            let native = Native::new(self, Rc::clone(&code), lessons);
            let mut runs = Sampler::new(native, self.model, strategy).straight();
            let mut run = runs.run(seed);
            let ending = run.ending();
            let (native, graph) = run.parts();
            match native.lessons() {
                Some(learnt) => lessons = learnt,
                None => return tell(graph, ending),
            }
        }
    }
}
