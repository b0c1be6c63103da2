//! Semaphore: MATCH3, INJECTIVE, TOTAL, LIMIT.
//!
//! LIMIT is about any capacity + 1 acquisitions, which would need too many clauses. Instead, each acquisition has one
//! of as many slots as the capacity (Example 5.3). When a later acquisition takes the same slot, the earlier one must
//! have been released. The acquisitions fit into the slots exactly if never more than the capacity are held at once,
//! which is LIMIT.

use crate::refinement::Invocation;
use batsat::Lit;
use history::Method;
use object::ValueId;

use super::Theory;
use super::formula::Formula;
use super::matching::Matching;

struct Acquisition {
    number: u32,
    used: Lit,
    slots: Vec<Lit>,
}

/// A release. While it is open, it has the end of the clause of its matches.
struct Release {
    number: u32,
    used: Lit,
    more: Lit,
}

pub(super) struct Semaphore {
    capacity: u64,
    acquisitions: Vec<Acquisition>,
    releases: Vec<Release>,
    matching: Matching,
}

impl Semaphore {
    pub(super) fn new(capacity: u64) -> Self {
        Self { capacity, acquisitions: Vec::new(), releases: Vec::new(), matching: Matching::default() }
    }

    /// If both have the same slot and y comes later, x is released before y.
    fn limit(&mut self, formula: &mut Formula, same: Lit, x: usize, y: usize) {
        let (x, y) = (&self.acquisitions[x], &self.acquisitions[y]);
        let order = formula.before(x.number, y.number);
        if order != !formula.truth() {
            let (used, number, later) = ([x.used, y.used], x.number, y.number);
            let gone = self.matching.gone(formula, number, later);
            formula.clause(&[!same, !used[0], !used[1], !order, gone]);
        }
    }

    fn acquire(&mut self, formula: &mut Formula, number: u32) {
        let used = formula.variable();
        for release in self.releases.iter_mut().filter(|release| formula.is_open(release.number)).collect::<Vec<_>>() {
            self.matching.allow(formula, number, used, release.number);
            if let Some(literal) = self.matching.literal(number, release.number) {
                formula.clause(&[!literal, release.used]);
                formula.go_on(release.number, &mut release.more, literal);
            }
        }
        // Slots are alike. So the first acquisition takes the first slot, the second one of the first two, and so on.
        let count = self.capacity.min(self.acquisitions.len() as u64 + 1);
        let slots: Vec<Lit> = (0..count).map(|_| formula.variable()).collect();
        let mut clause = slots.clone();
        clause.push(!used);
        formula.clause(&clause);
        self.acquisitions.push(Acquisition { number, used, slots });
        let this = self.acquisitions.len() - 1;
        for other in 0..this {
            let same = formula.variable();
            for (&one, &two) in self.acquisitions[this].slots.iter().zip(&self.acquisitions[other].slots) {
                formula.clause(&[!one, !two, same]);
            }
            self.limit(formula, same, other, this);
            self.limit(formula, same, this, other);
        }
    }

    fn release(&mut self, formula: &mut Formula, number: u32) {
        let used = formula.variable();
        for at in 0..self.acquisitions.len() {
            let Acquisition { number: acquisition, used, .. } = self.acquisitions[at];
            self.matching.allow(formula, acquisition, used, number);
        }
        self.matching.extend(formula, number);
        let more = formula.more(number);
        let mut clause = vec![!used, more];
        for (_, literal) in self.matching.of(number) {
            formula.clause(&[!literal, used]);
            clause.push(literal);
        }
        formula.clause(&clause);
        self.releases.push(Release { number, used, more });
    }
}

impl Theory for Semaphore {
    fn call(&mut self, formula: &mut Formula, number: u32, invocation: Invocation, _: Option<ValueId>) {
        match invocation.method {
            Method::Acquire | Method::Lock => self.acquire(formula, number),
            _ => self.release(formula, number),
        }
    }

    fn return_(&mut self, formula: &mut Formula, number: u32, _: ValueId) -> Result<(), &'static str> {
        let acquisition = self.acquisitions.iter().find(|operation| operation.number == number).map(|found| found.used);
        let release = self.releases.iter().find(|operation| operation.number == number).map(|found| found.used);
        if let Some(used) = acquisition.or(release) {
            formula.clause(&[used]);
        }
        self.matching.close(number);
        Ok(())
    }

    fn pending_effects(&self, formula: &Formula) -> Vec<(u32, ValueId)> {
        let acquisitions = self.acquisitions.iter().map(|operation| (operation.number, operation.used));
        let releases = self.releases.iter().map(|operation| (operation.number, operation.used));
        let is_used = |&(number, used): &(u32, Lit)| formula.is_open(number) && formula.holds(used);
        acquisitions.chain(releases).filter(is_used).map(|(number, _)| (number, ValueId::NONE)).collect()
    }
}
