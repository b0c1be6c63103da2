//! The tactics. The code of each tactic stands here once, for all models.
//!
//! The documentation of [`Tactic`] says what each tactic needs, and what it costs. Only the first tactic, `reads-from`,
//! can handle a read from thin air. [`Work`] has the data that several tactics of one decision share.

use std::cell::OnceCell;

use certificate::{Decision, Evidence, EvidenceKind, Family, GaveUp, Interrupt, Model, Tactic, Verdict};
use history::OperationId;
use history::execution::Kind;
use order::lanes::lanes;

use crate::causal::{self, Halt};
use crate::lattice::implies;
use crate::store::frame::{Frame, Relaxation};
use crate::store::{self, StoreOrders, windows};
use crate::{
    Checker, Limits, MAX_EVENTS, c11, check_room_for, coherence, consistent, fits, sc, tso, unknown, violation,
};

/// The result of a tactic: a decision, or `None` if the tactic does not decide, or why it gave up.
pub(crate) type Attempt = Result<Option<Decision>, GaveUp>;

/// Why a tactic is tried.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// It is the next tactic of the model's row.
    InTurn,
    /// The user asked for this tactic alone.
    ByName,
}

/// For every so many events of a window, its threads may wait for each other once. After that the search for an
/// interleaving is given up, if the model does not need one.
const EVENTS_PER_DEADLOCK: usize = 1 << 5;

/// A model that does not need an interleaving looks for one only if the clocks of a window take at most so many bytes.
const MAX_WINDOW_BYTES: usize = 128 << 20;

/// The data that the tactics of one decision share.
struct Work<'f, 'a> {
    model: Model,
    asked: Asked,
    /// Where the frame of the model is kept.
    frame: &'f OnceCell<Frame<'a>>,
    /// The tactics on that frame, once the frame exists.
    orders: Option<StoreOrders<'f>>,
}

impl<'a> Checker<'a> {
    /// Tries tactics, one after the other, until one of them decides.
    pub(crate) fn walk(&mut self, model: Model, tactics: &[Tactic], asked: Asked) -> Decision {
        let frame = OnceCell::new();
        let mut work = Work { model, asked, frame: &frame, orders: None };
        let mut reason = None;
        for &tactic in tactics {
            match self.attempt(tactic, &mut work) {
                Ok(Some(decision)) => {
                    self.is_sequential |= model == Model::Sc && decision.verdict == Verdict::Consistent;
                    return decision;
                }
                Ok(None) => {}
                Err(GaveUp::Time) => {
                    reason = Some(GaveUp::Time);
                    break;
                }
                Err(why) => reason = reason.or(Some(why)),
            }
        }
        let last = tactics.last().filter(|_| asked == Asked::ByName);
        let reason = match (reason, last) {
            (Some(why), _) => why.to_string(),
            (None, Some(tactic)) if tactic.is_baseline() => format!("the crate seriatim-baseline carries out {tactic}"),
            (None, Some(tactic)) if tactic.needs_solver() && !cfg!(feature = "sat") => {
                format!("{tactic} needs the feature `sat`, and Seriatim was built without it")
            }
            (None, Some(tactic)) => format!("{tactic} does not decide this. It decides when {}", tactic.precondition()),
            (None, None) => format!("no tactic of {model} decides this"),
        };
        unknown(last.map_or("auto", |tactic| tactic.name()), reason)
    }

    fn interrupt(&self) -> Interrupt {
        Interrupt::at(self.options.deadline)
    }

    fn attempt<'f>(&mut self, tactic: Tactic, work: &mut Work<'f, 'a>) -> Attempt
    where
        'a: 'f,
    {
        let (execution, witness, interrupt) = (self.execution, self.options.witness, self.interrupt());
        let Work { model, asked, .. } = *work;
        if tactic == Tactic::ReadsFrom {
            let Some(&read) = execution.thin_air().first() else { return interrupt.check().map(|()| None) };
            return Ok(Some(violation(tactic.name(), Evidence::ThinAir(execution.operation(read)))));
        }
        match tactic {
            Tactic::Recorded => return Ok(self.as_recorded(model, asked)),
            Tactic::Sc | Tactic::Tso => return Ok(self.by_stronger(tactic, model, asked)),
            _ if execution.len() > MAX_EVENTS => return Err(GaveUp::Events { most: MAX_EVENTS }),
            _ => {}
        }
        match (tactic, model.row().family) {
            (Tactic::Windows, _) => self.in_windows(model),
            (Tactic::Wtso, _) => tso::by_wtso(model, execution, witness, interrupt),
            (Tactic::Clocks | Tactic::Views, Family::Causal) => {
                let limits = Limits::from(interrupt);
                let answer = causal::decide(model, execution, witness, &limits, &mut self.causality);
                conclude(tactic, answer, witness)
            }
            (Tactic::Views, _) => conclude(tactic, tso::weak_causal(execution, interrupt), witness),
            (Tactic::Chains, Family::Coherence) => coherence::check(tactic.name(), execution, &self.options),
            (Tactic::Clocks, _) if model == Model::Sra && self.has_rmws() => Ok(None),
            (Tactic::SaturationSearch, _) if !self.has_rmws() => Ok(None),
            (Tactic::Clocks | Tactic::Chains | Tactic::ClocksChains | Tactic::SaturationSearch, _) => {
                c11::Checker::new().check(model, tactic.name(), execution, &self.options)
            }
            _ => self.in_frame(tactic, work),
        }
    }

    /// The decision that a model holds because this line of all events explains all reads. `None` if a witness is
    /// wanted that only the model's own engine can build.
    fn by_line(&self, tactic: Tactic, model: Model, line: &[u32]) -> Option<Decision> {
        let witness = || line_witness(model, store::operations(self.execution, line));
        let evidence = if self.options.witness { Some(witness()?) } else { None };
        Some(consistent(tactic.name(), evidence))
    }

    /// Tries the order of the file. For a model that is decided in polynomial time, it is tried only on request.
    fn as_recorded(&self, model: Model, asked: Asked) -> Option<Decision> {
        let execution = self.execution;
        let wanted = asked == Asked::ByName || self.asks_recorded || !model.row().polynomial;
        let has_witness = !self.options.witness || line_witness(model, Vec::new()).is_some();
        if !wanted || !has_witness || fits(model, execution).is_err() {
            return None;
        }
        let line = self.recorded.get_or_init(|| store::recorded_interleaving(execution)).as_ref()?;
        self.by_line(Tactic::Recorded, model, line)
    }

    /// The decision that a model holds because a stronger model does: the one that the tactic is named after. The
    /// engine of `sc` runs for the sake of another model only if the tactic is asked for by name.
    fn by_stronger(&mut self, tactic: Tactic, model: Model, asked: Asked) -> Option<Decision> {
        let stronger = if tactic == Tactic::Sc { Model::Sc } else { Model::Tso };
        if tactic == Tactic::Sc && asked == Asked::InTurn {
            let is_known = self.is_sequential && !self.options.witness && fits(model, self.execution).is_ok();
            return is_known.then(|| consistent(tactic.name(), None));
        }
        if fits(model, self.execution).is_err() {
            return None;
        }
        let decision = self.walk(stronger, stronger.row().tactics, Asked::InTurn);
        let evidence = match decision.evidence {
            _ if decision.verdict != Verdict::Consistent => return None,
            Some(Evidence::Interleaving(line)) => Some(line_witness(model, line)?),
            evidence => evidence,
        };
        Some(consistent(tactic.name(), evidence))
    }

    /// Looks for an interleaving, or a cycle of the saturated order, in windows. This is quicker than the engine of a
    /// weaker model: most executions of a correct memory have an interleaving.
    fn in_windows(&mut self, model: Model) -> Attempt {
        let (execution, is_weak, relaxation) = (self.execution, model.row().polynomial, tso::relaxation(model));
        let Some(size) = windows::size(execution, relaxation) else { return Ok(None) };
        let threads = execution.thread_count();
        let limits = Limits::from(self.interrupt());
        let known = self.windows.take_if(|(of, _)| is_weak && *of == relaxation);
        let answer = if let Some((_, answer)) = known {
            answer
        } else if is_weak {
            // Windows of many threads are large, and so are their clocks.
            if order::Clocks::bytes(threads, size) > MAX_WINDOW_BYTES {
                return Ok(None);
            }
            let limits = Limits { deadlocks: (size / EVENTS_PER_DEADLOCK) as u64, ..limits };
            windows::decide(execution, relaxation, size, &limits)?
        } else {
            // Two windows are in memory at a time.
            if check_room_for(lanes(threads), 2 * size).is_err() {
                return Ok(None);
            }
            windows::decide(execution, relaxation, size, &limits)?
        };
        let decision = match &answer {
            windows::Answer::Found(line, Relaxation::Nothing) => self.by_line(Tactic::Windows, model, line),
            windows::Answer::Found(line, _) => {
                let witness = || Evidence::MemoryOrder(store::operations(execution, line));
                Some(consistent(Tactic::Windows.name(), self.options.witness.then(witness)))
            }
            windows::Answer::Refuted(cycle) if relaxation != Relaxation::Nothing || implies(model, Model::Wsc) => {
                Some(violation(Tactic::Windows.name(), Evidence::Cycle(cycle.clone())))
            }
            windows::Answer::Refuted(_) | windows::Answer::Nothing => None,
        };
        if is_weak {
            self.windows = Some((relaxation, answer));
        }
        Ok(decision)
    }

    /// The tactics that need the frame of a model. The first of them builds the frame. The tactic `coherence` does only
    /// that: the frame cannot be built if a thread by itself contradicts the model.
    fn in_frame<'f>(&mut self, tactic: Tactic, work: &mut Work<'f, 'a>) -> Attempt
    where
        'a: 'f,
    {
        let (execution, model, limits) = (self.execution, work.model, Limits::from(self.interrupt()));
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
            work.orders.insert(StoreOrders::new(frame, is_weak, self.options.witness, limits.interrupt))
        };
        orders.attempt(tactic, self.strategy, |frame| {
            if is_sequential { sc::partial(frame, &limits) } else { tso::partial(execution, frame, limits.interrupt) }
        })
    }

    fn has_rmws(&self) -> bool {
        let events = self.execution.events();
        // To count all is quicker than to look for the first.
        *self.rmws.get_or_init(|| events.iter().filter(|event| event.kind == Kind::Rmw).count() > 0)
    }
}

/// A line of all operations that explains all reads, as the witness of a model. `None` if the model has no witnesses of
/// this kind.
fn line_witness(model: Model, line: Vec<OperationId>) -> Option<Evidence> {
    let kinds = model.row().consistent;
    if kinds.contains(&EvidenceKind::Interleaving) {
        Some(Evidence::Interleaving(line))
    } else {
        // A store buffer that is emptied at once behaves as an atomic memory.
        kinds.contains(&EvidenceKind::MemoryOrder).then_some(Evidence::MemoryOrder(line))
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
