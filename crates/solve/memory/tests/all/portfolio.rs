//! Other models and components decide a model: against the oracle, with verified certificates. And every decision is
//! reached again by the strategy that it names.

use history::execution::{EventId, Kind};
use history::{Execution, ExecutionBuilder, History};
use memory::{ExecutionChecker, MemoryOptions, Strategy, Tactic, c11, fits, tactics};
use model::{Certificate, Decided, Evidence, Model, Verdict, implies};
use verify::verify;
use workload::hard::{self, HardShape};
use workload::memory::{self as atomic, MemoryMachine};
use workload::{cases, small, to_history};

fn execution(history: &History) -> Execution {
    Execution::from_history(history).expect("generated histories are executions")
}

fn decide(model: Model, execution: &Execution, strategy: Strategy, witness: bool) -> Decided {
    let mut checker = ExecutionChecker::new(execution, &MemoryOptions { witness, ..MemoryOptions::default() });
    checker.set_strategy(strategy);
    checker.check(model)
}

/// The most operations of a history that the verifier decides again in reasonable time.
const MAX_DECIDED_AGAIN: usize = 200;

/// Verifies the certificate of a decision.
fn prove(model: Model, history: &History, decision: &Decided, what: &dyn std::fmt::Display) {
    if decision.evidence == Some(Evidence::DecideAgain) && history.operations().len() > MAX_DECIDED_AGAIN {
        return;
    }
    let certificate = Certificate::new(0, history, model, decision).expect("every verdict has a certificate");
    if let Err(refusal) = verify(&certificate, history) {
        panic!("{what}, {model}, {}: {refusal}\n{certificate:#?}", decision.strategy);
    }
}

/// Decides every model. Each decision is proved, the strategy that it names reaches it again, and no decision
/// contradicts another. Returns the names of the strategies, with their models.
fn decide_all(history: &History, what: &dyn std::fmt::Display) -> Vec<(Model, &'static str)> {
    let execution = execution(history);
    let models: Vec<Model> = Model::ALL.into_iter().filter(|&model| fits(model, &execution).is_ok()).collect();
    let mut decisions = Vec::new();
    for &model in &models {
        for witness in [false, true] {
            let decision = decide(model, &execution, Strategy::Auto, witness);
            assert_ne!(decision.verdict, Verdict::Unknown, "{what}, {model}: {:?}", decision.reason);
            let again = Strategy::from_name(decision.strategy).expect("the strategy has a name that is accepted");
            assert_eq!(decide(model, &execution, again, witness), decision, "{what}, {model}, {}", decision.strategy);
            if witness {
                prove(model, history, &decision, what);
            }
            decisions.push((model, decision));
        }
    }
    for (model, decision) in &decisions {
        for (other, weaker) in decisions.iter().filter(|(other, _)| implies(*model, *other)) {
            let (verdict, weaker) = (decision.verdict, weaker.verdict);
            assert!(verdict == Verdict::Violation || weaker == Verdict::Consistent, "{what}: {model}, not {other}");
        }
    }
    decisions.into_iter().map(|(model, decision)| (model, decision.strategy)).collect()
}

#[test]
fn every_decision_is_reached_again_by_its_strategy() {
    for (case, execution) in small::executions(21).take(cases(300) as usize).enumerate() {
        decide_all(&to_history(&execution), &format_args!("case {case}"));
    }
}

/// Executions that are large enough to ask other models first.
#[test]
fn other_models_decide_larger_executions() {
    let mut seen = Vec::new();
    for seed in 0..cases(24) {
        let config = atomic::MemoryConfig {
            machine: [MemoryMachine::Sc, MemoryMachine::Tso, MemoryMachine::Pso, MemoryMachine::Sc][seed as usize % 4],
            threads: 3 + seed as u32 % 5 * 4,
            operations: 1_100,
            locations: 1 << (2 + seed % 4),
            rmws: 5 * (seed as u32 / 4 % 2),
            perturb: seed as u32 / 8 % 2,
            seed,
            ..atomic::MemoryConfig::default()
        };
        let history = atomic::history(&config, atomic::thread_by_thread(&config));
        seen.extend(decide_all(&history, &format_args!("seed {seed}")));
    }
    for (model, strategy) in
        [(Model::Ccm, "wsc"), (Model::Wccm, "wsc"), (Model::Ccm, "ccv"), (Model::Wccm, "ccv"), (Model::Wccm, "wtso")]
    {
        assert!(seen.contains(&(model, strategy)), "{model} was never decided by {strategy}");
    }
}

/// The same execution, except that one read returns the last but one write of its own thread to its location.
fn with_stale_read(execution: &Execution) -> Execution {
    let mut builder = ExecutionBuilder::new();
    for id in execution.ids() {
        let event = execution.event(id);
        builder.push_ordered(execution.thread(id).0, event.kind, event.location.0, event.order);
    }
    let own_writes = |read: EventId| {
        let events = execution.thread_events(execution.thread(read)).take_while(move |&id| id < read);
        let location = execution.event(read).location;
        let is_write = move |id: &EventId| {
            let event = execution.event(*id);
            event.kind.writes() && event.location == location
        };
        events.filter(is_write).collect::<Vec<_>>()
    };
    let reads = || execution.ids().filter(|&id| execution.event(id).kind.reads());
    let stale = reads().find(|&read| execution.event(read).kind == Kind::Read && own_writes(read).len() > 1);
    let stale = stale.expect("a thread reads a location that it wrote twice");
    for read in reads() {
        let source = execution.event(read).source;
        let source = if read == stale { own_writes(read)[own_writes(read).len() - 2] } else { source };
        builder.read_from(read.index(), source.is_event().then(|| source.index()));
    }
    builder.build()
}

/// The C11 models of many threads are mostly decided by lists. The engine of the family says the same.
#[test]
fn many_threads_under_the_c11_models() {
    let mut verdicts = Vec::new();
    for seed in 0..cases(24) {
        let config = atomic::MemoryConfig {
            machine: [MemoryMachine::ReleaseAcquire, MemoryMachine::Sc, MemoryMachine::Relaxed][seed as usize % 3],
            threads: 260 + 10 * seed as u32,
            operations: [1_000, 3_000][seed as usize / 3 % 2],
            locations: [4, 64][seed as usize / 6 % 2],
            rmws: 5 * u32::from(seed % 8 == 7),
            perturb: seed as u32 % 5 / 4,
            seed,
            ..atomic::MemoryConfig::default()
        };
        let history = atomic::history(&config, atomic::thread_by_thread(&config));
        let execution = execution(&history);
        for model in [Model::Wra, Model::Ra, Model::Sra] {
            let decision = decide(model, &execution, Strategy::Auto, true);
            prove(model, &history, &decision, &format_args!("seed {seed}"));
            let holds = decision.verdict == Verdict::Consistent;
            let engine = c11::C11Checker::new().allows(model, &execution);
            assert_eq!(engine.ok(), Some(holds), "seed {seed}, {model}");
            verdicts.push(holds);
        }
    }
    assert!(verdicts.contains(&true) && verdicts.contains(&false), "{verdicts:?}");
}

/// A few hundred threads of few operations each.
#[test]
fn many_threads_of_few_operations() {
    for seed in 0..cases(8) {
        let config = atomic::MemoryConfig {
            threads: 300,
            operations: [1_500, 4_000][seed as usize / 2 % 2],
            locations: 4,
            rmws: 5 * (seed as u32 % 2),
            seed,
            ..atomic::MemoryConfig::default()
        };
        let is_stale = seed >= cases(8) / 2;
        let generated = atomic::execution(&config);
        let history = to_history(&if is_stale { with_stale_read(&generated) } else { generated });
        let execution = execution(&history);
        for model in [Model::Cc, Model::Ccv, Model::Cm, Model::Ccm, Model::Wccm, Model::Ra] {
            let decision = decide(model, &execution, Strategy::Auto, true);
            let expected = if is_stale { Verdict::Violation } else { Verdict::Consistent };
            assert_eq!(decision.verdict, expected, "seed {seed}, {model}");
            prove(model, &history, &decision, &format_args!("seed {seed}"));
            let again = Strategy::from_name(decision.strategy).expect("a strategy");
            assert_eq!(decide(model, &execution, again, true), decision, "seed {seed}, {model}");
        }
    }
}

/// A tactic that decides another model has the verdict of the model, or none.
#[test]
fn other_models_agree_with_the_oracle() {
    let mut decided = std::collections::BTreeMap::new();
    for (case, generated) in small::executions(22).take(cases(3_000) as usize).enumerate() {
        let history = to_history(&generated);
        let execution = execution(&history);
        for model in Model::ALL.into_iter().filter(|&model| fits(model, &execution).is_ok()) {
            let known = oracle::Model::from_name(model.name()).expect("the oracle knows every model");
            for &tactic in tactics(model).iter().filter(|tactic| tactic.other().is_some()) {
                for witness in [false, true] {
                    let decision = decide(model, &execution, Strategy::Only(tactic), witness);
                    if decision.verdict == Verdict::Unknown || decision.strategy == "reads-from" {
                        continue;
                    }
                    let allowed = oracle::allowed(known, &generated);
                    assert_eq!(decision.verdict == Verdict::Consistent, allowed, "case {case}, {model}, {tactic}");
                    *decided.entry((tactic, decision.verdict.name())).or_insert(0) += 1;
                    if witness {
                        prove(model, &history, &decision, &format_args!("case {case}"));
                    }
                }
            }
        }
    }
    for tactic in [Model::Sc, Model::Wsc, Model::Tso, Model::Wtso, Model::Ccm].map(Tactic::Model) {
        assert!(decided.contains_key(&(tactic, "consistent")), "{tactic}: {decided:?}");
    }
    for tactic in [Model::Ccv, Model::Sra].map(Tactic::Model) {
        assert!(decided.contains_key(&(tactic, "violation")), "{tactic}: {decided:?}");
    }
}

/// More locations than a small execution has.
const SMALL_LOCATIONS: u32 = 16;

/// Executions side by side, with threads of their own. So many locations are added to those of each but the first.
fn side_by_side(parts: &[Execution], more: u32) -> Execution {
    let mut builder = ExecutionBuilder::new();
    let mut places: Vec<Vec<usize>> = parts.iter().map(|part| vec![0; part.len()]).collect();
    let (mut threads, mut locations) = (0, 0);
    for (part, places) in parts.iter().zip(&mut places) {
        for id in part.ids() {
            let event = part.event(id);
            // Fences have no location.
            let location = locations + event.location.0.min(SMALL_LOCATIONS);
            places[id.index()] = builder.push_ordered(threads + part.thread(id).0, event.kind, location, event.order);
        }
        threads += part.thread_count() as u32;
        locations += more;
    }
    for (part, places) in parts.iter().zip(&places) {
        for id in part.ids().filter(|&id| part.event(id).kind.reads()) {
            let source = part.event(id).source;
            builder.read_from(places[id.index()], source.is_event().then(|| places[source.index()]));
        }
    }
    builder.build()
}

/// A model allows an execution exactly if it allows each of its components.
#[test]
fn components_are_decided_by_themselves() {
    let mut verdicts = [0, 0];
    let mut generated = small::executions(23).filter(|execution| execution.thin_air().is_empty());
    for case in 0..cases(300) {
        let parts: Vec<Execution> = generated.by_ref().take(2 + case as usize % 3).collect();
        let history = to_history(&side_by_side(&parts, SMALL_LOCATIONS));
        let execution = execution(&history);
        for model in Model::ALL.into_iter().filter(|model| tactics(*model).contains(&Tactic::Components)) {
            if fits(model, &execution).is_err() {
                continue;
            }
            let known = oracle::Model::from_name(model.name()).expect("the oracle knows every model");
            let allowed = parts.iter().all(|part| oracle::allowed(known, part));
            for witness in [false, true] {
                let decision = decide(model, &execution, Strategy::Only(Tactic::Components), witness);
                assert_eq!(decision.strategy, "components", "case {case}, {model}");
                assert_eq!(decision.verdict == Verdict::Consistent, allowed, "case {case}, {model}");
                if witness {
                    prove(model, &history, &decision, &format_args!("case {case}"));
                }
            }
            verdicts[usize::from(allowed)] += 1;
        }
    }
    assert!(verdicts.iter().all(|&count| count > cases(300) / 5), "{verdicts:?}");
}

/// Components may share locations. If they read the initial values of these, they may have to be in a certain order, or
/// they are no components.
#[test]
fn components_that_share_locations_agree_with_the_oracle() {
    let mut verdicts = [0, 0];
    for case in 0..cases(300) {
        let shape = small::Shape {
            threads: 2,
            events: 3 + case as u32 % 2,
            locations: 1 + case as u32 % 2,
            writes: [40, 50, 60][case as usize % 3],
            rmws: [0, 15][case as usize / 3 % 2],
            fences: 0,
            orders: false,
            perturb: case as u32 % 2,
        };
        let parts: Vec<Execution> = (0..2 + case % 2).map(|part| small::execution(&shape, 10 * case + part)).collect();
        let generated = side_by_side(&parts, 0);
        let history = to_history(&generated);
        let execution = execution(&history);
        if !execution.thin_air().is_empty() {
            continue;
        }
        for model in Model::ALL.into_iter().filter(|model| tactics(*model).contains(&Tactic::Components)) {
            let decision = decide(model, &execution, Strategy::Only(Tactic::Components), true);
            if decision.verdict == Verdict::Unknown {
                continue;
            }
            let known = oracle::Model::from_name(model.name()).expect("the oracle knows every model");
            let allowed = oracle::allowed(known, &generated);
            assert_eq!(decision.verdict == Verdict::Consistent, allowed, "case {case}, {model}");
            prove(model, &history, &decision, &format_args!("case {case}"));
            verdicts[usize::from(allowed)] += 1;
        }
    }
    assert!(verdicts.iter().all(|&count| count > cases(300) / 5), "{verdicts:?}");
}

/// Hard shapes side by side: the last of them is a violation, which only a search can find.
#[test]
fn hard_components_take_turns() {
    for shape in [HardShape::OneGuess, HardShape::LongConflict, HardShape::TwoGuesses] {
        for violating in [false, true] {
            let history = hard::history(&hard::HardConfig { shape, copies: 20, side_by_side: true, violating });
            let decision = decide(Model::Sc, &execution(&history), Strategy::Auto, true);
            let expected = if violating { Verdict::Violation } else { Verdict::Consistent };
            assert_eq!((decision.verdict, decision.strategy), (expected, "components"), "{shape:?}");
            prove(Model::Sc, &history, &decision, &format_args!("{shape:?}"));
        }
    }
}
