//! Which of the ways to decide a model are taken.

use certificate::{GaveUp, Interrupt, Model, Tactic, View};

use crate::store::choices::Choices;
use crate::store::frame::Frame;

/// A strategy. Where it does not [speak of](Self::speaks_of) a model, that model is decided by [`Auto`](Self::Auto).
///
/// A decision names the tactic that decided, and that tactic alone decides the same again.
#[derive(Copy, Clone, Debug, Default)]
#[non_exhaustive]
pub enum Strategy {
    /// The tactics of the model's [row](certificate::model::Row), one after the other, until one decides.
    #[default]
    Auto,
    /// One tactic alone. If it says nothing, the verdict is `unknown`.
    Only(Tactic),
    /// A tactic alone that another crate carries out: a slow one of the papers, to compare.
    Baseline(Tactic, Baseline),
}

/// How a tactic of another crate looks for a line of all events that explains the reads. If there is none, the search
/// of this crate proves that: a verdict without evidence is none.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub enum Baseline {
    /// Given the frame of the model.
    OfFrame(fn(&Frame<'_>, Interrupt) -> Line),
    /// Given what a partial store order of the causal family leaves open.
    OfChoices(fn(&Choices<'_>, Interrupt) -> Line),
}

/// All events in an order that explains the reads, if there is one.
pub type Line = Result<Option<Vec<u32>>, GaveUp>;

/// Whether they name the same.
impl PartialEq for Strategy {
    fn eq(&self, other: &Self) -> bool {
        self.tactic() == other.tactic()
    }
}

impl Eq for Strategy {}

impl Strategy {
    /// Every strategy of this crate. The baselines of others are not among them, and those with a SAT solver only with
    /// the feature `sat`.
    pub fn all() -> impl Iterator<Item = Self> {
        let is_built_in = |tactic: &Tactic| !tactic.is_baseline() && (cfg!(feature = "sat") || !tactic.needs_solver());
        let tactics = Tactic::all().filter(is_built_in).map(Self::Only);
        std::iter::once(Self::Auto).chain(tactics)
    }

    /// The tactic, if it is one alone.
    pub const fn tactic(self) -> Option<Tactic> {
        match self {
            Self::Auto => None,
            Self::Only(tactic) | Self::Baseline(tactic, _) => Some(tactic),
        }
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.tactic().map_or("auto", Tactic::name)
    }

    /// The strategy of that name, if it is one of this crate.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|strategy| strategy.name() == name)
    }

    /// Whether it says how a model is decided.
    pub fn speaks_of(self, model: Model) -> bool {
        match self.tactic() {
            None => model.row().view == View::Execution,
            Some(tactic) => model.row().speaks(tactic),
        }
    }
}
