//! Decides calls on an object of your own, by the search with its specification.
//!
//! Equal operations get the same number, and so do equal results. So the search sees which calls have the same
//! operation and the same result. The moments of each part are numbered from zero. A call comes before a return of the
//! same moment, so that the two overlap.

use std::collections::HashMap;
use std::hash::Hash;

use history::{History, KeyId, Method, Object, OperationId};
use model::specification::{Calls, Sequential};
use model::{Decided, Evidence, Verdict};

use crate::answer::Answer;
use crate::knobs::Knobs;
use crate::objects::{self, Machine};
use crate::search::{self, Limits};
use crate::turns::{self, Outcome};
use crate::view::{Call, Part, ValueId, Values};
use crate::{ObjectOptions, violation};

/// Decides whether calls on an object of your own are linearizable.
///
/// The evidence names calls by their places in `calls`. `verify::specification::verify` verifies it with the
/// same specification. Of the options, only `budget` and `witness` are used.
///
/// ```
/// use model::Verdict;
/// use verify::specification;
/// use object::{ObjectOptions, Sequential, Timed, check_calls};
///
/// /// An account, which cannot be overdrawn.
/// struct Account;
///
/// #[derive(PartialEq, Eq, Hash)]
/// enum Request {
///     Deposit(u64),
///     Withdraw(u64),
/// }
/// use Request::{Deposit, Withdraw};
///
/// impl Sequential for Account {
///     type State = u64;
///     type Operation = Request;
///     type Return = bool;
///
///     fn initial(&self) -> u64 {
///         0
///     }
///
///     fn steps(&self, &balance: &u64, request: &Request) -> impl IntoIterator<Item = (u64, bool)> {
///         Some(match *request {
///             Deposit(amount) => (balance + amount, true),
///             Withdraw(amount) if amount <= balance => (balance - amount, true),
///             Withdraw(_) => (balance, false),
///         })
///     }
/// }
///
/// // Both withdrawals succeed, though there is money for one only.
/// let calls = [
///     Timed::returned(Deposit(5), [0, 1], true),
///     Timed::returned(Withdraw(5), [2, 4], true),
///     Timed::returned(Withdraw(5), [3, 5], true),
/// ];
/// let options = ObjectOptions { witness: true, ..ObjectOptions::default() };
/// let decision = check_calls(&Account, &calls, &options);
/// assert_eq!(decision.verdict, Verdict::Violation);
/// let evidence = decision.evidence.expect("a violation has evidence");
/// assert!(specification::verify(&Account, &calls, Verdict::Violation, &evidence).is_ok());
///
/// let fine = &calls[..2];
/// assert_eq!(check_calls(&Account, fine, &options).verdict, Verdict::Consistent);
/// assert!(specification::verify(&Account, fine, Verdict::Violation, &evidence).is_err());
/// ```
pub fn check_calls<S: Sequential>(specification: &S, calls: &Calls<S>, options: &ObjectOptions) -> Decided {
    let unknown = |reason: String| Decided {
        verdict: Verdict::Unknown,
        strategy: "search",
        reason: Some(reason),
        evidence: None,
    };
    if calls.len() > (u32::MAX / 4) as usize {
        return unknown("there are too many calls".to_owned());
    }
    if let Some(at) = calls.iter().position(|call| call.ret().is_some_and(|ret| ret < call.call)) {
        return unknown(format!("call {at} returns before it is called"));
    }
    let search = |places: &Vec<usize>, limits: Limits<'_>| decide(specification, calls, places, limits);
    let decided =
        match turns::decide(&parts(specification, calls), options.knobs.parts.turns(), &options.budget, search) {
            Outcome::Violation(core) => return violation("search", core),
            Outcome::GaveUp(gave_up) => return unknown(gave_up.to_string()),
            Outcome::Decided(decided) => decided,
        };
    let linearization = |answer| match answer {
        Answer::Linearizable(linearization) => linearization,
        _ => unreachable!("a search finds an order or none"),
    };
    let linearizations = decided.into_iter().filter_map(linearization).collect();
    let evidence = options.witness.then_some(Evidence::Linearizations(linearizations));
    Decided { verdict: Verdict::Consistent, strategy: "search", reason: None, evidence }
}

/// The parts in the order in which they are first seen, each with the places of its calls in the order of time.
fn parts<S: Sequential>(specification: &S, calls: &Calls<S>) -> Vec<Vec<usize>> {
    let mut numbers = Numbers::default();
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for (at, call) in calls.iter().enumerate().filter(|(_, call)| call.may_have_happened()) {
        let part = numbers.number(specification.part(&call.operation)) as usize;
        if part == parts.len() {
            parts.push(Vec::new());
        }
        parts[part].push(at);
    }
    for part in &mut parts {
        part.sort_by_key(|&at| calls[at].call);
    }
    parts
}

fn decide<S: Sequential>(
    specification: &S,
    calls: &Calls<S>,
    places: &[usize],
    limits: Limits<'_>,
) -> Result<Answer, search::GaveUp> {
    // The moments of calls (false) and returns (true), in the order of time.
    let mut events: Vec<(u64, bool, u32)> = Vec::new();
    for (number, &at) in (0..).zip(places) {
        events.push((calls[at].call, false, number));
        events.extend(calls[at].ret().map(|ret| (ret, true, number)));
    }
    events.sort_unstable();
    let (mut operations, mut results) = (Numbers::default(), Numbers::default());
    let mut own = Own { specification, operations: Vec::new(), results: Vec::new() };
    let mut numbered: Vec<Call> = Vec::with_capacity(places.len());
    for &at in places {
        let call = &calls[at];
        let argument = operations.number(&call.operation);
        if argument as usize == own.operations.len() {
            own.operations.push(&call.operation);
        }
        let result = call.result().map_or(ValueId::NONE, |result| {
            let number = results.number(result);
            if number as usize == own.results.len() {
                own.results.push(result);
            }
            ValueId(number)
        });
        numbered.push(Call {
            operation: OperationId(at as u32),
            call: 0,
            ret: Call::NEVER,
            argument: ValueId(argument),
            expected: ValueId::NONE,
            result,
            method: Method::Open,
        });
    }
    for (moment, &(_, is_return, number)) in (0..).zip(&events) {
        let call = &mut numbered[number as usize];
        *(if is_return { &mut call.ret } else { &mut call.call }) = moment;
    }
    let history = History::default();
    let part = Part {
        history: &history,
        object: Object::Open,
        built_in: &objects::OPEN,
        knobs: &Knobs::DEFAULT,
        is_whole: false,
        key: KeyId::NONE,
        capacity: 1,
        calls: &numbered,
        values: Values::EMPTY,
        initial: ValueId::NONE,
        moments: events.len() as u32,
    };
    search::check(&part, &mut own, limits)
}

/// Numbers things from zero. Equal things have the same number.
struct Numbers<T>(HashMap<T, u32>);

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Eq + Hash> Numbers<T> {
    fn number(&mut self, thing: T) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(thing).or_insert(next)
    }
}

/// A specification as the search runs it: operations and results are numbers.
struct Own<'a, S: Sequential> {
    specification: &'a S,
    operations: Vec<&'a S::Operation>,
    results: Vec<&'a S::Return>,
}

impl<S: Sequential> Machine for Own<'_, S> {
    type State = S::State;

    fn initial(&mut self) -> S::State {
        self.specification.initial()
    }

    fn steps(&mut self, state: &S::State, call: &Call, next: &mut Vec<(S::State, ValueId)>) {
        let result = call.result.is_index().then(|| self.results[call.result.index()]);
        for (after, returned) in self.specification.steps(state, self.operations[call.argument.index()]) {
            if result.is_none_or(|result| *result == returned) {
                next.push((after, call.result));
            }
        }
    }

    fn observes(&self, call: &Call) -> bool {
        call.result.is_index()
            && self.specification.observes(self.operations[call.argument.index()], self.results[call.result.index()])
    }
}
