//! Concurrent objects: their sequential specifications, and whether a history of calls and returns is linearizable.
//!
//! A history is linearizable if the operations that returned, and some of the pending ones, can be ordered such that
//! each comes after all that returned before its call, and the order is a run of the sequential object. (The exchanger's
//! specification is not sequential: there, operations pair, and the two of a pair overlap.)
//!
//! There are two ways in. [`check`] decides a recorded history of an object that is built in. [`check_calls`] decides calls on an
//! object of one's own, whose specification ([`Sequential`]) is all that one writes; [`recorded`] reads them from a history.
//!
//! [`view`] is a history as the checkers see it, [`builtin`] the objects, [`fast`] the near-linear algorithms, [`search`] decides
//! everything else and [`mr`] has the checkers of one paper.

pub mod builtin;
pub mod fast;
pub mod mr;
mod own;
pub mod search;
pub mod view;

use certificate::object::{Core, Linearization};
use certificate::{Decision, Evidence, Verdict};
use history::OperationId;

pub use builtin::BuiltIn;
pub use certificate::specification::{Calls, End, NotRead, Recorded, Sequential, Timed, recorded};
pub use fast::Answer;
pub use own::check_calls;
pub use search::{GaveUp, Interrupt};
pub use view::{Call, Event, ObjectError, ObjectHistory, Part, ValueId, Values};

/// How to decide.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// The fast algorithm of the object where it applies, else the search.
    #[default]
    Auto,
    /// The fast algorithm only: `unknown` where it does not apply.
    Fast,
    /// The search only.
    Search,
    /// The search of that name only: `lockstep` of queues, `levels` of stacks, `search` of the rest. `unknown` of other objects.
    SearchBy(&'static str),
    /// The fast algorithm where it applies, else the search of that name.
    FastOrSearchBy(&'static str),
    /// One of the checkers of MR: SATURATE, or one of the crate `baseline`.
    Refinement(mr::Checker),
}

impl Algorithm {
    /// The algorithm of that name: `auto`, `fast`, `search`, the search of an object (`lockstep`, `levels`), both of an object (`fast+search`,
    /// `fast+lockstep`, `fast+levels`), or `saturate`. The strategy of every decision of this crate is such a name. The
    /// crate `baseline` knows these names, and those of the other checkers of MR.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "fast" => Some(Self::Fast),
            "search" => Some(Self::Search),
            "lockstep" => Some(Self::SearchBy("lockstep")),
            "levels" => Some(Self::SearchBy("levels")),
            "fast+search" => Some(Self::FastOrSearchBy("search")),
            "fast+lockstep" => Some(Self::FastOrSearchBy("lockstep")),
            "fast+levels" => Some(Self::FastOrSearchBy("levels")),
            "saturate" => Some(Self::Refinement(mr::Checker::SATURATE)),
            _ => None,
        }
    }
}

/// What to do.
#[derive(Copy, Clone, Debug, Default)]
pub struct Options {
    /// Whether to build the witness of a linearizable history. The evidence of a violation is always built.
    pub witness: bool,
    /// When to give up.
    pub interrupt: Interrupt,
    /// How to decide.
    pub algorithm: Algorithm,
    /// Whether a checker of MR forgets obsolete matches.
    pub remove_matches: bool,
}

/// Decides whether a history is linearizable.
pub fn check(history: &ObjectHistory, options: &Options) -> Decision {
    if let Algorithm::Refinement(checker) = options.algorithm {
        if history.parts().any(|part| part.is_whole) {
            let reason = Some(mr::NO_THEORY.to_owned());
            return Decision { verdict: Verdict::Unknown, strategy: checker.name(), reason, evidence: None };
        }
        let Options { remove_matches, interrupt, .. } = *options;
        let mut decision = mr::check(history, checker, mr::Options { remove_matches, interrupt });
        if decision.verdict == Verdict::Consistent && !options.witness {
            decision.evidence = None;
        }
        return decision;
    }
    let mut linearizations: Vec<Linearization> = Vec::new();
    let mut pairs: Vec<[OperationId; 2]> = Vec::new();
    let mut used = Used::default();
    for part in history.parts() {
        let (answer, searched) = match decide(&part, options) {
            Ok(decided) => decided,
            Err(reason) => {
                used.search |= options.algorithm != Algorithm::Fast;
                let strategy = used.strategy(history.built_in());
                return Decision { verdict: Verdict::Unknown, strategy, reason: Some(reason), evidence: None };
            }
        };
        if searched {
            used.search = true;
        } else {
            used.fast = true;
        }
        match answer {
            Answer::Linearizable(linearization) => linearizations.extend(linearization),
            Answer::Paired(more) => pairs.extend(more),
            Answer::Violation(core) => return violation(used.strategy(history.built_in()), core),
            Answer::Declined(_) => unreachable!("a part is decided or its reason is told"),
        }
    }
    let evidence = options.witness.then_some(if history.built_in().pairs {
        Evidence::Pairs(pairs)
    } else {
        Evidence::Linearizations(linearizations)
    });
    Decision { verdict: Verdict::Consistent, strategy: used.strategy(history.built_in()), reason: None, evidence }
}

/// Which algorithms decided the parts of a history.
#[derive(Copy, Clone, Default)]
struct Used {
    fast: bool,
    search: bool,
}

impl Used {
    /// What is told: the fast algorithm, the search of that object, or both.
    const fn strategy(self, built_in: &BuiltIn) -> &'static str {
        match (self.fast, self.search) {
            (_, false) => "fast",
            (false, true) => built_in.search_name,
            (true, true) => built_in.both_name,
        }
    }
}

fn violation(strategy: &'static str, core: Core) -> Decision {
    Decision { verdict: Verdict::Violation, strategy, reason: None, evidence: Some(Evidence::Core(core)) }
}

/// Decides a part, and tells whether it was searched; or why it could not be decided.
fn decide(part: &Part, options: &Options) -> Result<(Answer, bool), String> {
    if !matches!(options.algorithm, Algorithm::Search | Algorithm::SearchBy(_)) {
        match (part.built_in.fast)(part, options.witness) {
            Answer::Declined(why) if options.algorithm == Algorithm::Fast => {
                return Err(format!("the fast algorithm does not apply: {why}"));
            }
            Answer::Declined(_) => {}
            answer => return Ok((answer, false)),
        }
    }
    if let Algorithm::SearchBy(name) | Algorithm::FastOrSearchBy(name) = options.algorithm
        && name != part.built_in.search_name
    {
        let (object, own) = (part.object.name(), part.built_in.search_name);
        return Err(format!("the search of a {object} is `{own}`, not `{name}`"));
    }
    let answer = (part.built_in.search)(part, options.interrupt);
    answer.map(|answer| (answer, true)).map_err(|gave_up| gave_up.to_string())
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
