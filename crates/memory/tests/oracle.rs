//! Every engine against the oracle, and every certificate against the verifier, on small executions near the boundary.

use certificate::{Certificate, Model, Verdict, verify};
use history::{Execution, History};
use memory::{Checker, Options};
use workload::small;

fn oracle_model(model: Model) -> oracle::Model {
    oracle::Model::from_name(model.name()).expect("the oracle knows every model")
}

fn show(execution: &Execution) -> String {
    execution
        .ids()
        .map(|id| {
            let event = execution.event(id);
            format!(
                "{:?}: T{} {:?} x{} from {:?}\n",
                id.0,
                execution.thread(id).0,
                event.kind,
                event.location.0 as i32,
                event.source.0 as i32
            )
        })
        .collect()
}

fn certificates(history: &History) -> Vec<(Model, Certificate)> {
    let execution = Execution::from_history(history).expect("generated histories are executions");
    let mut checker = Checker::new(&execution, &Options { witness: true, deadline: None });
    Model::ALL
        .into_iter()
        .map(|model| {
            let decision = checker.check(model);
            let certificate = Certificate::new(0, history, model, &decision).expect("every verdict has a certificate");
            (model, certificate)
        })
        .collect()
}

#[test]
fn engines_agree_with_the_oracle_and_certificates_verify() {
    let mut seen = std::collections::BTreeMap::new();
    for (case, execution) in small::executions(1).take(small::cases(6_000) as usize).enumerate() {
        let history = small::to_history(&execution);
        for (model, certificate) in certificates(&history) {
            let allowed = oracle::allowed(oracle_model(model), &execution);
            let verdict = if allowed { Verdict::Consistent } else { Verdict::Violation };
            assert_eq!(certificate.verdict, verdict, "case {case}, {model}: {}", show(&execution));
            if let Err(refusal) = verify(&certificate, &history) {
                panic!("case {case}, {model}: refused: {refusal}\n{certificate:#?}\n{}", show(&execution));
            }
            let json = certificate.to_json(&history);
            assert_eq!(Certificate::from_json(&json, &history).expect("it was just written"), certificate);
            *seen.entry((model, allowed)).or_insert(0u64) += 1;
        }
    }
    // A generator that made only one kind of execution would test nothing.
    for model in Model::ALL {
        for allowed in [true, false] {
            let count = seen.get(&(model, allowed)).copied().unwrap_or(0);
            assert!(count >= 100, "only {count} executions with {model} = {allowed}");
        }
    }
}
