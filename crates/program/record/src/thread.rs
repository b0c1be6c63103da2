//! The recorder of one thread: it calls the object, and notes the times of the call and the return. The time of the
//! call is taken before the object is called, and that of the return after it has returned, so what is recorded never
//! says more than is known.

use std::sync::{Arc, Mutex};

use history::{KeyId, Method, Object, Value, Words};

use crate::Kept;
use crate::clock::Clock;
use crate::live::Ring;

/// A call: the method, the object and the values.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The object; [`KeyId::NONE`] if there is only one.
    pub key: KeyId,
    /// The method.
    pub method: Method,
    /// The value that is inserted, written or added; else [`Value::NONE`].
    pub argument: Value,
    /// The value that a compare-and-swap expects; else [`Value::NONE`].
    pub expected: Value,
}

/// A call that a thread can record: a method, or a method with its argument.
///
/// ```
/// use history::{Method, Object};
/// use record::Invoke;
///
/// let recorder = record::Recorder::new(Object::Register);
/// let mut thread = recorder.thread();
/// // A write to the first of several registers, a compare-and-swap from "idle" to "busy" of the second.
/// thread.record((Method::Write, 5).on(0), || ());
/// thread.record((Method::Cas, "busy").expecting("idle").on(1), || true);
/// ```
pub trait Invoke: Sized {
    /// The call as data. New words of its values are added to `words`.
    fn invocation(self, words: &mut Words) -> Invocation;

    /// The same call on one of several objects. Objects are numbered from zero.
    fn on(self, key: u32) -> On<Self> {
        On { call: self, key }
    }

    /// The same call of a compare-and-swap that expects this value.
    fn expecting<T: IntoValue>(self, expected: T) -> Expecting<Self, T> {
        Expecting { call: self, expected }
    }
}

/// A call on one of several objects: [`Invoke::on`].
#[derive(Copy, Clone, Debug)]
pub struct On<C> {
    call: C,
    key: u32,
}

/// A call that expects a value: [`Invoke::expecting`].
#[derive(Copy, Clone, Debug)]
pub struct Expecting<C, T> {
    call: C,
    expected: T,
}

impl Invoke for Method {
    #[inline]
    fn invocation(self, _words: &mut Words) -> Invocation {
        Invocation { key: KeyId::NONE, method: self, argument: Value::NONE, expected: Value::NONE }
    }
}

impl<T: IntoValue> Invoke for (Method, T) {
    #[inline]
    fn invocation(self, words: &mut Words) -> Invocation {
        let (method, argument) = self;
        Invocation { argument: argument.value(words), ..method.invocation(words) }
    }
}

impl<C: Invoke> Invoke for On<C> {
    #[inline]
    fn invocation(self, words: &mut Words) -> Invocation {
        Invocation { key: KeyId(self.key), ..self.call.invocation(words) }
    }
}

impl<C: Invoke, T: IntoValue> Invoke for Expecting<C, T> {
    #[inline]
    fn invocation(self, words: &mut Words) -> Invocation {
        Invocation { expected: self.expected.value(words), ..self.call.invocation(words) }
    }
}

/// A value that can be an argument: an integer, a string, a boolean, or an option of them.
///
/// A history has values as its text shows them. So an integer that does not fit 62 bits is a word, and a string that
/// spells an integer is that integer. `None` is `null`.
pub trait IntoValue {
    /// The value as data. If it is a new word, its text is added to `words`.
    fn value(&self, words: &mut Words) -> Value;
}

/// How an operation ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// It returned this value; [`Value::NONE`] if it returned nothing.
    Returned(Value),
    /// It had no effect, and says so: a full queue took nothing.
    DidNotHappen,
    /// Nobody knows whether it happened: it panicked, or it gave up waiting.
    Unknown,
}

/// The result of an operation, as the history shows it.
pub trait ReturnedValue {
    /// The answer of an operation of this method. If its value is a new word, the text is added to `words`.
    fn answer(&self, method: Method, words: &mut Words) -> Answer;
}

/// Implements [`IntoValue`] and [`ReturnedValue`] for types whose values are values of a history.
macro_rules! plain {
    ($($type:ty: |$this:ident, $words:ident| $value:expr),* $(,)?) => {$(
        impl IntoValue for $type {
            #[inline]
            fn value(&self, $words: &mut Words) -> Value {
                let $this = self;
                $value
            }
        }

        impl ReturnedValue for $type {
            #[inline]
            fn answer(&self, _method: Method, words: &mut Words) -> Answer {
                Answer::Returned(self.value(words))
            }
        }
    )*};
}

plain! {
    bool: |this, _words| Value::boolean(*this),
    str: |this, words| words.meaning(this),
    String: |this, words| words.meaning(this),
}

macro_rules! integers {
    (small: $($small:ty)*; large: $($large:ty)*) => {
        // These types have at most 32 bits, so every integer fits the 62 bits of a value.
        plain! { $($small: |this, _words| Value::integer(i64::from(*this)).unwrap_or(Value::NONE)),* }
        plain! {
            $($large: |this, words| match i64::try_from(*this).ok().and_then(Value::integer) {
                Some(value) => value,
                None => spelled(&this.to_string(), words),
            }),*
        }
    };
}
integers!(small: i8 i16 i32 u8 u16 u32; large: i64 u64 isize usize i128 u128);

/// An integer that does not fit 62 bits. It becomes a word.
#[cold]
fn spelled(digits: &str, words: &mut Words) -> Value {
    words.value(digits)
}

impl<T: IntoValue + ?Sized> IntoValue for &T {
    #[inline]
    fn value(&self, words: &mut Words) -> Value {
        (**self).value(words)
    }
}

impl<T: IntoValue> IntoValue for Option<T> {
    #[inline]
    fn value(&self, words: &mut Words) -> Value {
        self.as_ref().map_or(Value::NULL, |value| value.value(words))
    }
}

impl ReturnedValue for Answer {
    #[inline]
    fn answer(&self, _method: Method, _words: &mut Words) -> Answer {
        *self
    }
}

impl ReturnedValue for () {
    #[inline]
    fn answer(&self, _method: Method, _words: &mut Words) -> Answer {
        Answer::Returned(Value::NONE)
    }
}

impl<T: ReturnedValue + ?Sized> ReturnedValue for &T {
    #[inline]
    fn answer(&self, method: Method, words: &mut Words) -> Answer {
        (**self).answer(method, words)
    }
}

/// `None` is `empty` if the method removes or peeks, the empty string if the method gets the text of a key, else
/// `null`.
impl<T: ReturnedValue> ReturnedValue for Option<T> {
    #[inline]
    fn answer(&self, method: Method, words: &mut Words) -> Answer {
        match self {
            Some(value) => value.answer(method, words),
            None => Answer::Returned(match method {
                Method::Dequeue | Method::Pop | Method::DeleteMax | Method::Peek => Value::EMPTY,
                Method::Get => words.word(""),
                _ => Value::NULL,
            }),
        }
    }
}

/// An operation that returned an error did not happen.
impl<T: ReturnedValue, E> ReturnedValue for Result<T, E> {
    #[inline]
    fn answer(&self, method: Method, words: &mut Words) -> Answer {
        self.as_ref().map_or(Answer::DidNotHappen, |value| value.answer(method, words))
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

/// One operation in memory. It takes half a cache line, since the fence at the next return waits until it is written.
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
    /// The operation did not fit. It is in [`Tape::rare`].
    Rare,
}

impl Packed {
    const NO_KEY: u16 = u16::MAX;

    /// `None` if the operation does not fit: it took very long, has a large key, or is a compare-and-swap.
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

/// How many operations are kept in one allocation. Operations are never moved.
const CHUNK_LENGTH: usize = 1 << 13;

/// The operations that a thread has recorded.
#[derive(Default)]
pub(crate) struct Tape {
    full: Vec<Vec<Packed>>,
    current: Vec<Packed>,
    /// Allocations whose memory has been touched already.
    spare: Vec<Vec<Packed>>,
    rare: Vec<Entry>,
}

impl Tape {
    #[inline]
    fn push(&mut self, entry: &Entry) {
        if self.current.len() == self.current.capacity() {
            self.next_chunk();
        }
        // There are two separate branches, so that a packed operation is built in its place.
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
    fn next_chunk(&mut self) {
        let next = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK_LENGTH));
        self.full.push(std::mem::replace(&mut self.current, next));
    }

    fn reserve(&mut self, operations: usize) {
        let room = self.current.capacity() - self.current.len() + CHUNK_LENGTH * self.spare.len();
        let (none, method, kind) = (Value::NONE, Method::Read, Kind::Unknown);
        let nothing = Packed { called: 0, argument: none, result: none, lasted: 0, key: 0, method, kind };
        for _ in 0..operations.saturating_sub(room).div_ceil(CHUNK_LENGTH) {
            let mut chunk = vec![nothing; CHUNK_LENGTH];
            chunk.clear();
            self.spare.push(chunk);
        }
    }

    pub(crate) fn entries(self) -> impl Iterator<Item = Entry> {
        let mut rare = self.rare.into_iter();
        self.full.into_iter().chain([self.current]).flatten().filter_map(move |packed| packed.unpack(&mut rare))
    }
}

/// Where a thread puts its operations.
pub(crate) enum Destination {
    Memory { process: u32, tape: Tape, kept: Arc<Mutex<Kept>> },
    Ring(Arc<Ring>),
}

/// The recorder of one thread. See the [crate](crate).
pub struct Thread {
    clock: Clock,
    /// The time of the last event of the thread.
    last: u64,
    pub(crate) destination: Destination,
    /// The texts of the words among its values.
    pub(crate) words: Words,
}

impl Thread {
    pub(crate) fn new(clock: Clock, destination: Destination, object: Object) -> Self {
        let mut words = Words::default();
        words.keep_texts(object == Object::KeyValue);
        Self { clock, last: 0, destination, words }
    }

    /// Allocates memory for this many more operations, so that recording them does not wait for memory. Without this
    /// call, memory is allocated when it is needed.
    pub fn reserve(&mut self, operations: usize) {
        if let Destination::Memory { tape, .. } = &mut self.destination {
            tape.reserve(operations);
        }
    }

    /// Calls the object and records the call: `thread.record((Method::Enqueue, 7), || queue.push(7))`.
    #[inline]
    pub fn record<R: ReturnedValue>(&mut self, call: impl Invoke, operation: impl FnOnce() -> R) -> R {
        self.run(call, operation, R::answer)
    }

    /// Like [`Self::record`], for an operation that returns something else, such as a guard. `answer` gives the result
    /// that the history shows.
    #[inline]
    pub fn record_as<R, A: ReturnedValue>(
        &mut self,
        call: impl Invoke,
        operation: impl FnOnce() -> R,
        answer: impl FnOnce(&R) -> A,
    ) -> R {
        self.run(call, operation, |result, method, words| answer(result).answer(method, words))
    }

    #[allow(clippy::inline_always)] // as for `call`
    #[inline(always)]
    fn run<R>(
        &mut self,
        call: impl Invoke,
        operation: impl FnOnce() -> R,
        answer: impl FnOnce(&R, Method, &mut Words) -> Answer,
    ) -> R {
        let invocation = call.invocation(&mut self.words);
        let Some(called) = self.call(&invocation) else { return operation() };
        let note = Note { thread: self, called, invocation };
        let result = operation();
        let answer = answer(&result, invocation.method, &mut note.thread.words);
        note.end(answer);
        result
    }

    /// The time of a call. `None` if the call is not recorded.
    #[allow(clippy::inline_always)] // a call would be a good part of what recording costs
    #[inline(always)]
    fn call(&mut self, invocation: &Invocation) -> Option<u64> {
        let (clock, last) = (self.clock, self.last);
        match &self.destination {
            Destination::Memory { .. } => Some(later_than(last, || clock.before())),
            Destination::Ring(_) => self.call_live(invocation),
        }
    }

    #[inline(never)]
    fn call_live(&mut self, invocation: &Invocation) -> Option<u64> {
        let (clock, last) = (self.clock, self.last);
        let Destination::Ring(ring) = &self.destination else { return None };
        ring.publish(&self.words);
        ring.call(invocation, || later_than(last, || clock.between()))
    }

    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn end(&mut self, called: u64, invocation: Invocation, answer: Answer) {
        match &mut self.destination {
            Destination::Memory { tape, .. } => {
                // An operation does not end before it began, whatever the clock says.
                self.last = self.clock.after().max(called);
                tape.push(&Entry { called, returned: self.last, invocation, answer });
            }
            Destination::Ring(_) => self.end_live(answer),
        }
    }

    #[inline(never)]
    fn end_live(&mut self, answer: Answer) {
        if let Destination::Ring(ring) = &self.destination {
            ring.publish(&self.words);
            ring.announce();
            self.last = self.clock.after();
            ring.end(self.last, answer);
        }
    }
}

/// A time later than `last`. The clock may be coarse, so it is read until it has moved on.
#[inline]
fn later_than(last: u64, clock: impl Fn() -> u64) -> u64 {
    loop {
        let time = clock();
        if time > last {
            return time;
        }
    }
}

/// An operation that has begun. If it panics, this note is dropped, and records an unknown end.
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
