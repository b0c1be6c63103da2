//! Mutex and semaphore with tags (MR, Examples 5.2 and 5.3): `lock t` and `unlock t`, `acquire t` and `release t`.
//!
//! The object holds the tag of each holder, and only a tag that is held can be given back. In MR, an unlock returns the
//! tag that was held. Here the caller of an unlock says which tag it gives back, so that the tag is known even if the
//! call never returns.

use history::{Method, Object, Value};

use super::{BuiltIn, Machine, Specification};
use crate::online::{Contents, Effect};
use crate::view::{Call, Part, ValueId};

pub(super) const MUTEX: BuiltIn = BuiltIn { online: Some(take_effect), ..BuiltIn::new::<Holders>(Object::TaggedMutex) };

pub(super) const SEMAPHORE: BuiltIn =
    BuiltIn { has_capacity: true, online: Some(take_effect), ..BuiltIn::new::<Holders>(Object::TaggedSemaphore) };

/// A semaphore, or a mutex, which is a semaphore of capacity 1. Its state is the tags that are held, sorted.
#[derive(Clone, Debug)]
pub(super) struct Holders {
    capacity: u64,
}

impl Specification for Holders {
    fn new(part: &Part) -> Self {
        Self { capacity: part.capacity }
    }
}

impl Machine for Holders {
    type State = Vec<ValueId>;

    fn initial(&mut self) -> Vec<ValueId> {
        Vec::new()
    }

    fn steps(&mut self, held: &Vec<ValueId>, call: &Call, next: &mut Vec<(Vec<ValueId>, ValueId)>) {
        let mut after = held.clone();
        let place = held.partition_point(|&tag| tag < call.argument);
        if call.method == Method::AcquireAs {
            after.insert(place, call.argument);
        } else if held.get(place) == Some(&call.argument) {
            after.remove(place);
        } else {
            return;
        }
        if after.len() as u64 <= self.capacity {
            next.push((after, ValueId::NONE));
        }
    }
}

/// What an operation does, for a monitor. The tag of each holder is an item.
fn take_effect(contents: &mut Contents, effect: &Effect, capacity: u64) -> Option<Value> {
    let found = contents.find(effect.argument);
    if effect.method == Method::ReleaseAs {
        contents.items.remove(found.ok()?);
    } else if contents.items.len() as u64 >= capacity {
        return None;
    } else {
        contents.items.insert(found.unwrap_or_else(|at| at), effect.argument);
    }
    Some(Value::NONE)
}
