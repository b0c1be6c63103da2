//! The tactics: the ways to decide a memory model, and which of them are tried for which model, in which order.
//!
//! A tactic either gives a verdict, which is exact, or none. So the order of a row changes what a verdict costs, never
//! the verdict. The last tactic of a row decides always, within the limits of time and memory.

use std::borrow::Cow;

use model::{Model, implies};

/// A way to decide a memory model.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Tactic {
    /// A read from thin air refutes every model.
    ReadsFrom,
    /// The order of the operations in the file explains all reads.
    Recorded,
    /// Another model: one that holds and implies the model, or one that fails and that the model implies.
    Model(Model),
    /// Each component of the execution by itself: no read connects their threads.
    Components,
    /// A thread by itself breaks coherence.
    Coherence,
    /// Threads take turns. Where all of them wait, guesses say which writes are turned round.
    Run,
    /// `pso`: a search for a memory order, one window of the execution after the other.
    Windows,
    /// The part of the store order that the reads force.
    Saturation,
    /// The search over what is left open.
    Search,
    /// Vector clocks of causality.
    Clocks,
    /// The orders of what each thread knows.
    Views,
    /// The order of the chains of rmws of each location.
    Chains,
    /// Vector clocks of what happens before, then the order of the chains.
    ClocksChains,
    /// The constraint graph of operations whose order was observed.
    ConstraintGraph,
}

/// The time that a tactic takes, for n events of k threads.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Cost {
    /// One pass over the events: about n.
    Linear,
    /// A vector clock for each event: about n times k.
    Clocks,
    /// A polynomial in n and k.
    Polynomial,
    /// Exponential at worst.
    Search,
}

impl Cost {
    /// The name that is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Clocks => "clocks",
            Self::Polynomial => "polynomial",
            Self::Search => "search",
        }
    }
}

const SC: Tactic = Tactic::Model(Model::Sc);
const WSC: Tactic = Tactic::Model(Model::Wsc);
const TSO: Tactic = Tactic::Model(Model::Tso);
const WTSO: Tactic = Tactic::Model(Model::Wtso);
const CCM: Tactic = Tactic::Model(Model::Ccm);
const CCV: Tactic = Tactic::Model(Model::Ccv);
const SRA: Tactic = Tactic::Model(Model::Sra);

/// The tactics that decide a model, in the order in which they are tried. There are none for a model that is decided by
/// another crate.
///
/// ```
/// use memory::{Tactic, tactics};
/// use model::Model;
///
/// assert_eq!(tactics(Model::Sc).first(), Some(&Tactic::ReadsFrom));
/// assert!(tactics(Model::Linearizable).is_empty());
/// ```
pub const fn tactics(model: Model) -> &'static [Tactic] {
    use Tactic::{
        Chains, Clocks, ClocksChains, Coherence, Components, ConstraintGraph, ReadsFrom, Recorded, Run, Saturation,
        Search, Views, Windows,
    };
    match model {
        Model::Coherence | Model::Relaxed => &[ReadsFrom, Recorded, SC, Chains],
        Model::Cc | Model::Ccv | Model::Wra => &[ReadsFrom, Recorded, SC, Components, Clocks],
        Model::Cm => &[ReadsFrom, Recorded, SC, Components, Views],
        Model::Ccm => &[ReadsFrom, Recorded, SC, Components, Run, WSC, CCV, Views],
        Model::Rc20 | Model::Ra => &[ReadsFrom, Recorded, SC, Components, ClocksChains],
        Model::C20 | Model::Rc11 => &[ReadsFrom, Recorded, SC, Components, ClocksChains, Search],
        Model::Sra => &[ReadsFrom, Recorded, SC, Components, Clocks, Search],
        Model::Wpso => &[ReadsFrom, Recorded, SC, Components, Coherence, Run, Windows, WTSO, Saturation],
        Model::Pso => &[ReadsFrom, Recorded, SC, Components, Coherence, Run, Windows, WTSO, Saturation, Search, TSO],
        Model::Wccm => &[ReadsFrom, Recorded, SC, Components, Run, WSC, CCV, WTSO, CCM, Views],
        Model::Wtso => &[ReadsFrom, Recorded, SC, Components, Coherence, Run, Saturation],
        Model::Tso => &[ReadsFrom, Recorded, SC, Components, Coherence, Run, Saturation, Search],
        Model::Wsc => &[ReadsFrom, Recorded, SC, Components, Run, Saturation],
        Model::Sc => &[ReadsFrom, Recorded, Components, Run, Saturation, Search, SRA],
        Model::ScObserved => &[ConstraintGraph],
        _ => &[],
    }
}

/// Names that a tactic had before. `--strategy` still takes them.
const ALIASES: [(&str, Tactic); 5] = [
    ("wsc+search", Tactic::Search),
    ("wtso+search", Tactic::Search),
    ("wpso+search", Tactic::Search),
    ("saturation+search", Tactic::Search),
    ("psc+search", Tactic::Search),
];

/// The precondition of a tactic that has none.
const ALWAYS: &str = "always, within the limits of time and memory";

impl Tactic {
    /// Every tactic.
    pub const ALL: [Self; 20] = [
        Self::ReadsFrom,
        Self::Recorded,
        SC,
        WSC,
        TSO,
        WTSO,
        CCM,
        CCV,
        SRA,
        Self::Components,
        Self::Coherence,
        Self::Run,
        Self::Windows,
        Self::Saturation,
        Self::Search,
        Self::Clocks,
        Self::Views,
        Self::Chains,
        Self::ClocksChains,
        Self::ConstraintGraph,
    ];

    /// The name on the command line and in decisions.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadsFrom => "reads-from",
            Self::Recorded => "recorded",
            Self::Model(other) => other.name(),
            Self::Components => "components",
            Self::Coherence => "coherence",
            Self::Run => "run",
            Self::Windows => "windows",
            Self::Saturation => "saturation",
            Self::Search => "search",
            Self::Clocks => "clocks",
            Self::Views => "views",
            Self::Chains => "chains",
            Self::ClocksChains => "clocks+chains",
            Self::ConstraintGraph => "constraint-graph",
        }
    }

    /// The names that it had before.
    pub fn aliases(self) -> impl Iterator<Item = &'static str> {
        ALIASES.into_iter().filter(move |(_, tactic)| *tactic == self).map(|(name, _)| name)
    }

    /// The tactic of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tactic| tactic.name() == name || tactic.aliases().any(|alias| alias == name))
    }

    /// What the tactic does, in one line.
    pub fn help(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::ReadsFrom => "looks for a read of a value that nobody wrote",
            Self::Recorded => "tries the order of the operations in the file",
            Self::Model(other) if self.is_stronger() => {
                return format!("decides {other}, which implies the model").into();
            }
            Self::Model(other) => return format!("decides {other}, which the model implies").into(),
            Self::Components => {
                "decides each component of the execution by itself; no read connects the threads of two components"
            }
            Self::Coherence => "looks for a thread that does not see its own last write",
            Self::Run => "lets threads take turns, and guesses which writes to turn round where all threads wait",
            Self::Windows => "searches for a memory order, one window of the execution after the other",
            Self::Saturation => "derives the part of the order of writes that the reads force",
            Self::Search => "saturation, then the search over what is left open",
            Self::Clocks => "vector clocks of what happens before",
            Self::Views => "what each thread knows, closed under the order that its reads force",
            Self::Chains => "for each location, an order of its chains of read-modify-writes",
            Self::ClocksChains => "vector clocks of what happens before, then the order of the chains",
            Self::ConstraintGraph => "the graph of program order and of the order in which operations were performed",
        })
    }

    /// When the tactic decides. Otherwise it gives no verdict.
    pub fn precondition(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::ReadsFrom => "a read returned a value that nobody wrote",
            Self::Recorded => "that order explains all reads and, if a witness is wanted, is a witness of the model",
            Self::Model(Model::Sc) => {
                "sc holds, and an interleaving is a witness of the model if one is wanted. Unless it is asked for by \
                 name, sc must have been decided before"
            }
            Self::Model(Model::Wtso) => "wtso holds; for pso, its saturation also finds a memory order",
            Self::Model(Model::Ccv) => "ccv is violated, and no read returns a later write of its own thread",
            Self::Model(Model::Sra) => "there are read-modify-writes, and a cycle or lemmas refute sra",
            Self::Model(other) if self.is_stronger() => return format!("{other} holds").into(),
            Self::Model(other) => return format!("{other} is violated").into(),
            Self::Components => "there are several components, and each is decided, or one is a violation",
            Self::Coherence => "a single thread contradicts the model",
            Self::Run => "few guesses lead to a run that explains all reads; for ccm, wccm and wsc, to an interleaving",
            Self::Windows => "the execution is not short, and the windows show a memory order or a cycle",
            Self::Saturation => "the model is a weak one, or that order has a cycle, or nothing had to be chosen",
            Self::Clocks => "the model is not sra, or there are no read-modify-writes",
            Self::ClocksChains => {
                "the model is not c20 or rc11, or nothing is sequentially consistent and no release sequence is \
                 longer, or rc20 fails without that"
            }
            Self::Search | Self::Views | Self::Chains | Self::ConstraintGraph => ALWAYS,
        })
    }

    /// The time that the tactic takes. Another model takes as long as the last tactic of its row.
    pub fn cost(self) -> Cost {
        match self {
            Self::ReadsFrom | Self::Recorded | Self::Coherence | Self::Run | Self::Chains | Self::ConstraintGraph => {
                Cost::Linear
            }
            Self::Clocks | Self::ClocksChains => Cost::Clocks,
            Self::Saturation | Self::Views => Cost::Polynomial,
            Self::Components | Self::Windows | Self::Search => Cost::Search,
            Self::Model(other) => {
                tactics(other).iter().rev().find(|it| it.other().is_none()).map_or(Cost::Search, |it| it.cost())
            }
        }
    }

    /// The other model that the tactic decides: one that implies the model, or one that the model implies.
    pub const fn other(self) -> Option<Model> {
        match self {
            Self::Model(other) => Some(other),
            _ => None,
        }
    }

    /// Whether it decides another model that implies those it is for. (`pso` has its memory order from `wtso`, which
    /// does not imply it.)
    fn is_stronger(self) -> bool {
        self.other().is_some_and(|other| self.models().any(|model| implies(other, model)))
    }

    /// Whether it may pause when the steps of its turn are used up, and go on in a later turn. (What is known of `sc`
    /// is looked up, in no time.)
    pub(crate) const fn takes_turns(self) -> bool {
        match self {
            Self::Search | Self::Components => true,
            Self::Model(other) => !matches!(other, Model::Sc),
            _ => false,
        }
    }

    /// The models that it is a way to decide.
    pub fn models(self) -> impl Iterator<Item = Model> {
        Model::every().filter(move |&model| tactics(model).contains(&self))
    }
}

impl std::fmt::Display for Tactic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use model::View;

    use super::*;

    #[test]
    fn names_are_unique_and_found_again() {
        let names: BTreeSet<&str> = Tactic::ALL.into_iter().flat_map(|it| it.aliases().chain([it.name()])).collect();
        assert_eq!(names.len(), Tactic::ALL.len() + ALIASES.len());
        assert!(Tactic::ALL.into_iter().all(|tactic| Tactic::from_name(tactic.name()) == Some(tactic)));
        assert_eq!(Tactic::from_name("wtso+search"), Some(Tactic::Search));
    }

    #[test]
    fn tactics_are_tried_once_and_a_read_from_thin_air_comes_first() {
        for model in Model::every() {
            let row = tactics(model);
            assert_eq!(row.iter().collect::<BTreeSet<_>>().len(), row.len(), "{model}");
            assert!(row.iter().all(|tactic| Tactic::ALL.contains(tactic)), "{model}");
            match model.row().view {
                View::Execution => assert_eq!(row[0], Tactic::ReadsFrom, "{model}"),
                view => assert_eq!(row.is_empty(), view != View::Performed, "{model}"),
            }
            // If a model is decided in polynomial time, its last tactic takes polynomial time.
            let engine = row.last().map(|tactic| tactic.cost());
            assert!(row.is_empty() || model.row().polynomial == (engine < Some(Cost::Search)), "{model}");
        }
        assert!(Tactic::ALL.into_iter().all(|tactic| tactic.models().next().is_some()), "a tactic is for no model");
    }

    /// Another model either implies models whose rows have it, or is implied by them.
    #[test]
    fn another_model_is_stronger_or_weaker() {
        for tactic in Tactic::ALL {
            let Some(other) = tactic.other() else { continue };
            let is_weaker = tactic.models().any(|model| implies(model, other));
            assert!(is_weaker != tactic.is_stronger(), "{tactic}");
        }
    }
}
