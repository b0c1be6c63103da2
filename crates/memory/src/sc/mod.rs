//! Sequential consistency: `sc` and `wsc` (wSC sections 2 and 3).
//!
//! `sc` holds iff a store order `ww` exists with `po u rf u ww u rw[ww]` acyclic: iff there is one interleaving of all threads in
//! which each read returns the last write before it. `wsc` holds iff the least `st`, `hb` with `st = (hb_WW u cf[hb])+`,
//! `hb = (po u rf u st u rw[st])+` has `hb` acyclic. `sc` implies `wsc`, and `st` is part of every store order.
//!
//! `wsc` is decided by [`saturate`], with the two [`rules`]; what it leaves open of `sc` by [`search`]. The strategies of the
//! papers are here, too, for comparison.

pub mod choices;
pub mod direct;
pub mod enumerate;
pub mod explain;
pub mod frontier;
pub mod interleaving;
pub mod kernel;
pub mod rules;
pub mod sat;
pub mod saturate;
pub mod search;

use certificate::{Decision, Derivation, Edge, Evidence, Node, Verdict};
use history::Execution;
use history::execution::EventId;
use order::saturation::NONE;

use crate::causal::ccm::PartialStoreOrder;
use crate::causal::{Causality, Halt};
use crate::{Interrupt, check_room, unknown, violation};
use choices::{Choices, TooMany};
use explain::{DerivationBuilder, Explainer};
use sat::{Found, PairSolver};
use saturate::{Saturated, Unsaturated};
use search::{Outcome, Search};

/// Decides `wsc`.
pub fn weak(execution: &Execution, witness: bool, interrupt: Interrupt) -> Decision {
    // The clocks of all events, and two rows for each location.
    if let Err(decision) = check_room(execution, execution.len() + 2 * execution.location_count()) {
        return decision;
    }
    match Saturated::new(execution, interrupt) {
        Ok(Saturated { witness: line, .. }) => {
            let evidence = || line.map_or(Evidence::DecideAgain, |line| interleaving(execution, &line));
            consistent("saturation", witness.then(evidence))
        }
        Err(unsaturated) => refused(execution, &unsaturated),
    }
}

/// How `sc` is decided. All strategies but [`Recorded`](Self::Recorded) are exact.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Strategy {
    /// The recorded order, then saturation, then search: whichever decides first.
    #[default]
    Auto,
    /// Whether the order of the file is itself an interleaving; says nothing if it is not.
    Recorded,
    /// Saturation, then the [`search`] for an interleaving.
    WscSearch,
    /// Saturation, then a SAT solver over the open pairs of writes ([`sat`]).
    WscSat,
    /// `pww` of `ccm`, then a SAT solver over the open pairs of writes.
    CcmSat,
    /// `pww` of `ccm`, then backtracking over the open pairs ([`mod@enumerate`]).
    CcmEnum,
    /// The search over thread [`frontier`]s, without saturation.
    Dbcop,
    /// A SAT solver on the axioms, written down as clauses ([`direct`]).
    Sat,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Self; 8] = [
        Self::Auto,
        Self::Recorded,
        Self::WscSearch,
        Self::WscSat,
        Self::CcmSat,
        Self::CcmEnum,
        Self::Dbcop,
        Self::Sat,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Recorded => "recorded",
            Self::WscSearch => "wsc+search",
            Self::WscSat => "wsc+sat",
            Self::CcmSat => "ccm+sat",
            Self::CcmEnum => "ccm+enum",
            Self::Dbcop => "dbcop",
            Self::Sat => "sat",
        }
    }

    /// The strategy of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strategy| strategy.name() == name)
    }
}

/// Decides `sc`. There must be no thin-air read.
pub fn check(execution: &Execution, strategy: Strategy, witness: bool, interrupt: Interrupt) -> Decision {
    if interrupt.is_due() {
        return unknown(OUT_OF_TIME.to_owned());
    }
    if matches!(strategy, Strategy::Auto | Strategy::Recorded) {
        let line = recorded(execution);
        if choices::is_interleaving(execution, line.iter().copied()) {
            return consistent("recorded", witness.then(|| interleaving(execution, &line)));
        }
    }
    // The clocks of all events, and two rows for each location.
    if let Err(decision) = check_room(execution, execution.len() + 2 * execution.location_count()) {
        return decision;
    }
    match strategy {
        Strategy::Auto | Strategy::WscSearch => saturate_and_search(execution, witness, interrupt),
        Strategy::Recorded => {
            unknown("the order of the file is not an interleaving that explains the reads; another may be".to_owned())
        }
        _ => match baseline(execution, strategy, interrupt) {
            Found::Order(_, line) => consistent(strategy.name(), witness.then(|| interleaving(execution, &line))),
            Found::Interrupted => unknown(OUT_OF_TIME.to_owned()),
            Found::TooLarge => unknown(format!("the execution is too large for {}", strategy.name())),
            // The baselines do not say why. The search does, and a verdict without evidence is none.
            Found::Nothing => match saturate_and_search(execution, witness, interrupt) {
                Decision { verdict: Verdict::Violation, evidence, .. } => {
                    Decision { verdict: Verdict::Violation, strategy: strategy.name(), reason: None, evidence }
                }
                _ => unknown(format!("{} finds no store order, but there was no time to prove it", strategy.name())),
            },
        },
    }
}

const OUT_OF_TIME: &str = "the time limit was reached";

/// The events in the order of the file.
fn recorded(execution: &Execution) -> Vec<u32> {
    let operations = execution.operations();
    if operations.is_sorted() {
        return (0..execution.len() as u32).collect();
    }
    let count = operations.iter().map(|operation| operation.index() + 1).max().unwrap_or(0);
    let mut events = vec![NONE; count];
    for (event, operation) in operations.iter().enumerate() {
        events[operation.index()] = event as u32;
    }
    events.retain(|&event| event != NONE);
    events
}

fn saturate_and_search(execution: &Execution, witness: bool, interrupt: Interrupt) -> Decision {
    let saturated = match Saturated::new(execution, interrupt) {
        Ok(saturated) => saturated,
        Err(unsaturated) => return refused(execution, &unsaturated),
    };
    let found = |strategy, line: &[u32]| consistent(strategy, witness.then(|| interleaving(execution, line)));
    if let Some(line) = &saturated.witness {
        return found("saturation", line);
    }
    match Search::new(execution, saturated).run(interrupt) {
        Outcome::Found(line) => found("wsc+search", &line),
        Outcome::Refuted(evidence) => violation("wsc+search", evidence),
        Outcome::Interrupted => unknown(OUT_OF_TIME.to_owned()),
    }
}

/// The strategies of the papers.
fn baseline(execution: &Execution, strategy: Strategy, interrupt: Interrupt) -> Found {
    let by_sat = |choices: Result<Choices<'_>, TooMany>| {
        choices.map_or(Found::TooLarge, |choices| PairSolver::new(&choices, interrupt).solve(None))
    };
    match strategy {
        Strategy::Dbcop => frontier::search(execution, interrupt),
        Strategy::Sat => direct::solve(execution, interrupt),
        Strategy::CcmSat | Strategy::CcmEnum => {
            let choices = match partial_choices(execution, interrupt) {
                Ok(choices) => choices,
                Err(Halt::Violation(_)) => return Found::Nothing,
                Err(Halt::Interrupted) => return Found::Interrupted,
            };
            match (strategy, choices) {
                (Strategy::CcmEnum, Ok(choices)) => enumerate::enumerate(&choices, interrupt),
                (_, choices) => by_sat(choices),
            }
        }
        _ => match Saturated::new(execution, interrupt) {
            Ok(saturated) => by_sat(Choices::after_saturation(execution, &saturated)),
            Err(Unsaturated::Interrupted) => Found::Interrupted,
            Err(_) => Found::Nothing,
        },
    }
}

/// What `pww` leaves open.
fn partial_choices(execution: &Execution, interrupt: Interrupt) -> Result<Result<Choices<'_>, TooMany>, Halt> {
    let causality = Causality::new(execution, interrupt)?;
    let order = PartialStoreOrder::new(&causality, interrupt)?;
    Ok(Choices::after(execution, |a, b| a != b && order.before(EventId(a), EventId(b))))
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
        Unsaturated::Interrupted => unknown(OUT_OF_TIME.to_owned()),
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
