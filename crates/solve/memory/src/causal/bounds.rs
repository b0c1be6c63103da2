//! Bounds: the events that an event must come after, beyond program order and reads-from, as one clock for each event.

use history::Execution;

/// For each event that has a bound, the clock of the events that must come before it.
pub struct Bounds {
    width: usize,
    /// The number of each event's bound, or [`NO_SLOT`].
    slots: Vec<u32>,
    entries: Vec<u32>,
}

const NO_SLOT: u32 = u32::MAX;

impl Bounds {
    /// No bounds.
    pub fn new(execution: &Execution) -> Self {
        Self { width: execution.thread_count(), slots: vec![NO_SLOT; execution.len()], entries: Vec::new() }
    }

    /// Puts `before`, an event of `thread`, before `event`.
    pub fn raise(&mut self, event: u32, before: u32, thread: usize) {
        let slot = &mut self.slots[event as usize];
        if *slot == NO_SLOT {
            *slot = (self.entries.len() / self.width) as u32;
            self.entries.resize(self.entries.len() + self.width, 0);
        }
        let entry = &mut self.entries[*slot as usize * self.width + thread];
        *entry = (*entry).max(before + 1);
    }

    /// The bound of an event: events of each thread below the entry come before it. Empty if there is none.
    pub fn of(&self, event: u32) -> &[u32] {
        let slot = self.slots[event as usize];
        if slot == NO_SLOT {
            return &[];
        }
        let at = slot as usize * self.width;
        &self.entries[at..at + self.width]
    }

    /// An event that `event` still has to wait for, when the events below `cursors` are done.
    pub fn blocker(&self, event: u32, cursors: &[u32]) -> Option<u32> {
        self.of(event).iter().zip(cursors).find(|(bound, cursor)| bound > cursor).map(|(&bound, _)| bound - 1)
    }
}
