//! `cc`: no read r of w has a write w' on its location with w co w' co r. RF Algorithm 1, corrected.
//!
//! It is enough to look at the last write w' of each thread before r: if an earlier one is after w, so is the last.
//! Invariant of the sweep: [`Conflicts::visit`] calls back for each read r, and each thread's last write w' before r that is
//! neither r's source nor `co`-before it. So every such pair is either a violation (w co w') or a conflict edge w' -> w
//! that causality does not imply. O(n k).

use history::execution::{EventId, ThreadId};

use super::{Answer, Causality, Halt};
use crate::Interrupt;
use crate::causal::derive::Deriver;
use crate::writes::Cursors;

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
    let Causality { execution, writes, clocks } = causality;
    let events = execution.events();
    let mut cursors = Cursors::new(writes);
    for thread in 0..execution.thread_count() {
        if interrupt.is_due() {
            return Err(Halt::Interrupted);
        }
        cursors.reset();
        for read in execution.thread_events(ThreadId(thread as u32)) {
            let event = events[read.index()];
            if !event.kind.reads() {
                continue;
            }
            let clock = clocks.of(read.0);
            let source = event.source;
            let violation = |write| {
                Err(Halt::Violation(Deriver::new(execution).stale_read(read.0, source, write, None)))
            };
            let segments = writes.segments(event.location);
            let range = writes.segment_range(event.location);
            if source == EventId::INIT {
                for (at, segment) in range.zip(segments) {
                    let frontier = if segment.thread as usize == thread { read.0 } else { clock[segment.thread as usize] };
                    if let Some(write) = cursors.last_before(writes, at, frontier) {
                        return violation(write);
                    }
                }
                continue;
            }
            let source_clock = clocks.of(source.0);
            for (at, segment) in range.zip(segments) {
                let of = segment.thread as usize;
                let frontier = if of == thread { read.0 } else { clock[of] };
                let Some(write) = cursors.last_before(writes, at, frontier) else { continue };
                if write < source_clock[of] {
                    continue;
                }
                if causality.before(source.0, write) {
                    return violation(write);
                }
                conflict(read.0, source.0, write);
            }
        }
    }
    Ok(())
}
