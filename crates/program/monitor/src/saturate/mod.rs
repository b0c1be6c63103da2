//! SATURATE: unit propagation in the theory of an object, and nothing else.
//!
//! The unknowns are the literals `b(x, y)`: x comes before y in the linearization. The order of real time is known from
//! the start. By totality, `not b(x, y)` is `b(y, x)`, and the order is kept transitive. The axioms of the object
//! (Figures 3 to 7 of MR) add literals until nothing new follows, or until an operation comes before itself. In the
//! latter case there is no linearization. The checker never guesses, neither an order, nor the result of a pending
//! operation.
//!
//! An axiom that asks for some operation ("there is an r that matched a, before e") is unit when all candidates but one
//! are excluded. It is a contradiction when all are excluded. The modules say how the candidates of their objects are
//! found: [`containers`], [`register`], [`counter`] (set, mutex, semaphore), [`exchanger`].
//!
//! Removal of obsolete matches (section 5): an operation is forgotten only after all its consequences are drawn. The
//! literals that were derived about other operations stay. They are true in every linearization of the whole history,
//! so a violation that is found later is a violation of the whole history. With removal, the time and memory of a step
//! depend on the values that the object holds and on the open operations, not on the length of the execution.
//!
//! The converse depends on [when](Removal) a match is forgotten. An operation that is open has no consequences yet. If
//! the operations of a match are forgotten while an operation is open that may come before one of them, what the result
//! of that operation would say about them is lost, and a violation with it. If every open operation comes after the
//! match, nothing that is to come stands between its operations.

mod containers;
mod counter;
mod exchanger;
mod register;
mod relation;

use history::{Method, Object};
use object::ValueId;
use serde::{Deserialize, Serialize};

/// The reason if values repeat: then matches cannot be recognised by their values.
pub const NOT_UNIQUE: &str = "SATURATE tells matches by their values, and here values repeat";

/// What is known of an operation when it is called.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invocation {
    /// The method.
    pub method: Method,
    /// The value that is written, inserted or added.
    pub argument: ValueId,
    /// The priority of the value that is inserted into a priority queue. Larger priorities come first.
    pub priority: i64,
    /// The value that a compare-and-swap expects.
    pub expected: ValueId,
}

/// The answer at a return.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// No violation was found.
    Possible,
    /// The history so far is not linearizable. This is final.
    Violation,
    /// The monitor cannot decide, for this reason, and will not decide any more from here on.
    GaveUp(&'static str),
}

/// When matches are forgotten.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Removal {
    /// Never.
    #[default]
    Never,
    /// As soon as both operations of a match have returned, as section 5.2 of MR defines 'obsolete'. This is sound, and
    /// misses violations. It concerns the queue, the stack and the priority queue; for the others it is as
    /// [`WhenSettled`](Self::WhenSettled).
    AtOnce,
    /// Once every open operation comes after the match. An operation that stays open for long would keep all that is
    /// called after it, so when [many](MOST_REMEMBERED) operations are remembered, matches are forgotten at once.
    WhenSettled,
}

/// How many operations are remembered, at most, for the sake of operations that stay open. The order of so many takes
/// 256 KiB.
const MOST_REMEMBERED: usize = 1024;

/// The engine of one object.
trait Engine {
    fn call(&mut self, number: u32, invocation: Invocation);
    /// An operation returns. All consequences are drawn.
    fn return_(&mut self, number: u32, result: ValueId) -> Result<(), PropagationEnd>;
    /// An operation turns out not to have happened. All consequences are drawn.
    fn fail(&mut self, number: u32) -> Result<(), PropagationEnd>;
    /// Whether the engine remembers a value, so that the value must not come again.
    fn remembers(&self, value: ValueId) -> bool;
    /// Forgets obsolete operations. With `at_once`, also those that an open operation may come before.
    fn remove_matches(&mut self, at_once: bool);
    /// How many operations the engine remembers.
    fn size(&self) -> usize;
}

/// Why propagation ends.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum PropagationEnd {
    Contradiction,
    NotUnique,
}

impl PropagationEnd {
    fn unless(fine: bool) -> Result<(), Self> {
        if fine { Ok(()) } else { Err(Self::Contradiction) }
    }
}

/// The engine of an object.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum AnyEngine {
    Containers(containers::Containers),
    Register(register::Register),
    Counter(counter::Counter),
    Exchanger(exchanger::Exchanger),
}

impl AnyEngine {
    fn get(&self) -> &dyn Engine {
        match self {
            Self::Containers(engine) => engine,
            Self::Register(engine) => engine,
            Self::Counter(engine) => engine,
            Self::Exchanger(engine) => engine,
        }
    }

    fn get_mut(&mut self) -> &mut dyn Engine {
        match self {
            Self::Containers(engine) => engine,
            Self::Register(engine) => engine,
            Self::Counter(engine) => engine,
            Self::Exchanger(engine) => engine,
        }
    }
}

/// SATURATE over one object, call by call and return by return. Operations have numbers. A number may be used again
/// once the operation is forgotten.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Propagation {
    engine: AnyEngine,
    removal: Removal,
    last: Last,
}

/// The last [`Step`].
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Last {
    Possible,
    Violation,
    NotUnique,
}

impl Propagation {
    /// A new object; none if the paper has no theory of it. `capacity` is for a semaphore, `initial` for a register.
    ///
    /// If matches are recognised by values, each value must be inserted, written or offered only once while it is
    /// remembered. A value that was forgotten may come again: no operation that returns later can mean the first one.
    pub fn new(object: Object, capacity: u64, initial: ValueId, removal: Removal) -> Option<Self> {
        let container = |discipline| AnyEngine::Containers(containers::Containers::new(discipline));
        let engine = match object {
            Object::Queue => container(containers::Discipline::Fifo),
            Object::Stack => container(containers::Discipline::Lifo),
            Object::PriorityQueue => container(containers::Discipline::Max),
            Object::Memory | Object::Register => AnyEngine::Register(register::Register::new(initial)),
            Object::Set | Object::Mutex => AnyEngine::Counter(counter::Counter::new(1)),
            Object::Semaphore => AnyEngine::Counter(counter::Counter::new(capacity)),
            Object::Exchanger => AnyEngine::Exchanger(exchanger::Exchanger::default()),
            _ => return None,
        };
        Some(Self { engine, removal, last: Last::Possible })
    }

    /// How many operations are remembered.
    pub fn size(&self) -> usize {
        self.engine.get().size()
    }

    /// Whether a value is remembered, so that the value must not come again.
    pub fn remembers(&self, value: ValueId) -> bool {
        self.engine.get().remembers(value)
    }

    /// An operation is called.
    pub fn call(&mut self, number: u32, invocation: Invocation) {
        if self.last == Last::Possible {
            self.engine.get_mut().call(number, invocation);
        }
    }

    /// An operation returns this result; [`ValueId::NONE`] if it returns nothing, or its result is not known.
    pub fn return_(&mut self, number: u32, result: ValueId) -> Step {
        if self.last == Last::Possible {
            let verdict = self.engine.get_mut().return_(number, result);
            self.conclude(verdict);
        }
        self.step()
    }

    /// An operation that was called turns out not to have happened.
    pub fn fail(&mut self, number: u32) -> Step {
        if self.last == Last::Possible {
            let verdict = self.engine.get_mut().fail(number);
            self.conclude(verdict);
        }
        self.step()
    }

    fn conclude(&mut self, verdict: Result<(), PropagationEnd>) {
        match verdict {
            Ok(()) if self.removal == Removal::Never => {}
            Ok(()) => {
                let at_once = self.removal == Removal::AtOnce || self.size() > MOST_REMEMBERED;
                self.engine.get_mut().remove_matches(at_once);
            }
            Err(PropagationEnd::Contradiction) => self.last = Last::Violation,
            Err(PropagationEnd::NotUnique) => self.last = Last::NotUnique,
        }
    }

    fn step(&self) -> Step {
        match self.last {
            Last::Possible => Step::Possible,
            Last::Violation => Step::Violation,
            Last::NotUnique => Step::GaveUp(NOT_UNIQUE),
        }
    }
}
