//! What loom has beyond the names of the standard library.

use std::panic::Location;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::runtime;

/// How many threads loom can have. There is no such limit here.
pub const MAX_THREADS: usize = 5;

/// How to explore code, with the fields of `loom::model::Builder`. [`crate::Builder`] can do more, and gives the
/// verdict as a value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Builder {
    /// Not used: there is no limit.
    pub max_threads: usize,
    /// How many steps a thread may have; `LOOM_MAX_BRANCHES`, or 1000. More are a panic, as with loom.
    pub max_branches: usize,
    /// How many executions to visit at most; `LOOM_MAX_PERMUTATIONS`.
    pub max_permutations: Option<usize>,
    /// How long to explore at most; `LOOM_MAX_DURATION`, in seconds. If the time is up before all was explored, that is
    /// no pass: [`check`](Self::check) panics.
    pub max_duration: Option<Duration>,
    /// Not used: an execution has no preemptions here, and all executions are visited. If it is set, `check` says so.
    pub preemption_bound: Option<usize>,
    /// Not used: the exploration begins anew. If it is set, `check` says so.
    pub checkpoint_file: Option<PathBuf>,
    /// Not used: there are no checkpoints.
    pub checkpoint_interval: usize,
    /// Not used: everything is explored, whatever [`explore`] and [`stop_exploring`] say. If it is set, `check` says
    /// so.
    pub expect_explicit_explore: bool,
    /// Not used: places in the code are always known.
    pub location: bool,
    /// Whether to print the verdict; `LOOM_LOG`. The steps of executions are not logged: a finding has those that show
    /// it.
    pub log: bool,
}

fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("`{name}` is not a number: {text}")))
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// The default, or what loom's variables in the environment say.
    pub fn new() -> Self {
        Self {
            max_threads: MAX_THREADS,
            max_branches: variable("LOOM_MAX_BRANCHES").unwrap_or(1000),
            max_permutations: variable("LOOM_MAX_PERMUTATIONS"),
            max_duration: variable("LOOM_MAX_DURATION").map(Duration::from_secs),
            preemption_bound: variable("LOOM_MAX_PREEMPTIONS"),
            checkpoint_file: std::env::var_os("LOOM_CHECKPOINT_FILE").map(PathBuf::from),
            checkpoint_interval: 20_000,
            expect_explicit_explore: false,
            location: false,
            log: std::env::var_os("LOOM_LOG").is_some(),
        }
    }

    /// Sets the checkpoint file, which is not used.
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Self {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Explores the code under `c20`. Panics if there is a finding, if a thread has too many steps, or if the time is
    /// up. What else leaves executions out is printed, and so is what was asked for and is not done.
    #[track_caller]
    pub fn check(&self, code: impl Fn() + Sync + Send + 'static) {
        let builder = crate::Builder {
            max_steps: u32::try_from(self.max_branches).unwrap_or(u32::MAX),
            max_executions: self.max_permutations.map(|most| most as u64),
            deadline: self.max_duration.and_then(|time| Instant::now().checked_add(time)),
            ..crate::Builder::new()
        };
        for line in self.ignored() {
            eprintln!("loom on Seriatim: {line}");
        }
        let verdict = builder.check(code);
        assert!(verdict.finding.is_none(), "{verdict}");
        let crate::Counts { executions, blocked, bounded, .. } = verdict.counts;
        assert!(bounded == 0, "{verdict}: in {bounded} a thread has more than {} steps", self.max_branches);
        if !verdict.is_complete {
            let is_enough = self.max_permutations.is_some_and(|most| executions + blocked >= most as u64);
            assert!(is_enough, "{verdict}: the time of `max_duration` was up, so this is no pass");
            eprintln!("loom on Seriatim: {verdict}: as many as `max_permutations`");
        } else if self.log {
            println!("{verdict}");
        }
    }

    /// What was asked for and is not done.
    fn ignored(&self) -> Vec<String> {
        let bound = self.preemption_bound.map(|bound| {
            format!("`preemption_bound` {bound} is not used: every execution is explored, whatever its preemptions")
        });
        let file = self.checkpoint_file.as_ref().map(|file| {
            format!("`checkpoint_file` {} is neither read nor written: the exploration begins anew", file.display())
        });
        let explicit = self.expect_explicit_explore.then(|| {
            "`expect_explicit_explore` is not used: everything is explored, whatever `explore` says".to_owned()
        });
        [bound, file, explicit].into_iter().flatten().collect()
    }
}

/// Everything is explored, so this does nothing.
pub fn explore() {}

/// Everything is explored, so this does nothing.
pub fn stop_exploring() {}

/// This execution is of no interest: the thread stops here for good.
#[track_caller]
pub fn skip_branch() {
    runtime::expect().stop(Location::caller());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is not used is told if it is set, and only then.
    #[test]
    fn what_is_not_used_is_told() {
        let mut builder = Builder { preemption_bound: None, checkpoint_file: None, ..Builder::new() };
        assert_eq!(builder.ignored(), Vec::<String>::new());
        builder.preemption_bound = Some(2);
        builder.checkpoint_file("state.json");
        builder.expect_explicit_explore = true;
        let told = builder.ignored();
        for (line, begin) in told.iter().zip([
            "`preemption_bound` 2 is not used",
            "`checkpoint_file` state.json is neither read nor written",
            "`expect_explicit_explore` is not used",
        ]) {
            assert!(line.starts_with(begin), "{line}");
        }
        assert_eq!(told.len(), 3);
    }
}
