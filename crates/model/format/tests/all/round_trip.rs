//! A history that is written and read again is the same, in every format and through chains of formats.

use crate::common;
use common::{Profile, canonical, parse_valid, print, random_history, random_transactions};
use format::{Format, Writer, render_operation};
use history::{Method, OperationId, Outcome};
use proptest::prelude::*;

fn survives(history: &history::History, formats: &[Format]) {
    let expected = canonical(history);
    let mut current = vec![history.clone()];
    for &format in formats {
        let printed = print(&current, format);
        current = parse_valid(printed.clone(), format);
        assert_eq!(current.len(), 1);
        assert_eq!(canonical(&current[0]), expected, "{}", String::from_utf8_lossy(&printed));
        assert_eq!(print(&current, format), printed, "printing again");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text(seed: u64) {
        survives(&random_history(seed, Profile::Anything), &[Format::Text]);
    }

    #[test]
    fn json_lines(seed: u64) {
        survives(&random_history(seed, Profile::Anything), &[Format::JsonLines]);
    }

    #[test]
    fn edn(seed: u64) {
        survives(&random_history(seed, Profile::Anything), &[Format::Edn]);
    }

    #[test]
    fn axe(seed: u64) {
        survives(&random_history(seed, Profile::Axe), &[Format::Axe]);
    }

    #[test]
    fn chain_without_axe(seed: u64) {
        let chain = [Format::Text, Format::JsonLines, Format::Edn, Format::Text, Format::Edn, Format::JsonLines];
        survives(&random_history(seed, Profile::Anything), &chain);
    }

    #[test]
    fn chain_with_axe(seed: u64) {
        let chain = [Format::Text, Format::Axe, Format::JsonLines, Format::Axe, Format::Edn, Format::Axe, Format::Text];
        survives(&random_history(seed, Profile::Axe), &chain);
    }

    #[test]
    fn corpora(seeds in prop::collection::vec(any::<u64>(), 1..6)) {
        for format in [Format::Text, Format::JsonLines, Format::Edn, Format::Axe] {
            let profile = if format == Format::Axe { Profile::Axe } else { Profile::Anything };
            let histories: Vec<_> = seeds.iter().map(|&seed| random_history(seed, profile)).collect();
            let again = parse_valid(print(&histories, format), format);
            let canonicals = |histories: &[history::History]| histories.iter().map(canonical).collect::<Vec<_>>();
            prop_assert_eq!(canonicals(&again), canonicals(&histories));
        }
    }

    #[test]
    fn transactions(seed: u64, lists: bool) {
        let history = random_transactions(seed, lists);
        // Without a write or an append, records do not tell lists from words.
        prop_assume!(!lists || history.operations().iter().any(|operation| operation.method != Method::Read));
        // tests/tables.rs has the formats of tables.
        let is_text = |format: &Format| !matches!(format, Format::Parquet | Format::Arrow);
        for format in Format::WRITTEN.into_iter().filter(is_text) {
            let mut writer = Writer::new(Vec::new(), format);
            if writer.write(&history).is_err() {
                let is_empty = history.operations().iter().all(|operation| operation.outcome == Outcome::Info);
                let is_foreign = matches!(format, Format::Plume | Format::Dbcop);
                prop_assert!(format == Format::Axe || is_foreign && (lists || is_empty));
                continue;
            }
            let dropped = !writer.dropped().is_empty();
            let printed = writer.finish().unwrap();
            let again = parse_valid(printed.clone(), format);
            if again.is_empty() {
                continue;
            }
            let show = |histories: &[history::History], format| String::from_utf8(print(histories, format)).unwrap();
            if format == Format::Text {
                prop_assert_eq!(show(&again, format), show(std::slice::from_ref(&history), format));
            }
            // What is read again says the same as what was written, or `dropped` says that it does not.
            if format == Format::JsonLines && !dropped {
                prop_assert_eq!(transactions_of(&again[0]), transactions_of(&history));
            }
            prop_assert_eq!(show(&again, format), String::from_utf8(printed).unwrap());
        }
    }
}

/// The transactions of each session, with their operations, and the pairs that are ordered in time.
fn transactions_of(history: &history::History) -> (Vec<String>, Vec<(usize, usize)>) {
    let mut shown = Vec::new();
    for (id, transaction) in history.transactions() {
        let operations = history.operation_range(id).map(|at| render_operation(history, OperationId(at)));
        let session = history.process_name(transaction.session);
        shown.push(format!("{session} {:?} {:?}", transaction.status, operations.collect::<Vec<_>>()));
    }
    let moments = history.transaction_moments();
    let mut ordered = Vec::new();
    for (first, &[_, end]) in moments.iter().enumerate() {
        ordered.extend((0..moments.len()).filter(|&second| end < moments[second][0]).map(|second| (first, second)));
    }
    (shown, ordered)
}
