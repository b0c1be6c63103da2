//! The search of store orders without hints.

use model::{Model, Verdict};
use workload::{cases, memory as atomic};

use super::*;
use crate::knobs::StoreKnobs;
use crate::{MemoryOptions, check};

/// Without hints, the search must make decisions, learn lemmas and go back.
#[test]
fn the_search_decides_without_hints() {
    let mut decisions = 0;
    for seed in 0..cases(150) {
        let config = atomic::MemoryConfig {
            threads: 4 + seed as u32 % 9,
            operations: 400,
            locations: 2 + seed as u32 % 5,
            perturb: seed as u32 % 2,
            seed,
            ..atomic::MemoryConfig::default()
        };
        let execution = atomic::execution(&config);
        let expected = check(Model::Sc, &execution, &MemoryOptions::default()).verdict;
        let frame = Frame::sequential(&execution);
        let Ok(saturated) = Saturated::new(&frame, &Budget::UNLIMITED) else {
            assert_eq!(expected, Verdict::Violation, "seed {seed}");
            continue;
        };
        let knobs = StoreKnobs { hints: 0, ..StoreKnobs::default() };
        let mut search = StoreOrder::search(&frame, saturated, knobs, &Budget::UNLIMITED);
        let found = matches!(search.run(&mut Steps::new(u64::MAX)), Ok(Ending::Found(_)));
        assert_eq!(found, expected == Verdict::Consistent, "seed {seed}");
        decisions += search.effort().decisions;
    }
    assert!(decisions > 0, "nothing had to be decided");
}
