//! The matching of removals to insertions (of releases to acquisitions): MATCH, INJECTIVE, and the literal that an
//! insertion is matched by a removal before some point.

use batsat::Lit;
use rustc_hash::FxHashMap;

use super::formula::Formula;

/// The matching: see the module. Operations are named by their numbers.
#[derive(Default)]
pub(super) struct Matching {
    matches: FxHashMap<(u32, u32), Lit>,
    /// The removals that may match an insertion.
    removals: FxHashMap<u32, Vec<u32>>,
    /// The insertions that a removal may match.
    pub(super) candidates: FxHashMap<u32, Vec<u32>>,
    gone: FxHashMap<(u32, u32), Lit>,
    /// For each open operation x: the ends of the clauses of `gone(a, x)`.
    growing: FxHashMap<u32, Vec<(u32, Lit)>>,
}

impl Matching {
    /// The literal `match(a, r)`; none if r cannot match a.
    pub(super) fn literal(&self, a: u32, r: u32) -> Option<Lit> {
        self.matches.get(&(a, r)).copied()
    }

    /// Allows that the removal r matches the insertion a. `used` says whether a is used.
    pub(super) fn allow(&mut self, formula: &mut Formula, a: u32, used: Lit, r: u32) {
        let literal = formula.variable();
        let before = formula.before(a, r);
        formula.clause(&[!literal, before]);
        formula.clause(&[!literal, used]);
        let others = self.candidates.entry(r).or_default();
        for &other in others.iter() {
            formula.not_all(&[literal, self.matches[&(other, r)]]);
        }
        others.push(a);
        let others = self.removals.entry(a).or_default();
        for &other in others.iter() {
            formula.not_all(&[literal, self.matches[&(a, other)]]);
        }
        others.push(r);
        self.matches.insert((a, r), literal);
    }

    /// A removal was called, and its matches are allowed. Adds it to the open clauses, to which it may be a candidate.
    pub(super) fn extend(&mut self, formula: &mut Formula, r: u32) {
        for x in formula.open().to_vec() {
            let Some(growing) = self.growing.get_mut(&x).filter(|_| x != r) else { continue };
            for (a, more) in growing {
                if let Some(&literal) = self.matches.get(&(*a, r)) {
                    let before = formula.before(r, x);
                    let candidate = formula.both(literal, before);
                    formula.go_on(x, more, candidate);
                }
            }
        }
    }

    /// A literal that implies that a is matched by a removal before x.
    pub(super) fn gone(&mut self, formula: &mut Formula, a: u32, x: u32) -> Lit {
        if let Some(&gone) = self.gone.get(&(a, x)) {
            return gone;
        }
        let gone = formula.variable();
        let mut clause = vec![!gone];
        for &r in self.removals.get(&a).into_iter().flatten().filter(|&&r| r != x) {
            let before = formula.before(r, x);
            clause.push(formula.both(self.matches[&(a, r)], before));
        }
        let more = formula.more(x);
        clause.push(more);
        formula.clause(&clause);
        if formula.is_open(x) {
            self.growing.entry(x).or_default().push((a, more));
        }
        self.gone.insert((a, x), gone);
        gone
    }

    /// The literals of all matches of a removal.
    pub(super) fn of(&self, r: u32) -> Vec<(u32, Lit)> {
        let candidates = self.candidates.get(&r).into_iter().flatten();
        candidates.map(|&a| (a, self.matches[&(a, r)])).collect()
    }

    /// The operation x has returned. Its clauses are complete now.
    pub(super) fn close(&mut self, x: u32) {
        self.growing.remove(&x);
    }
}
