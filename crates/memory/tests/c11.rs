//! The C11 family against the axioms, enumerated, on thousands of small executions near the boundary.

use certificate::Model;
use history::Execution;
use memory::c11::Checker;
use workload::small;

const MODELS: [(Model, oracle::Model); 5] = [
    (Model::Relaxed, oracle::Model::Relaxed),
    (Model::Rc20, oracle::Model::Rc20),
    (Model::Wra, oracle::Model::Wra),
    (Model::Ra, oracle::Model::Ra),
    (Model::Sra, oracle::Model::Sra),
];

fn describe(execution: &Execution) -> String {
    execution
        .ids()
        .map(|id| format!("{id:?} in {:?}: {:?}\n", execution.thread(id), execution.event(id)))
        .collect()
}

#[test]
fn every_model_agrees_with_its_axioms() {
    let mut checker = Checker::new();
    let mut counts = [[0; 2]; 5];
    for execution in small::executions(11).take(workload::cases(40_000) as usize) {
        for (at, (model, axioms)) in MODELS.into_iter().enumerate() {
            if axioms.applies(&execution) {
                let expected = oracle::allowed(axioms, &execution);
                let found = checker.allows(model, &execution);
                assert_eq!(found, Some(expected), "{model}\n{}", describe(&execution));
                counts[at][usize::from(expected)] += 1;
            }
        }
    }
    println!("{counts:?}");
}
