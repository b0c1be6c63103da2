//! Threads, with the names of `std::thread`.

#![allow(unsafe_code, reason = "scoped threads borrow, and thread-locals live as long as their thread")]

use std::any::Any;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::mem;
use std::panic::Location;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use std::thread::panicking;

use super::place::{Kind, Look, Own, Place};
use super::runtime::{self, LocalValue};
use crate::chance::Chance;
use crate::program::{Await, Order, Step, Update};

/// The number of a thread. It is the same in all executions in which the thread that spawned it read the same values.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct ThreadId(u32);

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThreadId({})", self.0)
    }
}

/// A thread, which can be unparked.
#[derive(Clone)]
pub struct Thread {
    inner: Arc<Inner>,
}

struct Inner {
    id: ThreadId,
    name: Option<String>,
    /// 1 if it has a token.
    token: Place<Own>,
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").field("id", &self.id()).field("name", &self.name()).finish_non_exhaustive()
    }
}

impl Thread {
    fn new(number: u32, name: Option<String>) -> Self {
        Self { inner: Arc::new(Inner { id: ThreadId(number), name, token: Place::with(Own::new(0), Look::Word) }) }
    }

    /// The thread that the program begins with.
    pub(super) fn first() -> Self {
        Self::new(0, None)
    }

    pub(super) fn number(&self) -> u32 {
        self.inner.id.0
    }

    /// The number of the thread.
    pub fn id(&self) -> ThreadId {
        self.inner.id
    }

    /// The name of the thread.
    pub fn name(&self) -> Option<&str> {
        self.inner.name.as_deref()
    }

    /// Gives the thread a token, if it has none: the next [`park`], or the one that waits, returns.
    #[track_caller]
    pub fn unpark(&self) {
        self.inner.token.update(Update::Set(1), Order::Release, Order::Relaxed);
    }
}

/// This thread.
pub fn current() -> Thread {
    let context = runtime::expect().current().expect("only a thread of the program has a handle");
    context.handle.clone()
}

/// Waits for a token, and takes it. It may end without one
/// ([`Builder::spurious_wakes`](crate::Builder::spurious_wakes)).
#[track_caller]
pub fn park() {
    if !runtime::expect().happens(Chance::Wakes, Location::caller()) {
        take_token();
    }
}

/// The same. The time may run out ([`Builder::timeouts`](crate::Builder::timeouts)).
#[track_caller]
pub fn park_timeout(_time: Duration) {
    let (run, code) = (runtime::expect(), Location::caller());
    if !run.happens(Chance::RunsOut, code) && !run.happens(Chance::Wakes, code) {
        run.waits_for_time(true);
        take_token();
        run.waits_for_time(false);
    }
}

#[track_caller]
fn take_token() {
    let take = Update::CompareExchange { expected: 1, new: 0 };
    current().inner.token.update_when(Await::equal(1), take, Order::Acquire, Order::Relaxed);
}

/// Lets others go on. In a loop, this is the same as [`hint::spin_loop`](crate::hint::spin_loop).
#[track_caller]
pub fn yield_now() {
    crate::hint::spin_loop();
}

/// The result of a thread, which the thread that joins it takes.
type Slot<T> = Arc<Mutex<Option<T>>>;

fn take<T>(slot: &Slot<T>) -> std::thread::Result<T> {
    let result = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    result.ok_or_else(|| Box::new("the thread has no result") as _)
}

/// Starts a thread. Its code may refer to what does not live for ever: the caller must see to it that the thread is
/// joined before that ends.
#[track_caller]
fn start<'a, T: 'a>(name: Option<String>, code: impl FnOnce() -> T + 'a) -> (Thread, Slot<T>) {
    let (thread, result) = make(name, code);
    begin(&thread);
    (thread, result)
}

/// Makes a thread, which has not been started yet.
#[track_caller]
fn make<'a, T: 'a>(name: Option<String>, code: impl FnOnce() -> T + 'a) -> (Thread, Slot<T>) {
    let run = runtime::expect();
    let result = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&result);
    let mut code = Some((code, slot));
    let code: Box<dyn FnMut() + 'a> = Box::new(move || {
        let Some((code, slot)) = code.take() else { return };
        let value = code();
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    });
    // SAFETY: the caller joins the thread in time, and when a run is taken down, threads are in the order in which they
    // were made, the last one first.
    let code = unsafe { mem::transmute::<Box<dyn FnMut() + 'a>, Box<dyn FnMut() + 'static>>(code) };
    let thread = run.spawn(Location::caller(), |number| (Thread::new(number, name), code));
    (thread, result)
}

#[track_caller]
fn begin(thread: &Thread) {
    runtime::expect().step(Step::Spawn(thread.number()), Kind::Number, Location::caller());
}

#[track_caller]
#[inline]
fn join(thread: &Thread) {
    runtime::expect().step(Step::Join(thread.number()), Kind::Number, Location::caller());
}

/// The handle of a thread, which can be joined.
pub struct JoinHandle<T> {
    thread: Thread,
    result: Slot<T>,
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Starts a thread.
#[track_caller]
pub fn spawn<T: 'static>(code: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
    let (thread, result) = start(None, code);
    JoinHandle { thread, result }
}

impl<T> JoinHandle<T> {
    /// The thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Waits for the thread to finish. (If it panics, the execution is a finding, and nothing waits for it.)
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        join(&self.thread);
        take(&self.result)
    }
}

/// Starts so many threads that run the same code, and that nothing tells apart. An exploration does not visit all of
/// the executions that differ in the names of these threads alone: of `n!` it visits one, most often
/// ([`Builder::symmetry`](crate::Builder::symmetry)). The code must not use what is different for each thread, such as
/// the number of [`current`]. What it owns is dropped when all of them have finished, by the thread that has started
/// them.
///
/// ```
/// use explore::sync::atomic::{AtomicU32, Ordering};
/// use explore::{Builder, thread};
///
/// let code = || {
///     let counter = explore::sync::Arc::new(AtomicU32::new(0));
///     let theirs = explore::sync::Arc::clone(&counter);
///     let threads = thread::alike(5, move || {
///         theirs.fetch_add(1, Ordering::Relaxed);
///     });
///     threads.join();
///     assert_eq!(counter.load(Ordering::Relaxed), 5);
/// };
/// assert_eq!(Builder::new().check(code).counts.executions, 1);
/// assert_eq!(Builder { symmetry: false, ..Builder::new() }.check(code).counts.executions, 120);
/// ```
#[track_caller]
pub fn alike(count: usize, code: impl Fn() + 'static) -> Alike {
    let code: Rc<dyn Fn()> = Rc::new(code);
    let mut threads: Vec<Thread> = Vec::with_capacity(count);
    for _ in 0..count {
        let code = Rc::clone(&code);
        let (thread, _) = make(None, move || code());
        let first = threads.first().unwrap_or(&thread);
        runtime::expect().set_kind(thread.number(), first.number());
        begin(&thread);
        threads.push(thread);
    }
    Alike { threads, _code: code }
}

/// Threads that run the same code. Who drops this waits for all of them to finish.
#[must_use = "it waits for the threads where it is dropped"]
pub struct Alike {
    threads: Vec<Thread>,
    /// It is dropped here, after the threads: which of them is the last one, nothing in the code tells.
    _code: Rc<dyn Fn()>,
}

impl fmt::Debug for Alike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alike").field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl Alike {
    /// Waits for all of them to finish.
    #[track_caller]
    pub fn join(self) {
        drop(self);
    }
}

impl Drop for Alike {
    #[track_caller]
    fn drop(&mut self) {
        self.threads.iter().for_each(join);
    }
}

/// Starts threads that have a name.
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
}

impl Builder {
    /// A thread without a name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the thread a name.
    #[must_use]
    pub fn name(self, name: String) -> Self {
        Self { name: Some(name) }
    }

    /// All stacks have one size, which is enough for tests. This is here for programs that ask for one.
    #[must_use]
    pub fn stack_size(self, _size: usize) -> Self {
        self
    }

    /// Starts the thread.
    #[track_caller]
    pub fn spawn<T: 'static>(self, code: impl FnOnce() -> T + 'static) -> io::Result<JoinHandle<T>> {
        let (thread, result) = start(self.name, code);
        Ok(JoinHandle { thread, result })
    }

    /// Starts the thread in a scope.
    #[track_caller]
    pub fn spawn_scoped<'scope, T: 'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        code: impl FnOnce() -> T + 'scope,
    ) -> io::Result<ScopedJoinHandle<'scope, T>> {
        Ok(scope.start(self.name, code))
    }
}

/// A scope in which threads are started that may borrow from outside of it.
pub struct Scope<'scope, 'env: 'scope> {
    /// The threads that have not been joined.
    threads: Mutex<Vec<Thread>>,
    inside: PhantomData<&'scope mut &'scope ()>,
    outside: PhantomData<&'env mut &'env ()>,
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

/// The handle of a thread in a scope.
pub struct ScopedJoinHandle<'scope, T> {
    thread: Thread,
    result: Slot<T>,
    scope: PhantomData<&'scope ()>,
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// The thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Waits for the thread to finish.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        join(&self.thread);
        take(&self.result)
    }
}

/// A scope for threads that borrow. It waits for all of them.
///
/// ```
/// use explore::sync::atomic::{AtomicU32, Ordering};
/// use explore::thread;
///
/// explore::model(|| {
///     let sum = AtomicU32::new(0);
///     thread::scope(|scope| {
///         scope.spawn(|| sum.fetch_add(1, Ordering::Relaxed));
///         scope.spawn(|| sum.fetch_add(2, Ordering::Relaxed));
///     });
///     assert_eq!(sum.load(Ordering::Relaxed), 3);
/// });
/// ```
#[track_caller]
pub fn scope<'env, T>(code: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
    let scope = Scope { threads: Mutex::default(), inside: PhantomData, outside: PhantomData };
    let result = code(&scope);
    loop {
        let thread = scope.threads.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(thread) = thread else { return result };
        join(&thread);
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a thread.
    #[track_caller]
    pub fn spawn<T: 'scope>(&'scope self, code: impl FnOnce() -> T + 'scope) -> ScopedJoinHandle<'scope, T> {
        self.start(None, code)
    }

    #[track_caller]
    fn start<T: 'scope>(
        &'scope self,
        name: Option<String>,
        code: impl FnOnce() -> T + 'scope,
    ) -> ScopedJoinHandle<'scope, T> {
        let (thread, result) = start(name, code);
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread.clone());
        ScopedJoinHandle { thread, result, scope: PhantomData }
    }
}

/// A key of [`thread_local!`](crate::thread_local).
pub struct LocalKey<T> {
    #[doc(hidden)]
    pub init: fn() -> T,
    #[doc(hidden)]
    pub _p: PhantomData<fn(T)>,
}

impl<T> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// The value of a key was dropped: its thread ends.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct AccessError;

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value was dropped, since its thread ends")
    }
}

impl std::error::Error for AccessError {}

impl<T: 'static> LocalKey<T> {
    /// Gives access to the value of this thread.
    pub fn with<R>(&'static self, action: impl FnOnce(&T) -> R) -> R {
        self.try_with(action).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Gives access to the value of this thread, if it has not been dropped.
    pub fn try_with<R>(&'static self, action: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let key = std::ptr::from_ref(self) as usize;
        let context = runtime::expect().current().ok_or(AccessError)?;
        if matches!(context.local(key), LocalValue::Missing) {
            let value: Box<dyn Any> = Box::new((self.init)());
            // To make it may have made it.
            if matches!(context.local(key), LocalValue::Missing) {
                context.add_local(key, value);
            }
        }
        let LocalValue::There(value) = context.local(key) else { return Err(AccessError) };
        // SAFETY: the value is in a box of its own, and is dropped when its thread ends, which is not before the action
        // does.
        let value = unsafe { &*value }.downcast_ref::<T>().ok_or(AccessError)?;
        Ok(action(value))
    }
}
