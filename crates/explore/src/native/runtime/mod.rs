//! What a running thread has at hand: who it is, the memory of the run, and the way to ask the exploration.
//!
//! *Flat memory.* Of every place the run knows the value that was written last, in the order in which the events were
//! replayed. It is used where no other thread counts: before the first thread is spawned, when a thread unwinds, and
//! when the run is taken down. Then no event is asked for. What the first thread does before it spawns another happens
//! before everything else, so its last writes are the initial values of the execution.

#![allow(unsafe_code, reason = "the thread that runs is found through a pointer")]

mod quarantine;
mod statics;
mod steps;

use std::alloc::{GlobalAlloc, Layout, System};
use std::any::Any;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use corosensei::Yielder;
use rustc_hash::FxHashMap;

use super::names::Names;
use super::place::{Kind, Look};
use super::sync::Counter;
use super::thread::Thread;
use crate::graph::{Graph, NONE};
use crate::program::{Step, Value};

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
    address: usize,
    pub(super) kind: Kind,
    /// What was written last.
    pub(super) value: Value,
    /// Its location in the graph, if it has one.
    pub(super) location: u32,
    /// Where it was made, and how its values are shown.
    pub(super) origin: (Code, Look),
    /// The thread that has allocated it, and how many events that had then. All accesses of others must happen after.
    pub(super) birth: Option<(u32, u32)>,
    /// The thread that has registered it.
    registered_by: u32,
}

/// Memory that a thread has allocated, and how many events it had then; none if there was no other thread.
#[derive(Copy, Clone)]
struct Allocation {
    size: usize,
    birth: Option<(u32, u32)>,
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
    pub(super) max_events: usize,
    pub(super) objects: RefCell<Vec<Object>>,
    pub(super) spawned: RefCell<Vec<Spawned>>,
    /// The number of a thread, given the thread that has made it, and how many that had made before. It stays the same
    /// from execution to execution.
    threads: RefCell<FxHashMap<(u32, u32), u32>>,
    /// What must be dropped before an execution ends, and where it was made.
    live: RefCell<Vec<Option<(Code, &'static str)>>>,
    /// What `lazy_static!` has made, by the address of the static.
    lazies: RefCell<FxHashMap<usize, Box<dyn Any>>>,
    /// The counters of references that are kept as addresses.
    counters: RefCell<Vec<(usize, std::sync::Arc<Counter>)>>,
    /// The memory that must be given back.
    tracked: RefCell<Vec<(usize, (u64, u32))>>,
    allocations: RefCell<BTreeMap<usize, Allocation>>,
    /// Addresses that were made known, each at a place that depends on it.
    published: [Cell<usize>; 8],
    quarantine: RefCell<Vec<(usize, Layout)>>,
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
    /// Whether several workers explore the code, and the data that this one has claimed in this execution.
    is_shared: Cell<bool>,
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
    pub(super) fn new(max_steps: u32, max_events: Option<u32>, counting: Counting) -> Self {
        Self {
            generation: Cell::new(0),
            last_generation: Cell::new(0),
            current: Cell::new(ptr::null()),
            is_alone: Cell::new(true),
            is_ending: Cell::new(false),
            flat_steps: Cell::new(0),
            max_steps,
            max_events: max_events.map_or(usize::MAX, |most| most as usize),
            objects: RefCell::default(),
            spawned: RefCell::default(),
            threads: RefCell::default(),
            live: RefCell::default(),
            lazies: RefCell::default(),
            counters: RefCell::default(),
            tracked: RefCell::default(),
            allocations: RefCell::default(),
            published: Default::default(),
            quarantine: RefCell::default(),
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
        self.tracked.borrow_mut().clear();
        self.allocations.borrow_mut().clear();
        self.published.iter().for_each(|address| address.set(0));
        if self.is_shared.get() {
            self.give_claims_back();
        }
        for (address, layout) in self.quarantine.borrow_mut().drain(..) {
            // SAFETY: the code has given this memory back, and nothing of the run is left that could use it.
            unsafe { System.dealloc(address as *mut u8, layout) }
        }
    }

    /// Lets code of a thread run: all that it does belongs to this run.
    #[inline]
    pub(super) fn enter<R>(&self, thread: *const Context, action: impl FnOnce() -> R) -> R {
        self.current.set(thread);
        let before = RUN.replace(self);
        let result = action();
        RUN.set(before);
        self.current.set(ptr::null());
        result
    }

    /// From here on no event is asked for: the run is taken down.
    pub(super) fn end(&self) {
        self.is_ending.set(true);
        self.flat_steps.set(0);
    }

    /// Drops what belongs to no thread. The answer is what is still there.
    pub(super) fn finish(&self) -> Vec<String> {
        self.end();
        self.enter(ptr::null(), || drop(self.lazies.take()));
        let live = self.live.borrow();
        live.iter().flatten().map(|(code, what)| format!("{what} made at {code}")).collect()
    }

    /// The thread that runs.
    pub(super) fn current(&self) -> Option<&Context> {
        // SAFETY: it is set while the thread runs, and its context lives longer.
        unsafe { self.current.get().as_ref() }
    }

    pub(super) fn register(
        &self,
        address: usize,
        value: Value,
        kind: Kind,
        origin: (Code, Look),
        has_birth: bool,
    ) -> u32 {
        let (thread, _) = self.now();
        let birth = if has_birth && !self.is_flat() { self.allocation(address).and_then(|it| it.birth) } else { None };
        let mut objects = self.objects.borrow_mut();
        objects.push(Object { address, kind, value, location: NONE, origin, birth, registered_by: thread });
        objects.len() as u32 - 1
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
    fn now(&self) -> (u32, u32) {
        self.current().map_or((0, 0), |context| (context.handle.number(), context.had.get()))
    }

    /// How many events the thread that runs has had.
    pub(super) fn had(&self) -> u32 {
        self.now().1
    }

    /// What is allocated at this address, if that is known.
    fn allocation(&self, address: usize) -> Option<Allocation> {
        let allocations = self.allocations.borrow();
        let (start, found) = allocations.range(..=address).next_back()?;
        (address - start < found.size).then_some(*found)
    }

    /// Whether something is allocated at this address.
    pub(super) fn is_allocated(&self, address: Value) -> bool {
        address > 1 << 20 && self.allocation(address as usize).is_some()
    }

    /// The code asks about counted references, so as much of them must be modelled.
    pub(super) fn want_counting(&self, least: Counting) {
        self.wanted_counting.set(self.wanted_counting.get().max(least));
        self.has_news.set(true);
    }

    /// The thread that runs has allocated memory. Before there are others, nobody can access it too early.
    pub(super) fn allocated(&self, start: usize, size: usize) {
        if size == 0 || self.is_in_allocator.replace(true) {
            return;
        }
        let birth = if self.is_flat() { None } else { Some(self.now()) };
        self.allocations.borrow_mut().insert(start, Allocation { size, birth });
        self.is_in_allocator.set(false);
    }

    /// The thread that runs makes an address known to others. If nobody has told of an allocation there, it is the
    /// thread's own, and what is in it was made by the thread.
    pub(super) fn publish(&self, start: usize, size: usize) {
        let is_known = HAS_ALLOCATOR.load(Ordering::Relaxed) || size == 0 || self.is_flat();
        if is_known || self.published[start >> 4 & 7].replace(start) == start || self.allocation(start).is_some() {
            return;
        }
        let mut objects = self.objects.borrow_mut();
        let (thread, had) = self.now();
        let within = |object: &&mut Object| object.address.wrapping_sub(start) < size;
        // If others have accessed what is there, they have got it in some other way.
        if objects.iter_mut().filter(within).any(|object| object.registered_by != thread) {
            return;
        }
        for object in objects.iter_mut().filter(within) {
            object.birth = Some((thread, had));
        }
        drop(objects);
        self.allocated(start, size);
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
        let (handle, code) = make(thread);
        let context = Box::new(Context::new(handle.clone(), code));
        self.spawned.borrow_mut().push(Spawned { thread, place, context });
        self.has_news.set(true);
        handle
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

    /// Memory was allocated that must be given back before the execution ends.
    pub(super) fn must_be_given_back(&self, address: usize, code: Code) {
        let live = self.add_live(code, "memory");
        self.tracked.borrow_mut().push((address, live));
    }

    pub(super) fn given_back(&self, address: usize) {
        let mut tracked = self.tracked.borrow_mut();
        if let Some(at) = tracked.iter().rposition(|(other, _)| *other == address) {
            self.remove_live(tracked.swap_remove(at).1);
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
    pub(super) fn lazy(&self, key: usize) -> Option<*const dyn Any> {
        self.lazies.borrow().get(&key).map(|value| ptr::from_ref(&**value))
    }

    pub(super) fn add_lazy(&self, key: usize, value: Box<dyn Any>) {
        self.lazies.borrow_mut().insert(key, value);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.begin();
        blocks().remove(&(self.generation.get() / BLOCK));
    }
}
