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
//! use model::Verdict;
//! use history::History;
//! use object::{ObjectHistory, ObjectOptions, check};
//!
//! // The second value leaves the queue first.
//! let history = format::parse("# @object queue\n\
//!     [0] call enqueue 1\n[0] return\n[0] call enqueue 2\n[0] return\n\
//!     [1] call dequeue\n[1] return 2\n[1] call dequeue\n[1] return 1\n")?;
//! let decision = check(&ObjectHistory::new(&history)?, &ObjectOptions::default());
//! assert_eq!(decision.verdict, Verdict::Violation);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`check_calls`] decides calls on an object of your own. You write only its specification ([`Sequential`]).
//! [`recorded`] reads the calls from a history.
//!
//! Inside, each built-in object has a folder in `objects`, with its specification, its fast algorithm, and a search of
//! its own if it has one. `search` decides everything else. What several objects share stands beside:
//!
//! | module | contents |
//! | --- | --- |
//! | `view` | a history as the checkers see it |
//! | `containers`, `gaps`, `inserted` | the stays of the values in a container, and the instants between moments |
//! | `chains` | objects of which it is known which operation made each state |
//! | `element` | one thing that is there or not |
//! | `online` | what an object holds, for a monitor that does not know which values will come |
//! | `sequences`, `shards` | states that share what they hold; tables that grow in small steps |
//! | `turns` | independent parts take turns |

mod answer;
mod chains;
mod containers;
mod element;
mod gaps;
mod inserted;
pub mod knobs;
mod named;
mod objects;
mod online;
mod own;
mod search;
mod sequences;
mod shards;
mod turns;
mod view;

use history::OperationId;
use model::object::{Core, Linearization};
use model::{Decided, Evidence, Verdict};

use answer::Answer;
pub use knobs::Knobs;
pub use model::specification::{Calls, End, NotRead, Recorded, Sequential, Timed, recorded};
pub use named::{check_named, is_named};
use objects::BuiltIn;
pub use objects::{Machine, Numbered, specification};
pub use online::{Contents, Effect, Online, is_by_element};
pub use own::check_calls;
pub use search::{Budget, GaveUp};
use turns::Outcome;
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
}

impl Algorithm {
    /// The algorithm of that name: `auto`, `fast`, `search`, the search of an object (`lockstep`, `levels`), or both
    /// (`fast+search`, `fast+lockstep`, `fast+levels`). The strategy of every decision of this crate is such a name.
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
            _ => None,
        }
    }
}

/// The options of a check.
#[derive(Clone, Debug, Default)]
pub struct ObjectOptions {
    /// Whether to build the witness of a linearizable history. The evidence of a violation is always built.
    pub witness: bool,
    /// What may be used. What would need more is `unknown`.
    pub budget: Budget,
    /// How to decide.
    pub algorithm: Algorithm,
    /// The numbers that trade one cost for another. They change no verdict, except to or from `unknown`.
    pub knobs: Knobs,
}

/// Decides whether a history is linearizable. The [front page](crate) has an example.
pub fn check(history: &ObjectHistory, options: &ObjectOptions) -> Decided {
    let mut found = Found::default();
    let mut used = Used::default();
    let unknown = |used: Used, reason: String| {
        let strategy = used.strategy(history.built_in());
        Decided { verdict: Verdict::Unknown, strategy, reason: Some(reason), evidence: None }
    };
    // The parts that the fast algorithm does not decide, each with its place.
    let mut waiting = Vec::new();
    for (place, part) in history.parts().enumerate() {
        let part = Part { knobs: &options.knobs, ..part };
        match decide_fast(&part, options) {
            Err(reason) => {
                used.search |= options.algorithm != Algorithm::Fast;
                return unknown(used, reason);
            }
            Ok(None) => waiting.push((place, part)),
            Ok(Some(answer)) => {
                used.fast = true;
                match answer {
                    Answer::Violation(core) => return violation(used.strategy(history.built_in()), core),
                    answer => found.push(place, answer),
                }
            }
        }
    }
    used.search |= !waiting.is_empty();
    match turns::decide(&waiting, options.knobs.parts.turns(), &options.budget, |(_, part), limits| {
        (part.built_in.search)(part, limits)
    }) {
        Outcome::Violation(core) => return violation(used.strategy(history.built_in()), core),
        Outcome::GaveUp(gave_up) => return unknown(used, gave_up.to_string()),
        Outcome::Decided(answers) => {
            waiting.iter().zip(answers).for_each(|(&(place, _), answer)| found.push(place, answer));
        }
    }
    let evidence = options.witness.then(|| found.evidence(history.built_in()));
    Decided { verdict: Verdict::Consistent, strategy: used.strategy(history.built_in()), reason: None, evidence }
}

/// What was found about the parts that are linearizable.
#[derive(Default)]
struct Found {
    /// The linearizations, each with the place of its part.
    linearizations: Vec<(usize, Linearization)>,
    pairs: Vec<[OperationId; 2]>,
}

impl Found {
    fn push(&mut self, place: usize, answer: Answer) {
        match answer {
            Answer::Linearizable(found) => self.linearizations.extend(found.map(|found| (place, found))),
            Answer::Paired(more) => self.pairs.extend(more),
            Answer::Violation(_) | Answer::Declined(_) => unreachable!("the part is linearizable"),
        }
    }

    fn evidence(mut self, built_in: &BuiltIn) -> Evidence {
        if built_in.pairs {
            return Evidence::Pairs(self.pairs);
        }
        self.linearizations.sort_by_key(|&(place, _)| place);
        Evidence::Linearizations(self.linearizations.into_iter().map(|(_, found)| found).collect())
    }
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

fn violation(strategy: &'static str, core: Core) -> Decided {
    Decided { verdict: Verdict::Violation, strategy, reason: None, evidence: Some(Evidence::Core(core)) }
}

/// Decides a part by the fast algorithm; none if the search has to decide it. Or says why the part cannot be decided.
fn decide_fast(part: &Part, options: &ObjectOptions) -> Result<Option<Answer>, String> {
    if !matches!(options.algorithm, Algorithm::Search | Algorithm::SearchBy(_)) {
        match (part.built_in.fast)(part, options.witness) {
            Answer::Declined(why) if options.algorithm == Algorithm::Fast => {
                return Err(format!("the fast algorithm does not apply: {why}"));
            }
            Answer::Declined(_) => {}
            answer => return Ok(Some(answer)),
        }
    }
    if let Algorithm::SearchBy(name) | Algorithm::FastOrSearchBy(name) = options.algorithm
        && name != part.built_in.search_name
    {
        let (object, own) = (part.object.name(), part.built_in.search_name);
        return Err(format!("the search of a {object} is `{own}`, not `{name}`"));
    }
    Ok(None)
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
