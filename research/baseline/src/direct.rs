//! The axioms as clauses, all of them at once. (The baselines SC-SAT and TSO-SAT of section 5 of GCC. With a partial
//! store order that is known before: the completion by a SAT solver of wSC and of GCC.)
//!
//! For each two events whose order is not known, a variable tells which comes first. Known is the order of each chain
//! of the frame, and what a saturation before found out. The clauses say that
//! - a base predecessor is before its event (in `sc`, a source is before its readers), and a read of the initial value
//!   is before all writes of the location;
//! - for a read `r` of `w` and another write `w'` of the location, `w'` is before `w` or `r` before `w'` (`ww`, `rw`);
//! - no three events form a cycle (`hb` is transitive). If the order of two of them is known, it is enough to say this
//!   for pairs that are next to each other: no event of the chain of one stands between it and the other. If the order
//!   of two pairs is known, so is that of the third.
//!
//! So a satisfying assignment is a total order of all events in which every read returns the last write: an
//! interleaving. The last kind of clause makes the formula cubic in the number of events. A formula that does not fit
//! into memory is not written.

use batsat::{Lit, Solver, SolverInterface, SolverOpts, lbool};
use history::Execution;
use history::execution::EventId;
use model::GaveUp;

use memory::Budget;
use memory::research::Frame;
use search::sat::Stop;

use crate::strategy::Line;

/// How many bytes a clause of three literals takes, with the places where the solver watches it.
const BYTES_PER_CLAUSE: usize = 64;

/// How it is known whether one event comes before another.
enum Before {
    Known(bool),
    Open(Lit),
}

struct Encoding<'a, K> {
    execution: &'a Execution,
    /// Whether the first event is known to come before the second.
    known: K,
    solver: Solver<Stop>,
    /// By pair of events, row by row: the variable for whether the first event comes first. There is one if the order
    /// is not known and the first has the smaller number.
    variables: Vec<Lit>,
    /// By event: the events to which its order is not known.
    open: Vec<Vec<u32>>,
    refuted: bool,
    clauses: usize,
}

/// How large a formula is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// The pairs of events whose order is open.
    pub variables: usize,
    /// The clauses.
    pub clauses: usize,
}

/// Writes the formula and solves it.
pub fn solve(frame: &Frame<'_>, budget: &Budget) -> Line {
    let threads = frame.execution().threads();
    solve_after(frame, |a, b| a < b && threads[a as usize] == threads[b as usize], budget)
}

/// As [`solve`], if some events are known to come before others. What is known must be transitive, acyclic, and contain
/// the order of each chain.
pub fn solve_after(frame: &Frame<'_>, known: impl Fn(u32, u32) -> bool, budget: &Budget) -> Line {
    let mut encoding = Encoding::new(frame, known, budget)?;
    if encoding.refuted {
        return Ok(None);
    }
    let answer = encoding.solver.solve_limited(&[]);
    if answer == lbool::TRUE {
        Ok(Some(encoding.line()))
    } else if answer == lbool::FALSE {
        Ok(None)
    } else {
        Err(budget.why())
    }
}

/// Writes the formula of [`solve_after`] and does not solve it.
pub fn write_after(frame: &Frame<'_>, known: impl Fn(u32, u32) -> bool, budget: &Budget) -> Result<Size, GaveUp> {
    let encoding = Encoding::new(frame, known, budget)?;
    let variables = encoding.open.iter().map(Vec::len).sum::<usize>() / 2;
    Ok(Size { variables, clauses: encoding.clauses })
}

impl<'a, K: Fn(u32, u32) -> bool> Encoding<'a, K> {
    /// Writes the formula.
    fn new(frame: &'a Frame<'_>, known: K, budget: &Budget) -> Result<Self, GaveUp> {
        let execution = frame.execution();
        let count = execution.len();
        let mut solver = Solver::new(SolverOpts::default(), Stop::new(budget));
        budget.check_room(count.saturating_mul(count).saturating_mul(size_of::<Lit>()))?;
        let mut variables = vec![Lit::UNDEF; count * count];
        let mut open = vec![Vec::new(); count];
        for a in 0..count as u32 {
            budget.check()?;
            for b in a + 1..count as u32 {
                if !known(a, b) && !known(b, a) {
                    variables[a as usize * count + b as usize] = Lit::new(solver.new_var_default(), true);
                    open[a as usize].push(b);
                    open[b as usize].push(a);
                }
            }
        }
        // At most a third of the pairs of open pairs are triples, and each triple has two clauses.
        let pairs: usize = open.iter().map(|open| open.len().saturating_mul(open.len()) / 2).sum();
        if budget.check_room((pairs / 3 * 2).saturating_mul(BYTES_PER_CLAUSE)).is_err() {
            return Err(GaveUp::Clauses);
        }
        let mut encoding = Encoding { execution, known, solver, variables, open, refuted: false, clauses: 0 };
        for event in 0..count as u32 {
            budget.check()?;
            for predecessor in frame.predecessors(event) {
                encoding.require(&[(predecessor, event)]);
            }
            encoding.read(event);
            encoding.transitive(event);
        }
        Ok(encoding)
    }

    fn before(&self, a: u32, b: u32) -> Before {
        let variable = self.variables[a.min(b) as usize * self.execution.len() + a.max(b) as usize];
        if variable == Lit::UNDEF {
            return Before::Known((self.known)(a, b));
        }
        Before::Open(if a < b { variable } else { !variable })
    }

    /// Adds the clause that at least one of these pairs is in order.
    fn require(&mut self, pairs: &[(u32, u32)]) {
        let mut clause = Vec::with_capacity(pairs.len());
        for &(a, b) in pairs {
            match self.before(a, b) {
                Before::Known(true) => return,
                Before::Known(false) => {}
                Before::Open(literal) => clause.push(literal),
            }
        }
        self.clauses += 1;
        self.refuted |= !self.solver.add_clause_reuse(&mut clause);
    }

    fn read(&mut self, read: u32) {
        let access = self.execution.events()[read as usize];
        if !access.kind.reads() {
            return;
        }
        for write in 0..self.execution.len() as u32 {
            let other = self.execution.events()[write as usize];
            if !other.kind.writes() || other.location != access.location || write == read || write == access.source.0 {
                continue;
            }
            if access.source == EventId::INIT {
                self.require(&[(read, write)]);
            } else {
                self.require(&[(write, access.source.0), (read, write)]);
            }
        }
    }

    /// Whether an event is known to come before another, and no event of the chain of either stands between them.
    fn is_next(&self, a: u32, b: u32) -> bool {
        let chains = self.execution.threads();
        let is_same = |first: u32, second: u32| chains.get(first as usize) == chains.get(second as usize);
        let is_later = |event: u32| (event as usize) < chains.len() && (self.known)(event, b);
        (self.known)(a, b)
            && !(is_same(a, a + 1) && is_later(a + 1))
            && !(b > 0 && is_same(b - 1, b) && (self.known)(a, b - 1))
    }

    /// Adds the clauses against cycles of an event and two others to which its order is open.
    fn transitive(&mut self, event: u32) {
        let open = std::mem::take(&mut self.open[event as usize]);
        for (at, &second) in open.iter().enumerate() {
            for &third in &open[at + 1..] {
                // The events are in the order of their numbers.
                match self.before(second, third) {
                    // All three are open: the first of them has the clauses.
                    Before::Open(_) if event < second => {
                        self.require(&[(second, event), (third, second), (event, third)]);
                        self.require(&[(event, second), (second, third), (third, event)]);
                    }
                    Before::Open(_) => {}
                    Before::Known(is_before) => {
                        let (first, last) = if is_before { (second, third) } else { (third, second) };
                        if self.is_next(first, last) {
                            self.require(&[(first, event), (event, last)]);
                        }
                    }
                }
            }
        }
        self.open[event as usize] = open;
    }

    /// The events in the order of the satisfying assignment.
    fn line(&self) -> Vec<u32> {
        let count = self.execution.len() as u32;
        let is_before = |a: u32, b: u32| match self.before(a, b) {
            Before::Known(known) => known,
            Before::Open(literal) => self.solver.value_lit(literal) == lbool::TRUE,
        };
        let mut line: Vec<u32> = (0..count).collect();
        line.sort_by_cached_key(|&event| (0..count).filter(|&other| is_before(other, event)).count());
        line
    }
}
