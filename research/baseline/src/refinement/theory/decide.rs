//! Decides the clauses of a theory: exactly by a SAT solver, or by unit propagation alone.
//!
//! A model of the clauses is an order: an operation stands behind all that the literals `b` put before it.

use batsat::{Lit, Solver, SolverInterface, lbool};
use history::OperationId;
use object::Budget;
use rustc_hash::FxHashMap;
use search::sat::Stop;

use super::super::{SILENCE, reason};
use super::clauses::{Answer, Clauses, Literal};

impl Clauses {
    /// Asks a solver.
    pub(super) fn solve(&self, budget: &Budget) -> Answer {
        let mut solver = Solver::new(batsat::SolverOpts::default(), Stop::new(budget));
        let variables: Vec<_> = (0..self.variables).map(|_| solver.new_var_default()).collect();
        let lit = |literal: Literal| Lit::new(variables[literal.0 as usize / 2], literal.0 & 1 == 0);
        for clause in &self.all {
            solver.add_clause_reuse(&mut clause.iter().map(|&literal| lit(literal)).collect());
        }
        let answer = solver.solve_limited(&[]);
        if answer == lbool::FALSE {
            return Answer::Contradiction;
        }
        if answer != lbool::TRUE {
            return Answer::Unknown(reason(budget));
        }
        let holds = |literal: Literal| {
            literal == Literal::TRUE || literal != Literal::FALSE && solver.value_lit(lit(literal)) == lbool::TRUE
        };
        let is_used = |at: &usize| self.used[*at].iter().any(|&used| holds(used));
        let mut order: Vec<usize> = (0..self.calls.len()).filter(is_used).collect();
        let place = |at: usize| order.iter().filter(|&&other| holds(self.before(other, at))).count();
        let places: FxHashMap<usize, usize> = order.iter().map(|&at| (at, place(at))).collect();
        order.sort_by_key(|at| places[at]);
        Answer::Order(order.into_iter().map(|at| OperationId(self.calls[at] as u32)).collect())
    }

    /// Draws what follows by unit propagation.
    pub(super) fn propagate(&self) -> Answer {
        let mut occurrences: Vec<Vec<u32>> = vec![Vec::new(); 2 * self.variables as usize];
        let mut is_true = vec![false; 2 * self.variables as usize];
        let mut left: Vec<Literal> = Vec::new();
        for (number, clause) in (0..).zip(&self.all) {
            match clause[..] {
                [] => return Answer::Contradiction,
                [literal] => left.push(literal),
                _ => clause.iter().for_each(|literal| occurrences[literal.0 as usize].push(number)),
            }
        }
        while let Some(literal) = left.pop() {
            if is_true[literal.not().0 as usize] {
                return Answer::Contradiction;
            }
            if std::mem::replace(&mut is_true[literal.0 as usize], true) {
                continue;
            }
            for &number in &occurrences[literal.not().0 as usize] {
                let clause = &self.all[number as usize];
                if clause.iter().any(|literal| is_true[literal.0 as usize]) {
                    continue;
                }
                let mut open = clause.iter().filter(|literal| !is_true[literal.not().0 as usize]);
                match (open.next(), open.next()) {
                    (None, _) => return Answer::Contradiction,
                    (Some(&last), None) => left.push(last),
                    _ => {}
                }
            }
        }
        Answer::Unknown(SILENCE)
    }
}
