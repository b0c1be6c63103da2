//! One element of a set, and the mutex: INCLUDE, EXCLUDE, MUTEX, TOTAL.
//!
//! An addition or removal is effective or not; its result says which, if there is one. A lock is an effective addition,
//! an unlock an effective removal. In these words, the axioms are:
//!
//! - An operation that finds the element in (an effective removal, an ineffective addition, or a test) has an effective
//!   addition before it, and no effective removal between the two.
//! - An operation that finds the element out has an effective removal between each earlier effective addition and
//!   itself.
//!
//! MATCHINGADD and MATCHINGREM of MR, which match the first of several additions, say the same. A pending operation
//! that is not effective can be dropped.

use crate::refinement::Invocation;
use batsat::Lit;
use history::Method;
use object::ValueId;

use super::Theory;
use super::formula::Formula;

#[derive(Copy, Clone)]
struct Change {
    number: u32,
    effective: Lit,
}

/// An operation that finds the element in, if its guard holds. The literals choose the addition before it.
struct FindsIn {
    number: u32,
    sources: Vec<(u32, Lit)>,
    more: Lit,
}

/// An operation that finds the element out, if its guard holds. For each addition, it has the end of a clause.
struct FindsOut {
    number: u32,
    guard: Lit,
    ends: Vec<(u32, Lit)>,
}

#[derive(Default)]
pub(super) struct Element {
    invocations: Vec<Invocation>,
    additions: Vec<Change>,
    removals: Vec<Change>,
    finds_in: Vec<FindsIn>,
    finds_out: Vec<FindsOut>,
}

impl FindsIn {
    fn allow(&mut self, formula: &mut Formula, addition: Change, removals: &[Change]) -> Option<Lit> {
        let order = formula.before(addition.number, self.number);
        if order == !formula.truth() {
            return None;
        }
        let literal = formula.variable();
        formula.clause(&[!literal, order]);
        formula.clause(&[!literal, addition.effective]);
        self.sources.push((addition.number, literal));
        for &removal in removals {
            self.is_not_between(formula, addition.number, literal, removal);
        }
        Some(literal)
    }

    fn is_not_between(&self, formula: &mut Formula, source: u32, literal: Lit, removal: Change) {
        if removal.number != self.number {
            let (earlier, later) =
                (formula.before(removal.number, source), formula.before(self.number, removal.number));
            formula.clause(&[!literal, !removal.effective, earlier, later]);
        }
    }
}

impl FindsOut {
    fn between(&self, formula: &mut Formula, addition: u32, removal: Change) -> Lit {
        let order = [formula.before(addition, removal.number), formula.before(removal.number, self.number)];
        let order = formula.both(order[0], order[1]);
        formula.both(order, removal.effective)
    }

    fn exclude(&mut self, formula: &mut Formula, addition: Change, removals: &[Change]) {
        let order = formula.before(addition.number, self.number);
        if order == !formula.truth() || addition.number == self.number {
            return;
        }
        let more = formula.more(self.number);
        let mut clause = vec![!self.guard, !addition.effective, !order, more];
        for &removal in removals {
            clause.push(self.between(formula, addition.number, removal));
        }
        formula.clause(&clause);
        self.ends.push((addition.number, more));
    }
}

impl Element {
    fn find_in(&mut self, formula: &mut Formula, number: u32, guard: Lit) -> FindsIn {
        let more = formula.more(number);
        let mut finds = FindsIn { number, sources: Vec::new(), more };
        let mut clause = vec![!guard, more];
        for &addition in &self.additions {
            clause.extend(finds.allow(formula, addition, &self.removals));
        }
        formula.clause(&clause);
        finds
    }

    fn find_out(&mut self, formula: &mut Formula, number: u32, guard: Lit) -> FindsOut {
        let mut finds = FindsOut { number, guard, ends: Vec::new() };
        for &addition in &self.additions {
            finds.exclude(formula, addition, &self.removals);
        }
        finds
    }

    fn add(&mut self, formula: &mut Formula, addition: Change) {
        for finds in &mut self.finds_in {
            if let Some(literal) = finds.allow(formula, addition, &self.removals) {
                let mut more = finds.more;
                formula.go_on(finds.number, &mut more, literal);
                finds.more = more;
            }
        }
        for finds in &mut self.finds_out {
            finds.exclude(formula, addition, &self.removals);
        }
        self.additions.push(addition);
        let finds = self.find_out(formula, addition.number, addition.effective);
        self.finds_out.push(finds);
    }

    fn remove(&mut self, formula: &mut Formula, removal: Change) {
        for finds in &self.finds_in {
            for &(source, literal) in &finds.sources {
                finds.is_not_between(formula, source, literal, removal);
            }
        }
        for finds in &mut self.finds_out {
            for at in 0..finds.ends.len() {
                let (addition, mut more) = finds.ends[at];
                let candidate = finds.between(formula, addition, removal);
                formula.go_on(finds.number, &mut more, candidate);
                finds.ends[at].1 = more;
            }
        }
        self.removals.push(removal);
        let finds = self.find_in(formula, removal.number, removal.effective);
        self.finds_in.push(finds);
    }

    fn effective(&self, number: u32) -> Option<Lit> {
        let find = |changes: &[Change]| {
            let at = changes.binary_search_by_key(&number, |change| change.number).ok()?;
            Some(changes[at].effective)
        };
        find(&self.additions).or_else(|| find(&self.removals))
    }
}

impl Theory for Element {
    fn call(&mut self, formula: &mut Formula, number: u32, invocation: Invocation, _: Option<ValueId>) {
        self.invocations.push(invocation);
        let change = |formula: &mut Formula| Change { number, effective: formula.variable() };
        match invocation.method {
            Method::Add | Method::Lock | Method::Acquire => {
                let change = change(formula);
                self.add(formula, change);
            }
            Method::Remove | Method::Unlock | Method::Release => {
                let change = change(formula);
                self.remove(formula, change);
            }
            _ => {}
        }
    }

    fn return_(&mut self, formula: &mut Formula, number: u32, result: ValueId) -> Result<(), &'static str> {
        self.finds_in.retain(|finds| finds.number != number);
        self.finds_out.retain(|finds| finds.number != number);
        let truth = formula.truth();
        let method = self.invocations[number as usize].method;
        let effective = self.effective(number).unwrap_or(truth);
        let is_set = matches!(method, Method::Add | Method::Remove);
        match (method, result) {
            (Method::Contains, ValueId::NONE) => {}
            (Method::Contains, ValueId::TRUE) => drop(self.find_in(formula, number, truth)),
            (Method::Contains, _) => drop(self.find_out(formula, number, truth)),
            (_, ValueId::FALSE) if is_set => formula.clause(&[!effective]),
            (_, ValueId::NONE) if is_set => {}
            _ => formula.clause(&[effective]),
        }
        if is_set && result != ValueId::TRUE {
            if method == Method::Add {
                self.find_in(formula, number, !effective);
            } else {
                self.find_out(formula, number, !effective);
            }
        }
        Ok(())
    }

    fn pending_effects(&self, formula: &Formula) -> Vec<(u32, ValueId)> {
        let changes = self.additions.iter().chain(&self.removals);
        let pending = changes.filter(|change| formula.is_open(change.number) && formula.holds(change.effective));
        let result = |number: u32| match self.invocations[number as usize].method {
            Method::Add | Method::Remove => ValueId::TRUE,
            _ => ValueId::NONE,
        };
        pending.map(|change| (change.number, result(change.number))).collect()
    }
}
