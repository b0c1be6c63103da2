//! The tactics that look for one order of all events: the order of the file, a run, and windows.
//!
//! An order of all events in which each read returns the last write before it is an interleaving. So `sc` holds, and
//! every model with it. The order is a witness of the model if it has witnesses of this kind.

use history::OperationId;
use model::{Decided, Evidence, EvidenceKind, Model, implies};
use order::lanes::lanes;

use super::table::Tactic;
use super::{Asked, Attempt};
use crate::store::frame::Frame;
use crate::store::{self, Answer, rest, windows};
use crate::{ExecutionChecker, check_room_for, consistent, fits, tso, violation};

impl ExecutionChecker<'_> {
    /// The decision that a model holds because this line of all events explains all reads. `None` if a witness is
    /// wanted that only the model's own engine can build.
    fn by_line(&self, tactic: Tactic, model: Model, line: &[u32]) -> Option<Decided> {
        let witness = || line_witness(model, store::operations(self.execution, line));
        let evidence = if self.options.witness { Some(witness()?) } else { None };
        Some(consistent(tactic.name(), evidence))
    }

    /// Tries the order of the file. For a model that is decided in polynomial time, it is tried only on request.
    pub(super) fn as_recorded(&self, model: Model, asked: Asked) -> Option<Decided> {
        let execution = self.execution;
        let wanted = asked == Asked::ByName || self.asks_recorded || !model.row().polynomial;
        let has_witness = !self.options.witness || line_witness(model, Vec::new()).is_some();
        if !wanted || !has_witness || fits(model, execution).is_err() {
            return None;
        }
        let line = self.recorded.get_or_init(|| store::recorded_interleaving(execution)).as_ref()?;
        self.by_line(Tactic::Recorded, model, line)
    }

    /// Decides a model by a run in the frame of `sc`, which several models share. Most executions of a correct memory
    /// have an interleaving. Where there is none because of a cycle, a model that implies `wsc` is refuted.
    pub(super) fn by_run(&self, model: Model) -> Attempt {
        let ran = if let Some(ran) = self.ran.get() {
            ran
        } else {
            let ran = rest::decide(&Frame::sequential(self.execution), &self.limits())?;
            self.ran.get_or_init(|| ran)
        };
        Ok(match ran {
            Answer::Found(line) => self.by_line(Tactic::Run, model, line),
            Answer::Refuted(cycle) if implies(model, Model::Wsc) => {
                Some(violation(Tactic::Run.name(), Evidence::Cycle(cycle.clone())))
            }
            Answer::Refuted(_) | Answer::Nothing => None,
        })
    }

    /// Looks for a memory order, or a cycle of the saturated order, in windows.
    pub(super) fn in_windows(&self, model: Model) -> Attempt {
        let (execution, is_weak, relaxation) = (self.execution, model.row().polynomial, tso::relaxation(model));
        let (limits, knobs) = (self.limits(), self.options.knobs.windows);
        let Some(size) = windows::size(execution, &knobs) else { return Ok(None) };
        // Two windows are in memory at a time.
        if check_room_for(&limits.budget, lanes(execution.thread_count()), 2 * size).is_err() {
            return Ok(None);
        }
        let deadlocks = if is_weak { (size / knobs.events_per_deadlock) as u64 } else { u64::MAX };
        Ok(match windows::decide(execution, relaxation, size, deadlocks, &limits)? {
            Answer::Found(line) => {
                let witness = || Evidence::MemoryOrder(store::operations(execution, &line));
                Some(consistent(Tactic::Windows.name(), self.options.witness.then(witness)))
            }
            Answer::Refuted(cycle) => Some(violation(Tactic::Windows.name(), Evidence::Cycle(cycle))),
            Answer::Nothing => None,
        })
    }
}

/// A line of all operations that explains all reads, as the witness of a model. `None` if the model has no witnesses of
/// this kind.
pub(super) fn line_witness(model: Model, line: Vec<OperationId>) -> Option<Evidence> {
    let kinds = model.row().consistent;
    if kinds.contains(&EvidenceKind::Interleaving) {
        Some(Evidence::Interleaving(line))
    } else {
        // A store buffer that is emptied at once behaves as an atomic memory.
        kinds.contains(&EvidenceKind::MemoryOrder).then_some(Evidence::MemoryOrder(line))
    }
}
