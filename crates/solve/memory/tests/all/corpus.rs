//! Every engine over the corpus, and over the traces of the axe checker if these are at hand.

use crate::common;
use std::path::PathBuf;
use std::{env, fs};

use common::verified_certificates;
use format::{ReadOptions, open};
use model::Verdict;

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

/// axe says whether `sc`, `tso` and `pso` allow a trace. If `sc` allows it, every model does.
#[test]
fn every_engine_agrees_with_axe() {
    let Some(data) = env::var_os("SERIATIM_SHARED_DATA") else {
        eprintln!("skipped: SERIATIM_SHARED_DATA is not set");
        return;
    };
    let mut all = 0;
    for folder in fs::read_dir(PathBuf::from(&data).join("axe")).expect("axe's folders") {
        let folder = folder.expect("a folder").path();
        if !folder.is_dir() {
            continue;
        }
        let verdicts = |name: &str| {
            let text = fs::read_to_string(folder.join(name)).expect("axe's verdicts");
            // A name may follow the verdict.
            text.lines().map(|line| line.split(' ').next() == Some("OK")).collect::<Vec<_>>()
        };
        let verdicts = [("sc", verdicts("SC.txt")), ("tso", verdicts("TSO.txt")), ("pso", verdicts("PSO.txt"))];
        let mut traces = 0;
        let mut violations = 0;
        for (at, history) in open(&folder.join("tests.axe"), &ReadOptions::default()).expect("axe's traces").enumerate()
        {
            let history = history.unwrap_or_else(|error| panic!("trace {at} in {folder:?}: {error}"));
            for certificate in verified_certificates(&history, &at) {
                let allowed = certificate.verdict == Verdict::Consistent;
                let of_axe = verdicts.iter().find(|(model, _)| *model == certificate.model.name());
                match of_axe {
                    Some((_, verdicts)) => {
                        assert_eq!(allowed, verdicts[at], "{at} in {folder:?}: {}", certificate.model);
                    }
                    None => assert!(allowed || !verdicts[0].1[at], "{at} in {folder:?}: {}", certificate.model),
                }
                violations += usize::from(!allowed);
            }
            traces += 1;
        }
        assert_eq!(traces, verdicts[0].1.len());
        assert!(violations > 0, "the traces in {folder:?} test nothing");
        all += traces;
    }
    assert!(all >= 199 + 2000, "{all} traces");
}
