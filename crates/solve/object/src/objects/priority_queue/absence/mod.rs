//! Decides a priority queue whose values repeat: at which gaps of the history are which values absent?
//!
//! Copies of a value are alike, so only their number counts. A removal of a value takes effect at a
//! [gap](crate::gaps) at which no larger value is inside, and an `empty` at a gap at which nothing is. Call a gap
//! *clear above* a level if no value from this level on is inside at one instant of it. So each removal needs a gap,
//! while it is open, that is clear above its value. Suppose it is chosen which gaps are clear above which levels. Then
//! each value can be decided on its own ([`matching`]): its copies must be gone at all gaps that are clear of it, and
//! its removals take effect only at gaps that are clear above it.
//!
//! A SAT solver makes this choice. It has a variable for each gap and each level that some operation needs there, and a
//! clause for each need. Each value that cannot be matched under a choice refutes it: a few gaps cannot all be clear of
//! this value while a few others are not clear above it. This becomes a clause, and the solver chooses anew. The
//! history is linearizable exactly if there is a choice under which all values can be matched.
//!
//! A pending removal may take any value from its call on. A variable says that at least so many copies of a value are
//! *taken* while only the first so many pending removals have been called. Counts of inserts and removals say how many
//! copies must have been taken, and how many can have been, if a gap is clear of the value. A copy that must be gone
//! and finds no removal asks for one more. While only the first `i` pending removals have been called, at most `i`
//! copies are taken, of all values together. Then each copy finds a pending removal of its own.
//!
//! There are no peeks that returned a value.

mod matching;
#[cfg(test)]
mod tests;

use batsat::{Lit, Solver, SolverInterface, SolverOpts, Var, lbool};
use history::Method;
use model::object::Linearization;
use search::sat::Stop;

use self::matching::{Clear, Conflict, Value};
use super::PriorityQueue;
use super::instants::FreeInstants;
use crate::answer::Answer;
use crate::containers::{NONE, Stays};
use crate::search::{Allowance, GaveUp, Limits};
use crate::view::{Call, Part, ValueId};

/// Whether the part can be decided here.
pub fn applies(part: &Part) -> bool {
    !part.calls.iter().any(|call| call.method == Method::Peek && call.result.is_index())
}

/// Searches for a linearization; none if there is none.
pub fn linearize(part: &Part, limits: Limits) -> Result<Option<Linearization>, GaveUp> {
    let mut budget = Allowance::new(limits);
    let Some(needs) = Needs::new(part) else { return Ok(None) };
    let Some(mut choice) = Choice::new(&needs, &mut budget)? else { return Ok(None) };
    loop {
        budget.spend_many(part.calls.len() as u64, 0)?;
        if !choice.solve(&mut budget)? {
            return Ok(None);
        }
        match choice.refute(&needs, &mut budget)? {
            Ok(matching) => return Ok(Some(needs.linearization(&matching))),
            Err(clauses) => {
                for mut clause in clauses {
                    if !choice.solver.add_clause_reuse(&mut clause) {
                        return Ok(None);
                    }
                }
            }
        }
    }
}

/// An operation: its place among the calls, and the first and the last gap at which it can take effect. The last gap of
/// a pending operation is [`NONE`].
#[derive(Copy, Clone, Debug)]
struct Span {
    at: u32,
    first: u32,
    last: u32,
}

/// What the operations need, and what is known without any choice.
struct Needs<'a> {
    part: &'a Part<'a>,
    /// How many gaps there are.
    gaps: u32,
    /// By value.
    inserts: Vec<Vec<Span>>,
    removals: Vec<Vec<Span>>,
    empties: Vec<Span>,
    /// The pending removals, by their calls.
    pending: Vec<Span>,
    /// For each gap, one more than the largest value that is certainly inside; 0 if there is none. The gap can be clear
    /// above this level.
    least: Vec<u32>,
    /// For each value, how many copies pending removals can have taken: so many more are inserted than removed.
    spare: Vec<u32>,
    owed: Vec<Owed>,
}

/// If a gap from the first up to, but without, the end is clear of the value, at least and at most so many copies were
/// taken by pending removals before.
struct Owed {
    first: u32,
    end: u32,
    value: u32,
    least: u32,
    most: u32,
}

impl<'a> Needs<'a> {
    /// The needs of a part. None if one of them cannot be met.
    fn new(part: &'a Part<'a>) -> Option<Self> {
        let values = part.values.len();
        let (before, gaps) = gaps(part);
        let (mut inserts, mut removals) = (vec![Vec::new(); values], vec![Vec::new(); values]);
        let (mut empties, mut pending) = (Vec::new(), Vec::new());
        for (at, call) in (0..).zip(part.calls) {
            let last = if call.is_pending() { NONE } else { before[call.ret as usize] - 1 };
            let span = Span { at, first: before[call.call as usize], last };
            match call {
                Call { method: Method::Insert, argument, .. } => inserts[argument.index()].push(span),
                Call { result: ValueId::EMPTY, .. } => empties.push(span),
                call if call.is_pending() => pending.push(span),
                call => removals[call.result.index()].push(span),
            }
        }
        let least = vec![0; gaps as usize];
        let spare = |(inserts, removals): (&Vec<Span>, &Vec<Span>)| inserts.len().checked_sub(removals.len());
        let spare: Option<Vec<usize>> = inserts.iter().zip(&removals).map(spare).collect();
        let spare = spare?.into_iter().map(|spare| spare.min(pending.len()) as u32).collect();
        let owed = Vec::new();
        let mut needs = Self { part, gaps, inserts, removals, empties, pending, least, spare, owed };
        needs.find_least()?;
        Some(needs)
    }

    /// From the largest value to the smallest: counts the copies that are certainly inside, whatever is chosen.
    fn find_least(&mut self) -> Option<()> {
        let mut free = FreeInstants::new(self.gaps);
        let mut changes: Vec<(u32, Change)> = Vec::new();
        for value in (0..self.inserts.len()).rev() {
            changes.clear();
            for removal in &self.removals[value] {
                let first = free.from(removal.first);
                if first > removal.last {
                    return None;
                }
                changes.extend([(first, Change::Removal), (removal.last + 1, Change::EndOfRemoval)]);
            }
            changes.extend(self.pending.iter().map(|removal| (removal.first, Change::Pending)));
            for insert in &self.inserts[value] {
                changes.push((insert.first, Change::Insert));
                changes.extend((insert.last != NONE).then(|| (insert.last + 1, Change::EndOfInsert)));
            }
            changes.sort_unstable();
            let (mut least, mut most, mut pending) = (0, 0, 0);
            for at in 0..changes.len() {
                let (first, change) = changes[at];
                match change {
                    Change::Insert => most += 1,
                    Change::EndOfInsert => least += 1,
                    Change::Removal => least -= 1,
                    Change::EndOfRemoval => most -= 1,
                    Change::Pending => pending += 1,
                }
                let end = changes.get(at + 1).map_or(self.gaps, |&(next, _)| next);
                if first == end {
                    continue;
                }
                let spare = i64::from(self.spare[value]);
                if least > spare.min(pending) || most < 0 {
                    let mut gap = free.from(first);
                    while gap < end {
                        self.least[gap as usize] = value as u32 + 1;
                        gap = free.from(gap + 1);
                    }
                    free.cover(first, end);
                } else if least > 0 || most < spare.min(pending - 1) {
                    let (least, most) = (least.max(0) as u32, most as u32);
                    self.owed.push(Owed { first, end, value: value as u32, least, most });
                }
            }
        }
        self.empties.iter().all(|empty| free.from(empty.first) <= empty.last).then_some(())
    }

    /// All needs: the level above which a gap must be clear, and the operation.
    fn all(&self) -> impl Iterator<Item = (u32, &Span)> {
        let removals = (1..).zip(&self.removals).flat_map(|(level, spans)| spans.iter().map(move |span| (level, span)));
        self.empties.iter().map(|span| (0, span)).chain(removals)
    }

    /// The gaps at which a need can be met.
    fn gaps_for(&self, level: u32, span: &Span) -> impl Iterator<Item = u32> {
        (span.first..=span.last).filter(move |&gap| self.least[gap as usize] <= level)
    }

    /// A linearization from a matching of all values.
    fn linearization(&self, matching: &Matching) -> Linearization {
        let stays = Stays::with_copies(self.part, &matching.taken);
        let Ok(mut stays) = stays else { unreachable!("removals are matched with copies that were there") };
        let record = |insert: u32| {
            stays.times.partition_point(|times| times.insert_call < self.part.calls[insert as usize].call)
        };
        let pending: Vec<_> = matching.pending.iter().map(|&(at, insert)| (record(insert) as u32, at)).collect();
        match stays.decide_with::<PriorityQueue>(&pending, true) {
            Answer::Linearizable(Some(linearization)) => linearization,
            _ => unreachable!("the matching has a linearization"),
        }
    }
}

/// What begins at a gap, or has ended before it.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Insert,
    EndOfInsert,
    Removal,
    EndOfRemoval,
    Pending,
}

/// For each moment, how many gaps come before it; and the number of gaps, with one after all moments.
fn gaps(part: &Part) -> (Vec<u32>, u32) {
    let mut is_call = vec![None; part.moments as usize];
    for call in part.calls {
        is_call[call.call as usize] = Some(true);
        if !call.is_pending() {
            is_call[call.ret as usize] = Some(false);
        }
    }
    let (mut count, mut after_call) = (0, false);
    let mut before = Vec::with_capacity(is_call.len());
    for is_call in is_call {
        count += u32::from(after_call && is_call == Some(false));
        after_call = is_call.unwrap_or(after_call);
        before.push(count);
    }
    (before, count + 1)
}

/// The partners of all removals.
struct Matching {
    /// For each removal that returned, the place of the insert whose copy it takes; [`NONE`] for other operations.
    taken: Vec<u32>,
    /// The same for pending removals: the places of removal and insert.
    pending: Vec<(u32, u32)>,
}

/// The solver, and what its variables mean.
struct Choice {
    solver: Solver<Stop>,
    /// The gaps and levels that have variables, sorted. A gap that is clear above a level is clear above all larger
    /// ones, too.
    pairs: Vec<(u32, u32)>,
    variables: Vec<Var>,
    /// Where the pairs of each gap begin.
    starts: Vec<u32>,
    takes: Takes,
}

/// For each value and each count: variables that say that at least so many copies are taken while only the first `i`
/// pending removals have been called, where `i` is from the count up to the number of all pending removals.
struct Takes {
    pending: u32,
    rows: Vec<Vec<Vec<Var>>>,
}

impl Takes {
    /// At least `count` copies of a value are taken while only the first `among` pending removals, which are as many at
    /// least, have been called.
    fn variable(&mut self, solver: &mut Solver<Stop>, value: u32, count: u32, among: u32) -> Var {
        let rows = &mut self.rows[value as usize];
        while rows.len() < count as usize {
            let count = rows.len() as u32 + 1;
            let row: Vec<Var> = (count..=self.pending).map(|_| solver.new_var(lbool::FALSE, true)).collect();
            let mut imply = |one: Var, two: Var| {
                solver.add_clause_reuse(&mut vec![Lit::new(one, false), Lit::new(two, true)]);
            };
            row.windows(2).for_each(|pair| imply(pair[0], pair[1]));
            let fewer = rows.last().into_iter().flatten().skip(1);
            row.iter().zip(fewer).for_each(|(&one, &two)| imply(one, two));
            rows.push(row);
        }
        rows[count as usize - 1][(among - count) as usize]
    }
}

/// At least so many copies of a value are taken while only so many pending removals have been called.
#[derive(Copy, Clone, Debug)]
struct Take {
    count: u32,
    among: u32,
    variable: Var,
}

impl Choice {
    /// A solver that knows the needs. None if they contradict each other.
    fn new(needs: &Needs, budget: &mut Allowance) -> Result<Option<Self>, GaveUp> {
        let mut solver = Solver::new(SolverOpts::default(), Stop::new(budget.limits.budget));
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for (level, span) in needs.all() {
            pairs.extend(needs.gaps_for(level, span).map(|gap| (gap, level)));
            budget.spend_many(u64::from(span.last - span.first), 0)?;
        }
        pairs.sort_unstable();
        pairs.dedup();
        // A gap is clear only if it must be.
        let variables: Vec<Var> = pairs.iter().map(|_| solver.new_var(lbool::FALSE, true)).collect();
        let mut starts = vec![0; needs.gaps as usize + 1];
        for &(gap, _) in &pairs {
            starts[gap as usize + 1] += 1;
        }
        for gap in 0..needs.gaps as usize {
            starts[gap + 1] += starts[gap];
        }
        let takes = Takes { pending: needs.pending.len() as u32, rows: vec![Vec::new(); needs.inserts.len()] };
        let mut choice = Self { solver, pairs, variables, starts, takes };
        for at in 1..choice.pairs.len() {
            if choice.pairs[at - 1].0 == choice.pairs[at].0 {
                let [lower, upper] = [at - 1, at].map(|at| choice.variables[at]);
                choice.solver.add_clause_reuse(&mut vec![Lit::new(lower, false), Lit::new(upper, true)]);
            }
        }
        for (level, span) in needs.all() {
            let clear = |gap| Lit::new(choice.is_clear_above(gap, level), true);
            let mut clause = needs.gaps_for(level, span).map(clear).collect();
            if !choice.solver.add_clause_reuse(&mut clause) {
                return Ok(None);
            }
        }
        choice.add_owed(needs, budget)?;
        Ok(Some(choice))
    }

    /// The variable of a gap and of the largest level up to this one that some operation needs there. There is one.
    fn is_clear_above(&self, gap: u32, level: u32) -> Var {
        let start = self.starts[gap as usize] as usize;
        self.variables[start + self.levels(gap).partition_point(|&(_, other)| other <= level) - 1]
    }

    /// The levels of a gap that have variables.
    fn levels(&self, gap: u32) -> &[(u32, u32)] {
        &self.pairs[self.starts[gap as usize] as usize..self.starts[gap as usize + 1] as usize]
    }

    /// Adds clauses for the copies that must have been taken, or cannot have been. The solver decides its last
    /// variables first. So it assumes first that nothing is taken.
    fn add_owed(&mut self, needs: &Needs, budget: &mut Allowance) -> Result<(), GaveUp> {
        for &Owed { first, end, value, least, most } in &needs.owed {
            budget.spend_many(u64::from(end - first), 0)?;
            let among = needs.pending.partition_point(|removal| removal.first <= first) as u32;
            for gap in first..end {
                if needs.least[gap as usize] > value || !self.can_be_clear(gap, value) {
                    continue;
                }
                let clear = Lit::new(self.is_clear_above(gap, value), false);
                if least > 0 {
                    let taken = self.takes.variable(&mut self.solver, value, least, among);
                    self.solver.add_clause_reuse(&mut vec![clear, Lit::new(taken, true)]);
                }
                if most < needs.spare[value as usize].min(among - 1) {
                    let taken = self.takes.variable(&mut self.solver, value, most + 1, among - 1);
                    self.solver.add_clause_reuse(&mut vec![clear, Lit::new(taken, false)]);
                }
            }
        }
        Ok(())
    }

    /// Whether some operation may need a gap to be clear of a value.
    fn can_be_clear(&self, gap: u32, value: u32) -> bool {
        self.levels(gap).first().is_some_and(|&(_, level)| level <= value)
    }

    fn is_true(&self, variable: Var) -> bool {
        self.solver.value_lit(Lit::new(variable, true)) == lbool::TRUE
    }

    /// Makes a choice. Returns whether there is one.
    fn solve(&mut self, budget: &mut Allowance) -> Result<bool, GaveUp> {
        self.solver.cb().set_steps(budget.limits.steps);
        let answer = self.solver.solve_limited(&[]);
        if answer != lbool::TRUE && answer != lbool::FALSE {
            budget.limits.budget.check()?;
            return Err(GaveUp::Steps);
        }
        budget.limits.steps = self.solver.cb().steps();
        Ok(answer == lbool::TRUE)
    }

    /// Matches all values under the choice. If that fails, the error has clauses that refute the choice.
    fn refute(&mut self, needs: &Needs, budget: &mut Allowance) -> Result<Result<Matching, Vec<Vec<Lit>>>, GaveUp> {
        let mut levels = vec![NONE; needs.gaps as usize];
        for (&(gap, level), &variable) in self.pairs.iter().zip(&self.variables).rev() {
            if self.is_true(variable) {
                levels[gap as usize] = level;
            }
        }
        let clear = Clear::new(&levels);
        let values = 0..needs.inserts.len() as u32;
        let takes: Vec<Vec<Take>> = values.clone().map(|value| self.chosen_takes(value)).collect();
        let mut clauses = overbooked(&takes, needs.pending.len() as u32);
        let mut matching = Matching { taken: vec![NONE; needs.part.calls.len()], pending: Vec::new() };
        // The copies that are taken, each after the number of pending removals of which one takes it.
        let mut booked: Vec<(u32, u32)> = Vec::new();
        for value in values {
            let taken = &takes[value as usize];
            let pending: Vec<u32> = taken.iter().map(|take| needs.pending[take.among as usize - 1].first).collect();
            let problem = Value {
                number: value,
                inserts: &needs.inserts[value as usize],
                removals: &needs.removals[value as usize],
                takes: &pending,
                first_pending: needs.pending.first().map_or(NONE, |first| first.first),
                least: &needs.least,
                clear: &clear,
                knobs: needs.part.knobs.priority_queue,
            };
            let (partners, conflicts) = problem.decide(|gap| self.can_be_clear(gap, value), budget)?;
            for conflict in &conflicts {
                clauses.push(self.clause(needs, value, taken, conflict));
            }
            let insert = |copy: u32| problem.inserts[copy as usize].at;
            let (removals, pending) = partners.split_at(problem.removals.len());
            for (removal, &copy) in problem.removals.iter().zip(removals).filter(|(_, copy)| **copy != NONE) {
                matching.taken[removal.at as usize] = insert(copy);
            }
            let pending = taken.iter().zip(pending).filter(|(_, copy)| **copy != NONE);
            booked.extend(pending.map(|(take, &copy)| (take.among, insert(copy))));
        }
        if !clauses.is_empty() {
            return Ok(Err(clauses));
        }
        booked.sort_unstable();
        matching.pending =
            needs.pending.iter().zip(booked).map(|(removal, (_, insert))| (removal.at, insert)).collect();
        Ok(Ok(matching))
    }

    /// The copies of a value that are taken: for each, how many of the pending removals come into question at least.
    fn chosen_takes(&self, value: u32) -> Vec<Take> {
        let first = |(count, row): (u32, &Vec<Var>)| {
            let mut among = (count..).zip(row).filter(|&(_, &variable)| self.is_true(variable));
            among.next().map(|(among, &variable)| Take { count, among, variable })
        };
        (1..).zip(&self.takes.rows[value as usize]).map_while(first).collect()
    }

    /// The clause of a conflict.
    fn clause(&mut self, needs: &Needs, value: u32, takes: &[Take], conflict: &Conflict) -> Vec<Lit> {
        let clear = |&gap: &u32| Lit::new(self.is_clear_above(gap, value), false);
        let mut clause: Vec<Lit> = conflict.clear.iter().map(clear).collect();
        clause.extend(conflict.closed.iter().map(|&gap| Lit::new(self.is_clear_above(gap, value + 1), true)));
        for &take in &conflict.takes {
            let Take { count, among, .. } = takes[take as usize];
            if count == among {
                continue;
            }
            clause.push(Lit::new(self.takes.variable(&mut self.solver, value, count, among - 1), true));
        }
        if conflict.lacks_removal {
            let last = conflict.clear.iter().copied().max().unwrap_or(0);
            let among = needs.pending.partition_point(|removal| removal.first <= last) as u32;
            let count = 1 + takes.iter().filter(|take| take.among <= among).count() as u32;
            if count <= among.min(needs.spare[value as usize]) {
                clause.push(Lit::new(self.takes.variable(&mut self.solver, value, count, among), true));
            }
        }
        clause
    }
}

/// Clauses against choices in which the first `i` pending removals take more than `i` copies.
fn overbooked(takes: &[Vec<Take>], pending: u32) -> Vec<Vec<Lit>> {
    let mut clauses = Vec::new();
    for among in 1..=pending {
        let mut left = among as usize + 1;
        let mut clause = Vec::new();
        for takes in takes {
            let count = takes.partition_point(|take| take.among <= among).min(left);
            if count > 0 {
                left -= count;
                clause.push(Lit::new(takes[count - 1].variable, false));
            }
        }
        if left == 0 {
            clauses.push(clause);
        }
    }
    clauses
}
