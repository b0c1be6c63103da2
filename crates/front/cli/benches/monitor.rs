//! Measures the monitors, compared with the parser that feeds them.
//!
//! `cargo bench -p seriatim-cli --bench monitor [-- EVENTS]`: for each stream, the time to parse it event by event, the
//! time of the monitor alone on the same events soon after they were parsed, and their ratio. Each time is the least of
//! several runs.
//!
//! `cargo bench -p seriatim-cli --bench monitor -- EVENTS long`: one run of this many events (default 10^8), which are
//! generated during the run. It prints how many events per second parser and monitor together take in each tenth of the
//! run, the last tenth compared with the first, and the memory of the process. Transactions are generated before it, so
//! they have no long run; `seriatim gen --model causal --operations 10000000 | seriatim monitor --model causal` is one.

mod common;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use budget::ram;
use common::least;
use format::stream::{Item, Stream, StreamEvent, What};
use format::{Format, ReadOptions, Writer};
use history::event::{self, Action};
use history::execution::Kind;
use history::{Method, Object, Status};
use model::Model;
use monitor::linearizable::OnlineAlgorithm;
use monitor::{
    Access, C11, Linearizable, Monitor, PerformedNow, Progress, ScObserved, TransactionAction, TransactionEvent,
    Transactions,
};
use workload::memory::{self, MemoryMachine, MemoryStep};
use workload::object::{self as runs, Answer};
use workload::transactions::{self, Store};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A monitor, told the events of a stream.
enum Watch {
    Observed(ScObserved),
    C11(Box<C11>),
    Object(Box<Linearizable>),
    Transactions(Box<Transactions>),
}

impl Watch {
    fn new(name: &str) -> Self {
        let c11 = |mut monitor: C11| {
            monitor.set_threads(8);
            Self::C11(Box::new(monitor))
        };
        let object = |object| Self::Object(Box::new(Linearizable::new(object, OnlineAlgorithm::Auto).expect("exact")));
        match name {
            "sc-observed" => Self::Observed(ScObserved::new()),
            "ra" => c11(C11::ra()),
            "rc20" => c11(C11::rc20()),
            "queue" => object(Object::Queue),
            name if store(name).is_some() => {
                let model = Model::from_name(name).expect("a store is called as a level");
                Self::Transactions(Box::new(Transactions::new(model).expect("it has a monitor")))
            }
            _ => object(Object::Register),
        }
    }

    #[inline]
    fn push(&mut self, event: &StreamEvent) {
        let operation = &event.operation;
        let kind = || Kind::of(operation.method);
        let thread = operation.process.0;
        let progress = match self {
            Self::Observed(monitor) => {
                monitor.push(PerformedNow { thread, index: event.index, kind: kind(), location: operation.key.0 })
            }
            Self::C11(monitor) => monitor.push(Access {
                thread,
                kind: kind(),
                location: operation.key.0,
                order: operation.order,
                read: operation.result,
                written: operation.argument,
                label: event.label,
                source: event.source,
            }),
            Self::Object(monitor) => {
                let action = match event.what {
                    What::End => Action::Return(operation.result),
                    _ => Action::Call {
                        key: operation.key,
                        method: operation.method,
                        argument: operation.argument,
                        expected: event.expected,
                    },
                };
                monitor.push(event::ProcessEvent { process: thread, action })
            }
            Self::Transactions(monitor) => {
                let key = operation.key.0;
                let action = match (event.what, operation.method) {
                    (What::Begin, _) => TransactionAction::Begin,
                    (What::End, _) => TransactionAction::End(Status::Committed),
                    (_, Method::Write) => TransactionAction::Write { key, value: operation.argument },
                    _ => TransactionAction::Read { key, value: operation.result },
                };
                monitor.push(TransactionEvent { session: thread, action })
            }
        };
        assert!(matches!(progress, Ok(Progress::Possible)), "what is generated is allowed");
    }
}

/// The database of a stream of transactions.
fn store(name: &str) -> Option<Store> {
    Store::ALL.into_iter().find(|store| store.name() == name)
}

/// The lines of a stream of at most `events` events, in pieces.
fn text(name: &str, events: u32) -> Box<dyn Iterator<Item = String>> {
    const PIECE: usize = 8192;
    let pieces = move |mut lines: Box<dyn FnMut(&mut String) -> bool>| {
        std::iter::from_fn(move || {
            let mut piece = String::with_capacity(PIECE * 16);
            let count = (0..PIECE).take_while(|_| lines(&mut piece)).count();
            (count > 0).then_some(piece)
        })
    };
    if let "queue" | "register" = name {
        let object = if name == "queue" { Object::Queue } else { Object::Register };
        let mut run = runs::events(&runs::ObjectConfig { operations: events / 2, ..runs::ObjectConfig::new(object) });
        let mut is_begun = false;
        return Box::new(pieces(Box::new(move |out| {
            if !std::mem::replace(&mut is_begun, true) {
                let _ = writeln!(out, "# @object {}", object.name());
            }
            run.next().map(|event| call_or_return(out, object, event)).is_some()
        })));
    }
    if let Some(store) = store(name) {
        // Fifty sessions, transactions of eight operations; with begin and end they are ten events.
        let rmws = if store == Store::Serializable { 100 } else { 0 };
        let (sessions, keys, length) = (50, 1000, 8);
        let operations = events / 10 * 8;
        let config =
            transactions::TransactionConfig { store, sessions, keys, length, operations, rmws, ..Default::default() };
        let mut writer = Writer::new(Vec::new(), Format::Text);
        writer.write(&transactions::history(&config)).expect("text says all");
        let text = String::from_utf8(writer.finish().expect("a vector takes all")).expect("text is UTF-8");
        return Box::new(std::iter::once(text));
    }
    let machine = match name {
        "ra" => MemoryMachine::ReleaseAcquire,
        "rc20" => MemoryMachine::Rc20,
        _ => MemoryMachine::Sc,
    };
    let fences = if name == "rc20" { 2 } else { 0 };
    let config = memory::MemoryConfig {
        machine,
        threads: 8,
        locations: 16,
        operations: events,
        fences,
        ..memory::MemoryConfig::default()
    };
    let mut run = memory::generate(&config);
    Box::new(pieces(Box::new(move |out| run.next().map(|step| access(out, step)).is_some())))
}

fn access(out: &mut String, step: MemoryStep) {
    let MemoryStep { thread, location, kind, order, read, written } = step;
    let name = order.name();
    let dot = if name.is_empty() { "" } else { "." };
    let _ = match kind {
        Kind::Read => writeln!(out, "[{thread}] r{dot}{name} x{location} {read}"),
        Kind::Write => writeln!(out, "[{thread}] w{dot}{name} x{location} {written}"),
        Kind::Rmw => writeln!(out, "[{thread}] u{dot}{name} x{location} {read} {written}"),
        Kind::Fence => writeln!(out, "[{thread}] f{dot}{name}"),
    };
}

fn call_or_return(out: &mut String, object: Object, runs::RunEvent { process, action }: runs::RunEvent) {
    let _ = write!(out, "[{process}] ");
    match action {
        runs::Action::Call { method, argument, .. } => {
            let _ = write!(out, "call {}", object.method_name(method));
            if let Some(argument) = argument {
                let _ = write!(out, " {argument}");
            }
        }
        runs::Action::Return(answer) => {
            let _ = write!(out, "return");
            match answer {
                Answer::Value(value) => drop(write!(out, " {value}")),
                Answer::Empty => out.push_str(" empty"),
                _ => {}
            }
        }
    }
    out.push('\n');
}

fn stream() -> Stream {
    Stream::new(&ReadOptions { format: Some(Format::Text), ..ReadOptions::default() }).expect("text is streamed")
}

fn parse(stream: &mut Stream, mut lines: &[u8], mut each: impl FnMut(&StreamEvent)) -> u64 {
    let mut count = 0;
    // The item is taken by reference, since moving it takes longer than writing it.
    while let Some(item) = &stream.next(&mut lines) {
        if let Item::Event(event) = item.as_ref().expect("what is generated is good") {
            each(event);
            count += 1;
        }
    }
    count
}

fn short(name: &str, events: u32) {
    let pieces: Vec<String> = text(name, events).collect();
    let parse_all = |each: &mut dyn FnMut(&mut Stream, &[u8])| {
        let mut stream = stream();
        for piece in &pieces {
            each(&mut stream, piece.as_bytes());
        }
    };
    let mut count = 0;
    let (parsing, ()) = least(5, || {
        count = 0;
        parse_all(&mut |stream, lines| {
            count += parse(stream, lines, |event| {
                std::hint::black_box(event);
            });
        });
    });
    let watching = (0..5).map(|_| {
        let (mut watch, mut told, mut time) = (Watch::new(name), Vec::new(), Duration::ZERO);
        parse_all(&mut |stream, lines| {
            told.clear();
            parse(stream, lines, |event| told.push(*event));
            let start = Instant::now();
            for event in &told {
                watch.push(event);
            }
            time += start.elapsed();
        });
        time
    });
    let watching = watching.min().unwrap_or_default();
    let (both, ()) = least(5, || {
        let mut watch = Watch::new(name);
        parse_all(&mut |stream, lines| {
            parse(stream, lines, |event| watch.push(event));
        });
    });
    let each = |time: Duration| time.as_secs_f64() * 1e9 / count as f64;
    println!(
        "{name:<12} {count} events: parse {:>5.1} ns, monitor {:>5.1} ns = {:.2} parses, both {:>5.1} ns = {:.2} \
         parses",
        each(parsing),
        each(watching),
        each(watching) / each(parsing),
        each(both),
        each(both) / each(parsing)
    );
}

/// The speed in each tenth of a long run. Each piece is also parsed alone, for comparison: if the parser gets slower,
/// too, the machine is the cause, not the monitor.
fn long(name: &str, events: u32) {
    let mut watch = Watch::new(name);
    let (mut stream, mut alone) = (stream(), stream());
    let (mut count, mut watched, mut parsed) = (0u64, [Duration::ZERO; 10], [Duration::ZERO; 10]);
    let mut first = None;
    for piece in text(name, events) {
        let tenth = (count * 10 / u64::from(events)).min(9) as usize;
        let start = Instant::now();
        parse(&mut alone, piece.as_bytes(), |event| {
            std::hint::black_box(event);
        });
        parsed[tenth] += start.elapsed();
        let start = Instant::now();
        count += parse(&mut stream, piece.as_bytes(), |event| watch.push(event));
        watched[tenth] += start.elapsed();
        if tenth == 1 && first.is_none() {
            first = Some(ram::resident() >> 20);
        }
    }
    let speed = |tenth: usize| count as f64 / 10.0 / watched[tenth].as_secs_f64();
    let parses = |tenth: usize| watched[tenth].as_secs_f64() / parsed[tenth].as_secs_f64();
    println!(
        "{name:<12} {count} events: first tenth {:.1} M/s, last tenth {:.1} M/s = {:.2} of it, {:.2} against the \
         parser; {} MB after the first tenth, {} MB at the end",
        speed(0) / 1e6,
        speed(9) / 1e6,
        speed(9) / speed(0),
        parses(0) / parses(9),
        first.unwrap_or(0),
        ram::resident() >> 20
    );
    // If the monitor gets slower, all later tenths show it. If only one tenth is slow, the machine is the cause.
    let each =
        |of: &dyn Fn(usize) -> f64| (0..10).map(|tenth| format!("{:.2}", of(tenth))).collect::<Vec<_>>().join(" ");
    println!("{:<12} each tenth, M/s: {}", "", each(&|tenth| speed(tenth) / 1e6));
    println!("{:<12} each tenth, parses: {}", "", each(&parses));
}

const NAMES: [&str; 9] =
    ["ra", "rc20", "sc-observed", "queue", "register", "read-committed", "read-atomic", "causal", "serializable"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let events = arguments.first().and_then(|events| events.parse().ok());
    let wanted = |name: &&&str| arguments.len() < 3 || arguments[2..].iter().any(|argument| argument == *name);
    if arguments.get(1).is_some_and(|part| part == "long") {
        let is_long = |name: &&&str| store(name).is_none();
        NAMES.iter().filter(wanted).filter(is_long).for_each(|name| long(name, events.unwrap_or(100_000_000)));
    } else {
        NAMES.iter().filter(wanted).for_each(|name| short(name, events.unwrap_or(2_000_000)));
    }
}
