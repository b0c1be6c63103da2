//! The monitors of objects on long streams. Run it with `cargo bench -p seriatim-monitor [-- EVENTS]`.
//!
//! First, in one run over the same text: the time that the reader of streams takes for an event, and the time that the
//! monitor takes for it. The limit: the exact monitors of queue and register take no longer than the reader. Then a
//! long run (10^8 events by default): the throughput of its last tenth against that of its first, and the largest
//! memory of the process.

use std::collections::VecDeque;
use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

use budget::ram;
use format::stream::{Item, Stream, What};
use format::{Format, ReadOptions};
use history::event::{Action, ProcessEvent};
use history::{KeyId, Method, Object, Outcome, Value};
use monitor::linearizable::OnlineAlgorithm;
use monitor::{Linearizable, Monitor, Progress};

const THREADS: usize = 8;
/// How many values the queue holds, at most.
const MAX_QUEUE_LENGTH: usize = 100;
const SHORT_RUN_EVENTS: usize = 2_000_000;
const ROUNDS: usize = 5;

/// A run of a queue or of a register. Operations take effect at their calls or at their returns.
struct Run {
    object: Object,
    state: u64,
    /// The method and the argument; and the result, if the operation has taken effect.
    open: [Option<(Method, Value, Option<Value>)>; THREADS],
    queue: VecDeque<Value>,
    value: i64,
    current: Value,
}

impl Run {
    fn new(object: Object) -> Self {
        Self { object, state: 1, open: [None; THREADS], queue: VecDeque::new(), value: 0, current: Value::ZERO }
    }

    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state >> 8
    }

    fn effect(&mut self, method: Method, argument: Value) -> Value {
        match method {
            Method::Enqueue => self.queue.push_back(argument),
            Method::Dequeue => return self.queue.pop_front().unwrap_or(Value::EMPTY),
            Method::Write => self.current = argument,
            _ => return self.current,
        }
        Value::NONE
    }
}

impl Iterator for Run {
    type Item = ProcessEvent;

    fn next(&mut self) -> Option<ProcessEvent> {
        let random = self.random();
        let thread = random as usize % THREADS;
        let process = thread as u32;
        if let Some((method, argument, result)) = self.open[thread].take() {
            let result = result.unwrap_or_else(|| self.effect(method, argument));
            return Some(ProcessEvent { process, action: Action::Return(result) });
        }
        let inserts = random >> 8 & 1 == 0;
        let method = match self.object {
            Object::Queue if inserts && self.queue.len() < MAX_QUEUE_LENGTH - THREADS => Method::Enqueue,
            Object::Queue => Method::Dequeue,
            _ if inserts => Method::Write,
            _ => Method::Read,
        };
        let takes = matches!(method, Method::Enqueue | Method::Write);
        if takes {
            self.value += 1;
        }
        let argument = if takes { Value::integer(self.value).unwrap_or(Value::NONE) } else { Value::NONE };
        let is_early = random >> 9 & 1 == 0;
        let result = is_early.then(|| self.effect(method, argument));
        self.open[thread] = Some((method, argument, result));
        Some(ProcessEvent {
            process,
            action: Action::Call { key: KeyId::NONE, method, argument, expected: Value::NONE },
        })
    }
}

fn text(object: Object) -> String {
    let mut text = format!("# @object {}\n", object.name());
    for ProcessEvent { process, action } in Run::new(object).take(SHORT_RUN_EVENTS) {
        let written = match action {
            Action::Call { method, argument, .. } if argument.is_some() => {
                writeln!(text, "[{process}] call {} {argument:?}", object.method_name(method))
            }
            Action::Call { method, .. } => writeln!(text, "[{process}] call {}", object.method_name(method)),
            Action::Return(result) if result.is_some() => writeln!(text, "[{process}] return {result:?}"),
            _ => writeln!(text, "[{process}] return"),
        };
        written.expect("writing to memory");
    }
    text
}

/// Reads all lines. Returns the time for an event, in nanoseconds.
fn read(text: &str, mut each: impl FnMut(ProcessEvent)) -> f64 {
    let start = Instant::now();
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    let mut stream = Stream::new(&options).expect("text is a stream");
    let mut lines = text.as_bytes();
    let mut events = 0_u32;
    while let Some(item) = stream.next(&mut lines) {
        let Item::Event(event) = item.expect("no errors") else { continue };
        let operation = event.operation;
        let action = match (event.what, operation.outcome) {
            (What::Call, _) => Action::Call {
                key: operation.key,
                method: operation.method,
                argument: operation.argument,
                expected: event.expected,
            },
            (_, Outcome::Fail) => Action::Fail,
            _ => Action::Return(operation.result),
        };
        each(ProcessEvent { process: operation.process.0, action });
        events += 1;
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(events)
}

fn monitor(object: Object) -> Linearizable {
    Linearizable::new(object, OnlineAlgorithm::Fast).expect("an exact monitor")
}

fn push(monitor: &mut Linearizable, event: &ProcessEvent) {
    let said = monitor.push(*event);
    assert!(matches!(said, Ok(Progress::Possible)), "the run is right: {said:?}");
}

fn against_the_reader(object: Object) {
    let text = text(object);
    let mut events = Vec::with_capacity(SHORT_RUN_EVENTS);
    read(&text, |event| events.push(event));
    let (mut reading, mut watching) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        reading = reading.min(read(&text, |event| {
            black_box(event);
        }));
        let mut monitor = monitor(object);
        let start = Instant::now();
        for event in &events {
            push(&mut monitor, event);
        }
        watching = watching.min(start.elapsed().as_secs_f64() * 1e9 / events.len() as f64);
    }
    println!(
        "{}: the reader takes {reading:.1} ns an event, the monitor {watching:.1} ns: {:.2} times as many events a \
         second",
        object.name(),
        reading / watching
    );
}

fn long_run(object: Object, events: usize) {
    let mut monitor = monitor(object);
    let mut run = Run::new(object);
    let tenths: Vec<f64> = (0..10)
        .map(|_| {
            let start = Instant::now();
            for event in run.by_ref().take(events / 10) {
                push(&mut monitor, &event);
            }
            (events / 10) as f64 / start.elapsed().as_secs_f64()
        })
        .collect();
    let peak = ram::peak().map_or("unknown".to_owned(), |bytes| format!("{} kB", bytes >> 10));
    println!(
        "{}: {events} events, the last tenth at {:.2} of the speed of the first ({:.1} million events a second); \
         remembers {} at the end, peak memory {peak}",
        object.name(),
        tenths[9] / tenths[0],
        tenths[9] / 1e6,
        monitor.size(),
    );
}

fn main() {
    let events = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(100_000_000);
    for object in [Object::Queue, Object::Register] {
        long_run(object, events);
    }
    for object in [Object::Queue, Object::Register] {
        against_the_reader(object);
    }
}
