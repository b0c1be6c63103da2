//! The built-in objects. Each has a module, with its sequential specification and its row.
//!
//! A [`BuiltIn`] row says all that the checkers need to know of an object: how its histories are split and numbered,
//! its fast algorithm, and its search. [`run`] hands the specification to a [`Runner`]. Besides this module, only the
//! theories of MR ([`crate::mr`]) list the objects that they are about. The verifier has definitions of its own, on
//! purpose.
//!
//! A specification is a [`Machine`]: a set of states, one of them initial, and the steps that a call can make from each
//! state. There may be no step (the call cannot happen in this state), one (a deterministic object), or several. If a
//! call has returned, only steps with its result count. A pending call may return anything.
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
//! | counter | the sum | [`counter`] |
//! | max-register | the largest number | [`max_register`] |
//! | exchanger | not sequential | [`exchanger`] |

pub mod counter;
pub mod exchanger;
pub mod key_value;
pub mod max_register;
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
use crate::search::{self, GaveUp, Limits};
use crate::view::{Call, Part, ValueId};

/// The specification of a built-in object, as the search runs it. `&mut self` is for tables in which states are shared;
/// it must not change the steps. For an object of your own, there is [`Sequential`](crate::Sequential).
pub trait Machine {
    /// A state. It must be cheap to clone and to hash. A large state is best an index into a table of the
    /// specification.
    type State: Clone + Eq + Hash;

    /// The state before any call.
    fn initial(&mut self) -> Self::State;

    /// Appends every state that `call` may lead to from `state`, each with the result that it then returns. If the call
    /// has returned ([`Call::is_pending`] is false and its result is not [`ValueId::NONE`]), only steps with its result
    /// are appended.
    fn steps(&mut self, state: &Self::State, call: &Call, next: &mut Vec<(Self::State, ValueId)>);

    /// Whether no step of the call changes the state, so that other calls can do as much after it as before it. The
    /// search lets such a call take effect as soon as it can.
    fn observes(&self, call: &Call) -> bool {
        let _ = call;
        false
    }

    /// Whether `goal`, a call that has returned, may take effect in this state, or in one that is reached from it by
    /// calls that do not [prepare](Self::prepares) it. The search leaves out steps after which this is impossible.
    fn is_on_the_way(&mut self, state: &Self::State, goal: &Call) -> bool {
        let _ = (state, goal);
        true
    }

    /// Whether `call` may lead to a state that is [on the way](Self::is_on_the_way) to `goal` from one that is not.
    fn prepares(&self, call: &Call, goal: &Call) -> bool {
        let _ = (call, goal);
        true
    }
}

/// Whether `call` may return `result`.
fn agrees(call: &Call, result: ValueId) -> bool {
    call.result == ValueId::NONE || call.result == result
}

/// Whether a call is a removal that found nothing, or a peek.
fn sees_only(call: &Call) -> bool {
    call.method == Method::Peek || call.result == ValueId::EMPTY
}

/// Why the fast algorithm declines if the row of the object names none.
pub const NO_FAST: &str = "this object has no fast algorithm";

/// The row of a built-in object: all that the checkers know of it.
#[derive(Copy, Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // the columns of a table, which do not depend on each other
pub struct BuiltIn {
    /// The object.
    pub object: Object,
    /// Whether operations on different elements are independent. Then a history is split by element, too.
    pub by_element: bool,
    /// Whether a history can state its initial value.
    pub has_initial: bool,
    /// Whether a history can state its capacity. The capacity of other objects is 1.
    pub has_capacity: bool,
    /// Whether its values are integers, and are numbered in the order of priority.
    pub has_priorities: bool,
    /// Whether its values are integers, with which it counts or which it compares.
    pub has_numbers: bool,
    /// Whether its operations form pairs. The operations of other objects have an order.
    pub pairs: bool,
    /// The fast algorithm. Its second argument says whether a witness is wanted. It may decline.
    pub fast: fn(&Part, bool) -> Answer,
    /// The search.
    pub search: fn(&Part, Limits) -> Result<Answer, GaveUp>,
    /// The name of the search.
    pub search_name: &'static str,
    /// The name of the strategy if the fast algorithm decided some parts, and the search others.
    pub both_name: &'static str,
}

impl BuiltIn {
    /// The row of an object without a fast algorithm, which is decided by the general search.
    const fn new(object: Object) -> Self {
        Self {
            object,
            by_element: false,
            has_initial: false,
            has_capacity: false,
            has_priorities: false,
            has_numbers: false,
            pairs: false,
            fast: |_, _| Answer::Declined(NO_FAST),
            search: search_by_specification,
            search_name: "search",
            both_name: "fast+search",
        }
    }
}

/// The row of an object of the user's own. The search is given its specification.
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
        Object::Counter => &counter::BUILT_IN,
        Object::MaxRegister => &max_register::BUILT_IN,
        Object::Open | Object::Transactions => return None,
    })
}

/// Something that runs any specification.
pub trait Runner {
    /// The result of a run.
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
        Object::Counter => runner.run(counter::Sum::new(part)),
        Object::MaxRegister => runner.run(max_register::Largest::new(part)),
        Object::Exchanger | Object::Open | Object::Transactions => return None,
    })
}

/// The search with the specification of a part.
struct Search<'a> {
    part: &'a Part<'a>,
    limits: Limits,
}

impl Runner for Search<'_> {
    type Output = Result<Answer, GaveUp>;

    fn run<M: Machine + 'static>(self, mut machine: M) -> Self::Output {
        search::check(self.part, &mut machine, self.limits)
    }
}

fn search_by_specification(part: &Part, limits: Limits) -> Result<Answer, GaveUp> {
    run(part, Search { part, limits }).unwrap_or(Ok(Answer::Declined("this object is not sequential")))
}
