//! The events of a history in the order of their moments: instants, calls and ends. It is what a monitor would see.

use std::collections::VecDeque;

use crate::history::{History, OperationId, Outcome};

/// One event of a history.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum HistoryEvent {
    /// An instant: an operation without call and return.
    Instant(OperationId),
    /// A call.
    Call(OperationId),
    /// A return, or Jepsen's `fail` or `info`.
    End(OperationId),
}

impl HistoryEvent {
    /// The operation that the event belongs to.
    pub const fn operation(self) -> OperationId {
        match self {
            Self::Instant(id) | Self::Call(id) | Self::End(id) => id,
        }
    }
}

impl History {
    /// The events in the order of their moments. An `info` has no moment of its own. It comes where a moment is
    /// missing, or at the end. If several `info` events could come at the same place, any order of them means the same.
    pub fn events(&self) -> impl Iterator<Item = HistoryEvent> + use<> {
        let ids = (0..self.operations.len() as u32).map(OperationId);
        let events: Vec<HistoryEvent> =
            if self.has_calls() { self.timed_events() } else { ids.map(HistoryEvent::Instant).collect() };
        events.into_iter()
    }

    fn timed_events(&self) -> Vec<HistoryEvent> {
        let known = self.moments.iter().flatten().filter(|&&moment| moment != Self::NEVER);
        let mut timed = vec![None; known.max().map_or(0, |&last| last as usize + 1)];
        for ((id, operation), &[call, end]) in (0..).map(OperationId).zip(&self.operations).zip(&self.moments) {
            if operation.outcome == Outcome::Instant {
                timed[call as usize] = Some(HistoryEvent::Instant(id));
                continue;
            }
            timed[call as usize] = Some(HistoryEvent::Call(id));
            if end != Self::NEVER {
                timed[end as usize] = Some(HistoryEvent::End(id));
            }
        }
        let mut events = Vec::with_capacity(timed.len());
        let mut unknown = VecDeque::new();
        for event in timed {
            match event {
                Some(HistoryEvent::Call(id)) if self.operation(id).outcome == Outcome::Info => unknown.push_back(id),
                _ => {}
            }
            events.extend(event.or_else(|| unknown.pop_front().map(HistoryEvent::End)));
        }
        events.extend(unknown.into_iter().map(HistoryEvent::End));
        events
    }
}
