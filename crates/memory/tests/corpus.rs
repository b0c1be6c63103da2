//! Every engine over the corpus, and over the traces of the axe checker where these are at hand.

mod common;

use std::path::PathBuf;
use std::{env, fs};

use certificate::Verdict;
use common::verified_certificates;
use history::format::{ReadOptions, open};

#[test]
fn every_engine_agrees_with_the_corpus() {
    for entry in oracle::corpus::corpus() {
        for certificate in verified_certificates(&entry.history, &entry.name) {
            let expected = match entry.expected(certificate.model.name()) {
                Some("yes") => Verdict::Consistent,
                Some("no") => Verdict::Violation,
                other => panic!("{}: the corpus says {other:?}", entry.name),
            };
            assert_eq!(certificate.verdict, expected, "{}: {}", entry.name, certificate.model);
        }
    }
}

/// axe says whether a trace is sequentially consistent. If it is, every model of the causal family allows it.
#[test]
fn what_axe_finds_sequentially_consistent_is_causally_consistent() {
    let Some(data) = env::var_os("SERIATIM_SHARED_DATA") else {
        eprintln!("skipped: SERIATIM_SHARED_DATA is not set");
        return;
    };
    for folder in ["litmus", "random"] {
        let folder = PathBuf::from(&data).join("axe").join(folder);
        let verdicts = fs::read_to_string(folder.join("SC.txt")).expect("axe's verdicts");
        let mut traces = 0;
        let mut violations = 0;
        for (at, history) in open(&folder.join("tests.axe"), &ReadOptions::default()).expect("axe's traces").enumerate()
        {
            let history = history.unwrap_or_else(|error| panic!("trace {at}: {error}"));
            let sequentially_consistent = verdicts.lines().nth(at).is_some_and(|line| line.starts_with("OK"));
            for certificate in verified_certificates(&history, &at) {
                if certificate.verdict == Verdict::Violation {
                    assert!(!sequentially_consistent, "trace {at} in {folder:?}: {}", certificate.model);
                    violations += 1;
                }
            }
            traces += 1;
        }
        assert_eq!(traces, verdicts.lines().count());
        assert!(violations > 0, "the traces in {folder:?} test nothing");
    }
}
