//! Chooses the monitor of a history that arrives as a stream, and gives it the events of the stream.

use format::stream::{SourceName, Stream, StreamEvent, What};
use history::event::{self, Action};
use history::execution::Kind;
use history::{Call, History, HistoryBuilder, KeyId, Method, Object, Outcome, ProcessId, Status};
use model::Model;
use monitor::linearizable::OnlineAlgorithm;
use monitor::{
    Access, C11, Linearizable, Monitor, PerformedNow, Progress, ScObserved, TransactionAction, TransactionEvent,
    Transactions, Violation, Windowed,
};
use serde::{Deserialize, Serialize};

/// What is wanted of a monitor.
#[derive(Copy, Clone, Debug, Default)]
pub struct Wanted {
    /// The model. Without one: `linearizable` for a stream that begins with a call, `serializable` for transactions.
    pub model: Option<Model>,
    /// How linearizability is monitored.
    pub algorithm: OnlineAlgorithm,
    /// How many threads there will be at most, if that is known: monitors of `ra`, `rc20` and `wra` then forget more.
    pub threads: Option<u32>,
    /// How many events the monitors of `wsc` and `tso` look at together, if not 2048; how many transactions those of
    /// isolation levels keep, if not 10,000.
    pub window: Option<u32>,
}

/// The monitor of one history, which arrives as a [stream](format::stream) of lines.
///
/// ```
/// use seriatim::format::{ReadOptions, stream::{Item, Stream}};
/// use seriatim::{Wanted, Watch};
///
/// let mut stream = Stream::new(&ReadOptions::default())?;
/// let mut lines = &b"[0] call enqueue 1\n[0] return\n[1] call dequeue\n[1] return empty\n"[..];
/// let mut watch = None;
/// let mut violation = None;
/// while let Some(item) = stream.next(&mut lines) {
///     let Item::Event(event) = item? else { continue };
///     if watch.is_none() {
///         watch = Some(Watch::new(Wanted::default(), &stream, &event)?);
///     }
///     violation = watch.as_mut().and_then(|watch| watch.push(&event, &stream).err());
/// }
/// assert_eq!(violation.expect("the queue was not empty").event, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Serialize, Deserialize)]
pub struct Watch(Which);

#[derive(Serialize, Deserialize)]
enum Which {
    ScObserved(ScObserved),
    C11(Box<C11>),
    Object(Box<Linearizable>),
    Windowed(Windowed),
    Transactions(Box<Transactions>),
}

impl Watch {
    /// The monitor that is wanted, for the history of a stream that begins with this event; or why there is none.
    pub fn new(wanted: Wanted, stream: &Stream, event: &StreamEvent) -> Result<Self, String> {
        let head = stream.history();
        let object = head.object();
        let has_calls = event.what == What::Call;
        let model = match wanted.model {
            Some(model) => model,
            None if has_calls => Model::Linearizable,
            None if object == Object::Transactions => Model::Serializable,
            None => {
                let known = "sc-observed, ra, rc20, relaxed, wra, wsc and tso fit operations without call and return";
                return Err(format!("which model? {known}"));
            }
        };
        let c11 = |mut monitor: C11| {
            monitor.set_default_initial(stream.initial_value(KeyId::NONE));
            for &(key, value) in head.inits() {
                monitor.set_initial(key.0, value);
            }
            if let Some(threads) = wanted.threads {
                monitor.set_threads(threads);
            }
            Which::C11(Box::new(monitor))
        };
        let windowed = |mut monitor: Windowed| {
            monitor.set_default_initial(stream.initial_value(KeyId::NONE));
            for &(key, value) in head.inits() {
                monitor.set_initial(key.0, value);
            }
            if let Some(window) = wanted.window {
                monitor.set_window(window);
            }
            monitor
        };
        let which = match model {
            model if object == Object::Transactions => {
                let Some(mut monitor) = Transactions::new(model) else {
                    let known = "read-committed, read-atomic, causal and serializable have one";
                    return Err(format!("there is no monitor of {model} for transactions: {known}"));
                };
                monitor.set_default_initial(stream.initial_value(KeyId::NONE));
                for &(key, value) in head.inits() {
                    monitor.set_initial(key.0, value);
                }
                if let Some(window) = wanted.window {
                    monitor.set_window(window);
                }
                if head.is_untimed() {
                    monitor.set_untimed();
                }
                Which::Transactions(Box::new(monitor))
            }
            model if model.isolation().is_some() => {
                return Err(format!("{model} is about transactions, and this is a stream of a {}", object.name()));
            }
            Model::Linearizable if !has_calls => {
                return Err("linearizability is about calls and returns, and this stream begins without a call".into());
            }
            Model::Linearizable => {
                let mut monitor = Linearizable::new(object, wanted.algorithm).map_err(|error| error.to_string())?;
                if let Some(capacity) = head.capacity() {
                    monitor.set_capacity(capacity);
                }
                monitor.set_initial(None, stream.initial_value(KeyId::NONE));
                for &(key, value) in head.inits() {
                    monitor.set_initial(Some(key), value);
                }
                Which::Object(Box::new(monitor))
            }
            _ if object != Object::Memory => {
                return Err(format!("{model} is about reads and writes, and this is a stream of a {}", object.name()));
            }
            Model::ScObserved => Which::ScObserved(ScObserved::new()),
            Model::Ra => c11(C11::ra()),
            Model::Rc20 => c11(C11::rc20()),
            Model::Relaxed => c11(C11::relaxed()),
            Model::Wra => c11(C11::wra()),
            Model::Wsc => Which::Windowed(windowed(Windowed::wsc())),
            Model::Tso => Which::Windowed(windowed(Windowed::tso())),
            other => {
                let known = "sc-observed, ra, rc20, relaxed, wra, wsc, tso and linearizable have one";
                return Err(format!("there is no monitor of {other}: {known}"));
            }
        };
        Ok(Self(which))
    }

    /// The model that is monitored.
    pub const fn model(&self) -> Model {
        match self.0 {
            Which::ScObserved(_) => Model::ScObserved,
            Which::C11(ref monitor) => monitor.model(),
            Which::Object(_) => Model::Linearizable,
            Which::Windowed(ref monitor) => monitor.model(),
            Which::Transactions(ref monitor) => monitor.model(),
        }
    }

    /// Why silence of the monitor is no proof; `None` if it is proof.
    pub fn doubt(&self) -> Option<&str> {
        match &self.0 {
            Which::Object(monitor) if !monitor.is_exact() => {
                Some("no violation was found, but the monitor of this object may miss violations")
            }
            Which::Windowed(_) => {
                Some("no violation was found, but events farther apart than the window may violate the model")
            }
            Which::Transactions(monitor) => monitor.doubt(),
            _ => None,
        }
    }

    /// Looks at what was not looked at yet, at the end of the stream.
    pub fn finish(&mut self) -> Result<(), Violation> {
        match &mut self.0 {
            Which::Windowed(monitor) => monitor.finish(),
            Which::Transactions(monitor) => monitor.finish(),
            _ => Ok(()),
        }
    }

    /// The events in which the last violation was found, as a history of its own, with the lines of the stream. Only a
    /// monitor that looks at a window has them: they violate its model, and a check says why.
    pub fn violating(&self, stream: &Stream) -> Option<History> {
        let Which::Windowed(monitor) = &self.0 else { return None };
        let head = stream.history();
        let mut builder = HistoryBuilder::new(Object::Memory);
        let initial = builder.value(&head.show(stream.initial_value(KeyId::NONE)));
        builder.set_initial(initial).ok()?;
        for &(key, value) in head.inits() {
            let (key, value) = (builder.key(&head.key_name(key)), builder.value(&head.show(value)));
            builder.set_init(key, value).ok()?;
        }
        for entry in monitor.violating() {
            let method = match entry.kind {
                Kind::Read => Method::Read,
                Kind::Write => Method::Write,
                Kind::Rmw => Method::Rmw,
                Kind::Fence => Method::Fence,
            };
            let process = builder.process(&head.process_name(ProcessId(entry.thread)));
            let line = u32::try_from(entry.line).unwrap_or(0);
            let mut call = Call::new(process, method).order(entry.order).line(line);
            if entry.kind != Kind::Fence {
                call = call.key(builder.key(&head.key_name(KeyId(entry.location))));
            }
            if entry.kind.reads() {
                call = call.result(builder.value(&head.show(entry.read)));
            }
            if entry.kind.writes() {
                call = call.argument(builder.value(&head.show(entry.written)));
            }
            builder.instant(&call).ok()?;
        }
        builder.finish().ok().filter(|history| !history.operations().is_empty())
    }

    /// Takes in the next event of the stream, which the stream has just handed out.
    #[inline]
    pub fn push(&mut self, event: &StreamEvent, stream: &Stream) -> Result<Progress, Violation> {
        match &mut self.0 {
            Which::ScObserved(_) | Which::C11(_) | Which::Windowed(_) if event.what != What::Instant => {
                let reason = "a memory model takes each operation in one line, without call and return";
                Ok(Progress::Refused(reason.to_owned()))
            }
            Which::ScObserved(monitor) => monitor.push(performed(event)),
            Which::C11(monitor) => monitor.push(access(event)),
            // The stream has gone past the line of the event.
            Which::Windowed(monitor) => monitor.push_line(access(event), stream.line() - 1),
            Which::Object(monitor) => push_object(monitor, event),
            Which::Transactions(_) if event.source != SourceName::None => {
                let reason = "the monitors of isolation levels find sources by values, and not by `from=`";
                Ok(Progress::Refused(reason.to_owned()))
            }
            Which::Transactions(monitor) => monitor.push(transacted(event, stream)),
        }
    }
}

fn transacted(event: &StreamEvent, stream: &Stream) -> TransactionEvent {
    let operation = &event.operation;
    let key = operation.key.0;
    let action = match event.what {
        What::Begin => TransactionAction::Begin,
        What::End => TransactionAction::End(match operation.outcome {
            Outcome::Fail => Status::Aborted,
            Outcome::Info => Status::Indeterminate,
            _ => Status::Committed,
        }),
        _ => match operation.method {
            Method::Write => TransactionAction::Write { key, value: operation.argument },
            Method::Append => TransactionAction::Append { key, value: operation.argument },
            _ if operation.result.as_list().is_some() => {
                TransactionAction::ReadList { key, elements: stream.history().list(operation.result).into() }
            }
            _ => TransactionAction::Read { key, value: operation.result },
        },
    };
    TransactionEvent { session: operation.process.0, action }
}

fn performed(event: &StreamEvent) -> PerformedNow {
    let operation = &event.operation;
    let kind = Kind::of(operation.method);
    PerformedNow { thread: operation.process.0, index: event.index, kind, location: operation.key.0 }
}

fn access(event: &StreamEvent) -> Access {
    let operation = &event.operation;
    Access {
        thread: operation.process.0,
        kind: Kind::of(operation.method),
        location: operation.key.0,
        order: operation.order,
        read: operation.result,
        written: operation.argument,
        label: event.label,
        source: event.source,
    }
}

fn push_object(monitor: &mut Linearizable, event: &StreamEvent) -> Result<Progress, Violation> {
    let operation = &event.operation;
    let process = operation.process.0;
    let call = Action::Call {
        key: operation.key,
        method: operation.method,
        argument: operation.argument,
        expected: event.expected,
    };
    match event.what {
        What::Begin => Ok(Progress::Refused("this monitor follows calls and returns, and not transactions".to_owned())),
        What::Call => monitor.push(event::ProcessEvent { process, action: call }),
        // The call and the return are at one moment.
        What::Instant => match monitor.push(event::ProcessEvent { process, action: call })? {
            Progress::Possible => {
                monitor.push(event::ProcessEvent { process, action: Action::Return(operation.result) })
            }
            other => Ok(other),
        },
        What::End => {
            let action = match operation.outcome {
                Outcome::Fail => Action::Fail,
                Outcome::Info => Action::Info,
                _ => Action::Return(operation.result),
            };
            monitor.push(event::ProcessEvent { process, action })
        }
    }
}
