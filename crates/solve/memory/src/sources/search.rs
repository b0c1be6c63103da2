//! The theory of sources for the kernel `search`: a choice that a model satisfies.
//!
//! A literal says that a read is from a source. Only its negation is ever asserted by a lemma; a read is decided for
//! one source, and then all its other literals are false. The theory is a whole engine ([`Judge`]), which judges full
//! choices: it says that the model holds, or which sources it refuses.
//!
//! Most reads are never to blame. So a read is *active* once a refusal names it. Other reads have the source that was
//! guessed, and are not decided; if a refusal names such a read, it is decided first, for that same source. Active
//! reads are decided in the order of their last blame, the latest first, so that conflicts stay among few reads. Each
//! is from the source that it last had, if no lemma forbids that, or else from the nearest other candidate.
//!
//! If lemmas forbid all candidates of a read, what they rest on cannot all hold, whatever the source of the read is.
//! (An optional read needs a source only if another read is from it: that choice belongs to the reasons, too.)

use std::cmp::Reverse;

use history::OpenExecution;
use history::execution::EventId;
use model::{Because, Budget, Case, Choice, Decided, Evidence, GaveUp, Verdict};
use rustc_hash::FxHashMap;
use search::{Lemma, Lit, Next, Refutation, Steps, Theory, Why};

use super::conflict;
use super::guess::Guess;
use super::{Judge, Judged, Sources, choice, operation};

/// No read.
const NONE: usize = usize::MAX;

/// Why choices cannot all hold.
#[derive(Debug)]
pub(super) enum Proof {
    /// The model refuses them.
    Refused(Box<Evidence>),
    /// Lemmas forbid all candidates of this read.
    NoneLeft(usize),
}

/// What makes it impossible to go on.
pub(super) enum Conflict {
    /// The model refuses these choices, which are all decided.
    Refused(Vec<Lit>, Box<Evidence>),
    /// All candidates of this read are forbidden. If it is optional, this literal says who reads from it.
    NoneLeft(usize, Option<Lit>),
}

/// Why there is no answer.
pub(super) enum Undecided {
    GaveUp(GaveUp),
    /// The engine says so.
    Judged(Box<Decided>),
}

impl From<GaveUp> for Undecided {
    fn from(why: GaveUp) -> Self {
        Self::GaveUp(why)
    }
}

/// An assertion, to be taken back.
enum Asserted {
    Chosen(usize),
    Forbidden(Lit),
}

/// A lemma that forbids a literal, and its other literals.
struct Forbidden {
    lemma: u32,
    others: Vec<Lit>,
}

/// The theory. See the [module](self).
pub(super) struct ChoiceTheory<'a, 'j> {
    open: &'a OpenExecution,
    guess: &'a Guess,
    budget: Budget,
    judge: Judge<'j>,
    variables: FxHashMap<(usize, EventId), u32>,
    choices: Vec<(usize, EventId)>,
    /// By read: the source that is decided.
    decided: Sources,
    /// By read: the source that it last had, or that was guessed. It is tried first.
    last: Sources,
    /// The choices that lemmas forbid.
    forbidden: FxHashMap<Lit, Forbidden>,
    trail: Vec<Asserted>,
    /// The reads that were to blame, and by read the number of the last conflict for which it was.
    active: Vec<usize>,
    blame: Vec<u64>,
    conflicts: u64,
    /// The active reads before this place of the order are decided.
    place: usize,
    /// A refusal, some of whose choices are to be decided first.
    refused: Option<conflict::Conflict>,
    /// The candidates of a read in the order in which they are tried, once they were asked for.
    candidates: FxHashMap<usize, Vec<EventId>>,
    /// The full choice that was judged last.
    full: Sources,
}

impl<'a, 'j> ChoiceTheory<'a, 'j> {
    pub(super) fn new(open: &'a OpenExecution, guess: &'a Guess, judge: Judge<'j>, budget: Budget) -> Self {
        let count = open.reads().len();
        Self {
            open,
            guess,
            budget,
            judge,
            variables: FxHashMap::default(),
            choices: Vec::new(),
            decided: vec![None; count],
            last: guess.chosen.clone(),
            forbidden: FxHashMap::default(),
            trail: Vec::new(),
            active: Vec::new(),
            blame: vec![0; count],
            conflicts: 0,
            place: 0,
            refused: None,
            candidates: FxHashMap::default(),
            full: vec![None; count],
        }
    }

    /// The full choice that was judged last.
    pub(super) fn into_chosen(self) -> Sources {
        self.full
    }

    /// The name of the tactic that judged last.
    pub(super) fn strategy(&self) -> &'static str {
        self.judge.strategy()
    }

    /// The evidence of a refutation.
    pub(super) fn evidence(&self, refutation: &Refutation<'_, Proof>) -> Evidence {
        if let [Lemma { proof: Proof::Refused(evidence), .. }] = refutation.lemmas[..] {
            return (**evidence).clone();
        }
        Evidence::Cases(refutation.lemmas.iter().map(|lemma| self.case(lemma, &refutation.places)).collect())
    }

    fn case(&self, lemma: &Lemma<Proof>, places: &[Option<u32>]) -> Case {
        let mut refuted: Vec<(usize, EventId)> = lemma.refuted.iter().map(|&lit| self.choice(lit)).collect();
        refuted.sort_unstable();
        let choices: Vec<Choice> = refuted.into_iter().map(|(read, source)| choice(self.open, read, source)).collect();
        let because = match &lemma.proof {
            Proof::Refused(evidence) => Because::Violation((**evidence).clone()),
            Proof::NoneLeft(read) => Because::NoneLeft {
                read: operation(self.open, *read),
                cases: lemma.uses.iter().filter_map(|&lemma| places[lemma as usize]).collect(),
            },
        };
        Case { choices, because }
    }

    fn choice(&self, lit: Lit) -> (usize, EventId) {
        self.choices[lit.variable() as usize]
    }

    fn lit(&mut self, choice: (usize, EventId)) -> Lit {
        let choices = &mut self.choices;
        let variable = *self.variables.entry(choice).or_insert_with(|| {
            choices.push(choice);
            choices.len() as u32 - 1
        });
        Lit::new(variable, true)
    }

    fn is_forbidden(&self, choice: (usize, EventId)) -> bool {
        let variable = self.variables.get(&choice);
        variable.is_some_and(|&variable| self.forbidden.contains_key(&Lit::new(variable, false)))
    }

    /// The first candidate of a read that is not forbidden.
    fn candidate(&mut self, read: usize) -> Option<EventId> {
        if let Some(last) = self.last[read].filter(|&last| !self.is_forbidden((read, last))) {
            return Some(last);
        }
        if !self.candidates.contains_key(&read) {
            self.candidates.insert(read, self.guess.candidates(self.open, read));
        }
        self.candidates[&read].iter().copied().find(|&source| !self.is_forbidden((read, source)))
    }

    /// What to do for a read that needs a source: `reader` is from it, if it is optional.
    fn settle(&mut self, read: usize, reader: usize) -> Next<(), Conflict> {
        if let Some(source) = self.candidate(read) {
            return Next::Decide(self.lit((read, source)));
        }
        if reader == NONE {
            return Next::Conflict(Conflict::NoneLeft(read, None));
        }
        let source = self.open.reads()[read].event;
        let lit = self.lit((reader, source));
        if self.decided[reader].is_none() {
            return Next::Decide(lit);
        }
        Next::Conflict(Conflict::NoneLeft(read, Some(lit)))
    }

    /// Completes what is decided to a full choice. The answer is a read that is to be decided for that, with one that
    /// reads from it, if it is optional.
    fn complete(&mut self) -> Option<(usize, usize)> {
        self.full.fill(None);
        let mut needed: Vec<(usize, usize)> = (0..self.full.len())
            .filter(|&read| !self.open.reads()[read].is_optional)
            .map(|read| (read, NONE))
            .collect();
        while let Some((read, reader)) = needed.pop() {
            if self.full[read].is_some() {
                continue;
            }
            let is_active = self.blame[read] > 0;
            let source = match self.decided[read] {
                None if !is_active => self.candidate(read),
                source => source,
            };
            let Some(source) = source else { return Some((read, reader)) };
            self.full[read] = Some(source);
            self.last[read] = Some(source);
            if let Some(other) = self.open.find(source).filter(|&at| self.open.reads()[at].is_optional) {
                needed.push((other, read));
            }
        }
        None
    }

    /// Blames reads for a conflict.
    fn blame(&mut self, reads: impl Iterator<Item = usize>) {
        self.conflicts += 1;
        for read in reads {
            if self.blame[read] == 0 {
                self.active.push(read);
            }
            self.blame[read] = self.conflicts;
        }
    }
}

impl Theory for ChoiceTheory<'_, '_> {
    type Conflict = Conflict;
    type Proof = Proof;
    /// The evidence that the model holds, if it was asked for.
    type Model = Option<Evidence>;
    type Mark = usize;
    type GaveUp = Undecided;

    fn mark(&self) -> usize {
        self.trail.len()
    }

    fn undo_to(&mut self, mark: usize) {
        while self.trail.len() > mark
            && let Some(asserted) = self.trail.pop()
        {
            match asserted {
                Asserted::Chosen(read) => self.decided[read] = None,
                Asserted::Forbidden(lit) => drop(self.forbidden.remove(&lit)),
            }
        }
        self.place = 0;
    }

    fn assert(&mut self, lit: Lit, why: Why<'_>) -> Result<(), Conflict> {
        let (read, source) = self.choice(lit);
        match why {
            Why::Decided => {
                self.decided[read] = Some(source);
                self.last[read] = Some(source);
                self.trail.push(Asserted::Chosen(read));
            }
            Why::Clause { number, others } => {
                debug_assert!(!lit.is_positive() && self.decided[read] != Some(source), "no read is decided too early");
                self.forbidden.insert(lit, Forbidden { lemma: number, others: others.to_vec() });
                self.trail.push(Asserted::Forbidden(lit));
            }
        }
        Ok(())
    }

    fn holds(&self, lit: Lit) -> Option<bool> {
        let (read, source) = self.choice(lit);
        let is_chosen = match self.decided[read] {
            Some(decided) => decided == source,
            None if self.is_forbidden((read, source)) => false,
            None => return None,
        };
        Some(is_chosen == lit.is_positive())
    }

    fn explain(&mut self, conflict: Conflict) -> Lemma<Proof> {
        let lemma = match conflict {
            Conflict::Refused(refuted, evidence) => {
                Lemma { refuted, uses: Vec::new(), proof: Proof::Refused(evidence) }
            }
            Conflict::NoneLeft(read, reader) => {
                let (mut refuted, mut uses): (Vec<Lit>, Vec<u32>) = (reader.into_iter().collect(), Vec::new());
                for source in self.open.candidates(read) {
                    let lit = !Lit::new(self.variables[&(read, source)], true);
                    let Forbidden { lemma, others } = &self.forbidden[&lit];
                    refuted.extend(others);
                    uses.push(*lemma);
                }
                uses.sort_unstable();
                uses.dedup();
                refuted.sort_unstable();
                refuted.dedup();
                Lemma { refuted, uses, proof: Proof::NoneLeft(read) }
            }
        };
        let reads: Vec<usize> = lemma.refuted.iter().map(|&lit| self.choice(lit).0).collect();
        self.blame(reads.into_iter());
        lemma
    }

    /// In a step, a full choice is judged.
    fn decide(&mut self, steps: &mut Steps) -> Result<Next<Option<Evidence>, Conflict>, Undecided> {
        loop {
            if let Some(refused) = self.refused.take() {
                let lits: Vec<Lit> = refused.reads.iter().map(|&choice| self.lit(choice)).collect();
                let open = lits.iter().find(|&&lit| self.holds(lit).is_none());
                return Ok(match open {
                    Some(&lit) => {
                        self.refused = Some(refused);
                        Next::Decide(lit)
                    }
                    None => Next::Conflict(Conflict::Refused(lits, Box::new(refused.evidence))),
                });
            }
            if self.trail.is_empty() {
                let blame = &self.blame;
                self.active.sort_by_key(|&read| (Reverse(blame[read]), read));
            }
            let is_optional = |read: usize| self.open.reads()[read].is_optional;
            while let Some(&read) = self.active.get(self.place)
                && (self.decided[read].is_some() || is_optional(read))
            {
                self.place += 1;
            }
            let needed = self.active.get(self.place).map(|&read| (read, NONE));
            if let Some((read, reader)) = needed.or_else(|| self.complete()) {
                return Ok(match self.settle(read, reader) {
                    Next::Decide(lit) => Next::Decide(lit),
                    Next::Conflict(conflict) => Next::Conflict(conflict),
                    _ => unreachable!("a read is decided, or is a conflict"),
                });
            }
            self.budget.check()?;
            if !steps.take() {
                return Ok(Next::Pause);
            }
            match self.judge.judge(self.open, &self.full) {
                Judged::Refused(refused) => self.refused = Some(refused),
                Judged::Decided(Decided { verdict: Verdict::Consistent, evidence, .. }) => {
                    return Ok(Next::Found(evidence));
                }
                Judged::Decided(decision) => return Err(Undecided::Judged(Box::new(decision))),
            }
        }
    }
}
