//! The axioms as clauses, all of them at once. (The baselines SC-SAT and TSO-SAT of section 5 of GCC.)
//!
//! For each two events of different threads (chains of the frame), a variable tells which comes first. The clauses say
//! that
//! - an event that is before another event is also before the next event of the other's thread, and an event that is
//!   after another is also after the one before that in its thread (`po`);
//! - a base predecessor is before its event (in `sc`, a source is before its readers), and a read of the initial value
//!   is before all writes of the location;
//! - for a read `r` of `w` and another write `w'` of the location, `w'` is before `w` or `r` before `w'` (`ww`, `rw`);
//! - three events of three threads do not form a cycle (`hb` is transitive).
//!
//! So a satisfying assignment is a total order of all events in which every read returns the last write: an
//! interleaving. The last kind of clause makes the formula cubic in the number of events; a formula of more than
//! [`MAX_CLAUSES`] clauses is not written.

use batsat::{Callbacks, Lit, Solver, SolverInterface, SolverOpts, lbool};
use certificate::GaveUp;
use history::Execution;
use history::execution::EventId;

use memory::store::frame::Frame;
use memory::{Interrupt, Line};

/// The most clauses of a formula that is written.
pub const MAX_CLAUSES: u64 = 10_000_000;

/// How it is known whether one event comes before another.
enum Before {
    /// Program order decides it.
    Known(bool),
    Open(Lit),
}

/// Stops the solver at the deadline.
struct Watch(Interrupt);

impl Callbacks for Watch {
    fn stop(&self) -> bool {
        self.0.is_due()
    }
}

struct Encoding<'a> {
    execution: &'a Execution,
    solver: Solver<Watch>,
    /// By pair of events, row by row: the variable for whether the first event comes first. There is one if the events
    /// are of different threads and the first has the smaller number.
    variables: Vec<Lit>,
    refuted: bool,
}

/// How many clauses there are for three events of three threads.
fn transitivity(execution: &Execution) -> u64 {
    // The elementary symmetric polynomials of the lengths of the threads: how many events, pairs and triples.
    let (mut events, mut pairs, mut triples) = (0u64, 0u64, 0u64);
    for bounds in execution.starts().windows(2) {
        let length = u64::from(bounds[1] - bounds[0]);
        triples = triples.saturating_add(pairs.saturating_mul(length));
        pairs = pairs.saturating_add(events.saturating_mul(length));
        events += length;
    }
    triples.saturating_mul(2)
}

/// Writes the formula and solves it.
pub fn solve(frame: &Frame<'_>, interrupt: Interrupt) -> Line {
    let execution = frame.execution();
    let count = execution.len();
    if transitivity(execution).saturating_add((count as u64).pow(2)) > MAX_CLAUSES {
        return Err(GaveUp::Clauses);
    }
    let mut solver = Solver::new(SolverOpts::default(), Watch(interrupt));
    let threads = execution.threads();
    let is_open = |pair: usize| pair / count < pair % count && threads[pair / count] != threads[pair % count];
    let variable = |pair| if is_open(pair) { Lit::new(solver.new_var_default(), true) } else { Lit::UNDEF };
    let variables = (0..count * count).map(variable).collect();
    let mut encoding = Encoding { execution, solver, variables, refuted: false };
    for event in 0..count as u32 {
        interrupt.check()?;
        encoding.program_order(event);
        for predecessor in frame.predecessors(event) {
            encoding.require(&[(predecessor, event)]);
        }
        encoding.read(event);
        encoding.transitive(event);
    }
    if encoding.refuted {
        return Ok(None);
    }
    let answer = encoding.solver.solve_limited(&[]);
    if answer == lbool::TRUE {
        Ok(Some(encoding.line()))
    } else if answer == lbool::FALSE {
        Ok(None)
    } else {
        Err(interrupt.why())
    }
}

impl Encoding<'_> {
    fn before(&self, a: u32, b: u32) -> Before {
        let threads = self.execution.threads();
        if threads[a as usize] == threads[b as usize] {
            return Before::Known(a < b);
        }
        let variable = self.variables[a.min(b) as usize * self.execution.len() + a.max(b) as usize];
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
        self.refuted |= !self.solver.add_clause_reuse(&mut clause);
    }

    fn program_order(&mut self, event: u32) {
        if self.execution.position(EventId(event)) == 0 {
            return;
        }
        for other in 0..self.execution.len() as u32 {
            if self.execution.threads()[other as usize] != self.execution.threads()[event as usize] {
                self.require(&[(event - 1, other), (other, event)]);
            }
        }
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

    /// Adds the clauses against cycles of three events of three threads, of which `first` is the first.
    fn transitive(&mut self, first: u32) {
        let starts = self.execution.starts();
        let end = |event: u32| starts[self.execution.threads()[event as usize].index() + 1];
        let count = self.execution.len() as u32;
        let others: Vec<(u32, u32)> = (end(first)..count).map(|event| (event, end(event))).collect();
        for (second, after) in others {
            for third in after..count {
                self.require(&[(second, first), (third, second), (first, third)]);
                self.require(&[(first, second), (second, third), (third, first)]);
            }
        }
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
