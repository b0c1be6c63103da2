//! The built-in objects. All that concerns one object stands in one folder: its specification and its row, its fast
//! algorithm, and a search of its own if it has one. What several of them share stands beside this folder.
//!
//! A [`BuiltIn`] row says all that the checkers need to know of an object: how its histories are split and numbered,
//! its specification, its fast algorithm, and its search. No other module of this crate names the objects one by one.
//! The verifier has definitions of its own, on purpose.
//!
//! A specification is a [`Machine`]: a set of states, one of them initial, and the steps that a call can make from each
//! state. There may be no step (the call cannot happen in this state), one (a deterministic object), or several. If a
//! call has returned, only steps with its result count. A pending call may return anything.
//!
//! A fast algorithm is exact and near-linear. It has preconditions: each value is inserted or written only once (except
//! for set, mutex, semaphore, exchanger, counter and max-register), and the operations of a set say what they returned.
//! If a precondition does not hold, it declines, and the search decides.
//!
//! Pending operations: a pending insertion or write whose value nobody saw can be ignored. One whose value was returned
//! did happen, and is taken to return after all others. A pending removal may have taken any value that no other
//! operation removed; [`containers`](crate::containers) says how this is decided.
//!
//! | object | state | folder |
//! | --- | --- | --- |
//! | register (write, read, cas, rmw) | the value | [`register`] |
//! | set: one element, or a whole that is read at once | in or out; its elements | [`set`] |
//! | mutex, semaphore | how many are held | [`permits`] |
//! | queue, stack, priority queue | the contents | [`queue`], [`stack`], [`priority_queue`] |
//! | string (get, put, append) | the text | [`key_value`] |
//! | one element of a multiset | how many are in | [`multiset`] |
//! | tagged mutex, tagged semaphore | the tags that are held | [`tagged`] |
//! | counter | the sum | [`counter`] |
//! | max-register | the largest number | [`max_register`] |
//! | exchanger | not sequential | [`exchanger`] |

mod counter;
mod exchanger;
mod key_value;
mod max_register;
mod multiset;
mod permits;
mod priority_queue;
mod queue;
mod register;
mod set;
mod stack;
mod tagged;
#[cfg(test)]
mod tests;

use std::hash::Hash;

use history::{Method, Object};
use rustc_hash::FxHashMap;

use crate::answer::Answer;
use crate::online::TakeEffect;
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

/// The specification of a built-in object, which is made for a part.
trait Specification: Machine<State: 'static> + 'static {
    fn new(part: &Part) -> Self;
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
const NO_FAST: &str = "this object has no fast algorithm";

/// A specification whose states are numbers.
pub type Numbered = Box<dyn Machine<State = u32>>;

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
    /// The specification for a part; none if the object is not sequential.
    pub specification: fn(&Part) -> Option<Numbered>,
    /// What its operations do, for a monitor; none if the object has no such definition.
    pub online: Option<TakeEffect>,
    /// The name of the search.
    pub search_name: &'static str,
    /// The name of the strategy if the fast algorithm decided some parts, and the search others.
    pub both_name: &'static str,
}

impl BuiltIn {
    /// The row of an object without a fast algorithm, which is decided by the general search.
    const fn new<S: Specification>(object: Object) -> Self {
        Self {
            search: search_by::<S>,
            specification: |part| Some(specified_by::<S>(part)),
            ..Self::without_order(object)
        }
    }

    /// The row of an object that is not sequential.
    const fn without_order(object: Object) -> Self {
        Self {
            object,
            by_element: false,
            has_initial: false,
            has_capacity: false,
            has_priorities: false,
            has_numbers: false,
            pairs: false,
            fast: |_, _| Answer::Declined(NO_FAST),
            search: |_, _| Ok(Answer::Declined("this object is not sequential")),
            specification: |_| None,
            online: None,
            search_name: "search",
            both_name: "fast+search",
        }
    }
}

/// The general search with a specification.
fn search_by<S: Specification>(part: &Part, limits: Limits) -> Result<Answer, GaveUp> {
    search::check(part, &mut S::new(part), limits)
}

fn specified_by<S: Specification>(part: &Part) -> Numbered {
    Box::new(ByNumber { machine: S::new(part), states: Vec::new(), numbers: FxHashMap::default() })
}

/// The row of an object of the user's own. The search is given its specification.
pub(crate) const OPEN: BuiltIn = BuiltIn::without_order(Object::Open);

/// The row of an object; none if it is not built in.
pub const fn of(object: Object) -> Option<&'static BuiltIn> {
    Some(match object {
        Object::Memory | Object::Register => &register::BUILT_IN,
        Object::Queue => &queue::BUILT_IN,
        Object::Stack => &stack::BUILT_IN,
        Object::PriorityQueue => &priority_queue::BUILT_IN,
        Object::Set => &set::BUILT_IN,
        Object::Mutex => &permits::MUTEX,
        Object::Semaphore => &permits::SEMAPHORE,
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

/// The specification of the object of a part; none if it is not sequential.
pub fn specification(part: &Part) -> Option<Numbered> {
    (part.built_in.specification)(part)
}

/// A specification whose states are numbered in the order in which they are reached.
struct ByNumber<M: Machine> {
    machine: M,
    states: Vec<M::State>,
    numbers: FxHashMap<M::State, u32>,
}

impl<M: Machine> ByNumber<M> {
    fn number(&mut self, state: M::State) -> u32 {
        let next = self.states.len() as u32;
        let number = *self.numbers.entry(state.clone()).or_insert(next);
        if number == next {
            self.states.push(state);
        }
        number
    }
}

impl<M: Machine> Machine for ByNumber<M> {
    type State = u32;

    fn initial(&mut self) -> u32 {
        let state = self.machine.initial();
        self.number(state)
    }

    fn steps(&mut self, &state: &u32, call: &Call, next: &mut Vec<(u32, ValueId)>) {
        let mut steps = Vec::new();
        self.machine.steps(&self.states[state as usize], call, &mut steps);
        next.extend(steps.into_iter().map(|(state, result)| (self.number(state), result)));
    }

    fn observes(&self, call: &Call) -> bool {
        self.machine.observes(call)
    }
}
