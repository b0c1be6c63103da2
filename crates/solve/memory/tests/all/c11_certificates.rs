//! The verifier of the C11 family accepts nothing false. Evidence of one execution proves nothing false of another
//! execution that differs in a read. Evidence that was changed is refused, or still proves a true verdict.

use history::{Execution, History, OperationId};
use memory::{Knobs, MemoryOptions, check};
use model::{Certificate, Edge, Evidence, Model, Node, Rule, Verdict, digest};
use verify::verify;
use workload::memory::{self as machine, MemoryConfig, MemoryMachine};
use workload::random::SplitMix64;

const MODELS: [Model; 5] = [Model::Relaxed, Model::Rc20, Model::Wra, Model::Ra, Model::Sra];
const OPTIONS: MemoryOptions =
    MemoryOptions { witness: true, budget: memory::Budget::UNLIMITED, knobs: Knobs::DEFAULT };

/// Pairs of histories that differ in one read.
fn pairs() -> impl Iterator<Item = [History; 2]> {
    (0..workload::cases(600)).map(|seed| {
        let config = MemoryConfig {
            machine: [MemoryMachine::ReleaseAcquire, MemoryMachine::Rc20, MemoryMachine::Relaxed][seed as usize % 3],
            threads: 2 + seed as u32 % 3,
            operations: 8 + seed as u32 % 20,
            locations: 1 + seed as u32 % 3,
            writes: 35,
            rmws: 5 * (seed as u32 % 5),
            fences: 5,
            stale: 40,
            perturb: 0,
            seed,
            ..MemoryConfig::default()
        };
        [0, 1].map(|perturb| {
            let config = MemoryConfig { perturb, ..config };
            machine::history(&config, machine::generate(&config))
        })
    })
}

#[test]
fn evidence_of_another_execution_proves_nothing_false() {
    let mut lies = [0; 2];
    for histories in pairs() {
        let executions = histories.each_ref().map(|history| Execution::from_history(history).unwrap());
        for model in MODELS {
            let decisions = executions.each_ref().map(|execution| check(model, execution, &OPTIONS));
            if decisions[0].verdict == decisions[1].verdict {
                continue;
            }
            for (history, liar) in histories.iter().zip([&decisions[1], &decisions[0]]) {
                let mut certificate = Certificate::new(0, history, model, liar).unwrap();
                let refused = verify(&certificate, history);
                assert!(refused.is_err(), "{model}: {:?} is believed of {history:?}", liar.evidence);
                lies[usize::from(liar.verdict == Verdict::Violation)] += 1;
                // The evidence does not prove the other verdict either.
                certificate.verdict =
                    if liar.verdict == Verdict::Violation { Verdict::Consistent } else { Verdict::Violation };
                let other_kind = certificate.evidence != Evidence::DecideAgain;
                assert!(!other_kind || verify(&certificate, history).is_err());
                certificate.digest = digest(&History::default());
                assert!(verify(&certificate, history).is_err(), "another digest");
            }
        }
    }
    assert!(lies.iter().all(|&count| count > 100), "{lies:?}");
}

/// Changes one operation, edge or step of the evidence. `None` if there is nothing to change.
fn tamper(evidence: &Evidence, operations: u32, random: &mut SplitMix64) -> Option<Evidence> {
    let mut evidence = evidence.clone();
    match &mut evidence {
        Evidence::ModificationOrders(orders) => {
            let lengths: Vec<usize> = (0..orders.len()).filter(|&at| !orders[at].is_empty()).collect();
            let order = if lengths.is_empty() { return None } else { &mut orders[random.pick(&lengths)] };
            let at = random.below(order.len() as u64) as usize;
            match random.below(4) {
                0 => drop(order.remove(at)),
                1 => order.insert(at, order[at]),
                2 => order[at] = OperationId(random.below(u64::from(operations)) as u32),
                _ => order.swap(0, at),
            }
        }
        Evidence::Cycle(derivation) => {
            let steps = derivation.steps.len() as u64;
            let which = random.below(steps + 1);
            if which < steps && random.percent(30) {
                let step = &mut derivation.steps[which as usize];
                let node = Node::Operation(OperationId(random.below(u64::from(operations)) as u32));
                match random.below(4) {
                    0 => step.from = node,
                    1 => step.to = node,
                    2 => step.rule = random.pick(&[Rule::StoreOrder, Rule::ReadWrite, Rule::Atomicity]),
                    _ => step.rule = Rule::Coherence { before: node, after: step.to },
                }
                return Some(evidence);
            }
            let path = if which < steps { &mut derivation.steps[which as usize].path } else { &mut derivation.cycle };
            if path.is_empty() {
                return None;
            }
            let at = random.below(path.len() as u64) as usize;
            let node = Node::Operation(OperationId(random.below(u64::from(operations)) as u32));
            match random.below(5) {
                0 => drop(path.remove(at)),
                1 => path[at] = Edge::Derived(random.below(steps + 2) as u32),
                2 => path[at] = Edge::Po(node, node),
                3 => {
                    path[at] = match path[at] {
                        Edge::Po(from, _) => Edge::Rf(from, node),
                        Edge::Rf(from, _) => Edge::Po(from, node),
                        Edge::Sw { release, write, read, .. } => Edge::Sw { release, write, read, acquire: node },
                        Edge::Derived(_) => Edge::Rf(node, node),
                    }
                }
                _ => path.swap(0, at),
            }
        }
        _ => return None,
    }
    Some(evidence)
}

#[test]
fn tampered_evidence_is_refused_or_still_true() {
    let mut random = SplitMix64::new(5);
    let (mut refused, mut changed) = (0, 0);
    for history in pairs().flatten() {
        let execution = Execution::from_history(&history).unwrap();
        for model in MODELS {
            let decision = check(model, &execution, &OPTIONS);
            let evidence = decision.evidence.as_ref().unwrap();
            let Some(tampered) = tamper(evidence, history.operations().len() as u32, &mut random) else { continue };
            if tampered == *evidence {
                continue;
            }
            changed += 1;
            let mut certificate = Certificate::new(0, &history, model, &decision).unwrap();
            certificate.evidence = tampered;
            // The verdict is true, so a changed proof may be right. Most changes break the proof.
            refused += usize::from(verify(&certificate, &history).is_err());
            // There is no proof of the opposite verdict.
            let truth = certificate.verdict;
            certificate.verdict = if truth == Verdict::Violation { Verdict::Consistent } else { Verdict::Violation };
            assert!(verify(&certificate, &history).is_err());
        }
    }
    assert!(changed > 1000 && refused * 10 > changed * 8, "{refused} of {changed}");
}
