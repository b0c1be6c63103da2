//! `sc`, `tso` and `pso` by windows, search and SAT: against the oracle, and on the shapes that saturation does not
//! decide. The crate `baseline`, which has the slow strategies, compares the strategies with each other.

#[path = "common/decide.rs"]
mod decide;

use certificate::{Certificate, Decision, Evidence, Model, Tactic, Verdict, verify};
use decide::decide;
use history::execution::Kind;
use history::{Execution, ExecutionBuilder, History};
use memory::causal::{Causality, ccm};
use memory::sc::kernel::{Kernel, NoKernel, Order, Pair, kernel, visit};
use memory::store::choices::Choices;
use memory::store::frame::{Frame, Relaxation};
use memory::store::saturate::Saturated;
use memory::store::search::{Outcome, Search};
use memory::store::windows::{self, Answer};
use memory::{Checker, Interrupt, Limits, Options, Strategy, check};
use workload::hard::{self, Figure};
use workload::memory::Machine;
use workload::{cases, memory as atomic, small, to_history};

fn execution(history: &History) -> Execution {
    Execution::from_history(history).expect("generated histories are executions")
}

/// Without hints, the search must make decisions, learn lemmas and go back.
#[test]
fn the_search_decides_without_hints() {
    let mut decisions = 0;
    for seed in 0..cases(150) {
        let config = atomic::Config {
            threads: 4 + seed as u32 % 9,
            operations: 400,
            locations: 2 + seed as u32 % 5,
            perturb: seed as u32 % 2,
            seed,
            ..atomic::Config::default()
        };
        let execution = atomic::execution(&config);
        let expected = check(Model::Sc, &execution, &Options::default()).verdict;
        let frame = Frame::sequential(&execution);
        let Ok(saturated) = Saturated::new(&frame, Interrupt::never()) else {
            assert_eq!(expected, Verdict::Violation, "seed {seed}");
            continue;
        };
        let mut search = Search::new(&frame, saturated).without_hints();
        let found = matches!(search.run(Interrupt::never()), Ok(Outcome::Found(_)));
        assert_eq!(found, expected == Verdict::Consistent, "seed {seed}");
        decisions += search.effort.decisions;
    }
    assert!(decisions > 0, "nothing had to be decided");
}

/// The models of which an interleaving is evidence.
const WEAKER: [Model; 5] = [Model::Wsc, Model::Ccm, Model::Wccm, Model::Wtso, Model::Wpso];

/// The models that windows decide, what they relax, and the models that a violation refutes.
const IN_WINDOWS: [(Model, oracle::Model, Relaxation, Model); 3] = [
    (Model::Sc, oracle::Model::Sc, Relaxation::Nothing, Model::Wsc),
    (Model::Tso, oracle::Model::Tso, Relaxation::WriteRead, Model::Wtso),
    (Model::Pso, oracle::Model::Pso, Relaxation::WriteAny, Model::Wpso),
];

/// How many guesses a run makes without progress before windows help it. Without any guess there is no run.
const GUESSES: [u32; 3] = [0, 1, 32];

/// Whether a model holds, by windows of some size, or `None` if they do not decide. The certificates of the model, and
/// of the other models that the answer decides, are verified.
fn by_windows(
    history: &History,
    execution: &Execution,
    relaxation: Relaxation,
    size: usize,
    guesses: u32,
) -> Option<bool> {
    let answer = |deadlocks| {
        let limits = Limits { deadlocks, guesses, ..Limits::default() };
        windows::decide(execution, relaxation, size, &limits).expect("there is no limit of time")
    };
    let weak = IN_WINDOWS.iter().find(|row| row.2 == relaxation).map(|row| [row.0, row.3]).expect("a row");
    let (verdict, evidence, models) = match answer(u64::MAX) {
        Answer::Found(line, relaxed) => {
            assert!(relaxed <= relaxation);
            let line = line.into_iter().map(|event| execution.operations()[event as usize]).collect();
            match relaxed {
                Relaxation::Nothing if relaxation == relaxed => {
                    let models = [&WEAKER[..], &[Model::Sc]].concat();
                    (Verdict::Consistent, Evidence::Interleaving(line), models)
                }
                _ => (Verdict::Consistent, Evidence::MemoryOrder(line), weak.to_vec()),
            }
        }
        Answer::Refuted(cycle) => (Verdict::Violation, Evidence::Cycle(cycle), weak.to_vec()),
        Answer::Nothing => return None,
    };
    let decision = Decision { verdict, strategy: "windows", reason: None, evidence: Some(evidence) };
    for model in models {
        let certificate = Certificate::new(0, history, model, &decision).expect("every verdict has a certificate");
        if let Err(refusal) = verify(&certificate, history) {
            panic!("{model}, windows of {size}: {refusal}\n{certificate:#?}");
        }
    }
    // Without a search, windows have the same answer or none.
    match answer(0) {
        Answer::Found(..) => assert_eq!(verdict, Verdict::Consistent),
        Answer::Refuted(_) => assert_eq!(verdict, Verdict::Violation),
        Answer::Nothing => {}
    }
    Some(verdict == Verdict::Consistent)
}

/// The windows are so small that the events that were taken are often in a wrong order, or that no window shows the
/// violation.
#[test]
fn windows_of_any_size_say_nothing_wrong() {
    let mut refuted = [0; 3];
    for (case, generated) in small::executions(9).take(cases(5_000) as usize).enumerate() {
        let history = to_history(&generated);
        let execution = execution(&history);
        if !execution.thin_air().is_empty() {
            continue;
        }
        for ((model, as_oracle, relaxation, _), refuted) in IN_WINDOWS.into_iter().zip(&mut refuted) {
            let allowed = oracle::allowed(as_oracle, &generated);
            for (size, guesses) in
                [1, 2, 3, 4, 6, 9].into_iter().flat_map(|size| GUESSES.map(|guesses| (size, guesses)))
            {
                let answer = by_windows(&history, &execution, relaxation, size, guesses);
                let is_right = answer == Some(allowed) || (!allowed && answer.is_none());
                assert!(is_right, "case {case}, {model}, windows of {size}, {guesses} guesses: {answer:?}");
                *refuted += u64::from(answer == Some(false));
            }
        }
    }
    assert!(refuted.iter().all(|&count| count > cases(5_000)), "{refuted:?} refuted");
    // Windows do not refute an execution that saturation does not refute.
    for violating in [false, true] {
        let history = hard::history(&hard::Config { figure: Figure::Five, copies: 4, side_by_side: false, violating });
        for (size, guesses) in [1, 10, 30, 60].into_iter().flat_map(|size| GUESSES.map(|guesses| (size, guesses))) {
            let answer = by_windows(&history, &execution(&history), Relaxation::Nothing, size, guesses);
            assert_eq!(answer, (!violating).then_some(true), "{size}, {guesses} guesses");
        }
    }
}

/// A history of some shape, with or without read-modify-writes. Every other one is perturbed. The order of the file is
/// thread by thread, so that it does not help.
fn larger_history(seed: u64, shape: atomic::Config) -> History {
    let config = atomic::Config { rmws: 10 * (seed as u32 % 3), perturb: seed as u32 % 2, seed, ..shape };
    atomic::history(&config, atomic::thread_by_thread(&config))
}

#[test]
fn windows_decide_larger_histories() {
    let mut verdicts = [[0, 0]; 3];
    for seed in 0..cases(60) {
        for (machine, at) in [(Machine::Sc, 0), (Machine::Tso, 1), (Machine::Pso, 2)] {
            let shape = atomic::Config {
                machine,
                threads: 2 + seed as u32 % 11,
                operations: 1_000,
                locations: 1 << (seed % 7),
                fences: seed as u32 % 3,
                ..atomic::Config::default()
            };
            let (model, _, relaxation, _) = IN_WINDOWS[at];
            let history = larger_history(seed, shape);
            let execution = execution(&history);
            let allowed = decide(model, &history, &execution, Strategy::Auto).0 == Verdict::Consistent;
            verdicts[at][usize::from(allowed)] += 1;
            for (size, guesses) in [1, 10, 50, 250].into_iter().flat_map(|size| GUESSES.map(|guesses| (size, guesses)))
            {
                let answer = by_windows(&history, &execution, relaxation, size, guesses);
                let is_right = answer == Some(allowed) || (!allowed && answer.is_none());
                assert!(is_right, "seed {seed}, {model}, windows of {size}, {guesses} guesses: {answer:?}");
            }
        }
    }
    assert!(verdicts.as_flattened().iter().all(|&count| count > cases(60) / 8), "{verdicts:?}");
}

/// If an execution is long enough for windows, the models that `sc` implies try windows first. The engines have the
/// same verdicts.
#[test]
fn long_executions_are_asked_for_an_interleaving_first() {
    let mut seen = [0, 0];
    for (seed, machine) in [Machine::Sc, Machine::Sc, Machine::Tso, Machine::Pso].into_iter().enumerate() {
        let shape =
            atomic::Config { threads: 5, operations: 40_000, locations: 20, machine, ..atomic::Config::default() };
        let history = larger_history(seed as u64, shape);
        let execution = execution(&history);
        assert!(windows::size(&execution, Relaxation::Nothing).is_some());
        let mut checker = Checker::new(&execution, &Options { witness: true, deadline: None });
        let causality = Causality::new(&execution, Interrupt::never());
        let engine = causality.and_then(|causality| ccm::check(&causality, &Limits::default())).is_ok();
        for model in WEAKER {
            let decision = checker.check(model);
            let is_consistent = decision.verdict == Verdict::Consistent;
            if model == Model::Ccm {
                assert_eq!(is_consistent, engine, "seed {seed}");
            }
            if machine == Machine::Sc && seed % 2 == 0 {
                assert_eq!((is_consistent, decision.strategy), (true, "windows"), "seed {seed}, {model}");
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
    let shape = atomic::Config { threads: 5, operations: 40_000, locations: 20, ..atomic::Config::default() };
    let execution = execution(&larger_history(0, shape));
    let mut checker = Checker::new(&execution, &Options::default());
    assert_eq!(checker.check(Model::Sc).verdict, Verdict::Consistent);
    for model in WEAKER {
        let decision = checker.check(model);
        assert_eq!((decision.verdict, decision.strategy), (Verdict::Consistent, "sc"), "{model}");
    }
}

fn hard_configs(copies: u32) -> impl Iterator<Item = hard::Config> {
    [Figure::Three, Figure::Four, Figure::Five].into_iter().flat_map(move |figure| {
        [(false, false), (false, true), (true, false), (true, true)].map(|(side_by_side, violating)| hard::Config {
            figure,
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
            let weak = check(Model::Wsc, &execution, &Options::default());
            assert_eq!(weak.verdict, Verdict::Consistent, "{config:?}: saturation decides it");
            let expected = if config.violating { Verdict::Violation } else { Verdict::Consistent };
            for strategy in [Strategy::Auto, Strategy::Only(Tactic::WscSat)] {
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
            let weak = check(weak, &execution, &Options::default());
            assert_eq!(weak.verdict, Verdict::Consistent, "{config:?}: saturation decides it");
            let expected = if config.violating { Verdict::Violation } else { Verdict::Consistent };
            for strategy in [Tactic::WtsoSat, Tactic::WpsoSat, Tactic::WccmSat]
                .map(Strategy::Only)
                .into_iter()
                .chain([Strategy::Auto])
            {
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
    let history =
        hard::history(&hard::Config { figure: Figure::Five, copies: 1, side_by_side: false, violating: true });
    let (_, evidence) = decide(Model::Sc, &history, &execution(&history), Strategy::Auto);
    let Evidence::Refutation(lemmas) = evidence else { panic!("the violation needs lemmas") };
    assert!(lemmas.len() > 1);
    let certificate = |lemmas| Certificate {
        history: 0,
        model: Model::Sc,
        verdict: Verdict::Violation,
        digest: certificate::digest(&history),
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

/// The kernel by its definition: the pairs that all store orders agree on, all of which are enumerated.
#[test]
fn the_kernel_is_what_all_store_orders_share() {
    for config in hard_configs(1) {
        let execution = execution(&hard::history(&config));
        let found = kernel(&execution, Interrupt::never());
        if config.violating {
            assert_eq!(found, Err(NoKernel::Violation));
            continue;
        }
        let Ok(Kernel { pairs, st, pww, kernel, .. }) = found else { panic!("{config:?}: {found:?}") };
        assert!(pww <= st && st < kernel && kernel <= pairs, "{config:?}: {found:?}");
    }
    let mut compared = 0;
    for seed in 0..cases(200) {
        let config = atomic::Config { threads: 4, operations: 40, locations: 3, seed, ..atomic::Config::default() };
        let execution = atomic::execution(&config);
        let found = kernel(&execution, Interrupt::never()).expect("an atomic memory is sequentially consistent");
        assert!(found.ccv <= found.pww && found.pww <= found.st, "seed {seed}: {found:?}");
        let frame = Frame::sequential(&execution);
        let mut pairs = Vec::new();
        assert_eq!(visit(&execution, Interrupt::never(), |pair| pairs.push(pair)), Ok(found));
        assert_eq!(pairs.len() as u64, found.pairs);
        // Each order is part of the next: what ccv orders, ccm does, and so on.
        let causality = Causality::new(&execution, Interrupt::never()).expect("an atomic memory is causal");
        let convergent = ccm::PartialStoreOrder::new(&causality, &Limits::default()).expect("it is");
        let saturated = Saturated::new(&frame, Interrupt::never()).expect("it is");
        for &Pair { first, second, weakest } in &pairs {
            let (pww, st) = (convergent.before(first, second), saturated.order.before(first.0, second.0));
            assert_eq!(weakest.is_some_and(|it| it <= Order::Pww), pww, "seed {seed}");
            assert_eq!(weakest.is_some_and(|it| it <= Order::St), st, "seed {seed}");
        }
        let choices = Choices::all(&frame).expect("there are few pairs");
        if choices.pairs.len() > 14 {
            continue;
        }
        compared += 1;
        // One bit for each pair and direction: whether some store order has it.
        let (mut forth, mut back) = (0u32, 0u32);
        for chosen in 0..1u32 << choices.pairs.len() {
            if choices.graph(|pair| Some(chosen >> pair & 1 == 1)).topological_order().is_some() {
                forth |= chosen;
                back |= !chosen;
            }
        }
        let open = forth & back & ((1 << choices.pairs.len()) - 1);
        assert_eq!(found.kernel, found.pairs - u64::from(open.count_ones()), "seed {seed}: {found:?}");
        for (at, &(a, b)) in choices.pairs.iter().enumerate() {
            let is_pair = |it: &&Pair| [(a, b), (b, a)].contains(&(it.first.0, it.second.0));
            let pair = pairs.iter().find(is_pair).expect("all pairs are visited");
            assert_eq!(pair.is_in(Order::Kernel), open >> at & 1 == 0, "seed {seed}: {pair:?}");
            // The first of a pair in the kernel is first in every store order.
            assert!(pair.weakest.is_none() || (forth >> at & 1 == 1) == (pair.first.0 == a), "seed {seed}: {pair:?}");
        }
    }
    assert!(compared > 0, "no execution was small enough");
}
