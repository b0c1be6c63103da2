//! A test of `#[seriatim::test]`: what its arguments say, and what it does.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::{Builder, Verdict};
use crate::model::Model;
use crate::random::RandomStrategy;

/// How a test runs. `#[seriatim::test(model = "tso", max_steps = 100)]` sets these fields.
///
/// ```
/// use explore::Trial;
/// use explore::sync::atomic::{AtomicUsize, Ordering};
/// use explore::{sync::Arc, thread};
///
/// let test = || {
///     let counter = Arc::new(AtomicUsize::new(0));
///     let other = Arc::clone(&counter);
///     let adds = thread::spawn(move || other.fetch_add(1, Ordering::Relaxed));
///     counter.fetch_add(1, Ordering::Relaxed);
///     adds.join().unwrap();
///     assert_eq!(counter.load(Ordering::Relaxed), 2);
/// };
/// Trial::default().run(test);
/// Trial { mode: "uniform", seeds: 0..100, ..Trial::default() }.run(test);
/// ```
#[derive(Clone, Debug)]
pub struct Trial {
    /// The memory model; `c20` at first.
    pub model: &'static str,
    /// `all` executions, or the [strategy](RandomStrategy) of random runs: `uniform`, `pct`, `pctwm`.
    pub mode: &'static str,
    /// The seeds of random runs; 0 to 999 at first.
    pub seeds: Range<u64>,
    /// For `pct` and `pctwm`: how many events make the bug; 3 at first.
    pub depth: u32,
    /// For `pctwm`: how far a read that is not ordinary looks back; 2 at first.
    pub history: u32,
    /// As in [`Builder`]. If a thread has more steps, the test fails.
    pub max_steps: u32,
    /// How many executions to visit at most. If there are more, the test says so and passes.
    pub max_executions: Option<u64>,
    /// As in [`Builder`].
    pub max_spins: u32,
    /// As in [`Builder`].
    pub spurious_failures: u32,
    /// As in [`Builder`].
    pub symmetry: bool,
    /// As in [`Builder`].
    pub leaks: bool,
    /// How long to explore. If the time is up before all was explored, that is no pass.
    pub seconds: Option<u64>,
    /// The token of an execution that is repeated, and no other.
    pub replay: Option<&'static str>,
}

impl Default for Trial {
    fn default() -> Self {
        let Builder { max_steps, max_executions, max_spins, leaks, symmetry, spurious_failures, .. } = Builder::new();
        Self {
            model: Model::C20.name(),
            mode: "all",
            seeds: 0..1000,
            depth: 3,
            history: 2,
            max_steps,
            max_executions,
            max_spins,
            spurious_failures,
            symmetry,
            leaks,
            seconds: None,
            replay: None,
        }
    }
}

impl Trial {
    /// Runs a test.
    ///
    /// # Panics
    ///
    /// If there is a finding, which the message tells with the line that repeats it; if some thread had too many steps,
    /// or the time was up; if an argument is none.
    pub fn run(self, test: impl Fn() + 'static) {
        let names = Model::ALL.map(Model::name).join(", ");
        let Some(model) = Model::from_name(self.model) else {
            panic!("`model` is one of {names}, and not {}", self.model);
        };
        let Self { max_steps, max_executions, max_spins, leaks, symmetry, spurious_failures, depth, history, .. } =
            self;
        let time = self.seconds.map(Duration::from_secs);
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        let builder = Builder {
            model,
            max_steps,
            max_executions,
            max_spins,
            leaks,
            spurious_failures,
            symmetry,
            deadline,
            ..Builder::new()
        };
        let strategy = match self.mode {
            "all" => None,
            "uniform" => Some(RandomStrategy::Uniform),
            "pct" => Some(RandomStrategy::Pct { depth }),
            "pctwm" => Some(RandomStrategy::Pctwm { depth, history }),
            other => panic!("`mode` is one of all, uniform, pct, pctwm, and not {other}"),
        };
        let verdict = match (self.replay, strategy) {
            (Some(token), _) => match builder.replay(token, test) {
                Some(verdict) => verdict,
                None => panic!("the test has no such execution (any more): {token}"),
            },
            (None, Some(strategy)) => builder.sample(strategy, self.seeds, test),
            (None, None) => builder.check(test),
        };
        let Verdict { counts, is_complete, finding, trace, .. } = &verdict;
        if finding.is_some() {
            let token = trace.as_ref().map(|trace| &*trace.token).unwrap_or_default();
            panic!("{verdict}\nto repeat it: #[seriatim::test(replay = \"{token}\")]");
        }
        assert!(counts.bounded == 0, "{verdict}: in {} a thread has more than {max_steps} steps", counts.bounded);
        if self.replay.is_some() || strategy.is_some() || *is_complete {
            return;
        }
        let is_enough = max_executions.is_some_and(|most| counts.executions + counts.blocked >= most);
        assert!(is_enough, "{verdict}: the time of `seconds` was up, so this is no pass");
        eprintln!("{verdict}: as many as `max_executions`");
    }
}
