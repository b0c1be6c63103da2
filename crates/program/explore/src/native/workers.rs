//! Code that is explored by several workers.
//!
//! A worker runs the code on a thread of the operating system of its own. What it gets from another worker is a graph,
//! and what its names mean. No two workers may access the data of one lock or cell at once: data that both can reach is
//! in a static or was made outside of the code. If they do, one worker begins again alone.

#![allow(unsafe_code, reason = "a program moves between workers")]

use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::replay::{Lessons, Native, Share};
use super::{Builder, Omitted, Verdict};
use crate::graph::Graph;
use crate::parallel;
use crate::program::{Next, Program, Value};

type SharedCode = Arc<dyn Fn() + Send + Sync>;

/// The code as a program of one worker.
struct Worker {
    builder: Builder,
    code: SharedCode,
    lessons: Arc<Lessons>,
    /// What the graph at hand means, if it is that of another worker.
    share: Share,
    native: Option<Native>,
}

// SAFETY: a worker moves between threads only where it is detached or has just been cloned, and then it has no
// `native`. The rest can move: places in the code are static.
unsafe impl Send for Worker {}

impl Clone for Worker {
    fn clone(&self) -> Self {
        Self {
            builder: self.builder,
            code: Arc::clone(&self.code),
            lessons: Arc::clone(&self.lessons),
            share: self.native.as_ref().map_or_else(|| self.share.share(), Native::share),
            native: None,
        }
    }
}

impl Worker {
    fn native(&mut self) -> &mut Native {
        let Self { builder, code, lessons, share, native } = self;
        native.get_or_insert_with(|| {
            let code = Arc::clone(code);
            let mut native = Native::new(builder, Rc::new(move || code()), Lessons::clone(lessons)).exhaustive();
            native.adopt(share);
            native
        })
    }
}

impl Program for Worker {
    fn threads(&self) -> u32 {
        1
    }

    fn initial(&self, location: u32) -> Value {
        self.native.as_ref().map_or_else(|| self.share.initial(location), |native| native.initial(location))
    }

    fn next(&mut self, thread: u32, graph: &Graph) -> Next {
        self.native().next(thread, graph)
    }

    fn rewound(&mut self) -> bool {
        self.native.as_mut().is_none_or(Program::rewound)
    }

    fn detach(&mut self) {
        if let Some(native) = self.native.take() {
            self.share = native.share();
        }
    }

    fn asks_for_liveness(&self) -> bool {
        self.builder.liveness
    }

    fn kind(&mut self, thread: u32) -> Option<u32> {
        self.native().kind(thread)
    }
}

/// What a worker has heard.
#[derive(Default)]
struct Heard {
    lessons: Option<Lessons>,
    has_finding: bool,
    is_late: bool,
    omitted: Omitted,
}

impl Builder {
    /// The same as [`Builder::check`], by so many workers. The verdict does not depend on how many there are, unless
    /// the time is up: if there is a finding, one worker looks for it again, in the order of [`Builder::check`].
    ///
    /// The workers run the code at the same time, each on a thread of its own, so what it captures must bear that. If
    /// it accesses a lock or cell in a static, or one that was made outside of it, one worker does it all.
    ///
    /// ```
    /// use explore::sync::Arc;
    /// use explore::sync::atomic::{AtomicUsize, Ordering};
    /// use explore::{Builder, thread};
    ///
    /// let verdict = Builder::new().check_by(2, || {
    ///     let counter = Arc::new(AtomicUsize::new(0));
    ///     for _ in 0..4 {
    ///         let counter = Arc::clone(&counter);
    ///         thread::spawn(move || counter.fetch_add(1, Ordering::Relaxed));
    ///     }
    ///     counter.fetch_add(1, Ordering::Relaxed);
    /// });
    /// assert_eq!(verdict.counts.executions, 120);
    /// ```
    pub fn check_by(&self, workers: usize, code: impl Fn() + Send + Sync + 'static) -> Verdict {
        let code: SharedCode = Arc::new(code);
        let alone = |code: SharedCode| self.check(move || code());
        // Which executions are the first ones depends on the workers.
        if workers <= 1 || self.max_executions.is_some() {
            return alone(code);
        }
        let mut lessons = Lessons::default();
        loop {
            let worker = Worker {
                builder: *self,
                code: Arc::clone(&code),
                lessons: Arc::new(lessons.clone()),
                share: Share::default(),
                native: None,
            };
            let visited = AtomicU64::new(0);
            let (counts, heard, end) = parallel::explore(worker, self.model, workers, Heard::default, |heard, run| {
                let ending = run.ending();
                let (worker, graph) = run.parts();
                let native = worker.native();
                heard.lessons = native.lessons();
                heard.has_finding = native.finding(graph, ending).is_some();
                heard.omitted = native.omitted();
                heard.is_late = self.is_late(visited.fetch_add(1, Ordering::Relaxed));
                let is_over = heard.lessons.is_some() || heard.has_finding || heard.is_late;
                if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            let learnt = heard.iter().filter_map(|heard| heard.lessons.as_ref());
            let learnt = learnt.fold(None, |all: Option<Lessons>, more| Some(all.unwrap_or_default().with(more)));
            match learnt {
                Some(learnt) if learnt.must_be_alone => return alone(code),
                Some(learnt) => lessons = lessons.with(&learnt),
                None if heard.iter().any(|heard| heard.has_finding) => return alone(code),
                None => {
                    let omitted = heard.iter().fold(Omitted::default(), |all, heard| all.with(heard.omitted));
                    let verdict = Verdict { omitted, ..Verdict::new(counts, None, end.is_continue(), None) };
                    return self.with_estimate(verdict, &(Rc::new(move || code()) as Rc<dyn Fn()>));
                }
            }
        }
    }
}
