//! `sra` with many rmws, where saturation does not decide and the search must. It is compared with the axioms, and with
//! all ways to order the pairs of larger executions. Certificates that were changed are refused.

use history::{Execution, History, OperationId};
use memory::{Knobs, MemoryOptions, check};
use model::{Certificate, Decided, Edge, Evidence, Model, Node, Rule, Verdict, digest};
use verify::verify;
use workload::memory::{self as machine, MemoryConfig, MemoryMachine};
use workload::random::SplitMix64;
use workload::rings::{self, Condition, Ring};
use workload::{cases, hard, to_history};

const OPTIONS: MemoryOptions =
    MemoryOptions { witness: true, budget: memory::Budget::UNLIMITED, knobs: Knobs::DEFAULT };

/// The decision. Its certificate is written as JSON, read again and verified.
fn verified(execution: &Execution, history: &History) -> Decided {
    let decision = check(Model::Sra, execution, &OPTIONS);
    let certificate = Certificate::new(0, history, Model::Sra, &decision).expect("a verdict");
    let read = Certificate::from_json(&certificate.to_json(history), history).expect("it was just written");
    assert_eq!(read, certificate);
    assert_eq!(verify(&certificate, history), Ok(()), "{certificate:?}");
    decision
}

fn is_refuted(decision: &Decided) -> bool {
    matches!(decision.evidence, Some(Evidence::Refutation(_)))
}

/// Rings of two and three conditions on few variables.
fn few(seed: u64) -> (u32, Vec<Ring>) {
    let mut random = SplitMix64::new(seed);
    if random.percent(70) {
        let mut rings = rings::crossed(true);
        rings.retain(|_| random.percent(90));
        return (2, rings);
    }
    let count = random.between(2, 8);
    let mut rings = rings::random(3, count, seed);
    for ring in &mut rings {
        if random.percent(30) {
            ring.pop();
        }
    }
    (3, rings)
}

#[test]
fn the_search_agrees_with_the_axioms() {
    let (mut refuted, mut verdicts) = (0, [0; 2]);
    for seed in 0..cases(3_000) {
        let (variables, rings) = few(seed);
        let mut random = SplitMix64::new(!seed);
        let mut steps = rings::steps(variables, &[rings], false);
        // One message is not received, or there is one more operation: a read, or an rmw of a write that no rmw has
        // updated.
        for step in &mut steps {
            if step.value_read().is_some() && step.value_written().is_none() && random.percent(1) {
                step.read = 0;
            }
        }
        if random.percent(20) {
            let last = steps.last().copied().expect("there are operations");
            let kind = if random.percent(50) { history::execution::Kind::Read } else { last.kind };
            let written = steps.len() as u32;
            steps.push(machine::MemoryStep { kind, read: last.written, written, thread: random.between(0, 3), ..last });
            steps.sort_by_key(|step| step.thread);
        }
        let execution = rings::execution(&steps);
        let history = to_history(&execution);
        let decision = verified(&execution, &history);
        let expected = oracle::allowed(oracle::Model::Sra, &execution);
        assert_eq!(decision.verdict == Verdict::Consistent, expected, "{steps:?}");
        verdicts[usize::from(expected)] += 1;
        refuted += usize::from(is_refuted(&decision));
    }
    assert!(refuted > 300 && verdicts.iter().all(|&count| count > 300), "{refuted} refuted, {verdicts:?}");
}

#[test]
fn runs_with_many_rmws_agree_with_the_axioms() {
    let mut verdicts = [0; 2];
    for seed in 0..cases(3_000) {
        let config = MemoryConfig {
            machine: [MemoryMachine::Sc, MemoryMachine::ReleaseAcquire][seed as usize % 2],
            threads: 2 + seed as u32 % 3,
            operations: 6 + seed as u32 % 5,
            locations: 1 + seed as u32 % 3,
            writes: 35,
            rmws: 40,
            stale: 60,
            perturb: seed as u32 % 3,
            seed,
            ..MemoryConfig::default()
        };
        let execution = machine::execution(&config);
        let decision = verified(&execution, &to_history(&execution));
        let expected = oracle::allowed(oracle::Model::Sra, &execution);
        assert_eq!(decision.verdict == Verdict::Consistent, expected, "{config:?}");
        verdicts[usize::from(expected)] += 1;
    }
    assert!(verdicts.iter().all(|&count| count > 300), "{verdicts:?}");
}

/// Whether some way to order the two pairs of each variable closes no cycle. A cycle consists of conditions that hold,
/// each followed by the next in some ring.
fn some_way(variables: u32, rings: &[Ring]) -> bool {
    (0..1u32 << variables).any(|way| {
        let holds = |condition: Condition| way >> condition.variable & 1 == condition.first;
        let mut left: Vec<u32> = (0..variables).collect();
        let follows = |from: u32, to: u32| {
            rings.iter().any(|ring| {
                (0..ring.len()).any(|at| {
                    let (one, next) = (ring[at], ring[(at + 1) % ring.len()]);
                    one.variable == from && next.variable == to && holds(one) && holds(next)
                })
            })
        };
        // Takes away conditions that nothing leads to, until nothing is left or only conditions that a cycle leads to.
        loop {
            let before = left.len();
            let all = left.clone();
            left.retain(|&to| all.iter().any(|&from| follows(from, to)));
            if left.len() == before {
                return left.is_empty();
            }
        }
    })
}

#[test]
fn larger_executions_are_decided_as_all_ways_to_order_their_pairs_say() {
    let (mut refuted, mut verdicts) = (0, [0; 2]);
    for seed in 0..cases(300) {
        let variables = 4 + seed as u32 % 6;
        let rings = rings::random(variables, 2 * variables + seed as u32 % 3 * variables / 2, seed);
        let execution = rings::execution(&rings::steps(variables, std::slice::from_ref(&rings), false));
        let decision = verified(&execution, &to_history(&execution));
        let expected = some_way(variables, &rings);
        assert_eq!(decision.verdict == Verdict::Consistent, expected, "{variables} {rings:?}");
        verdicts[usize::from(expected)] += 1;
        refuted += usize::from(is_refuted(&decision));
    }
    assert!(refuted > 30 && verdicts.iter().all(|&count| count > 30), "{refuted} refuted, {verdicts:?}");
}

#[test]
fn copies_are_allowed_but_for_the_one_that_is_not() {
    for copies in [1, 2, 5, 40] {
        for (side_by_side, violating) in [(false, false), (false, true), (true, false), (true, true)] {
            if side_by_side && copies > 5 {
                continue;
            }
            let shape = hard::HardShape::TwoGuessesOfRmws;
            let history = hard::history(&hard::HardConfig { shape, copies, side_by_side, violating });
            let execution = Execution::from_history(&history).expect("an execution");
            let decision = verified(&execution, &history);
            assert_eq!(decision.verdict == Verdict::Violation, violating, "{copies} {side_by_side}");
            assert_eq!(is_refuted(&decision), violating);
        }
    }
}

/// Changes one thing in a refutation.
fn tamper(evidence: &Evidence, operations: u32, random: &mut SplitMix64) -> Evidence {
    let mut evidence = evidence.clone();
    let Evidence::Refutation(lemmas) = &mut evidence else { return evidence };
    let which = random.below(lemmas.len() as u64) as usize;
    let count = lemmas.len() as u32;
    let lemma = &mut lemmas[which];
    let node = Node::Operation(OperationId(random.between(0, operations - 1)));
    let steps = lemma.steps.len() as u32;
    match random.below(8) {
        0 => drop(lemmas.remove(which)),
        1 => drop(lemma.cycle.remove(random.below(lemma.cycle.len() as u64) as usize)),
        2 => lemma.steps.truncate(steps as usize / 2),
        kind if steps > 0 => {
            let step = &mut lemma.steps[random.below(u64::from(steps)) as usize];
            match kind {
                3 => step.from = node,
                4 => step.to = node,
                5 => {
                    step.rule = random.pick(&[
                        Rule::Assumed,
                        Rule::ReadWrite,
                        Rule::StoreOrder,
                        Rule::Conflict { read: node, view: None },
                        Rule::Lemma(random.clone().between(0, count)),
                    ]);
                }
                _ if step.path.is_empty() => step.path.push(Edge::Derived(random.between(0, steps))),
                6 => drop(step.path.remove(random.below(step.path.len() as u64) as usize)),
                _ => {
                    let at = random.below(step.path.len() as u64) as usize;
                    step.path[at] =
                        random.pick(&[Edge::Derived(steps / 2), Edge::Po(node, step.to), Edge::Rf(step.from, node)]);
                }
            }
        }
        _ => lemma.cycle.push(Edge::Po(node, node)),
    }
    evidence
}

#[test]
fn a_changed_refutation_is_refused_and_never_proves_what_is_false() {
    let mut random = SplitMix64::new(9);
    let (mut changed, mut refused, mut lies) = (0, 0, 0);
    for seed in 0..cases(400) {
        let (variables, rings) =
            if seed % 2 == 0 { (2, rings::crossed(true)) } else { (4, rings::random(4, 12, seed)) };
        let mut steps = rings::steps(variables, &[rings], false);
        let history = to_history(&rings::execution(&steps));
        let execution = Execution::from_history(&history).expect("an execution");
        let decision = check(Model::Sra, &execution, &OPTIONS);
        if !is_refuted(&decision) {
            continue;
        }
        let mut certificate = Certificate::new(0, &history, Model::Sra, &decision).expect("a verdict");
        let evidence = std::mem::replace(&mut certificate.evidence, Evidence::DecideAgain);
        assert_eq!(verify(&certificate, &history), Ok(()), "the verifier may also search");
        for _ in 0..10 {
            certificate.evidence = tamper(&evidence, steps.len() as u32, &mut random);
            if certificate.evidence == evidence {
                continue;
            }
            changed += 1;
            // The verdict is true, so a changed proof may be right. Nearly every change breaks the proof.
            refused += usize::from(verify(&certificate, &history).is_err());
        }
        // The same operation numbers, of an execution in which one message is not received.
        let reads: Vec<usize> = (0..steps.len()).filter(|&at| steps[at].value_written().is_none()).collect();
        steps[random.pick(&reads)].read = 0;
        let other = to_history(&rings::execution(&steps));
        let allowed = check(Model::Sra, &Execution::from_history(&other).expect("an execution"), &OPTIONS);
        if allowed.verdict == Verdict::Consistent {
            certificate.evidence = evidence;
            certificate.digest = digest(&other);
            assert!(verify(&certificate, &other).is_err(), "{certificate:?} is believed of {steps:?}");
            certificate.evidence = Evidence::DecideAgain;
            assert!(verify(&certificate, &other).is_err());
            lies += 1;
        }
    }
    assert!(changed > 1000 && refused * 100 > changed * 95, "{refused} of {changed}");
    assert!(lies > 50, "{lies}");
}
