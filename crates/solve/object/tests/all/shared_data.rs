//! The recorded histories of other tools. Every verdict agrees with theirs, and every certificate verifies.
//!
//! The environment variable `SERIATIM_SHARED_DATA` names their folder. Without it, there is nothing to test.

use std::path::{Path, PathBuf};
use std::time::Duration;

use format::{ReadOptions, open};
use history::History;
use model::{Certificate, Decided, Model, Verdict};
use object::{Algorithm, Budget, ObjectHistory, ObjectOptions, check};
use verify::verify;

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("SERIATIM_SHARED_DATA").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: SERIATIM_SHARED_DATA is not set");
    }
    folder
}

fn read(path: &Path) -> History {
    let mut reader = open(path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    reader.next().expect("a history").unwrap_or_else(|error| panic!("{}: {error:?}", path.display()))
}

fn decide(history: &History, algorithm: Algorithm) -> Decided {
    let view = ObjectHistory::new(history).expect("an object history");
    let budget = Budget::default().timeout(Duration::from_secs(60));
    check(&view, &ObjectOptions { witness: true, algorithm, budget, ..ObjectOptions::default() })
}

/// Checks one file by all algorithms that apply.
fn check_file(path: &Path, expected: Verdict) {
    let history = read(path);
    for algorithm in [Algorithm::Auto, Algorithm::Fast, Algorithm::Search] {
        // The search is exponential. So it is not asked about long histories that the fast algorithms decide.
        if algorithm == Algorithm::Search && history.operations().len() > 200 {
            continue;
        }
        let decision = decide(&history, algorithm);
        if algorithm == Algorithm::Fast && decision.verdict == Verdict::Unknown {
            continue;
        }
        assert_eq!(decision.verdict, expected, "{} by {algorithm:?}: {:?}", path.display(), decision.reason);
        let certificate = Certificate::new(0, &history, Model::Linearizable, &decision).expect("evidence");
        if let Err(refusal) = verify(&certificate, &history) {
            panic!("{} by {algorithm:?}: {refusal}", path.display());
        }
    }
}

fn check_table(name: &str, count: usize) {
    let Some(folder) = folder().map(|folder| folder.join(name)) else {
        return;
    };
    let table = std::fs::read_to_string(folder.join("verdicts.tsv")).expect("a table of verdicts");
    let mut seen = 0;
    for line in table.lines().skip(1) {
        let mut columns = line.split('\t');
        let file = columns.next().expect("a file");
        let expected = match columns.next_back().expect("a verdict") {
            "linearizable" => Verdict::Consistent,
            "violation" => Verdict::Violation,
            other => panic!("{other} is not a verdict"),
        };
        check_file(&folder.join(file), expected);
        seen += 1;
    }
    assert_eq!(seen, count);
}

#[test]
fn violin() {
    check_table("violin", 1015);
}

#[test]
fn violin_by_hand() {
    let Some(folder) = folder().map(|folder| folder.join("violin/simple")) else {
        return;
    };
    for name in [
        "dup-removes",
        "fifo-violation-1",
        "invalid-remove",
        "lifo-violation-1",
        "lifo-violation-dhk-1",
        "lifo-violation-dhk-2",
    ] {
        check_file(&folder.join(format!("{name}.log")), Verdict::Violation);
    }
    check_file(&folder.join("lifo-safe-dhk-2.log"), Verdict::Consistent);
    // The names of the figures do not tell the verdict. So the algorithms are compared with each other.
    for name in ["figure9", "figure11"] {
        let path = folder.join(format!("{name}.log"));
        check_file(&path, decide(&read(&path), Algorithm::Search).verdict);
    }
}

#[test]
fn porcupine() {
    check_table("porcupine", 34);
}

#[test]
fn knossos() {
    check_table("knossos", 12);
}
