//! The objects that are built in, one module each: its sequential specification, and its row.
//!
//! A [`BuiltIn`] row says all that the checkers need to know of an object: how its histories are split and numbered, its fast
//! algorithm, its search. [`run`] hands the specification to whoever runs it. Nothing else in the crate lists the objects, but
//! the theories of MR that some of them have ([`crate::mr`]). The verifier has rows of its own, on purpose.
//!
//! A specification is a [`Machine`]: a set of states, one of them initial, and the steps that a call can make from each: none
//! (the call cannot happen now), one (a deterministic object), or several. The result of a call that has returned is known,
//! and a step that would return something else is none; that of a pending call is free.
//!
//! | object | state | module |
//! | --- | --- | --- |
//! | register (write, read, cas, rmw) | the value | [`register`] |
//! | one element of a set | in or out | [`set`] |
//! | a set that is read as a whole | its elements | [`whole`] |
//! | mutex, semaphore | how many are held | [`semaphore`] |
//! | queue, stack, priority queue | the contents | [`queue`], [`stack`], [`priority_queue`] |
//! | string (get, put, append) | the text | [`key_value`] |
//! | one element of a multiset | how many are in | [`multiset`] |
//! | tagged mutex, tagged semaphore | the tags that are held | [`tagged`] |
//! | exchanger | not sequential | [`exchanger`] |

pub mod exchanger;
pub mod key_value;
pub mod multiset;
pub mod priority_queue;
pub mod queue;
pub mod register;
pub mod semaphore;
mod sequences;
pub mod set;
pub mod stack;
pub mod tagged;
pub mod whole;

use std::hash::Hash;

use history::{Method, Object};

use crate::fast::Answer;
use crate::search::{self, GaveUp, Interrupt};
use crate::view::{Call, Part, ValueId};

/// The specification of an object that is built in, as the search runs it. `&mut self` is for tables in which states can be
/// shared; it must not change what a step is. For an object of one's own there is [`Sequential`](crate::Sequential).
pub trait Machine {
    /// A state. Cheap to clone and to hash: one that is not small is best an index into a table of the specification.
    type State: Clone + Eq + Hash;

    /// The state before any call.
    fn initial(&mut self) -> Self::State;

    /// Appends every state that `call` may lead to from `state`, with what it returns then. If the call has returned
    /// ([`Call::is_pending`] is false and its result is not [`ValueId::NONE`]), only steps with its result.
    fn steps(&mut self, state: &Self::State, call: &Call, next: &mut Vec<(Self::State, ValueId)>);

    /// Whether no step of the call, from no state, leads to one from which other calls could do less: it changes nothing.
    /// Such a call can be taken as soon as it is possible, and the search does so.
    fn observes(&self, call: &Call) -> bool {
        let _ = call;
        false
    }
}

/// Whether `call` may return `result`.
fn agrees(call: &Call, result: ValueId) -> bool {
    call.result == ValueId::NONE || call.result == result
}

/// A removal that found nothing, or a peek.
fn sees_only(call: &Call) -> bool {
    call.method == Method::Peek || call.result == ValueId::EMPTY
}

/// What the checkers know of an object.
#[derive(Copy, Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // the columns of a table, which do not depend on each other
pub struct BuiltIn {
    /// The object.
    pub object: Object,
    /// Whether operations on different elements do not know of each other: then a history is split by argument, too.
    pub by_element: bool,
    /// Whether its first value can be given.
    pub has_initial: bool,
    /// Whether it has a capacity that can be given; that of others is 1.
    pub has_capacity: bool,
    /// Whether its values are integers, and numbered in their order.
    pub has_priorities: bool,
    /// Whether its operations pair; else they have an order.
    pub pairs: bool,
    /// The fast algorithm, told whether a witness is wanted; it may decline.
    pub fast: fn(&Part, bool) -> Answer,
    /// The search.
    pub search: fn(&Part, Interrupt) -> Result<Answer, GaveUp>,
    /// What the search is called.
    pub search_name: &'static str,
    /// What the fast algorithm and the search are called where each decided some parts.
    pub both_name: &'static str,
}

impl BuiltIn {
    /// An object of which nothing is special: no fast algorithm, and the search of its specification.
    const fn new(object: Object) -> Self {
        Self {
            object,
            by_element: false,
            has_initial: false,
            has_capacity: false,
            has_priorities: false,
            pairs: false,
            fast: |_, _| Answer::Declined("this object has no fast algorithm"),
            search: search_by_specification,
            search_name: "search",
            both_name: "fast+search",
        }
    }
}

/// The row of the calls on an object of one's own: the search is given its specification.
pub(crate) const OPEN: BuiltIn = BuiltIn::new(Object::Open);

/// The row of an object; none if it is not built in.
pub const fn of(object: Object) -> Option<&'static BuiltIn> {
    Some(match object {
        Object::Memory | Object::Register => &register::BUILT_IN,
        Object::Queue => &queue::BUILT_IN,
        Object::Stack => &stack::BUILT_IN,
        Object::PriorityQueue => &priority_queue::BUILT_IN,
        Object::Set => &set::BUILT_IN,
        Object::Mutex => &semaphore::MUTEX,
        Object::Semaphore => &semaphore::SEMAPHORE,
        Object::Exchanger => &exchanger::BUILT_IN,
        Object::KeyValue => &key_value::BUILT_IN,
        Object::Multiset => &multiset::BUILT_IN,
        Object::TaggedMutex => &tagged::MUTEX,
        Object::TaggedSemaphore => &tagged::SEMAPHORE,
        Object::Open => return None,
    })
}

/// Something that runs any specification.
pub trait Runner {
    /// What comes of it.
    type Output;
    /// Runs a specification.
    fn run<M: Machine + 'static>(self, machine: M) -> Self::Output;
}

/// Runs the specification of the object of a part; none if it is not sequential.
pub fn run<R: Runner>(part: &Part, runner: R) -> Option<R::Output> {
    Some(match part.object {
        Object::Memory | Object::Register => runner.run(register::Register::new(part)),
        Object::Queue => runner.run(queue::Queue::default()),
        Object::Stack => runner.run(stack::Stack::default()),
        Object::PriorityQueue => runner.run(priority_queue::PriorityQueue::new(part)),
        Object::Set if part.is_whole => runner.run(whole::WholeSet::new(part)),
        Object::Set => runner.run(set::Element),
        Object::Mutex | Object::Semaphore => runner.run(semaphore::Counter::new(part)),
        Object::KeyValue => runner.run(key_value::Text::new(part)),
        Object::Multiset => runner.run(multiset::Copies::new(part)),
        Object::TaggedMutex | Object::TaggedSemaphore => runner.run(tagged::Holders::new(part)),
        Object::Exchanger | Object::Open => return None,
    })
}

/// Wing and Gong's search by the specification of a part.
struct Search<'a> {
    part: &'a Part<'a>,
    interrupt: Interrupt,
}

impl Runner for Search<'_> {
    type Output = Result<Answer, GaveUp>;

    fn run<M: Machine + 'static>(self, mut machine: M) -> Self::Output {
        search::check(self.part, &mut machine, self.interrupt)
    }
}

fn search_by_specification(part: &Part, interrupt: Interrupt) -> Result<Answer, GaveUp> {
    run(part, Search { part, interrupt }).unwrap_or(Ok(Answer::Declined("this object is not sequential")))
}
