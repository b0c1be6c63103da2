//! Chooses the monitor of a history, and gives it the events of the stream.

use certificate::Model;
use history::event::{self, Action};
use history::execution::Kind;
use history::format::stream::{Stream, StreamEvent, What};
use history::{KeyId, Object, Outcome};
use monitor::{Access, C11, Linearizable, Monitor, Performed, Progress, ScObserved, Violation};
use serde::{Deserialize, Serialize};

use crate::flags;

/// The monitor of one history.
#[derive(Serialize, Deserialize)]
pub(super) enum Watch {
    ScObserved(ScObserved),
    Ra(C11),
    Rc20(C11),
    Object(Box<Linearizable>),
}

impl Watch {
    /// The monitor that the flags ask for, for a history that begins with this event; or why there is none.
    pub(super) fn new(flags: &flags::Monitor, stream: &Stream, event: &StreamEvent) -> Result<Self, String> {
        let head = stream.history();
        let object = head.object();
        let has_calls = event.what == What::Call;
        let model = match flags.model {
            Some(model) => model,
            None if has_calls => Model::Linearizable,
            None => return Err("which model? sc-observed, ra and rc20 fit operations without call and return".into()),
        };
        let c11 = |mut monitor: C11| {
            monitor.set_default_initial(stream.initial_value(KeyId::NONE));
            for &(key, value) in head.inits() {
                monitor.set_initial(key.0, value);
            }
            if let Some(threads) = flags.threads {
                monitor.set_threads(threads);
            }
            monitor
        };
        match model {
            Model::Linearizable if !has_calls => {
                Err("linearizability is about calls and returns, and this stream begins without a call".to_owned())
            }
            Model::Linearizable => {
                let mut monitor = Linearizable::new(object, flags.algorithm).map_err(|error| error.to_string())?;
                if let Some(capacity) = head.capacity() {
                    monitor.set_capacity(capacity);
                }
                monitor.set_initial(None, stream.initial_value(KeyId::NONE));
                for &(key, value) in head.inits() {
                    monitor.set_initial(Some(key), value);
                }
                Ok(Self::Object(Box::new(monitor)))
            }
            _ if object != Object::Memory => {
                Err(format!("{model} is about reads and writes, and this is a stream of a {}", object.name()))
            }
            Model::ScObserved => Ok(Self::ScObserved(ScObserved::new())),
            Model::Ra => Ok(Self::Ra(c11(C11::ra()))),
            Model::Rc20 => Ok(Self::Rc20(c11(C11::rc20()))),
            other => Err(format!("there is no monitor of {other}: sc-observed, ra, rc20 and linearizable have one")),
        }
    }

    pub(super) const fn model(&self) -> Model {
        match self {
            Self::ScObserved(_) => Model::ScObserved,
            Self::Ra(_) => Model::Ra,
            Self::Rc20(_) => Model::Rc20,
            Self::Object(_) => Model::Linearizable,
        }
    }

    /// Why silence of the monitor is no proof; `None` if it is proof.
    pub(super) fn doubt(&self) -> Option<&'static str> {
        match self {
            Self::Object(monitor) if !monitor.is_exact() => {
                Some("no violation was found, but the monitor of this object may miss violations")
            }
            _ => None,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, event: &StreamEvent) -> Result<Progress, Violation> {
        match self {
            Self::ScObserved(_) | Self::Ra(_) | Self::Rc20(_) if event.what != What::Instant => {
                let reason = "a memory model takes each operation in one line, without call and return";
                Ok(Progress::Refused(reason.to_owned()))
            }
            Self::ScObserved(monitor) => monitor.push(performed(event)),
            Self::Ra(monitor) | Self::Rc20(monitor) => monitor.push(access(event)),
            Self::Object(monitor) => push_object(monitor, event),
        }
    }
}

fn performed(event: &StreamEvent) -> Performed {
    let operation = &event.operation;
    let kind = Kind::of(operation.method);
    Performed { thread: operation.process.0, index: event.index, kind, location: operation.key.0 }
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
        What::Call => monitor.push(event::Event { process, action: call }),
        // The call and the return are at one moment.
        What::Instant => match monitor.push(event::Event { process, action: call })? {
            Progress::Possible => monitor.push(event::Event { process, action: Action::Return(operation.result) }),
            other => Ok(other),
        },
        What::End => {
            let action = match operation.outcome {
                Outcome::Fail => Action::Fail,
                Outcome::Info => Action::Info,
                _ => Action::Return(operation.result),
            };
            monitor.push(event::Event { process, action })
        }
    }
}
