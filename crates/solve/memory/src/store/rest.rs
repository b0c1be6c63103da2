//! What is left of a frame when a run is stuck.
//!
//! A *beginning* is a sequence of events in which each comes after its base predecessors, and each read returns the
//! last write before it if its source is a base predecessor. No write in it is overwritten that has readers to come.
//! What went in a [run](super::run) is one. The events that are left are a frame again, the *rest*: what reads from a
//! write of the beginning must return what is in memory then, so its source becomes the initial write.
//!
//! The beginning and then an order of the rest is an order of the whole. So what a run found is not lost when it is
//! stuck: only the rest is saturated and searched. The converse does not hold, because the beginning may be a wrong
//! one. But if saturation of the rest leads to a conflict, its explanation mostly holds in the whole, too. It speaks of
//! the beginning only where a read returns what was in memory: then it needs that the source comes before another
//! write, and the base may say so.
//!
//! Invariant: events of the rest have the chains, locations and operations that they have in the whole.

use history::Execution;
use history::execution::EventId;
use model::{Derivation, GaveUp};
use order::lanes::Lane;
use order::saturation::{Conflict, Derived, NONE};
use order::{Explained, Explainer, Explanation, Grounds, Rows, Saturation};
use search::{Ending, Steps};

use super::explain::{DerivationBuilder, Hop};
use super::frame::Frame;
use super::rules::READ_WRITE;
use super::run::{Ran, run};
use super::saturate::{Saturated, Unsaturated};
use super::search::StoreOrder;
use super::{Answer, is_narrow, room};
use crate::Limits;

/// Decides a frame by a run, and where it is stuck, by the search in the rest.
pub fn decide(whole: &Frame<'_>, limits: &Limits) -> Result<Answer, GaveUp> {
    let knobs = limits.knobs.store;
    let mut beginning = match run(whole, knobs, &limits.budget) {
        Ran::Complete(line) => return Ok(Answer::Found(line)),
        Ran::Stuck(line) => line,
    };
    let least = knobs.least_beginning.max(whole.execution().len() / knobs.beginning_part);
    if beginning.is_empty() || beginning.len() < least {
        return Ok(Answer::Nothing);
    }
    beginning.truncate(beginning.len() - beginning.len() / knobs.given_back);
    let rest = Rest::new(whole, &beginning);
    room(&limits.budget, &rest.frame)?;
    if is_narrow(rest.frame.execution()) && knobs.narrow {
        rest.search::<u8>(whole, beginning, limits)
    } else {
        rest.search::<u32>(whole, beginning, limits)
    }
}

/// The rest. See the [module](self).
struct Rest {
    frame: Frame<'static>,
    /// The number in the whole of each of its events.
    origins: Vec<u32>,
}

impl Rest {
    fn new(whole: &Frame<'_>, beginning: &[u32]) -> Self {
        let execution = whole.execution();
        let (starts, threads) = (execution.starts(), execution.threads());
        let mut next = starts[..execution.thread_count()].to_vec();
        for &event in beginning {
            next[threads[event as usize].index()] = event + 1;
        }
        // By chain: how many events of it and of the chains before it went.
        let mut gone = Vec::with_capacity(next.len());
        for (next, start) in next.iter().zip(starts) {
            gone.push(gone.last().copied().unwrap_or(0) + next - start);
        }
        let number = |event: u32| {
            let chain = threads[event as usize].index();
            (event >= next[chain]).then(|| event - gone[chain])
        };
        let origins: Vec<u32> = next.iter().zip(&starts[1..]).flat_map(|(&next, &end)| next..end).collect();
        let events = origins.iter().map(|&id| {
            let mut event = execution.events()[id as usize];
            if event.source.is_event() {
                event.source = number(event.source.0).map_or(EventId::INIT, EventId);
            }
            (threads[id as usize], event, execution.operations()[id as usize])
        });
        let mut rest = Execution::default();
        rest.refill(next.len(), events);
        let frame = whole.with(rest, || {
            let mut pairs = Vec::new();
            for (at, &id) in origins.iter().enumerate() {
                pairs.extend(whole.predecessors(id).filter_map(number).map(|predecessor| (at, predecessor)));
            }
            Rows::new(origins.len(), pairs.iter().copied())
        });
        Self { frame, origins }
    }

    /// Saturates and searches the rest.
    fn search<L: Lane>(&self, whole: &Frame<'_>, beginning: Vec<u32>, limits: &Limits) -> Result<Answer, GaveUp> {
        let Limits { budget, knobs } = limits;
        let saturated = match Saturated::<L>::reusing(Saturation::default(), &self.frame, budget) {
            Ok(Saturated { witness: Some(line), .. }) => return Ok(Answer::Found(self.after(beginning, &line))),
            Ok(saturated) => saturated,
            Err(Unsaturated::GaveUp(why)) => return Err(why),
            Err(Unsaturated::Conflict(order, conflict)) => {
                return Ok(self.lift(whole, &order, conflict).map_or(Answer::Nothing, Answer::Refuted));
            }
            Err(Unsaturated::Stuck(_)) => return Ok(Answer::Nothing),
        };
        let mut steps = Steps::new((self.origins.len() / knobs.store.events_per_step) as u64);
        match StoreOrder::search(&self.frame, saturated, knobs.store, budget).run(&mut steps)? {
            Ending::Found(line) => Ok(Answer::Found(self.after(beginning, &line))),
            Ending::Refuted | Ending::Paused => Ok(Answer::Nothing),
        }
    }

    /// A beginning, and then an order of the rest.
    fn after(&self, mut beginning: Vec<u32>, line: &[u32]) -> Vec<u32> {
        beginning.extend(line.iter().map(|&event| self.origins[event as usize]));
        beginning
    }

    /// The explanation of a conflict in the whole. `None` if it needs more of the beginning than the base says.
    fn lift<L: Lane>(&self, whole: &Frame<'_>, order: &Saturation<L>, conflict: Conflict) -> Option<Derivation> {
        let Explanation { edges, cycle, bottom } = Explainer::new(order, &self.frame).conflict(conflict);
        let mut edges = edges.into_iter().map(|edge| self.lift_edge(whole, edge)).collect::<Option<Vec<_>>>()?;
        let mut cycle = self.lift_path(cycle);
        let mut bottom = match bottom {
            None => None,
            Some(edge) => Some(self.lift_edge(whole, edge)?),
        };
        // A write of the rest comes before a read of what is in memory, and so before its source in the beginning.
        if let Some(mut last) = bottom.take_if(|edge| whole.source(edge.edge.reason) != NONE) {
            last.edge.to = whole.source(last.edge.reason);
            cycle = whole.base_path(last.edge.to, last.edge.from)?;
            cycle.push(Hop::Derived(last.number));
            edges.push(last);
        }
        Some(DerivationBuilder::build(whole, &Explanation { edges, cycle, bottom }, &[]))
    }

    /// The number of an event in the whole. What is no event stays as it is.
    fn origin(&self, event: u32) -> u32 {
        self.origins.get(event as usize).copied().unwrap_or(event)
    }

    fn lift_edge(&self, whole: &Frame<'_>, explained: Explained<Hop>) -> Option<Explained<Hop>> {
        let Explained { number, edge, because } = explained;
        let origin = |event| self.origin(event);
        let edge = Derived { from: origin(edge.from), to: origin(edge.to), reason: origin(edge.reason) };
        let Grounds::Rule(path) = because else { return None };
        let path = match path[..] {
            // A read of what is in memory comes before a write of the rest.
            [Hop::Po(NONE, _)] if edge.reason == READ_WRITE && whole.source(edge.from) != NONE => {
                whole.base_path(whole.source(edge.from), edge.to)?
            }
            _ => self.lift_path(path),
        };
        Some(Explained { number, edge, because: Grounds::Rule(path) })
    }

    fn lift_path(&self, path: Vec<Hop>) -> Vec<Hop> {
        let origin = |event| self.origin(event);
        let lift = |hop| match hop {
            Hop::Po(from, to) => Hop::Po(origin(from), origin(to)),
            Hop::Rf(from, to) => Hop::Rf(origin(from), origin(to)),
            Hop::Own(from, to) => Hop::Own(origin(from), origin(to)),
            Hop::Known(from, to, read) => Hop::Known(origin(from), origin(to), origin(read)),
            Hop::Derived(number) => Hop::Derived(number),
        };
        path.into_iter().map(lift).collect()
    }
}

#[cfg(test)]
mod tests {
    use model::{Certificate, Decided, Evidence, Model, Verdict};
    use verify::verify;
    use workload::memory::{self as atomic, MemoryMachine};
    use workload::{cases, small, to_history};

    use super::*;
    use crate::store::order_of;
    use crate::tso;

    /// The frame of a model, if a thread by itself does not break coherence.
    fn frame(model: Model, execution: &Execution) -> Option<Frame<'_>> {
        if model == Model::Sc { Some(Frame::sequential(execution)) } else { tso::frame(model, execution).ok() }
    }

    /// What the rest after so many events of a run says, and whether that is allowed. Evidence is verified.
    fn decided(model: Model, history: &history::History, count: usize) -> Option<bool> {
        let execution = Execution::from_history(history).expect("generated histories are executions");
        let whole = frame(model, &execution)?;
        let limits = Limits::default();
        let (Ran::Complete(mut line) | Ran::Stuck(mut line)) = run(&whole, limits.knobs.store, &limits.budget);
        line.truncate(count);
        let answer = Rest::new(&whole, &line).search::<u32>(&whole, line, &limits).expect("there is no limit");
        let (verdict, evidence) = match answer {
            Answer::Found(line) => (Verdict::Consistent, order_of(&whole, &line)),
            Answer::Refuted(cycle) => (Verdict::Violation, Evidence::Cycle(cycle)),
            Answer::Nothing => return None,
        };
        let decision = Decided { verdict, strategy: "run", reason: None, evidence: Some(evidence) };
        let certificate = Certificate::new(0, history, model, &decision).expect("every verdict has a certificate");
        assert_eq!(verify(&certificate, history), Ok(()), "{model}, after {count} events");
        Some(verdict == Verdict::Consistent)
    }

    #[test]
    fn the_rest_after_any_beginning_says_nothing_wrong() {
        let models =
            [(Model::Sc, oracle::Model::Sc), (Model::Tso, oracle::Model::Tso), (Model::Pso, oracle::Model::Pso)];
        let mut verdicts = [0, 0];
        for (case, generated) in small::executions(12).take(cases(600) as usize).enumerate() {
            let history = to_history(&generated);
            if !generated.thin_air().is_empty() {
                continue;
            }
            for (model, as_oracle) in models {
                let allowed = oracle::allowed(as_oracle, &generated);
                for count in 0..generated.len() {
                    let answer = decided(model, &history, count);
                    assert!(answer.is_none_or(|it| it == allowed), "case {case}, {model}, after {count} events");
                    verdicts[usize::from(allowed)] += u64::from(answer.is_some());
                }
            }
        }
        assert!(verdicts.iter().all(|&count| count > cases(600)), "{verdicts:?}");
    }

    /// A conflict in the rest of a larger history with a perturbed read is mostly one of the whole.
    #[test]
    fn conflicts_are_explained_in_the_whole() {
        let (mut refuted, mut open) = (0, 0);
        for seed in 0..cases(40) {
            for (machine, model) in [(MemoryMachine::Sc, Model::Sc), (MemoryMachine::Tso, Model::Tso)] {
                let config = atomic::MemoryConfig {
                    machine,
                    threads: 2 + seed as u32 % 6,
                    operations: 2_000,
                    locations: 4 << (seed % 6),
                    perturb: 1,
                    seed,
                    ..atomic::MemoryConfig::default()
                };
                let history = atomic::history(&config, atomic::thread_by_thread(&config));
                match decided(model, &history, 2_000) {
                    Some(false) => refuted += 1,
                    Some(true) => {}
                    None => open += 1,
                }
            }
        }
        assert!(refuted > open && refuted > cases(40) / 2, "{refuted} refuted, {open} open");
    }
}
