//! The tactics: the ways to decide a memory model. Each has a name, a precondition and a cost.
//!
//! The [row](super::Row) of a model lists its tactics in the order in which they are tried. The `memory` crate carries
//! them out. A tactic either gives a verdict, which is exact, or none. The flag `--strategy` accepts the name of a
//! tactic, and a [decision](crate::Decision) has it as its `strategy`.

/// A way to decide a model.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Tactic {
    /// A read from thin air refutes every model.
    ReadsFrom,
    /// The order of the operations in the file explains all reads.
    Recorded,
    /// `sc` holds, and it implies the model.
    Sc,
    /// A search for an interleaving: a run, and where it is stuck, one window of the execution after the other.
    Windows,
    /// `wtso` holds, and it implies the model.
    Wtso,
    /// `wsc` holds, and it implies the model.
    Wsc,
    /// `ccm` holds, and it implies the model.
    Ccm,
    /// `ccv` fails, and the model implies it.
    Ccv,
    /// `sra` fails, and the model implies it.
    Sra,
    /// Each component of the execution by itself: no read connects their threads.
    Components,
    /// A thread by itself breaks coherence.
    Coherence,
    /// Threads take turns. Where all of them wait, guesses say which writes are turned round.
    Run,
    /// The part of the store order that the reads force.
    Saturation,
    /// `sc`: saturation, then the search.
    WscSearch,
    /// `tso`: saturation, then the search.
    WtsoSearch,
    /// `pso`: saturation, then the search.
    WpsoSearch,
    /// `tso` holds, and it implies the model.
    Tso,
    /// Vector clocks of causality.
    Clocks,
    /// The orders of what each thread knows.
    Views,
    /// The order of the chains of rmws of each location.
    Chains,
    /// Vector clocks of what happens before, then the order of the chains.
    ClocksChains,
    /// `sra` with rmws: clocks, saturation, then two searches in turn.
    SaturationSearch,
    /// `c20`: a modification order, the cycles of `psc` that it closes, and another one.
    PscSearch,
    /// The constraint graph of operations whose order was observed.
    ConstraintGraph,
    /// `sc`: saturation, then a SAT solver over the open pairs of writes.
    WscSat,
    /// `sc`: the partial store order `pww` of `ccm`, then a SAT solver over the open pairs of writes.
    CcmSat,
    /// `sc`: `pww` of `ccm`, then backtracking over the open pairs.
    CcmEnum,
    /// `sc`: the search over the frontiers of threads, without saturation.
    Dbcop,
    /// `tso`: saturation, then a SAT solver.
    WtsoSat,
    /// `tso`: `wpww` of `wccm`, then a SAT solver.
    WccmSat,
    /// `tso`: `wpww` of `wccm`, then backtracking.
    WccmEnum,
    /// `pso`: saturation, then a SAT solver.
    WpsoSat,
    /// `tso`, `pso`: the search over the states of the machine, without saturation.
    Machine,
    /// A SAT solver on the axioms, written down as clauses.
    Sat,
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

/// The entry of a tactic in the table.
#[derive(Copy, Clone, Debug)]
struct Entry {
    tactic: Tactic,
    name: &'static str,
    /// What the tactic does, in one line.
    help: &'static str,
    /// When the tactic decides. Otherwise it gives no verdict.
    precondition: &'static str,
    cost: Cost,
}

/// The precondition of a tactic that has none.
const ALWAYS: &str = "always, within the limits of time and memory";

/// All tactics, in the order of their declaration.
static ENTRIES: [Entry; 34] = [
    Entry {
        tactic: Tactic::ReadsFrom,
        name: "reads-from",
        help: "looks for a read of a value that nobody wrote",
        precondition: "a read returned a value that nobody wrote",
        cost: Cost::Linear,
    },
    Entry {
        tactic: Tactic::Recorded,
        name: "recorded",
        help: "tries the order of the operations in the file",
        precondition: "that order explains all reads and, if a witness is wanted, is a witness of the model",
        cost: Cost::Linear,
    },
    Entry {
        tactic: Tactic::Sc,
        name: "sc",
        help: "decides sc, which implies the model",
        precondition: "sc holds, and an interleaving is a witness of the model if one is wanted. Unless it is asked \
                       for by name, sc must have been decided before",
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::Windows,
        name: "windows",
        help: "searches for an interleaving: a run, and one window after the other where it is stuck",
        precondition: "the execution is long for its number of threads, and the windows show an interleaving \
                       or, for tso and pso, a memory order; for sc, tso, pso and their weak forms, or a cycle",
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::Wtso,
        name: "wtso",
        help: "decides wtso, which implies the model; a memory order found on the way also proves pso",
        precondition: "wtso holds; for pso, its saturation also finds a memory order",
        cost: Cost::Polynomial,
    },
    Entry {
        tactic: Tactic::Wsc,
        name: "wsc",
        help: "decides wsc, which implies the model",
        precondition: "wsc holds",
        cost: Cost::Polynomial,
    },
    Entry {
        tactic: Tactic::Ccm,
        name: "ccm",
        help: "decides ccm, which implies the model",
        precondition: "ccm holds",
        cost: Cost::Polynomial,
    },
    Entry {
        tactic: Tactic::Ccv,
        name: "ccv",
        help: "decides ccv, which the model implies",
        precondition: "ccv is violated, and no read returns a later write of its own thread",
        cost: Cost::Clocks,
    },
    Entry {
        tactic: Tactic::Sra,
        name: "sra",
        help: "decides sra, which the model implies",
        precondition: "there are read-modify-writes, and a cycle or lemmas refute sra",
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::Components,
        name: "components",
        help: "decides each component of the execution by itself; no read connects the threads of two components",
        precondition: "there are several components, and each is decided, or one is a violation",
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::Coherence,
        name: "coherence",
        help: "looks for a thread that does not see its own last write",
        precondition: "a single thread contradicts the model",
        cost: Cost::Linear,
    },
    Entry {
        tactic: Tactic::Run,
        name: "run",
        help: "lets threads take turns, and guesses which writes to turn round where all threads wait",
        precondition: "few guesses lead to a run that explains all reads",
        cost: Cost::Linear,
    },
    Entry {
        tactic: Tactic::Saturation,
        name: "saturation",
        help: "derives the part of the order of writes that the reads force",
        precondition: "the model is a weak one, or that order has a cycle, or nothing had to be chosen",
        cost: Cost::Polynomial,
    },
    Entry {
        tactic: Tactic::WscSearch,
        name: "wsc+search",
        help: "saturation, then the search for an interleaving",
        precondition: ALWAYS,
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::WtsoSearch,
        name: "wtso+search",
        help: "saturation, then the search for a memory order",
        precondition: ALWAYS,
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::WpsoSearch,
        name: "wpso+search",
        help: "saturation, then the search for a memory order",
        precondition: ALWAYS,
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::Tso,
        name: "tso",
        help: "decides tso, which implies pso",
        precondition: "tso holds",
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::Clocks,
        name: "clocks",
        help: "vector clocks of what happens before",
        precondition: "the model is not sra, or there are no read-modify-writes",
        cost: Cost::Clocks,
    },
    Entry {
        tactic: Tactic::Views,
        name: "views",
        help: "what each thread knows, closed under the order that its reads force",
        precondition: ALWAYS,
        cost: Cost::Polynomial,
    },
    Entry {
        tactic: Tactic::Chains,
        name: "chains",
        help: "for each location, an order of its chains of read-modify-writes",
        precondition: ALWAYS,
        cost: Cost::Linear,
    },
    Entry {
        tactic: Tactic::ClocksChains,
        name: "clocks+chains",
        help: "vector clocks of what happens before, then the order of the chains",
        precondition: "the model is not c20, or nothing is sequentially consistent, or rc20 fails without that",
        cost: Cost::Clocks,
    },
    Entry {
        tactic: Tactic::SaturationSearch,
        name: "saturation+search",
        help: "clocks, saturation, then two searches in turn",
        precondition: "there are read-modify-writes",
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::PscSearch,
        name: "psc+search",
        help: "a modification order, and another one as long as it closes a cycle of psc",
        precondition: ALWAYS,
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::ConstraintGraph,
        name: "constraint-graph",
        help: "the graph of program order and of the order in which operations were performed",
        precondition: ALWAYS,
        cost: Cost::Linear,
    },
    Entry {
        tactic: Tactic::WscSat,
        name: "wsc+sat",
        help: "saturation, then a SAT solver over the open pairs of writes",
        precondition: "not too many pairs are open",
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::CcmSat,
        name: "ccm+sat",
        help: "the partial store order of ccm, then a SAT solver over the open pairs of writes",
        precondition: "not too many pairs are open",
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::CcmEnum,
        name: "ccm+enum",
        help: "the partial store order of ccm, then backtracking over the open pairs of writes",
        precondition: "not too many pairs are open",
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::Dbcop,
        name: "dbcop",
        help: "a search over the states of the execution: how far each thread has come",
        precondition: ALWAYS,
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::WtsoSat,
        name: "wtso+sat",
        help: "saturation, then a SAT solver over the open pairs of writes",
        precondition: "not too many pairs are open",
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::WccmSat,
        name: "wccm+sat",
        help: "the partial store order of wccm, then a SAT solver over the open pairs of writes",
        precondition: "not too many pairs are open",
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::WccmEnum,
        name: "wccm+enum",
        help: "the partial store order of wccm, then backtracking over the open pairs of writes",
        precondition: "not too many pairs are open",
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::WpsoSat,
        name: "wpso+sat",
        help: "saturation, then a SAT solver over the open pairs of writes",
        precondition: "not too many pairs are open",
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::Machine,
        name: "machine",
        help: "a search over the states of the machine",
        precondition: ALWAYS,
        cost: Cost::Search,
    },
    Entry {
        tactic: Tactic::Sat,
        name: "sat",
        help: "a SAT solver on the axioms of the model as clauses",
        precondition: "the execution has few events: the number of clauses is cubic in them",
        cost: Cost::Search,
    },
];

const _: () = {
    let mut at = 0;
    while at < ENTRIES.len() {
        assert!(ENTRIES[at].tactic as usize == at, "the entries are in the order of the tactics");
        at += 1;
    }
};

impl Tactic {
    /// Every tactic.
    pub fn all() -> impl Iterator<Item = Self> {
        ENTRIES.iter().map(|entry| entry.tactic)
    }

    fn entry(self) -> &'static Entry {
        &ENTRIES[self as usize]
    }

    /// The name on the command line and in decisions.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// The tactic of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|tactic| tactic.name() == name)
    }

    /// What the tactic does, in one line.
    pub fn help(self) -> &'static str {
        self.entry().help
    }

    /// When the tactic decides. Otherwise it gives no verdict.
    pub fn precondition(self) -> &'static str {
        self.entry().precondition
    }

    /// The time that the tactic takes.
    pub fn cost(self) -> Cost {
        self.entry().cost
    }

    /// Whether it is one of the slow tactics of the papers, which are here for comparison. The crate `baseline` carries
    /// them out.
    pub const fn is_baseline(self) -> bool {
        matches!(self, Self::CcmEnum | Self::WccmEnum | Self::Dbcop | Self::Machine | Self::Sat)
    }

    /// Whether the crate `memory` carries out the tactic, and asks a SAT solver. That needs its feature `sat`.
    pub const fn needs_solver(self) -> bool {
        matches!(self, Self::WscSat | Self::CcmSat | Self::WtsoSat | Self::WccmSat | Self::WpsoSat)
    }

    /// The other model that the tactic decides: one that implies the model, or one that the model implies.
    pub const fn other(self) -> Option<super::Model> {
        match self {
            Self::Sc => Some(super::Model::Sc),
            Self::Wsc => Some(super::Model::Wsc),
            Self::Tso => Some(super::Model::Tso),
            Self::Wtso => Some(super::Model::Wtso),
            Self::Ccm => Some(super::Model::Ccm),
            Self::Ccv => Some(super::Model::Ccv),
            Self::Sra => Some(super::Model::Sra),
            _ => None,
        }
    }

    /// Whether it may pause when the steps of its turn are used up, and go on in a later turn.
    pub const fn takes_turns(self) -> bool {
        let is_search = matches!(
            self,
            Self::WscSearch | Self::WtsoSearch | Self::WpsoSearch | Self::SaturationSearch | Self::PscSearch
        );
        is_search || matches!(self, Self::Components) || self.other().is_some() && !matches!(self, Self::Sc)
    }

    /// The models that it is a way to decide.
    pub fn models(self) -> impl Iterator<Item = super::Model> {
        super::Model::every().filter(move |model| model.row().speaks(self))
    }
}

impl std::fmt::Display for Tactic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
