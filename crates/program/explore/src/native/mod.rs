//! Rust code as a program.
//!
//! A thread of the program is a coroutine. It runs until it accesses memory that is modelled, says what it wants, and
//! goes on with the value that the exploration has chosen. No thread of the operating system is involved.
//!
//! The code is run again from the start for each execution, and fed with the values of the graph as far as it goes
//! ([`replay`]). What is modelled has names that hold for one run ([`place`], [`names`]). The data that is not modelled
//! lives in the memory of the real machine. A data race is found when its second access is asked for, before any code
//! acts on it.
//!
//! *Why this is sound.* All threads of a run are on one thread of the operating system, and one of them runs at a time,
//! so what belongs to the run has no second user. The pointers to the run and to the thread that runs are set by a
//! guard (`runtime::Run::enter`) and used below it only. What safe code can keep beyond an execution (a reference from
//! a `OnceLock`, a `LazyLock` or a `lazy_static!`) stays for ever. Data in a static belongs to one execution at a time
//! (`runtime/statics.rs`). What a lock protects is given out by its guard, as the standard library's is. Miri runs all
//! that makes no coroutine (`tests/all/outside.rs`). It cannot run coroutines, which change stacks in assembly: runs,
//! the replay, freed memory and the data of statics are held by tests alone.

pub mod alloc;
pub mod cell;
pub mod future;
pub mod hint;
pub mod lazy_static;
pub(crate) mod loom;
mod macros;
mod names;
mod object;
mod place;
mod replay;
mod runtime;
pub mod sync;
pub mod thread;
mod titles;
mod trial;
mod visit;
mod workers;

use std::fmt;
use std::ops::ControlFlow;
use std::panic::Location;
use std::rc::Rc;
use std::time::Instant;

use crate::exploration::{Counts, Estimate, Exploration, ExplorationEnding};
use crate::graph::Graph;
use crate::model::Model;
use crate::program::Step;
use crate::random::{RandomStrategy, Sampler};
use crate::trace::{Taken, Trace, read_token};
use place::Kind;
use replay::{Lessons, Native};

pub use object::{Broken, Called, Calls, Clients, Object, ObjectVerdict, clients, object};
pub use trial::Trial;

/// Explores every execution of the code under `c20`. Panics if one of them has a finding: a panic, a data race or a
/// deadlock.
///
/// ```
/// use explore::sync::Arc;
/// use explore::sync::atomic::{AtomicUsize, Ordering};
/// use explore::thread;
///
/// explore::model(|| {
///     let counter = Arc::new(AtomicUsize::new(0));
///     let other = {
///         let counter = Arc::clone(&counter);
///         thread::spawn(move || counter.fetch_add(1, Ordering::Relaxed))
///     };
///     counter.fetch_add(1, Ordering::Relaxed);
///     other.join().unwrap();
///     assert_eq!(counter.load(Ordering::Relaxed), 2);
/// });
/// ```
#[track_caller]
pub fn model(code: impl Fn() + 'static) {
    let verdict = Builder::new().check(code);
    assert!(verdict.finding.is_none(), "{verdict}");
}

/// How to explore code.
#[derive(Copy, Clone, Debug)]
pub struct Builder {
    /// The model; `c20` at first.
    pub model: Model,
    /// How many steps a thread may have; 1000 at first.
    pub max_steps: u32,
    /// How many steps all threads may have together.
    pub max_events: Option<u32>,
    /// How many threads there may be, the first one among them.
    pub max_threads: Option<u32>,
    /// How many executions to visit at most.
    pub max_executions: Option<u64>,
    /// A loop that hints that it spins ([`hint::spin_loop`], [`thread::yield_now`]), and that has no effect on modelled
    /// memory, is taken to wait for ever after this many rounds; 0 at first. If the code gives up after a number of
    /// rounds and does something else, this must be that number.
    pub max_spins: u32,
    /// Whether memory with an atomic or a cell in it that is left when all threads have finished is a finding. It needs
    /// the allocator [`alloc::Quarantine`].
    pub leaks: bool,
    /// How often a weak compare-exchange may fail without a reason: at each place in the code of a thread, in an
    /// execution; 1 at first. With 0 it is a strong one, and the verdict says so.
    pub spurious_failures: u32,
    /// How often a wait for a [`sync::Condvar`], or [`thread::park`], may end without a reason, counted in the same
    /// way; 1 at first. The verdict says if it could have been more often.
    pub spurious_wakes: u32,
    /// How often the time of a wait may run out, counted in the same way; 1 at first. With 0 it never does.
    pub timeouts: u32,
    /// Whether an execution is a deadlock, too, if its threads could go on by reading old values and need not: the last
    /// writes do not have what they wait for, so a fair scheduler does not end it. True at first.
    pub liveness: bool,
    /// Whether of executions that differ in the names of [alike](thread::alike()) threads alone not all are visited.
    /// True at first.
    pub symmetry: bool,
    /// When to stop at the latest.
    pub deadline: Option<Instant>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            model: Model::C20,
            max_steps: 1000,
            max_events: None,
            max_threads: None,
            max_executions: None,
            max_spins: 0,
            leaks: false,
            spurious_failures: 1,
            spurious_wakes: 1,
            timeouts: 1,
            liveness: true,
            symmetry: true,
            deadline: None,
        }
    }
}

/// If there was no time to visit all executions, their number is estimated from so many random walks.
const WALKS: u64 = 64;

/// What is wrong with the code, in one execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A thread panicked: the message.
    Panic(String),
    /// Two accesses race: where they are in the code.
    Race([String; 2]),
    /// Threads wait for each other, or for nothing that can come: where they are in the code.
    Deadlock(Vec<String>),
    /// An atomic or a cell is accessed that does not happen before its memory is freed: who frees it, and the access.
    UseAfterFree([String; 2]),
    /// Memory is freed twice: by whom.
    DoubleFree([String; 2]),
    /// All threads have finished, and something is left that should have been dropped: where it was made.
    Leak(Vec<String>),
    /// The calls of an object are not allowed ([`object`](crate::object)).
    Refused,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(message) => write!(f, "a thread panicked: {message}"),
            Self::Race([one, other]) => write!(f, "data race: {one} and {other}"),
            Self::Deadlock(places) => write!(f, "deadlock: threads wait at {}", places.join(", ")),
            Self::Refused => f.write_str("the calls are not allowed"),
            Self::UseAfterFree([freed, used]) => write!(f, "use after free: {used}; freed by {freed}"),
            Self::DoubleFree([one, other]) => write!(f, "double free: by {one}, and by {other}"),
            Self::Leak(places) => write!(f, "leak: {}", places.join(", ")),
        }
    }
}

/// What an exploration of code has found.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// How many executions there are of each kind.
    pub counts: Counts,
    /// The first finding; the exploration stops there.
    pub finding: Option<Finding>,
    /// Whether every execution was visited, and no thread had too many steps.
    pub is_complete: bool,
    /// The seed of the run with the finding, if the runs were random.
    pub seed: Option<u64>,
    /// The execution with the finding.
    pub trace: Option<Trace>,
    /// What was left out, and could have led to a finding.
    pub omitted: Omitted,
    /// About how many executions there are, if there was no time to visit all.
    pub estimate: Option<Estimate>,
}

/// What an exploration does not look at.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// The code keeps addresses in atomics, and nobody tells which memory it frees: the global allocator is not
    /// [`alloc::Quarantine`]. So uses of memory that was freed, and memory that is freed twice, are not found.
    pub freed_memory: bool,
    /// A weak compare-exchange could have failed without a reason once more: it did so only as often as told.
    pub spurious_failures: Option<u32>,
    /// A wait could have ended without a reason once more, in the same way.
    pub spurious_wakes: Option<u32>,
    /// The time of a wait could have run out once more, in the same way.
    pub timeouts: Option<u32>,
}

impl fmt::Display for Omitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.freed_memory {
            f.write_str("; uses of freed memory are not found without `explore::alloc::Quarantine`")?;
        }
        let fails = "a weak compare-exchange fails without a reason";
        let said = [
            (self.spurious_failures, "weak compare-exchanges are taken as strong", fails),
            (self.spurious_wakes, "no wait ends without a reason", "a wait ends without a reason"),
            (self.timeouts, "no wait runs out of time", "a wait runs out of time"),
        ];
        for (most, never, happens) in said {
            match most {
                Some(0) => write!(f, "; {never}"),
                Some(1) => write!(f, "; {happens} at most once at each place"),
                Some(most) => write!(f, "; {happens} at most {most} times at each place"),
                None => Ok(()),
            }?;
        }
        Ok(())
    }
}

impl Omitted {
    /// What either does not look at.
    fn with(self, other: Self) -> Self {
        Self {
            freed_memory: self.freed_memory || other.freed_memory,
            spurious_failures: self.spurious_failures.or(other.spurious_failures),
            spurious_wakes: self.spurious_wakes.or(other.spurious_wakes),
            timeouts: self.timeouts.or(other.timeouts),
        }
    }
}

impl Verdict {
    fn new(mut counts: Counts, finding: Option<Finding>, is_complete: bool, seed: Option<u64>) -> Self {
        // An execution with a race is a finding, also if it went to its end.
        counts.executions -= counts.races;
        let is_complete = is_complete && counts.bounded == 0;
        Self { counts, finding, is_complete, seed, trace: None, omitted: Omitted::default(), estimate: None }
    }

    /// The same with the most ordinary execution that has the finding.
    fn with(self, trace: Option<Trace>, builder: &Builder, code: &Rc<dyn Fn()>) -> Self {
        let trace = trace.map(|trace| builder.shrunk(trace, self.finding.as_ref(), code));
        Self { trace, ..self }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let executions = self.counts.executions;
        match &self.finding {
            Some(finding) => {
                write!(f, "{finding} (after {executions} executions without a finding")?;
                match self.seed {
                    Some(seed) => write!(f, "; seed {seed})"),
                    None => f.write_str(")"),
                }?;
                match &self.trace {
                    Some(trace) => write!(f, "\n{trace}"),
                    None => Ok(()),
                }
            }
            None if self.is_complete => write!(f, "no finding in all {executions} executions{}", self.omitted),
            None if self.counts.bounded > 0 => {
                let (bounded, omitted) = (self.counts.bounded, self.omitted);
                write!(
                    f,
                    "no finding in {executions} executions; {bounded} more are bounded, and not at their end{omitted}"
                )
            }
            None => {
                write!(f, "no finding in {executions} executions, which are not all")?;
                if let Some(estimate) = &self.estimate {
                    write!(f, " ({})", estimate.covered(executions + self.counts.blocked))?;
                }
                write!(f, "{}", self.omitted)
            }
        }
    }
}

impl Builder {
    /// The default: `c20`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Explores every execution of the code, up to the first finding. The code must do the same whenever it reads the
    /// same values; if not, this panics.
    pub fn check(&self, code: impl Fn() + 'static) -> Verdict {
        self.explore(&(Rc::new(code) as Rc<dyn Fn()>), &mut |_, _| None)
    }

    /// The same, with one more question for each execution.
    fn explore(
        &self,
        code: &Rc<dyn Fn()>,
        ask: &mut dyn FnMut(&Graph, ExplorationEnding) -> Option<Finding>,
    ) -> Verdict {
        let mut lessons = Lessons::default();
        loop {
            let mut exploration =
                Exploration::new(Native::new(self, Rc::clone(code), lessons).exhaustive(), self.model);
            let (mut finding, mut learnt, mut visited, mut trace) = (None, None, 0, None);
            let mut omitted = Omitted::default();
            let end = exploration.run(|run| {
                visited += 1;
                let ending = run.ending();
                let (native, graph) = run.parts();
                learnt = native.lessons();
                finding = native.finding(graph, ending);
                omitted = native.omitted();
                if finding.is_none() && learnt.is_none() {
                    finding = ask(graph, ending);
                }
                trace = finding.is_some().then(|| native.trace(graph));
                let is_enough = self.max_executions.is_some_and(|most| visited >= most) || self.is_late(visited);
                let is_over = finding.is_some() || learnt.is_some() || is_enough;
                if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            let Some(learnt) = learnt else {
                let verdict = Verdict::new(exploration.counts(), finding, end.is_continue(), None);
                drop(exploration);
                let verdict = Verdict { omitted, ..verdict }.with(trace, self, code);
                return self.with_estimate(verdict, code);
            };
            lessons = learnt;
        }
    }

    /// About how many executions the code has, from so many random walks. It takes about as long as to visit so many.
    ///
    /// ```
    /// use explore::sync::Arc;
    /// use explore::sync::atomic::{AtomicU32, Ordering};
    /// use explore::{Builder, thread};
    ///
    /// let estimate = Builder::new().estimate(1000, || {
    ///     let counter = Arc::new(AtomicU32::new(0));
    ///     for _ in 0..7 {
    ///         let counter = Arc::clone(&counter);
    ///         thread::spawn(move || counter.fetch_add(1, Ordering::Relaxed));
    ///     }
    /// });
    /// // There are 7!, which is 5,040.
    /// assert!((1000..25_000).contains(&estimate.executions), "{estimate}");
    /// ```
    pub fn estimate(&self, walks: u64, code: impl Fn() + 'static) -> Estimate {
        self.estimate_of(walks, &(Rc::new(code) as Rc<dyn Fn()>))
    }

    fn estimate_of(&self, walks: u64, code: &Rc<dyn Fn()>) -> Estimate {
        let mut lessons = Lessons::default();
        loop {
            let native = Native::new(self, Rc::clone(code), lessons).exhaustive();
            let mut learnt = None;
            let estimate = Exploration::new(native, self.model).estimate(walks, |native| {
                learnt = native.lessons();
                learnt.is_none()
            });
            match learnt {
                Some(learnt) => lessons = learnt,
                None => return estimate,
            }
        }
    }

    /// If not all was explored for want of time, a verdict says about how much there is.
    fn with_estimate(&self, verdict: Verdict, code: &Rc<dyn Fn()>) -> Verdict {
        let is_cut = verdict.finding.is_none() && !verdict.is_complete && verdict.counts.bounded == 0;
        Verdict { estimate: is_cut.then(|| self.estimate_of(WALKS, code)), ..verdict }
    }

    fn is_late(&self, visited: u64) -> bool {
        visited.is_multiple_of(64) && self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Runs the code at random, once with each of these seeds, up to the first finding.
    ///
    /// ```
    /// use explore::sync::atomic::{AtomicBool, Ordering};
    /// use explore::{Builder, RandomStrategy, thread};
    ///
    /// let broken = || {
    ///     let flag = explore::sync::Arc::new(AtomicBool::new(false));
    ///     let other = explore::sync::Arc::clone(&flag);
    ///     thread::spawn(move || other.store(true, Ordering::Relaxed));
    ///     assert!(!flag.load(Ordering::Relaxed));
    /// };
    /// let verdict = Builder::new().sample(RandomStrategy::Uniform, 0..100, broken);
    /// let seed = verdict.seed.unwrap();
    /// // The seed shows the finding again.
    /// assert!(Builder::new().sample(RandomStrategy::Uniform, [seed], broken).finding.is_some());
    /// ```
    pub fn sample(
        &self,
        strategy: RandomStrategy,
        seeds: impl IntoIterator<Item = u64>,
        code: impl Fn() + 'static,
    ) -> Verdict {
        self.sample_all(strategy, &mut seeds.into_iter(), &(Rc::new(code) as Rc<dyn Fn()>))
    }

    fn sample_all(
        &self,
        strategy: RandomStrategy,
        seeds: &mut dyn Iterator<Item = u64>,
        code: &Rc<dyn Fn()>,
    ) -> Verdict {
        let sampler = |lessons| Sampler::new(Native::new(self, Rc::clone(code), lessons), self.model, strategy);
        let most = self.max_executions.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        let (mut runs, mut counts, mut omitted) = (sampler(Lessons::default()), Counts::default(), Omitted::default());
        for (visited, seed) in (1..).zip(seeds.take(most)) {
            loop {
                let before = runs.counts();
                let mut run = runs.run(seed);
                let ending = run.ending();
                let (native, graph) = run.parts();
                if let Some(lessons) = native.lessons() {
                    counts += before;
                    runs = sampler(lessons);
                    continue;
                }
                if let Some(finding) = native.finding(graph, ending) {
                    let trace = native.trace(graph);
                    counts += runs.counts();
                    drop(runs);
                    return Verdict::new(counts, Some(finding), false, Some(seed)).with(Some(trace), self, code);
                }
                omitted = native.omitted();
                break;
            }
            if self.is_late(visited) {
                break;
            }
        }
        counts += runs.counts();
        Verdict { omitted, ..Verdict::new(counts, None, false, None) }
    }

    /// Runs the code as the token of a [`Trace`] says. None if it is no token, or not one of this code.
    ///
    /// ```
    /// use explore::sync::atomic::{AtomicBool, Ordering};
    /// use explore::{Builder, thread};
    ///
    /// let broken = || {
    ///     let flag = explore::sync::Arc::new(AtomicBool::new(false));
    ///     let other = explore::sync::Arc::clone(&flag);
    ///     thread::spawn(move || other.store(true, Ordering::Relaxed));
    ///     assert!(!flag.load(Ordering::Relaxed));
    /// };
    /// let verdict = Builder::new().check(broken);
    /// let token = verdict.trace.unwrap().token;
    /// let again = Builder::new().replay(&token, broken).unwrap();
    /// assert_eq!(again.finding, verdict.finding);
    /// ```
    pub fn replay(&self, token: &str, code: impl Fn() + 'static) -> Option<Verdict> {
        let (model, steps) = read_token(token)?;
        let builder = Self { model: Model::from_name(model)?, ..*self };
        let code: Rc<dyn Fn()> = Rc::new(code);
        let (counts, finding, trace) = builder.follow(&steps, true, &code)?;
        Some(Verdict { trace, ..Verdict::new(counts, finding, false, None) })
    }

    /// What is found if the code takes these steps.
    fn follow(
        &self,
        steps: &[Taken],
        strict: bool,
        code: &Rc<dyn Fn()>,
    ) -> Option<(Counts, Option<Finding>, Option<Trace>)> {
        let mut lessons = Lessons::default();
        loop {
            let native = Native::new(self, Rc::clone(code), lessons);
            let mut runs = Sampler::new(native, self.model, RandomStrategy::Uniform);
            let mut run = runs.follow(steps, strict)?;
            let ending = run.ending();
            let (native, graph) = run.parts();
            if let Some(learnt) = native.lessons() {
                lessons = learnt;
                continue;
            }
            let finding = native.finding(graph, ending);
            let trace = finding.is_some().then(|| native.trace(graph));
            return Some((runs.counts(), finding, trace));
        }
    }

    /// The most ordinary execution that is found by reading the newest write at one read after the other, as long as
    /// the finding stays.
    fn shrunk(&self, trace: Trace, finding: Option<&Finding>, code: &Rc<dyn Fn()>) -> Trace {
        trace.shrunk(|steps| {
            let (_, found, other) = self.follow(steps, false, code)?;
            other.filter(|_| found.as_ref() == finding)
        })
    }
}

/// Any number below this one. The exploration tries each.
///
/// ```
/// explore::model(|| assert!(explore::choose(3) < 3));
/// ```
#[track_caller]
pub fn choose(count: u32) -> u32 {
    assert!(count > 0, "there is nothing to choose from");
    runtime::expect().step(Step::Choice(count), Kind::Number, Location::caller()) as u32
}
