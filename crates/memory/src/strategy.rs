//! Strategies: which tactics may decide a model.

use certificate::{GaveUp, Interrupt, Model, Tactic, View};

use crate::store::choices::Choices;
use crate::store::frame::Frame;

/// A strategy. A model that the strategy does not [speak of](Self::speaks_of) is decided by [`Auto`](Self::Auto).
///
/// A decision names the tactic that decided it. The strategy of that tactic alone reaches the same decision again.
#[derive(Copy, Clone, Debug, Default)]
#[non_exhaustive]
pub enum Strategy {
    /// The tactics of the model's [row](certificate::model::Row), one after the other, until one of them decides.
    #[default]
    Auto,
    /// One tactic alone. If the tactic does not decide, the verdict is `unknown`.
    Only(Tactic),
    /// One tactic alone, which another crate carries out: a slow tactic of the papers, for comparison.
    Baseline(Tactic, Baseline),
}

/// A function of another crate that looks for a line: all events in an order that explains the reads. If there is no
/// line, the search of this crate proves it, since every violation needs evidence.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub enum Baseline {
    /// The function is given the frame of the model.
    OfFrame(fn(&Frame<'_>, Interrupt) -> Line),
    /// The function is given the pairs of writes that a partial store order of the causal family leaves open.
    OfChoices(fn(&Choices<'_>, Interrupt) -> Line),
}

/// A line: all events in an order that explains the reads, or `None` if there is no such order.
pub type Line = Result<Option<Vec<u32>>, GaveUp>;

/// Strategies are equal if they have the same name.
impl PartialEq for Strategy {
    fn eq(&self, other: &Self) -> bool {
        self.tactic() == other.tactic()
    }
}

impl Eq for Strategy {}

impl Strategy {
    /// Every strategy of this crate. The baselines of other crates are not among them. Those with a SAT solver need
    /// the feature `sat`.
    pub fn all() -> impl Iterator<Item = Self> {
        let is_built_in = |tactic: &Tactic| !tactic.is_baseline() && (cfg!(feature = "sat") || !tactic.needs_solver());
        let tactics = Tactic::all().filter(is_built_in).map(Self::Only);
        std::iter::once(Self::Auto).chain(tactics)
    }

    /// The tactic, if the strategy is one tactic alone.
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

    /// The strategy of that name, if this crate has one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|strategy| strategy.name() == name)
    }

    /// Whether the strategy says how a model is decided.
    pub fn speaks_of(self, model: Model) -> bool {
        match self.tactic() {
            None => model.row().view == View::Execution,
            Some(tactic) => model.row().speaks(tactic),
        }
    }
}
