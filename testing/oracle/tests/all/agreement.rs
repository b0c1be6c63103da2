//! The oracle against itself: the axioms against the operational definitions, and every implication that the
//! specification states.

use history::Execution;
use history::execution::{EventId, Kind};
use oracle::Model::{Cc, Ccv, Coherence, Pso, Relaxed, Sc, Sra, Tso, Wra};
use oracle::machine::{Machine, runs};
use oracle::{IMPLICATIONS, Model, allowed};
use workload::small::{Shape, execution, executions, shapes, to_history};

fn cases(default: u64, seed: u64) -> impl Iterator<Item = Execution> {
    executions(seed).take(workload::cases(default) as usize)
}

/// The execution for a failure message.
fn show(execution: &Execution) -> String {
    let history = to_history(execution);
    let line = |operation: &history::Operation| {
        let parts = [
            format!("[{}] {}", operation.process.0, history.object().method_name(operation.method)),
            operation.order.name().to_owned(),
            history.key_name(operation.key),
            history.show(operation.result),
            history.show(operation.argument),
        ];
        parts.join(" ")
    };
    history.operations().iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Whether `po u rf` is acyclic, by taking away events whose predecessors are gone.
fn is_causal(execution: &Execution) -> bool {
    let mut left: Vec<EventId> = execution.ids().collect();
    loop {
        let before = left.clone();
        left.retain(|&id| {
            let previous = execution.position(id) > 0 && before.contains(&EventId(id.0 - 1));
            previous || before.contains(&execution.event(id).source)
        });
        if left.len() == before.len() {
            return left.is_empty();
        }
    }
}

#[test]
fn the_implications_hold_and_both_verdicts_occur() {
    let mut consistent = vec![0; Model::ALL.len()];
    let mut total = 0;
    for execution in cases(4000, 1) {
        total += 1;
        let verdict = |&model: &Model| model.applies(&execution).then(|| allowed(model, &execution));
        let verdicts: Vec<Option<bool>> = Model::ALL.iter().map(verdict).collect();
        for (count, verdict) in consistent.iter_mut().zip(&verdicts) {
            *count += u64::from(*verdict == Some(true));
        }
        // `ALL` is in the order of the variants.
        let of = |model: Model| verdicts[model as usize];
        for &(strong, weak) in IMPLICATIONS {
            let refuted = of(strong) == Some(true) && of(weak) == Some(false);
            assert!(!refuted, "{} but not {}:\n{}", strong.name(), weak.name(), show(&execution));
        }
    }
    for (model, consistent) in Model::ALL.iter().zip(consistent) {
        let percent = 100 * consistent / total;
        assert!((5..95).contains(&percent), "{percent}% are allowed by {}", model.name());
    }
}

#[test]
fn axioms_and_machines_agree() {
    for execution in cases(3000, 2) {
        for (model, machine) in [(Sc, Machine::Sc), (Tso, Machine::Tso), (Pso, Machine::Pso)] {
            assert_eq!(allowed(model, &execution), runs(machine, &execution), "{}\n{}", model.name(), show(&execution));
        }
    }
}

#[test]
fn without_rmws_sra_is_ccv_and_wra_is_cc() {
    let rmw_free = |e: &Execution| e.events().iter().all(|event| event.kind != Kind::Rmw);
    let mut seen = 0;
    for execution in cases(4000, 3).filter(rmw_free) {
        seen += 1;
        assert_eq!(allowed(Sra, &execution), allowed(Ccv, &execution), "sra, ccv\n{}", show(&execution));
        assert_eq!(allowed(Wra, &execution), allowed(Cc, &execution), "wra, cc\n{}", show(&execution));
    }
    assert!(seen > 0);
}

#[test]
fn relaxed_is_coherence_with_po_and_rf_acyclic() {
    for execution in cases(4000, 4) {
        let expected = allowed(Coherence, &execution) && is_causal(&execution);
        assert_eq!(allowed(Relaxed, &execution), expected, "{}", show(&execution));
    }
}

/// Without perturbation, the runs of the generator's machines are at least causal or coherent.
#[test]
fn unperturbed_executions_are_causal_or_coherent() {
    let mut only = [0, 0];
    for (shape, seed) in shapes(5).zip(0..workload::cases(3000)) {
        let execution = execution(&Shape { perturb: 0, rmws: 0, ..shape }, seed);
        match (allowed(Cc, &execution), allowed(Relaxed, &execution)) {
            (true, true) => {}
            (true, false) => only[0] += 1,
            (false, true) => only[1] += 1,
            (false, false) => panic!("neither cc nor relaxed:\n{}", show(&execution)),
        }
    }
    assert!(only[0] > 0 && only[1] > 0, "{only:?}");
}

#[test]
fn models_have_names() {
    for &model in Model::ALL {
        assert_eq!(Model::from_name(model.name()), Some(model));
    }
    assert_eq!(Model::from_name("linearizable"), None);
}
