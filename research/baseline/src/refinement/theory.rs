//! A first-order theory of an object of your own (MR sections 3 and 4), decided by SYMBOLIC and by SATURATE.
//!
//! A theory is a list of axioms `∀ x… . given ⇒ then` over the operations of a history. What is given, and what
//! follows, is any [`Formula`] of first-order logic. It has two kinds of atoms: `b(x, y)` says that x comes before y,
//! and `match(x, y)` says that y is matched to x. The [`Label`] of an operation has its method, arguments and result.
//! Two things need not be stated: the axioms of an [order](Theory::order) that extends real time, which is total
//! (ATOMIC) unless the theory says that it is not (COMPLETED), and that an operation is matched to at most one other.
//! The object allows a history exactly if some order and some matching satisfy all axioms.
//!
//! Variables range over the operations of the history, so each axiom is a set of clauses. A pending operation is used
//! or not (`used`), and has one of the results that the [theory names](Theory::returns). Universal variables range over
//! operations that are used, and an operation that must exist is used. [`symbolic`] asks a solver whether the clauses
//! can be satisfied, which is exact. [`saturate`] draws conclusions by unit propagation, and never guesses. If it finds
//! a contradiction, the history is a violation. If it finds none, nothing is proved.
//!
//! The evidence is the same as that of [`check_calls`](object::check_calls). So a theory and a specification of one
//! object can check each other. What a theory with a partial order allows has no evidence: it may have no
//! linearization.
//!
//! ```
//! use model::Verdict;
//! use verify::specification;
//! use baseline::refinement::theory::{Atom, Axiom, Label, Theory, saturate, symbolic};
//! use object::{Budget, Sequential, Timed};
//!
//! /// A lock with tags (MR Example 5.2): an unlock gives back the tag that is held.
//! struct TaggedLock;
//!
//! #[derive(PartialEq, Eq, Hash)]
//! enum Action {
//!     Lock(u32),
//!     Unlock(u32),
//! }
//!
//! fn is_lock(x: &Label<Action, ()>) -> bool {
//!     matches!(x.operation, Action::Lock(_))
//! }
//!
//! fn is_unlock(x: &Label<Action, ()>) -> bool {
//!     matches!(x.operation, Action::Unlock(_))
//! }
//!
//! impl Theory for TaggedLock {
//!     type Operation = Action;
//!     type Return = ();
//!
//!     fn can_match(&self, x: &Label<Action, ()>, y: &Label<Action, ()>) -> bool {
//!         matches!((x.operation, y.operation), (Action::Lock(one), Action::Unlock(other)) if one == other)
//!     }
//!
//!     fn axioms(&self) -> Vec<Axiom<Action, ()>> {
//!         vec![
//!             Axiom::injective(is_unlock),
//!             Axiom::total(is_unlock),
//!             // MUTEX: before the next lock, the one before it is matched.
//!             Axiom::all(is_lock)
//!                 .and_all(is_lock)
//!                 .given([Atom::Before(0, 1)])
//!                 .exists(is_unlock, [Atom::Match(0, 2), Atom::Before(2, 1)]),
//!         ]
//!     }
//!
//!     fn returns(&self, _: &Action, _: &[&Action]) -> Option<Vec<()>> {
//!         Some(vec![()])
//!     }
//! }
//!
//! /// The same object as a specification.
//! impl Sequential for TaggedLock {
//!     type State = Option<u32>;
//!     type Operation = Action;
//!     type Return = ();
//!
//!     fn initial(&self) -> Option<u32> {
//!         None
//!     }
//!
//!     fn steps(&self, held: &Option<u32>, action: &Action) -> impl IntoIterator<Item = (Option<u32>, ())> {
//!         match (action, held) {
//!             (Action::Lock(tag), None) => Some((Some(*tag), ())),
//!             (Action::Unlock(tag), Some(held)) if tag == held => Some((None, ())),
//!             _ => None,
//!         }
//!     }
//! }
//!
//! // The lock under tag 2 returns while 1 is held.
//! let calls = [
//!     Timed::returned(Action::Lock(1), [0, 1], ()),
//!     Timed::returned(Action::Lock(2), [2, 3], ()),
//!     Timed::returned(Action::Unlock(1), [4, 5], ()),
//! ];
//! for decision in [
//!     symbolic(&TaggedLock, &calls, &Budget::UNLIMITED),
//!     saturate(&TaggedLock, &calls, &Budget::UNLIMITED),
//! ] {
//!     assert_eq!(decision.verdict, Verdict::Violation);
//!     let evidence = decision.evidence.expect("a violation has evidence");
//!     assert!(specification::verify(&TaggedLock, &calls, Verdict::Violation, &evidence).is_ok());
//! }
//! // Without it, the solver finds an order, and propagation nothing to object to.
//! let fine = [Timed::returned(Action::Unlock(1), [1, 3], ()), Timed::returned(Action::Lock(1), [0, 2], ())];
//! assert_eq!(symbolic(&TaggedLock, &fine, &Budget::UNLIMITED).verdict, Verdict::Consistent);
//! assert_eq!(saturate(&TaggedLock, &fine, &Budget::UNLIMITED).verdict, Verdict::Unknown);
//! ```

mod clauses;
mod decide;

use history::OperationId;
use model::object::{Core, Linearization};
use model::specification::Timed;
use model::{Decided, Evidence, Verdict};
use object::Budget;

use clauses::{Answer, Clauses};

const NO_RETURNS: &str = "the theory does not say what a pending call may return";
const TOO_LARGE: &str = "the theory has too many instances in these calls";

/// An operation as axioms see it.
#[derive(Debug)]
pub struct Label<'a, O, R> {
    /// The place of the call in the list of calls.
    pub place: usize,
    /// What was called.
    pub operation: &'a O,
    /// The result; if the operation is pending, a result that it may have returned.
    pub returned: &'a R,
}

impl<O, R> Copy for Label<'_, O, R> {}

impl<O, R> Clone for Label<'_, O, R> {
    fn clone(&self) -> Self {
        *self
    }
}

/// An atom. Its numbers are the numbers of variables, counted from zero, from the outermost quantifier inwards.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Atom {
    /// `b(x, y)`: x comes before y.
    Before(usize, usize),
    /// `match(x, y)`: y is matched to x.
    Match(usize, usize),
}

type Sort<O, R> = Box<dyn Fn(&Label<O, R>) -> bool>;
type Relation<O, R> = Box<dyn Fn(&[Label<O, R>]) -> bool>;

/// A formula of first-order logic over the operations that are used.
pub enum Formula<O, R> {
    /// An atom.
    Atom(Atom),
    /// A relation of the labels of all variables around it.
    Labels(Relation<O, R>),
    /// The formula does not hold.
    Not(Box<Self>),
    /// All of them hold.
    And(Vec<Self>),
    /// One of them holds.
    Or(Vec<Self>),
    /// It holds of every operation of a sort, which is the next variable.
    Every(Sort<O, R>, Box<Self>),
    /// It holds of some operation of a sort, which is the next variable.
    Some(Sort<O, R>, Box<Self>),
}

impl<O, R> From<Atom> for Formula<O, R> {
    fn from(atom: Atom) -> Self {
        Self::Atom(atom)
    }
}

impl<O, R> std::ops::Not for Formula<O, R> {
    type Output = Self;

    fn not(self) -> Self {
        Self::Not(Box::new(self))
    }
}

impl<O, R> Formula<O, R> {
    /// A relation of the labels of all variables around it.
    pub fn labels(relation: impl Fn(&[Label<O, R>]) -> bool + 'static) -> Self {
        Self::Labels(Box::new(relation))
    }

    /// All of these hold.
    pub fn and(parts: impl IntoIterator<Item = impl Into<Self>>) -> Self {
        Self::And(parts.into_iter().map(Into::into).collect())
    }

    /// One of these holds.
    pub fn or(parts: impl IntoIterator<Item = impl Into<Self>>) -> Self {
        Self::Or(parts.into_iter().map(Into::into).collect())
    }

    /// It holds of every operation of a sort.
    pub fn every(sort: impl Fn(&Label<O, R>) -> bool + 'static, formula: impl Into<Self>) -> Self {
        Self::Every(Box::new(sort), Box::new(formula.into()))
    }

    /// It holds of some operation of a sort.
    pub fn some(sort: impl Fn(&Label<O, R>) -> bool + 'static, formula: impl Into<Self>) -> Self {
        Self::Some(Box::new(sort), Box::new(formula.into()))
    }
}

/// `∀ x… . given ⇒ then`. Its variables are added one by one, each with the operations that it ranges over.
pub struct Axiom<O, R> {
    variables: Vec<Sort<O, R>>,
    when: Vec<Relation<O, R>>,
    given: Vec<Formula<O, R>>,
    then: Formula<O, R>,
}

impl<O, R> Axiom<O, R> {
    /// An axiom whose first variable ranges over these operations. Without [`then`](Self::then) or
    /// [`exists`](Self::exists), the axiom says that its premise cannot hold.
    pub fn all(sort: impl Fn(&Label<O, R>) -> bool + 'static) -> Self {
        let then = Formula::Or(Vec::new());
        Self { variables: vec![Box::new(sort)], when: Vec::new(), given: Vec::new(), then }
    }

    /// Adds a variable, which ranges over these operations.
    #[must_use]
    pub fn and_all(mut self, sort: impl Fn(&Label<O, R>) -> bool + 'static) -> Self {
        self.variables.push(Box::new(sort));
        self
    }

    /// Restricts the axiom to operations with this relation. The relation gets one operation for each variable, in the
    /// order of the variables.
    #[must_use]
    pub fn when(mut self, relation: impl Fn(&[Label<O, R>]) -> bool + 'static) -> Self {
        self.when.push(Box::new(relation));
        self
    }

    /// Adds to the premise that all of these hold.
    #[must_use]
    pub fn given(mut self, formulas: impl IntoIterator<Item = impl Into<Formula<O, R>>>) -> Self {
        self.given.extend(formulas.into_iter().map(Into::into));
        self
    }

    /// The conclusion: all of these hold.
    #[must_use]
    pub fn then(mut self, formulas: impl IntoIterator<Item = impl Into<Formula<O, R>>>) -> Self {
        self.then = Formula::and(formulas);
        self
    }

    /// The conclusion: there is such an operation, for which all of these hold.
    #[must_use]
    pub fn exists(
        mut self,
        sort: impl Fn(&Label<O, R>) -> bool + 'static,
        formulas: impl IntoIterator<Item = impl Into<Formula<O, R>>>,
    ) -> Self {
        self.then = Formula::some(sort, Formula::and(formulas));
        self
    }

    /// INJECTIVE(X): no two operations of a sort are matched to the same operation.
    pub fn injective(sort: impl Fn(&Label<O, R>) -> bool + Clone + 'static) -> Self {
        Self::all(|_| true)
            .and_all(sort.clone())
            .and_all(sort)
            .when(|x| x[1].place < x[2].place)
            .given([Atom::Match(0, 1), Atom::Match(0, 2)])
    }

    /// SYMMETRIC: operations are matched to each other.
    pub fn symmetric() -> Self {
        Self::all(|_| true).and_all(|_| true).given([Atom::Match(0, 1)]).then([Atom::Match(1, 0)])
    }

    /// TOTAL(Y): every operation of a sort is matched to one before it.
    pub fn total(sort: impl Fn(&Label<O, R>) -> bool + 'static) -> Self {
        Self::all(sort).exists(|_| true, [Atom::Match(1, 0), Atom::Before(1, 0)])
    }
}

/// The order of the operations of a history that an object allows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// ATOMIC: they take effect one after the other.
    Total,
    /// COMPLETED: they may take effect together.
    Partial,
}

/// A first-order theory of an object. See the [module](self).
pub trait Theory {
    /// An operation: the method, with its arguments.
    type Operation;
    /// The result of an operation.
    type Return;

    /// The axioms.
    fn axioms(&self) -> Vec<Axiom<Self::Operation, Self::Return>>;

    /// ATOMIC or COMPLETED.
    fn order(&self) -> Order {
        Order::Total
    }

    /// MATCH: whether y may be matched to x. No other operations are matched.
    fn can_match(&self, x: &Label<Self::Operation, Self::Return>, y: &Label<Self::Operation, Self::Return>) -> bool {
        let _ = (x, y);
        false
    }

    /// All results that a pending operation may return, if the history has these operations. The list is empty if the
    /// pending operation can be ignored. None means that the theory does not know; then a history with a pending call
    /// is not decided.
    fn returns(&self, operation: &Self::Operation, all: &[&Self::Operation]) -> Option<Vec<Self::Return>> {
        let _ = (operation, all);
        None
    }
}

/// The calls of a theory.
type Calls<T> = [Timed<<T as Theory>::Operation, <T as Theory>::Return>];

/// SYMBOLIC: decides whether some order and some matching satisfy the axioms. It is exact.
pub fn symbolic<T: Theory>(theory: &T, calls: &Calls<T>, budget: &Budget) -> Decided {
    check(theory, calls, "symbolic", |clauses| clauses.solve(budget), budget)
}

/// SATURATE: decides whether unit propagation alone finds a contradiction. If it does, the history is a violation. If
/// it does not, the verdict is `unknown`.
pub fn saturate<T: Theory>(theory: &T, calls: &Calls<T>, budget: &Budget) -> Decided {
    check(theory, calls, "saturate", Clauses::propagate, budget)
}

fn check<T: Theory>(
    theory: &T,
    calls: &Calls<T>,
    strategy: &'static str,
    decide: impl Fn(&Clauses) -> Answer,
    budget: &Budget,
) -> Decided {
    let decision = |verdict, reason: Option<&str>, evidence| {
        let reason = reason.map(str::to_owned);
        Decided { verdict, strategy, reason, evidence }
    };
    let up_to = |limit: u64| match Clauses::new(theory, calls, limit, budget) {
        Ok(clauses) => decide(&clauses),
        Err(reason) => Answer::Unknown(reason),
    };
    match up_to(u64::MAX) {
        Answer::Order(_) if theory.order() == Order::Partial => decision(Verdict::Consistent, None, None),
        Answer::Order(order) => {
            let orders = vec![Linearization { order, results: Vec::new() }];
            decision(Verdict::Consistent, None, Some(Evidence::Linearizations(orders)))
        }
        Answer::Unknown(reason) => decision(Verdict::Unknown, Some(reason), None),
        Answer::Contradiction => {
            // Blame the first return up to which there is a contradiction; if it is not known, the last return.
            let mut returns: Vec<(u64, u32)> =
                (0..).zip(calls).filter_map(|(at, call): (u32, _)| Some((call.ret()?, at))).collect();
            returns.sort_unstable();
            let is_contradiction = |&(ret, _): &(u64, u32)| matches!(up_to(ret), Answer::Contradiction);
            let first = returns.partition_point(|ret| !is_contradiction(ret));
            let blamed = returns.get(first).or(returns.last()).map_or(0, |&(_, at)| at);
            decision(Verdict::Violation, None, Some(Evidence::Core(Core::Stuck(OperationId(blamed)))))
        }
    }
}
