//! Every level is compared with the axioms, enumerated by the oracle, and every certificate is verified.

use crate::common;
use common::{Small, cases, checker, decide};
use model::Verdict;
use model::{Isolation, Level, Sessions};

/// By level in each of its forms: how many violations there were, and how many consistent histories.
type Counts = [[u64; 2]; Level::ALL.len() * Sessions::ALL.len()];

fn compare(text: &str, counts: &mut Counts) {
    let history = format::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let Some(expected) = oracle::transaction::verdicts(&history) else {
        assert!(checker(&history).is_none(), "the sources are not known\n{text}");
        return;
    };
    let Some(checker) = checker(&history) else { panic!("the sources are known\n{text}") };
    for (number, isolation) in Isolation::all().enumerate() {
        let Isolation { level, sessions } = isolation;
        let Some(expected) = expected.all()[sessions as usize][level as usize] else {
            assert!(checker.check(isolation.model()).is_err());
            continue;
        };
        let decision =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| decide(&history, &checker, isolation.model())));
        let Ok(decision) = decision else { panic!("{}\n{text}", isolation.model()) };
        let found = decision.verdict == Verdict::Consistent;
        assert_eq!(found, expected, "{} by {}\n{text}", isolation.model(), decision.strategy);
        counts[number][usize::from(found)] += 1;
    }
}

fn run(small: &Small, seeds: std::ops::Range<u64>) {
    let mut counts: Counts = std::array::from_fn(|_| [0; 2]);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        compare(&small.text(seed), &mut counts);
    }
    for (isolation, [violations, consistent]) in Isolation::all().zip(counts) {
        let least = count / 40;
        let is_balanced = violations > least && consistent > least;
        assert!(is_balanced, "{}: {violations} violations, {consistent} consistent", isolation.model());
    }
}

#[test]
fn levels_agree_with_the_axioms() {
    run(&Small { transactions: 6, rmw: false }, 0..cases(3000));
}

#[test]
fn levels_agree_with_the_axioms_on_read_modify_writes() {
    run(&Small { transactions: 6, rmw: true }, 1_000_000..1_000_000 + cases(1500));
}

/// The implications of the table hold for the verdicts of the oracle.
#[test]
fn stronger_levels_imply_weaker_ones() {
    for seed in 0..cases(500) {
        let history = format::parse(&Small { transactions: 5, rmw: false }.text(seed)).unwrap();
        let Some(verdicts) = oracle::transaction::verdicts(&history) else { continue };
        let of = |isolation: Isolation| verdicts.all()[isolation.sessions as usize][isolation.level as usize];
        for isolation in Isolation::all() {
            for weaker in isolation.model().row().implies.iter().filter_map(|weaker| weaker.isolation()) {
                assert!(of(isolation) != Some(true) || of(weaker) == Some(true), "seed {seed}");
            }
        }
    }
    assert_eq!(Level::ALL.len(), oracle::transaction::Level::ALL.len(), "the oracle knows every level");
}
