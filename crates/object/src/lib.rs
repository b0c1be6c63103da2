//! Concurrent objects: their sequential specifications, and whether a history of calls and returns is linearizable.
//!
//! You want this crate if you check an object of your own, such as a bank account. To check a recorded history of a
//! built-in object, such as a queue, the crate `seriatim` is simpler: it calls this one.
//!
//! A history is linearizable if all operations that returned, and some of the pending ones, can be put into an order
//! such that each comes after all operations that returned before its call, and the order is a run of the sequential
//! object. (The exchanger is different: its operations form pairs, and the two operations of a pair overlap.)
//!
//! There are two entry points. [`check`] decides a recorded history of a built-in object:
//!
//! ```
//! use certificate::Verdict;
//! use history::History;
//! use object::{ObjectHistory, Options, check};
//!
//! // The second value leaves the queue first.
//! let history = History::parse("# @object queue\n\
//!     [0] call enqueue 1\n[0] return\n[0] call enqueue 2\n[0] return\n\
//!     [1] call dequeue\n[1] return 2\n[1] call dequeue\n[1] return 1\n")?;
//! let decision = check(&ObjectHistory::new(&history)?, &Options::default());
//! assert_eq!(decision.verdict, Verdict::Violation);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`check_calls`] decides calls on an object of your own. You write only its specification ([`Sequential`]).
//! [`recorded`] reads the calls from a history.
//!
//! | module | contents |
//! | --- | --- |
//! | [`view`] | a history as the checkers see it |
//! | [`builtin`] | the built-in objects |
//! | [`fast`] | near-linear algorithms for the usual histories of built-in objects |
//! | [`search`] | the search that decides everything else |
//! | [`mr`] | the four checkers of the paper *Monitoring Refinement via Symbolic Reasoning*, in short MR |

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
pub use view::{Call, Endpoint, ObjectError, ObjectHistory, Part, ValueId, Values};

/// How to decide.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// The fast algorithm of the object where it applies, else the search.
    #[default]
    Auto,
    /// The fast algorithm only. The verdict is `unknown` where it does not apply.
    Fast,
    /// The search only.
    Search,
    /// The search of that name only: `lockstep` for queues, `levels` for stacks, `search` for the rest. The verdict is
    /// `unknown` if the object has another search.
    SearchBy(&'static str),
    /// The fast algorithm where it applies, else the search of that name.
    FastOrSearchBy(&'static str),
    /// One of the checkers of MR: SATURATE, or one of the crate `baseline`.
    Refinement(mr::Checker),
}

impl Algorithm {
    /// The algorithm of that name: `auto`, `fast`, `search`, the search of an object (`lockstep`, `levels`), both
    /// (`fast+search`, `fast+lockstep`, `fast+levels`), or `saturate`. The strategy of every decision of this crate is
    /// such a name. The crate `baseline` knows these names, and those of the other checkers of MR.
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

/// The options of a check.
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

/// Decides whether a history is linearizable. The [front page](crate) has an example.
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
    /// The name of the strategy: the fast algorithm, the search of that object, or both.
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

/// Decides a part. Returns the answer and whether the search was used; or why the part could not be decided.
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
