//! What is known of the models of an execution while they are decided one after the other.

use model::{Model, Verdict};

/// The verdicts of some models: one bit for each model that holds, and one for each that fails.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Verdicts {
    holds: u64,
    fails: u64,
}

impl Verdicts {
    /// Notes a verdict. An unknown one says nothing.
    pub(crate) fn note(&mut self, model: Model, verdict: Verdict) {
        match verdict {
            Verdict::Consistent => self.holds |= bit(model),
            Verdict::Violation => self.fails |= bit(model),
            Verdict::Unknown => {}
        }
    }

    /// The verdict of a model, if it was noted.
    pub(crate) fn of(self, model: Model) -> Option<Verdict> {
        if self.holds & bit(model) != 0 {
            Some(Verdict::Consistent)
        } else {
            (self.fails & bit(model) != 0).then_some(Verdict::Violation)
        }
    }
}

/// The bit of a model, by its number in the table.
const fn bit(model: Model) -> u64 {
    1 << model as u64
}
