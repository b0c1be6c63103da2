//! Checks violations of `wccm` (section 4.1 of GCC; the definition is in `memory::tso::wccm`).
//!
//! For the bases B = `ppo u rfe` and B = `po-loc u rf`:
//!
//! | steps | their premises |
//! | --- | --- |
//! | `cf` in a view: `hb_o^B` | B, `cf` steps in the same view and B |
//! | `cf` for all: `cf[hb^B]` | B, `cf` steps in any view and B |
//! | `ww`: `whb` | both B, `cf` steps in any view |
//! | `rw` | `cf` and `ww` steps |
//!
//! The cycle consists of B and steps. The certificate does not say which B it means. Each path must use only one of
//! them. A `cf` step in a view belongs to the bases that its premise belongs to.

use super::derivation::Check;
use super::{Claim, Place, Refusal, buffered, fault};
use model::{Derivation, Edge, Model, Rule, Step};

/// Whether an edge or a step belongs to the base with `ppo`, and whether it belongs to the base with `po-loc`.
type Bases = [bool; 2];

/// Checks a derivation of a violation.
pub fn violation(claim: &Claim<'_>, derivation: &Derivation) -> Result<(), Refusal> {
    let check = Check { claim, model: Model::Wccm, derivation, lemmas: None };
    // The bases that the `cf` steps in views belong to. All other steps belong to both.
    let mut bases: Vec<Bases> = Vec::with_capacity(derivation.steps.len());
    for (at, step) in derivation.steps.iter().enumerate() {
        bases.push(check.partial_step(at, step, &bases)?);
    }
    let Some(&first) = derivation.cycle.first() else { return fault(Place::Cycle, "it is empty") };
    if derivation.cycle.iter().any(|&edge| matches!(edge, Edge::Derived(step) if step as usize >= bases.len())) {
        return fault(Place::Cycle, "it uses a step that does not exist");
    }
    let begin = derivation.ends(first).0;
    check.path(Place::Cycle, &derivation.cycle, begin, begin, no_synchronisation)?;
    buffered::one_base(claim, Model::Wccm, Place::Cycle, &derivation.cycle)
}

fn no_synchronisation(edge: Edge) -> Result<(), &'static str> {
    if matches!(edge, Edge::Sw { .. }) { Err("this model has no synchronisation edges") } else { Ok(()) }
}

impl Check<'_> {
    /// Checks a step, given the bases of the steps before it. Returns the bases of this step.
    fn partial_step(&self, at: usize, step: &Step, bases: &[Bases]) -> Result<Bases, Refusal> {
        let place = Place::Step(at);
        let (begin, end) = match step.rule {
            Rule::Conflict { read, view } => {
                let event = self.conflict(place, step, read)?;
                if view.is_some_and(|process| self.claim.execution.thread(event).0 != process.0) {
                    return fault(place, "the step is in the view of one process, and its read is of another");
                }
                (step.from, read)
            }
            Rule::StoreOrder => {
                self.distinct_writes(place, step.from, step.to)?;
                (step.from, step.to)
            }
            Rule::ReadWrite => (self.read_write(place, step)?, step.to),
            _ => return fault(place, "this is no rule of wccm"),
        };
        self.path(place, &step.path, begin, end, |edge| match edge {
            Edge::Derived(number) if number as usize >= at => Err("a premise may use earlier steps only"),
            Edge::Derived(number) => match (step.rule, self.derivation.steps[number as usize].rule) {
                (Rule::Conflict { view: Some(view), .. }, Rule::Conflict { view: Some(of), .. }) if view == of => {
                    Ok(())
                }
                (Rule::Conflict { view: None, .. } | Rule::StoreOrder, Rule::Conflict { view: Some(_), .. })
                | (Rule::ReadWrite, Rule::Conflict { .. } | Rule::StoreOrder) => Ok(()),
                _ => Err("the premise uses a step that the rule does not allow"),
            },
            Edge::Po(..) | Edge::Rf(..) if step.rule == Rule::ReadWrite => {
                Err("the premise of rw may use only steps that order writes")
            }
            _ => no_synchronisation(edge),
        })?;
        let of = |&edge: &Edge| match edge {
            Edge::Derived(number) => bases[number as usize],
            _ => buffered::in_bases(self.claim, self.model, edge),
        };
        match step.rule {
            Rule::Conflict { view, .. } => {
                let common = step.path.iter().map(of).fold([true; 2], |[a, b], [c, d]| [a && c, b && d]);
                if common == [false; 2] {
                    return fault(place, "the premise is neither in ppo and rfe nor in po-loc and rf");
                }
                Ok(if view.is_some() { common } else { [true; 2] })
            }
            Rule::StoreOrder if step.path.iter().any(|edge| of(edge) == [false; 2]) => {
                fault(place, "an edge of the premise is not in ppo, po-loc or rf")
            }
            _ => Ok([true; 2]),
        }
    }
}
