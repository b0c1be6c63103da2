//! How long algorithms take on one history: they take turns, in rounds, and the least time of each counts.

use std::time::{Duration, Instant};

use crate::{Row, Task};

/// The most rounds. A first look at a history is slower than a second, for every algorithm, and the machine may have
/// other work.
const ROUNDS: u32 = 5;
/// An algorithm that took longer does not run again.
const SHORT: Duration = Duration::from_millis(100);

/// What an algorithm said.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It allows the history, or does not.
    Decided(bool),
    /// It ended without an answer: it decides a weaker model, which allows the history.
    Passed,
    /// It was out of time, or refused.
    Undecided,
}

/// An algorithm on one history. It is to stop at the instant that it is given.
pub struct Contender<'a> {
    /// The series.
    pub name: &'static str,
    /// Decides once.
    pub run: Box<dyn FnMut(Instant) -> Outcome + 'a>,
}

impl<'a> Contender<'a> {
    /// An algorithm of that name.
    pub fn new(name: &'static str, run: impl FnMut(Instant) -> Outcome + 'a) -> Self {
        Self { name, run: Box::new(run) }
    }
}

/// Lets all algorithms take turns on one history. The rows have the measures `seconds`, `undecided` and `violation` (0
/// or 1) of each. If two of them decide differently, that is an error. The second result is what they decided, if
/// anything.
pub fn take_turns(
    task: &Task<'_>,
    limit: Duration,
    contenders: &mut [Contender<'_>],
) -> Result<(Vec<Row>, Option<bool>), String> {
    let mut least = vec![limit; contenders.len()];
    let mut outcomes = vec![Outcome::Undecided; contenders.len()];
    for round in 0..ROUNDS {
        for (at, contender) in contenders.iter_mut().enumerate() {
            let is_meant = if round == 0 {
                !task.is_hopeless(contender.name)
            } else {
                outcomes[at] != Outcome::Undecided && least[at] < SHORT
            };
            if is_meant {
                let start = Instant::now();
                let outcome = (contender.run)(start + limit);
                let elapsed = start.elapsed();
                // A decision after the time limit came too late.
                if outcome != Outcome::Undecided && elapsed <= limit {
                    outcomes[at] = outcome;
                    least[at] = least[at].min(elapsed);
                }
            }
        }
    }
    let mut decided: Option<(bool, &str)> = None;
    for (contender, outcome) in contenders.iter().zip(&outcomes) {
        if let Outcome::Decided(allowed) = *outcome {
            match decided {
                Some((other, name)) if other != allowed => {
                    return Err(format!("{name} says {other}, {} says {allowed}", contender.name));
                }
                _ => decided = Some((allowed, contender.name)),
            }
        }
    }
    let rows = contenders.iter().zip(least).zip(outcomes).flat_map(|((contender, time), outcome)| {
        // A clock may stand still for a moment; the time of no algorithm is zero.
        let seconds = time.as_secs_f64().max(1e-9);
        let is = |wanted| f64::from(u8::from(outcome == wanted));
        [
            task.row(contender.name, "seconds", seconds),
            task.row(contender.name, "undecided", is(Outcome::Undecided)),
            task.row(contender.name, "violation", is(Outcome::Decided(false))),
        ]
    });
    Ok((rows.collect(), decided.map(|(allowed, _)| allowed)))
}
