//! Executions that are empty or nearly so. Every model decides them, and every certificate is verified.

use crate::common;
use common::verified_certificates;
use format::{Format, ReadOptions, read};
use history::History;
use model::Verdict;

fn parse(text: &str) -> Vec<History> {
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    read(Box::new(std::io::Cursor::new(text.to_owned())), &options).map(|it| it.expect("a good history")).collect()
}

/// Checks that every model has this verdict for a history.
#[track_caller]
fn assert_all(text: &str, expected: Verdict) {
    let histories = parse(text);
    assert_eq!(histories.len(), 1, "{text:?}");
    let certificates = verified_certificates(&histories[0], &text);
    assert!(certificates.len() >= 16, "{text:?}");
    for certificate in certificates {
        assert_eq!(certificate.verdict, expected, "{text:?}: {}", certificate.model);
    }
}

#[test]
fn no_operations() {
    assert_all("# @object memory\n", Verdict::Consistent);
}

#[test]
fn only_initial_values() {
    assert_all("# @init x 5\n", Verdict::Consistent);
    assert_all("# @init x 5\n# @init y 6\n# @init z word\n", Verdict::Consistent);
    assert_all("# @object register\n# @initial 3\n", Verdict::Consistent);
}

#[test]
fn only_fences() {
    assert_all("[0] f\n", Verdict::Consistent);
    assert_all("# @init x 5\n[0] f\n[1] f.acq\n[1] f.rel\n[2] f.acqrel\n", Verdict::Consistent);
    assert_all("[0] f.sc\n[1] f\n", Verdict::Consistent);
}

#[test]
fn only_final_values() {
    assert_all("# @final x 0\n", Verdict::Consistent);
    assert_all("# @init x 5\n# @final x 5\n", Verdict::Consistent);
    assert_all("# @final x 1\n", Verdict::Violation);
    assert_all("# @init x 5\n# @final x 5\n# @final y 1\n[0] f\n", Verdict::Violation);
}

#[test]
fn only_reads_or_only_writes() {
    assert_all("# @init x 5\n[0] r x 5\n[1] r x 5\n[1] r y 0\n", Verdict::Consistent);
    assert_all("# @init x 5\n# @init y 5\n[0] w x 1\n[1] w x 2\n", Verdict::Consistent);
    assert_all("[0] u x 0 1\n", Verdict::Consistent);
}
