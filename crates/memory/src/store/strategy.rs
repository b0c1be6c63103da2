//! How a model that asks for a store order is decided.

use certificate::Model;

/// A strategy. All of them but [`Recorded`](Self::Recorded) are exact. Where a strategy does not
/// [speak of](Self::speaks_of) a model, that model is decided by [`Auto`](Self::Auto).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Strategy {
    /// The recorded order, then any run or, where it is long, [`windows`](super::windows), then saturation, then search: whichever decides first.
    #[default]
    Auto,
    /// Whether the order of the file is itself an interleaving; says nothing if it is not.
    Recorded,
    /// `sc`: saturation, then the [`search`](super::search) for an interleaving.
    WscSearch,
    /// `sc`: saturation, then a SAT solver over the open pairs of writes ([`sat`](super::sat)).
    WscSat,
    /// `sc`: `pww` of `ccm`, then a SAT solver over the open pairs of writes.
    CcmSat,
    /// `sc`: `pww` of `ccm`, then backtracking over the open pairs ([`enumerate`](mod@super::enumerate)).
    CcmEnum,
    /// `sc`: the search over thread [`frontier`](super::frontier)s, without saturation.
    Dbcop,
    /// `tso`: saturation, then the search.
    WtsoSearch,
    /// `tso`: saturation, then a SAT solver.
    WtsoSat,
    /// `tso`: `wpww` of `wccm`, then a SAT solver.
    WccmSat,
    /// `tso`: `wpww` of `wccm`, then backtracking.
    WccmEnum,
    /// `pso`: saturation, then the search.
    WpsoSearch,
    /// `pso`: saturation, then a SAT solver.
    WpsoSat,
    /// `tso`, `pso`: the search over the states of the machine, without saturation.
    Machine,
    /// A SAT solver on the axioms, written down as clauses ([`direct`](super::direct)).
    Sat,
}

/// What a strategy does, whatever the model.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Method {
    SaturateAndSearch,
    SaturateAndSolve,
    PartialAndSolve,
    PartialAndEnumerate,
    Frontier,
    Solve,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Self; 15] = [
        Self::Auto,
        Self::Recorded,
        Self::WscSearch,
        Self::WscSat,
        Self::CcmSat,
        Self::CcmEnum,
        Self::Dbcop,
        Self::WtsoSearch,
        Self::WtsoSat,
        Self::WccmSat,
        Self::WccmEnum,
        Self::WpsoSearch,
        Self::WpsoSat,
        Self::Machine,
        Self::Sat,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Recorded => "recorded",
            Self::WscSearch => "wsc+search",
            Self::WscSat => "wsc+sat",
            Self::CcmSat => "ccm+sat",
            Self::CcmEnum => "ccm+enum",
            Self::Dbcop => "dbcop",
            Self::WtsoSearch => "wtso+search",
            Self::WtsoSat => "wtso+sat",
            Self::WccmSat => "wccm+sat",
            Self::WccmEnum => "wccm+enum",
            Self::WpsoSearch => "wpso+search",
            Self::WpsoSat => "wpso+sat",
            Self::Machine => "machine",
            Self::Sat => "sat",
        }
    }

    /// The strategy of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strategy| strategy.name() == name)
    }

    /// Whether it says how a model is decided.
    pub const fn speaks_of(self, model: Model) -> bool {
        match self {
            Self::Auto | Self::Recorded | Self::Sat => matches!(model, Model::Sc | Model::Tso | Model::Pso),
            Self::WscSearch | Self::WscSat | Self::CcmSat | Self::CcmEnum | Self::Dbcop => matches!(model, Model::Sc),
            Self::WtsoSearch | Self::WtsoSat | Self::WccmSat | Self::WccmEnum => matches!(model, Model::Tso),
            Self::WpsoSearch | Self::WpsoSat => matches!(model, Model::Pso),
            Self::Machine => matches!(model, Model::Tso | Model::Pso),
        }
    }

    /// What is done if the order of the file decides nothing.
    pub(super) const fn method(self) -> Method {
        match self {
            Self::Auto | Self::Recorded | Self::WscSearch | Self::WtsoSearch | Self::WpsoSearch => {
                Method::SaturateAndSearch
            }
            Self::WscSat | Self::WtsoSat | Self::WpsoSat => Method::SaturateAndSolve,
            Self::CcmSat | Self::WccmSat => Method::PartialAndSolve,
            Self::CcmEnum | Self::WccmEnum => Method::PartialAndEnumerate,
            Self::Dbcop | Self::Machine => Method::Frontier,
            Self::Sat => Method::Solve,
        }
    }
}
