//! Violations of `wccm`. Each has a derivation, and no part of the derivation can be left out.

use format::{Format, ReadOptions, read};
use history::execution::LocationId;
use history::{Execution, History, OperationId, ProcessId};
use memory::{MemoryOptions, check};
use model::{Certificate, Derivation, Edge, Evidence, Model, Node, Rule, Step, Verdict};
use verify::{Refusal, verify};
use workload::memory::{MemoryConfig, MemoryMachine, thread_by_thread};
use workload::random::SplitMix64;
use workload::small::{self, Shape};
use workload::{cases, to_history};

fn certificate(history: &History, derivation: Derivation) -> Certificate {
    Certificate {
        history: 0,
        model: Model::Wccm,
        verdict: Verdict::Violation,
        digest: model::digest(history),
        evidence: Evidence::Cycle(derivation),
    }
}

/// The derivation of a violation, which the verifier accepts.
fn derivation(history: &History) -> Option<Derivation> {
    let execution = Execution::from_history(history).expect("values are unique");
    let decision = check(Model::Wccm, &execution, &MemoryOptions::default());
    if decision.verdict == Verdict::Consistent {
        return None;
    }
    let Some(Evidence::Cycle(derivation)) = decision.evidence else { panic!("not a derivation: {decision:?}") };
    let certificate = certificate(history, derivation.clone());
    assert_eq!(verify(&certificate, history), Ok(()), "{derivation:#?}");
    Some(derivation)
}

/// How often each kind of reason was seen: the base alone, and steps by rule.
#[derive(Debug, Default)]
struct Seen {
    base: u32,
    view: u32,
    conflict: u32,
    store_order: u32,
    read_write: u32,
}

impl Seen {
    fn note(&mut self, derivation: &Derivation) {
        self.base += u32::from(derivation.steps.is_empty());
        for step in &derivation.steps {
            let count = match step.rule {
                Rule::Conflict { view: Some(_), .. } => &mut self.view,
                Rule::Conflict { view: None, .. } => &mut self.conflict,
                Rule::StoreOrder => &mut self.store_order,
                Rule::ReadWrite => &mut self.read_write,
                rule => panic!("{rule:?} is not of wccm"),
            };
            *count += 1;
        }
    }
}

#[test]
fn every_violation_has_a_derivation_of_which_nothing_can_be_left_out() {
    let mut random = SplitMix64::new(3);
    let mut seen = Seen::default();
    for case in 0..cases(6_000) {
        let shape = Shape {
            threads: 2 + case as u32 % 4,
            events: 8 + case as u32 % 9,
            locations: 1 + case as u32 % 3,
            writes: 45,
            rmws: [0, 8][case as usize % 2],
            fences: [0, 8][case as usize / 2 % 2],
            orders: case % 5 == 0,
            perturb: 1 + case as u32 % 3,
        };
        let mut history = to_history(&small::execution(&shape, case));
        if case % 4 == 0 {
            history = small::add_finals(history, &mut random);
        }
        let execution = Execution::from_history(&history).expect("values are unique");
        if !execution.thin_air().is_empty() {
            continue;
        }
        let found = derivation(&history);
        let allowed = oracle::allowed(oracle::Model::from_name("wccm").expect("the oracle knows it"), &execution);
        assert_eq!(found.is_none(), allowed, "case {case}");
        let Some(derivation) = found else { continue };
        seen.note(&derivation);
        let refuses = |damaged: Derivation, what: &str| {
            let refused = verify(&certificate(&history, damaged), &history);
            assert!(refused.is_err(), "case {case}, {what}: {derivation:#?}");
        };
        for at in 0..derivation.cycle.len() {
            let mut damaged = derivation.clone();
            damaged.cycle.remove(at);
            refuses(damaged, "a cycle with a hole");
        }
        for at in 0..derivation.steps.len() {
            let mut damaged = derivation.clone();
            damaged.steps.remove(at);
            refuses(damaged, "without a step");
            for edge in 0..derivation.steps[at].path.len() {
                let mut damaged = derivation.clone();
                damaged.steps[at].path.remove(edge);
                refuses(damaged, "a premise with a hole");
            }
            if let Rule::Conflict { read, view: Some(ProcessId(process)) } = derivation.steps[at].rule {
                let mut damaged = derivation.clone();
                damaged.steps[at].rule = Rule::Conflict { read, view: Some(ProcessId(process + 1)) };
                refuses(damaged, "in the view of another");
            }
        }
    }
    let Seen { base, view, conflict, store_order, read_write } = seen;
    let enough = [base, view, conflict, store_order, read_write].iter().all(|&count| u64::from(count) >= cases(20));
    assert!(enough, "too few of a kind: {seen:?}");
}

fn node(operation: u32) -> Node {
    Node::Operation(OperationId(operation))
}

/// Checks that a derivation is refused, with this reason.
#[track_caller]
fn assert_refused(history: &History, steps: Vec<Step>, cycle: Vec<Edge>, reason: &str) {
    let refusal = verify(&certificate(history, Derivation { steps, cycle }), history).expect_err("it is not so");
    assert!(refusal.to_string().contains(reason), "{refusal} should speak of: {reason}");
}

fn parse(text: &'static str) -> History {
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    read(Box::new(text.as_bytes()), &options).next().expect("one history").expect("a good history")
}

/// The initial write of a location comes before a write, and a read of the initial value, too.
fn overwrites_init(location: u32, write: u32, read: u32, first: u32) -> [Step; 2] {
    let init = Node::Init(LocationId(location));
    let path = vec![Edge::Po(init, node(write))];
    [
        Step { rule: Rule::StoreOrder, from: init, to: node(write), path },
        Step { rule: Rule::ReadWrite, from: node(read), to: node(write), path: vec![Edge::Derived(first)] },
    ]
}

#[test]
fn program_order_beyond_the_bases_is_refused() {
    // Store buffering, which the buffers explain: each read overtakes the write before it.
    let history = parse("[0] w x 1\n[0] r y 0\n[1] w y 1\n[1] r x 0\n");
    assert_eq!(derivation(&history), None);
    let steps = [overwrites_init(1, 2, 1, 0), overwrites_init(0, 0, 3, 2)].concat();
    let cycle = vec![Edge::Po(node(0), node(1)), Edge::Derived(1), Edge::Po(node(2), node(3)), Edge::Derived(3)];
    assert_refused(&history, steps, cycle, "neither in ppo");
}

#[test]
fn a_cycle_of_both_bases_is_refused() {
    // The same where each thread reads its own write out of the buffer. A write and that read are in po-loc, this and
    // the next read in ppo.
    let history = parse("[0] w x 1\n[0] r x 1\n[0] r y 0\n[1] w y 1\n[1] r y 1\n[1] r x 0\n");
    assert_eq!(derivation(&history), None);
    let steps = [overwrites_init(1, 3, 2, 0), overwrites_init(0, 0, 5, 2)].concat();
    let thread = |first| [Edge::Po(node(first), node(first + 1)), Edge::Po(node(first + 1), node(first + 2))];
    let [a, b] = thread(0);
    let [c, d] = thread(3);
    let cycle = vec![a, b, Edge::Derived(1), c, d, Edge::Derived(3)];
    assert_refused(&history, steps.clone(), cycle, "neither in ppo");
    // A read from the own thread is no edge of ppo u rfe either.
    let cycle = vec![Edge::Rf(node(0), node(1)), b, Edge::Derived(1), Edge::Rf(node(3), node(4)), d, Edge::Derived(3)];
    assert_refused(&history, steps, cycle, "neither in ppo");
}

#[test]
fn a_view_of_one_base_is_none_of_the_other() {
    let history = parse("[0] w x 1\n[0] r x 2\n[0] r y 1\n[0] r x 3\n[1] w x 2\n[1] w y 1\n[2] w x 3\n");
    assert_eq!(derivation(&history), None);
    let step = |read, to, path| {
        let rule = Rule::Conflict { read: node(read), view: Some(ProcessId(0)) };
        Step { rule, from: node(0), to: node(to), path }
    };
    // In po-loc, the write comes before the read of line 2; in ppo, it does not.
    let local = step(1, 4, vec![Edge::Po(node(0), node(1))]);
    let ppo = [Edge::Rf(node(4), node(1)), Edge::Po(node(1), node(2)), Edge::Po(node(2), node(3))];
    let mixed = step(3, 6, [&[Edge::Derived(0)], &ppo[..]].concat());
    assert_refused(&history, vec![local, mixed], vec![Edge::Derived(1)], "step 1: the premise is neither in ppo");
}

/// Line 11 reads y = 2 and knows of y = 1; so in the view of its thread line 8 knows of line 4, and line 9 of line 3.
#[test]
fn a_view_stands_on_its_own_pairs() {
    let history = parse(
        "[0] w x 2\n[1] r x 2\n[1] w x 1\n[1] w y 1\n[1] w f 1\n[2] w y 2\n[2] w z 1\n\
         [3] r z 1\n[3] r x 2\n[3] r f 1\n[3] r y 2\n",
    );
    let Derivation { steps, .. } = derivation(&history).expect("line 1 comes before line 3, and after it");
    let [first, second] = &steps[..] else { panic!("{steps:#?}") };
    let in_view = |step: &Step| matches!(step.rule, Rule::Conflict { view: Some(ProcessId(3)), .. });
    assert!(in_view(first) && in_view(second) && second.path.contains(&Edge::Derived(0)), "{steps:#?}");
}

/// The cycle is found before all pairs of all views are in the order. So the order lacks edges that some of the pairs
/// depend on.
#[test]
fn a_cycle_of_several_views_is_derived() {
    let history = parse(
        "[0] w x 3\n[0] r x 73\n[0] w y 77\n[0] u z 60 89\n[0] r x 73\n[1] u x 3 57\n[1] w z 60\n[2] w x 73\n\
         [3] w v 53\n[3] w y 65\n[3] u v 53 74\n[3] r x 57\n[3] r z 89\n[3] r y 65\n",
    );
    assert!(derivation(&history).is_some());
}

/// As under `tso`, no thread reads a write of its own that comes only later.
#[test]
fn a_read_of_an_own_later_write_is_a_violation() {
    for text in ["[0] r x 1\n[0] w x 1\n", "[0] u x 2 1\n[0] r y 0\n[0] w x 2\n", "[0] w y 1\n[0] u x 1 1\n"] {
        let Derivation { steps, cycle } = derivation(&parse(text)).expect("a cycle of po-loc and rf");
        assert!(steps.is_empty() && cycle.len() <= 2, "{text}{cycle:?}");
        assert!(cycle.iter().any(|edge| matches!(edge, Edge::Rf(..))), "{text}{cycle:?}");
    }
}

#[test]
fn to_decide_again_proves_no_violation() {
    let history = parse("[0] w x 1\n[0] r x 0\n");
    let derivation = derivation(&history).expect("the initial value was overwritten");
    let certificate = Certificate { evidence: Evidence::DecideAgain, ..certificate(&history, derivation) };
    assert!(matches!(verify(&certificate, &history), Err(Refusal::WrongKind { .. })));
}

/// These executions are too large for the oracle, so the verifier checks the verdicts.
#[test]
fn violations_of_large_histories_are_derived() {
    let mut violations = 0;
    for seed in 0..8 {
        let config = MemoryConfig {
            machine: MemoryMachine::Tso,
            threads: 8,
            operations: 40_000,
            locations: 16,
            rmws: 2,
            fences: 2,
            perturb: 1 + seed as u32,
            seed,
            ..MemoryConfig::default()
        };
        let history = workload::memory::history(&config, thread_by_thread(&config));
        if let Some(derivation) = derivation(&history) {
            violations += 1;
            assert!(derivation.steps.len() < 1_000, "seed {seed}: {} steps", derivation.steps.len());
        }
    }
    assert!(violations >= 4, "only {violations} violations");
}
