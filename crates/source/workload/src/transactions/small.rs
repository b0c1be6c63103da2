//! Small histories of transactions near the boundaries of the levels, for comparison with an oracle.

use history::History;

use super::{Store, TransactionConfig, history};
use crate::random::SplitMix64;

/// Small histories, as many as wanted: of registers and of lists, of every store, timed and untimed, with aborted and
/// unknown transactions, and with results changed at random. Each has at most 7 transactions of at most 5 operations.
///
/// ```
/// let mut histories = workload::transactions::small(7).take(50);
/// assert!(histories.all(|history| history.transaction_count() <= 7));
/// ```
pub fn small(seed: u64) -> impl Iterator<Item = History> {
    let mut random = SplitMix64::new(seed);
    std::iter::from_fn(move || {
        loop {
            let lists = random.percent(40);
            let config = TransactionConfig {
                store: random.pick(&Store::ALL),
                sessions: random.between(1, 4),
                operations: random.between(2, 16),
                keys: random.between(1, 3),
                zipf: false,
                length: random.between(1, 3),
                writes: random.between(30, 70),
                rmws: random.pick(&[0, 50, 100]),
                lists,
                aborts: random.pick(&[0, 0, 15]),
                unknown: random.pick(&[0, 0, 20]),
                untimed: random.percent(50),
                perturb: random.pick(&[0, 0, 1, 1, 2, 3]),
                anomaly: None,
                seed: random.next(),
            };
            let made = history(&config);
            if made.transaction_count() <= 7 {
                return Some(made);
            }
        }
    })
}
