//! The algorithms that decide a memory history, as contenders.

use baseline::literal::Algorithm;
use memory::{Budget, ExecutionChecker, MemoryOptions};
use model::{Certificate, Model, Verdict};

use super::histories::Sample;
use crate::timing::{Contender, Outcome};
use crate::{Rows, Series, table};

/// Seriatim by default, without and with a certificate.
pub(super) fn ours(model: Model, sample: &Sample) -> [Contender<'_>; 2] {
    [(Series::OURS[0].name, false), (Series::OURS[1].name, true)]
        .map(|(name, certificate)| Contender::new(name, move |budget| decide(model, sample, certificate, budget)))
}

fn decide(model: Model, sample: &Sample, certificate: bool, budget: &Budget) -> Outcome {
    let options = MemoryOptions { witness: certificate, budget: budget.clone(), ..MemoryOptions::default() };
    let decision = ExecutionChecker::new(&sample.execution, &options).check(model);
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
    Contender::new(name, move |budget| match algorithm.decide(&sample.execution, budget) {
        Ok(allowed) => Outcome::Decided(allowed),
        Err(_) => Outcome::Undecided,
    })
}

/// An algorithm for a weaker model. What it allows may still be a violation.
pub(super) fn weaker<'a>(name: &'static str, algorithm: Algorithm, sample: &'a Sample) -> Contender<'a> {
    Contender::new(name, move |budget| match algorithm.decide(&sample.execution, budget) {
        Ok(false) => Outcome::Decided(false),
        Ok(true) => Outcome::Passed,
        Err(_) => Outcome::Undecided,
    })
}

/// The series of these algorithms of a paper, and of Seriatim.
pub(super) fn series(algorithms: &[(&'static str, Algorithm)]) -> Vec<Series> {
    algorithms.iter().map(|it| Series::paper(it.0)).chain(Series::OURS).collect()
}

/// Whether one series takes less time than another at a point: medians over what both decided.
pub(super) fn is_faster(rows: &Rows, point: usize, one: &str, other: &str) -> bool {
    rows.medians_of_both(point, one, other).is_some_and(|(one, other)| one < other)
}

/// The series that decided the most at a point, and of those the fastest.
pub(super) fn fastest<'a>(rows: &Rows, point: usize, names: &[&'a str]) -> &'a str {
    table::best(rows, point, names.iter().copied()).unwrap_or("nothing")
}

/// The part of the samples that a series decided at a point.
pub(super) fn decided(rows: &Rows, point: usize, name: &str) -> f64 {
    let (all, decided) = rows.decided(point, name);
    decided.len() as f64 / all.max(1) as f64
}

/// How long a series takes at a point, in words.
pub(super) fn told(rows: &Rows, point: usize, name: &str) -> String {
    let (all, decided) = rows.decided(point, name);
    let time = rows.median(point, name).map_or_else(String::new, |it| format!("{} ms", table::milliseconds(it)));
    match decided.len() {
        0 => format!("{name} decides none of {all}"),
        some if some == all => format!("{name} takes {time}"),
        some => format!("{name} decides {some} of {all}, in {time}"),
    }
}
