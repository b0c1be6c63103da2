//! What a running thread has at hand: who it is, the memory of the run, and the way to ask the exploration.
//!
//! *Flat memory.* Of every place the run knows the value that was written last, in the order in which the events were
//! replayed. It is used where no other thread counts: before the first thread is spawned, when a thread unwinds, and
//! when the run is taken down. Then no event is asked for. What the first thread does before it spawns another happens
//! before everything else, so its last writes are the initial values of the execution.

#![allow(unsafe_code, reason = "the thread that runs is found through a pointer")]

mod memory;
mod quarantine;
mod statics;
mod steps;

use std::alloc::Layout;
use std::any::Any;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use corosensei::Yielder;
use rustc_hash::FxHashMap;

use super::Builder;
use super::names::Names;
use super::place::{Kind, Look};
use super::sync::Counter;
use super::thread::Thread;
use crate::chance::Chance;
use crate::graph::Graph;
use crate::heap::{Death, Heap, Moment};
use crate::program::{Step, Value};

pub(super) use memory::{Offence, OffenceKind};
pub use quarantine::Quarantine;

/// A place in the code.
pub(super) type Code = &'static Location<'static>;

/// What a thread wants. In its steps, places have the numbers of the run, and addresses are addresses.
#[derive(Debug)]
pub(super) enum Request {
    /// A step.
    Step(Asked, Code),
    /// It hints that it spins.
    Hint(Code),
    /// It stops for good.
    Stop(Code),
}

/// A step that a thread asks for, and what its values are.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) step: Step,
    pub(super) kind: Kind,
    /// Where the place is now, if the step accesses one.
    pub(super) address: usize,
}

/// The address of a key of `thread_local!`, and its value; none while or after it is dropped.
type Local = (usize, Option<Box<dyn Any>>);

/// The value of a key in a thread.
pub(super) enum LocalValue {
    Missing,
    Dropped,
    There(*const dyn Any),
}

/// A thread of the program.
pub(super) struct Context {
    pub(super) handle: Thread,
    yielder: Cell<*const Yielder<Value, *const Request>>,
    /// How many threads it has made.
    made: Cell<u32>,
    /// How many events it has had.
    pub(super) had: Cell<u32>,
    /// What has happened to it without a reason: where, and how often.
    chances: RefCell<Vec<(Chance, Code, u32)>>,
    /// Whether it waits for no longer than some time.
    pub(super) has_time: Cell<bool>,
    locals: RefCell<Vec<Local>>,
    /// What it does, once. (It is not on the stack of the thread, so that there is less to unwind.)
    code: UnsafeCell<Box<dyn FnMut()>>,
}

impl Context {
    pub(super) fn new(handle: Thread, code: Box<dyn FnMut()>) -> Self {
        Self {
            handle,
            code: UnsafeCell::new(code),
            yielder: Cell::new(ptr::null()),
            made: Cell::new(0),
            had: Cell::new(0),
            chances: RefCell::default(),
            has_time: Cell::new(false),
            locals: RefCell::default(),
        }
    }

    pub(super) fn local(&self, key: usize) -> LocalValue {
        match self.locals.borrow().iter().find(|(other, _)| *other == key) {
            None => LocalValue::Missing,
            Some((_, None)) => LocalValue::Dropped,
            Some((_, Some(value))) => LocalValue::There(&raw const **value),
        }
    }

    pub(super) fn add_local(&self, key: usize, value: Box<dyn Any>) {
        self.locals.borrow_mut().push((key, Some(value)));
    }

    /// Drops the values of all keys, also of those that are made meanwhile.
    fn drop_locals(&self) {
        loop {
            let value = self.locals.borrow_mut().iter_mut().find_map(|(_, value)| value.take());
            if value.is_none() {
                return;
            }
        }
    }
}

/// A place that a run knows.
pub(super) struct Object {
    /// Where it was when it became known.
    pub(super) address: usize,
    pub(super) kind: Kind,
    /// What was written last.
    pub(super) value: Value,
    /// Its location in the graph, if it has one.
    pub(super) location: u32,
    /// Where it was made, and how its values are shown.
    pub(super) origin: (Code, Look),
    /// When the memory was allocated. All accesses of others must happen after.
    pub(super) birth: Option<Moment>,
    /// Whether the memory was freed in which it became known.
    pub(super) is_dead: bool,
    /// Whether accesses of it must happen before its memory is freed.
    is_watched: bool,
    /// The thread that has registered it.
    registered_by: u32,
}

/// The number of a thread, where it is spawned, and its context.
pub(super) struct Spawned {
    pub(super) thread: u32,
    pub(super) place: Code,
    pub(super) context: Box<Context>,
}

/// How much of counted references is modelled. See [`Counter`].
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Counting {
    #[default]
    WhereDropped,
    Drops,
    All,
}

/// An execution of the code.
pub(super) struct Run {
    generation: Cell<u64>,
    /// The last generation of the block of generations that is reserved.
    last_generation: Cell<u64>,
    current: Cell<*const Context>,
    is_alone: Cell<bool>,
    is_ending: Cell<bool>,
    /// How many steps had no event.
    flat_steps: Cell<u32>,
    pub(super) max_steps: u32,
    watches_leaks: bool,
    /// By [`Chance`]: how often it happens at one place, and whether it could have happened more often.
    pub(super) most_chances: [u32; 3],
    pub(super) has_denied: [Cell<bool>; 3],
    /// Whether every execution is explored, each once.
    pub(super) is_exhaustive: Cell<bool>,
    pub(super) max_events: usize,
    pub(super) objects: RefCell<Vec<Object>>,
    pub(super) spawned: RefCell<Vec<Spawned>>,
    /// The number of a thread, given the thread that has made it, and how many that had made before. It stays the same
    /// from execution to execution.
    threads: RefCell<FxHashMap<(u32, u32), u32>>,
    /// The kinds of threads that are like others.
    kinds: RefCell<FxHashMap<u32, u32>>,
    /// What must be dropped before an execution ends, and where it was made.
    live: RefCell<Vec<Option<(Code, &'static str)>>>,
    /// What `lazy_static!` has made, by the address of the static; and whether some of it owns something.
    lazies: RefCell<FxHashMap<usize, &'static dyn Any>>,
    has_owning_lazy: Cell<bool>,
    /// The counters of references that are kept as addresses.
    counters: RefCell<Vec<(usize, std::sync::Arc<Counter>)>>,
    /// The memory that must be given back.
    tracked: RefCell<Vec<(usize, (u64, u32))>>,
    pub(super) heap: RefCell<Heap>,
    /// The places in memory that was freed, in the order of the execution, and the deaths of the memory.
    pub(super) dead: RefCell<Vec<(u32, Death)>>,
    /// The drops of counted references that were no events, each with the address of its counter; and those before the
    /// drop that goes on, if it is the last one.
    silent_drops: RefCell<Vec<(usize, Moment)>>,
    freeing: RefCell<Vec<Moment>>,
    /// What the code did with memory that was freed.
    pub(super) offence: Cell<Option<Offence>>,
    /// Whether the code makes addresses known, and nobody tells of what is allocated and freed.
    pub(super) is_unwatched: Cell<bool>,
    /// Addresses that were made known, each at a place that depends on it.
    published: [Cell<usize>; 8],
    /// Memory that the code has given back: the system's, and that of whatever the global allocator is.
    quarantine: RefCell<Vec<(usize, Layout)>>,
    kept: RefCell<Vec<(usize, Layout)>>,
    /// How many events were replayed.
    pub(super) replayed: Cell<usize>,
    is_in_allocator: Cell<bool>,
    pub(super) counting: Cell<Counting>,
    /// What of counted references must be modelled for this program.
    pub(super) wanted_counting: Cell<Counting>,
    pub(super) names: RefCell<Names>,
    /// The graph, while a thread of a random run may add to it, and the steps that it has added.
    pub(super) graph: Cell<*mut Graph>,
    pub(super) added: RefCell<Vec<(Step, Code)>>,
    /// Whether the thread that runs has done something that the replay must hear of.
    pub(super) has_news: Cell<bool>,
    /// Whether several workers explore the code.
    is_shared: Cell<bool>,
    /// The data that this execution has claimed.
    claimed: RefCell<Vec<usize>>,
    /// Whether only one worker can explore the code.
    pub(super) must_be_alone: Cell<bool>,
}

const BLOCK: u64 = 1 << 20;

static GENERATIONS: AtomicU64 = AtomicU64::new(BLOCK);
/// The blocks of generations of all explorations.
static BLOCKS: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

fn blocks() -> std::sync::MutexGuard<'static, BTreeSet<u64>> {
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    static RUN: Cell<*const Run> = const { Cell::new(ptr::null()) };
}

/// Whether the allocator of this crate is the global one.
static HAS_ALLOCATOR: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// The run to which this code belongs, if any.
pub(super) fn get<'a>() -> Option<&'a Run> {
    // SAFETY: it is set while a run lives, and is only used below the call that has set it.
    unsafe { RUN.get().as_ref() }
}

/// The run to which this code belongs.
pub(super) fn expect<'a>() -> &'a Run {
    get().expect("this works only in the code that is given to `explore::model`")
}

/// Runs the code of a thread on the stack of its coroutine.
pub(super) fn run(context: *const Context, yielder: &Yielder<Value, *const Request>) -> Result<(), String> {
    // SAFETY: the context lives as long as the coroutine.
    let context = unsafe { &*context };
    context.yielder.set(yielder);
    catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: this is the only use of the code while the context lives.
        unsafe { (*context.code.get())() };
        context.drop_locals();
    }))
    .map_err(|panic| message(&*panic))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "not a text".to_owned())
}

impl Run {
    pub(super) fn new(builder: &Builder, counting: Counting) -> Self {
        Self {
            generation: Cell::new(0),
            last_generation: Cell::new(0),
            current: Cell::new(ptr::null()),
            is_alone: Cell::new(true),
            is_ending: Cell::new(false),
            flat_steps: Cell::new(0),
            max_steps: builder.max_steps,
            watches_leaks: builder.leaks,
            most_chances: [builder.spurious_failures, builder.spurious_wakes, builder.timeouts],
            has_denied: Default::default(),
            is_exhaustive: Cell::new(false),
            max_events: builder.max_events.map_or(usize::MAX, |most| most as usize),
            objects: RefCell::default(),
            spawned: RefCell::default(),
            threads: RefCell::default(),
            kinds: RefCell::default(),
            live: RefCell::default(),
            lazies: RefCell::default(),
            has_owning_lazy: Cell::new(false),
            counters: RefCell::default(),
            tracked: RefCell::default(),
            heap: RefCell::default(),
            dead: RefCell::default(),
            silent_drops: RefCell::default(),
            freeing: RefCell::default(),
            offence: Cell::default(),
            is_unwatched: Cell::new(false),
            published: Default::default(),
            quarantine: RefCell::default(),
            kept: RefCell::default(),
            replayed: Cell::new(0),
            is_in_allocator: Cell::new(false),
            counting: Cell::new(counting),
            wanted_counting: Cell::new(counting),
            names: RefCell::default(),
            graph: Cell::new(ptr::null_mut()),
            added: RefCell::default(),
            has_news: Cell::new(false),
            is_shared: Cell::new(false),
            claimed: RefCell::default(),
            must_be_alone: Cell::new(false),
        }
    }

    /// The number of the run, never 0.
    pub(super) fn generation(&self) -> u64 {
        self.generation.get()
    }

    /// Whether another exploration, which goes on at the same time, has this generation.
    pub(super) fn is_of_another(&self, generation: u64) -> bool {
        let block = generation / BLOCK;
        block != self.generation.get() / BLOCK && blocks().contains(&block)
    }

    /// Begins a new execution. The one before has ended.
    pub(super) fn begin(&self) {
        if self.generation.get() == self.last_generation.get() {
            let mut blocks = blocks();
            blocks.remove(&(self.generation.get() / BLOCK));
            let first = GENERATIONS.fetch_add(BLOCK, Ordering::Relaxed);
            blocks.insert(first / BLOCK);
            self.generation.set(first);
            self.last_generation.set(first + BLOCK - 1);
        } else {
            self.generation.set(self.generation.get() + 1);
        }
        self.is_alone.set(true);
        self.is_ending.set(false);
        self.flat_steps.set(0);
        self.objects.borrow_mut().clear();
        self.spawned.borrow_mut().clear();
        self.live.borrow_mut().clear();
        self.counters.borrow_mut().clear();
        self.forget_memory();
        self.give_claims_back();
    }

    /// Lets code of a thread run: all that it does belongs to this run.
    #[inline]
    pub(super) fn enter<R>(&self, thread: *const Context, action: impl FnOnce() -> R) -> R {
        /// Leaves the run, also if a destructor panics.
        struct Inside<'a>(&'a Run, *const Run);
        impl Drop for Inside<'_> {
            #[inline]
            fn drop(&mut self) {
                RUN.set(self.1);
                self.0.current.set(ptr::null());
            }
        }
        self.current.set(thread);
        let _inside = Inside(self, RUN.replace(self));
        action()
    }

    /// From here on no event is asked for: the run is taken down.
    pub(super) fn end(&self) {
        self.is_ending.set(true);
        self.flat_steps.set(0);
    }

    /// The execution is over. The answer is what is left that should have been dropped. If a static owns something, it
    /// may have what is left, and nothing is told.
    pub(super) fn finish(&self) -> Vec<String> {
        self.end();
        self.lazies.borrow_mut().clear();
        if self.has_owning_lazy.take() {
            return Vec::new();
        }
        let live = self.live.borrow();
        live.iter().flatten().map(|(code, what)| format!("{what} made at {code}")).collect()
    }

    /// The thread that runs.
    pub(super) fn current(&self) -> Option<&Context> {
        // SAFETY: it is set while the thread runs, and its context lives longer.
        unsafe { self.current.get().as_ref() }
    }

    /// The numbers of threads, for another worker.
    pub(super) fn thread_numbers(&self) -> FxHashMap<(u32, u32), u32> {
        self.threads.borrow().clone()
    }

    /// Goes on with the numbers of another worker.
    pub(super) fn share(&self, threads: FxHashMap<(u32, u32), u32>) {
        self.threads.replace(threads);
        self.is_shared.set(true);
    }

    /// The place that was at this address when it was registered.
    pub(super) fn object_at(&self, address: usize) -> Option<u32> {
        let objects = self.objects.borrow();
        objects.iter().rposition(|object| object.address == address).map(|at| at as u32)
    }

    /// The thread that runs, and how many events it has had.
    pub(super) fn now(&self) -> Moment {
        let moment = |context: &Context| Moment { thread: context.handle.number(), steps: context.had.get() };
        self.current().map_or(Moment { thread: 0, steps: 0 }, moment)
    }

    /// How many events the thread that runs has had.
    pub(super) fn had(&self) -> u32 {
        self.now().steps
    }

    /// The code asks about counted references, so as much of them must be modelled.
    pub(super) fn want_counting(&self, least: Counting) {
        self.wanted_counting.set(self.wanted_counting.get().max(least));
        self.has_news.set(true);
    }

    /// A new thread, which begins when its spawn is in the graph.
    pub(super) fn spawn(&self, place: Code, make: impl FnOnce(u32) -> (Thread, Box<dyn FnMut()>)) -> Thread {
        let context = self.current().expect("a thread is spawned by a thread of the program");
        let made = context.made.replace(context.made.get() + 1);
        let thread = {
            let mut threads = self.threads.borrow_mut();
            let next = threads.len() as u32 + 1;
            *threads.entry((context.handle.number(), made)).or_insert(next)
        };
        if !self.kinds.borrow().is_empty() {
            self.kinds.borrow_mut().remove(&thread);
        }
        let (handle, code) = make(thread);
        let context = Box::new(Context::new(handle.clone(), code));
        self.spawned.borrow_mut().push(Spawned { thread, place, context });
        self.has_news.set(true);
        handle
    }

    /// A thread that is about to begin is like all others of its kind.
    pub(super) fn set_kind(&self, thread: u32, kind: u32) {
        self.kinds.borrow_mut().insert(thread, kind);
    }

    /// The kind of a thread, if others may be like it.
    pub(super) fn kind(&self, thread: u32) -> Option<u32> {
        self.kinds.borrow().get(&thread).copied()
    }

    /// Something must be dropped before the execution ends.
    pub(super) fn add_live(&self, code: Code, what: &'static str) -> (u64, u32) {
        let mut live = self.live.borrow_mut();
        live.push(Some((code, what)));
        (self.generation(), live.len() as u32 - 1)
    }

    pub(super) fn remove_live(&self, (generation, at): (u64, u32)) {
        if generation == self.generation()
            && let Some(live) = self.live.borrow_mut().get_mut(at as usize)
        {
            *live = None;
        }
    }

    pub(super) fn counter(&self, address: usize) -> Option<std::sync::Arc<Counter>> {
        let counters = self.counters.borrow();
        counters.iter().rev().find(|(other, _)| *other == address).map(|(_, counter)| counter.clone())
    }

    pub(super) fn keep_counter(&self, address: usize, counter: &std::sync::Arc<Counter>) {
        let mut counters = self.counters.borrow_mut();
        if !counters.iter().any(|(other, kept)| *other == address && std::sync::Arc::ptr_eq(kept, counter)) {
            counters.push((address, counter.clone()));
        }
    }

    /// What a static that is made at its first use is in this run.
    pub(super) fn lazy(&self, key: usize) -> Option<&'static dyn Any> {
        self.lazies.borrow().get(&key).copied()
    }

    /// Makes such a static. There may be references to it for ever, so it stays.
    pub(super) fn add_lazy<T: 'static>(&self, key: usize, value: T) {
        self.has_owning_lazy.set(self.has_owning_lazy.get() || std::mem::needs_drop::<T>());
        self.lazies.borrow_mut().insert(key, Box::leak(Box::new(value)));
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.begin();
        blocks().remove(&(self.generation.get() / BLOCK));
    }
}
