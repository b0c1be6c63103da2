//! `sc`, `tso` and `pso` by runs and search: against the oracle, and on the shapes that saturation does not decide. The
//! crate `baseline`, which has the papers' strategies, compares the strategies with each other.

#[path = "common/decide.rs"]
mod decide;

use decide::decide;
use history::execution::Kind;
use history::{Execution, ExecutionBuilder, History};
use memory::{ExecutionChecker, MemoryOptions, Strategy, Tactic, check};
use model::{Certificate, Decided, Evidence, Model, Verdict};
use verify::verify;
use workload::hard::{self, HardShape};
use workload::memory::MemoryMachine;
use workload::{cases, memory as atomic, small, to_history};

fn execution(history: &History) -> Execution {
    Execution::from_history(history).expect("generated histories are executions")
}

/// The models of which an interleaving is evidence.
const WEAKER: [Model; 5] = [Model::Wsc, Model::Ccm, Model::Wccm, Model::Wtso, Model::Wpso];

/// How many guesses a run makes without progress. Without any guess there is no run.
const GUESSES: [u32; 3] = [0, 1, 32];

/// Verifies the certificate of a decision.
fn assert_proved(history: &History, model: Model, decision: &Decided, what: &str) {
    let certificate = Certificate::new(0, history, model, decision).expect("every verdict has a certificate");
    if let Err(refusal) = verify(&certificate, history) {
        panic!("{what}, {model}: {refusal}\n{certificate:#?}");
    }
}

/// A run that is stuck after no, few or many guesses leads to the right verdict, and to a proof of it.
#[test]
fn runs_of_any_patience_lead_to_the_same_verdict() {
    let models = [
        (Model::Sc, oracle::Model::Sc),
        (Model::Tso, oracle::Model::Tso),
        (Model::Pso, oracle::Model::Pso),
        (Model::Sra, oracle::Model::Sra),
    ];
    let mut by = [[0; 2]; 2];
    for (case, generated) in small::executions(4).take(cases(1_500) as usize).enumerate() {
        let history = to_history(&generated);
        let execution = execution(&history);
        if !execution.thin_air().is_empty() {
            continue;
        }
        for (model, as_oracle) in models {
            let allowed = oracle::allowed(as_oracle, &generated);
            for guesses in GUESSES {
                let mut options = MemoryOptions { witness: true, ..MemoryOptions::default() };
                options.knobs.store.guesses = guesses;
                options.knobs.store.events_per_guess = 1;
                options.knobs.store.least_beginning = 0;
                options.knobs.store.beginning_part = usize::MAX;
                options.knobs.store.given_back = 1 + case % 3;
                options.knobs.store.events_per_step = 1;
                let decision = check(model, &execution, &options);
                let is_consistent = decision.verdict == Verdict::Consistent;
                assert_eq!(is_consistent, allowed, "case {case}, {model}, {guesses} guesses");
                assert_proved(&history, model, &decision, &format!("case {case}, {guesses} guesses"));
                by[usize::from(is_consistent)][usize::from(guesses == 0)] += u64::from(decision.strategy == "run");
            }
        }
    }
    assert!(by.iter().all(|by| by[0] > cases(100) && by[1] == 0), "{by:?}");
}

/// A history of some shape, with or without read-modify-writes. Every other one is perturbed. The order of the file is
/// thread by thread, so that it does not help.
fn larger_history(seed: u64, shape: atomic::MemoryConfig) -> History {
    let config = atomic::MemoryConfig { rmws: 10 * (seed as u32 % 3), perturb: seed as u32 % 2, seed, ..shape };
    atomic::history(&config, atomic::thread_by_thread(&config))
}

/// The models that `sc` implies try a run first, where an interleaving is evidence. The engines have the same verdicts.
#[test]
fn long_executions_are_asked_for_an_interleaving_first() {
    let mut seen = [0, 0];
    for (seed, machine) in
        [MemoryMachine::Sc, MemoryMachine::Sc, MemoryMachine::Tso, MemoryMachine::Pso].into_iter().enumerate()
    {
        let shape = atomic::MemoryConfig {
            threads: 5,
            operations: 40_000,
            locations: 20,
            machine,
            ..atomic::MemoryConfig::default()
        };
        let history = larger_history(seed as u64, shape);
        let execution = execution(&history);
        let mut checker =
            ExecutionChecker::new(&execution, &MemoryOptions { witness: true, ..MemoryOptions::default() });
        let engine = decide(Model::Ccm, &history, &execution, Strategy::Only(Tactic::Views)).0;
        for model in WEAKER {
            let decision = checker.check(model);
            let is_consistent = decision.verdict == Verdict::Consistent;
            if model == Model::Ccm {
                assert_eq!(decision.verdict, engine, "seed {seed}");
            }
            if machine == MemoryMachine::Sc && seed % 2 == 0 {
                assert_eq!((is_consistent, decision.strategy), (true, "run"), "seed {seed}, {model}");
            }
            seen[usize::from(is_consistent)] += 1;
            let certificate = Certificate::new(0, &history, model, &decision).expect("every verdict has a certificate");
            assert_eq!(verify(&certificate, &history), Ok(()), "seed {seed}, {model}");
        }
    }
    assert!(seen.iter().all(|&seen| seen > 2), "{seen:?}");
}

/// Once `sc` is known to hold, no other model looks for an interleaving again.
#[test]
fn what_sequential_consistency_implies_is_not_asked_again() {
    let shape =
        atomic::MemoryConfig { threads: 5, operations: 40_000, locations: 20, ..atomic::MemoryConfig::default() };
    let execution = execution(&larger_history(0, shape));
    let mut checker = ExecutionChecker::new(&execution, &MemoryOptions::default());
    assert_eq!(checker.check(Model::Sc).verdict, Verdict::Consistent);
    for model in WEAKER {
        let decision = checker.check(model);
        assert_eq!((decision.verdict, decision.strategy), (Verdict::Consistent, "sc"), "{model}");
    }
}

fn hard_configs(copies: u32) -> impl Iterator<Item = hard::HardConfig> {
    [HardShape::OneGuess, HardShape::LongConflict, HardShape::TwoGuesses].into_iter().flat_map(move |shape| {
        [(false, false), (false, true), (true, false), (true, true)].map(|(side_by_side, violating)| hard::HardConfig {
            shape,
            copies,
            side_by_side,
            violating,
        })
    })
}

#[test]
fn what_saturation_leaves_open_is_decided_and_proved() {
    for copies in [1, 2, 7] {
        for config in hard_configs(copies) {
            let history = hard::history(&config);
            let execution = execution(&history);
            let weak = check(Model::Wsc, &execution, &MemoryOptions::default());
            assert_eq!(weak.verdict, Verdict::Consistent, "{config:?}: saturation decides it");
            let expected = if config.violating { Verdict::Violation } else { Verdict::Consistent };
            for strategy in [Strategy::Auto, Strategy::Only(Tactic::Search)] {
                let (verdict, evidence) = decide(Model::Sc, &history, &execution, strategy);
                assert_eq!(verdict, expected, "{config:?}, {}", strategy.name());
                assert_eq!(matches!(evidence, Evidence::Refutation(_)), config.violating, "{config:?}");
            }
        }
    }
}

/// With a fence after every operation, a store buffer is always empty. So `tso` and `pso` are the same as `sc`, also on
/// the hard shapes.
#[test]
fn fences_make_store_buffers_sequential() {
    for config in hard_configs(2) {
        let bare = execution(&hard::history(&config));
        let mut builder = ExecutionBuilder::new();
        let places: Vec<usize> = bare
            .ids()
            .map(|id| {
                let event = bare.event(id);
                let place = builder.push(bare.thread(id).0, event.kind, event.location.0);
                builder.push(bare.thread(id).0, Kind::Fence, 0);
                place
            })
            .collect();
        for id in bare.ids().filter(|&id| bare.event(id).source.is_event()) {
            builder.read_from(places[id.index()], Some(places[bare.event(id).source.index()]));
        }
        let history = to_history(&builder.build());
        let execution = execution(&history);
        for (model, weak) in [(Model::Tso, Model::Wtso), (Model::Pso, Model::Wpso)] {
            let weak = check(weak, &execution, &MemoryOptions::default());
            assert_eq!(weak.verdict, Verdict::Consistent, "{config:?}: saturation decides it");
            let expected = if config.violating { Verdict::Violation } else { Verdict::Consistent };
            for strategy in [Strategy::Auto, Strategy::Only(Tactic::Search)] {
                let (verdict, evidence) = decide(model, &history, &execution, strategy);
                assert_eq!(verdict, expected, "{config:?}, {model}, {}", strategy.name());
                assert_eq!(matches!(evidence, Evidence::Refutation(_)), config.violating, "{config:?}");
            }
        }
    }
}

#[test]
fn hard_histories_of_two_hundred_copies_are_decided() {
    for config in hard_configs(200) {
        let history = hard::history(&config);
        let execution = execution(&history);
        let expected = if config.violating { Verdict::Violation } else { Verdict::Consistent };
        assert_eq!(decide(Model::Sc, &history, &execution, Strategy::Auto).0, expected, "{config:?}");
    }
}

/// A refutation is refused as soon as anything in it is missing.
#[test]
fn the_verifier_refuses_damaged_refutations() {
    let history = hard::history(&hard::HardConfig {
        shape: HardShape::TwoGuesses,
        copies: 1,
        side_by_side: false,
        violating: true,
    });
    let (_, evidence) = decide(Model::Sc, &history, &execution(&history), Strategy::Auto);
    let Evidence::Refutation(lemmas) = evidence else { panic!("the violation needs lemmas") };
    assert!(lemmas.len() > 1);
    let certificate = |lemmas| Certificate {
        history: 0,
        model: Model::Sc,
        verdict: Verdict::Violation,
        digest: model::digest(&history),
        evidence: Evidence::Refutation(lemmas),
    };
    assert!(verify(&certificate(lemmas.clone()), &history).is_ok());
    assert!(verify(&certificate(Vec::new()), &history).is_err());
    for at in 0..lemmas.len() {
        let mut damaged = lemmas.clone();
        damaged.remove(at);
        assert!(verify(&certificate(damaged), &history).is_err(), "without lemma {at}");
        for step in 0..lemmas[at].steps.len() {
            let mut damaged = lemmas.clone();
            damaged[at].steps.remove(step);
            assert!(verify(&certificate(damaged), &history).is_err(), "lemma {at} without step {step}");
            let mut damaged = lemmas.clone();
            damaged[at].steps[step].path.pop();
            if lemmas[at].steps[step].path.is_empty() {
                continue;
            }
            assert!(verify(&certificate(damaged), &history).is_err(), "lemma {at}, step {step} with a shorter path");
        }
    }
}
