//! The store order by a SAT solver: one variable an open pair, and cycles as clauses, added as candidates show them.
//!
//! A candidate of the solver is a choice for every pair. If its graph has no cycle, it is a store order. Else some of the
//! cycles, each with few choices, become clauses: not all these choices together. No other clause is needed:
//! choices that are not transitive make a cycle, too.

use batsat::{Callbacks, Lit, Solver, SolverInterface, SolverOpts, lbool};

use super::choices::{Choices, FIXED, Graph};
use crate::Interrupt;

/// How many cycles of one candidate become clauses at most.
const CYCLES: usize = 64;

/// Stops the solver in time.
struct Stop(Interrupt);

impl Callbacks for Stop {
    fn stop(&self) -> bool {
        self.0.is_due()
    }
}

/// What the solver found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A choice for each pair, and an interleaving.
    Order(Vec<bool>, Vec<u32>),
    /// There is none.
    Nothing,
    /// There was no time left.
    Interrupted,
}

/// A solver for the open pairs.
pub struct PairSolver<'c, 'a> {
    choices: &'c Choices<'a>,
    solver: Solver<Stop>,
    literals: Vec<Lit>,
    interrupt: Interrupt,
    refuted: bool,
}

impl<'c, 'a> PairSolver<'c, 'a> {
    /// A solver that knows of no cycle yet.
    pub fn new(choices: &'c Choices<'a>, interrupt: Interrupt) -> Self {
        let mut solver = Solver::new(SolverOpts::default(), Stop(interrupt));
        // The first guess is an order that all fixed edges respect: most of it is right.
        let mut places: Vec<u32> = Vec::new();
        if let Ok(line) = choices.graph(|_| None).topological_order() {
            places = vec![0; line.len()];
            for (place, &event) in line.iter().enumerate() {
                places[event as usize] = place as u32;
            }
        }
        let place = |event: u32| places.get(event as usize).copied().unwrap_or(event);
        let literals = choices
            .pairs
            .iter()
            .map(|&(first, second)| {
                let guess = lbool::from(place(first) < place(second));
                Lit::new(solver.new_var(guess, true), true)
            })
            .collect();
        Self { choices, solver, literals, interrupt, refuted: false }
    }

    /// Looks for a store order, with pair `assumed.0` chosen as `assumed.1` says.
    pub fn solve(&mut self, assumed: Option<(usize, bool)>) -> Found {
        let assumptions: Vec<Lit> = assumed
            .iter()
            .map(|&(pair, forth)| if forth { self.literals[pair] } else { !self.literals[pair] })
            .collect();
        loop {
            if self.refuted {
                return Found::Nothing;
            }
            if self.interrupt.is_due() {
                return Found::Interrupted;
            }
            let answer = self.solver.solve_limited(&assumptions);
            if answer == lbool::FALSE {
                return Found::Nothing;
            }
            if answer != lbool::TRUE {
                return Found::Interrupted;
            }
            let chosen: Vec<bool> =
                self.literals.iter().map(|&literal| self.solver.value_lit(literal) == lbool::TRUE).collect();
            let graph = self.choices.graph(|pair| Some(chosen[pair]));
            match graph.topological_order() {
                Ok(line) => return Found::Order(chosen, line),
                Err(left) => self.learn(&graph, &left, &chosen),
            }
        }
    }

    fn learn(&mut self, graph: &Graph, left: &[u32], chosen: &[bool]) {
        let mut inside = vec![false; graph.len()];
        for &event in left {
            inside[event as usize] = true;
        }
        let inside = |event: u32| inside[event as usize];
        let mut clauses: Vec<Vec<u32>> = Vec::new();
        for &from in left {
            for &(to, label) in graph.successors(from) {
                let covered = clauses.iter().any(|clause| clause.binary_search(&label).is_ok());
                if label != FIXED && !covered && inside(to) {
                    clauses.extend(graph.cycle(from, to, label, inside));
                }
            }
            if clauses.len() >= CYCLES {
                break;
            }
        }
        // A cycle of fixed edges: nothing can be chosen.
        self.refuted |= clauses.is_empty();
        for clause in clauses {
            let mut clause: Vec<Lit> = clause
                .into_iter()
                .map(|pair| {
                    let literal = self.literals[pair as usize];
                    if chosen[pair as usize] { !literal } else { literal }
                })
                .collect();
            self.refuted |= !self.solver.add_clause_reuse(&mut clause);
        }
    }
}
