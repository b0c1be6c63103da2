//! Mutex and semaphore with tags (MR, Examples 5.2 and 5.3): `lock t` and `unlock t`, `acquire t` and `release t`.
//!
//! The object holds the tag of each holder, and only a tag that is held can be given back. In MR, an unlock returns the
//! tag that was held. Here the caller of an unlock says which tag it gives back, so that the tag is known even if the
//! call never returns.

use history::{Method, Object};

use super::{BuiltIn, Machine};
use crate::view::{Call, Part, ValueId};

pub(super) const MUTEX: BuiltIn = BuiltIn::new(Object::TaggedMutex);

pub(super) const SEMAPHORE: BuiltIn = BuiltIn { has_capacity: true, ..BuiltIn::new(Object::TaggedSemaphore) };

/// A semaphore, or a mutex, which is a semaphore of capacity 1. Its state is the tags that are held, sorted.
#[derive(Clone, Debug)]
pub struct Holders {
    capacity: u64,
}

impl Holders {
    /// The semaphore or mutex of a part.
    pub fn new(part: &Part) -> Self {
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
