//! What a checker is, and how it is run over a history.
//!
//! A [`Checker`] is a name and a function that makes a [`Monitor`]. The monitor gets the calls and returns of one
//! object in the order of time. At each return it says whether the history so far is still possible. That is one step
//! in the experiments of the paper. [`scan`] runs a checker over one object, [`check`] over a whole history.

use history::{Method, Object, OperationId};
use model::object::{Core, Linearization};
use model::{Decided, Evidence, Verdict};
pub use monitor::saturate::{Invocation, Step};
use object::{Budget, Call, Endpoint, ObjectHistory, Part, ValueId};

use super::{SATURATE, reason};

/// How a checker makes the monitor of a part, told its number k; a reason if it cannot decide such an object.
pub type NewMonitor = fn(&Part, u32, Options) -> Result<Box<dyn Monitor>, &'static str>;

/// One of the checkers.
#[derive(Copy, Clone, Debug)]
pub struct Checker {
    name: &'static str,
    k: u32,
    monitor: NewMonitor,
}

/// Whether they name the same.
impl PartialEq for Checker {
    fn eq(&self, other: &Self) -> bool {
        (self.name, self.k) == (other.name, other.k)
    }
}

impl Eq for Checker {}

impl Checker {
    /// A checker of that name. Only COUNTING(k) has a number k; that of others is 0.
    pub const fn new(name: &'static str, k: u32, monitor: NewMonitor) -> Self {
        Self { name, k, monitor }
    }

    /// The name in the output of `--json`.
    pub const fn name(self) -> &'static str {
        self.name
    }
}

/// How a checker runs.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether to forget matches when they are obsolete. This is for `saturate` and `symbolic`. It has no effect
    /// elsewhere.
    pub remove_matches: bool,
    /// What may be used.
    pub budget: Budget,
}

/// The call of an operation.
pub const fn invocation(call: &Call) -> Invocation {
    Invocation {
        method: call.method,
        argument: call.argument,
        // The values of a part are numbered in the order of priority.
        priority: call.argument.0 as i64,
        expected: call.expected,
    }
}

/// The witness of a history that a monitor found possible.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Witness {
    /// The numbers of operations, in an order that the sequential object can run; and the results of the pending ones.
    Order(Vec<u32>, Vec<(u32, ValueId)>),
    /// The numbers of exchanges, in pairs.
    Pairs(Vec<[u32; 2]>),
    /// There is none: this monitor does not prove that a history is linearizable.
    None(&'static str),
}

/// A checker that follows an execution. Operations have numbers, from zero in the order of their calls.
pub trait Monitor {
    /// An operation is called.
    fn call(&mut self, number: u32, invocation: Invocation);
    /// An operation returns this result; [`ValueId::NONE`] if it returns nothing, or its result is not known.
    fn return_(&mut self, number: u32, result: ValueId) -> Step;
    /// The witness of the execution so far, if it was possible at the last return.
    fn witness(&mut self) -> Witness;
}

/// What a checker found about one object, and after how many returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// How many returns the checker went through.
    pub returns: u32,
    /// What it found.
    pub finding: Finding,
}

/// The finding of a [`Scan`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// Linearizable, in this order.
    Linearizable(Linearization),
    /// An exchanger that is linearizable, with these pairs.
    Paired(Vec<[OperationId; 2]>),
    /// Not linearizable: at the return of this operation, no linearization is left.
    Violation(OperationId),
    /// Neither is proved, for this reason.
    Unknown(&'static str),
}

/// The reason if the paper has no theory of an object.
pub const NO_THEORY: &str = "the paper has no theory of this object";

/// The monitor of a part; a reason if the checker cannot decide such an object.
pub fn monitor(part: &Part, checker: Checker, options: Options) -> Result<Box<dyn Monitor>, &'static str> {
    (checker.monitor)(part, checker.k, options)
}

/// Whether the theories speak of all operations of a part.
pub fn has_theory(part: &Part) -> bool {
    part.calls.iter().all(|call| has_axioms(call.method))
}

/// Whether the theories have axioms about such operations.
const fn has_axioms(method: Method) -> bool {
    use Method::{
        Acquire, Add, Cas, Contains, DeleteMax, Dequeue, Enqueue, Exchange, Insert, Lock, Pop, Push, Read, Release,
        Remove, Rmw, Unlock, Write,
    };
    let of_data = matches!(method, Read | Write | Cas | Rmw | Enqueue | Dequeue | Push | Pop | Insert | DeleteMax);
    of_data || matches!(method, Add | Remove | Contains | Lock | Unlock | Acquire | Release | Exchange)
}

/// Runs a checker over one object.
pub fn scan(part: &Part, checker: Checker, options: Options) -> Scan {
    let mut returns = 0;
    let mut options = options;
    options.remove_matches &= checker.name == SATURATE.name || values_are_unique(part);
    let mut monitor = match monitor(part, checker, options.clone()) {
        Ok(monitor) => monitor,
        Err(reason) => return Scan { returns, finding: Finding::Unknown(reason) },
    };
    for event in part.events() {
        match event {
            Endpoint::Nothing => {}
            Endpoint::Call(at) => monitor.call(at, invocation(&part.calls[at as usize])),
            Endpoint::Return(at) => {
                let call = &part.calls[at as usize];
                let step = if options.budget.is_due() {
                    Step::GaveUp(reason(&options.budget))
                } else {
                    monitor.return_(at, call.result)
                };
                let finding = match step {
                    Step::Possible => {
                        returns += 1;
                        continue;
                    }
                    Step::Violation => Finding::Violation(call.operation),
                    Step::GaveUp(reason) => Finding::Unknown(reason),
                };
                return Scan { returns, finding };
            }
        }
    }
    let id = |at: u32| part.calls[at as usize].operation;
    let witness = match returns {
        0 if part.object == Object::Exchanger => Witness::Pairs(Vec::new()),
        0 => Witness::Order(Vec::new(), Vec::new()),
        _ => monitor.witness(),
    };
    let finding = match witness {
        Witness::Order(order, results) => Finding::Linearizable(Linearization {
            order: order.into_iter().map(id).collect(),
            results: results.into_iter().map(|(at, result)| (id(at), part.value(result))).collect(),
        }),
        Witness::Pairs(pairs) => Finding::Paired(pairs.into_iter().map(|pair| pair.map(id)).collect()),
        Witness::None(reason) => Finding::Unknown(reason),
    };
    Scan { returns, finding }
}

/// Runs a checker over all objects of a history.
///
/// ```
/// use baseline::refinement::{Options, SATURATE, check};
/// use model::Verdict;
/// use object::ObjectHistory;
///
/// let history = format::parse("[0] call enqueue 1\n[0] return\n[1] call dequeue\n[1] return empty\n")?;
/// let decision = check(&ObjectHistory::new(&history)?, SATURATE, &Options::default());
/// assert_eq!(decision.verdict, Verdict::Violation);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(history: &ObjectHistory, checker: Checker, options: &Options) -> Decided {
    let strategy = checker.name();
    let decide = |verdict, evidence| Decided { verdict, strategy, reason: None, evidence: Some(evidence) };
    let undecided =
        |reason: &str| Decided { verdict: Verdict::Unknown, strategy, reason: Some(reason.to_owned()), evidence: None };
    if history.parts().any(|part| part.is_whole) {
        return undecided(NO_THEORY);
    }
    let mut linearizations = Vec::new();
    let mut pairs = Vec::new();
    let mut unknown = None;
    for part in history.parts() {
        match scan(&part, checker, options.clone()).finding {
            Finding::Linearizable(linearization) => linearizations.push(linearization),
            Finding::Paired(more) => pairs.extend(more),
            Finding::Violation(operation) => {
                return decide(Verdict::Violation, Evidence::Core(Core::Stuck(operation)));
            }
            // Another object may still have a violation.
            Finding::Unknown(reason) => unknown = unknown.or(Some(reason)),
        }
    }
    if let Some(reason) = unknown {
        return undecided(reason);
    }
    let has_pairs = history.object() == Object::Exchanger;
    let evidence = if has_pairs { Evidence::Pairs(pairs) } else { Evidence::Linearizations(linearizations) };
    decide(Verdict::Consistent, evidence)
}

/// Whether each value is inserted, written or offered only once, if matches are recognised by their values. The initial
/// value of a register counts as written.
pub fn values_are_unique(part: &Part) -> bool {
    are_unique(part, part.object == Object::Register && part.initial.is_index())
}

/// Whether SATURATE may tell the matches of a part by its values: as [`values_are_unique`], but the initial value of a
/// register may be written once more.
pub fn matches_are_told(part: &Part) -> bool {
    are_unique(part, false)
}

fn are_unique(part: &Part, initial_is_written: bool) -> bool {
    let mut seen = vec![false; part.values.len()];
    if initial_is_written {
        seen[part.initial.index()] = true;
    }
    part.calls.iter().all(|call| {
        let inserts = match call.method {
            Method::Enqueue | Method::Push | Method::Insert | Method::Write | Method::Rmw | Method::Exchange => true,
            Method::Cas => call.result != ValueId::FALSE,
            _ => false,
        };
        !inserts || !call.argument.is_index() || !std::mem::replace(&mut seen[call.argument.index()], true)
    })
}
