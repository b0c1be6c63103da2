//! The tactics: which there are ([`table`]), which may decide a model ([`strategy`]), and their code, once for all
//! models.
//!
//! Only the first tactic of a row, `reads-from`, can handle a read from thin air. [`Work`] has the data that several
//! tactics of one decision share. [`lines`] has the tactics that look for one order of all events, [`others`] those
//! that decide another model, or a part of the execution. All others ask the engine of the model's family.
//!
//! A search, and a tactic that decides something else, takes [turns](search::Turns) with the other tactics of the
//! model. A turn is limited in steps, not in time, so the same tactic decides every time. A search goes on where it
//! stopped; a tactic that decides something else begins anew, and its memory is free between turns.

mod lines;
mod others;
pub(crate) mod strategy;
pub(crate) mod table;
pub(crate) mod verdicts;

use std::cell::OnceCell;
use std::ops::ControlFlow::{Break, Continue};

use history::execution::Kind;
use model::{Decided, Evidence, Family, GaveUp, Model};
use search::Turn;

use crate::c11::sequential::PscSearch;
use crate::causal::{self, Halt};
use crate::store::StoreOrders;
use crate::store::frame::{Frame, Relaxation};
use crate::{ExecutionChecker, Limits, MAX_EVENTS, c11, coherence, consistent, tso, unknown, violation};
use table::Tactic;

/// The result of a tactic: a decision, or `None` if the tactic does not decide, or why it gave up.
pub(crate) type Attempt = Result<Option<Decided>, GaveUp>;

/// Why a tactic is tried.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// It is the next tactic of the model's row.
    InTurn,
    /// The user asked for this tactic alone.
    ByName,
}

/// The data that the tactics of one decision share.
struct Work<'f, 'a> {
    model: Model,
    asked: Asked,
    /// How many steps a tactic may have taken when its turn is over.
    steps: u64,
    /// Where the frame of the model is kept.
    frame: &'f OnceCell<Frame<'a>>,
    /// The tactics on that frame, once the frame exists.
    orders: Option<StoreOrders<'f>>,
    /// The search of `c20` and `rc11`.
    psc: PscSearch<'f>,
}

impl<'a> ExecutionChecker<'a> {
    /// Tries tactics until one of them decides.
    pub(crate) fn walk(&mut self, model: Model, tactics: &[Tactic], asked: Asked) -> Decided {
        let reason = match self.take_turns(model, tactics, asked, u64::MAX) {
            Ok(decision) => return decision,
            Err(reason) => reason,
        };
        let last = tactics.last().filter(|_| asked == Asked::ByName);
        let reason = match (reason, last) {
            (Some(why), _) => why.to_string(),
            (None, Some(tactic)) => format!("{tactic} does not decide this. It decides when {}", tactic.precondition()),
            (None, None) => format!("no tactic of {model} decides this"),
        };
        unknown(last.map_or("auto", |tactic| tactic.name()), reason)
    }

    /// Tries tactics, one after the other, until one of them decides. Those that did not come to an end take further
    /// turns, of so many steps at most. The error says why nothing was decided, if there is a reason.
    fn take_turns(
        &mut self,
        model: Model,
        tactics: &[Tactic],
        asked: Asked,
        most: u64,
    ) -> Result<Decided, Option<GaveUp>> {
        let (frame, base) = (OnceCell::new(), OnceCell::new());
        let mut work = Work { model, asked, steps: 0, frame: &frame, orders: None, psc: PscSearch::new(&base) };
        let mut turns = self.options.knobs.tactics.turns();
        // A tactic that has nobody to take turns with is not interrupted.
        if tactics.iter().filter(|tactic| tactic.takes_turns()).count() < 2 {
            turns.first = most;
        }
        let mut reason = None;
        let ended = turns.take(tactics.to_vec(), most, |&mut tactic, steps| {
            work.steps = steps;
            match self.attempt(tactic, &mut work) {
                Ok(Some(decision)) => return Break(Ok(decision)),
                Err(why) if why.ends_all() => return Break(Err(why)),
                Err(GaveUp::Steps) => return Continue(Turn::Paused),
                Err(why) => reason = reason.or(Some(why)),
                Ok(None) => {}
            }
            Continue(Turn::Over)
        });
        match ended {
            Break(Ok(decision)) => {
                self.verdicts.note(model, decision.verdict);
                Ok(decision)
            }
            Break(Err(why)) => Err(Some(why)),
            Continue(paused) if paused.is_empty() => Err(reason),
            Continue(_) => Err(Some(GaveUp::Steps)),
        }
    }

    fn limits(&self) -> Limits {
        Limits { knobs: self.options.knobs, ..Limits::from(&self.options.budget) }
    }

    fn attempt<'f>(&mut self, tactic: Tactic, work: &mut Work<'f, 'a>) -> Attempt
    where
        'a: 'f,
    {
        let (execution, model) = (self.execution, work.model);
        match tactic {
            Tactic::ReadsFrom => match execution.thin_air().first() {
                None => self.options.budget.check().map(|()| None),
                Some(&read) => Ok(Some(violation(tactic.name(), Evidence::ThinAir(execution.operation(read))))),
            },
            Tactic::Recorded => Ok(self.as_recorded(model, work.asked)),
            Tactic::Components => self.in_components(work),
            _ if execution.len() > MAX_EVENTS => Err(GaveUp::Events { most: MAX_EVENTS }),
            Tactic::Run if tso::relaxation(model) == Relaxation::Nothing => self.by_run(model),
            Tactic::Windows => self.in_windows(model),
            Tactic::Model(Model::Wtso) if matches!(model, Model::Pso | Model::Wpso) => {
                tso::by_wtso(model, execution, self.options.witness, &self.limits())
            }
            Tactic::Model(other) => self.by_model(tactic, other, work),
            _ => self.by_family(tactic, work),
        }
    }

    /// The tactics that only the engine of the model's family has.
    fn by_family<'f>(&mut self, tactic: Tactic, work: &mut Work<'f, 'a>) -> Attempt
    where
        'a: 'f,
    {
        let (execution, model, witness) = (self.execution, work.model, self.options.witness);
        match model.row().family {
            Family::Coherence => coherence::check(tactic.name(), execution, &self.options),
            Family::Causal => {
                let limits = self.limits();
                let answer = causal::decide(model, execution, witness, &limits, &mut self.causality);
                conclude(tactic, answer, witness)
            }
            Family::C11 if matches!(model, Model::C20 | Model::Rc11) => {
                work.psc.attempt(tactic, model, execution, &self.options, work.steps)
            }
            Family::C11 => self.by_c11(tactic, model, work.steps),
            Family::StoreBuffers if tactic == Tactic::Views => {
                conclude(tactic, tso::weak_causal(execution, &self.options.budget), witness)
            }
            _ => self.in_frame(tactic, work),
        }
    }

    fn by_c11(&self, tactic: Tactic, model: Model, steps: u64) -> Attempt {
        // Clocks decide `sra` only without rmws.
        if model == Model::Sra && tactic == Tactic::Clocks && self.has_rmws() {
            return Ok(None);
        }
        if let Some(decision) = self.by_lists(tactic, model)? {
            return Ok(Some(decision));
        }
        c11::C11Checker::new().check(model, tactic.name(), self.execution, &self.options, steps)
    }

    /// The tactics that need the frame of a model. The first of them builds the frame. The tactic `coherence` does only
    /// that: the frame cannot be built if a thread by itself contradicts the model.
    fn in_frame<'f>(&mut self, tactic: Tactic, work: &mut Work<'f, 'a>) -> Attempt
    where
        'a: 'f,
    {
        let (execution, model, limits) = (self.execution, work.model, self.limits());
        let is_sequential = model.row().family == Family::Sequential;
        let make = || if is_sequential { Ok(Frame::sequential(execution)) } else { tso::frame(model, execution) };
        let orders = if let Some(orders) = &mut work.orders {
            orders
        } else {
            let frame = match make() {
                Ok(frame) => work.frame.get_or_init(|| frame),
                Err(cycle) => return Ok(Some(violation(Tactic::Coherence.name(), Evidence::Cycle(cycle)))),
            };
            let is_weak = model.row().polynomial;
            work.orders.insert(StoreOrders::new(frame, is_weak, self.options.witness, &limits))
        };
        orders.attempt(tactic, work.steps)
    }

    fn has_rmws(&self) -> bool {
        let events = self.execution.events();
        // To count all is quicker than to look for the first.
        *self.rmws.get_or_init(|| events.iter().filter(|event| event.kind == Kind::Rmw).count() > 0)
    }
}

/// The decision for what an engine of the causal family found.
fn conclude(tactic: Tactic, answer: causal::Answer, witness: bool) -> Attempt {
    match answer {
        Ok(evidence) => Ok(Some(consistent(tactic.name(), evidence.or(witness.then_some(Evidence::DecideAgain))))),
        Err(Halt::Violation(derivation)) => Ok(Some(violation(tactic.name(), Evidence::Cycle(derivation)))),
        Err(Halt::GaveUp(why)) => Err(why),
    }
}
