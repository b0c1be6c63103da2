//! The models: the name and the definition of each, what it implies, and which evidence proves which verdict.
//!
//! All of this is in one [table](self), with a [`Row`] for each model. The checkers, the command and the verifier use
//! this table. (The oracle of the tests has a copy of its own, to be independent.) How a model is decided is no part of
//! it: that is the affair of the engines.
//!
//! ```
//! use model::Model;
//!
//! let tso = Model::from_name("tso").unwrap();
//! assert_eq!(tso, Model::Tso);
//! assert_eq!(tso.row().title, "total store order");
//! assert!(tso.row().implies.contains(&Model::Pso));
//! ```

mod isolation;
mod lattice;
mod rows;

use crate::evidence::{EvidenceKind, Verdict};
pub use isolation::{Isolation, Level, Sessions};
pub use lattice::{implications, implies};
pub use rows::Model;
use rows::ROWS;

/// The view of a history on which a model is defined.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// Reads and writes in program order, with reads-from: [`history::Execution`].
    Execution,
    /// Operations of an object, with their calls and returns.
    Calls,
    /// Operations in the order in which they were performed: [`history::performed`].
    Performed,
    /// Transactions of sessions: [`history::transactions`].
    Transactions,
}

impl View {
    /// In a word or two.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Execution => "reads and writes",
            Self::Calls => "calls and returns",
            Self::Performed => "operations in the order of performance",
            Self::Transactions => "transactions",
        }
    }
}

/// The models that share a definition and the engines that decide them.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// SC per location.
    Coherence,
    /// Causality: what the threads know.
    Causal,
    /// C11: modification orders, and synchronisation.
    C11,
    /// Threads with store buffers.
    StoreBuffers,
    /// One interleaving.
    Sequential,
    /// The order in which operations were performed.
    Observed,
    /// Objects with calls and returns.
    Objects,
    /// Database transactions.
    Transactions,
}

impl Family {
    /// The module with the exact definitions.
    pub const fn module(self) -> &'static str {
        match self {
            Self::Coherence => "memory::coherence",
            Self::Causal => "memory::causal",
            Self::C11 => "memory::c11",
            Self::StoreBuffers => "memory::tso",
            Self::Sequential => "memory::sc",
            Self::Observed => "memory::observed",
            Self::Objects => "object",
            Self::Transactions => "transaction",
        }
    }
}

/// What there is to say of a model.
#[derive(Copy, Clone, Debug)]
pub struct Row {
    /// The model.
    pub model: Model,
    /// The name on the command line and in certificates.
    pub name: &'static str,
    /// The name in words.
    pub title: &'static str,
    /// The definition, in one line.
    pub definition: &'static str,
    /// The models that it shares its definition and its engine with.
    pub family: Family,
    /// The view of a history on which it is defined.
    pub view: View,
    /// Whether it gives a meaning to sequentially consistent accesses and fences. If not, it fits only executions
    /// without them.
    pub sequential_accesses: bool,
    /// The next weaker models that it implies. The others follow by transitivity.
    pub implies: &'static [Model],
    /// Further models that it implies for executions without rmws (read-modify-writes).
    pub implies_without_rmws: &'static [Model],
    /// The evidence that may prove `consistent`.
    pub consistent: &'static [EvidenceKind],
    /// The evidence that may prove a violation.
    pub violation: &'static [EvidenceKind],
    /// Whether it is decided in polynomial time.
    pub polynomial: bool,
    /// Whether a monitor can check it on a stream of events.
    pub monitored: bool,
}

impl Row {
    /// Whether evidence of this kind may prove this verdict of the model.
    pub fn admits(&self, verdict: Verdict, kind: EvidenceKind) -> bool {
        match verdict {
            Verdict::Consistent => self.consistent.contains(&kind),
            Verdict::Violation => self.violation.contains(&kind),
            Verdict::Unknown => false,
        }
    }
}

/// How many models are defined on executions, or how many on other views.
const fn count(of_executions: bool) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < ROWS.len() {
        if matches!(ROWS[at].view, View::Execution) == of_executions {
            count += 1;
        }
        at += 1;
    }
    count
}

/// The models that are defined on executions, or those on other views.
const fn select<const N: usize>(of_executions: bool) -> [Model; N] {
    let mut models = [Model::Sc; N];
    let (mut at, mut count) = (0, 0);
    while at < ROWS.len() {
        if matches!(ROWS[at].view, View::Execution) == of_executions {
            models[count] = ROWS[at].model;
            count += 1;
        }
        at += 1;
    }
    models
}

impl Model {
    /// Every memory model, the weakest first.
    pub const ALL: [Self; count(true)] = select(true);

    /// The models whose histories have more than reads and writes in program order.
    pub const OTHERS: [Self; count(false)] = select(false);

    /// Every model: first the memory models, then the others.
    pub fn every() -> impl DoubleEndedIterator<Item = Self> {
        ROWS.iter().map(|row| row.model)
    }

    /// The row of the model in the table.
    pub const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The name on the command line and in certificates.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The model of that name, or of a short form of it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::every().find(|model| model.name() == name || model.aliases().any(|alias| alias == name))
    }

    /// The short forms of its name.
    pub fn aliases(self) -> impl Iterator<Item = &'static str> {
        self.isolation().into_iter().flat_map(Isolation::aliases)
    }

    /// The isolation level, if it is one.
    pub fn isolation(self) -> Option<Isolation> {
        Isolation::all().find(|isolation| isolation.model() == self)
    }

    /// The title and the definition, in one line.
    pub fn summary(self) -> String {
        format!("{}: {}", self.row().title, self.row().definition)
    }
}

impl std::fmt::Display for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Model, View, implies};

    #[test]
    fn names_are_unique_and_found_again() {
        let names: BTreeSet<&str> = Model::every().map(Model::name).collect();
        assert_eq!(names.len(), Model::every().count());
        assert!(Model::every().all(|model| Model::from_name(model.name()) == Some(model)));
        assert!(Model::every().eq(Model::ALL.into_iter().chain(Model::OTHERS)));
    }

    /// Where a value was written twice, no source is offered that a thread by itself forbids. That is right for all
    /// memory models, since each implies one of these two (`history::OpenExecution`).
    #[test]
    fn every_memory_model_implies_coherence_or_cc() {
        for model in Model::every().filter(|model| model.row().view == View::Execution) {
            assert!(implies(model, Model::Coherence) || implies(model, Model::Cc), "{model}");
        }
    }

    /// No model implies itself through other models, and no row states an implication that follows from the others.
    #[test]
    fn implications_lead_from_the_stronger_to_the_weaker() {
        // For each model, by its number: all models that it implies, by transitivity.
        let mut implied: Vec<BTreeSet<Model>> =
            Model::every().map(|model| model.row().implies.iter().copied().collect()).collect();
        for _ in Model::every() {
            for model in Model::every() {
                let further: Vec<Model> =
                    implied[model as usize].iter().flat_map(|&weaker| implied[weaker as usize].clone()).collect();
                implied[model as usize].extend(further);
            }
        }
        for model in Model::every() {
            let row = model.row();
            assert!(!implied[model as usize].contains(&model), "{model}");
            for &weaker in row.implies {
                let follows = row.implies.iter().any(|&other| implied[other as usize].contains(&weaker));
                assert!(!follows, "{model} => {weaker}");
            }
            let has_lattice = matches!(row.view, View::Execution | View::Transactions);
            assert!(has_lattice || row.implies.is_empty(), "{model}");
            assert!(row.implies.iter().all(|weaker| weaker.row().view == row.view), "{model}");
        }
    }
}
