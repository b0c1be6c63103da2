//! The code as a program: its threads are coroutines, which replay the graph.
//!
//! The events of the graph are replayed in the order in which they stand there, which respects reads-from. To replay an
//! event is to let its thread run up to the next thing that it wants. So what a thread does right after an event is at
//! one with the event: memory that is not modelled is as it would be if the events had happened in this order. When the
//! graph loses an event that was replayed, the code is run again from the start.

#![allow(unsafe_code, reason = "coroutines are left without being unwound")]

mod findings;
mod spins;

use std::cell::RefCell;
use std::mem;
use std::panic::Location;
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use rustc_hash::FxHashMap;

use super::names::Names;
use super::place::Kind;
use super::runtime::{self, Asked, Code, Context, Counting, Request, Run, Spawned};
use super::thread::Thread;
use super::{Builder, Finding, Omitted};
use crate::chance::Chance;
use crate::graph::{Graph, HAPPENS};
use crate::program::{Next, Program, Step, Value};

/// How a coroutine ended: with the message of a panic.
type End = Result<(), String>;

/// What a thread wants next. Its steps are those of the run.
#[derive(Clone, Debug)]
enum Pending {
    /// A step, which is on the stack of the thread until the thread goes on.
    Step(*const Asked),
    Spins(u32),
    Stopped,
    Finished,
    Failed(String),
}

/// What a thread wants that has not begun.
static BEGIN: Asked = Asked { step: Step::Begin, kind: Kind::Number, address: 0 };

/// A thread of the program that is being run.
struct Running {
    coroutine: Option<Coroutine<Value, *const Request, End>>,
    context: Option<Box<Context>>,
    pending: Pending,
    /// Whether the step that it wants was told in this run, so that an event of the graph with it is the same.
    is_told: bool,
    /// How many steps it has had, and where they are in the code. The last place is that of what it wants.
    had: u32,
    places: Vec<Code>,
    /// The steps since the last one that had an effect, and what it got from them.
    pure: Vec<(Step, Value)>,
    /// The steps at which something happened without a reason, or could have.
    chances: Vec<(u32, Chance)>,
    /// How often it has hinted since, and the last hint, with the steps before it.
    hints: u32,
    last_hint: Option<(Code, u32)>,
}

impl Default for Running {
    fn default() -> Self {
        Self {
            coroutine: None,
            context: None,
            pending: Pending::Finished,
            is_told: false,
            had: 0,
            places: Vec::new(),
            pure: Vec::new(),
            chances: Vec::new(),
            hints: 0,
            last_hint: None,
        }
    }
}

impl Running {
    fn clear(&mut self) {
        self.context = None;
        self.pending = Pending::Finished;
        self.is_told = false;
        self.had = 0;
        self.places.clear();
        self.chances.clear();
        self.forget_pure();
    }

    /// The thread has had an effect.
    fn forget_pure(&mut self) {
        self.pure.clear();
        (self.hints, self.last_hint) = (0, None);
    }

    /// The step that it wants. It is on the stack of the thread, so it must not be used after the thread goes on.
    #[inline]
    fn asked<'a>(&self) -> Option<&'a Asked> {
        match self.pending {
            // SAFETY: the thread has not gone on since it asked, and its stack is there.
            Pending::Step(asked) => Some(unsafe { &*asked }),
            _ => None,
        }
    }
}

thread_local! {
    /// Stacks that explorations have left: a new one costs more than a small exploration.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// What was learnt of the code, and asks for the exploration to begin again.
#[derive(Clone, Debug, Default)]
pub(super) struct Lessons {
    counting: Counting,
    /// The hints that are in no loop.
    not_loops: Vec<Code>,
    /// Whether only one worker can explore the code.
    pub(super) must_be_alone: bool,
}

impl Lessons {
    /// What either was told.
    pub(super) fn with(mut self, other: &Self) -> Self {
        self.counting = self.counting.max(other.counting);
        self.must_be_alone |= other.must_be_alone;
        let new = other.not_loops.iter().filter(|code| !self.not_loops.contains(code));
        let new: Vec<Code> = new.copied().collect();
        self.not_loops.extend(new);
        self
    }
}

/// What the graphs of one worker need to be understood by another: the names of locations, and the numbers of threads.
#[derive(Debug, Default)]
pub(super) struct Share {
    names: Names,
    threads: FxHashMap<(u32, u32), u32>,
}

impl Share {
    pub(super) fn share(&self) -> Self {
        Self { names: self.names.share(), threads: self.threads.clone() }
    }

    /// The value that a location has at first.
    pub(super) fn initial(&self, location: u32) -> Value {
        self.names.initial[location as usize]
    }
}

/// Code that is being explored.
#[expect(clippy::struct_excessive_bools, reason = "they are states of different things, and two are set by the caller")]
pub(super) struct Native {
    code: Rc<dyn Fn()>,
    run: Box<Run>,
    threads: Vec<Running>,
    /// The threads in the order in which they were made.
    made: Vec<u32>,
    stacks: Vec<DefaultStack>,
    /// How many events were replayed.
    replayed: usize,
    is_running: bool,
    /// Whether the graph has lost events. Then the names that were given to what is not in the graph are void, too.
    is_stale: bool,
    max_threads: u32,
    max_spins: u32,
    liveness: bool,
    symmetry: bool,
    finding: Option<Finding>,
    /// The steps that make the finding, if it is about some.
    shown: Vec<(u32, u32)>,
    lessons: Lessons,
    must_begin_again: bool,
    /// While a part of the graph is replayed alone: whether the code does what the graph says.
    partial: Option<bool>,
    /// The steps of one round of a loop, and of the round before.
    rounds: [Vec<Step>; 2],
}

impl Native {
    pub(super) fn new(builder: &Builder, code: Rc<dyn Fn()>, lessons: Lessons) -> Self {
        Self {
            code,
            run: Box::new(Run::new(builder, lessons.counting)),
            threads: Vec::new(),
            made: Vec::new(),
            stacks: STACKS.take(),
            replayed: 0,
            is_running: false,
            is_stale: true,
            max_threads: builder.max_threads.unwrap_or(u32::MAX),
            max_spins: builder.max_spins,
            liveness: builder.liveness,
            symmetry: builder.symmetry,
            finding: None,
            shown: Vec::new(),
            lessons,
            must_begin_again: false,
            partial: None,
            rounds: [Vec::new(), Vec::new()],
        }
    }

    /// For an exploration of every execution: what would be the same again is left.
    pub(super) fn exhaustive(self) -> Self {
        self.run.is_exhaustive.set(true);
        self
    }

    /// What another worker needs to go on with the graphs of this one.
    pub(super) fn share(&self) -> Share {
        Share { names: self.run.names.borrow().share(), threads: self.run.thread_numbers() }
    }

    /// Goes on with the graphs of another worker.
    pub(super) fn adopt(&mut self, share: &Share) {
        self.run.names.replace(share.names.share());
        self.run.share(share.threads.clone());
    }

    /// What is not looked at.
    pub(super) fn omitted(&self) -> Omitted {
        let Run { most_chances, has_denied, is_unwatched, .. } = &*self.run;
        let of = |chance: Chance| has_denied[chance as usize].get().then_some(most_chances[chance as usize]);
        Omitted {
            freed_memory: is_unwatched.get(),
            spurious_failures: of(Chance::Fails),
            spurious_wakes: of(Chance::Wakes),
            timeouts: of(Chance::RunsOut),
        }
    }

    /// What the exploration must begin again with, if it must.
    pub(super) fn lessons(&self) -> Option<Lessons> {
        self.must_begin_again.then(|| self.lessons.clone())
    }

    /// Ends what is running. If there is a finding, threads are left as they are: what their destructors would see may
    /// make no sense.
    fn stop(&mut self) {
        self.run.end();
        let is_left = self.finding.is_some() || std::thread::panicking();
        // Scoped threads refer to the stack of the thread that has made them.
        while let Some(thread) = self.made.pop() {
            let running = &mut self.threads[thread as usize];
            if let Some(mut coroutine) = running.coroutine.take() {
                if is_left {
                    // SAFETY: nothing uses the stack any more. What its objects own is never freed.
                    unsafe { coroutine.force_reset() }
                } else {
                    let context = running.context.as_deref().map_or(std::ptr::null(), std::ptr::from_ref);
                    self.run.enter(context, || coroutine.force_unwind());
                }
                self.stacks.push(coroutine.into_stack());
            }
            let context = running.context.take();
            if is_left {
                mem::forget(context);
            } else {
                self.run.enter(std::ptr::null(), || drop(context));
            }
            running.clear();
        }
        if self.is_running && !is_left {
            self.run.finish();
            let spawned = &self.run.spawned;
            self.run.enter(std::ptr::null(), || {
                while !spawned.borrow().is_empty() {
                    let last = spawned.borrow_mut().pop();
                    drop(last);
                }
            });
        }
        self.is_running = false;
    }

    /// Ends what is running, and begins again.
    fn restart(&mut self) {
        self.stop();
        self.finding = None;
        self.shown.clear();
        self.run.begin();
        self.run.names.borrow_mut().clear();
        self.replayed = 0;
        self.is_running = true;
        let code: *const dyn Fn() = &raw const *self.code;
        // SAFETY: this has the code as long as threads run.
        let context = Box::new(Context::new(Thread::first(), Box::new(move || unsafe { (*code)() })));
        self.create(Spawned { thread: 0, place: Location::caller(), context });
        self.resume(0, 0);
    }

    fn create(&mut self, Spawned { thread, place, context }: Spawned) {
        let stack = self.stacks.pop().unwrap_or_default();
        let pointer = std::ptr::from_ref(&*context);
        let coroutine = Coroutine::with_stack(stack, move |yielder, _| runtime::run(pointer, yielder));
        let at = thread as usize;
        if self.threads.len() <= at {
            self.threads.resize_with(at + 1, Running::default);
        }
        let running = &mut self.threads[at];
        running.coroutine = Some(coroutine);
        running.context = Some(context);
        running.pending = Pending::Step(&raw const BEGIN);
        if thread != 0 {
            running.places.push(place);
        }
        self.made.push(thread);
    }

    /// Lets a thread run up to the next thing that it wants. None if it has ended.
    #[inline]
    fn switch(&mut self, thread: u32, value: Value) -> Option<*const Request> {
        let running = &mut self.threads[thread as usize];
        let coroutine = running.coroutine.as_mut()?;
        let context = running.context.as_deref().map_or(std::ptr::null(), std::ptr::from_ref);
        let answer = self.run.enter(context, || coroutine.resume(value));
        if self.run.has_news.take() {
            self.hear(thread);
        }
        match answer {
            CoroutineResult::Yield(request) => Some(request),
            CoroutineResult::Return(end) => {
                let running = &mut self.threads[thread as usize];
                running.pending = end.map_or_else(Pending::Failed, |()| Pending::Finished);
                self.stacks.extend(running.coroutine.take().map(Coroutine::into_stack));
                None
            }
        }
    }

    /// What a thread has done besides asking for steps.
    fn hear(&mut self, thread: u32) {
        self.accept_added(thread);
        while !self.run.spawned.borrow().is_empty() {
            let spawned = self.run.spawned.borrow_mut().remove(0);
            self.create(spawned);
        }
        if self.run.wanted_counting.get() > self.lessons.counting {
            self.lessons.counting = self.run.wanted_counting.get();
            self.must_begin_again = true;
        }
        if self.run.must_be_alone.get() {
            self.lessons.must_be_alone = true;
            self.must_begin_again = true;
        }
        if let Some(offence) = self.run.offence.take() {
            self.blame(offence);
        }
    }

    /// Lets a thread run up to its next step.
    #[inline]
    fn resume(&mut self, thread: u32, mut value: Value) {
        loop {
            let Some(request) = self.switch(thread, value) else { return };
            // SAFETY: the thread has not gone on since.
            match unsafe { &*request } {
                Request::Step(asked, code) => {
                    let running = &mut self.threads[thread as usize];
                    running.pending = Pending::Step(asked);
                    running.places.push(code);
                    return;
                }
                Request::Stop(code) => {
                    let running = &mut self.threads[thread as usize];
                    running.pending = Pending::Stopped;
                    running.places.push(code);
                    return;
                }
                Request::Hint(code) => {
                    if self.is_waiting(thread, code) {
                        self.threads[thread as usize].places.push(code);
                        return;
                    }
                    value = 0;
                }
            }
        }
    }

    /// Replays the first events of the graph.
    fn follow(&mut self, graph: &Graph, count: usize) {
        if mem::take(&mut self.is_stale) {
            self.restart();
        }
        while self.replayed < count && !self.must_begin_again && self.finding.is_none() {
            if let Some((thread, value)) = self.accept(self.replayed, graph) {
                self.resume(thread, value);
            }
        }
    }

    /// Lets a thread have an event. The answer is the thread that goes on, and the value that it gets.
    #[inline]
    fn accept(&mut self, slot: usize, graph: &Graph) -> Option<(u32, Value)> {
        let event = &graph.events[slot];
        let thread = event.thread as usize;
        self.replayed += 1;
        self.run.replayed.set(self.replayed);
        let Self { threads, run, .. } = self;
        let running = &mut threads[thread];
        let is_told = running.is_told;
        let is_same = |Asked { step, kind, .. }: &&Asked| {
            is_told || run.names.borrow_mut().is_same(step, *kind, &event.step, &mut run.objects.borrow_mut())
        };
        let Some(Asked { step, kind, address }) = running.asked().filter(is_same) else {
            if let Some(is_same) = &mut self.partial {
                *is_same = false;
                return None;
            }
            panic!(
                "the code is not deterministic: thread {thread} did {:?} at first, and then {:?}. (Code that keeps \
                 addresses in atomics needs the allocator of `explore::alloc`.)",
                event.step,
                running.asked()
            );
        };
        // The thread stays where it is. The name of what it waits for is bound all the same, so that no other place
        // gets it.
        if event.waits() {
            return None;
        }
        running.is_told = false;
        let meaning = |value: Value| match *kind {
            kind if kind.is_number() => value,
            kind => run.names.borrow().meaning(value, kind),
        };
        let value = meaning(event.read);
        let (mut race, mut is_dead) = (None, false);
        if let Some(place) = step.location() {
            let object = &mut run.objects.borrow_mut()[place as usize];
            // It was asked for before the memory was freed.
            is_dead = object.is_dead && object.address == *address;
            if event.writes {
                object.value = meaning(event.written);
            }
            if let Some(birth) = object.birth
                && birth.thread != event.thread
                && graph.model().has_races()
                && graph.clock(slot, HAPPENS)[birth.thread as usize] <= birth.steps
            {
                race = Some(birth);
            }
        }
        if is_dead {
            self.blame_pending(event.thread, *address);
            return None;
        }
        running.had += 1;
        let is_pure = match step {
            Step::Read { until: None, .. } | Step::Fence(_) | Step::Access { writes: false, .. } => true,
            Step::Rmw { until: None, .. } => !event.writes,
            Step::Choice(_) => matches!(kind, Kind::Chance(_)),
            _ => false,
        };
        if is_pure {
            running.pure.push((*step, value));
        } else {
            running.forget_pure();
        }
        if let Kind::Chance(chance) = *kind {
            running.chances.push((running.had - 1, chance));
        }
        if let Some(context) = &running.context {
            context.had.set(running.had);
        }
        if let Some(birth) = race {
            let mine = running.had - 1;
            let made = self.place(birth.thread, birth.steps) + " (which made it before)";
            let finding = Finding::Race([made, self.place(event.thread, mine)]);
            self.finding.get_or_insert(finding);
            return None;
        }
        Some((event.thread, value))
    }

    /// What a thread has added to the graph by itself.
    fn accept_added(&mut self, thread: u32) {
        let Self { threads, run, replayed, .. } = self;
        let running = &mut threads[thread as usize];
        let mut added = run.added.borrow_mut();
        *replayed += added.len();
        running.had += added.len() as u32;
        for (step, code) in added.drain(..) {
            if matches!(step, Step::Access { writes: false, .. } | Step::Fence(_)) {
                running.pure.push((step, 0));
            } else {
                running.forget_pure();
            }
            running.places.push(code);
        }
    }

    /// What a thread wants, now that all events were replayed.
    fn wanted(&mut self, thread: u32, graph: &Graph) -> Next {
        if self.finding.is_some() {
            return Next::Failed;
        }
        if self.must_begin_again {
            return Next::Stopped;
        }
        let Self { threads, run, .. } = self;
        let running = &mut threads[thread as usize];
        let Some(asked) = running.asked() else {
            return match running.pending {
                Pending::Spins(steps) => Next::Spins(steps),
                Pending::Step(_) | Pending::Stopped => Next::Stopped,
                Pending::Finished => Next::Finished,
                Pending::Failed(_) => Next::Failed,
            };
        };
        if graph.len(thread) >= run.max_steps
            || graph.events.len() >= run.max_events
            || matches!(asked.step, Step::Spawn(child) if child >= self.max_threads)
        {
            return Next::Bounded;
        }
        running.is_told = true;
        let mut step = asked.step;
        run.names.borrow_mut().name(&mut step, asked.kind, &mut run.objects.borrow_mut(), run);
        Next::Step(step)
    }
}

impl Program for Native {
    fn threads(&self) -> u32 {
        1
    }

    fn initial(&self, location: u32) -> Value {
        self.run.names.borrow().initial[location as usize]
    }

    fn next(&mut self, thread: u32, graph: &Graph) -> Next {
        // What comes after a race has no meaning.
        if graph.race().is_some() || self.must_begin_again {
            return Next::Stopped;
        }
        self.follow(graph, graph.events.len());
        self.wanted(thread, graph)
    }

    fn advance(&mut self, thread: u32, graph: &mut Graph) -> Next {
        if graph.race().is_some() || self.must_begin_again {
            return Next::Stopped;
        }
        let count = graph.events.len();
        self.follow(graph, count.saturating_sub(1));
        if self.replayed < count
            && !self.must_begin_again
            && self.finding.is_none()
            && let Some((going, value)) = self.accept(self.replayed, graph)
        {
            self.run.graph.set(graph);
            self.resume(going, value);
            self.run.graph.set(std::ptr::null_mut());
        }
        self.wanted(thread, graph)
    }

    fn rewound(&mut self) -> bool {
        self.is_stale = true;
        true
    }

    fn asks_for_liveness(&self) -> bool {
        self.liveness
    }

    fn kind(&mut self, thread: u32) -> Option<u32> {
        self.run.kind(thread).filter(|_| self.symmetry)
    }

    fn wake(&mut self, thread: u32, graph: &Graph) {
        self.follow(graph, graph.events.len());
        if matches!(self.threads[thread as usize].pending, Pending::Spins(_)) {
            self.threads[thread as usize].places.pop();
            self.resume(thread, 0);
        }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        self.stop();
        STACKS.set(mem::take(&mut self.stacks));
    }
}
