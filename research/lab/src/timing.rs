//! How long algorithms take on one history: they take turns, in rounds, and the least time of each counts. Times are of
//! the processor, so what else the machine does is not in them.

use std::time::Duration;

use memory::Budget;

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

/// Measures the time that this process uses of a processor.
#[derive(Copy, Clone, Debug)]
pub struct Stopwatch(Duration);

impl Stopwatch {
    /// It begins now.
    pub fn start() -> Self {
        Self(Self::now())
    }

    /// The time used since it began.
    pub fn elapsed(self) -> Duration {
        Self::now().saturating_sub(self.0)
    }

    fn now() -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
}

/// By how much a limit in time is longer on the clock of the wall: a machine with other work gives less of a processor.
pub const PATIENCE: u32 = 4;

/// When an algorithm is given up.
#[derive(Copy, Clone, Debug)]
pub enum Limit {
    /// After this time of the processor, or after [four times](PATIENCE) as long by the clock.
    Time(Duration),
    /// After so many steps: when it has asked its [budget](Budget::asks) so often. So what is decided does not depend
    /// on the machine, nor on what else it does. What a step is differs from algorithm to algorithm.
    Steps(u64),
}

impl From<Duration> for Limit {
    fn from(time: Duration) -> Self {
        Self::Time(time)
    }
}

impl Limit {
    /// What an algorithm may use that begins now.
    pub fn budget(self) -> Budget {
        match self {
            Self::Time(time) => Budget::default().timeout(time * PATIENCE),
            Self::Steps(steps) => Budget::default().asks(steps),
        }
    }
}

/// An algorithm on one history. It is to stop when the budget that it is given is used up.
pub struct Contender<'a> {
    /// The series.
    pub name: &'static str,
    /// Decides once.
    pub run: Box<dyn FnMut(&Budget) -> Outcome + 'a>,
}

impl<'a> Contender<'a> {
    /// An algorithm of that name.
    pub fn new(name: &'static str, run: impl FnMut(&Budget) -> Outcome + 'a) -> Self {
        Self { name, run: Box::new(run) }
    }
}

/// Lets all algorithms take turns on one history. The rows have the measures `undecided` and `violation` (0 or 1) of
/// each, and `seconds` of each that decided: what was given up has no time, so there is none in any figure. If two of
/// them decide differently, that is an error. The second result is what they decided, if anything.
pub fn take_turns(
    task: &Task<'_>,
    limit: impl Into<Limit>,
    contenders: &mut [Contender<'_>],
) -> Result<(Vec<Row>, Option<bool>), String> {
    let limit = limit.into();
    let mut least = vec![Duration::MAX; contenders.len()];
    let mut outcomes = vec![Outcome::Undecided; contenders.len()];
    for round in 0..ROUNDS {
        for (at, contender) in contenders.iter_mut().enumerate() {
            let is_meant = if round == 0 {
                !task.is_hopeless(contender.name)
            } else {
                outcomes[at] != Outcome::Undecided && least[at] < SHORT
            };
            if is_meant {
                let start = Stopwatch::start();
                let outcome = (contender.run)(&limit.budget());
                let elapsed = start.elapsed();
                // A decision after the time limit came too late.
                let is_late = matches!(limit, Limit::Time(time) if elapsed > time);
                if outcome != Outcome::Undecided && !is_late {
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
        let seconds = (outcome != Outcome::Undecided).then(|| time.as_secs_f64().max(1e-9));
        let is = |wanted| f64::from(u8::from(outcome == wanted));
        let seconds = seconds.map(|seconds| task.row(contender.name, "seconds", seconds));
        let told = [
            task.row(contender.name, "undecided", is(Outcome::Undecided)),
            task.row(contender.name, "violation", is(Outcome::Decided(false))),
        ];
        seconds.into_iter().chain(told)
    });
    Ok((rows.collect(), decided.map(|(allowed, _)| allowed)))
}
