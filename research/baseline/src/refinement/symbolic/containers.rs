//! Queue, stack and priority queue: MATCH1, INJECTIVE, ADDREM, EMPTY, and FIFO, LIFO or MAX.
//!
//! A pending removal that is matched is used. A pending removal that is not matched can be dropped, whatever it would
//! return. A pending insertion has a literal `used`.

use crate::refinement::Invocation;
use batsat::Lit;
use history::{Method, Object};
use object::ValueId;

use super::Theory;
use super::formula::Formula;
use super::matching::Matching;

struct Insertion {
    number: u32,
    value: ValueId,
    used: Lit,
    /// Certainly removed by an operation that has returned.
    is_gone: bool,
}

struct Removal {
    number: u32,
    /// The insertions (places in the list) that the axioms about this removal mention.
    relevant: Vec<u32>,
    /// The result that it will return, if that is known already.
    hint: Option<ValueId>,
}

pub(super) struct Containers {
    object: Object,
    insertions: Vec<Insertion>,
    /// The insertions whose values are not gone.
    inside: Vec<u32>,
    open_removals: Vec<Removal>,
    removals: Vec<u32>,
    matching: Matching,
}

impl Containers {
    pub(super) fn new(object: Object) -> Self {
        Self {
            object,
            insertions: Vec::new(),
            inside: Vec::new(),
            open_removals: Vec::new(),
            removals: Vec::new(),
            matching: Matching::default(),
        }
    }

    /// The axiom FIFO, LIFO or MAX: whether r may remove the value of a although the other value is inside.
    fn compare(&mut self, formula: &mut Formula, r: u32, a: u32, other: u32) {
        let (this, that) = (&self.insertions[a as usize], &self.insertions[other as usize]);
        let Some(matched) = self.matching.literal(this.number, r) else { return };
        let used = that.used;
        let conditions = match self.object {
            Object::Queue => [formula.before(that.number, this.number), formula.truth()],
            Object::Stack => [formula.before(this.number, that.number), formula.before(that.number, r)],
            _ if this.value < that.value => [formula.before(that.number, r), formula.truth()],
            _ => return,
        };
        if conditions.contains(&!formula.truth()) {
            return;
        }
        let gone = self.matching.gone(formula, that.number, r);
        formula.clause(&[!matched, !used, !conditions[0], !conditions[1], gone]);
    }

    /// The axiom EMPTY for r, guarded by the literal `empty`.
    fn is_empty(&mut self, formula: &mut Formula, r: u32, empty: Lit, relevant: &[u32]) {
        for &a in relevant {
            let Insertion { number, used, .. } = self.insertions[a as usize];
            let before = formula.before(number, r);
            if before != !formula.truth() {
                let gone = self.matching.gone(formula, number, r);
                formula.clause(&[!empty, !used, !before, gone]);
            }
        }
    }

    fn can_match(&self, removal: &Removal, a: u32) -> bool {
        let insertion = &self.insertions[a as usize];
        !insertion.is_gone && removal.hint.is_none_or(|hint| hint == insertion.value)
    }

    fn insert(&mut self, formula: &mut Formula, number: u32, value: ValueId) {
        let a = self.insertions.len() as u32;
        let used = formula.variable();
        self.insertions.push(Insertion { number, value, used, is_gone: false });
        self.inside.push(a);
        let mut open = std::mem::take(&mut self.open_removals);
        for removal in &open {
            if self.can_match(removal, a) {
                self.matching.allow(formula, number, used, removal.number);
            }
        }
        for removal in &mut open {
            for at in 0..removal.relevant.len() {
                let other = removal.relevant[at];
                self.compare(formula, removal.number, a, other);
                self.compare(formula, removal.number, other, a);
            }
            removal.relevant.push(a);
        }
        self.open_removals = open;
    }

    fn remove(&mut self, formula: &mut Formula, number: u32, hint: Option<ValueId>) {
        let removal = Removal { number, relevant: self.inside.clone(), hint };
        for &a in &removal.relevant {
            if self.can_match(&removal, a) {
                let Insertion { number: insertion, used, .. } = self.insertions[a as usize];
                self.matching.allow(formula, insertion, used, number);
            }
        }
        self.matching.extend(formula, number);
        for &a in &removal.relevant {
            if self.can_match(&removal, a) {
                for &other in removal.relevant.iter().filter(|&&other| other != a) {
                    self.compare(formula, number, a, other);
                }
            }
        }
        self.removals.push(number);
        self.open_removals.push(removal);
    }

    fn remove_returns(&mut self, formula: &mut Formula, removal: &Removal, result: ValueId) {
        let r = removal.number;
        let mut clause = Vec::new();
        let mut taken = Vec::new();
        for &a in &removal.relevant {
            let insertion = &self.insertions[a as usize];
            let Some(literal) = self.matching.literal(insertion.number, r) else { continue };
            if result == ValueId::NONE || result == insertion.value {
                clause.push(literal);
                taken.push(a);
            } else {
                formula.clause(&[!literal]);
            }
        }
        match result {
            ValueId::EMPTY => self.is_empty(formula, r, formula.truth(), &removal.relevant),
            ValueId::NONE => {
                let empty = formula.variable();
                clause.push(empty);
                formula.clause(&clause);
                self.is_empty(formula, r, empty, &removal.relevant);
            }
            _ => {
                formula.clause(&clause);
                if let &[a] = &taken[..] {
                    self.insertions[a as usize].is_gone = true;
                    self.inside.retain(|&other| other != a);
                }
            }
        }
    }
}

impl Theory for Containers {
    fn call(&mut self, formula: &mut Formula, number: u32, invocation: Invocation, hint: Option<ValueId>) {
        if matches!(invocation.method, Method::Enqueue | Method::Push | Method::Insert) {
            self.insert(formula, number, invocation.argument);
        } else {
            self.remove(formula, number, hint);
        }
    }

    fn return_(&mut self, formula: &mut Formula, number: u32, result: ValueId) -> Result<(), &'static str> {
        if let Some(at) = self.open_removals.iter().position(|removal| removal.number == number) {
            let removal = self.open_removals.remove(at);
            self.remove_returns(formula, &removal, result);
            self.matching.close(number);
        } else if let Ok(at) = self.insertions.binary_search_by_key(&number, |insertion| insertion.number) {
            formula.clause(&[self.insertions[at].used]);
        }
        Ok(())
    }

    fn pending_effects(&self, formula: &Formula) -> Vec<(u32, ValueId)> {
        let mut effects = Vec::new();
        for insertion in &self.insertions {
            if formula.is_open(insertion.number) && formula.holds(insertion.used) {
                effects.push((insertion.number, ValueId::NONE));
            }
        }
        for &r in self.removals.iter().filter(|&&r| formula.is_open(r)) {
            for (a, literal) in self.matching.of(r) {
                if formula.holds(literal)
                    && let Ok(at) = self.insertions.binary_search_by_key(&a, |insertion| insertion.number)
                {
                    effects.push((r, self.insertions[at].value));
                }
            }
        }
        effects
    }
}
