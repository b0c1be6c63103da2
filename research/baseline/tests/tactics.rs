//! Every tactic of every model is right, and the strategy that a decision names reaches the same decision again.

use std::collections::BTreeSet;

use baseline::Strategy;
use baseline::strategy::WAYS;
use history::{Execution, History};
use memory::{ExecutionChecker, MemoryOptions, Tactic, fits, tactics};
use model::{Certificate, Decided, Model, Verdict};
use verify::verify;
use workload::hard::{self, HardShape};
use workload::{cases, memory as atomic, rings, small, to_history};

const AUTO: Strategy = Strategy::Product(memory::Strategy::Auto);

fn execution(history: &History) -> Execution {
    Execution::from_history(history).expect("generated histories are executions")
}

/// The memory models that apply to an execution.
fn models(execution: &Execution) -> impl Iterator<Item = Model> {
    Model::ALL.into_iter().filter(|&model| fits(model, execution).is_ok())
}

fn options(witness: bool) -> MemoryOptions {
    MemoryOptions { witness, ..MemoryOptions::default() }
}

fn decide(execution: &Execution, model: Model, strategy: Strategy, witness: bool) -> Decided {
    strategy.check(model, execution, &options(witness))
}

fn verified(history: &History, model: Model, decision: &Decided, what: &str) {
    let certificate = Certificate::new(0, history, model, decision).expect("every verdict has a certificate");
    assert_eq!(verify(&certificate, history), Ok(()), "{what}: {model} by {}\n{certificate:#?}", decision.strategy);
}

/// Checks that the strategy which a decision names reaches the same decision, with the same name.
fn again(history: &History, execution: &Execution, model: Model, decision: &Decided, witness: bool, what: &str) {
    let name = decision.strategy;
    let strategy = Strategy::from_name(name).unwrap_or_else(|| panic!("{what}: {model}: {name} is no strategy"));
    assert!(strategy.speaks_of(model), "{what}: {name} is not for {model}");
    let same = decide(execution, model, strategy, witness);
    assert_eq!((same.verdict, same.strategy), (decision.verdict, name), "{what}: {model}: {:?}", same.reason);
    if witness || decision.verdict == Verdict::Violation {
        verified(history, model, decision, what);
        verified(history, model, &same, what);
    }
}

/// Decides all models in all ways in which a user may ask, and decides each again by the strategy that the decision
/// names. Returns these strategies.
fn all_again(history: &History, what: &str) -> BTreeSet<&'static str> {
    let execution = execution(history);
    let mut seen = BTreeSet::new();
    for witness in [false, true] {
        for asks_recorded in [false, true] {
            let mut checker = ExecutionChecker::new(&execution, &options(witness));
            if asks_recorded {
                checker.ask_recorded();
            }
            // Each model is decided once alone, and once when `sc` is known.
            let known: Vec<(Model, Decided)> =
                [Model::Sc].into_iter().chain(models(&execution)).map(|model| (model, checker.check(model))).collect();
            let alone = models(&execution).map(|model| {
                let mut checker = ExecutionChecker::new(&execution, &options(witness));
                if asks_recorded {
                    checker.ask_recorded();
                }
                (model, checker.check(model))
            });
            for (model, decision) in known.into_iter().chain(alone) {
                assert_ne!(decision.verdict, Verdict::Unknown, "{what}: {model}");
                again(history, &execution, model, &decision, witness, what);
                seen.insert(decision.strategy);
            }
        }
    }
    seen
}

/// The same for a history that is long enough for windows, and the models that ask for them. A run of the pso machine
/// is stuck early where many threads share few locations.
fn long_again(machine: atomic::MemoryMachine, threads: u32, locations: u32, perturb: u32) -> BTreeSet<&'static str> {
    let default = atomic::MemoryConfig::default();
    let config = atomic::MemoryConfig { machine, threads, operations: 33_000, locations, perturb, seed: 1, ..default };
    let history = atomic::history(&config, atomic::thread_by_thread(&config));
    let execution = execution(&history);
    let mut seen = BTreeSet::new();
    for model in Model::ALL.into_iter().filter(|model| tactics(*model).contains(&Tactic::Windows)) {
        let decision = decide(&execution, model, AUTO, false);
        assert_ne!(decision.verdict, Verdict::Unknown, "{model}");
        again(&history, &execution, model, &decision, false, "a long history");
        seen.insert(decision.strategy);
    }
    seen
}

#[test]
fn the_strategy_of_a_decision_decides_the_same_again() {
    let mut seen = BTreeSet::new();
    for entry in oracle::corpus::corpus() {
        seen.extend(all_again(&entry.history, &entry.name));
    }
    for violating in [false, true] {
        let config = hard::HardConfig { shape: HardShape::TwoGuesses, copies: 2, side_by_side: false, violating };
        seen.extend(all_again(&hard::history(&config), "a hard shape"));
        let rings = rings::steps(2, &[rings::crossed(violating)], false);
        seen.extend(all_again(&to_history(&rings::execution(&rings)), "rings"));
    }
    for perturb in [0, 1] {
        seen.extend(long_again(atomic::MemoryMachine::Sc, 4, 20, perturb));
        seen.extend(long_again(atomic::MemoryMachine::Pso, 64, 8, perturb));
    }
    // All tactics of the rows were seen, except those that are the last resort when memory is short, or when a search
    // takes long, and those for larger executions: the test `portfolio` of `memory` has these.
    let turns: BTreeSet<&str> =
        Model::ALL.iter().flat_map(|&model| tactics(model)).map(|tactic| tactic.name()).collect();
    let never: Vec<&&str> = turns.difference(&seen).collect();
    let elsewhere = ["ccm", "ccv", "components", "sra", "tso", "wsc"];
    assert!(never.iter().all(|name| elsewhere.contains(name)), "{never:?}");
}

/// Every tactic alone agrees with the oracle, or does not decide. Its decisions are proved.
#[test]
fn what_a_tactic_says_is_right() {
    let mut decided = BTreeSet::new();
    let c11 = small::c11_executions(5, 3).take(cases(300) as usize);
    for (case, generated) in small::executions(21).take(cases(300) as usize).chain(c11).enumerate() {
        let history = to_history(&generated);
        let execution = execution(&history);
        for model in models(&execution) {
            let known = oracle::Model::from_name(model.name()).expect("the oracle knows every model");
            let right = if oracle::allowed(known, &execution) { Verdict::Consistent } else { Verdict::Violation };
            for strategy in Strategy::all().filter(|strategy| strategy.speaks_of(model)) {
                let what = format!("case {case}, {}", strategy.name());
                let decision = decide(&execution, model, strategy, true);
                if decision.verdict == Verdict::Unknown {
                    assert!(decision.strategy == strategy.name() && decision.reason.is_some(), "{what}: {model}");
                    continue;
                }
                assert_eq!(decision.verdict, right, "{what}: {model}");
                again(&history, &execution, model, &decision, true, &what);
                decided.insert((model, strategy.name(), right.name()));
            }
        }
    }
    // What always decides has reached both verdicts.
    for model in Model::ALL {
        for verdict in [Verdict::Consistent, Verdict::Violation] {
            let ways = WAYS.iter().filter(|way| way.models.contains(&model)).map(|way| way.name);
            for name in ways.chain(["auto"]) {
                assert!(decided.contains(&(model, name, verdict.name())), "{model}: {name}");
            }
        }
    }
}

/// A tactic that does not decide says when it would.
#[test]
fn a_tactic_that_says_nothing_tells_when_it_decides() {
    // Store buffering.
    let history = format::parse("[0] w x 1\n[0] r y 0\n[1] w y 1\n[1] r x 0\n").expect("a history");
    let execution = execution(&history);
    let decision = decide(&execution, Model::Sc, Strategy::from_name("recorded").expect("a tactic"), false);
    assert_eq!((decision.verdict, decision.strategy), (Verdict::Unknown, "recorded"));
    let reason = decision.reason.expect("a reason");
    assert!(reason.contains("It decides when that order explains all reads"), "{reason}");
}

/// A model that the strategy does not speak of is decided as usual.
#[test]
fn a_strategy_is_for_its_models_only() {
    for entry in oracle::corpus::corpus() {
        let execution = execution(&entry.history);
        for strategy in Strategy::all() {
            for model in models(&execution).filter(|&model| !strategy.speaks_of(model)) {
                let usual = decide(&execution, model, AUTO, true);
                let found = decide(&execution, model, strategy, true);
                assert_eq!(found, usual, "{}: {model}, {}", entry.name, strategy.name());
            }
        }
    }
}

/// When the time is over, no tactic begins. But a read from thin air is still found.
#[test]
fn no_time_is_no_verdict() {
    let options = MemoryOptions {
        witness: false,
        budget: memory::Budget::default().timeout(std::time::Duration::ZERO),
        ..Default::default()
    };
    let history = format::parse("[0] w x 1\n[1] r x 1\n").expect("a history");
    for model in Model::ALL {
        let decision = memory::check(model, &execution(&history), &options);
        assert_eq!((decision.verdict, decision.strategy), (Verdict::Unknown, "auto"), "{model}");
        assert_eq!(decision.reason.as_deref(), Some("the time limit was reached"), "{model}");
    }
    let history = format::parse("[0] w x 1\n[1] r x 2\n").expect("a history");
    for model in Model::ALL {
        let decision = memory::check(model, &execution(&history), &options);
        assert_eq!((decision.verdict, decision.strategy), (Verdict::Violation, "reads-from"), "{model}");
    }
}
