//! Histories in which a value was written twice: the search for sources against the oracle, and every certificate
//! against the verifier.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use history::{Execution, History, OpenExecution, ViewError};
use memory::{MemoryOptions, Strategy, sources};
use model::{Certificate, Evidence, Model, Verdict};
use verify::verify;
use workload::cases;
use workload::random::SplitMix64;
use workload::small;

/// The certificates of all models that apply to a history with open sources. Each is verified, and read back from JSON.
fn certificates(history: &History, what: &dyn std::fmt::Display) -> Vec<Certificate> {
    certificates_by(Strategy::Auto, history, what)
}

/// The same, with the sources that are chosen judged by this strategy. It may leave a model undecided.
fn certificates_by(strategy: Strategy, history: &History, what: &dyn std::fmt::Display) -> Vec<Certificate> {
    let open = OpenExecution::from_history(history).expect("the history is of a memory");
    let mut checker = sources::OpenChecker::new(&open, &MemoryOptions { witness: true, ..MemoryOptions::default() });
    let mut bare = sources::OpenChecker::new(&open, &MemoryOptions::default());
    checker.set_strategy(strategy);
    bare.set_strategy(strategy);
    let is_asked = |model: &Model| checker.fits(*model).is_ok() && strategy.speaks_of(*model);
    let models = Model::ALL.into_iter().filter(is_asked).collect::<Vec<_>>();
    let certificate = |model| {
        let decision = checker.check(model);
        // A tactic alone may decide only where no witness is wanted.
        assert!(bare.check(model).verdict == decision.verdict || strategy != Strategy::Auto, "{what}: {model}");
        if decision.verdict == Verdict::Unknown {
            assert_ne!(strategy, Strategy::Auto, "{what}: {model}: {:?}", decision.reason);
            return None;
        }
        let certificate = Certificate::new(0, history, model, &decision).expect("every verdict has a certificate");
        let json = certificate.to_json(history);
        if let Err(refusal) = verify(&certificate, history) {
            let by = strategy.name();
            panic!("{what}: {model} by {by}: refused: {refusal}\n{json}\n{}", show(history));
        }
        assert_eq!(Certificate::from_json(&json, history).expect("it was just written"), certificate);
        Some(certificate)
    };
    models.into_iter().filter_map(certificate).collect()
}

fn show(history: &History) -> String {
    let mut writer = format::Writer::new(Vec::new(), format::Format::Text);
    writer.write(history).expect("text can say everything");
    String::from_utf8(writer.finish().expect("memory is no disk")).expect("text")
}

fn is_ambiguous(history: &History) -> bool {
    matches!(Execution::from_history(history), Err(ViewError::Ambiguous { .. }))
}

#[test]
fn the_corpus_of_open_sources() {
    for entry in oracle::corpus::open_corpus() {
        for certificate in certificates(&entry.history, &entry.name) {
            let expected = match entry.expected(certificate.model.name()) {
                Some("yes") => Verdict::Consistent,
                Some("no") => Verdict::Violation,
                other => panic!("{}: the corpus says {other:?}", entry.name),
            };
            assert_eq!(certificate.verdict, expected, "{}: {}", entry.name, certificate.model);
        }
    }
}

/// Counts of the verdicts, by model.
type Seen = BTreeMap<(Model, &'static str), u64>;

/// Compares all models with the oracle. Returns the certificates.
fn compare(history: &History, case: u64, seen: &mut Seen, cases_seen: &mut [u64; 2]) -> Vec<Certificate> {
    if !is_ambiguous(history) {
        return Vec::new();
    }
    let Some(executions) = oracle::sources::executions(history, 100) else { return Vec::new() };
    let certificates = certificates(history, &case);
    for certificate in &certificates {
        let model = certificate.model;
        let oracle_model = oracle::Model::from_name(model.name()).expect("the oracle knows every model");
        let allowed = executions.iter().any(|execution| oracle::allowed(oracle_model, execution));
        let verdict = if allowed { Verdict::Consistent } else { Verdict::Violation };
        assert_eq!(certificate.verdict, verdict, "case {case}, {model}:\n{}", show(history));
        *seen.entry((model, verdict.name())).or_insert(0) += 1;
        cases_seen[0] += u64::from(matches!(certificate.evidence, Evidence::Cases(_)));
        cases_seen[1] += u64::from(matches!(certificate.evidence, Evidence::Sources(..)));
    }
    certificates
}

#[test]
fn the_search_agrees_with_the_oracle_on_small_histories_with_few_values() {
    let mut random = SplitMix64::new(5);
    let (mut seen, mut kinds) = (Seen::new(), [0; 2]);
    let executions = small::executions(21).zip(small::c11_executions(22, 2)).flat_map(|(a, b)| [a, b]);
    for (case, execution) in (0..cases(3_000)).zip(executions) {
        let values = random.between(2, 4);
        let mut history = small::with_few_values(&execution, values, &mut random);
        if random.percent(20) {
            history = small::add_finals(history, &mut random);
        }
        compare(&history, case, &mut seen, &mut kinds);
    }
    for model in Model::ALL {
        for verdict in [Verdict::Consistent, Verdict::Violation] {
            let count = seen.get(&(model, verdict.name())).copied().unwrap_or(0);
            assert!(count >= cases(20), "only {count} histories with {model}: {}", verdict.name());
        }
    }
    assert!(kinds.iter().all(|&count| count >= cases(500)), "{kinds:?}");
}

/// An rmw whose source is known is the source of open reads: the evidence must not take it for a write.
#[test]
fn an_rmw_with_a_known_source_stays_an_rmw() {
    let history = format::parse(
        "[0] w.rel x 0\n[0] u.rlx x 1 2\n[0] r.acq x 2\n[0] r.rlx x 3\n[0] f.acqrel\n\
         [1] u.acq x 0 3\n[1] r.rlx x 3\n[1] u.acq x 0 1\n",
    )
    .expect("a history");
    let refuted = |certificate: &Certificate| certificate.verdict == Verdict::Violation;
    assert!(certificates(&history, &"issue 15").iter().all(refuted));
}

/// Some values are written twice and others once, so that open reads stand beside reads that are not open.
#[test]
fn every_certificate_of_every_engine_verifies_where_some_values_repeat() {
    let mut random = SplitMix64::new(8);
    let (mut seen, mut kinds) = (Seen::new(), [0; 2]);
    for (case, execution) in (0..cases(2_500)).zip(small::c11_executions(23, 3)) {
        let percent = random.pick(&[25, 40, 60]);
        let history = small::with_repeated_values(&execution, percent, &mut random);
        let expected = compare(&history, case, &mut seen, &mut kinds);
        // In one of ten cases, every tactic by itself, too.
        for strategy in Strategy::all().filter(|_| case % 10 == 0 && !expected.is_empty()) {
            for certificate in certificates_by(strategy, &history, &case) {
                let same = expected.iter().find(|other| other.model == certificate.model);
                let (model, by) = (certificate.model, strategy.name());
                assert_eq!(same.map(|it| it.verdict), Some(certificate.verdict), "case {case}: {model} by {by}");
            }
        }
    }
    assert!(kinds.iter().all(|&count| count >= cases(600)), "{kinds:?}");
}

/// A register with compare-and-swaps, some of which are pending: a history of calls and returns.
fn register(random: &mut SplitMix64) -> History {
    let processes = random.between(2, 3);
    let mut text = String::from("# @object register\n");
    let mut value = 0;
    let mut left: Vec<(u32, u32)> = (0..processes).map(|process| (process, random.between(1, 4))).collect();
    while !left.is_empty() {
        let at = random.between(0, left.len() as u32 - 1) as usize;
        let (process, count) = &mut left[at];
        *count -= 1;
        let is_last = *count == 0;
        let (argument, expected) = (random.between(0, 2), random.between(0, 2));
        let kind = random.between(0, 9);
        let is_pending = is_last && random.percent(60);
        let takes_effect = !is_pending || random.percent(50);
        let (call, result) = match kind {
            0..=3 => {
                let seen = if random.percent(10) { argument } else { value };
                ("read".to_owned(), seen.to_string())
            }
            4..=5 => {
                value = if takes_effect { argument } else { value };
                (format!("write {argument}"), String::new())
            }
            _ => {
                let holds = value == expected;
                value = if holds && takes_effect { argument } else { value };
                (format!("cas {expected} {argument}"), holds.to_string())
            }
        };
        writeln!(text, "[{process}] call {call} key=x").expect("a string takes all");
        if !is_pending {
            writeln!(text, "[{process}] return {result}").expect("a string takes all");
        }
        if is_last {
            left.swap_remove(at);
        }
    }
    format::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn the_search_agrees_with_the_oracle_on_registers_with_pending_operations() {
    let mut random = SplitMix64::new(6);
    let (mut seen, mut kinds) = (Seen::new(), [0; 2]);
    for case in 0..cases(3_000) {
        compare(&register(&mut random), case, &mut seen, &mut kinds);
    }
    assert!(kinds.iter().all(|&count| count >= cases(50)), "{kinds:?}");
}

/// These are too large for the oracle. A verdict is right if its certificate is verified, and the verdicts must agree
/// with the lattice.
#[test]
fn every_verdict_on_larger_histories_with_few_values_is_proved() {
    let mut random = SplitMix64::new(7);
    for case in 0..cases(60) {
        let shape = small::Shape {
            threads: [2, 3, 4][case as usize % 3],
            events: [16, 24, 40][case as usize % 3],
            locations: [1, 2, 4][case as usize / 3 % 3],
            writes: 40,
            rmws: [0, 10][case as usize % 2],
            fences: 5,
            orders: false,
            perturb: case as u32 % 2,
        };
        let history = small::with_few_values(&small::execution(&shape, case), 5, &mut random);
        if !is_ambiguous(&history) {
            continue;
        }
        let certificates = certificates(&history, &case);
        for stronger in &certificates {
            for weaker in &certificates {
                let broken = stronger.verdict == Verdict::Consistent && weaker.verdict == Verdict::Violation;
                let implied = model::implies(stronger.model, weaker.model);
                assert!(!(broken && implied), "case {case}: {} without {}", stronger.model, weaker.model);
            }
        }
    }
}
