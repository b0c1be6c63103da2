//! Decides a model by a strategy. The tests of `memory` and of `baseline` share this file.

use history::{Execution, History};
use memory::{ExecutionChecker, MemoryOptions, Strategy};
use model::{Certificate, Evidence, Model, Verdict};
use verify::verify;

/// Decides a model, verifies the certificate, and returns the verdict and the evidence.
pub fn decide(model: Model, history: &History, execution: &Execution, strategy: Strategy) -> (Verdict, Evidence) {
    let mut checker = ExecutionChecker::new(execution, &MemoryOptions { witness: true, ..MemoryOptions::default() });
    checker.set_strategy(strategy);
    let decision = checker.check(model);
    let certificate = Certificate::new(0, history, model, &decision).expect("every verdict has a certificate");
    if let Err(refusal) = verify(&certificate, history) {
        panic!("{model}, {}: {refusal}\n{certificate:#?}", strategy.name());
    }
    let json = certificate.to_json(history);
    assert_eq!(Certificate::from_json(&json, history).expect("it was just written"), certificate);
    (decision.verdict, certificate.evidence)
}
