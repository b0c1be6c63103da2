//! Builds the history of a recorder from its events, which come in the order of time. At each moment it is the history
//! of the events so far, so a monitor can be asked about it at once.

use history::{
    BuildError, Call, CallEnd, History, HistoryBuilder, KeyId, Object, OperationId, ProcessId, Value, Words,
};

use crate::thread::{Answer, Invocation};

/// A history that grows.
#[derive(Clone)]
pub(crate) struct Prefix {
    builder: HistoryBuilder,
    /// The process of each thread.
    processes: Vec<ProcessId>,
    /// How many keys exist. The name of a key is its number.
    keys: u32,
    /// For each operation: the stamp of its call and, if the time of its return is known, the stamp of its return.
    stamps: Vec<(u64, Option<u64>)>,
}

impl Prefix {
    pub(crate) fn new(object: Object, capacity: Option<u64>) -> Self {
        let mut builder = HistoryBuilder::new(object);
        if let Some(capacity) = capacity {
            builder.set_capacity(capacity);
        }
        Self { builder, processes: Vec::new(), keys: 0, stamps: Vec::new() }
    }

    pub(crate) fn set_capacity(&mut self, capacity: u64) {
        self.builder.set_capacity(capacity);
    }

    /// The texts of the words among the values.
    pub(crate) fn words(&self) -> &Words {
        self.builder.words()
    }

    /// The value in this history for a value of `words`. A word that `words` does not have was not made by a recorder;
    /// it is shown by its debug text.
    #[inline]
    pub(crate) fn translate(&mut self, value: Value, words: &Words) -> Value {
        match value.as_word() {
            Some(index) if value.is_own_word() && index < words.count() => self.builder.word(words.text(index)),
            Some(_) if value.is_own_word() => self.builder.word(&format!("{value:?}")),
            _ => value,
        }
    }

    /// The process of a thread. If the process crashed, the builder finds the one that continues for it.
    fn process(&mut self, thread: u32) -> ProcessId {
        for number in self.processes.len() as u32..=thread {
            self.processes.push(self.builder.process(&number.to_string()));
        }
        self.processes[thread as usize]
    }

    pub(crate) fn call(&mut self, thread: u32, stamp: u64, invocation: &Invocation) {
        let Invocation { key, method, argument, expected } = *invocation;
        if key != KeyId::NONE {
            while self.keys <= key.0 {
                self.builder.key(&self.keys.to_string());
                self.keys += 1;
            }
        }
        let call = Call::new(self.process(thread), method).key(key).argument(argument).expected(expected);
        self.builder.call(&call).expect("a thread returns before it calls again");
        self.stamps.push((stamp, None));
    }

    /// Ends the open operation of a thread. An operation with an unknown end may take effect at any later time. An end
    /// without a call is ignored: events may have been kept only from a later time on.
    pub(crate) fn end(&mut self, thread: u32, stamp: u64, answer: Answer) {
        let Some(&process) = self.processes.get(thread as usize) else { return };
        let end = match answer {
            Answer::Returned(result) => CallEnd::Ok(result),
            Answer::DidNotHappen => CallEnd::Fail,
            Answer::Unknown => CallEnd::Info,
        };
        match self.builder.end(process, end) {
            Ok(id) if answer != Answer::Unknown => self.stamps[id.index()].1 = Some(stamp),
            Ok(_) | Err(BuildError::NotOpen { .. } | BuildError::EndedUnknown { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// The history of `threads` threads so far. `nanoseconds` makes times from stamps.
    pub(crate) fn into_history(mut self, threads: u32, nanoseconds: impl Fn(u64) -> i64) -> History {
        if let Some(last) = threads.checked_sub(1) {
            self.process(last);
        }
        let Self { mut builder, stamps, .. } = self;
        for (id, (called, returned)) in (0..).map(OperationId).zip(stamps) {
            builder.set_call_time(id, nanoseconds(called)).expect("there are as many stamps as operations");
            if let Some(returned) = returned {
                builder.set_return_time(id, nanoseconds(returned)).expect("there are as many stamps as operations");
            }
        }
        builder.finish().expect("a recorder gives no labels")
    }
}
