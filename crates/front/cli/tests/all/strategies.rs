//! The strategy that a verdict names is one that `--strategy` takes, and with it the verdict is the same.

use crate::common;
use std::collections::{BTreeMap, BTreeSet};

use common::{json, seriatim};

#[test]
fn the_strategy_that_is_printed_is_accepted_and_decides_the_same() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testing/corpus/papers-sc.hist");
    let records = json(&seriatim(["check", "--json", "--model", "all", corpus]).out);
    let key = |record: &serde_json::Value| (record["history"].as_u64(), record["model"].as_str().map(str::to_owned));
    let strategies: BTreeSet<&str> = records.iter().map(|record| record["strategy"].as_str().unwrap()).collect();
    assert!(strategies.len() > 5, "{strategies:?}");
    for strategy in strategies {
        let again = json(&seriatim(["check", "--json", "--model", "all", "--strategy", strategy, corpus]).out);
        let again: BTreeMap<_, _> = again.iter().map(|record| (key(record), record)).collect();
        for record in records.iter().filter(|record| record["strategy"] == strategy) {
            let same = again[&key(record)];
            assert_eq!((&same["verdict"], &same["strategy"]), (&record["verdict"], &record["strategy"]), "{record}");
        }
    }
}

#[test]
fn the_help_names_every_strategy_with_its_models() {
    let help = seriatim(["check", "--help"]).out;
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "- auto:",
        "- search: c20, rc11, sra, pso, tso, sc:",
        "- coherence: wpso, pso, wtso, tso:",
        "- constraint-graph: sc-observed:",
    ] {
        assert!(words.contains(expected), "{expected}: {words}");
    }
}

/// Everything in the table of models is printed, and every tactic that is named there is explained.
#[test]
fn the_table_of_models_is_printed_whole() {
    let text = seriatim(["models", "--long"]).out;
    let records = json(&seriatim(["models", "--json"]).out);
    let explained: BTreeSet<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("Tactics"))
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_once(": ").map(|(name, _)| name))
        .collect();
    for record in records {
        let heading = format!("{}: {}", record["model"].as_str().unwrap(), record["title"].as_str().unwrap());
        assert!(text.lines().any(|line| line == heading), "{heading}");
        for tactic in record["tactics"].as_array().unwrap() {
            assert!(explained.contains(tactic.as_str().unwrap()), "{tactic}");
        }
    }
    assert_eq!(seriatim(["models", "--long", "--json"]).status, 2);
}
