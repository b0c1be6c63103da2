//! The record of a run: all events in the order in which they took one lock, which is an order in time.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use history::{
    Call as Called, CallEnd as Ended, History, HistoryBuilder, KeyId, Method, Object, ProcessId, Status, Value,
};

use crate::plan::{BALANCE, Call, Done, Task, Workload};
use crate::{End, ProbeConfig, Scheme};

/// How the transactions or operations of a run ended.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Endings {
    /// They took effect.
    pub committed: u64,
    /// They took no effect.
    pub aborted: u64,
    /// Nobody knows whether they took effect.
    pub unknown: u64,
}

struct Event {
    client: u32,
    nanos: i64,
    what: What,
}

enum What {
    /// A call has its method and its argument from the beginning.
    Begin(Option<(u64, Call)>),
    End(Task, End),
}

pub(crate) struct Recorder {
    start: Instant,
    events: Mutex<Vec<Event>>,
}

impl Recorder {
    pub fn new() -> Self {
        Self { start: Instant::now(), events: Mutex::default() }
    }

    fn push(&self, client: u32, what: What) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        // The time is taken inside, so that times do not contradict the order.
        let nanos = i64::try_from(self.start.elapsed().as_nanos()).unwrap_or(i64::MAX);
        events.push(Event { client, nanos, what });
    }

    /// A client is about to begin a task.
    pub fn begin(&self, client: u32, task: &Task) {
        let call = match task {
            Task::Call { key, call, .. } => Some((*key, call.clone())),
            Task::Transaction { .. } | Task::Transfer { .. } => None,
        };
        self.push(client, What::Begin(call));
    }

    /// A client has ended its task.
    pub fn end(&self, client: u32, task: Task, end: End) {
        self.push(client, What::End(task, end));
    }

    /// The history, how its transactions ended, and how many sums of all accounts were wrong.
    pub fn finish(self, config: &ProbeConfig) -> (History, Endings, u64) {
        let is_of_calls = config.workload == Workload::Register && config.url.scheme != Scheme::Postgres;
        let object = if is_of_calls { Object::Register } else { Object::Transactions };
        let mut writer =
            RecordWriter { builder: HistoryBuilder::new(object), config, counts: Endings::default(), wrong_sums: 0 };
        let initial = match config.workload {
            Workload::Bank => writer.builder.value(&format!("{BALANCE}/0")),
            _ if config.url.scheme == Scheme::Postgres => Value::ZERO,
            _ => Value::NULL,
        };
        writer.builder.set_initial(initial).expect("a value of this history");
        let sessions: Vec<ProcessId> =
            (0..config.clients).map(|client| writer.builder.process(&client.to_string())).collect();
        for Event { client, nanos, what } in self.events.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let session = sessions[client as usize];
            match what {
                What::Begin(None) => {
                    let id = writer.builder.begin_transaction(session).expect("a client does one thing at a time");
                    writer.builder.set_begin_time(id, nanos);
                }
                What::Begin(Some((key, call))) => writer.call(session, key, &call, nanos),
                What::End(task, end) => writer.end(session, task, end, nanos),
            }
        }
        let RecordWriter { builder, counts, wrong_sums, .. } = writer;
        (builder.finish().expect("no read names its source"), counts, wrong_sums)
    }
}

struct RecordWriter<'c> {
    builder: HistoryBuilder,
    config: &'c ProbeConfig,
    counts: Endings,
    wrong_sums: u64,
}

impl RecordWriter<'_> {
    fn key(&mut self, key: u64) -> KeyId {
        self.builder.key(&format!("k{key}"))
    }

    fn call(&mut self, session: ProcessId, key: u64, call: &Call, nanos: i64) {
        let key = self.key(key);
        let call = match call {
            Call::Read => Called::new(session, Method::Read),
            Call::Write(value) => Called::new(session, Method::Write).argument(self.builder.value(value)),
            Call::Cas(old, new) => {
                let (old, new) = (self.builder.value(old), self.builder.value(new));
                Called::new(session, Method::Cas).expected(old).argument(new)
            }
        };
        let id = self.builder.call(&call.key(key)).expect("a client does one thing at a time");
        self.builder.set_call_time(id, nanos).expect("it was just called");
    }

    fn end(&mut self, session: ProcessId, task: Task, end: End, nanos: i64) {
        match end {
            End::Committed => self.counts.committed += 1,
            End::Aborted => self.counts.aborted += 1,
            End::Unknown => self.counts.unknown += 1,
        }
        let done = match task {
            Task::Call { call, answer, .. } => {
                let result = match (&call, answer) {
                    (Call::Write(_), _) => Value::NONE,
                    (_, Some(answer)) => self.builder.value(&answer),
                    (_, None) => Value::NULL,
                };
                let ended = match end {
                    End::Committed => Ended::Ok(result),
                    End::Aborted => Ended::Fail,
                    End::Unknown => Ended::Info,
                };
                let id = self.builder.end(session, ended).expect("it was called");
                self.builder.set_return_time(id, nanos).expect("it was called");
                return;
            }
            Task::Transaction { done, .. } | Task::Transfer { done, .. } => done,
        };
        if self.config.workload == Workload::Bank && end == End::Committed {
            self.check_sum(&done);
        }
        for done in done {
            let added = match done {
                Done::Read(key, value) => {
                    let key = self.key(key);
                    let value = value.map_or(Value::NULL, |value| self.builder.value(&value));
                    self.builder.read(session, key, value)
                }
                Done::Write(key, value) => {
                    let key = self.key(key);
                    let value = self.builder.value(&value);
                    self.builder.write(session, key, value)
                }
                Done::ReadList(key, elements) => {
                    let key = self.key(key);
                    let elements: Vec<Value> = elements.iter().map(|element| self.builder.value(element)).collect();
                    self.builder.read_list(session, key, &elements)
                }
                Done::Append(key, value) => {
                    let key = self.key(key);
                    let value = self.builder.value(&value.to_string());
                    self.builder.append(session, key, value)
                }
            };
            added.expect("all names are known, and a workload has registers or lists");
        }
        let status = match end {
            End::Committed => Status::Committed,
            End::Aborted => Status::Aborted,
            End::Unknown => Status::Indeterminate,
        };
        let id = self.builder.end_transaction(session, status).expect("it was begun");
        self.builder.set_end_time(id, nanos);
    }

    /// Looks at a transaction that read all accounts.
    fn check_sum(&mut self, done: &[Done]) {
        let balance = |done: &Done| match done {
            Done::Read(_, Some(value)) => value.split('/').next()?.parse::<i64>().ok(),
            _ => None,
        };
        let accounts = self.config.keys.max(2) as usize;
        let balances: Option<Vec<i64>> = done.iter().map(balance).collect();
        if let Some(balances) = balances.filter(|balances| balances.len() == accounts) {
            self.wrong_sums += u64::from(balances.iter().sum::<i64>() != BALANCE * accounts as i64);
        }
    }
}
