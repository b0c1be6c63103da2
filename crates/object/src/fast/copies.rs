//! Guesses which removal of a priority queue takes which copy of its value, where values are inserted more than once.
//! If there is a right guess, this one usually is.
//!
//! The values are visited from the largest to the smallest. An instant is *free* for a value if no larger value is
//! certainly inside there, given the choices for the larger values. A removal takes effect at a free instant. For one
//! value, time is followed from the first moment to the last:
//! - A copy whose insert has returned is inside. As soon as there is a free instant at which a removal is open, the
//!   removal that returns first takes the copy that entered first.
//! - At the last free instant of a removal that has taken no copy, nothing is inside. Then the removal takes the copy of
//!   the open insert that returns first.
//!
//! Each copy is then certainly inside from the return of its insert to the call of its removal. These times are not
//! free for smaller values.
//!
//! The guess is not exact, since another choice may leave more free instants to a smaller value. So the history is
//! decided with this choice, as if all values were different ([`containers`](super::containers)). If that fails, the
//! search decides.

use std::collections::{BTreeSet, VecDeque};

use history::Method;

use super::containers::NONE;
use crate::view::{Call, Part, ValueId};

/// The instants, each right after a moment, that are still free. Instants can be covered, never freed.
pub struct FreeInstants {
    /// For each instant a later one; the instant itself if it is free. One instant after the last is always free.
    next: Vec<u32>,
    /// The same backwards. The numbers are one more than the instants, and 0 is always free.
    previous: Vec<u32>,
}

impl FreeInstants {
    /// All instants are free.
    pub fn new(moments: u32) -> Self {
        Self { next: (0..=moments).collect(), previous: (0..=moments).collect() }
    }

    fn find(parents: &mut [u32], mut at: u32) -> u32 {
        while parents[at as usize] != at {
            let parent = parents[parents[at as usize] as usize];
            parents[at as usize] = parent;
            at = parent;
        }
        at
    }

    /// The first free instant from a moment on; the number of moments if there is none.
    pub fn from(&mut self, moment: u32) -> u32 {
        Self::find(&mut self.next, moment)
    }

    /// The last free instant before a moment, if there is any.
    fn before(&mut self, moment: u32) -> Option<u32> {
        Self::find(&mut self.previous, moment).checked_sub(1)
    }

    /// Covers the instants from the first up to, but without, the second.
    pub fn cover(&mut self, from: u32, to: u32) {
        let mut at = self.from(from);
        while at < to {
            self.next[at as usize] = at + 1;
            self.previous[at as usize + 1] = at;
            at = self.from(at);
        }
    }
}

/// The places of the operations of each value, in the order of their calls.
pub fn by_value(part: &Part, value: impl Fn(&Call) -> Option<ValueId>) -> (Vec<u32>, Vec<u32>) {
    let of = || (0..).zip(part.calls).filter_map(|(at, call)| value(call).map(|value| (at, value.index())));
    let mut starts = vec![0_u32; part.values.len() + 2];
    for (_, value) in of() {
        starts[value + 2] += 1;
    }
    for at in 2..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut places = vec![0; starts.last().map_or(0, |&count| count as usize)];
    for (at, value) in of() {
        let next = &mut starts[value + 1];
        places[*next as usize] = at;
        *next += 1;
    }
    starts.pop();
    (places, starts)
}

/// What happens to one value at a moment, or right after it. At the same moment, this is the order.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Called,
    Returned,
    /// The last free instant of a removal.
    Last,
}

/// For each removal, the place of the insert whose copy it takes; [`NONE`] for all other operations. None if there is
/// no guess.
pub fn guess(part: &Part) -> Option<Vec<u32>> {
    let value = |call: &Call| match call.method {
        Method::Insert => Some(call.argument),
        _ if call.is_pending() || !call.result.is_index() => None,
        _ => Some(call.result),
    };
    if part.calls.iter().any(|call| call.method == Method::Peek && call.result.is_index()) {
        return None;
    }
    let (places, starts) = by_value(part, value);
    let mut free = FreeInstants::new(part.moments);
    let mut taken = vec![NONE; part.calls.len()];
    let mut times = Vec::new();
    for value in (0..part.values.len()).rev() {
        let places = &places[starts[value] as usize..starts[value + 1] as usize];
        follow(part, places, &mut free, &mut taken, &mut times)?;
        for (from, to) in times.drain(..) {
            free.cover(from, to);
        }
    }
    Some(taken)
}

/// Follows the operations of one value. Appends the times at which a copy is certainly inside.
fn follow(
    part: &Part,
    places: &[u32],
    free: &mut FreeInstants,
    taken: &mut [u32],
    times: &mut Vec<(u32, u32)>,
) -> Option<()> {
    let call = |at: u32| &part.calls[at as usize];
    let is_insert = |at: u32| call(at).method == Method::Insert;
    let mut events: Vec<(u32, Event, u32)> = Vec::with_capacity(2 * places.len());
    for &at in places {
        events.push((call(at).call, Event::Called, at));
        if !is_insert(at) {
            let last = free.before(call(at).ret).filter(|&last| last >= call(at).call)?;
            events.push((last, Event::Last, at));
        } else if !call(at).is_pending() {
            events.push((call(at).ret, Event::Returned, at));
        }
    }
    events.sort_unstable();
    // The inserts and the removals that are open, sorted by their returns; and the copies inside.
    let (mut inserts, mut removals) = (BTreeSet::new(), BTreeSet::new());
    let mut inside: VecDeque<u32> = VecDeque::new();
    let mut now = 0;
    let mut take = |insert: u32, removal: u32| {
        taken[removal as usize] = insert;
        times.push((call(insert).ret, call(removal).call));
    };
    for (moment, event, at) in events {
        let end = if event == Event::Last { moment + 1 } else { moment };
        while !inside.is_empty() && !removals.is_empty() {
            now = free.from(now);
            if now >= end {
                break;
            }
            if let (Some(copy), Some((_, removal))) = (inside.pop_front(), removals.pop_first()) {
                take(copy, removal);
            }
        }
        now = now.max(moment);
        let ret = call(at).ret;
        match event {
            Event::Called if is_insert(at) => _ = inserts.insert((ret, at)),
            Event::Called => _ = removals.insert((ret, at)),
            Event::Returned => {
                if inserts.remove(&(ret, at)) {
                    inside.push_back(at);
                }
            }
            Event::Last => {
                if removals.remove(&(ret, at)) {
                    let (_, insert) = inserts.pop_first()?;
                    take(insert, at);
                }
            }
        }
    }
    times.extend(inside.into_iter().map(|at| (call(at).ret, part.moments)));
    Some(())
}
