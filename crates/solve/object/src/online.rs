//! What an object holds, and what an operation does to it, for a monitor that does not know which values will come.
//!
//! Each object says it in its folder, by a function of the type [`TakeEffect`] that its row names. Invariant: equal
//! contents are equal lists. Those of an object whose values have no order are sorted.

use history::{Method, Object, Value};
use serde::{Deserialize, Serialize};

use crate::objects::{self, BuiltIn};

/// What an object holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Contents {
    /// The value of a register; the values in a container, the next one of a stack and the largest of a priority queue
    /// last; the elements of a multiset; the holders of a lock.
    pub(crate) items: Vec<Value>,
    /// The sum of a counter, or the largest number of a max-register.
    pub(crate) number: i128,
}

impl Contents {
    /// How many values it holds.
    pub fn size(&self) -> usize {
        self.items.len()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.number == 0
    }

    /// Where a value is in a sorted list, or where it would be.
    pub(crate) fn find(&self, value: Value) -> Result<usize, usize> {
        self.items.binary_search_by_key(&value.bits(), |item| item.bits())
    }
}

/// An operation that takes effect.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The method.
    pub method: Method,
    /// The argument; [`Value::NONE`] if there is none.
    pub argument: Value,
    /// What a compare-and-swap expects.
    pub expected: Value,
}

impl Effect {
    /// The argument as a number.
    pub(crate) fn amount(&self) -> i128 {
        i128::from(self.argument.as_integer().unwrap_or(0))
    }
}

/// Lets an operation take effect on an object of some capacity, and says what it returns: [`Value::NONE`] if it returns
/// nothing. None if it cannot take effect now.
pub(crate) type TakeEffect = fn(&mut Contents, &Effect, u64) -> Option<Value>;

/// An object for a monitor.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Online {
    object: Object,
    capacity: u64,
}

impl Online {
    /// The object. None if its results are texts, which values alone do not give, or if it is no sequential object.
    pub fn new(object: Object, capacity: u64) -> Option<Self> {
        let BuiltIn { has_capacity, online, .. } = *objects::of(object)?;
        online.map(|_| Self { object, capacity: if has_capacity { capacity } else { 1 } })
    }

    /// What the object holds in the beginning.
    pub fn begin(self, initial: Value) -> Contents {
        let has_initial = objects::of(self.object).is_some_and(|row| row.has_initial);
        Contents { items: if has_initial { vec![initial] } else { Vec::new() }, number: 0 }
    }

    /// Lets an operation take effect, and says what it returns: [`Value::NONE`] if it returns nothing. None if it
    /// cannot take effect now.
    pub fn take_effect(self, contents: &mut Contents, effect: &Effect) -> Option<Value> {
        objects::of(self.object)?.online?(contents, effect, self.capacity)
    }
}

/// Whether operations on different elements of an object are independent.
pub fn is_by_element(object: Object) -> bool {
    objects::of(object).is_some_and(|row| row.by_element)
}
