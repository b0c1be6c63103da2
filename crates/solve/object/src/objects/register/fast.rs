//! Decides a register that is only read and written, and whose values are each written once. The operations on a value
//! stand together, its write first.
//!
//! For each value, `f` is the first return and `s` the last call among its write and its reads. If `f < s`, the value
//! is certainly current from `f` to `s`: its zone is forward. Otherwise all its operations overlap, and they can take
//! effect together at any instant from `s` to `f`: its zone is backward. The initial value was written before
//! everything. The register is linearizable exactly if no read returns before its write is called, no two forward zones
//! overlap, and no backward zone lies within a forward one.
//!
//! A register with operations that both read and write is decided by [`super::swaps`].
//!
//! Zones are visited in the order of their beginnings. A zone begins while its write is open, so few wait at a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use history::{Method, OperationId};
use model::object::{Core, Linearization, Zone};

use super::swaps;
use crate::answer::Answer;
use crate::view::{Call, Part, ValueId};

const NONE: u32 = u32::MAX;

/// The zone of a value. Moments are counted from 1: the initial value was written at 0.
#[derive(Copy, Clone)]
struct Bounds {
    /// The first return; [`NONE`] if no operation on the value returned. Then nobody read the value, and its write need
    /// not have happened.
    first_return: u32,
    /// The last call; 0 if there is no operation on the value.
    last_call: u32,
    write: u32,
}

impl Bounds {
    const ABSENT: Self = Self { first_return: NONE, last_call: 0, write: NONE };

    const fn is_present(&self) -> bool {
        self.last_call > 0 && self.first_return != NONE
    }

    const fn is_forward(&self) -> bool {
        self.first_return < self.last_call
    }

    fn low(&self) -> u32 {
        self.first_return.min(self.last_call)
    }

    fn high(&self) -> u32 {
        self.first_return.max(self.last_call)
    }
}

/// The value that a call writes or reads.
fn value_of(call: &Call) -> ValueId {
    if call.method == Method::Write { call.argument } else { call.result }
}

/// Decides a register.
pub fn check(part: &Part, witness: bool) -> Answer {
    let mut zones = vec![Bounds::ABSENT; part.values.len()];
    let mut duplicate = false;
    for (at, call) in (0..).zip(part.calls) {
        if !matches!(call.method, Method::Write | Method::Read) {
            return swaps::check(part, witness);
        }
        let value = value_of(call);
        let zone = &mut zones[value.index()];
        if call.method == Method::Write {
            duplicate |= zone.write != NONE || value == part.initial;
            zone.write = at;
        }
        if !call.is_pending() {
            zone.first_return = zone.first_return.min(call.ret + 1);
        }
        zone.last_call = zone.last_call.max(call.call + 1);
    }
    let initial = part.initial.index();
    for (value, zone) in zones.iter().enumerate() {
        if zone.is_present() && zone.write == NONE && value != initial {
            return Answer::Violation(Core::NeverInserted(first_returned(part, zone)));
        }
    }
    if duplicate {
        return Answer::Declined("a value is written more than once");
    }
    zones[initial].first_return = 0;
    match order(part, &zones, witness) {
        Ok(order) => Answer::Linearizable(witness.then(|| linearize(part, &zones, order))),
        Err(core) => Answer::Violation(core),
    }
}

/// Puts the zones in an order, each value with a moment; or finds two zones that have no order.
fn order(part: &Part, zones: &[Bounds], witness: bool) -> Result<Vec<(u32, u32)>, Core> {
    let mut order = Vec::new();
    // In the order of time. A backward zone that begins in a forward zone, and does not end in it, comes after it.
    let mut forward = (0, NONE);
    let mut visit = |value: u32| {
        let zone = &zones[value as usize];
        if zone.low() < forward.0 && (zone.is_forward() || zone.high() < forward.0) {
            let enclosing: &Bounds = &zones[forward.1 as usize];
            return Err(Core::Zones([enclosing, zone].map(|zone| evidence(part, zone))));
        }
        if witness {
            order.push((if zone.is_forward() { zone.low() } else { zone.low().max(forward.0) }, value));
        }
        if zone.is_forward() {
            forward = (zone.high(), value);
        }
        Ok(())
    };
    let mut waiting: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
    if zones[part.initial.index()].is_present() {
        waiting.push(Reverse((0, part.initial.0)));
    }
    for call in part.calls.iter().filter(|call| call.method == Method::Write) {
        let zone = &zones[call.argument.index()];
        if !zone.is_present() {
            continue;
        }
        let called = call.call + 1;
        if zone.first_return < called {
            return Err(Core::TooEarly { insert: call.operation, remove: first_returned(part, zone) });
        }
        while let Some(&Reverse((_, value))) = waiting.peek().filter(|Reverse((low, _))| *low < called) {
            waiting.pop();
            visit(value)?;
        }
        waiting.push(Reverse((zone.low(), call.argument.0)));
    }
    while let Some(Reverse((_, value))) = waiting.pop() {
        visit(value)?;
    }
    Ok(order)
}

/// The operation of a zone that returned first.
fn first_returned(part: &Part, zone: &Bounds) -> OperationId {
    let is_first = |call: &&Call| !call.is_pending() && call.ret + 1 == zone.first_return;
    part.calls.iter().find(is_first).map_or(OperationId(0), |call| call.operation)
}

fn evidence(part: &Part, zone: &Bounds) -> Zone {
    let last = part.calls.partition_point(|call| call.call + 1 < zone.last_call);
    Zone {
        write: (zone.write != NONE).then(|| part.calls[zone.write as usize].operation),
        returned: (zone.first_return > 0).then(|| first_returned(part, zone)),
        called: part.calls[last].operation,
    }
}

fn linearize(part: &Part, zones: &[Bounds], mut order: Vec<(u32, u32)>) -> Linearization {
    order.sort_by_key(|&(place, _)| place);
    let mut rank = vec![NONE; zones.len()];
    for (at, &(_, value)) in order.iter().enumerate() {
        rank[value as usize] = at as u32;
    }
    let key = |call: &Call| (rank[value_of(call).index()], call.method != Method::Write, call.call);
    let mut calls: Vec<&Call> = part.calls.iter().filter(|call| key(call).0 != NONE).collect();
    calls.sort_by_key(|call| key(call));
    Linearization { order: calls.iter().map(|call| call.operation).collect(), results: Vec::new() }
}
