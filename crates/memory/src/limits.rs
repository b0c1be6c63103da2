//! Limits of the engines: how much time they may take, and at which sizes they change their method.

use certificate::Interrupt;

/// Limits of the engines. They never change a verdict, except to or from `unknown`. The [defaults](Self::default) were
/// measured to be fast. Tests set small limits, so that every method runs on small executions, too.
#[derive(Copy, Clone, Debug)]
pub struct Limits {
    /// When to stop.
    pub interrupt: Interrupt,
    /// How many guesses a [run](crate::store::run) may make before it must have come further. If none, windows are not
    /// preceded by a run.
    pub guesses: u32,
    /// In [windows](crate::store::windows): how often all threads of a window may wait for each other before the search
    /// in the window is given up. A search without this limit may take long.
    pub deadlocks: u64,
    /// How many clocks of writes the causal engines keep at first. Few are enough for most executions, because most
    /// writes are read soon or never.
    pub recent_clocks: usize,
    /// How many writes of its location a read looks at, in the order in which they were done. If there are more, the
    /// last write of each thread is looked up instead. The limit is the first number, plus the second number for each
    /// thread.
    pub look_back: [usize; 2],
    /// How many conflicts are collected before they are processed together.
    pub conflicts: usize,
    /// With so many threads or more, the causal engines keep clocks as lists, as long as the lists are short.
    pub many_threads: usize,
    /// Executions with fewer events are decided on one processor: sharing their views among several is not worth while.
    pub worth_sharing: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            interrupt: Interrupt::never(),
            guesses: 32,
            deadlocks: u64::MAX,
            recent_clocks: 1 << 16,
            look_back: [16, 4],
            conflicts: 1 << 16,
            many_threads: 1 << 8,
            worth_sharing: 1 << 15,
        }
    }
}

impl From<Interrupt> for Limits {
    fn from(interrupt: Interrupt) -> Self {
        Self { interrupt, ..Self::default() }
    }
}

impl Limits {
    /// How many writes a read looks at, in an execution of so many threads.
    pub(crate) const fn look_back(&self, threads: usize) -> usize {
        self.look_back[0] + self.look_back[1] * threads
    }
}
