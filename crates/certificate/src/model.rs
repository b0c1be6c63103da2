//! The names of the models: the vocabulary of what a certificate claims.

/// A consistency model that the checkers decide and certificates speak of. Defined exactly by the module of its
/// name in the `memory` crate.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Model {
    /// Causal consistency.
    Cc,
    /// Causal convergence.
    Ccv,
    /// Causal memory.
    Cm,
    /// Convergent causal memory.
    Ccm,
    /// SC per location.
    Coherence,
    /// Linearizability: of objects with calls and returns, and not a memory model.
    Linearizable,
    /// Sequential consistency of operations whose order of performance was observed: not of histories in general.
    ScObserved,
    /// Relaxed accesses of C11.
    Relaxed,
    /// RC20: C11 without sequentially consistent accesses.
    Rc20,
    /// Weak release-acquire.
    Wra,
    /// Release-acquire.
    Ra,
    /// Strong release-acquire.
    Sra,
    /// Weak sequential consistency.
    Wsc,
    /// Sequential consistency.
    Sc,
}

impl Model {
    /// Every memory model, the weakest first.
    pub const ALL: [Self; 12] = [
        Self::Coherence,
        Self::Cc,
        Self::Ccv,
        Self::Cm,
        Self::Ccm,
        Self::Relaxed,
        Self::Rc20,
        Self::Wra,
        Self::Ra,
        Self::Sra,
        Self::Wsc,
        Self::Sc,
    ];

    /// The models that ask for more than reads and writes in program order.
    pub const OTHERS: [Self; 2] = [Self::ScObserved, Self::Linearizable];

    /// The name on the command line and in certificates.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cc => "cc",
            Self::Ccv => "ccv",
            Self::Cm => "cm",
            Self::Ccm => "ccm",
            Self::Coherence => "coherence",
            Self::Linearizable => "linearizable",
            Self::ScObserved => "sc-observed",
            Self::Relaxed => "relaxed",
            Self::Rc20 => "rc20",
            Self::Wra => "wra",
            Self::Ra => "ra",
            Self::Sra => "sra",
            Self::Wsc => "wsc",
            Self::Sc => "sc",
        }
    }

    /// The model of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().chain(Self::OTHERS).find(|model| model.name() == name)
    }

    /// One line that says what the model asks for.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Cc => "causal consistency: no read returns a value that its causal past has overwritten",
            Self::Ccv => "causal convergence: cc, and all threads agree on one order of conflicting writes",
            Self::Cm => "causal memory: each thread sees all it knows of in one order that explains its own reads",
            Self::Ccm => "convergent causal memory: cm and ccv in one order of writes that no read contradicts",
            Self::Coherence => {
                "coherence, sc per location: each location by itself has one order that explains its reads"
            }
            Self::Linearizable => {
                "linearizability: every operation takes effect at a moment between its call and its return"
            }
            Self::ScObserved => {
                "sequential consistency of operations in the order in which they were performed, with their program order"
            }
            Self::Relaxed => "relaxed C11 accesses: each location is coherent by itself, and nothing out of thin air",
            Self::Rc20 => {
                "RC20, C11 without sc accesses: coherence along what releases, acquires and fences synchronise"
            }
            Self::Wra => "weak release-acquire: cc, and no two rmws read one write",
            Self::Ra => "release-acquire: every access synchronises, each location has a coherent order of its writes",
            Self::Sra => "strong release-acquire: ra, and the orders of all locations agree in one",
            Self::Wsc => {
                "weak sequential consistency: what reads force on the order of writes, and that on reads, has no cycle"
            }
            Self::Sc => "sequential consistency: one interleaving in which each read returns the last write",
        }
    }
}

impl std::fmt::Display for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
