//! A history that is written and read again is the same, in every format and through chains of formats.

mod common;

use common::{Profile, canonical, parse_valid, print, random_history};
use history::format::Format;
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
        for format in Format::ALL {
            let profile = if format == Format::Axe { Profile::Axe } else { Profile::Anything };
            let histories: Vec<_> = seeds.iter().map(|&seed| random_history(seed, profile)).collect();
            let again = parse_valid(print(&histories, format), format);
            let canonicals = |histories: &[history::History]| histories.iter().map(canonical).collect::<Vec<_>>();
            prop_assert_eq!(canonicals(&again), canonicals(&histories));
        }
    }
}
