//! The clauses of a theory over some calls.
//!
//! A formula has a part for each operation that a quantifier ranges over. An axiom that holds is taken apart as long as
//! it is a conjunction, and becomes a clause where it is a disjunction. What is inside gets a variable that implies it,
//! and nothing more: the variable stands for its formula only where the formula must hold. So the clauses have a model
//! exactly if the axioms have one.

use history::OperationId;
use model::specification::{End, Timed};
use object::Budget;
use rustc_hash::FxHashMap;

use super::super::reason;
use super::{Atom, Axiom, Calls, Formula, Label, NO_RETURNS, Order, Sort, TOO_LARGE, Theory};

/// The most literals that the clauses may have. They take about one gigabyte.
const MOST_LITERALS: usize = 1 << 28;

/// What is known of the clauses.
pub(super) enum Answer {
    /// They have a model: these calls in an order that the model allows.
    Order(Vec<OperationId>),
    Contradiction,
    Unknown(&'static str),
}

/// A literal: twice the variable, and one more if it is negated. The first variable is true.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Literal(pub(super) u32);

impl Literal {
    pub(super) const TRUE: Self = Self(0);
    pub(super) const FALSE: Self = Self(1);

    pub(super) const fn not(self) -> Self {
        Self(self.0 ^ 1)
    }

    const fn when(self, is_positive: bool) -> Self {
        if is_positive { self } else { self.not() }
    }
}

/// The clauses of a theory over some calls.
pub(super) struct Clauses {
    pub(super) variables: u32,
    pub(super) all: Vec<Vec<Literal>>,
    literals: usize,
    /// The call at each place of the order.
    pub(super) calls: Vec<usize>,
    /// `b(i, j)`, row by row.
    order: Vec<Literal>,
    /// For each place: the literals of which one holds if the call is used.
    pub(super) used: Vec<Vec<Literal>>,
}

/// An operation with a result. A pending operation has a node for each of its possible results.
struct Node<'a, O, R> {
    label: Label<'a, O, R>,
    /// Its place in the order.
    at: usize,
    used: Literal,
}

/// What axioms speak of.
struct Domain<'a, O, R> {
    nodes: Vec<Node<'a, O, R>>,
    matches: FxHashMap<(usize, usize), Literal>,
}

impl<O, R> Domain<'_, O, R> {
    /// The nodes of a sort.
    fn of_sort(&self, sort: &Sort<O, R>) -> impl Iterator<Item = usize> {
        (0..self.nodes.len()).filter(|&at| sort(&self.nodes[at].label))
    }
}

/// A part of a conjunction or of a disjunction.
struct Part<'f, O, R> {
    formula: &'f Formula<O, R>,
    is_positive: bool,
    /// The node of the variable that is bound here. The part counts only if it is used.
    node: Option<usize>,
}

impl Clauses {
    /// The clauses of the history up to a moment.
    pub(super) fn new<T: Theory>(
        theory: &T,
        calls: &Calls<T>,
        limit: u64,
        budget: &Budget,
    ) -> Result<Self, &'static str> {
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
        let mut clauses = Self {
            variables: 1,
            all: vec![vec![Literal::TRUE]],
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
                clauses.used[at].push(used);
            };
            match calls[place].result().filter(|_| ret(place).is_some()) {
                Some(returned) => add(returned, Literal::TRUE),
                None => {
                    for returned in &chosen[at] {
                        let used = Literal(2 * clauses.variables);
                        clauses.variables += 1;
                        add(returned, used);
                    }
                }
            }
        }
        let precedes = |i: usize, j: usize| ret(places[i]).is_some_and(|ret| ret < calls[places[j]].call);
        clauses.order(places.len(), precedes, theory.order() == Order::Total, budget)?;
        let matches = clauses.matching(theory, &nodes);
        let domain = Domain { nodes, matches };
        for axiom in theory.axioms() {
            clauses.instances(&axiom, &domain, budget)?;
        }
        Ok(clauses)
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
        self.all.push(clause);
    }

    pub(super) fn before(&self, i: usize, j: usize) -> Literal {
        self.order[i * self.calls.len() + j]
    }

    fn check_size(&self, budget: &Budget) -> Result<(), &'static str> {
        if self.literals > MOST_LITERALS {
            return Err(TOO_LARGE);
        }
        if budget.is_due() { Err(reason(budget)) } else { Ok(()) }
    }

    /// ATOMIC or COMPLETED, and ORDER: a total or a partial order that extends real time.
    fn order(
        &mut self,
        count: usize,
        precedes: impl Fn(usize, usize) -> bool,
        is_total: bool,
        budget: &Budget,
    ) -> Result<(), &'static str> {
        self.order = vec![Literal::FALSE; count * count];
        for j in 0..count {
            for i in 0..j {
                let [forth, back] = if precedes(i, j) {
                    [Literal::TRUE, Literal::FALSE]
                } else if precedes(j, i) {
                    [Literal::FALSE, Literal::TRUE]
                } else {
                    let forth = self.variable();
                    let back = if is_total { forth.not() } else { self.variable() };
                    self.clause([forth.not(), back.not()]);
                    [forth, back]
                };
                self.order[i * count + j] = forth;
                self.order[j * count + i] = back;
            }
        }
        // Of a total order, a triple has two cycles. Of a partial one, six pairs may follow from two others.
        for k in 0..count {
            self.check_size(budget)?;
            for j in 0..k {
                for i in 0..j {
                    let triples = [[i, j, k], [k, j, i], [i, k, j], [j, k, i], [j, i, k], [k, i, j]];
                    for [a, b, c] in triples.into_iter().take(if is_total { 2 } else { 6 }) {
                        let [ab, bc, ac] = [self.before(a, b), self.before(b, c), self.before(a, c)];
                        self.clause([ab.not(), bc.not(), ac]);
                    }
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
    fn instances<O, R>(
        &mut self,
        axiom: &Axiom<O, R>,
        domain: &Domain<'_, O, R>,
        budget: &Budget,
    ) -> Result<(), &'static str> {
        let sorts: Vec<Vec<usize>> = axiom.variables.iter().map(|sort| domain.of_sort(sort).collect()).collect();
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
            let mut x: Vec<usize> = choice.iter().zip(&sorts).map(|(&at, sort)| sort[at]).collect();
            let labels: Vec<Label<O, R>> = x.iter().map(|&node| domain.nodes[node].label).collect();
            if axiom.when.iter().all(|relation| relation(&labels)) {
                let used = x.iter().map(|&node| domain.nodes[node].used.not());
                let mut clause: Vec<Literal> = used.collect();
                for given in &axiom.given {
                    clause.push(self.literal(given, false, domain, &mut x));
                }
                if !clause.contains(&Literal::TRUE) {
                    self.holds(&axiom.then, true, domain, &mut x, &clause);
                }
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

    /// Writes down that a formula, or its negation, holds of the nodes `x`, unless a literal of `unless` does.
    fn holds<O, R>(
        &mut self,
        formula: &Formula<O, R>,
        is_positive: bool,
        domain: &Domain<'_, O, R>,
        x: &mut Vec<usize>,
        unless: &[Literal],
    ) {
        let mut clause = unless.to_vec();
        match parts(formula, is_positive, domain) {
            Err(_) => clause.push(self.literal(formula, is_positive, domain, x)),
            Ok((false, parts)) => {
                for part in parts {
                    clause.push(self.part(&part, false, domain, x));
                }
            }
            Ok((true, parts)) => {
                for part in parts {
                    clause.truncate(unless.len());
                    if let Some(node) = part.node {
                        clause.push(domain.nodes[node].used.not());
                        x.push(node);
                    }
                    self.holds(part.formula, part.is_positive, domain, x, &clause);
                    x.truncate(x.len() - usize::from(part.node.is_some()));
                }
                return;
            }
        }
        self.clause(clause);
    }

    /// A literal that implies a formula of the nodes `x`, or its negation.
    fn literal<O, R>(
        &mut self,
        formula: &Formula<O, R>,
        is_positive: bool,
        domain: &Domain<'_, O, R>,
        x: &mut Vec<usize>,
    ) -> Literal {
        let (is_conjunction, parts) = match parts(formula, is_positive, domain) {
            Ok(compound) => compound,
            Err(Leaf::Atom(Atom::Before(i, j))) => {
                return self.before(domain.nodes[x[i]].at, domain.nodes[x[j]].at).when(is_positive);
            }
            Err(Leaf::Atom(Atom::Match(i, j))) => {
                let matched = domain.matches.get(&(x[i], x[j])).copied().unwrap_or(Literal::FALSE);
                return matched.when(is_positive);
            }
            Err(Leaf::Labels(relation)) => {
                let labels: Vec<Label<O, R>> = x.iter().map(|&node| domain.nodes[node].label).collect();
                let truth = if relation(&labels) { Literal::TRUE } else { Literal::FALSE };
                return truth.when(is_positive);
            }
            Err(Leaf::Not(formula)) => return self.literal(formula, !is_positive, domain, x),
        };
        let literals = parts.iter().map(|part| self.part(part, is_conjunction, domain, x)).collect();
        self.joined(is_conjunction, literals)
    }

    /// A literal that implies a part, with what is said of the use of its node.
    fn part<O, R>(
        &mut self,
        part: &Part<'_, O, R>,
        is_conjunction: bool,
        domain: &Domain<'_, O, R>,
        x: &mut Vec<usize>,
    ) -> Literal {
        let Some(node) = part.node else { return self.literal(part.formula, part.is_positive, domain, x) };
        x.push(node);
        let literal = self.literal(part.formula, part.is_positive, domain, x);
        x.pop();
        // Of a conjunction: the node is not used, or the part holds. Of a disjunction: it is used, and the part holds.
        let used = domain.nodes[node].used.when(!is_conjunction);
        self.joined(!is_conjunction, vec![used, literal])
    }

    /// A literal that implies all of these, or one of them.
    fn joined(&mut self, is_conjunction: bool, mut literals: Vec<Literal>) -> Literal {
        let (neutral, decisive) =
            if is_conjunction { (Literal::TRUE, Literal::FALSE) } else { (Literal::FALSE, Literal::TRUE) };
        if literals.contains(&decisive) {
            return decisive;
        }
        literals.retain(|&literal| literal != neutral);
        match literals[..] {
            [] => neutral,
            [literal] => literal,
            _ => {
                let name = self.variable();
                if is_conjunction {
                    for literal in literals {
                        self.clause([name.not(), literal]);
                    }
                } else {
                    self.clause([name.not()].into_iter().chain(literals));
                }
                name
            }
        }
    }
}

/// A formula that has no parts of its kind.
enum Leaf<'f, O, R> {
    Atom(Atom),
    Labels(&'f super::Relation<O, R>),
    Not(&'f Formula<O, R>),
}

/// Whether a formula is a conjunction, and its parts.
type Compound<'f, O, R> = (bool, Vec<Part<'f, O, R>>);

/// Whether a formula, or its negation, is a conjunction, and its parts.
fn parts<'f, O, R>(
    formula: &'f Formula<O, R>,
    is_positive: bool,
    domain: &Domain<'_, O, R>,
) -> Result<Compound<'f, O, R>, Leaf<'f, O, R>> {
    let of = |formulas: &'f [Formula<O, R>]| {
        formulas.iter().map(|formula| Part { formula, is_positive, node: None }).collect()
    };
    let over = |sort: &Sort<O, R>, formula: &'f Formula<O, R>| {
        domain.of_sort(sort).map(|node| Part { formula, is_positive, node: Some(node) }).collect()
    };
    match formula {
        Formula::And(formulas) => Ok((is_positive, of(formulas))),
        Formula::Or(formulas) => Ok((!is_positive, of(formulas))),
        Formula::Every(sort, formula) => Ok((is_positive, over(sort, formula))),
        Formula::Some(sort, formula) => Ok((!is_positive, over(sort, formula))),
        Formula::Not(formula) => match &**formula {
            inner @ (Formula::Atom(_) | Formula::Labels(_)) => Err(Leaf::Not(inner)),
            inner => parts(inner, !is_positive, domain),
        },
        Formula::Atom(atom) => Err(Leaf::Atom(*atom)),
        Formula::Labels(relation) => Err(Leaf::Labels(relation)),
    }
}
