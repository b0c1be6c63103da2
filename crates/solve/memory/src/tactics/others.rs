//! The tactics that decide something else: another model, the components of the execution, or a model of the causal
//! family instead of one of the C11 family.
//!
//! They ask a tactic of that other question. So a question never asks itself again: the tactics of another model leave
//! other models out, and a component has no components.

use std::ops::ControlFlow::{Break, Continue};

use history::execution::LocationId;
use history::{Execution, OperationId};
use model::{Decided, Evidence, EvidenceKind, Family, GaveUp, Model, Verdict, implies};
use order::lanes::{BLOCK, lanes};
use search::Turn;

use super::lines::line_witness;
use super::table::{Tactic, tactics};
use super::{Asked, Attempt, Work};
use crate::causal::{self, Halt};
use crate::components::{self, components};
use crate::tso::buffered;
use crate::{ExecutionChecker, consistent, fits, violation};

impl<'a> ExecutionChecker<'a> {
    /// The decision by another model, which the tactic is named after: a stronger one that holds, or a weaker one that
    /// fails. The engine of `sc` runs for the sake of another model only if the tactic is asked for by name.
    pub(super) fn by_model(&mut self, tactic: Tactic, other: Model, work: &Work<'_, 'a>) -> Attempt {
        let Work { model, asked, steps, .. } = *work;
        let (execution, witness, knobs) = (self.execution, self.options.witness, self.options.knobs.tactics);
        if [model, other].into_iter().any(|model| fits(model, execution).is_err()) {
            return Ok(None);
        }
        let is_stronger = implies(other, model);
        if asked == Asked::InTurn {
            let known = self.verdicts.of(other);
            let useful = if is_stronger { Verdict::Consistent } else { Verdict::Violation };
            let entries = execution.len() as u64 * lanes(execution.thread_count()) as u64;
            match other {
                _ if !knobs.other_models => return Ok(None),
                _ if is_stronger && known == Some(useful) && !witness => {
                    return Ok(Some(consistent(tactic.name(), None)));
                }
                Model::Sc => return Ok(None),
                _ if known.is_some_and(|verdict| verdict != useful) => return Ok(None),
                _ if execution.len() < knobs.least_for_others => return Ok(None),
                Model::Sra if !self.has_rmws() => return Ok(None),
                // The causal family finds out by itself whether its clocks are large.
                _ if other.row().family != Family::Causal && entries / knobs.entries_per_step > steps => {
                    return Err(GaveUp::Steps);
                }
                _ => {}
            }
        }
        let own: Vec<Tactic> = tactics(other).iter().copied().filter(|tactic| tactic.other().is_none()).collect();
        self.options.witness = witness && is_stronger;
        let outcome = self.take_turns(other, &own, Asked::InTurn, steps);
        self.options.witness = witness;
        let evidence = match outcome {
            Err(Some(why)) if why.ends_all() || why == GaveUp::Steps => return Err(why),
            Ok(Decided { verdict: Verdict::Consistent, evidence, .. }) if is_stronger => {
                let evidence = if witness { witness_by_stronger(model, evidence) } else { None };
                return Ok((evidence.is_some() || !witness).then(|| consistent(tactic.name(), evidence)));
            }
            Ok(Decided { verdict: Verdict::Violation, evidence, .. }) if !is_stronger => evidence,
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
    pub(super) fn in_components(&self, work: &Work<'_, 'a>) -> Attempt {
        let Work { model, asked, steps: most, .. } = *work;
        let (execution, name) = (self.execution, Tactic::Components.name());
        // If there are few threads, clocks are short in any case.
        if asked == Asked::InTurn && (execution.thread_count() <= BLOCK || !self.options.knobs.tactics.components)
            || fits(model, execution).is_err()
        {
            return Ok(None);
        }
        let parts = components(execution, self.options.knobs.tactics.first_events);
        if parts.is_empty() {
            return Ok(None);
        }
        let mut witnesses: Vec<Option<Evidence>> = vec![None; parts.len()];
        let mut reason = None;
        let ended = self.options.knobs.tactics.turns().take((0..parts.len()).collect(), most, |&mut at, steps| {
            let mut checker = ExecutionChecker::new(&parts[at].execution, &self.options);
            match checker.take_turns(model, tactics(model), Asked::InTurn, steps) {
                Ok(Decided { verdict: Verdict::Violation, evidence: Some(evidence), .. }) => {
                    return Break(Ok(Some(violation(name, parts[at].restore(evidence)))));
                }
                Ok(Decided { verdict: Verdict::Consistent, evidence, .. }) => witnesses[at] = evidence,
                Err(Some(why)) if why.ends_all() => return Break(Err(why)),
                Err(Some(GaveUp::Steps)) => return Continue(Turn::Paused),
                Err(Some(why)) => reason = reason.or(Some(why)),
                // No tactic says anything of this component, so nothing is known of the whole.
                Ok(_) | Err(None) => return Break(Ok(None)),
            }
            Continue(Turn::Over)
        });
        match (ended, reason) {
            (Break(attempt), _) => attempt,
            (Continue(paused), _) if !paused.is_empty() => Err(GaveUp::Steps),
            (Continue(_), Some(why)) => Err(why),
            (Continue(_), None) => {
                let witnesses = witnesses.into_iter().flatten().collect();
                let witness = self.options.witness.then(|| components::join(execution, &parts, witnesses));
                Ok(Some(consistent(name, witness)))
            }
        }
    }

    /// The decision that a C11 model holds, for many threads of few events each and without rmws. Then `wra` is `cc`,
    /// and `sra`, which implies `ra`, is `ccv`; and the causal family has clocks that cost what they say. `None` if the
    /// model does not hold by that, or if the clocks say much. Then the engine of the C11 family decides.
    pub(super) fn by_lists(&self, tactic: Tactic, model: Model) -> Attempt {
        let (execution, witness, limits) = (self.execution, self.options.witness, self.limits());
        let causal = match model {
            Model::Wra => Model::Cc,
            Model::Ra | Model::Sra => Model::Ccv,
            _ => return Ok(None),
        };
        if execution.thread_count() < limits.knobs.causal.many_threads || self.has_rmws() {
            return Ok(None);
        }
        match causal::by_lists(causal, execution, witness, &limits) {
            Ok(Some(Evidence::WriteOrder(line))) => {
                Ok(Some(consistent(tactic.name(), Some(modification_orders(execution, &line)))))
            }
            Ok(_) => Ok(Some(consistent(tactic.name(), witness.then_some(Evidence::DecideAgain)))),
            Err(Halt::GaveUp(why)) if why.ends_all() => Err(why),
            Err(_) => Ok(None),
        }
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
