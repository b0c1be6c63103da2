//! Sequential consistency: `sc` and `wsc` (wSC sections 2 and 3).

pub mod explain;
pub mod interleaving;
pub mod rules;
pub mod saturate;
pub mod search;

use certificate::{Decision, Derivation, Edge, Evidence, Node, Verdict};
use history::Execution;
use history::execution::EventId;
use order::saturation::NONE;

use crate::{Interrupt, unknown, violation};
use explain::{DerivationBuilder, Explainer};
use saturate::{Saturated, Unsaturated};
use search::{Outcome, Search};

/// Decides `wsc`.
pub fn weak(execution: &Execution, witness: bool, interrupt: Interrupt) -> Decision {
    match Saturated::new(execution, interrupt) {
        Ok(Saturated { witness: line, .. }) => {
            let evidence = || line.map_or(Evidence::DecideAgain, |line| interleaving(execution, &line));
            consistent("saturation", witness.then(evidence))
        }
        Err(unsaturated) => refused(execution, &unsaturated),
    }
}

/// Decides `sc`.
pub fn check(execution: &Execution, witness: bool, interrupt: Interrupt) -> Decision {
    let saturated = match Saturated::new(execution, interrupt) {
        Ok(saturated) => saturated,
        Err(unsaturated) => return refused(execution, &unsaturated),
    };
    let found = |strategy, line: &[u32]| consistent(strategy, witness.then(|| interleaving(execution, line)));
    if let Some(line) = &saturated.witness {
        return found("schedule", line);
    }
    match Search::new(execution, saturated).run(interrupt) {
        Outcome::Found(line) => found("wsc+search", &line),
        Outcome::Refuted(evidence) => violation("wsc+search", evidence),
        Outcome::Interrupted => unknown("the time limit was reached".to_owned()),
    }
}

fn interleaving(execution: &Execution, line: &[u32]) -> Evidence {
    Evidence::Interleaving(line.iter().map(|&event| execution.operation(EventId(event))).collect())
}

fn consistent(strategy: &'static str, evidence: Option<Evidence>) -> Decision {
    Decision { verdict: Verdict::Consistent, strategy, reason: None, evidence }
}

fn refused(execution: &Execution, unsaturated: &Unsaturated) -> Decision {
    match unsaturated {
        Unsaturated::Stuck(next) => violation("saturation", Evidence::Cycle(causal_cycle(execution, next))),
        Unsaturated::Conflict(order, conflict) => {
            let explanation = Explainer { execution, order, known: 0, by_lemma: &[] }.conflict(*conflict);
            let mut builder = DerivationBuilder::new(execution);
            for explained in &explanation.edges {
                builder.add(explained, None);
            }
            violation("saturation", Evidence::Cycle(builder.close(&explanation)))
        }
        Unsaturated::Interrupted => unknown("the time limit was reached".to_owned()),
    }
}

/// The cycle of `po u rf` in which threads wait, given the event that is next in each.
fn causal_cycle(execution: &Execution, next: &[u32]) -> Derivation {
    let node = |event: u32| Node::Operation(execution.operation(EventId(event)));
    let ends = &execution.starts()[1..];
    let mut at = next.iter().zip(ends).find(|(next, end)| next < end).map_or(0, |(&next, _)| next);
    let mut seen = vec![NONE; next.len()];
    let mut cycle = Vec::new();
    // Backwards: each event waits for its source, which waits for the next event of its thread.
    loop {
        let thread = execution.thread(EventId(at)).index();
        if seen[thread] != NONE {
            cycle.drain(..seen[thread] as usize);
            cycle.reverse();
            return Derivation { steps: Vec::new(), cycle };
        }
        seen[thread] = cycle.len() as u32;
        let source = saturate::source(execution, at);
        cycle.push(Edge::Rf(node(source), node(at)));
        let first = next[execution.thread(EventId(source)).index()];
        if first != source {
            cycle.push(Edge::Po(node(first), node(source)));
        }
        at = first;
    }
}
