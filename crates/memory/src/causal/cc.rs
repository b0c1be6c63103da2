//! `cc`: no read r of w has a write w' on its location with w co w' co r. RF Algorithm 1, corrected.
//!
//! It is enough to look at the last write w' of each thread before r: if an earlier one is after w, so is the last.
//! Invariant of the sweep: [`visit_conflicts`] calls back for each read r, and each thread's last write w' before r that is
//! neither r's source nor `co`-before it. So every such pair is either a violation (w co w') or a conflict edge w' -> w
//! that causality does not imply. O(n k).

use history::execution::EventId;

use super::{Answer, Causality, Halt};
use crate::Interrupt;
use crate::causal::derive::Deriver;
use crate::writes::Cursors;

/// How many events go by between two looks at the clock.
const PATIENCE: usize = 4096;

/// Decides `cc`.
pub fn check(causality: &Causality<'_>, interrupt: Interrupt) -> Answer {
    visit_conflicts(causality, interrupt, |_, _, _| {})?;
    Ok(None)
}

/// Calls back `(read, source, write)` for each conflict edge `write -> source` that `cf[co]` adds to causality, the last of each
/// thread only. A violation of `cc` ends the sweep.
pub fn visit_conflicts(
    causality: &Causality<'_>,
    interrupt: Interrupt,
    mut conflict: impl FnMut(u32, u32, u32),
) -> Result<(), Halt> {
    let Causality { execution, writes, clocks, order } = causality;
    let mut cursors = Cursors::new(writes);
    for (done, &read) in order.iter().enumerate() {
        if done % PATIENCE == 0 && interrupt.is_due() {
            return Err(Halt::Interrupted);
        }
        let event = execution.event(EventId(read));
        if !event.kind.reads() {
            continue;
        }
        let thread = causality.thread(read);
        let clock = clocks.of(read);
        let source = event.source;
        let violation = |write| Err(Halt::Violation(Deriver::new(execution).stale_read(read, source, write, None)));
        let source_clock = if source == EventId::INIT { &[] } else { clocks.of(source.0) };
        for at in writes.segment_range(event.location) {
            let of = cursors.thread(at);
            let frontier = if of == thread { read } else { clock[of] };
            let Some(write) = cursors.last_before(writes, at, frontier) else { continue };
            if source == EventId::INIT {
                return violation(write);
            }
            if write < source_clock[of] {
                continue;
            }
            if causality.before(source.0, write) {
                return violation(write);
            }
            conflict(read, source.0, write);
        }
    }
    Ok(())
}
