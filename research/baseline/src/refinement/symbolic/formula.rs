//! The propositional formula: its clauses, the order, and the clauses that are not complete yet.
//!
//! Operations come one by one, as in the execution. The literal `b(x, y)` is true or false by real time, or a variable
//! if x and y overlap. This is known when the later of both is called, so the formula only grows. ATOMIC says that no
//! three operations form a circle.
//!
//! An axiom that asks for some operation is a clause over the candidates. If the axiom is about an operation that has
//! returned, all candidates are known. While the operation is open, later operations may be candidates, too. Such a
//! clause ends in a literal `more`. It is assumed false at each test, it implies one of the later candidates, and it is
//! false for ever when the operation returns.

use crate::refinement::{Step, reason};
use batsat::{Lit, Solver, SolverInterface, lbool};
use object::Budget;
use rustc_hash::FxHashMap;
use search::sat::Stop;

#[derive(Clone, Debug)]
struct Place {
    call: u32,
    ret: u32,
    /// The operations that returned while this one was open.
    returned_meanwhile: Vec<u32>,
    /// The ends of clauses to which later operations may add candidates.
    more: Vec<Lit>,
}

/// The formula: see the module.
pub(super) struct Formula {
    solver: Solver<Stop>,
    truth: Lit,
    places: Vec<Place>,
    open: Vec<u32>,
    /// `b(x, y)` for the pairs that overlap, x called first.
    before: FxHashMap<(u32, u32), Lit>,
    moment: u32,
    clause: Vec<Lit>,
}

impl Formula {
    pub(super) fn new(budget: &Budget) -> Self {
        let mut solver = Solver::new(batsat::SolverOpts::default(), Stop::new(budget));
        let truth = Lit::new(solver.new_var_default(), true);
        solver.add_clause_reuse(&mut vec![truth]);
        Self {
            solver,
            truth,
            places: Vec::new(),
            open: Vec::new(),
            before: FxHashMap::default(),
            moment: 0,
            clause: Vec::new(),
        }
    }

    pub(super) const fn truth(&self) -> Lit {
        self.truth
    }

    pub(super) fn variable(&mut self) -> Lit {
        Lit::new(self.solver.new_var_default(), true)
    }

    pub(super) fn clause(&mut self, literals: &[Lit]) {
        if literals.contains(&self.truth) {
            return;
        }
        self.clause.clear();
        self.clause.extend(literals.iter().filter(|&&literal| literal != !self.truth));
        let mut clause = std::mem::take(&mut self.clause);
        self.solver.add_clause_reuse(&mut clause);
        self.clause = clause;
    }

    /// Adds the clause that not all of these literals hold.
    pub(super) fn not_all(&mut self, literals: &[Lit]) {
        let clause: Vec<Lit> = literals.iter().map(|&literal| !literal).collect();
        self.clause(&clause);
    }

    /// A literal that implies both.
    pub(super) fn both(&mut self, p: Lit, q: Lit) -> Lit {
        if p == self.truth {
            q
        } else if q == self.truth {
            p
        } else if p == !self.truth || q == !self.truth {
            !self.truth
        } else {
            let both = self.variable();
            self.clause(&[!both, p]);
            self.clause(&[!both, q]);
            both
        }
    }

    /// `b(x, y)`.
    pub(super) fn before(&self, x: u32, y: u32) -> Lit {
        let (first, second) = (&self.places[x as usize], &self.places[y as usize]);
        if first.ret < second.call {
            self.truth
        } else if second.ret < first.call || x == y {
            !self.truth
        } else if x < y {
            self.before[&(x, y)]
        } else {
            !self.before[&(y, x)]
        }
    }

    pub(super) fn is_open(&self, x: u32) -> bool {
        self.places[x as usize].ret == u32::MAX
    }

    pub(super) fn open(&self) -> &[u32] {
        &self.open
    }

    /// The next operation is called.
    pub(super) fn call(&mut self, j: u32) {
        debug_assert_eq!(j as usize, self.places.len());
        let (call, ret) = (self.moment, u32::MAX);
        self.moment += 1;
        self.places.push(Place { call, ret, returned_meanwhile: Vec::new(), more: Vec::new() });
        let open = self.open.clone();
        for &k in &open {
            let literal = self.variable();
            self.before.insert((k, j), literal);
        }
        for (at, &k) in open.iter().enumerate() {
            for &i in &open[..at] {
                let [ik, kj, ij] = [self.before(i, k), self.before(k, j), self.before(i, j)];
                self.not_all(&[ik, kj, !ij]);
                self.not_all(&[!ik, ij, !kj]);
            }
            // If k is before some i that returned before j was called, it is before j.
            let returned = std::mem::take(&mut self.places[k as usize].returned_meanwhile);
            for &i in &returned {
                let [ki, kj] = [self.before(k, i), self.before(k, j)];
                self.clause(&[!ki, kj]);
            }
            self.places[k as usize].returned_meanwhile = returned;
        }
        self.open.push(j);
    }

    /// An operation returned. Its open clauses are complete now.
    pub(super) fn return_(&mut self, i: u32) {
        self.places[i as usize].ret = self.moment;
        self.moment += 1;
        self.places[i as usize].returned_meanwhile = Vec::new();
        self.open.retain(|&k| k != i);
        for at in 0..self.open.len() {
            let k = self.open[at];
            self.places[k as usize].returned_meanwhile.push(i);
        }
        for more in std::mem::take(&mut self.places[i as usize].more) {
            self.clause(&[!more]);
        }
    }

    /// A new end of a clause about x. It is false once x has returned.
    pub(super) fn more(&mut self, x: u32) -> Lit {
        if !self.is_open(x) {
            return !self.truth;
        }
        let more = self.variable();
        self.places[x as usize].more.push(more);
        more
    }

    /// Adds a candidate to the clause about x that ends in `more`.
    pub(super) fn go_on(&mut self, x: u32, more: &mut Lit, candidate: Lit) {
        if candidate == !self.truth {
            return;
        }
        let next = self.more(x);
        self.clause(&[!*more, candidate, next]);
        self.places[x as usize].more.retain(|literal| literal != more);
        *more = next;
    }

    /// Whether there is a model.
    pub(super) fn test(&mut self) -> Step {
        let open = self.open.iter().flat_map(|&x| &self.places[x as usize].more);
        let assumptions: Vec<Lit> = open.map(|&more| !more).collect();
        let answer = self.solver.solve_limited(&assumptions);
        if answer == lbool::TRUE {
            Step::Possible
        } else if answer == lbool::FALSE {
            Step::Violation
        } else {
            Step::GaveUp(reason(self.solver.cb().budget()))
        }
    }

    /// Whether a literal holds in the last model.
    pub(super) fn holds(&self, literal: Lit) -> bool {
        if literal == self.truth || literal == !self.truth {
            return literal == self.truth;
        }
        self.solver.value_lit(literal) == lbool::TRUE
    }

    /// Puts operations into the order of the last model.
    pub(super) fn sort(&self, operations: &mut [u32]) {
        operations.sort_by(|&x, &y| match () {
            () if x == y => std::cmp::Ordering::Equal,
            () if self.holds(self.before(x, y)) => std::cmp::Ordering::Less,
            () => std::cmp::Ordering::Greater,
        });
    }
}
