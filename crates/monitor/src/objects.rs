//! The monitors of objects, which [`object::online`] has.

use certificate::Evidence;
use object::online::{Event, Trouble};

use crate::{Monitor, Progress, Violation};

/// The operation of a violation counts as over, and what cannot be is forgotten; SATURATE says no more about that object.
impl Monitor for object::online::Monitor {
    type Event = Event;

    #[inline]
    fn push(&mut self, event: Event) -> Result<Progress, Violation> {
        let before = self.events();
        match self.push(&event) {
            Ok(()) => Ok(Progress::Possible),
            Err(Trouble::Refused(reason)) => Ok(Progress::Refused(reason)),
            Err(Trouble::GaveUp(reason)) => Ok(Progress::GaveUp(reason.to_owned())),
            Err(Trouble::Violation(violation)) => Err(Violation {
                event: before,
                reason: violation.to_string(),
                evidence: violation.core.map(|core| Box::new(Evidence::Core(core))),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use history::{KeyId, Method, Object, Value};
    use object::online::{Action, Algorithm};

    use super::*;

    fn call(process: u32, method: Method, argument: i64) -> Event {
        let argument = Value::integer(argument).filter(|_| argument > 0).unwrap_or(Value::NONE);
        Event { process, action: Action::Call { key: KeyId::NONE, method, argument, expected: Value::NONE } }
    }

    /// Saved and restored after every event, a monitor says the same at the same event.
    #[test]
    fn a_queue_goes_on_from_where_it_was_saved() {
        let one = Value::integer(1).unwrap_or(Value::NONE);
        let events = [
            call(0, Method::Enqueue, 1),
            Event { process: 0, action: Action::Return(Value::NONE) },
            call(0, Method::Enqueue, 2),
            call(1, Method::Dequeue, 0),
            Event { process: 1, action: Action::Return(one) },
            Event { process: 0, action: Action::Return(Value::NONE) },
            call(1, Method::Dequeue, 0),
            Event { process: 1, action: Action::Return(Value::EMPTY) },
        ];
        for algorithm in [Algorithm::Fast, Algorithm::Saturate] {
            let mut monitor = object::online::Monitor::new(Object::Queue, algorithm).expect("a monitor");
            for (at, event) in events.into_iter().enumerate() {
                let bytes = postcard::to_stdvec(&monitor).expect("it can be saved");
                monitor = postcard::from_bytes(&bytes).expect("and restored");
                match Monitor::push(&mut monitor, event) {
                    Ok(progress) => assert_eq!((progress, at < 7), (Progress::Possible, true), "event {at}"),
                    Err(violation) => assert_eq!((violation.event, at), (7, 7)),
                }
            }
        }
    }
}
