//! What a running thread of a program has at hand: who it is, and the way to ask the exploration.

#![allow(unsafe_code, reason = "the coroutine that runs has its context on its own stack")]

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::ptr;

use corosensei::Yielder;

use crate::program::{Next, Step, Value};

/// What a thread wants, and where it is in the code.
pub(super) struct Request {
    pub(super) next: Next,
    pub(super) place: &'static Location<'static>,
}

/// The value with which a thread goes on.
pub(super) type Resume = Value;

/// The context of a thread. It is on the stack of its coroutine.
struct Context {
    thread: u32,
    /// The location of the token with which it is unparked.
    token: u32,
    yielder: *const Yielder<Resume, Request>,
    /// How many locations and threads it has made.
    locations: Cell<u32>,
    threads: Cell<u32>,
    /// How often it has hinted that it spins, without an effect since the first time; none if it had one since the
    /// last.
    spins: Cell<Option<u32>>,
    /// Whether it has read since the last hint.
    has_read: Cell<bool>,
}

/// The number of a location or thread that a thread has made, given how many it had made before. These numbers stay the
/// same from execution to execution, so that the same code has the same numbers.
#[derive(Default)]
struct Numbers(HashMap<(u32, u32), u32>);

impl Numbers {
    fn of(&mut self, thread: u32, made: u32, first: u32) -> u32 {
        let next = self.0.len() as u32 + first;
        *self.0.entry((thread, made)).or_insert(next)
    }
}

/// The number of a thread, the location of its token, and its code.
pub(super) type Spawned = (u32, u32, Box<dyn FnOnce()>);

thread_local! {
    static CURRENT: Cell<*const Context> = const { Cell::new(ptr::null()) };
    /// Whether the threads are being unwound. What they access then means nothing.
    static IS_TEARING_DOWN: Cell<bool> = const { Cell::new(false) };
    static MAX_SPINS: Cell<u32> = const { Cell::new(0) };
    static LOCATIONS: RefCell<Numbers> = RefCell::default();
    static THREADS: RefCell<Numbers> = RefCell::default();
    static SPAWNED: RefCell<Vec<Spawned>> = RefCell::default();
}

/// Runs the code of a thread on the stack of its coroutine.
pub(super) fn run(
    thread: u32,
    token: u32,
    yielder: &Yielder<Resume, Request>,
    code: Box<dyn FnOnce()>,
) -> Result<(), String> {
    let context = Context {
        thread,
        token,
        yielder,
        locations: Cell::new(0),
        threads: Cell::new(0),
        spins: Cell::new(None),
        has_read: Cell::new(false),
    };
    CURRENT.set(&raw const context);
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| message(&*panic))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "not a text".to_owned())
}

/// The coroutine has given control back.
pub(super) fn leave() {
    CURRENT.set(ptr::null());
}

pub(super) fn tear_down(is_tearing_down: bool) {
    IS_TEARING_DOWN.set(is_tearing_down);
}

/// Whether the threads are being unwound, or this one is by a panic. Then an access means nothing: nobody will know of
/// it. Above all it must not let another thread run, for which the standard library would think that it panics.
pub(super) fn is_tearing_down() -> bool {
    IS_TEARING_DOWN.get() || std::thread::panicking()
}

pub(super) fn take_spawned() -> Vec<Spawned> {
    SPAWNED.take()
}

pub(super) fn forget_spawned() {
    drop(SPAWNED.take());
}

/// Forgets all numbers: the exploration is over.
pub(super) fn reset() {
    CURRENT.set(ptr::null());
    LOCATIONS.take();
    THREADS.take();
    SPAWNED.take();
}

fn with<R>(action: impl FnOnce(&Context) -> R) -> R {
    let current = CURRENT.get();
    assert!(!current.is_null(), "the types of `explore` work only in the code that is given to `explore::model`");
    // SAFETY: the context is on the stack of the coroutine that is running, below this call.
    action(unsafe { &*current })
}

fn ask(next: Next, place: &'static Location<'static>) -> Value {
    if is_tearing_down() {
        return 0;
    }
    let current = CURRENT.get();
    with(|context| {
        // SAFETY: the yielder lives as long as the coroutine's function, which is below this call.
        let value = unsafe { &*context.yielder }.suspend(Request { next, place });
        CURRENT.set(current);
        value
    })
}

/// Asks for a step of this thread. The answer is the value that it reads.
#[track_caller]
pub(super) fn step(step: Step) -> Value {
    let value = ask(Next::Step(step), Location::caller());
    let has_effect = match step {
        Step::Read { .. } => false,
        Step::Rmw { update, .. } => update.apply(value).is_some(),
        _ => true,
    };
    if !is_tearing_down() {
        with(|context| {
            context.has_read.set(true);
            if has_effect {
                context.spins.set(None);
            }
        });
    }
    value
}

/// A loop that reads, and that has no effect since the last hint, waits for another value. The executions in which it
/// gets one are explored, too, so this one ends here, after as many rounds as are allowed.
#[track_caller]
pub(super) fn spin() {
    if is_tearing_down() {
        return;
    }
    let is_waiting = with(|context| {
        let rounds = match context.spins.get() {
            None => 0,
            Some(rounds) => rounds + u32::from(context.has_read.get()),
        };
        context.spins.set(Some(rounds));
        context.has_read.set(false);
        rounds > MAX_SPINS.get()
    });
    if is_waiting {
        ask(Next::Stopped, Location::caller());
    }
}

/// How many rounds a loop may spin without an effect.
pub(super) fn set_max_spins(rounds: u32) {
    MAX_SPINS.set(rounds);
}

/// A new location.
pub(super) fn location() -> u32 {
    if is_tearing_down() {
        return 0;
    }
    with(|context| {
        let made = context.locations.replace(context.locations.get() + 1);
        LOCATIONS.with_borrow_mut(|numbers| numbers.of(context.thread, made, 0))
    })
}

/// The location of the token of the first thread. It is no location that the thread has made.
pub(super) fn first_token() -> u32 {
    LOCATIONS.with_borrow_mut(|numbers| numbers.of(0, u32::MAX, 0))
}

/// A new thread, which begins when its spawn is in the graph, and the location of its token.
pub(super) fn spawn(code: Box<dyn FnOnce()>) -> (u32, u32) {
    let token = location();
    with(|context| {
        let made = context.threads.replace(context.threads.get() + 1);
        let thread = THREADS.with_borrow_mut(|numbers| numbers.of(context.thread, made, 1));
        SPAWNED.with_borrow_mut(|spawned| spawned.push((thread, token, code)));
        (thread, token)
    })
}

/// The number of this thread, and the location of its token.
pub(super) fn current() -> (u32, u32) {
    with(|context| (context.thread, context.token))
}
