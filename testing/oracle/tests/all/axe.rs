//! The oracle against the verdicts that come with the traces of the axe checker, if these are at hand.

use std::path::PathBuf;
use std::{env, fs};

use format::{ReadOptions, open};
use history::Execution;
use oracle::Model::{Pso, Sc, Tso};
use oracle::allowed;

#[test]
fn the_verdicts_of_axe_are_those_of_the_oracle() {
    let Some(data) = env::var_os("SERIATIM_SHARED_DATA") else {
        eprintln!("skipped: SERIATIM_SHARED_DATA is not set");
        return;
    };
    let mut traces = Vec::new();
    for folder in fs::read_dir(PathBuf::from(&data).join("axe")).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        let verdicts = |model: &str| fs::read_to_string(folder.join(model)).unwrap();
        let verdicts = [(Sc, verdicts("SC.txt")), (Tso, verdicts("TSO.txt")), (Pso, verdicts("PSO.txt"))];
        let mut compared = 0;
        for (at, history) in open(&folder.join("tests.axe"), &ReadOptions::default()).unwrap().enumerate() {
            let history = history.unwrap_or_else(|error| panic!("trace {at} in {folder:?}: {error}"));
            compared += 1;
            let execution = Execution::from_history(&history).unwrap_or_else(|error| panic!("trace {at}: {error}"));
            for (model, verdicts) in &verdicts {
                // A name may follow the verdict.
                let expected = match verdicts.lines().nth(at).and_then(|line| line.split_whitespace().next()) {
                    Some("OK") => true,
                    Some("NO") => false,
                    other => panic!("trace {at} has the verdict {other:?}"),
                };
                assert_eq!(allowed(*model, &execution), expected, "{} of trace {at} in {folder:?}", model.name());
            }
        }
        assert!(verdicts.iter().all(|(_, verdicts)| verdicts.lines().count() == compared), "{folder:?}");
        traces.push(compared);
    }
    assert!(traces.iter().sum::<usize>() >= 199 + 2000, "{traces:?}");
}
