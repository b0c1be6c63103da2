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
    #[inline]
    fn from(method: Method) -> Self {
        Self { key: KeyId::NONE, method, argument: Value::NONE, expected: Value::NONE }
    }
}

impl<T: Number> From<(Method, T)> for Invocation {
    #[inline]
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
            #[inline]
            fn value(self) -> Value {
                Value::integer(i64::from(self)).unwrap_or(Value::NONE)
            }
        }

        impl Returns for $type {
            #[inline]
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
    #[inline]
    fn answer(&self, _method: Method) -> Answer {
        Answer::Returned(Value::NONE)
    }
}

impl Returns for bool {
    #[inline]
    fn answer(&self, _method: Method) -> Answer {
        Answer::Returned(Value::boolean(*self))
    }
}

/// Nothing is `empty`; for an exchange, `null`.
impl<T: Returns> Returns for Option<T> {
    #[inline]
    fn answer(&self, method: Method) -> Answer {
        let nothing = if method == Method::Exchange { Value::NULL } else { Value::EMPTY };
        self.as_ref().map_or(Answer::Returned(nothing), |value| value.answer(method))
    }
}

/// What failed did not happen.
impl<T: Returns, E> Returns for Result<T, E> {
    #[inline]
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

/// One operation as it is kept: half a cache line, since the fence at the next return waits until it is written.
#[derive(Copy, Clone)]
struct Packed {
    called: u64,
    argument: Value,
    result: Value,
    lasted: u32,
    key: u16,
    method: Method,
    kind: Kind,
}

#[derive(Copy, Clone)]
enum Kind {
    Returned,
    DidNotHappen,
    Unknown,
    /// The operation is among the rare ones.
    Rare,
}

impl Packed {
    const NO_KEY: u16 = u16::MAX;

    /// None if the operation does not fit: it took very long, has a large key, or is a compare-and-swap.
    #[inline]
    fn new(entry: &Entry) -> Option<Self> {
        let Entry { called, returned, invocation: Invocation { key, method, argument, expected }, answer } = *entry;
        let lasted = u32::try_from(returned - called).ok()?;
        let key = match key {
            KeyId::NONE => Self::NO_KEY,
            KeyId(key) => u16::try_from(key).ok().filter(|&key| key != Self::NO_KEY)?,
        };
        let (kind, result) = match answer {
            Answer::Returned(result) => (Kind::Returned, result),
            Answer::DidNotHappen => (Kind::DidNotHappen, Value::NONE),
            Answer::Unknown => (Kind::Unknown, Value::NONE),
        };
        expected.is_none().then_some(Self { called, argument, result, lasted, key, method, kind })
    }

    fn unpack(self, rare: &mut impl Iterator<Item = Entry>) -> Option<Entry> {
        let answer = match self.kind {
            Kind::Returned => Answer::Returned(self.result),
            Kind::DidNotHappen => Answer::DidNotHappen,
            Kind::Unknown => Answer::Unknown,
            Kind::Rare => return rare.next(),
        };
        let key = if self.key == Self::NO_KEY { KeyId::NONE } else { KeyId(u32::from(self.key)) };
        let invocation = Invocation { key, method: self.method, argument: self.argument, expected: Value::NONE };
        let returned = self.called + u64::from(self.lasted);
        Some(Entry { called: self.called, returned, invocation, answer })
    }
}

/// How many operations are kept in one piece: what is recorded is never moved.
const CHUNK: usize = 1 << 13;

/// What a thread has recorded.
#[derive(Default)]
pub(crate) struct Tape {
    full: Vec<Vec<Packed>>,
    current: Vec<Packed>,
    /// Memory that was touched before it is needed.
    spare: Vec<Vec<Packed>>,
    rare: Vec<Entry>,
}

impl Tape {
    #[inline]
    fn push(&mut self, entry: &Entry) {
        if self.current.len() == self.current.capacity() {
            self.turn();
        }
        // Each on its own way, so that what is packed is not put together elsewhere first.
        match Packed::new(entry) {
            Some(packed) => self.current.push(packed),
            None => self.push_rare(entry),
        }
    }

    #[cold]
    fn push_rare(&mut self, entry: &Entry) {
        self.rare.push(*entry);
        let (argument, result) = (Value::NONE, Value::NONE);
        let method = entry.invocation.method;
        self.current.push(Packed { called: 0, argument, result, lasted: 0, key: 0, method, kind: Kind::Rare });
    }

    #[cold]
    fn turn(&mut self) {
        let next = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK));
        self.full.push(std::mem::replace(&mut self.current, next));
    }

    fn reserve(&mut self, operations: usize) {
        let room = self.current.capacity() - self.current.len() + CHUNK * self.spare.len();
        let (none, method, kind) = (Value::NONE, Method::Read, Kind::Unknown);
        let nothing = Packed { called: 0, argument: none, result: none, lasted: 0, key: 0, method, kind };
        for _ in 0..operations.saturating_sub(room).div_ceil(CHUNK) {
            let mut chunk = vec![nothing; CHUNK];
            chunk.clear();
            self.spare.push(chunk);
        }
    }

    pub(crate) fn entries(self) -> impl Iterator<Item = Entry> {
        let mut rare = self.rare.into_iter();
        self.full.into_iter().chain([self.current]).flatten().filter_map(move |packed| packed.unpack(&mut rare))
    }
}

/// Where a thread puts what it records.
pub(crate) enum Lane {
    Memory { process: u32, tape: Tape, kept: Arc<Mutex<Kept>> },
    Ring(Arc<Ring>),
}

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

    /// Makes room for so many more operations, so that recording them does not have to wait for memory. Without this, memory
    /// is asked for as it is needed.
    pub fn reserve(&mut self, operations: usize) {
        if let Lane::Memory { tape, .. } = &mut self.lane {
            tape.reserve(operations);
        }
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
        let invocation = invocation.into();
        let Some(called) = self.call(&invocation) else { return operation() };
        let note = Note { thread: self, called, invocation };
        let result = operation();
        let answer = answer(&result);
        note.end(answer);
        result
    }

    /// The time of a call; none if it is not recorded.
    #[allow(clippy::inline_always)] // a call would be a good part of what recording costs
    #[inline(always)]
    fn call(&mut self, invocation: &Invocation) -> Option<u64> {
        let (clock, last) = (self.clock, self.last);
        match &self.lane {
            Lane::Memory { .. } => Some(later_than(last, || clock.before())),
            Lane::Ring(_) => self.call_live(invocation),
        }
    }

    #[inline(never)]
    fn call_live(&mut self, invocation: &Invocation) -> Option<u64> {
        let (clock, last) = (self.clock, self.last);
        let Lane::Ring(ring) = &self.lane else { return None };
        ring.call(invocation, || later_than(last, || clock.between()))
    }

    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn end(&mut self, called: u64, invocation: Invocation, answer: Answer) {
        match &mut self.lane {
            Lane::Memory { tape, .. } => {
                // Whatever the clock says, an operation does not end before it began.
                self.last = self.clock.after().max(called);
                tape.push(&Entry { called, returned: self.last, invocation, answer });
            }
            Lane::Ring(_) => self.end_live(answer),
        }
    }

    #[inline(never)]
    fn end_live(&mut self, answer: Answer) {
        if let Lane::Ring(ring) = &self.lane {
            ring.announce();
            self.last = self.clock.after();
            ring.end(self.last, answer);
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

/// An operation that has begun. If it panics, this is dropped, and that is recorded.
struct Note<'a> {
    thread: &'a mut Thread,
    called: u64,
    invocation: Invocation,
}

impl Note<'_> {
    #[inline]
    fn end(self, answer: Answer) {
        let mut note = std::mem::ManuallyDrop::new(self);
        let (called, invocation) = (note.called, note.invocation);
        note.thread.end(called, invocation, answer);
    }
}

impl Drop for Note<'_> {
    #[cold]
    fn drop(&mut self) {
        self.thread.end(self.called, self.invocation, Answer::Unknown);
    }
}
