//! The algorithms that decide a memory history, as contenders.

use std::time::Instant;

use certificate::{Certificate, Model, Verdict};
use memory::{Checker, Options};

use super::histories::Sample;
use crate::Series;
use crate::timing::{Contender, Outcome};

/// Seriatim by default, without and with a certificate.
pub(super) fn ours(model: Model, sample: &Sample) -> [Contender<'_>; 2] {
    [(Series::OURS[0].name, false), (Series::OURS[1].name, true)]
        .map(|(name, certificate)| Contender::new(name, move |deadline| decide(model, sample, certificate, deadline)))
}

fn decide(model: Model, sample: &Sample, certificate: bool, deadline: Instant) -> Outcome {
    let options = Options { witness: certificate, deadline: Some(deadline) };
    let decision = Checker::new(&sample.execution, &options).check(model);
    if certificate && Certificate::new(0, &sample.history, model, &decision).is_none() {
        return Outcome::Undecided;
    }
    match decision.verdict {
        Verdict::Consistent => Outcome::Decided(true),
        Verdict::Violation => Outcome::Decided(false),
        Verdict::Unknown => Outcome::Undecided,
    }
}
