//! The algorithms that decide a memory history, as contenders.

use std::time::Instant;

use baseline::literal::Algorithm;
use memory::{Budget, Checker, Options};
use model::{Certificate, Model, Verdict};

use super::histories::Sample;
use crate::timing::{Contender, Outcome};
use crate::{Rows, Series};

/// Seriatim by default, without and with a certificate.
pub(super) fn ours(model: Model, sample: &Sample) -> [Contender<'_>; 2] {
    [(Series::OURS[0].name, false), (Series::OURS[1].name, true)]
        .map(|(name, certificate)| Contender::new(name, move |deadline| decide(model, sample, certificate, deadline)))
}

fn decide(model: Model, sample: &Sample, certificate: bool, deadline: Instant) -> Outcome {
    let options =
        Options { witness: certificate, budget: Budget::default().until(Some(deadline)), ..Options::default() };
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

/// An algorithm as its paper writes it, for the model of the experiment.
pub(super) fn literal<'a>(name: &'static str, algorithm: Algorithm, sample: &'a Sample) -> Contender<'a> {
    Contender::new(name, move |deadline| {
        match algorithm.decide(&sample.execution, &Budget::default().until(Some(deadline))) {
            Ok(allowed) => Outcome::Decided(allowed),
            Err(_) => Outcome::Undecided,
        }
    })
}

/// An algorithm for a weaker model. What it allows may still be a violation.
pub(super) fn weaker<'a>(name: &'static str, algorithm: Algorithm, sample: &'a Sample) -> Contender<'a> {
    Contender::new(name, move |deadline| {
        match algorithm.decide(&sample.execution, &Budget::default().until(Some(deadline))) {
            Ok(false) => Outcome::Decided(false),
            Ok(true) => Outcome::Passed,
            Err(_) => Outcome::Undecided,
        }
    })
}

/// The series of these algorithms of a paper, and of Seriatim.
pub(super) fn series(algorithms: &[(&'static str, Algorithm)]) -> Vec<Series> {
    algorithms.iter().map(|it| Series::paper(it.0)).chain(Series::OURS).collect()
}

/// Whether one series takes less time than another at a point, on average.
pub(super) fn is_faster(rows: &Rows, point: usize, one: &str, other: &str) -> bool {
    rows.mean(point, one, "seconds") < rows.mean(point, other, "seconds")
}

/// The series that takes the least time at a point, on average, and that time.
pub(super) fn fastest<'a>(rows: &Rows, point: usize, names: &[&'a str]) -> (&'a str, f64) {
    let timed = names.iter().filter_map(|&name| Some((name, rows.mean(point, name, "seconds")?)));
    timed.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(("nothing", 0.0))
}
