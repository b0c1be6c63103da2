//! The loop: propagate, learn, decide. It keeps the trail, the levels and the lemmas.
//!
//! The [crate] says what they are, has the invariants, and says why the loop ends. Invariant of the proof: a
//! lemma uses clauses of smaller numbers only, so those that a refutation needs are found in one pass, the last first.

use crate::clauses::{Clauses, Looked};
use crate::{Lemma, Lit, Next, Steps, Theory, Turns, Why};

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending<M> {
    /// What was looked for.
    Found(M),
    /// There is nothing to be found. [`Search::refutation`] is the proof.
    Refuted,
    /// The steps are used up. The search can go on.
    Paused,
}

/// How much work a search did.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// How many literals were decided.
    pub decisions: u64,
    /// How many lemmas were learnt.
    pub lemmas: u64,
    /// How many literals were asserted because of a clause, without those by a lemma that was just learnt.
    pub propagations: u64,
    /// How often the search began again, with what it had learnt.
    pub restarts: u64,
}

/// The lemmas that refute what was looked for, each after those that it uses.
#[derive(Clone, Debug)]
pub struct Refutation<'a, P> {
    /// The lemmas. The last refutes nothing in particular: it holds in any case.
    pub lemmas: Vec<&'a Lemma<P>>,
    /// By number of a clause: the place of that lemma in the list, if it is there.
    pub places: Vec<Option<u32>>,
}

/// A value of a variable.
#[derive(Copy, Clone, Debug)]
struct Value {
    is_positive: bool,
    /// At which level it was noticed.
    level: u32,
}

/// A level: what followed from one more decision.
#[derive(Copy, Clone, Debug)]
struct Level<M> {
    /// Where the theory was before.
    mark: M,
    /// How long the trail was before.
    trail: usize,
}

/// The search. See the [crate].
#[derive(Clone, Debug)]
pub struct Search<T: Theory> {
    theory: T,
    clauses: Clauses,
    /// By clause: the lemma, or the clause that was given.
    origins: Vec<Origin<T::Proof>>,
    /// By variable: its value, if it is on the trail.
    values: Vec<Option<Value>>,
    trail: Vec<Lit>,
    levels: Vec<Level<T::Mark>>,
    /// For the literals of the trail before this place, the clauses were looked at.
    looked: usize,
    /// The variables of clauses that may have no value, and by variable whether it is among them, and whether it is in
    /// a clause at all.
    open: Vec<u32>,
    is_open: Vec<bool>,
    is_used: Vec<bool>,
    /// Whether something was asserted since the theory was last asked what holds.
    is_stale: bool,
    /// The given clauses that were not looked at yet.
    given: Vec<u32>,
    others: Vec<Lit>,
    is_refuted: bool,
    reuses: bool,
    /// After so many lemmas the search begins again.
    restarts: Turns,
    until_restart: u64,
    effort: Effort,
}

#[derive(Clone, Debug)]
enum Origin<P> {
    Given(Vec<Lit>),
    Learnt(Lemma<P>),
}

impl<T: Theory> Search<T> {
    /// A search for what a theory looks for.
    pub fn new(theory: T) -> Self {
        Self {
            theory,
            clauses: Clauses::default(),
            origins: Vec::new(),
            values: Vec::new(),
            trail: Vec::new(),
            levels: Vec::new(),
            looked: 0,
            open: Vec::new(),
            is_open: Vec::new(),
            is_used: Vec::new(),
            is_stale: true,
            given: Vec::new(),
            others: Vec::new(),
            is_refuted: false,
            reuses: true,
            restarts: Turns { first: u64::MAX, growth: 1 },
            until_restart: u64::MAX,
            effort: Effort::default(),
        }
    }

    /// Lets the search begin again after so many lemmas, and then after more each time. If lemmas are not used again,
    /// the search ends only if turns grow.
    #[must_use]
    pub fn with_restarts(mut self, restarts: Turns) -> Self {
        self.restarts = restarts;
        self.until_restart = restarts.first;
        self
    }

    /// Uses a lemma once, to go on from its conflict, and never again.
    #[must_use]
    pub fn without_reuse(mut self) -> Self {
        self.reuses = false;
        self
    }

    /// Gives a clause: one of these literals holds. There is at least one, and the search has not begun.
    pub fn add_clause(&mut self, lits: Vec<Lit>) {
        debug_assert!(!lits.is_empty() && self.levels.is_empty(), "a clause is given at the start and has a literal");
        self.given.push(self.origins.len() as u32);
        self.attach(lits.iter().copied());
        self.origins.push(Origin::Given(lits));
    }

    /// The theory.
    pub fn theory(&self) -> &T {
        &self.theory
    }

    /// The theory, to change what no assertion depends on.
    pub fn theory_mut(&mut self) -> &mut T {
        &mut self.theory
    }

    /// The theory, when the search is over.
    pub fn into_theory(self) -> T {
        self.theory
    }

    /// How much work was done.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// Searches until there is an outcome, or the theory gives up. In both cases it may be called again.
    pub fn run(&mut self, steps: &mut Steps) -> Result<Ending<T::Model>, T::GaveUp> {
        let mut result = self.begin();
        while !self.is_refuted {
            result = match result.and_then(|()| self.propagate()) {
                Err(conflict) => self.learn(conflict),
                Ok(()) => match self.next(steps)? {
                    Next::Found(model) => return Ok(Ending::Found(model)),
                    Next::Pause => return Ok(Ending::Paused),
                    Next::Conflict(conflict) => Err(conflict),
                    Next::Decide(lit) => self.decide(lit),
                    Next::Restart => {
                        self.restart();
                        Ok(())
                    }
                },
            };
        }
        Ok(Ending::Refuted)
    }

    fn next(&mut self, steps: &mut Steps) -> Result<Next<T::Model, T::Conflict>, T::GaveUp> {
        if self.until_restart == 0 {
            self.restart();
        }
        self.theory.decide(steps)
    }

    /// Takes back all decisions. What was learnt stays.
    pub fn restart(&mut self) {
        self.back_to(0);
        self.effort.restarts += 1;
        self.restarts.first = self.restarts.first.saturating_mul(self.restarts.growth);
        self.until_restart = self.restarts.first;
    }

    /// The proof, after [`Ending::Refuted`].
    pub fn refutation(&self) -> Refutation<'_, T::Proof> {
        let mut is_needed = vec![false; self.origins.len()];
        if let Some(last) = is_needed.last_mut() {
            *last = true;
        }
        // A lemma uses earlier ones only, so one pass from the last to the first finds all.
        for at in (0..self.origins.len()).rev().filter(|&at| matches!(self.origins[at], Origin::Learnt(_))) {
            if let (true, Origin::Learnt(lemma)) = (is_needed[at], &self.origins[at]) {
                lemma.uses.iter().for_each(|&used| is_needed[used as usize] = true);
            }
        }
        let mut refutation = Refutation { lemmas: Vec::new(), places: vec![None; self.origins.len()] };
        for (at, origin) in self.origins.iter().enumerate() {
            if let (true, Origin::Learnt(lemma)) = (is_needed[at], origin) {
                refutation.places[at] = Some(refutation.lemmas.len() as u32);
                refutation.lemmas.push(lemma);
            }
        }
        refutation
    }

    fn value(&self, lit: Lit) -> Option<bool> {
        value(&self.values, lit)
    }

    fn grow(&mut self, lit: Lit) {
        let count = lit.variable() as usize + 1;
        if self.values.len() < count {
            self.values.resize(count, None);
            self.is_open.resize(count, false);
            self.is_used.resize(count, false);
        }
        self.clauses.grow(count);
    }

    /// Adds a clause. It will be looked at when one of its first two literals becomes false.
    fn attach(&mut self, lits: impl Iterator<Item = Lit> + Clone) {
        for lit in lits.clone() {
            self.grow(lit);
            self.is_used[lit.variable() as usize] = true;
            self.open(lit.variable());
        }
        self.clauses.add(lits);
    }

    /// Notes that the theory is to be asked for a variable.
    fn open(&mut self, variable: u32) {
        if self.is_used[variable as usize] && !std::mem::replace(&mut self.is_open[variable as usize], true) {
            self.open.push(variable);
        }
    }

    /// Looks at the clauses that were given.
    fn begin(&mut self) -> Result<(), T::Conflict> {
        while !self.is_refuted
            && let Some(number) = self.given.pop()
        {
            let Origin::Given(lits) = &self.origins[number as usize] else { continue };
            let holds = |lit: &Lit| self.theory.holds(*lit);
            let mut possible = lits.iter().filter(|lit| holds(lit) != Some(false));
            let first = possible.next().copied();
            if possible.next().is_none() && first.as_ref().and_then(holds) != Some(true) {
                let lit = first.unwrap_or(lits[0]);
                self.assert_by(lit, number)?;
            }
        }
        Ok(())
    }

    /// Finds what follows from clauses.
    fn propagate(&mut self) -> Result<(), T::Conflict> {
        loop {
            self.notice();
            let Some(&lit) = self.trail.get(self.looked) else { return Ok(()) };
            self.looked += 1;
            self.look_at_clauses(!lit)?;
        }
    }

    /// Puts on the trail what holds now by the theory.
    fn notice(&mut self) {
        if !std::mem::take(&mut self.is_stale) {
            return;
        }
        let mut at = 0;
        while let Some(&variable) = self.open.get(at) {
            if self.values[variable as usize].is_none() {
                let Some(is_positive) = self.theory.holds(Lit::new(variable, true)) else {
                    at += 1;
                    continue;
                };
                self.push(Lit::new(variable, is_positive));
            }
            self.is_open[variable as usize] = false;
            self.open.swap_remove(at);
        }
    }

    fn push(&mut self, lit: Lit) {
        let level = self.levels.len() as u32;
        self.values[lit.variable() as usize] = Some(Value { is_positive: lit.is_positive(), level });
        self.trail.push(lit);
    }

    /// Looks at the clauses that watch a literal, which is false now.
    fn look_at_clauses(&mut self, lit: Lit) -> Result<(), T::Conflict> {
        let mut at = 0;
        while let Some(number) = self.clauses.watching(lit, at) {
            let Self { clauses, values, .. } = self;
            match clauses.look(lit, at, |lit| value(values, lit)) {
                Looked::Moved => continue,
                Looked::Satisfied => {}
                Looked::Unit(unit) => {
                    self.effort.propagations += 1;
                    self.assert_by(unit, number)?;
                }
            }
            at += 1;
        }
        Ok(())
    }

    fn decide(&mut self, lit: Lit) -> Result<(), T::Conflict> {
        debug_assert!(self.theory.holds(lit).is_none(), "a literal that is decided is open");
        self.effort.decisions += 1;
        self.levels.push(Level { mark: self.theory.mark(), trail: self.trail.len() });
        self.grow(lit);
        self.push(lit);
        self.is_stale = true;
        self.theory.assert(lit, Why::Decided)
    }

    /// Asserts a literal of a clause, of which all other literals are false. If this one is, too, that is a conflict,
    /// and the theory finds it. If it holds by what was asserted since the theory was asked, it is only noticed.
    fn assert_by(&mut self, lit: Lit, number: u32) -> Result<(), T::Conflict> {
        let is_open = self.value(lit).is_none();
        if is_open {
            self.push(lit);
            if self.theory.holds(lit) == Some(true) {
                return Ok(());
            }
        }
        self.others.clear();
        match &self.origins[number as usize] {
            Origin::Given(lits) => self.others.extend(lits.iter().filter(|&&other| other != lit).map(|&other| !other)),
            Origin::Learnt(lemma) => self.others.extend(lemma.refuted.iter().filter(|&&other| other != !lit)),
        }
        self.is_stale = true;
        let result = self.theory.assert(lit, Why::Clause { number, others: &self.others });
        debug_assert!(is_open || result.is_err(), "it is a conflict that a literal and its negation hold");
        result
    }

    /// Learns from a conflict, and goes back to where all but one of the refuted literals hold. The negation of that
    /// one follows there.
    fn learn(&mut self, conflict: T::Conflict) -> Result<(), T::Conflict> {
        let lemma = self.theory.explain(conflict);
        debug_assert!(
            lemma.refuted.iter().all(|&lit| self.value(lit) == Some(true)),
            "what is refuted is on the trail"
        );
        self.effort.lemmas += 1;
        self.until_restart = self.until_restart.saturating_sub(1);
        let level = |lit: Lit| self.values[lit.variable() as usize].map_or(0, |value| value.level);
        // The last comes first, so that the clause watches the two that are taken back first.
        let mut lits = lemma.refuted.clone();
        lits.sort_by_key(|&lit| std::cmp::Reverse(level(lit)));
        let levels = [0, 1].map(|at| lits.get(at).map_or(0, |&lit| level(lit)));
        let number = self.origins.len() as u32;
        self.origins.push(Origin::Learnt(lemma));
        if self.reuses {
            self.attach(lits.iter().map(|&lit| !lit));
        }
        let [last, before] = levels;
        if last == 0 {
            self.is_refuted = true;
            return Ok(());
        }
        assert!(before < last, "one literal that is refuted is of a later level than the others");
        self.back_to(before as usize);
        self.assert_by(!lits[0], number)
    }

    /// Takes back the levels above one.
    fn back_to(&mut self, level: usize) {
        let Some(&Level { mark, trail }) = self.levels.get(level) else { return };
        self.theory.undo_to(mark);
        self.levels.truncate(level);
        for lit in self.trail.split_off(trail) {
            self.values[lit.variable() as usize] = None;
            self.open(lit.variable());
        }
        self.looked = self.looked.min(trail);
    }
}

fn value(values: &[Option<Value>], lit: Lit) -> Option<bool> {
    values[lit.variable() as usize].map(|value| value.is_positive == lit.is_positive())
}
