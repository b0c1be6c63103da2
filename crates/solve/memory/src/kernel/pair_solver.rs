//! The store order by a SAT solver: one variable for each open pair, and acyclicity as a theory inside the solver.
//!
//! A choice for every pair is a store order exactly if its graph has no cycle. Choices that are not transitive make a
//! cycle, too. So the formula has no clauses at first. The theory keeps the events in a topological order of the fixed
//! edges and those of the literals that the solver has decided so far. If the order contradicts a new literal, either
//! some events are moved behind others (the algorithm of Marchetti-Spaccamela, Nanni and Rohnert), or there is a cycle.
//! Then the choices of a cycle with few choices become a conflict clause.
//!
//! If that takes too long, the same solver goes on without the theory. Then it proposes a choice for every pair, a
//! candidate. Cycles of the candidate become clauses, several at once, until a candidate has no cycle. Measured on
//! histories of an atomic memory with 8 locations, 20 of each size, after saturation: 16 threads of 50 operations
//! (1,250 open pairs each) take 240 ms a history with cycles of candidates alone and 1.2 ms with the theory, 12 threads
//! 75 ms and 0.9 ms, 8 threads 10 ms and 0.3 ms, 4 threads 0.15 ms and 0.04 ms; the hard shapes in sequence are 1.4 to
//! 300 times faster with the theory. But for the hard shapes side by side, where all pairs of copies are open, cycles
//! of candidates are better: 20 copies of `HardShape::OneGuess` take 0.13 to 0.33 s with them, and are undecided after
//! 1 s with the theory. So the solver uses both.

use batsat::theory::{Theory, TheoryArg};
use batsat::{Lit, Solver, SolverInterface, SolverOpts, lbool};
use model::GaveUp;
use order::ZeroOneQueue;
use search::sat::Stop;

use super::choices::{Choices, FIXED, Graph};
use model::Budget;

/// The most cycles of one candidate that become clauses.
const MAX_CYCLES_PER_CANDIDATE: usize = 64;
/// How many steps the solver may take with the theory: the first number, plus the second number for each pair.
const THEORY_STEPS: (u64, u64) = (20_000, 20);

/// A store order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreOrder {
    /// For each pair, whether its first write comes first.
    pub chosen: Vec<bool>,
    /// All events, in an order that agrees with the store order.
    pub line: Vec<u32>,
}

/// A solver for the open pairs.
pub struct PairSolver<'c, 'a> {
    choices: &'c Choices<'a>,
    solver: Solver<Stop>,
    literals: Vec<Lit>,
    theory: Acyclicity<'c, 'a>,
    /// How many more steps may be taken with the theory.
    steps: u64,
    budget: Budget,
    refuted: bool,
}

impl<'c, 'a> PairSolver<'c, 'a> {
    /// A solver that knows of no cycle yet.
    pub fn new(choices: &'c Choices<'a>, budget: &Budget) -> Self {
        // The first guess is an order that respects all fixed edges. Most of it is right.
        Self::guessing(choices, budget, |theory, pair| {
            let (first, second) = choices.pairs[pair];
            theory.place(first) < theory.place(second)
        })
    }

    /// A solver that knows of no cycle yet, and looks for store orders that differ from this choice as much as they
    /// can.
    pub fn unlike(choices: &'c Choices<'a>, budget: &Budget, chosen: &[bool]) -> Self {
        Self::guessing(choices, budget, |_, pair| !chosen[pair])
    }

    /// A solver that first guesses that the first write of a pair comes first if `guess` says so.
    fn guessing(choices: &'c Choices<'a>, budget: &Budget, guess: impl Fn(&Acyclicity<'c, 'a>, usize) -> bool) -> Self {
        let mut solver = Solver::new(SolverOpts::default(), Stop::new(budget));
        let theory = Acyclicity::new(choices);
        let mut literal = |pair| Lit::new(solver.new_var(lbool::from(guess(&theory, pair)), true), true);
        let literals = (0..choices.pairs.len()).map(&mut literal).collect();
        let steps = THEORY_STEPS.0 + THEORY_STEPS.1 * choices.pairs.len() as u64;
        Self { choices, solver, literals, theory, steps, budget: budget.clone(), refuted: false }
    }

    /// Looks for a store order, with pair `assumed.0` chosen as `assumed.1` says.
    pub fn solve(&mut self, assumed: Option<(usize, bool)>) -> Result<Option<StoreOrder>, GaveUp> {
        self.solve_within(assumed, false)
    }

    /// The same, but gives up with [`GaveUp::Steps`] where the theory takes too many steps.
    pub fn solve_soon(&mut self, assumed: Option<(usize, bool)>) -> Result<Option<StoreOrder>, GaveUp> {
        self.solve_within(assumed, true)
    }

    fn solve_within(&mut self, assumed: Option<(usize, bool)>, is_bounded: bool) -> Result<Option<StoreOrder>, GaveUp> {
        let assumptions: Vec<Lit> = assumed
            .iter()
            .map(|&(pair, forth)| if forth { self.literals[pair] } else { !self.literals[pair] })
            .collect();
        loop {
            if self.refuted || self.theory.refuted {
                return Ok(None);
            }
            self.budget.check()?;
            let with_theory = self.steps > 0;
            self.solver.cb().set_steps(if with_theory { self.steps } else { u64::MAX });
            let answer = if with_theory {
                self.solver.solve_limited_th(&mut self.theory, &assumptions)
            } else {
                self.solver.solve_limited(&assumptions)
            };
            if answer == lbool::FALSE {
                return Ok(None);
            }
            if answer != lbool::TRUE {
                // The steps or the time are used up.
                if is_bounded {
                    return Err(self.budget.check().err().unwrap_or(GaveUp::Steps));
                }
                self.steps = 0;
                continue;
            }
            let chosen: Vec<bool> =
                self.literals.iter().map(|&literal| self.solver.value_lit(literal) == lbool::TRUE).collect();
            if with_theory {
                return Ok(Some(StoreOrder { chosen, line: self.theory.line.clone() }));
            }
            let graph = self.choices.graph(|pair| Some(chosen[pair]));
            match graph.topological_order() {
                Some(line) => return Ok(Some(StoreOrder { chosen, line })),
                None => self.learn(&graph, &chosen),
            }
        }
    }

    /// Turns cycles of a candidate into clauses: one for each labelled edge on a cycle, unless a clause has that edge
    /// already.
    fn learn(&mut self, graph: &Graph, chosen: &[bool]) {
        let components = graph.components();
        let component = |event: u32| components[event as usize];
        let mut clauses: Vec<Vec<u32>> = Vec::new();
        let mut is_cut_off = false;
        'edges: for from in 0..graph.event_count() as u32 {
            let inside = |event: u32| component(event) == component(from);
            for &(to, label) in graph.successors(from) {
                if label == FIXED || !inside(to) || clauses.iter().any(|clause| clause.binary_search(&label).is_ok()) {
                    continue;
                }
                is_cut_off = clauses.len() == MAX_CYCLES_PER_CANDIDATE || self.budget.is_due();
                if is_cut_off {
                    break 'edges;
                }
                clauses.extend(graph.cycle(from, to, label, inside));
            }
        }
        // There is a cycle of fixed edges, so no choice is possible.
        self.refuted |= clauses.is_empty() && !is_cut_off;
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

/// The theory. Invariants: `line` is a topological order of `graph`, which has the fixed edges and those of `chosen`;
/// `chosen` is a prefix of the solver's trail.
struct Acyclicity<'c, 'a> {
    choices: &'c Choices<'a>,
    graph: Graph,
    line: Vec<u32>,
    /// Where each event stands in the line.
    places: Vec<u32>,
    chosen: Vec<(u32, u32)>,
    /// How many pairs were chosen when each level began.
    levels: Vec<usize>,
    /// Whether there is a cycle whatever is chosen.
    refuted: bool,
    /// By event: the last search that reached it, and by which edge.
    reached: Vec<(u32, u32, u32)>,
    searches: u32,
}

impl<'c, 'a> Acyclicity<'c, 'a> {
    fn new(choices: &'c Choices<'a>) -> Self {
        let graph = choices.graph(|_| None);
        let (line, refuted) = match graph.topological_order() {
            Some(line) => (line, false),
            None => ((0..graph.event_count() as u32).collect(), true),
        };
        let mut places = vec![0; line.len()];
        for (place, &event) in line.iter().enumerate() {
            places[event as usize] = place as u32;
        }
        let reached = vec![(0, 0, FIXED); line.len()];
        Self { choices, graph, line, places, chosen: Vec::new(), levels: Vec::new(), refuted, reached, searches: 0 }
    }

    fn place(&self, event: u32) -> u32 {
        self.places[event as usize]
    }

    /// Adds the edges of a choice. If they close a cycle, the error has the choices of a cycle with as few choices as
    /// possible.
    fn choose(&mut self, pair: u32, forth: bool) -> Result<(), Vec<u32>> {
        let (first, second) = self.choices.pairs[pair as usize];
        let (first, second) = if forth { (first, second) } else { (second, first) };
        let before = self.choices.before(first, second);
        let limit = before.map(|event| self.place(event)).max().unwrap_or(0);
        if limit > self.place(second) {
            let moved = self.search(pair, first, second, limit)?;
            self.move_behind(second, limit, moved);
        }
        self.choices.choose(&mut self.graph, pair, first, second);
        self.chosen.push((first, second));
        Ok(())
    }

    /// How many events come after `second`, itself included, up to place `limit`. Those reached are marked with the
    /// number of the search.
    fn search(&mut self, pair: u32, first: u32, second: u32, limit: u32) -> Result<usize, Vec<u32>> {
        self.searches += 1;
        let search = self.searches;
        let goal: Vec<u32> = self.choices.before(first, second).collect();
        let mut count = 0;
        let mut nearest = ZeroOneQueue::new((second, second, FIXED));
        while let Some((event, by, label)) = nearest.take() {
            if self.reached[event as usize].0 == search {
                continue;
            }
            self.reached[event as usize] = (search, by, label);
            count += 1;
            if goal.contains(&event) {
                let mut labels = vec![pair];
                let mut at = event;
                while at != second {
                    let (_, by, label) = self.reached[at as usize];
                    labels.extend(Some(label).filter(|&label| label != FIXED));
                    at = by;
                }
                labels.sort_unstable();
                labels.dedup();
                return Err(labels);
            }
            for &(next, label) in self.graph.successors(event) {
                if self.places[next as usize] <= limit && self.reached[next as usize].0 != search {
                    nearest.add((next, event, label), label == FIXED);
                }
            }
        }
        Ok(count)
    }

    /// Moves the events that the last search reached, of which `second` is the first, behind place `limit`.
    fn move_behind(&mut self, second: u32, limit: u32, count: usize) {
        let mut moved = Vec::with_capacity(count);
        let begin = self.place(second) as usize;
        let mut to = begin;
        for from in begin..=limit as usize {
            let event = self.line[from];
            if self.reached[event as usize].0 == self.searches {
                moved.push(event);
            } else {
                self.line[to] = event;
                self.places[event as usize] = to as u32;
                to += 1;
            }
        }
        for event in moved {
            self.line[to] = event;
            self.places[event as usize] = to as u32;
            to += 1;
        }
    }
}

impl Theory for Acyclicity<'_, '_> {
    fn final_check(&mut self, solver: &mut TheoryArg<'_>) {
        self.partial_check(solver);
    }

    fn partial_check(&mut self, solver: &mut TheoryArg<'_>) {
        for at in self.chosen.len()..solver.model().len() {
            let literal = solver.model()[at];
            if let Err(cycle) = self.choose(literal.var().idx(), literal.sign()) {
                let clause: Vec<Lit> = solver
                    .model()
                    .iter()
                    .filter(|literal| cycle.binary_search(&literal.var().idx()).is_ok())
                    .map(|&literal| !literal)
                    .collect();
                // The solver does not remember a conflict that depends on no decision.
                self.refuted |= self.levels.is_empty();
                solver.raise_conflict(&clause, false);
                return;
            }
        }
    }

    fn create_level(&mut self) {
        self.levels.push(self.chosen.len());
    }

    fn pop_levels(&mut self, count: usize) {
        let left = self.levels.len() - count;
        if let Some(&chosen) = self.levels.get(left) {
            self.levels.truncate(left);
            for (first, second) in self.chosen.drain(chosen..).rev() {
                self.choices.unchoose(&mut self.graph, first, second);
            }
        }
    }

    fn n_levels(&self) -> usize {
        self.levels.len()
    }

    fn explain_propagation(&mut self, _: Lit) -> &[Lit] {
        // The theory never propagates a literal: it only refuses.
        &[]
    }
}
