//! The recorder of one thread: calls the object, and notes when.

use std::sync::{Arc, Mutex};

use history::{KeyId, Method, Value};

use crate::Kept;
use crate::clock::Clock;
use crate::live::Ring;

/// What is called.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The object; [`KeyId::NONE`] if there is only one.
    pub key: KeyId,
    /// The method.
    pub method: Method,
    /// What is inserted, written, added; else [`Value::NONE`].
    pub argument: Value,
    /// What a compare-and-swap expects; else [`Value::NONE`].
    pub expected: Value,
}

impl Invocation {
    /// The same, on one of several objects: they are numbered from zero.
    #[must_use]
    pub fn on(self, key: u32) -> Self {
        Self { key: KeyId(key), ..self }
    }

    /// The same, of a compare-and-swap that expects a value.
    #[must_use]
    pub fn expecting(self, expected: impl Number) -> Self {
        Self { expected: expected.value(), ..self }
    }
}

impl From<Method> for Invocation {
    fn from(method: Method) -> Self {
        Self { key: KeyId::NONE, method, argument: Value::NONE, expected: Value::NONE }
    }
}

impl<T: Number> From<(Method, T)> for Invocation {
    fn from((method, argument): (Method, T)) -> Self {
        Self { argument: argument.value(), ..method.into() }
    }
}

/// A number that is a value of a history.
pub trait Number: Copy {
    /// The value.
    fn value(self) -> Value;
}

macro_rules! number {
    ($($type:ty)*) => {$(
        impl Number for $type {
            fn value(self) -> Value {
                Value::integer(i64::from(self)).unwrap_or(Value::NONE)
            }
        }

        impl Returns for $type {
            fn answer(&self, _method: Method) -> Answer {
                Answer::Returned(self.value())
            }
        }
    )*};
}
// 32 bits at most: every one fits the 62 of a value.
number!(i8 i16 i32 u8 u16 u32);

impl Number for Value {
    fn value(self) -> Value {
        self
    }
}

/// How an operation ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It returned this; [`Value::NONE`] for nothing.
    Returned(Value),
    /// It says that it had no effect: a full queue took nothing.
    DidNotHappen,
    /// Nobody knows whether it happened: it panicked, or gave up waiting.
    Unknown,
}

/// What an operation returns, as the history shows it.
pub trait Returns {
    /// The answer of an operation of that method.
    fn answer(&self, method: Method) -> Answer;
}

impl Returns for () {
    fn answer(&self, _method: Method) -> Answer {
        Answer::Returned(Value::NONE)
    }
}

impl Returns for bool {
    fn answer(&self, _method: Method) -> Answer {
        Answer::Returned(Value::boolean(*self))
    }
}

/// Nothing is `empty`; for an exchange, `null`.
impl<T: Returns> Returns for Option<T> {
    fn answer(&self, method: Method) -> Answer {
        let nothing = if method == Method::Exchange { Value::NULL } else { Value::EMPTY };
        self.as_ref().map_or(Answer::Returned(nothing), |value| value.answer(method))
    }
}

/// What failed did not happen.
impl<T: Returns, E> Returns for Result<T, E> {
    fn answer(&self, method: Method) -> Answer {
        self.as_ref().map_or(Answer::DidNotHappen, |value| value.answer(method))
    }
}

/// One operation.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) called: u64,
    pub(crate) returned: u64,
    pub(crate) invocation: Invocation,
    pub(crate) answer: Answer,
}

/// Where a thread puts what it records.
pub(crate) enum Lane {
    Memory { process: u32, chunks: Vec<Vec<Entry>>, kept: Arc<Mutex<Kept>> },
    Ring(Arc<Ring>),
}

/// How many operations are kept in one piece: what is recorded is never moved.
const CHUNK: usize = 1 << 12;

/// The recorder of one thread. See the [crate](crate).
pub struct Thread {
    clock: Clock,
    /// The time of its last event.
    last: u64,
    pub(crate) lane: Lane,
}

impl Thread {
    pub(crate) fn new(clock: Clock, lane: Lane) -> Self {
        Self { clock, last: 0, lane }
    }

    /// Calls the object and records the call: `thread.record((Method::Enqueue, 7_u32), || queue.push(7))`.
    #[inline]
    pub fn record<R: Returns>(&mut self, invocation: impl Into<Invocation>, operation: impl FnOnce() -> R) -> R {
        let invocation = invocation.into();
        self.record_as(invocation, operation, |result| result.answer(invocation.method))
    }

    /// The same for an operation whose result must be told how to look: a guard, say.
    #[inline]
    pub fn record_as<R>(
        &mut self,
        invocation: impl Into<Invocation>,
        operation: impl FnOnce() -> R,
        answer: impl FnOnce(&R) -> Answer,
    ) -> R {
        let mut note = Note { invocation: invocation.into(), called: None, answer: Answer::Unknown, thread: self };
        note.called = note.thread.call(&note.invocation);
        let result = operation();
        note.answer = answer(&result);
        result
    }

    /// The time of a call; none if it is not recorded.
    #[inline]
    fn call(&mut self, invocation: &Invocation) -> Option<u64> {
        let (clock, last) = (self.clock, self.last);
        match &self.lane {
            Lane::Memory { .. } => Some(later_than(last, || clock.before())),
            Lane::Ring(ring) => ring.call(invocation, || later_than(last, || clock.between())),
        }
    }

    #[inline]
    fn end(&mut self, called: u64, invocation: Invocation, answer: Answer) {
        match &mut self.lane {
            Lane::Memory { chunks, .. } => {
                self.last = self.clock.after();
                let entry = Entry { called, returned: self.last, invocation, answer };
                match chunks.last_mut() {
                    Some(chunk) if chunk.len() < CHUNK => chunk.push(entry),
                    _ => {
                        let mut chunk = Vec::with_capacity(CHUNK);
                        chunk.push(entry);
                        chunks.push(chunk);
                    }
                }
            }
            Lane::Ring(ring) => {
                ring.announce();
                self.last = self.clock.after();
                ring.end(self.last, answer);
            }
        }
    }
}

/// A time later than another: the clock may be coarse.
#[inline]
fn later_than(last: u64, clock: impl Fn() -> u64) -> u64 {
    loop {
        let time = clock();
        if time > last {
            return time;
        }
    }
}

/// An operation that has begun. Its end is recorded when this is dropped: also if the operation panics.
struct Note<'a> {
    thread: &'a mut Thread,
    called: Option<u64>,
    invocation: Invocation,
    answer: Answer,
}

impl Drop for Note<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(called) = self.called {
            self.thread.end(called, self.invocation, self.answer);
        }
    }
}
