//! The history of events, put together as they come, in the order of time.

use history::{History, KeyId, MemoryOrder, Object, Operation, OperationId, Outcome, ProcessId, Value, Words};

use crate::thread::{Answer, Invocation};

/// A history that grows, with the stamps of the clock as times.
#[derive(Clone)]
pub(crate) struct Prefix {
    history: History,
    /// By process: its open operation.
    open: Vec<Option<OperationId>>,
    moments: u32,
    /// One more than the greatest key.
    keys: u32,
}

impl Prefix {
    pub(crate) fn new(object: Object, capacity: Option<u64>) -> Self {
        let mut history = History { object, capacity, ..History::default() };
        if object == Object::KeyValue {
            history.initial = history.words.word("");
        }
        Self { history, open: Vec::new(), moments: 0, keys: 0 }
    }

    pub(crate) fn set_capacity(&mut self, capacity: u64) {
        self.history.capacity = Some(capacity);
    }

    /// The texts of the values.
    pub(crate) fn words(&self) -> &Words {
        self.history.words()
    }

    /// The value here that `value` is in `words`. (Where it is none of theirs, somebody has made it up.)
    #[inline]
    pub(crate) fn translate(&mut self, value: Value, words: &Words) -> Value {
        match value.as_word() {
            Some(index) if value.is_own_word() && index < words.count() => self.history.words.word(words.text(index)),
            Some(_) if value.is_own_word() => self.history.words.word(&format!("{value:?}")),
            _ => value,
        }
    }

    fn moment(&mut self) -> u32 {
        self.moments += 1;
        self.moments - 1
    }

    pub(crate) fn call(&mut self, process: u32, stamp: u64, invocation: &Invocation) {
        let Invocation { key, method, argument, expected } = *invocation;
        let id = OperationId(self.history.operations().len() as u32);
        if expected.is_some() {
            self.history.expected.push((id, expected));
        }
        if key != KeyId::NONE {
            self.keys = self.keys.max(key.0.saturating_add(1));
        }
        if self.open.len() <= process as usize {
            self.open.resize(process as usize + 1, None);
        }
        self.open[process as usize] = Some(id);
        let moment = self.moment();
        self.history.moments.push([moment, History::NEVER]);
        self.history.times.push([Some(stamp as i64), None]);
        self.history.operations.push(Operation {
            process: ProcessId(process),
            key,
            line: 0,
            method,
            order: MemoryOrder::Plain,
            outcome: Outcome::Pending,
            argument,
            result: Value::NONE,
        });
    }

    /// The open operation of a process ends. One that ends in an unknown way may take effect at any later time.
    pub(crate) fn end(&mut self, process: u32, stamp: u64, answer: Answer) {
        let Some(id) = self.open.get_mut(process as usize).and_then(Option::take) else { return };
        let operation = &mut self.history.operations[id.index()];
        operation.outcome = match answer {
            Answer::Returned(result) => {
                operation.result = result;
                Outcome::Ok
            }
            Answer::DidNotHappen => Outcome::Fail,
            Answer::Unknown => Outcome::Info,
        };
        if answer != Answer::Unknown {
            self.history.moments[id.index()][1] = self.moment();
            self.history.times[id.index()][1] = Some(stamp as i64);
        }
    }

    /// The history so far, of so many threads, with times as `nanoseconds` makes them from stamps.
    pub(crate) fn into_history(self, threads: u32, nanoseconds: impl Fn(u64) -> i64) -> History {
        let numbers = |count: u32| (0..count).map(Value::small).collect();
        let mut history = self.history;
        history.processes = numbers(threads);
        history.keys = numbers(self.keys);
        for time in history.times.iter_mut().flatten().flatten() {
            *time = nanoseconds(*time as u64);
        }
        history
    }
}
