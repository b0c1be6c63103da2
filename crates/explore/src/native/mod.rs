//! Rust code as a program.
//!
//! A thread of the program is a coroutine. It runs until it accesses memory that is modelled, says what it wants, and
//! goes on with the value that the exploration has chosen. No thread of the operating system is involved.
//!
//! The code is run again from the start for each execution, and fed with the values of the graph as far as it goes. The
//! data that is not modelled lives in the memory of the real machine, so threads must be run in an order in which the
//! execution can have happened: before a thread gets a value, the thread that wrote it has come to that write. A data
//! race is found when its second access is asked for, before any code acts on it.

pub mod cell;
pub mod hint;
mod runtime;
pub mod sync;
pub mod thread;

use std::cell::RefCell;
use std::fmt;
use std::ops::ControlFlow;
use std::panic::Location;
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use crate::exploration::{Counts, Ending, Exploration};
use crate::graph::{Graph, Source};
use crate::model::Model;
use crate::program::{Next, Program, Step, Value};
use crate::random::{Sampler, Strategy};
use runtime::{Request, Resume, Spawned};

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
    /// How many executions to visit at most.
    pub max_executions: Option<u64>,
    /// A loop that hints that it spins ([`hint::spin_loop`], [`thread::yield_now`]), and that has no effect on modelled
    /// memory, is taken to wait for ever after this many rounds; 0 at first. If the code gives up after a number of
    /// rounds and does something else, this must be that number.
    pub max_spins: u32,
}

impl Default for Builder {
    fn default() -> Self {
        Self { model: Model::C20, max_steps: 1000, max_executions: None, max_spins: 0 }
    }
}

/// What is wrong with the code, in one execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A thread panicked: the message.
    Panic(String),
    /// Two accesses race: where they are in the code.
    Race([String; 2]),
    /// Threads wait for each other: where they are in the code.
    Deadlock(Vec<String>),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(message) => write!(f, "a thread panicked: {message}"),
            Self::Race([one, other]) => write!(f, "data race: {one} and {other}"),
            Self::Deadlock(places) => write!(f, "deadlock: threads wait at {}", places.join(", ")),
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
}

impl Verdict {
    fn new(mut counts: Counts, finding: Option<Finding>, is_complete: bool, seed: Option<u64>) -> Self {
        // An execution with a race is a finding, also if it went to its end.
        counts.executions -= counts.races;
        Self { counts, finding, is_complete: is_complete && counts.bounded == 0, seed }
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
                }
            }
            None if self.is_complete => write!(f, "no finding in all {executions} executions"),
            None => write!(f, "no finding in {executions} executions, which are not all"),
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
        let mut exploration = Exploration::new(self.native(code), self.model);
        let (mut finding, mut visited) = (None, 0);
        let end = exploration.run(|run| {
            visited += 1;
            let ending = run.ending();
            let (native, graph) = run.parts();
            finding = native.finding(graph, ending);
            let is_enough = self.max_executions.is_some_and(|most| visited >= most);
            if finding.is_some() || is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let is_complete = end.is_continue();
        Verdict::new(exploration.counts(), finding, is_complete, None)
    }

    /// Runs the code at random, once with each of these seeds, up to the first finding.
    ///
    /// ```
    /// use explore::sync::atomic::{AtomicBool, Ordering};
    /// use explore::{Builder, Strategy, thread};
    ///
    /// let broken = || {
    ///     let flag = explore::sync::Arc::new(AtomicBool::new(false));
    ///     let other = explore::sync::Arc::clone(&flag);
    ///     thread::spawn(move || other.store(true, Ordering::Relaxed));
    ///     assert!(!flag.load(Ordering::Relaxed));
    /// };
    /// let verdict = Builder::new().sample(Strategy::Uniform, 0..100, broken);
    /// let seed = verdict.seed.unwrap();
    /// // The seed shows the finding again.
    /// assert!(Builder::new().sample(Strategy::Uniform, [seed], broken).finding.is_some());
    /// ```
    pub fn sample(
        &self,
        strategy: Strategy,
        seeds: impl IntoIterator<Item = u64>,
        code: impl Fn() + 'static,
    ) -> Verdict {
        let mut sampler = Sampler::new(self.native(code), self.model, strategy);
        let most = self.max_executions.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        for seed in seeds.into_iter().take(most) {
            let mut run = sampler.run(seed);
            let ending = run.ending();
            let (native, graph) = run.parts();
            if let Some(finding) = native.finding(graph, ending) {
                return Verdict::new(sampler.counts(), Some(finding), false, Some(seed));
            }
        }
        Verdict::new(sampler.counts(), None, false, None)
    }

    fn native(&self, code: impl Fn() + 'static) -> Native {
        runtime::set_max_spins(self.max_spins);
        Native {
            code: Rc::new(code),
            threads: Vec::new(),
            stacks: STACKS.take(),
            is_stale: true,
            max_steps: self.max_steps,
        }
    }
}

/// How a coroutine ended: with the message of a panic.
type End = Result<(), String>;

/// A thread of the program that is being run.
struct Running {
    coroutine: Option<Coroutine<Resume, Request, End>>,
    /// How many events of the graph it has had, what it got from them, and where they are in the code.
    values: Vec<Value>,
    places: Vec<&'static Location<'static>>,
    next: Next,
    message: Option<String>,
}

thread_local! {
    /// Stacks that explorations have left: a new one costs more than a small exploration.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// Code that is being explored.
struct Native {
    code: Rc<dyn Fn()>,
    threads: Vec<Option<Running>>,
    stacks: Vec<DefaultStack>,
    /// Whether what the threads have had may not be in the graph any more.
    is_stale: bool,
    max_steps: u32,
}

impl Native {
    fn finding(&self, graph: &Graph, ending: Ending) -> Option<Finding> {
        let place = |thread: u32, index: u32| {
            let of = self.threads.get(thread as usize).and_then(Option::as_ref);
            let place = of.and_then(|thread| thread.places.get(index as usize));
            place.map_or_else(|| format!("thread {thread}"), |place| format!("thread {thread} at {place}"))
        };
        if let Some([one, other]) = graph.race() {
            return Some(Finding::Race([place(one.0, one.1), place(other.0, other.1)]));
        }
        match ending {
            Ending::Failed => {
                let message = self.threads.iter().flatten().find_map(|thread| thread.message.clone());
                Some(Finding::Panic(message.unwrap_or_default()))
            }
            Ending::Deadlock => {
                let is_stuck = |thread: &u32| {
                    let of = self.threads.get(*thread as usize).and_then(Option::as_ref);
                    of.is_some_and(|thread| !matches!(thread.next, Next::Finished))
                };
                let stuck = (0..self.threads.len() as u32).filter(is_stuck);
                Some(Finding::Deadlock(stuck.map(|thread| place(thread, self.wanted(thread))).collect()))
            }
            Ending::Complete | Ending::Blocked | Ending::Bounded => None,
        }
    }

    /// The place of the step that a thread has asked for.
    fn wanted(&self, thread: u32) -> u32 {
        let of = self.threads[thread as usize].as_ref();
        of.map_or(0, |thread| (thread.places.len() as u32).saturating_sub(1))
    }

    /// Ends what is running.
    fn stop(&mut self) {
        runtime::tear_down(true);
        for thread in &mut self.threads {
            if let Some(mut coroutine) = thread.take().and_then(|thread| thread.coroutine) {
                coroutine.force_unwind();
                self.stacks.push(coroutine.into_stack());
            }
        }
        runtime::tear_down(false);
    }

    /// Ends what is running, and begins again.
    fn restart(&mut self) {
        self.stop();
        runtime::forget_spawned();
        self.threads.clear();
        let code = Rc::clone(&self.code);
        self.create((0, runtime::first_token(), Box::new(move || code())));
        self.resume(0, 0);
        self.is_stale = false;
    }

    fn create(&mut self, (thread, token, code): Spawned) {
        let stack = self.stacks.pop().unwrap_or_default();
        let coroutine = Coroutine::with_stack(stack, move |yielder, _| runtime::run(thread, token, yielder, code));
        let at = thread as usize;
        if self.threads.len() <= at {
            self.threads.resize_with(at + 1, || None);
        }
        self.threads[at] = Some(Running {
            coroutine: Some(coroutine),
            values: Vec::new(),
            places: Vec::new(),
            next: Next::Step(Step::Begin),
            message: None,
        });
    }

    /// Lets a thread run up to its next access.
    fn resume(&mut self, thread: u32, value: Value) {
        let Some(running) = self.threads[thread as usize].as_mut() else { return };
        let Some(coroutine) = running.coroutine.as_mut() else { return };
        let answer = coroutine.resume(value);
        runtime::leave();
        match answer {
            CoroutineResult::Yield(Request { next, place }) => {
                running.next = next;
                running.places.push(place);
            }
            CoroutineResult::Return(end) => {
                running.next = if end.is_ok() { Next::Finished } else { Next::Failed };
                running.message = end.err();
                self.stacks.extend(running.coroutine.take().map(Coroutine::into_stack));
            }
        }
        for spawned in runtime::take_spawned() {
            self.create(spawned);
        }
    }

    /// How many events of the graph a thread has had.
    fn had(&self, thread: u32) -> u32 {
        self.threads.get(thread as usize).and_then(Option::as_ref).map_or(0, |thread| thread.values.len() as u32)
    }

    /// Lets a thread have its events up to this one.
    fn advance(&mut self, thread: u32, until: u32, graph: &Graph) {
        while self.had(thread) < until {
            let index = self.had(thread);
            let step = graph.step(thread, index);
            if step == Step::Begin
                && let Some((parent, spawn)) = graph.spawner(thread)
            {
                self.advance(parent, spawn, graph);
            }
            let wanted = self.threads.get(thread as usize).and_then(Option::as_ref).map(|thread| thread.next);
            assert!(
                wanted == Some(Next::Step(step)),
                "the code is not deterministic: thread {thread} did {step:?} at first, and then {wanted:?}"
            );
            match graph.source(thread, index) {
                Source::Write(other, written) if other != thread => self.advance(other, written, graph),
                _ => {}
            }
            if let Step::Join(child) = step {
                self.advance(child, graph.len(child), graph);
            }
            let value = graph.value(thread, index);
            if let Some(running) = self.threads[thread as usize].as_mut() {
                running.values.push(value);
                if step == Step::Begin {
                    running.places.push(Location::caller());
                }
            }
            self.resume(thread, value);
        }
    }

    /// Whether all that the threads have had is in the graph.
    fn is_within(&self, graph: &Graph) -> bool {
        self.threads.iter().enumerate().all(|(thread, running)| {
            let Some(running) = running else { return true };
            let thread = thread as u32;
            running.values.len() as u32 <= graph.len(thread)
                && (0..).zip(&running.values).all(|(index, &value)| graph.value(thread, index) == value)
        })
    }
}

impl Program for Native {
    fn threads(&self) -> u32 {
        1
    }

    fn initial(&self, _: u32) -> Value {
        0
    }

    fn next(&mut self, thread: u32, graph: &Graph) -> Next {
        // What comes after a race has no meaning.
        if graph.race().is_some() {
            return Next::Stopped;
        }
        if self.is_stale {
            self.is_stale = false;
            if self.threads.is_empty() || !self.is_within(graph) {
                self.restart();
            }
        }
        self.advance(thread, graph.len(thread), graph);
        let next = self.threads[thread as usize].as_ref().map_or(Next::Finished, |thread| thread.next);
        if matches!(next, Next::Step(_)) && graph.len(thread) >= self.max_steps { Next::Bounded } else { next }
    }

    fn rewound(&mut self) {
        self.is_stale = true;
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        self.stop();
        runtime::reset();
        STACKS.set(std::mem::take(&mut self.stacks));
    }
}
