//! The lattice is complete: if the stated implications do not imply that one model implies another, some execution
//! refutes this implication.

use oracle::{EQUAL, Model, allowed, implies};
use workload::small::executions;

#[test]
fn what_is_not_stated_does_not_hold() {
    let mut open: Vec<(Model, Model)> = Vec::new();
    for &strong in Model::ALL {
        open.extend(Model::ALL.iter().filter(|&&weak| !implies(strong, weak)).map(|&weak| (strong, weak)));
    }
    open.retain(|&(strong, weak)| !EQUAL.contains(&(strong, weak)) && !EQUAL.contains(&(weak, strong)));
    let corpus = oracle::corpus::corpus().into_iter().map(|entry| entry.execution);
    for execution in corpus.chain(executions(31).take(workload::cases(4000) as usize)) {
        if open.is_empty() {
            return;
        }
        let verdict = |&model: &Model| model.applies(&execution).then(|| allowed(model, &execution));
        let verdicts: Vec<Option<bool>> = Model::ALL.iter().map(verdict).collect();
        let refutes = |a: Model, b: Model| verdicts[a as usize] == Some(true) && verdicts[b as usize] == Some(false);
        open.retain(|&(strong, weak)| !refutes(strong, weak));
    }
    let open: Vec<String> = open.iter().map(|(strong, weak)| format!("{} => {}", strong.name(), weak.name())).collect();
    assert!(
        open.is_empty(),
        "state these implications, or refute them by a history in testing/corpus/: {}",
        open.join(", ")
    );
}
