//! The tactics. The code of each tactic stands here once, for all models.
//!
//! The documentation of [`Tactic`] says what each tactic needs, and what it costs. Only the first tactic, `reads-from`,
//! can handle a read from thin air. [`Work`] has the data that several tactics of one decision share.
//!
//! Some tactics of a model decide another model: one that implies it and holds, or one that it implies and that fails.
//! Such a tactic, and a search, takes turns with the other tactics of the model. A turn is limited in steps, not in
//! time, so the same tactic decides every time. Each further turn is longer. A search goes on where it stopped; a
//! tactic that decides another model or a [component](components) begins anew, and its memory is free between turns.

use std::borrow::Cow;
use std::cell::OnceCell;

use certificate::{Decision, Evidence, EvidenceKind, Family, GaveUp, Interrupt, Model, Tactic, Verdict};
use history::execution::{Kind, LocationId};
use history::{Execution, OperationId};
use order::lanes::{BLOCK, lanes};

use crate::causal::{self, Halt};
use crate::components::{self, components};
use crate::lattice::{buffered, implies};
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
/// How many steps the first turn of a tactic has, and how many times as many each further turn. In a step of a search,
/// all threads wait.
const FIRST_TURN: u64 = 1 << 12;
const TURN_GROWTH: u64 = 4;
/// How many entries the clocks of another model may have, for each step of the turn: in the first turn, 1 GiB in all.
const ENTRIES_PER_STEP: u64 = 1 << 16;
/// Executions with fewer events are decided by the engine of the model itself. It is fast enough.
const MIN_EVENTS_FOR_OTHER_MODELS: usize = 1 << 10;

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
}

impl<'a> Checker<'a> {
    /// Tries tactics until one of them decides.
    pub(crate) fn walk(&mut self, model: Model, tactics: &[Tactic], asked: Asked) -> Decision {
        let reason = match self.take_turns(model, tactics, asked, u64::MAX) {
            Ok(decision) => return decision,
            Err(reason) => reason,
        };
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

    /// Tries tactics, one after the other, until one of them decides. Those that did not come to an end take further
    /// turns, until they have taken so many steps. The error says why nothing was decided, if there is a reason.
    fn take_turns(
        &mut self,
        model: Model,
        tactics: &[Tactic],
        asked: Asked,
        steps: u64,
    ) -> Result<Decision, Option<GaveUp>> {
        let frame = OnceCell::new();
        // A tactic that has nobody to take turns with is not interrupted.
        let is_shared = tactics.iter().filter(|tactic| tactic.takes_turns()).count() > 1;
        let first = if is_shared { FIRST_TURN.min(steps) } else { steps };
        let mut work = Work { model, asked, steps: first, frame: &frame, orders: None };
        let mut reason = None;
        let mut open = Cow::Borrowed(tactics);
        loop {
            let mut paused = Vec::new();
            for &tactic in &*open {
                match self.attempt(tactic, &mut work) {
                    Ok(Some(decision)) => {
                        self.verdicts.note(model, decision.verdict);
                        return Ok(decision);
                    }
                    Ok(None) => {}
                    Err(GaveUp::Time) => return Err(Some(GaveUp::Time)),
                    Err(GaveUp::Steps) => paused.push(tactic),
                    Err(why) => reason = reason.or(Some(why)),
                }
            }
            if paused.is_empty() {
                return Err(reason);
            }
            if work.steps >= steps {
                return Err(Some(GaveUp::Steps));
            }
            let next = if paused.len() == 1 { steps } else { work.steps.saturating_mul(TURN_GROWTH) };
            work.steps = next.min(steps);
            open = Cow::Owned(paused);
        }
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
            Tactic::Components => return self.in_components(work),
            _ if execution.len() > MAX_EVENTS => return Err(GaveUp::Events { most: MAX_EVENTS }),
            _ => {}
        }
        match (tactic, model.row().family) {
            (Tactic::Windows, _) => self.in_windows(model),
            (Tactic::Wtso, _) if matches!(model, Model::Pso | Model::Wpso) => {
                tso::by_wtso(model, execution, witness, interrupt)
            }
            _ if let Some(other) = tactic.other() => self.by_model(tactic, other, work),
            (Tactic::Clocks | Tactic::Views, Family::Causal) => {
                let limits = Limits::from(interrupt);
                let answer = causal::decide(model, execution, witness, &limits, &mut self.causality);
                conclude(tactic, answer, witness)
            }
            (Tactic::Views, _) => conclude(tactic, tso::weak_causal(execution, interrupt), witness),
            (Tactic::Chains, Family::Coherence) => coherence::check(tactic.name(), execution, &self.options),
            (Tactic::Clocks, _) if model == Model::Sra && self.has_rmws() => Ok(None),
            (Tactic::SaturationSearch, _) if !self.has_rmws() => Ok(None),
            (Tactic::ClocksChains | Tactic::PscSearch, _) if model == Model::C20 => {
                c11::check_sequential(tactic, execution, &self.options, work.steps)
            }
            (Tactic::Clocks | Tactic::Chains | Tactic::ClocksChains | Tactic::SaturationSearch, _) => {
                if let Some(decision) = self.by_lists(tactic, model)? {
                    return Ok(Some(decision));
                }
                c11::Checker::new().check(model, tactic.name(), execution, &self.options, work.steps)
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

    /// The decision that a C11 model holds, for many threads of few events each and without rmws. Then `wra` is `cc`,
    /// and `sra`, which implies `ra`, is `ccv`; and the causal family has clocks that cost what they say. `None` if the
    /// model does not hold by that, or if the clocks say much. Then the engine of the C11 family decides.
    fn by_lists(&self, tactic: Tactic, model: Model) -> Attempt {
        let (execution, witness, limits) = (self.execution, self.options.witness, Limits::from(self.interrupt()));
        let causal = match model {
            Model::Wra => Model::Cc,
            Model::Ra | Model::Sra => Model::Ccv,
            _ => return Ok(None),
        };
        if execution.thread_count() < limits.many_threads || self.has_rmws() {
            return Ok(None);
        }
        match causal::by_lists(causal, execution, witness, &limits) {
            Ok(Some(Evidence::WriteOrder(line))) => {
                Ok(Some(consistent(tactic.name(), Some(modification_orders(execution, &line)))))
            }
            Ok(_) => Ok(Some(consistent(tactic.name(), witness.then_some(Evidence::DecideAgain)))),
            Err(Halt::GaveUp(GaveUp::Time)) => Err(GaveUp::Time),
            Err(_) => Ok(None),
        }
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

    /// The decision by another model, which the tactic is named after: a stronger one that holds, or a weaker one that
    /// fails. The engine of `sc` runs for the sake of another model only if the tactic is asked for by name.
    fn by_model(&mut self, tactic: Tactic, other: Model, work: &Work<'_, 'a>) -> Attempt {
        let Work { model, asked, steps, .. } = *work;
        let (execution, witness) = (self.execution, self.options.witness);
        if [model, other].into_iter().any(|model| fits(model, execution).is_err()) {
            return Ok(None);
        }
        let is_stronger = implies(other, model);
        if asked == Asked::InTurn {
            let known = self.verdicts.of(other);
            let useful = if is_stronger { Verdict::Consistent } else { Verdict::Violation };
            let entries = execution.len() as u64 * lanes(execution.thread_count()) as u64;
            match other {
                _ if is_stronger && known == Some(useful) && !witness => {
                    return Ok(Some(consistent(tactic.name(), None)));
                }
                Model::Sc => return Ok(None),
                _ if known.is_some_and(|verdict| verdict != useful) => return Ok(None),
                _ if execution.len() < MIN_EVENTS_FOR_OTHER_MODELS => return Ok(None),
                Model::Sra if !self.has_rmws() => return Ok(None),
                // The causal family finds out by itself whether its clocks are large.
                _ if other.row().family != Family::Causal && entries / ENTRIES_PER_STEP > steps => {
                    return Err(GaveUp::Steps);
                }
                _ => {}
            }
        }
        let own: Vec<Tactic> = other.row().tactics.iter().copied().filter(|tactic| tactic.other().is_none()).collect();
        self.options.witness = witness && is_stronger;
        let outcome = self.take_turns(other, &own, Asked::InTurn, steps);
        self.options.witness = witness;
        let evidence = match outcome {
            Err(Some(why @ (GaveUp::Time | GaveUp::Steps))) => return Err(why),
            Ok(Decision { verdict: Verdict::Consistent, evidence, .. }) if is_stronger => {
                let evidence = if witness { witness_by_stronger(model, evidence) } else { None };
                return Ok((evidence.is_some() || !witness).then(|| consistent(tactic.name(), evidence)));
            }
            Ok(Decision { verdict: Verdict::Violation, evidence, .. }) if !is_stronger => evidence,
            _ => None,
        };
        let evidence = match evidence {
            Some(Evidence::Cycle(cycle)) if model == Model::Wccm => buffered(execution, &cycle).map(Evidence::Cycle),
            evidence => evidence.filter(|evidence| model.row().admits(Verdict::Violation, evidence.kind())),
        };
        Ok(evidence.map(|evidence| violation(tactic.name(), evidence)))
    }

    /// Decides each component by itself. Components take turns: the first violation ends all, and none keeps the others
    /// waiting.
    fn in_components(&self, work: &Work<'_, 'a>) -> Attempt {
        let Work { model, asked, steps, .. } = *work;
        let (execution, name) = (self.execution, Tactic::Components.name());
        // If there are few threads, clocks are short in any case.
        if asked == Asked::InTurn && execution.thread_count() <= BLOCK || fits(model, execution).is_err() {
            return Ok(None);
        }
        let parts = components(execution);
        if parts.is_empty() {
            return Ok(None);
        }
        let mut witnesses: Vec<Option<Evidence>> = vec![None; parts.len()];
        let (mut open, mut reason): (Vec<usize>, _) = ((0..parts.len()).collect(), None);
        let mut turn = FIRST_TURN.min(steps);
        loop {
            let mut paused = Vec::new();
            for at in open {
                let mut checker = Checker::new(&parts[at].execution, &self.options);
                match checker.take_turns(model, model.row().tactics, Asked::InTurn, turn) {
                    Ok(Decision { verdict: Verdict::Violation, evidence: Some(evidence), .. }) => {
                        return Ok(Some(violation(name, parts[at].restore(evidence))));
                    }
                    Ok(Decision { verdict: Verdict::Consistent, evidence, .. }) => witnesses[at] = evidence,
                    Err(Some(GaveUp::Time)) => return Err(GaveUp::Time),
                    Err(Some(GaveUp::Steps)) => paused.push(at),
                    Err(Some(why)) => reason = reason.or(Some(why)),
                    // No tactic says anything of this component, so nothing is known of the whole.
                    Ok(_) | Err(None) => return Ok(None),
                }
            }
            if paused.is_empty() {
                break;
            }
            if turn >= steps {
                return Err(GaveUp::Steps);
            }
            turn = if paused.len() == 1 { steps } else { turn.saturating_mul(TURN_GROWTH).min(steps) };
            open = paused;
        }
        if let Some(why) = reason {
            return Err(why);
        }
        let witnesses = witnesses.into_iter().flatten().collect();
        let witness = self.options.witness.then(|| components::join(execution, &parts, witnesses));
        Ok(Some(consistent(name, witness)))
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
        orders.attempt(tactic, self.strategy, work.steps, |frame| {
            if is_sequential { sc::partial(frame, &limits) } else { tso::partial(execution, frame, limits.interrupt) }
        })
    }

    fn has_rmws(&self) -> bool {
        let events = self.execution.events();
        // To count all is quicker than to look for the first.
        *self.rmws.get_or_init(|| events.iter().filter(|event| event.kind == Kind::Rmw).count() > 0)
    }
}

/// The modification orders of all locations, from one order of all writes.
fn modification_orders(execution: &Execution, line: &[OperationId]) -> Evidence {
    let count = execution.operations().iter().map(|operation| operation.index() + 1).max();
    let mut locations = vec![LocationId::NONE; count.unwrap_or(0)];
    for id in execution.ids().filter(|&id| execution.event(id).kind.writes()) {
        locations[execution.operation(id).index()] = execution.event(id).location;
    }
    let mut orders = vec![Vec::new(); execution.location_count()];
    for &write in line {
        orders[locations[write.index()].index()].push(write);
    }
    Evidence::ModificationOrders(orders)
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

/// The witness of a model, from the evidence that a stronger model holds. `None` if the model has no witnesses of that
/// kind, and cannot be decided again.
fn witness_by_stronger(model: Model, evidence: Option<Evidence>) -> Option<Evidence> {
    let admits = |kind| model.row().admits(Verdict::Consistent, kind);
    let again = admits(EvidenceKind::DecideAgain).then_some(Evidence::DecideAgain);
    match evidence {
        Some(Evidence::Interleaving(line)) => line_witness(model, line).or(again),
        evidence => evidence.filter(|evidence| admits(evidence.kind())).or(again),
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
