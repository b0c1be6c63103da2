//! The models, and the rules that each is made of; and the names of `loom::model`.

use std::fmt;

pub use crate::native::loom::{Builder, MAX_THREADS, explore, skip_branch, stop_exploring};
pub use crate::native::model;

/// A memory model under which a program can be explored. `docs/models.md` and `docs/programs.md` define them.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Model {
    /// `rc20` with sequentially consistent accesses and fences: C++20 as compilers and processors do it.
    C20,
    /// The same with the longer release sequences of RC11.
    Rc11,
    /// Release-acquire and relaxed accesses of C++20. It has no sequentially consistent accesses.
    Rc20,
    /// Every access releases and acquires.
    Ra,
    /// Release-acquire whose modification orders are one order with happens-before.
    Sra,
    /// Release-acquire without a modification order.
    Wra,
    /// Every access is relaxed: coherence alone.
    Relaxed,
    /// Total store order: x86.
    Tso,
    /// Partial store order.
    Pso,
    /// Sequential consistency.
    Sc,
}

/// What happens before what, and which of the axioms of RF hold location by location.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Synchronization {
    /// `hb = po`
    None,
    /// `hb = (po u rf)+`
    All,
    /// As the orders say. Release sequences go on over rmws, and if `longer`, over later writes of the same thread.
    Orders { longer: bool },
}

/// What the modification orders of all locations must satisfy together.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Together {
    /// Nothing: each location has its own.
    Nothing,
    /// `psc` is acyclic.
    Psc,
    /// They are part of one order of the events ([`Frame`]).
    Order(Frame),
}

/// The order of events that the modification orders must be part of.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// `po u rf u mo u fr` is acyclic.
    Sc,
    /// `ppo u rfe u mo u fr` is acyclic: a read may overtake a write.
    Tso,
    /// The same, and writes of different locations may overtake each other.
    Pso,
    /// `po u rf u mo` is acyclic.
    Sra,
}

impl Model {
    /// All of them, the default first.
    pub const ALL: [Self; 10] = [
        Self::C20,
        Self::Rc11,
        Self::Rc20,
        Self::Ra,
        Self::Sra,
        Self::Wra,
        Self::Relaxed,
        Self::Tso,
        Self::Pso,
        Self::Sc,
    ];

    /// The name of the model.
    pub const fn name(self) -> &'static str {
        match self {
            Self::C20 => "c20",
            Self::Rc11 => "rc11",
            Self::Rc20 => "rc20",
            Self::Ra => "ra",
            Self::Sra => "sra",
            Self::Wra => "wra",
            Self::Relaxed => "relaxed",
            Self::Tso => "tso",
            Self::Pso => "pso",
            Self::Sc => "sc",
        }
    }

    /// The model of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.name() == name)
    }

    /// The model in one line.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::C20 => "C++20 with sequentially consistent accesses and fences",
            Self::Rc11 => "the same with RC11's longer release sequences",
            Self::Rc20 => "C++20 without sequentially consistent accesses and fences",
            Self::Ra => "every access releases and acquires",
            Self::Sra => "strong release-acquire",
            Self::Wra => "weak release-acquire: no modification order",
            Self::Relaxed => "every access is relaxed",
            Self::Tso => "total store order (x86)",
            Self::Pso => "partial store order",
            Self::Sc => "sequential consistency",
        }
    }

    /// Whether sequentially consistent accesses and fences have a meaning in the model. `rc20` refuses them; the
    /// models without orders take them as any other access.
    pub const fn refuses_sequential(self) -> bool {
        matches!(self, Self::Rc20)
    }

    /// Whether the model says what a data race is: it has the orders of accesses.
    pub const fn has_races(self) -> bool {
        matches!(self.synchronization(), Synchronization::Orders { .. })
    }

    pub(crate) const fn synchronization(self) -> Synchronization {
        match self {
            Self::C20 | Self::Rc20 => Synchronization::Orders { longer: false },
            Self::Rc11 => Synchronization::Orders { longer: true },
            Self::Ra | Self::Sra | Self::Wra | Self::Sc => Synchronization::All,
            Self::Relaxed | Self::Tso | Self::Pso => Synchronization::None,
        }
    }

    pub(crate) const fn together(self) -> Together {
        match self {
            Self::C20 | Self::Rc11 => Together::Psc,
            Self::Rc20 | Self::Ra | Self::Wra | Self::Relaxed => Together::Nothing,
            Self::Sra => Together::Order(Frame::Sra),
            Self::Tso => Together::Order(Frame::Tso),
            Self::Pso => Together::Order(Frame::Pso),
            Self::Sc => Together::Order(Frame::Sc),
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
