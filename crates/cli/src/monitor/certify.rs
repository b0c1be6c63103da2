//! The certificate of a violation, from the recorded history that ends with it.

use std::io::Read;
use std::time::{Duration, Instant};

use certificate::{Certificate, Decision, Evidence, Model, Verdict, verify};
use history::format::{ReadOptions, read};
use history::performed::Performed;
use history::{Execution, History};
use object::{Interrupt, ObjectHistory};

/// How long the checker of the whole history may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The history of a recorded text, and the certificate that it violates the model: with the evidence of the monitor, if
/// it has any and it is proof, else with that of the checker.
pub(super) fn certify(
    text: Box<dyn Read + Send>,
    options: &ReadOptions,
    model: Model,
    number: u32,
    evidence: Option<&Evidence>,
) -> Result<(History, Certificate), String> {
    let history = read(text, options).next().ok_or("nothing was recorded")?.map_err(|error| error.to_string())?;
    if let Some(evidence) = evidence {
        let decision = Decision {
            verdict: Verdict::Violation,
            strategy: "monitor",
            reason: None,
            evidence: Some(evidence.clone()),
        };
        let certificate = Certificate::new(number, &history, model, &decision).ok_or("there is no evidence")?;
        if verify(&certificate, &history).is_ok() {
            return Ok((history, certificate));
        }
    }
    let decision = decide(&history, model)?;
    match decision.verdict {
        Verdict::Violation => {}
        Verdict::Unknown => return Err(decision.reason.unwrap_or_else(|| "no reason is known".to_owned())),
        Verdict::Consistent => {
            return Err("the checker does not find a violation: this is a bug in seriatim".to_owned());
        }
    }
    let certificate = Certificate::new(number, &history, model, &decision).ok_or("there is no evidence")?;
    verify(&certificate, &history).map_err(|refusal| format!("{refusal}: this is a bug in seriatim"))?;
    Ok((history, certificate))
}

fn decide(history: &History, model: Model) -> Result<Decision, String> {
    let deadline = Instant::now().checked_add(PATIENCE);
    match model {
        Model::ScObserved => {
            let performed = Performed::from_history(history).map_err(|error| error.to_string())?;
            Ok(memory::observed::check(&performed, false))
        }
        Model::Linearizable => {
            let view = ObjectHistory::new(history).map_err(|error| error.to_string())?;
            let options = object::Options { interrupt: Interrupt { deadline }, ..object::Options::default() };
            Ok(object::check(&view, &options))
        }
        _ => {
            let execution = Execution::from_history(history).map_err(|error| error.to_string())?;
            let options = memory::Options { witness: false, deadline };
            Ok(memory::Checker::new(&execution, &options).check(model))
        }
    }
}
