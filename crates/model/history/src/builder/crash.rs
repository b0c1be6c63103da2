//! A process that crashes, and the process that continues for it.
//!
//! A process crashes when its operation ends in `info`. That operation may take effect at any later time, so nothing
//! of the process is ordered after it. If the process calls again, that call is of a *successor*: a new process, with
//! the same name and one `'` more. Who asks for the process by its name gets the last successor.

use super::HistoryBuilder;
use crate::history::{Outcome, ProcessId};

impl HistoryBuilder {
    /// Whether the last operation of a process ended in `info`.
    #[inline]
    fn has_crashed(&self, process: ProcessId) -> bool {
        self.last[process.index()].is_some_and(|id| self.history.operation(id).outcome == Outcome::Info)
    }

    /// The process that continues for a crashed one, if there is one already; else the process itself.
    #[inline]
    pub(super) fn current(&self, mut process: ProcessId) -> ProcessId {
        while self.has_crashed(process)
            && let Some(&successor) = self.successors.get(&process)
        {
            process = successor;
        }
        process
    }

    /// The process that continues for a crashed one. It is made here. A process that has not crashed continues for
    /// itself.
    pub(super) fn successor(&mut self, process: ProcessId) -> ProcessId {
        if !self.has_crashed(process) {
            return process;
        }
        let name = self.history.processes[process.index()];
        let mut text = self.history.words.show_process(name);
        let fresh = loop {
            text.push('\'');
            let fresh = self.history.words.word(&text);
            if !self.processes.contains_key(&fresh.bits()) {
                break fresh;
            }
        };
        let successor = self.process_of(fresh);
        let called = self.called.get(&process).copied().unwrap_or(name.bits());
        self.processes.insert(called, successor);
        self.called.insert(successor, called);
        self.successors.insert(process, successor);
        successor
    }
}
