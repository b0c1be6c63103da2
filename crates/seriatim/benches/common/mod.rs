//! What the benchmarks share.

use std::time::{Duration, Instant};

/// The least time of several runs, and what that run returned.
pub fn least<T>(runs: usize, mut run: impl FnMut() -> T) -> (Duration, T) {
    let mut timed = || {
        let start = Instant::now();
        let value = run();
        (start.elapsed(), value)
    };
    let mut best = timed();
    for _ in 1..runs {
        let next = timed();
        if next.0 < best.0 {
            best = next;
        }
    }
    best
}
