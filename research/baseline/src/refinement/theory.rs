//! A first-order theory of an object of your own (MR sections 3 and 4), decided by SYMBOLIC and by SATURATE.
//!
//! A theory is a list of axioms `∀ x… . given ⇒ ∃ y. then` over the operations of a history. It has two kinds of atoms:
//! `b(x, y)` says that x comes before y in the linearization, and `match(x, y)` says that y is matched to x. The
//! [`Label`] of an operation has its method, arguments and result. Two things need not be stated: ATOMIC, the axioms of
//! a total order that extends real time, and that an operation is matched to at most one other. The object allows a
//! history exactly if some order and some matching satisfy all axioms.
//!
//! Variables range over the operations of the history, so each axiom is a set of clauses. A pending operation is used
//! or not (`used`), and has one of the results that the [theory names](Theory::returns). Universal variables range over
//! operations that are used, and an operation that must exist is used. [`symbolic`] asks a solver whether the clauses
//! can be satisfied, which is exact. [`saturate`] draws conclusions by unit propagation, and never guesses. If it finds
//! a contradiction, the history is a violation. If it finds none, nothing is proved.
//!
//! The evidence is the same as that of [`check_calls`](object::check_calls). So a theory and a specification of one
//! object can check each other.
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
//!             // TOTAL: an unlock is matched to a lock before it.
//!             Axiom::all(is_unlock).exists(is_lock, [Atom::Match(1, 0), Atom::Before(1, 0)]),
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

mod decide;

use history::OperationId;
use model::object::{Core, Linearization};
use model::specification::{End, Timed};
use model::{Decided, Evidence, Verdict};
use object::Budget;
use rustc_hash::FxHashMap;

use super::reason;

const NO_RETURNS: &str = "the theory does not say what a pending call may return";
const TOO_LARGE: &str = "the theory has too many instances in these calls";

/// The most literals that the clauses may have. They take about one gigabyte.
const MOST_LITERALS: usize = 1 << 28;

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

/// An atom. Its numbers are the numbers of variables, counted from zero. The existential variable has the last number.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Atom {
    /// `b(x, y)`: x comes before y.
    Before(usize, usize),
    /// `match(x, y)`: y is matched to x.
    Match(usize, usize),
    /// Not `match(x, y)`.
    NoMatch(usize, usize),
}

type Sort<O, R> = Box<dyn Fn(&Label<O, R>) -> bool>;
type Relation<O, R> = Box<dyn Fn(&[Label<O, R>]) -> bool>;

/// `∀ x… . given ⇒ then`. Its variables are added one by one, each with the operations that it ranges over.
pub struct Axiom<O, R> {
    variables: Vec<Sort<O, R>>,
    when: Vec<Relation<O, R>>,
    given: Vec<Atom>,
    then: Then<O, R>,
}

/// What an axiom concludes.
enum Then<O, R> {
    /// All of these atoms hold. If there are none, the premise cannot hold.
    All(Vec<Atom>),
    /// There is an operation for which all of these atoms hold.
    Exists(Sort<O, R>, Vec<Atom>),
}

impl<O, R> Axiom<O, R> {
    /// An axiom whose first variable ranges over these operations. Without [`then`](Self::then) or
    /// [`exists`](Self::exists), the axiom says that its premise cannot hold.
    pub fn all(sort: impl Fn(&Label<O, R>) -> bool + 'static) -> Self {
        Self { variables: vec![Box::new(sort)], when: Vec::new(), given: Vec::new(), then: Then::All(Vec::new()) }
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

    /// Adds to the premise that all of these atoms hold.
    #[must_use]
    pub fn given(mut self, atoms: impl IntoIterator<Item = Atom>) -> Self {
        self.given.extend(atoms);
        self
    }

    /// The conclusion: all of these atoms hold.
    #[must_use]
    pub fn then(mut self, atoms: impl IntoIterator<Item = Atom>) -> Self {
        self.then = Then::All(atoms.into_iter().collect());
        self
    }

    /// The conclusion: there is such an operation, for which all of these atoms hold.
    #[must_use]
    pub fn exists(
        mut self,
        sort: impl Fn(&Label<O, R>) -> bool + 'static,
        atoms: impl IntoIterator<Item = Atom>,
    ) -> Self {
        self.then = Then::Exists(Box::new(sort), atoms.into_iter().collect());
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
}

/// A first-order theory of an object. See the [module](self).
pub trait Theory {
    /// An operation: the method, with its arguments.
    type Operation;
    /// The result of an operation.
    type Return;

    /// The axioms.
    fn axioms(&self) -> Vec<Axiom<Self::Operation, Self::Return>>;

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
    check(theory, calls, "symbolic", |formula| formula.solve(budget), budget)
}

/// SATURATE: decides whether unit propagation alone finds a contradiction. If it does, the history is a violation. If
/// it does not, the verdict is `unknown`.
pub fn saturate<T: Theory>(theory: &T, calls: &Calls<T>, budget: &Budget) -> Decided {
    check(theory, calls, "saturate", Formula::propagate, budget)
}

/// What is known of a formula.
enum Answer {
    /// It has a model: these calls in this order.
    Order(Vec<OperationId>),
    Contradiction,
    Unknown(&'static str),
}

fn check<T: Theory>(
    theory: &T,
    calls: &Calls<T>,
    strategy: &'static str,
    decide: impl Fn(&Formula) -> Answer,
    budget: &Budget,
) -> Decided {
    let decision = |verdict, reason: Option<&str>, evidence| {
        let reason = reason.map(str::to_owned);
        Decided { verdict, strategy, reason, evidence }
    };
    let up_to = |limit: u64| match Formula::new(theory, calls, limit, budget) {
        Ok(formula) => decide(&formula),
        Err(reason) => Answer::Unknown(reason),
    };
    match up_to(u64::MAX) {
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

/// A literal: twice the variable, and one more if it is negated. The first variable is true.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Literal(u32);

impl Literal {
    const TRUE: Self = Self(0);
    const FALSE: Self = Self(1);

    const fn not(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// The clauses of a theory over some calls.
struct Formula {
    variables: u32,
    clauses: Vec<Vec<Literal>>,
    literals: usize,
    /// The call at each place of the order.
    calls: Vec<usize>,
    /// `b(i, j)` for i < j, row by row.
    order: Vec<Literal>,
    /// For each place: the literals of which one holds if the call is used.
    used: Vec<Vec<Literal>>,
}

/// An operation with a result. A pending operation has a node for each of its possible results.
struct Node<'a, O, R> {
    label: Label<'a, O, R>,
    /// Its place in the order.
    at: usize,
    used: Literal,
}

impl Formula {
    /// The formula of the history up to a moment.
    fn new<T: Theory>(theory: &T, calls: &Calls<T>, limit: u64, budget: &Budget) -> Result<Self, &'static str> {
        let happened = |call: &Timed<T::Operation, T::Return>| call.call <= limit && !matches!(call.end, End::Failed);
        let places: Vec<usize> = (0..calls.len()).filter(|&at| happened(&calls[at])).collect();
        let operations: Vec<&T::Operation> = places.iter().map(|&at| &calls[at].operation).collect();
        let ret = |at: usize| calls[at].ret().filter(|&ret| ret <= limit);
        let mut chosen: Vec<Vec<T::Return>> = Vec::new();
        for &at in &places {
            let is_pending = ret(at).is_none();
            let returns = is_pending.then(|| theory.returns(&calls[at].operation, &operations).ok_or(NO_RETURNS));
            chosen.push(returns.transpose()?.unwrap_or_default());
        }
        let mut formula = Self {
            variables: 1,
            clauses: vec![vec![Literal::TRUE]],
            literals: 1,
            calls: places.clone(),
            order: Vec::new(),
            used: vec![Vec::new(); places.len()],
        };
        let mut nodes: Vec<Node<T::Operation, T::Return>> = Vec::new();
        for (at, &place) in places.iter().enumerate() {
            let operation = &calls[place].operation;
            let mut add = |returned, used| {
                nodes.push(Node { label: Label { place, operation, returned }, at, used });
                formula.used[at].push(used);
            };
            match calls[place].result().filter(|_| ret(place).is_some()) {
                Some(returned) => add(returned, Literal::TRUE),
                None => {
                    for returned in &chosen[at] {
                        let used = Literal(2 * formula.variables);
                        formula.variables += 1;
                        add(returned, used);
                    }
                }
            }
        }
        let precedes = |i: usize, j: usize| ret(places[i]).is_some_and(|ret| ret < calls[places[j]].call);
        formula.atomic(places.len(), precedes, budget)?;
        let matches = formula.matching(theory, &nodes);
        for axiom in theory.axioms() {
            formula.ground(&axiom, &nodes, &matches, budget)?;
        }
        Ok(formula)
    }

    fn variable(&mut self) -> Literal {
        self.variables += 1;
        Literal(2 * (self.variables - 1))
    }

    fn clause(&mut self, literals: impl IntoIterator<Item = Literal>) {
        let mut clause = Vec::new();
        for literal in literals {
            if literal == Literal::TRUE {
                return;
            }
            if literal != Literal::FALSE {
                clause.push(literal);
            }
        }
        self.literals += clause.len();
        self.clauses.push(clause);
    }

    fn before(&self, i: usize, j: usize) -> Literal {
        let at = |i: usize, j: usize| self.order[j * (j - 1) / 2 + i];
        match i.cmp(&j) {
            std::cmp::Ordering::Less => at(i, j),
            std::cmp::Ordering::Equal => Literal::FALSE,
            std::cmp::Ordering::Greater => at(j, i).not(),
        }
    }

    fn check_size(&self, budget: &Budget) -> Result<(), &'static str> {
        if self.literals > MOST_LITERALS {
            return Err(TOO_LARGE);
        }
        if budget.is_due() { Err(reason(budget)) } else { Ok(()) }
    }

    /// ATOMIC and ORDER: a total order that extends real time.
    fn atomic(
        &mut self,
        count: usize,
        precedes: impl Fn(usize, usize) -> bool,
        budget: &Budget,
    ) -> Result<(), &'static str> {
        for j in 0..count {
            for i in 0..j {
                let literal = if precedes(i, j) {
                    Literal::TRUE
                } else if precedes(j, i) {
                    Literal::FALSE
                } else {
                    self.variable()
                };
                self.order.push(literal);
            }
        }
        for k in 0..count {
            self.check_size(budget)?;
            for j in 0..k {
                for i in 0..j {
                    let [ij, jk, ik] = [self.before(i, j), self.before(j, k), self.before(i, k)];
                    self.clause([ij.not(), jk.not(), ik]);
                    self.clause([ij, jk, ik.not()]);
                }
            }
        }
        Ok(())
    }

    /// Adds `match(x, y)` for the nodes that can match. A matched operation is used, and an operation is matched to at
    /// most one other. A pending operation has at most one of its results.
    fn matching<T: Theory>(
        &mut self,
        theory: &T,
        nodes: &[Node<T::Operation, T::Return>],
    ) -> FxHashMap<(usize, usize), Literal> {
        for at in 0..self.used.len() {
            let used = self.used[at].clone();
            for (number, &one) in used.iter().enumerate() {
                for &other in &used[..number] {
                    self.clause([one.not(), other.not()]);
                }
            }
        }
        let mut matches = FxHashMap::default();
        for (y, node) in nodes.iter().enumerate() {
            let mut candidates: Vec<Literal> = Vec::new();
            for (x, other) in nodes.iter().enumerate() {
                if other.at == node.at || !theory.can_match(&other.label, &node.label) {
                    continue;
                }
                let literal = self.variable();
                self.clause([literal.not(), other.used]);
                self.clause([literal.not(), node.used]);
                for &candidate in &candidates {
                    self.clause([literal.not(), candidate.not()]);
                }
                candidates.push(literal);
                matches.insert((x, y), literal);
            }
        }
        matches
    }

    /// The instances of an axiom.
    fn ground<O, R>(
        &mut self,
        axiom: &Axiom<O, R>,
        nodes: &[Node<O, R>],
        matches: &FxHashMap<(usize, usize), Literal>,
        budget: &Budget,
    ) -> Result<(), &'static str> {
        let sorts: Vec<Vec<usize>> = axiom.variables.iter().map(|sort| of_sort(nodes, sort)).collect();
        let witnesses = match &axiom.then {
            Then::All(_) => Vec::new(),
            Then::Exists(sort, _) => of_sort(nodes, sort),
        };
        if sorts.iter().any(Vec::is_empty) {
            return Ok(());
        }
        let mut choice = vec![0; sorts.len()];
        let mut rounds = 0_u32;
        loop {
            rounds = rounds.wrapping_add(1);
            if rounds.is_multiple_of(1 << 10) {
                self.check_size(budget)?;
            }
            let x: Vec<usize> = choice.iter().zip(&sorts).map(|(&at, sort)| sort[at]).collect();
            let labels: Vec<Label<O, R>> = x.iter().map(|&node| nodes[node].label).collect();
            if axiom.when.iter().all(|relation| relation(&labels)) {
                self.instance(axiom, nodes, matches, x, &witnesses);
            }
            // The next choice of nodes, as the digits of a number are counted up.
            let mut digit = 0;
            loop {
                let Some(sort) = sorts.get(digit) else { return Ok(()) };
                choice[digit] += 1;
                if choice[digit] < sort.len() {
                    break;
                }
                choice[digit] = 0;
                digit += 1;
            }
        }
    }

    /// One instance of an axiom: `x` are the nodes of its variables.
    fn instance<O, R>(
        &mut self,
        axiom: &Axiom<O, R>,
        nodes: &[Node<O, R>],
        matches: &FxHashMap<(usize, usize), Literal>,
        mut x: Vec<usize>,
        witnesses: &[usize],
    ) {
        let literal = |formula: &Self, x: &[usize], atom: Atom| match atom {
            Atom::Before(i, j) => formula.before(nodes[x[i]].at, nodes[x[j]].at),
            Atom::Match(i, j) => matches.get(&(x[i], x[j])).copied().unwrap_or(Literal::FALSE),
            Atom::NoMatch(i, j) => matches.get(&(x[i], x[j])).map_or(Literal::TRUE, |literal| literal.not()),
        };
        let used = x.iter().map(|&node| nodes[node].used);
        let given = axiom.given.iter().map(|&atom| literal(self, &x, atom));
        let mut clause: Vec<Literal> = used.chain(given).map(Literal::not).collect();
        if clause.contains(&Literal::TRUE) {
            return;
        }
        match &axiom.then {
            Then::All(atoms) if atoms.is_empty() => self.clause(clause),
            Then::All(atoms) => {
                for &atom in atoms {
                    let then = literal(self, &x, atom);
                    self.clause(clause.iter().copied().chain([then]));
                }
            }
            Then::Exists(_, atoms) => {
                x.push(0);
                for &witness in witnesses {
                    x[axiom.variables.len()] = witness;
                    let mut parts: Vec<Literal> = atoms.iter().map(|&atom| literal(self, &x, atom)).collect();
                    parts.push(nodes[witness].used);
                    if parts.contains(&Literal::FALSE) {
                        continue;
                    }
                    let is_it = self.variable();
                    for part in parts {
                        self.clause([is_it.not(), part]);
                    }
                    clause.push(is_it);
                }
                self.clause(clause);
            }
        }
    }
}

/// The nodes of a sort.
fn of_sort<O, R>(nodes: &[Node<O, R>], sort: &Sort<O, R>) -> Vec<usize> {
    (0..nodes.len()).filter(|&at| sort(&nodes[at].label)).collect()
}
