//! What the tests of the engines share.

use history::{Execution, History};
use memory::{ExecutionChecker, MemoryOptions, c11};
use model::{Certificate, Model};
use verify::verify;

/// The certificates of all models that apply to a history. Each is verified, and read back from its JSON.
pub fn verified_certificates(history: &History, what: &dyn std::fmt::Display) -> Vec<Certificate> {
    let execution = Execution::from_history(history).expect("the history is an execution");
    let options = MemoryOptions { witness: true, ..MemoryOptions::default() };
    let (mut checker, mut asked) =
        (ExecutionChecker::new(&execution, &options), ExecutionChecker::new(&execution, &options));
    asked.ask_recorded();
    // `rc20` does not apply to sequentially consistent accesses.
    let speaks = |model: &Model| *model != Model::Rc20 || c11::without_sequential_accesses(&execution).is_ok();
    Model::ALL
        .into_iter()
        .filter(speaks)
        .map(|model| {
            let decision = checker.check(model);
            // Without a witness, an engine may use a quicker method. It must have the same verdict.
            let bare = memory::check(model, &execution, &MemoryOptions::default());
            assert_eq!(bare.verdict, decision.verdict, "{what}: {model}\n{}", show(&execution));
            let certificate = |decision| {
                let certificate = Certificate::new(0, history, model, decision);
                certificate.expect("every verdict has a certificate")
            };
            let recorded = asked.check(model);
            assert_eq!(recorded.verdict, decision.verdict, "{what}: {model}, as recorded\n{}", show(&execution));
            if recorded.strategy == "recorded" {
                assert_eq!(verify(&certificate(&recorded), history), Ok(()), "{what}: {model}, as recorded");
            }
            let certificate = certificate(&decision);
            if let Err(refusal) = verify(&certificate, history) {
                panic!("{what}: {model}: refused: {refusal}\n{certificate:?}\n{}", show(&execution));
            }
            let json = certificate.to_json(history);
            assert_eq!(Certificate::from_json(&json, history).expect("it was just written"), certificate);
            certificate
        })
        .collect()
}

/// An execution, with one line for each event.
pub fn show(execution: &Execution) -> String {
    let line = |id| {
        let event = execution.event(id);
        let (thread, location, source) = (execution.thread(id).0, event.location.0 as i32, event.source.0 as i32);
        format!("{}: thread {thread} {:?} {location} from {source}\n", id.0, event.kind)
    };
    execution.ids().map(line).collect()
}
