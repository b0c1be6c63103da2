//! SATURATE: unit propagation in the theory of an object, and nothing else.
//!
//! The unknowns are the literals `b(x, y)`: x comes before y in the linearization. Known from the start is what real
//! time says; by totality `not b(x, y)` is `b(y, x)`, and the order is kept transitive. The axioms of the object
//! (Figures 3 to 7 of the paper) add literals until nothing new follows, or until something comes before itself: then
//! there is no linearization. Nothing is ever guessed: neither an order, nor the result of a pending operation.
//!
//! An axiom that asks for some operation ("there is an r that matched a, before e") is unit when all candidates but one
//! are excluded, and contradicts when all are. The modules say how candidates are told for their objects:
//! [`containers`], [`register`], [`counter`] (set, mutex, semaphore), [`exchanger`].
//!
//! Removal of obsolete matches (section 5): an operation is forgotten only after all its consequences are drawn. What
//! was derived about the others stays, and is true in every linearization of the whole history; so a violation found
//! afterwards is one of the whole history. With removal, time and memory of a step depend on what the object holds and
//! what is in flight, not on the length of the execution.

mod containers;
mod counter;
mod exchanger;
mod register;
mod relation;

use history::Object;

use super::{Invocation, Step, Witness};
use crate::view::ValueId;

/// The reason where values repeat: then matches cannot be told by values.
pub const NOT_UNIQUE: &str = "SATURATE tells matches by their values, and here values repeat";

const SILENCE: &str = "SATURATE found no contradiction, which proves nothing";

/// The engine of one object.
trait Engine {
    fn call(&mut self, number: u32, invocation: Invocation);
    /// An operation returns; then everything that follows is drawn.
    fn return_(&mut self, number: u32, result: ValueId) -> Result<(), Stop>;
    /// Forgets what is obsolete.
    fn remove_matches(&mut self);
    /// How many operations it remembers.
    fn size(&self) -> usize;
}

/// Why propagation ends.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stop {
    Contradiction,
    NotUnique,
}

impl Stop {
    fn unless(fine: bool) -> Result<(), Self> {
        if fine { Ok(()) } else { Err(Self::Contradiction) }
    }
}

/// The incremental monitor.
pub struct Monitor {
    engine: Box<dyn Engine>,
    remove_matches: bool,
    last: Step,
}

impl Monitor {
    /// A monitor of a fresh object: its capacity if it is a semaphore, its initial value if it is a register.
    ///
    /// Values that tell matches must be unique (inserted, written, offered once). A repetition is noticed if the monitor
    /// still remembers the first; with removal the caller must see to it.
    pub fn new(object: Object, capacity: u64, initial: ValueId, remove_matches: bool) -> Result<Self, &'static str> {
        let engine: Box<dyn Engine> = match object {
            Object::Queue => Box::new(containers::Containers::new(containers::Discipline::Fifo)),
            Object::Stack => Box::new(containers::Containers::new(containers::Discipline::Lifo)),
            Object::PriorityQueue => Box::new(containers::Containers::new(containers::Discipline::Max)),
            Object::Memory | Object::Register => Box::new(register::Register::new(initial)),
            Object::Set | Object::Mutex => Box::new(counter::Counter::new(1)),
            Object::Semaphore => Box::new(counter::Counter::new(capacity)),
            Object::Exchanger => Box::new(exchanger::Exchanger::default()),
            Object::KeyValue => return Err(super::NO_THEORY),
        };
        Ok(Self { engine, remove_matches, last: Step::Possible })
    }

    /// How many operations the monitor remembers.
    pub fn size(&self) -> usize {
        self.engine.size()
    }
}

impl super::Monitor for Monitor {
    fn call(&mut self, number: u32, invocation: Invocation) {
        if self.last == Step::Possible {
            self.engine.call(number, invocation);
        }
    }

    fn return_(&mut self, number: u32, result: ValueId) -> Step {
        if self.last == Step::Possible {
            match self.engine.return_(number, result) {
                Ok(()) if self.remove_matches => self.engine.remove_matches(),
                Ok(()) => {}
                Err(Stop::Contradiction) => self.last = Step::Violation,
                Err(Stop::NotUnique) => self.last = Step::GaveUp(NOT_UNIQUE),
            }
        }
        self.last
    }

    fn witness(&mut self) -> Witness {
        Witness::None(SILENCE)
    }
}
