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
    /// Weak sequential consistency.
    Wsc,
    /// Sequential consistency.
    Sc,
}

impl Model {
    /// Every model, the weakest first.
    pub const ALL: [Self; 6] = [Self::Cc, Self::Ccv, Self::Cm, Self::Ccm, Self::Wsc, Self::Sc];

    /// The name on the command line and in certificates.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cc => "cc",
            Self::Ccv => "ccv",
            Self::Cm => "cm",
            Self::Ccm => "ccm",
            Self::Wsc => "wsc",
            Self::Sc => "sc",
        }
    }

    /// The model of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.name() == name)
    }

    /// One line that says what the model asks for.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Cc => "causal consistency: no read returns a value that its causal past has overwritten",
            Self::Ccv => "causal convergence: cc, and all threads agree on one order of conflicting writes",
            Self::Cm => "causal memory: each thread sees all it knows of in one order that explains its own reads",
            Self::Ccm => "convergent causal memory: cm and ccv in one order of writes that no read contradicts",
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
