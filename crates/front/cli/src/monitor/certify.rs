//! Makes the certificate of a violation, from the recorded history that ends with it.

use std::time::Duration;

use ::verify::verify;
use history::History;
use model::{Certificate, Evidence, Model, Verdict};
use seriatim::{Options, check};

/// How long the checker of the whole history may take.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The recorded history, and the certificate that it violates the model. The certificate has the evidence of the
/// monitor, if that is a proof. Otherwise it has the evidence of the checker.
pub(super) fn certify(
    history: History,
    model: Model,
    number: u32,
    evidence: Option<&Evidence>,
) -> Result<(History, Certificate), String> {
    if let Some(evidence) = evidence {
        let certificate = Certificate::of(number, &history, model, Verdict::Violation, evidence.clone());
        if verify(&certificate, &history).is_ok() {
            return Ok((history, certificate));
        }
    }
    let options = Options::default().timeout(TIME_LIMIT);
    let decision = check(&history, model, &options).map_err(|misfit| misfit.to_string())?;
    match decision.verdict {
        Verdict::Violation => {}
        Verdict::Unknown => return Err(decision.reason.unwrap_or_else(|| "no reason is known".to_owned())),
        Verdict::Consistent => {
            return Err("the checker does not find a violation: this is a bug in seriatim".to_owned());
        }
    }
    let certificate = decision.certificate(number, &history).ok_or("there is no evidence")?;
    verify(&certificate, &history).map_err(|refusal| format!("{refusal}: this is a bug in seriatim"))?;
    Ok((history, certificate))
}
