//! Concurrent objects: their sequential specifications, and whether a history of calls and returns is linearizable.
//!
//! A history is linearizable if the operations that returned, and some of the pending ones, can be ordered such that
//! each comes after all that returned before its call, and the order is a run of the sequential object. (The exchanger's
//! specification is not sequential: there, operations pair, and the two of a pair overlap.)
//!
//! [`view`] is the history as the checkers see it, [`spec`] the sequential objects, [`fast`] the near-linear algorithms,
//! [`search`] decides everything else, [`mr`] has the checkers of one paper. [`check`] is the one way in;
//! [`check_specification`] the one for objects of other kinds.

pub mod fast;
pub mod mr;
pub mod search;
pub mod spec;
pub mod view;

use certificate::object::{Core, Linearization};
use certificate::{Decision, Evidence, Verdict};
use history::{Object, OperationId};

pub use fast::Answer;
pub use search::{GaveUp, Interrupt};
pub use spec::Sequential;
pub use view::{Call, Event, ObjectError, ObjectHistory, Part, ValueId, Values};

/// How to decide.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// The fast algorithm of the object where it applies, else the search.
    #[default]
    Auto,
    /// The fast algorithm only: `unknown` where it does not apply.
    Fast,
    /// The search only.
    Search,
    /// One of the checkers of MR.
    Refinement(mr::Checker),
}

impl Algorithm {
    /// The algorithm of that name: `auto`, `fast`, `search`, or the name of a [`mr::Checker`].
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "fast" => Some(Self::Fast),
            "search" => Some(Self::Search),
            _ => mr::Checker::from_name(name).map(Self::Refinement),
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
                let strategy = used.strategy(history.object());
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
            Answer::Violation(core) => return violation(used.strategy(history.object()), core),
            Answer::Declined(_) => unreachable!("a part is decided or its reason is told"),
        }
    }
    let evidence = options.witness.then_some(match history.object() {
        Object::Exchanger => Evidence::Pairs(pairs),
        _ => Evidence::Linearizations(linearizations),
    });
    Decision { verdict: Verdict::Consistent, strategy: used.strategy(history.object()), reason: None, evidence }
}

/// Which algorithms decided the parts of a history.
#[derive(Copy, Clone, Default)]
struct Used {
    fast: bool,
    search: bool,
}

impl Used {
    /// What is told: the fast algorithm, the search of that object, or both.
    const fn strategy(self, object: Object) -> &'static str {
        match (self.fast, self.search, object) {
            (_, false, _) => "fast",
            (false, _, Object::Queue) => "lockstep",
            (false, _, Object::Stack) => "levels",
            (false, ..) => "search",
            (true, _, Object::Queue) => "fast and lockstep",
            (true, _, Object::Stack) => "fast and levels",
            (true, ..) => "fast and search",
        }
    }
}

fn violation(strategy: &'static str, core: Core) -> Decision {
    Decision { verdict: Verdict::Violation, strategy, reason: None, evidence: Some(Evidence::Core(core)) }
}

/// Decides a part, and tells whether it was searched; or why it could not be decided.
fn decide(part: &Part, options: &Options) -> Result<(Answer, bool), String> {
    if options.algorithm != Algorithm::Search {
        match fast::check(part, options.witness) {
            Answer::Declined(why) if options.algorithm == Algorithm::Fast => {
                return Err(format!("the fast algorithm does not apply: {why}"));
            }
            Answer::Declined(_) => {}
            answer => return Ok((answer, false)),
        }
    }
    let interrupt = options.interrupt;
    let answer = match part.object {
        Object::Memory | Object::Register => search::check(part, &mut spec::Register::new(part), interrupt),
        Object::Queue => search::queue::check(part, interrupt),
        Object::Stack => search::stack::check(part, interrupt),
        Object::PriorityQueue => search::priority_queue::check(part, interrupt),
        Object::Set if part.is_whole => search::check(part, &mut spec::WholeSet::new(part), interrupt),
        Object::Set => search::check(part, &mut spec::Element, interrupt),
        Object::Mutex | Object::Semaphore => search::check(part, &mut spec::Counter::new(part), interrupt),
        Object::KeyValue => search::check(part, &mut spec::Text::new(part), interrupt),
        Object::Exchanger => Ok(fast::exchanger::check(part)),
    };
    answer.map(|answer| (answer, true)).map_err(reason)
}

fn reason(gave_up: GaveUp) -> String {
    match gave_up {
        GaveUp::Time => "the time limit was reached".to_owned(),
        GaveUp::Memory => "the search remembers too many places".to_owned(),
    }
}

/// Decides whether every part of a history is linearizable for any sequential object: `specification` makes the object of
/// a part. The search decides; a violation is the operation at whose return no order is left.
pub fn check_specification<S: Sequential>(
    history: &ObjectHistory,
    mut specification: impl FnMut(&Part) -> S,
    options: &Options,
) -> Decision {
    let mut linearizations = Vec::new();
    for part in history.parts() {
        match search::check(&part, &mut specification(&part), options.interrupt) {
            Ok(Answer::Linearizable(linearization)) => linearizations.extend(linearization),
            Ok(Answer::Violation(core)) => return violation("search", core),
            Ok(Answer::Paired(_) | Answer::Declined(_)) => unreachable!("a search finds an order or none"),
            Err(gave_up) => {
                let reason = Some(reason(gave_up));
                return Decision { verdict: Verdict::Unknown, strategy: "search", reason, evidence: None };
            }
        }
    }
    let evidence = options.witness.then_some(Evidence::Linearizations(linearizations));
    Decision { verdict: Verdict::Consistent, strategy: "search", reason: None, evidence }
}
