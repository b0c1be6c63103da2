//! `sra` with rmws: saturation, then search.
//!
//! Some `mo` makes `hb u mo` acyclic and keeps read coherence and atomicity exactly if there is an order of all events
//! that extends `po u rf` and the edges of [`super::causal`], and in which no write of the location comes between an
//! rmw and its source: `mo` is that order on the writes. For an rmw that reads w, and another write w' of the location,
//! that is
//! - w' before the rmw  implies  w' before w;
//! - w before w'  implies  the rmw before w'.
//!
//! These are the two rules of a store order ([`crate::store`]), for rmws alone. So `sra` is a [`Frame`] in which pure
//! reads read nothing. If no [`crate::store::run`] is found at once, the frame is saturated and searched as those of
//! `sc` and `tso` are. A refutation consists of derivations and lemmas, as for these models.
//!
//! The search by lemmas does well with many threads, but has no good bound on its time. The search over
//! [`super::downward`]-closed sets is polynomial for few threads (RF, Theorem 1.3), but yields no short proof. So the
//! two searches take [turns](search::Turns). The total time is that of the faster search, within a constant factor.

use std::ops::ControlFlow::{Break, Continue};

use history::Execution;
use model::{Evidence, GaveUp};
use order::Rows;
use order::saturation::NONE;

use super::causal::Causal;
use super::clocks::width;
use super::downward::{self, Downward};
use super::{Ended, Found, check_room};
use crate::knobs::{Knobs, TacticKnobs};
use crate::store::frame::Frame;
use crate::store::run::{Ran, run};
use crate::store::saturate::{Saturated, Unsaturated};
use crate::store::search::{StoreOrder, StoreSearch, refutation};
use model::Budget;
use search::{Ending, Steps, Turn};

/// The two searches.
#[derive(Copy, Clone)]
enum Way {
    /// By lemmas. A step is that all threads wait.
    Lemmas,
    /// Over downward-closed sets.
    Sets,
}

/// The frame of `sra`, after a pass that found no violation.
pub(super) fn frame(execution: &Execution, causal: &Causal) -> Frame<'static> {
    let sources = (0..).zip(execution.events()).filter(|(_, event)| event.source.is_event()).map(|(id, event)| {
        let source: u32 = event.source.0;
        (id, source, NONE)
    });
    let known = causal.edges.iter().map(|edge| (edge.to, edge.from, edge.by));
    let (mut predecessors, mut reads) = (Vec::new(), Vec::new());
    for (event, predecessor, read) in sources.chain(known) {
        // Events of one chain are in order already.
        if execution.threads()[event as usize] != execution.threads()[predecessor as usize] {
            predecessors.push((event as usize, predecessor));
            reads.push((event as usize, read));
        }
    }
    let [predecessors, reads] = [predecessors, reads].map(|pairs| Rows::new(execution.len(), pairs.iter().copied()));
    Frame::of_rmws(execution.without_pure_reads(), predecessors, reads)
}

/// All events in an order that shows that the execution is allowed; or the evidence against one, if it is more than a
/// cycle of the saturated order. It ends with [`GaveUp::Steps`] after turns of so many steps.
pub(super) fn search(
    execution: &Execution,
    causal: &Causal,
    knobs: &Knobs,
    most: u64,
    budget: &Budget,
) -> Result<Result<Vec<u32>, Evidence>, Ended> {
    let frame = frame(execution, causal);
    if let Ran::Complete(line) = run(&frame, knobs.store, budget) {
        return Ok(Ok(line));
    }
    check_room(budget, execution.len().saturating_mul(width(execution.thread_count())))?;
    let saturated = match Saturated::new(&frame, budget) {
        Ok(Saturated { witness: Some(line), .. }) => return Ok(Ok(line)),
        Ok(saturated) => saturated,
        Err(Unsaturated::GaveUp(why)) => return Err(why.into()),
        Err(_) => return Err(Ended::Found(Found::StoreCycle)),
    };
    take_turns(&frame, StoreOrder::search(&frame, saturated, knobs.store, budget), knobs.tactics, most, budget)
}

/// Both searches take turns of so many steps at most, until one of them decides.
fn take_turns(
    frame: &Frame<'_>,
    mut search: StoreSearch<'_>,
    knobs: TacticKnobs,
    most: u64,
    budget: &Budget,
) -> Result<Result<Vec<u32>, Evidence>, Ended> {
    let ended = knobs.turns().take(vec![Way::Lemmas, Way::Sets], most, |way, steps| match way {
        Way::Lemmas => match search.run(&mut Steps::new(steps)) {
            Ok(Ending::Found(line)) => Break(Ok(Ok(line))),
            Ok(Ending::Refuted) => Break(Ok(Err(refutation(&search)))),
            Ok(Ending::Paused) => {
                search.restart();
                search.theory_mut().begin_anew();
                Continue(Turn::Paused)
            }
            Err(why) => Break(Err(why.into())),
        },
        Way::Sets => {
            let sets = steps.saturating_mul(knobs.sets_per_step) as usize;
            match Downward::new(frame, search.theory().order()).run(sets, budget) {
                Ok(downward::Outcome::Found(line)) => Break(Ok(Ok(line))),
                Ok(downward::Outcome::Refuted) => Break(Ok(Err(Evidence::DecideAgain))),
                Ok(downward::Outcome::Paused) => Continue(Turn::Paused),
                Err(why) => Break(Err(why)),
            }
        }
    });
    match ended {
        Break(answer) => answer,
        Continue(_) => Err(GaveUp::Steps.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::StoreKnobs;
    use history::execution::Kind;
    use workload::rings;

    /// Whether a line is an order as the module asks for.
    fn is_order(execution: &Execution, line: &[u32]) -> bool {
        let mut places = vec![usize::MAX; execution.len()];
        let mut last = vec![history::execution::EventId::INIT; execution.location_count()];
        let mut follows = true;
        for (place, &event) in line.iter().enumerate() {
            places[event as usize] = place;
            let id = history::execution::EventId(event);
            let access = execution.event(id);
            let first = event == execution.starts()[execution.thread(id).index()];
            follows &= first || places[event as usize - 1] != usize::MAX;
            follows &= !access.source.is_event() || places[access.source.index()] != usize::MAX;
            follows &= access.kind != Kind::Rmw || last[access.location.index()] == access.source;
            if access.kind.writes() {
                last[access.location.index()] = id;
            }
        }
        follows && line.len() == execution.len()
    }

    /// Each search alone, and both in turns of every length.
    #[test]
    fn both_searches_say_the_same() {
        let (mut verdicts, mut runs) = ([0; 2], 0);
        for seed in 0..workload::cases(150) {
            let variables = 2 + seed as u32 % 5;
            let rings = if variables == 2 {
                rings::crossed(seed % 2 == 0)
            } else {
                rings::random(variables, 3 * variables, seed)
            };
            let execution = rings::execution(&rings::steps(variables, &[rings.clone(), rings], seed % 3 == 0));
            let mut causal = Causal::default();
            if causal.pass::<true>(&execution, &Budget::UNLIMITED).is_err() {
                continue;
            }
            let frame = frame(&execution, &causal);
            let knobs = StoreKnobs { events_per_guess: 1, ..StoreKnobs::default() };
            let found = match run(&frame, knobs, &Budget::UNLIMITED) {
                Ran::Complete(line) => Some(line),
                Ran::Stuck(_) => None,
            };
            assert!(found.iter().all(|line| is_order(&execution, line)));
            let Ok(saturated) = Saturated::new(&frame, &Budget::UNLIMITED) else { continue };
            let alone = Downward::new(&frame, &saturated.order).run(usize::MAX, &Budget::UNLIMITED).unwrap();
            let allowed = match alone {
                downward::Outcome::Found(line) => {
                    assert!(is_order(&execution, &line));
                    true
                }
                outcome => {
                    assert_eq!(outcome, downward::Outcome::Refuted);
                    false
                }
            };
            verdicts[usize::from(allowed)] += 1;
            assert!(allowed || found.is_none());
            runs += usize::from(found.is_some());
            for (first_turn, sets_per_step) in [(u64::MAX, 0), (1, 1), (3, 2), (1, u64::MAX)] {
                let turns = TacticKnobs { first_turn, turn_growth: 2, sets_per_step, ..TacticKnobs::default() };
                let knobs = StoreKnobs { hints: 0, ..StoreKnobs::default() };
                let search = StoreOrder::search(&frame, saturated.clone(), knobs, &Budget::UNLIMITED);
                match take_turns(&frame, search, turns, u64::MAX, &Budget::UNLIMITED).unwrap() {
                    Ok(line) => assert!(allowed && is_order(&execution, &line)),
                    Err(evidence) => {
                        assert!(!allowed && matches!(evidence, Evidence::Refutation(_) | Evidence::DecideAgain));
                    }
                }
            }
        }
        assert!(verdicts.iter().all(|&count| count > 20) && runs > 20, "{verdicts:?} {runs}");
    }
}
