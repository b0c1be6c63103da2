//! An exploration by several workers.
//!
//! A point of choice can be continued by any worker: it needs nothing but the events below it. A worker that has
//! nothing to do asks for work, and another one gives it the alternatives of its lowest point of choice. So every
//! execution is visited by one worker, and the counts are those of one worker alone.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::exploration::{Counts, Exploration, Run};
use crate::model::Model;
use crate::program::Program;

/// How many executions one worker visits before others are started: many programs have no more.
const ALONE: u64 = 512;

/// What the workers share.
struct Pool<P> {
    work: Mutex<Vec<Exploration<P>>>,
    /// There is work, or there will never be any.
    change: Condvar,
    /// How many workers have nothing to do.
    idle: AtomicUsize,
    is_stopped: AtomicBool,
    workers: usize,
}

impl<P> Pool<P> {
    fn lock(&self) -> MutexGuard<'_, Vec<Exploration<P>>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for work. None if all of it is done.
    fn take(&self) -> Option<Exploration<P>> {
        let mut work = self.lock();
        self.idle.fetch_add(1, Ordering::Relaxed);
        loop {
            if self.is_stopped.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(exploration) = work.pop() {
                self.idle.fetch_sub(1, Ordering::Relaxed);
                return Some(exploration);
            }
            if self.idle.load(Ordering::Relaxed) == self.workers {
                self.stop(work);
                return None;
            }
            work = self.change.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Stops all workers. The lock makes sure that none begins to wait at this moment.
    fn stop(&self, work: MutexGuard<'_, Vec<Exploration<P>>>) {
        self.is_stopped.store(true, Ordering::Relaxed);
        drop(work);
        self.change.notify_all();
    }
}

/// If a worker panics, the others must not wait for it.
struct StopOnPanic<'a, P>(&'a Pool<P>);

impl<P> Drop for StopOnPanic<'_, P> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop(self.0.lock());
        }
    }
}

/// Explores a program with so many workers, at least one. Each worker tells the executions that it visits to a listener
/// of its own, which `listener` makes; the order among workers is not determined. If a listener breaks, all workers
/// stop. The answer is the counts, the listeners, and whether the exploration went to its end.
///
/// ```
/// # use explore::{Graph, Model, Next, Order, Program, Step, Update, Value};
/// # #[derive(Clone)]
/// # struct Counter(u32);
/// # impl Program for Counter {
/// #     fn threads(&self) -> u32 { self.0 }
/// #     fn initial(&self, _location: u32) -> Value { 0 }
/// #     fn next(&mut self, thread: u32, graph: &Graph) -> Next {
/// #         let (order, failure, update) = (Order::Relaxed, Order::Relaxed, Update::Add(1));
/// #         match graph.len(thread) {
/// #             0 => Next::Step(Step::Rmw { location: 0, order, failure, update, until: None }),
/// #             _ => Next::Finished,
/// #         }
/// #     }
/// # }
/// use std::ops::ControlFlow;
///
/// // Seven threads add one to a counter.
/// let (counts, seen, _) = explore::explore(Counter(7), Model::C20, 4, || 0, |seen, _run| {
///     *seen += 1;
///     ControlFlow::Continue(())
/// });
/// assert_eq!(counts.executions, 5040);
/// assert_eq!(seen.iter().sum::<u64>(), 5040);
/// ```
pub fn explore<P: Program + Clone + Send, T: Send>(
    program: P,
    model: Model,
    workers: usize,
    listener: impl Fn() -> T + Sync,
    tell: impl Fn(&mut T, &mut Run<'_, P>) -> ControlFlow<()> + Sync,
) -> (Counts, Vec<T>, ControlFlow<()>) {
    let mut first = Exploration::new(program, model);
    let mut mine = listener();
    let (mut seen, mut is_broken) = (0, false);
    let end = first.run(|run| {
        seen += 1;
        is_broken = tell(&mut mine, run).is_break();
        if is_broken || workers > 1 && seen >= ALONE { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if end.is_continue() || is_broken {
        return (first.counts(), vec![mine], end);
    }
    let mut counts = first.take_counts();
    first.detach();
    let pool = Pool {
        work: Mutex::new(vec![first]),
        change: Condvar::new(),
        idle: AtomicUsize::new(0),
        is_stopped: AtomicBool::new(false),
        workers,
    };
    let is_broken = AtomicBool::new(false);
    let work = || {
        let _guard = StopOnPanic(&pool);
        let (mut mine, mut counts) = (listener(), Counts::default());
        while let Some(mut exploration) = pool.take() {
            loop {
                let end = exploration.run(|run| {
                    if tell(&mut mine, run).is_break() {
                        is_broken.store(true, Ordering::Relaxed);
                        pool.stop(pool.lock());
                    }
                    let is_wanted = pool.idle.load(Ordering::Relaxed) > 0 || pool.is_stopped.load(Ordering::Relaxed);
                    if is_wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
                if end.is_continue() || pool.is_stopped.load(Ordering::Relaxed) {
                    break;
                }
                if let Some(given) = exploration.give() {
                    pool.lock().push(given);
                    pool.change.notify_one();
                }
            }
            counts += exploration.counts();
        }
        (mine, counts)
    };
    let mut listeners = vec![mine];
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        for other in others {
            match other.join() {
                Ok((listener, more)) => {
                    listeners.push(listener);
                    counts += more;
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    let is_broken = is_broken.load(Ordering::Relaxed);
    (counts, listeners, if is_broken { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
}
