//! A history seen as calls on sequential objects: what linearizability looks at.
//!
//! How a history becomes an object history:
//! - it is split into parts that do not know of each other: by key, and a set by element too. Linearizability is
//!   local: a history is linearizable exactly if each part is;
//! - an operation that failed did not happen and is left out; one whose end is unknown (`info`, or no return) may take
//!   effect at any moment after its call, or never: it is pending, and its result is free;
//! - a pending operation that could change nothing is left out, and so is a fence;
//! - values are numbered within each part from zero; those of a priority queue in the order of priority.
//!
//! Invariants: the calls of a part stand in the order of their call moments. Moments are counted from zero within each
//! part, all distinct; a call comes before its return.

use history::{History, KeyId, Method, Object, OperationId, Outcome, Value};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A value of a part: an index into [`Part::values`], or one of the constants.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ValueId(pub u32);

impl ValueId {
    /// No value: an operation that returns nothing, or whose result is free.
    pub const NONE: Self = Self(u32::MAX);
    /// What a removal from an empty container returns.
    pub const EMPTY: Self = Self(u32::MAX - 1);
    /// True, as the result of a method that returns a boolean.
    pub const TRUE: Self = Self(u32::MAX - 2);
    /// False, as the result of a method that returns a boolean.
    pub const FALSE: Self = Self(u32::MAX - 3);
    /// The exchanger's `null`: no partner came.
    pub const NULL: Self = Self(u32::MAX - 4);

    /// Whether this is an index, not one of the constants.
    pub const fn is_index(self) -> bool {
        self.0 < Self::NULL.0
    }

    /// The index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// A boolean result.
    pub const fn boolean(b: bool) -> Self {
        if b { Self::TRUE } else { Self::FALSE }
    }
}

/// One operation on an object.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which operation of the history it is.
    pub operation: OperationId,
    /// The moment of its call.
    pub call: u32,
    /// The moment of its return; [`Call::NEVER`] if it is pending.
    pub ret: u32,
    /// What is written, inserted, added.
    pub argument: ValueId,
    /// What a compare-and-swap expects.
    pub expected: ValueId,
    /// What it returned; [`ValueId::NONE`] if that is nothing, or not known, or free.
    pub result: ValueId,
    /// What it does.
    pub method: Method,
}

impl Call {
    /// The return of a pending operation.
    pub const NEVER: u32 = u32::MAX;

    /// Whether it has not returned: it may have happened or not, and its result is free.
    pub const fn is_pending(&self) -> bool {
        self.ret == Self::NEVER
    }

    /// Whether this one returned before the other was called.
    pub const fn precedes(&self, other: &Self) -> bool {
        self.ret < other.call
    }
}

/// Why a history is not one of an object's calls and returns.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ObjectError {
    /// No operation has a call and a return.
    #[error("linearizability speaks of calls and returns, and this history has none")]
    NoCalls,
    /// A container holds the word for an empty one.
    #[error("the value `empty` cannot be told from the answer of an empty {}", .object.name())]
    EmptyValue {
        /// The container.
        object: Object,
        /// The insertion.
        operation: OperationId,
    },
    /// An exchange offers the word for no partner.
    #[error("the value `null` cannot be told from an exchange without a partner")]
    NullValue(OperationId),
    /// A priority that is not a number.
    #[error("the values of a priority queue are integers")]
    NotAPriority(OperationId),
    /// Too many events to count in 32 bits.
    #[error("the history has too many events")]
    TooLong,
}

impl ObjectError {
    /// The operation that the error is about.
    pub fn operation(&self) -> Option<OperationId> {
        match self {
            Self::NoCalls | Self::TooLong => None,
            Self::EmptyValue { operation, .. } | Self::NullValue(operation) | Self::NotAPriority(operation) => {
                Some(*operation)
            }
        }
    }
}

#[derive(Copy, Clone, Debug)]
struct Header {
    key: KeyId,
    calls: [u32; 2],
    values: [u32; 2],
    initial: ValueId,
    moments: u32,
}

/// The values of a part by number: integers in a row, which need no room, and others.
#[derive(Copy, Clone, Debug)]
pub struct Values<'a> {
    least: i64,
    span: u32,
    others: &'a [Value],
}

impl Values<'_> {
    /// How many there are.
    pub const fn len(&self) -> usize {
        self.span as usize + self.others.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a number below [`Self::len`].
    pub fn get(&self, number: u32) -> Value {
        match number.checked_sub(self.span) {
            Some(other) => self.others[other as usize],
            None => Value::integer(self.least + i64::from(number)).unwrap_or(Value::NONE),
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Value> {
        (0..self.len() as u32).map(|number| self.get(number))
    }
}

/// A history of one or several independent objects. See the module.
#[derive(Clone, Debug)]
pub struct ObjectHistory<'h> {
    history: &'h History,
    calls: Vec<Call>,
    /// The integers in a row that come before the values of the only part; how many, 0 if there are several parts.
    small: (i64, u32),
    values: Vec<Value>,
    headers: Vec<Header>,
}

/// One object, and all calls on it.
#[derive(Copy, Clone, Debug)]
pub struct Part<'a> {
    /// The history that it is a part of, for names and texts.
    pub history: &'a History,
    /// What kind of object it is. A memory's location is a register.
    pub object: Object,
    /// Its key; [`KeyId::NONE`] if the history has a single object.
    pub key: KeyId,
    /// The capacity of a semaphore (1 if the history does not say); 1 for a mutex.
    pub capacity: u64,
    /// The operations, in the order of their calls.
    pub calls: &'a [Call],
    /// The values by number.
    pub values: Values<'a>,
    /// The initial value of a register or a string.
    pub initial: ValueId,
    /// How many moments there are: each call and each return is below.
    pub moments: u32,
}

impl Part<'_> {
    /// The value of that number as the history has it.
    pub fn value(&self, id: ValueId) -> Value {
        match id {
            ValueId::NONE => Value::NONE,
            ValueId::EMPTY => Value::EMPTY,
            ValueId::TRUE => Value::TRUE,
            ValueId::FALSE => Value::FALSE,
            ValueId::NULL => Value::NULL,
            ValueId(index) => self.values.get(index),
        }
    }

    /// What happens at each moment; [`Event::Nothing`] where an operation was left out.
    pub fn events(&self) -> Vec<Event> {
        let mut events = vec![Event::Nothing; self.moments as usize];
        for (at, call) in self.calls.iter().enumerate() {
            events[call.call as usize] = Event::Call(at as u32);
            if !call.is_pending() {
                events[call.ret as usize] = Event::Return(at as u32);
            }
        }
        events
    }

    /// What happened before a moment; `calls` is room for its operations.
    pub fn before<'b>(&'b self, end: u32, calls: &'b mut Vec<Call>) -> Part<'b> {
        calls.clear();
        for &call in self.calls.iter().take_while(|call| call.call < end) {
            if call.ret < end {
                calls.push(call);
            } else if !is_observer(call.method) {
                calls.push(Call { ret: Call::NEVER, result: ValueId::NONE, ..call });
            }
        }
        Part { calls, moments: end, ..*self }
    }
}

/// What happens at a moment; the number is the place in [`Part::calls`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Event {
    Nothing,
    Call(u32),
    Return(u32),
}

impl<'h> ObjectHistory<'h> {
    /// The history as calls on objects.
    pub fn new(history: &'h History) -> Result<Self, ObjectError> {
        if !history.has_calls() && !history.operations.is_empty() {
            return Err(ObjectError::NoCalls);
        }
        let mut builder = Builder::new(history)?;
        builder.read()?;
        builder.split();
        builder.number_values()?;
        let Builder { calls, small, values, headers, .. } = builder;
        Ok(Self { history, calls, small, values, headers })
    }

    /// The history that this is a view of.
    pub fn history(&self) -> &'h History {
        self.history
    }

    /// What kind of object it is.
    pub fn object(&self) -> Object {
        object_of(self.history)
    }

    /// How many calls there are, all parts together.
    pub fn call_count(&self) -> usize {
        self.calls.len()
    }

    /// How many parts there are.
    pub fn part_count(&self) -> usize {
        self.headers.len()
    }

    /// The independent parts.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = Part<'_>> {
        let range = |[start, end]: [u32; 2]| start as usize..end as usize;
        self.headers.iter().map(move |header| Part {
            history: self.history,
            object: self.object(),
            key: header.key,
            capacity: match self.history.object {
                Object::Semaphore => self.history.capacity.unwrap_or(1),
                _ => 1,
            },
            calls: &self.calls[range(header.calls)],
            values: Values { least: self.small.0, span: self.small.1, others: &self.values[range(header.values)] },
            initial: header.initial,
            moments: header.moments,
        })
    }
}

/// A location of a memory is a register.
fn object_of(history: &History) -> Object {
    if history.object == Object::Memory { Object::Register } else { history.object }
}

/// Whether an operation of that method can change nothing, whatever it returns.
const fn is_observer(method: Method) -> bool {
    matches!(method, Method::Read | Method::Contains | Method::Get | Method::Peek)
}

/// The numbering of all values of a history.
struct Numbering {
    /// Integers in a small range are numbered from the smallest.
    least: i64,
    /// How many there are; 0 if integers are not numbered this way.
    span: u32,
    others: FxHashMap<u64, u32>,
    /// Those that are not in that range.
    values: Vec<Value>,
}

impl Numbering {
    fn empty() -> Self {
        Self { least: 0, span: 0, others: FxHashMap::default(), values: Vec::new() }
    }

    fn new(history: &History) -> Self {
        let count = history.operations.len();
        let (mut least, mut largest) = (i64::MAX, i64::MIN);
        let mut see = |value: Value| {
            if let Some(n) = value.as_integer() {
                least = least.min(n);
                largest = largest.max(n);
            }
        };
        for operation in &history.operations {
            see(operation.argument);
            see(operation.result);
        }
        for &(_, value) in &history.expected {
            see(value);
        }
        let span = if least <= largest { largest.abs_diff(least).saturating_add(1) } else { 0 };
        let span = if span <= 2 * count as u64 + 64 { span as u32 } else { 0 };
        Self { least, span, others: FxHashMap::default(), values: Vec::new() }
    }

    fn values(&self) -> Values<'_> {
        Values { least: self.least, span: self.span, others: &self.values }
    }

    fn number(&mut self, value: Value) -> u32 {
        if let Some(n) = value.as_integer() {
            let offset = n.wrapping_sub(self.least);
            if offset >= 0 && offset < i64::from(self.span) {
                return offset as u32;
            }
        }
        let next = self.span + self.values.len() as u32;
        let number = *self.others.entry(value.bits()).or_insert(next);
        if number == next {
            self.values.push(value);
        }
        number
    }
}

struct Builder<'h> {
    history: &'h History,
    numbering: Numbering,
    calls: Vec<Call>,
    /// The part of each call; empty if there is only one.
    part_of: Vec<u32>,
    keys: Vec<KeyId>,
    headers: Vec<Header>,
    small: (i64, u32),
    values: Vec<Value>,
}

impl<'h> Builder<'h> {
    fn new(history: &'h History) -> Result<Self, ObjectError> {
        if history.operations.len() > (u32::MAX / 4) as usize {
            return Err(ObjectError::TooLong);
        }
        Ok(Self {
            history,
            numbering: Numbering::new(history),
            calls: Vec::with_capacity(history.operations.len()),
            part_of: Vec::new(),
            keys: Vec::new(),
            headers: Vec::new(),
            small: (0, 0),
            values: Vec::new(),
        })
    }

    fn argument(&mut self, value: Value) -> ValueId {
        if value.is_none() { ValueId::NONE } else { ValueId(self.numbering.number(value)) }
    }

    /// The operations that count, with values numbered over the whole history.
    fn read(&mut self) -> Result<(), ObjectError> {
        let history = self.history;
        let object = object_of(history);
        // An operation that was recorded as one event takes two moments, like any other.
        let scale = 1 + u32::from(history.operations.iter().any(|operation| operation.outcome == Outcome::Instant));
        let by_element = object == Object::Set;
        let by_key = !history.keys.is_empty();
        let mut parts: FxHashMap<(KeyId, u32), u32> = FxHashMap::default();
        let mut last_part = (KeyId::NONE, u32::MAX, u32::MAX);
        let mut expected = history.expected.iter().peekable();
        for (at, operation) in history.operations.iter().enumerate() {
            let id = OperationId(at as u32);
            let wants = expected.next_if(|(of, _)| *of == id).map(|&(_, value)| value);
            let pending = match operation.outcome {
                Outcome::Fail => continue,
                Outcome::Info | Outcome::Pending => true,
                Outcome::Ok | Outcome::Instant => false,
            };
            let method = operation.method;
            if method == Method::Fence || (pending && is_observer(method)) {
                continue;
            }
            let [call, ret] = history.moments[at];
            let ret = match operation.outcome {
                _ if pending => Call::NEVER,
                Outcome::Instant => call * scale + 1,
                _ => ret * scale,
            };
            match method {
                Method::Enqueue | Method::Push | Method::Insert if operation.argument == Value::EMPTY => {
                    return Err(ObjectError::EmptyValue { object, operation: id });
                }
                Method::Exchange if operation.argument == Value::NULL => return Err(ObjectError::NullValue(id)),
                _ => {}
            }
            let result = match (method, operation.result) {
                _ if pending => ValueId::NONE,
                (_, Value::NONE) => ValueId::NONE,
                (Method::Dequeue | Method::Pop | Method::DeleteMax | Method::Peek, Value::EMPTY) => ValueId::EMPTY,
                (Method::Exchange, Value::NULL) => ValueId::NULL,
                (Method::Cas | Method::Add | Method::Remove | Method::Contains | Method::TryLock, value) => {
                    ValueId::boolean(value == Value::TRUE)
                }
                (_, value) => self.argument(value),
            };
            let argument = self.argument(operation.argument);
            let expected = wants.map_or(ValueId::NONE, |value| self.argument(value));
            if by_key || by_element {
                let element = if by_element { argument.0 } else { 0 };
                if last_part.0 != operation.key || last_part.1 != element || self.keys.is_empty() {
                    let next = self.keys.len() as u32;
                    let part = *parts.entry((operation.key, element)).or_insert(next);
                    if part == next {
                        self.keys.push(operation.key);
                    }
                    last_part = (operation.key, element, part);
                }
                self.part_of.push(last_part.2);
            }
            let call = Call { operation: id, call: call * scale, ret, argument, expected, result, method };
            self.calls.push(call);
        }
        if !(by_key || by_element) {
            self.keys.push(KeyId::NONE);
        }
        Ok(())
    }

    /// Puts the calls of each part together, in order, and counts their moments anew.
    fn split(&mut self) {
        let header = |key, calls| Header { key, calls, values: [0; 2], initial: ValueId::NONE, moments: 0 };
        let bound = |calls: &[Call]| {
            let last = |call: &Call| call.call.max(if call.is_pending() { 0 } else { call.ret }) + 1;
            calls.iter().map(last).max().unwrap_or(0)
        };
        let count = self.calls.len() as u32;
        if self.keys.len() <= 1 {
            let moments = bound(&self.calls);
            self.headers = self.keys.iter().map(|&key| Header { moments, ..header(key, [0, count]) }).collect();
            return;
        }
        // Moments within each part, by going through all events in the order of time.
        let mut counts = vec![0_u32; self.keys.len()];
        let none = u32::MAX;
        let mut events = vec![none; bound(&self.calls) as usize];
        for (at, call) in self.calls.iter().enumerate() {
            events[call.call as usize] = 2 * at as u32;
            if !call.is_pending() {
                events[call.ret as usize] = 2 * at as u32 + 1;
            }
        }
        for event in events.into_iter().filter(|&event| event != none) {
            let at = event as usize / 2;
            let moment = &mut counts[self.part_of[at] as usize];
            if event & 1 == 0 {
                self.calls[at].call = *moment;
            } else {
                self.calls[at].ret = *moment;
            }
            *moment += 1;
        }
        let mut sizes = vec![0_u32; self.keys.len()];
        for &part in &self.part_of {
            sizes[part as usize] += 1;
        }
        let mut start = 0;
        for (at, &size) in sizes.iter().enumerate() {
            let calls = [start, start + size];
            self.headers.push(Header { moments: counts[at], ..header(self.keys[at], calls) });
            start += size;
        }
        let mut next: Vec<u32> = self.headers.iter().map(|header| header.calls[0]).collect();
        let mut sorted = self.calls.clone();
        for (call, &part) in self.calls.iter().zip(&self.part_of) {
            sorted[next[part as usize] as usize] = *call;
            next[part as usize] += 1;
        }
        self.calls = sorted;
        self.part_of = Vec::new();
    }

    /// Numbers the values within each part.
    fn number_values(&mut self) -> Result<(), ObjectError> {
        let object = object_of(self.history);
        let has_initial = matches!(object, Object::Register | Object::KeyValue);
        let is_ordered = object == Object::PriorityQueue;
        if is_ordered {
            self.check_priorities()?;
        }
        if self.headers.len() == 1 {
            let header = &mut self.headers[0];
            if has_initial {
                header.initial = ValueId(self.numbering.number(self.history.initial_value(header.key)));
            }
            // Small integers are in order already.
            if is_ordered && !self.numbering.values.is_empty() {
                self.values = self.numbering.values().iter().collect();
                self.rank(0, 0);
            } else {
                self.small = (self.numbering.least, self.numbering.span);
                self.values = std::mem::take(&mut self.numbering.values);
            }
            self.headers[0].values = [0, self.values.len() as u32];
            return Ok(());
        }
        let initials: Vec<u32> = if has_initial {
            let keys: Vec<KeyId> = self.headers.iter().map(|header| header.key).collect();
            let given: FxHashMap<KeyId, Value> = self.history.inits.iter().copied().collect();
            let initial = self.history.initial;
            keys.iter().map(|key| self.numbering.number(given.get(key).copied().unwrap_or(initial))).collect()
        } else {
            Vec::new()
        };
        let numbering = std::mem::replace(&mut self.numbering, Numbering::empty());
        let global = numbering.values();
        // The part in which a value was last seen, and its number there.
        let mut seen = vec![(u32::MAX, 0_u32); global.len()];
        for part in 0..self.headers.len() {
            let start = self.values.len();
            let mut local = |values: &mut Vec<Value>, id: ValueId| {
                if !id.is_index() {
                    return id;
                }
                let entry = &mut seen[id.index()];
                if entry.0 != part as u32 {
                    *entry = (part as u32, (values.len() - start) as u32);
                    values.push(global.get(id.0));
                }
                ValueId(entry.1)
            };
            if let Some(&initial) = initials.get(part) {
                self.headers[part].initial = local(&mut self.values, ValueId(initial));
            }
            let [first, end] = self.headers[part].calls;
            for call in &mut self.calls[first as usize..end as usize] {
                call.argument = local(&mut self.values, call.argument);
                call.expected = local(&mut self.values, call.expected);
                call.result = local(&mut self.values, call.result);
            }
            if is_ordered {
                self.rank(part, start);
            }
            self.headers[part].values = [start as u32, self.values.len() as u32];
        }
        Ok(())
    }

    fn priority(&self, value: Value) -> Option<i128> {
        match (value.as_integer(), value.as_word()) {
            (Some(n), _) => Some(i128::from(n)),
            // Larger integers are words; other spellings of an integer would be other values of the same priority.
            (_, Some(word)) => {
                let text = self.history.words.text(word);
                text.parse().ok().filter(|n: &i128| n.to_string() == text)
            }
            _ => None,
        }
    }

    fn check_priorities(&self) -> Result<(), ObjectError> {
        for call in &self.calls {
            for id in [call.argument, call.result] {
                let value = id.is_index().then(|| self.numbering.values().get(id.0));
                if value.is_some_and(|value| value.as_integer().is_none() && self.priority(value).is_none()) {
                    return Err(ObjectError::NotAPriority(call.operation));
                }
            }
        }
        Ok(())
    }

    /// Numbers the values of a part, which begin at `start`, in the order of priority.
    fn rank(&mut self, part: usize, start: usize) {
        let mut order: Vec<u32> = (0..(self.values.len() - start) as u32).collect();
        order.sort_by_key(|&at| self.priority(self.values[start + at as usize]));
        let mut ranks = vec![0; order.len()];
        for (rank, &at) in order.iter().enumerate() {
            ranks[at as usize] = rank as u32;
        }
        let ranked: Vec<Value> = order.iter().map(|&at| self.values[start + at as usize]).collect();
        self.values[start..].copy_from_slice(&ranked);
        let [first, end] = self.headers[part].calls;
        for call in &mut self.calls[first as usize..end as usize] {
            for id in [&mut call.argument, &mut call.result] {
                if id.is_index() {
                    *id = ValueId(ranks[id.index()]);
                }
            }
        }
    }
}
