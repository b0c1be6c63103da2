//! What an engine may use, and its knobs: the two things that a caller hands down to every engine.

use model::Budget;

use crate::Knobs;

/// What an engine may use, and its knobs. They never change a verdict, except to or from `unknown`. Tests turn knobs
/// down, so that every method runs on small executions, too.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// What may be used. What would need more is `unknown`.
    pub budget: Budget,
    /// The knobs.
    pub knobs: Knobs,
}

impl From<&Budget> for Limits {
    fn from(budget: &Budget) -> Self {
        Self { budget: budget.clone(), ..Self::default() }
    }
}
