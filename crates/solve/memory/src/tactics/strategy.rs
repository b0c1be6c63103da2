//! Strategies: which tactics may decide a model. Either all that the [table](super::table) has for it, or one alone.

use model::{Model, View};

use super::table::{Tactic, tactics};

/// A strategy. A model that the strategy does not [speak of](Self::speaks_of) is decided by [`Auto`](Self::Auto).
///
/// A decision names the tactic that decided it. The strategy of that tactic alone reaches the same decision again.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// The [tactics] of the model, one after the other, until one of them decides.
    #[default]
    Auto,
    /// One tactic alone. If the tactic does not decide, the verdict is `unknown`.
    Only(Tactic),
}

impl Strategy {
    /// Every strategy.
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::Auto).chain(Tactic::ALL.into_iter().map(Self::Only))
    }

    /// The tactic, if the strategy is one tactic alone.
    pub const fn tactic(self) -> Option<Tactic> {
        match self {
            Self::Auto => None,
            Self::Only(tactic) => Some(tactic),
        }
    }

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Only(tactic) => tactic.name(),
        }
    }

    /// The strategy of that name: a tactic may also have its former names.
    pub fn from_name(name: &str) -> Option<Self> {
        if name == Self::Auto.name() { Some(Self::Auto) } else { Tactic::from_name(name).map(Self::Only) }
    }

    /// Whether the strategy says how a model is decided.
    pub fn speaks_of(self, model: Model) -> bool {
        match self {
            Self::Auto => model.row().view == View::Execution,
            Self::Only(tactic) => tactics(model).contains(&tactic),
        }
    }
}
