//! The monitor of one object, whichever it is: the exact one if the object has one, the search, or SATURATE. A monitor
//! is made by the kind of the object, takes calls and returns, and can be saved and read again.

use history::{Object, Value};
use serde::{Deserialize, Serialize};

use super::{OpenOperation, Stopped, element, permits, queue, register, saturate, search};

/// The monitor of one object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Engine {
    Queue(queue::Queue),
    Register(register::Register),
    Element(element::Element),
    Permits(permits::Permits),
    Saturate(Box<saturate::Saturate>),
    Search(Box<search::Search>),
}

impl Engine {
    /// The exact monitor of an object, if it has one.
    pub(super) fn exact(object: Object, capacity: u64, initial: Value) -> Option<Self> {
        match object {
            Object::Memory | Object::Register => Some(Self::Register(register::Register::new(initial))),
            Object::Queue => Some(Self::Queue(queue::Queue::new())),
            Object::Set | Object::Mutex => Some(Self::Element(element::Element::default())),
            Object::Semaphore => Some(Self::Permits(permits::Permits::new(capacity))),
            _ => None,
        }
    }

    /// The search for an object, if it is one that the search or SATURATE knows.
    pub(super) fn search(object: Object, capacity: u64, initial: Value) -> Option<Self> {
        search::Search::new(object, capacity, initial).map(|engine| Self::Search(Box::new(engine)))
    }

    /// SATURATE for an object, if it has a theory.
    pub(super) fn saturate(object: Object, capacity: u64, initial: Value) -> Option<Self> {
        saturate::Saturate::new(object, capacity, initial).map(|engine| Self::Saturate(Box::new(engine)))
    }

    #[inline]
    pub(super) fn call(&mut self, open: &mut OpenOperation) -> Result<(), Stopped> {
        match self {
            Self::Queue(queue) => return queue.call(open),
            Self::Register(register) => return register.call(open),
            Self::Element(element) => element.call(open),
            Self::Permits(permits) => permits.call(open),
            Self::Saturate(engine) => engine.call(open),
            Self::Search(engine) => engine.call(open),
        }
        Ok(())
    }

    #[inline]
    pub(super) fn return_(&mut self, open: &OpenOperation, result: Value, now: u64) -> Result<(), Stopped> {
        match self {
            Self::Queue(queue) => queue.return_(open, result, now),
            Self::Register(register) => register.return_(open, result, now),
            Self::Element(element) => element.return_(open, result, now),
            Self::Permits(permits) => permits.return_(open, now),
            Self::Saturate(engine) => engine.return_(open, result),
            Self::Search(engine) => engine.return_(open, result),
        }
    }

    pub(super) fn fail(&mut self, open: &OpenOperation) -> Result<(), Stopped> {
        match self {
            Self::Queue(queue) => queue.fail(open),
            Self::Register(register) => register.fail(open),
            Self::Element(element) => element.fail(open),
            Self::Permits(permits) => permits.fail(open),
            Self::Saturate(engine) => engine.fail(open),
            Self::Search(engine) => engine.fail(open),
        }
    }

    pub(super) fn abandon(&mut self, open: &OpenOperation) {
        match self {
            Self::Queue(queue) => queue.abandon(open),
            Self::Register(register) => register.abandon(open),
            Self::Search(engine) => engine.abandon(open),
            // The operation stays open.
            Self::Element(_) | Self::Permits(_) | Self::Saturate(_) => {}
        }
    }

    /// Whether silence is proof so far.
    pub(super) fn is_exact(&self) -> bool {
        match self {
            Self::Queue(_) | Self::Register(_) | Self::Element(_) | Self::Permits(_) => true,
            Self::Saturate(_) => false,
            Self::Search(engine) => engine.is_exact(),
        }
    }

    /// Whether the object is in its initial state, so that it can be forgotten.
    pub(super) fn is_fresh(&self) -> bool {
        match self {
            Self::Queue(queue) => queue.is_fresh(),
            Self::Register(_) | Self::Saturate(_) => false,
            Self::Search(engine) => engine.is_fresh(),
            Self::Element(element) => element.is_fresh(),
            Self::Permits(permits) => permits.is_fresh(),
        }
    }

    pub(super) fn size(&self) -> usize {
        match self {
            Self::Queue(queue) => queue.size(),
            Self::Register(register) => register.size(),
            Self::Element(element) => element.size(),
            Self::Permits(permits) => permits.size(),
            Self::Saturate(engine) => engine.size(),
            Self::Search(engine) => engine.size(),
        }
    }
}
