//! What the benchmarks share. A benchmark may use only a part of it.
#![allow(dead_code)]

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

/// The least time of each of several runs, which take turns, so that none of them has the machine in a better state.
pub fn in_turns(rounds: usize, runs: &mut [Box<dyn FnMut() + '_>]) -> Vec<Duration> {
    let mut times = vec![Duration::MAX; runs.len()];
    for _ in 0..rounds {
        for (run, time) in runs.iter_mut().zip(&mut times) {
            *time = least(1, run).0.min(*time);
        }
    }
    times
}
