//! What the engines may spend, and where they change from the way that is best for what is near and small to the one
//! for the rest.

use certificate::Interrupt;

/// Limits of the engines. The verdict never depends on them, but for `unknown`. The [default](Self::default) is what
/// was measured to be fast; tests set them small, so that every way is gone.
#[derive(Copy, Clone, Debug)]
pub struct Limits {
    /// When to stop.
    pub interrupt: Interrupt,
    /// In [windows](crate::store::windows): how often all threads of a window may wait for each other until the search
    /// in it is given up. Without limit it may take long.
    pub deadlocks: u64,
    /// How many clocks of writes the causal engines keep at first. Mostly a write is read soon or never.
    pub recent_clocks: usize,
    /// How many writes of its location a read looks at in the order in which they were done, before the last write of
    /// each thread is looked up instead: so many, and so many for each thread.
    pub look_back: [usize; 2],
    /// How many conflicts are collected before somebody has a look at them.
    pub conflicts: usize,
    /// The views of executions with fewer events are left to one processor.
    pub worth_sharing: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            interrupt: Interrupt::never(),
            deadlocks: u64::MAX,
            recent_clocks: 1 << 16,
            look_back: [16, 4],
            conflicts: 1 << 16,
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
    /// How many writes a read looks at, of so many threads.
    pub(crate) const fn look_back(&self, threads: usize) -> usize {
        self.look_back[0] + self.look_back[1] * threads
    }
}
