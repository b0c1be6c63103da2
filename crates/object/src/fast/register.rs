//! Register, read and written only, each value written once: the operations on a value stand together, its write first.
//!
//! For each value, `f` is the first return and `s` the last call among its write and its reads. If `f < s`, the value
//! is certainly current from `f` to `s`: its zone is forward. Else all its operations overlap, and they can be together
//! at any instant from `s` to `f`: its zone is backward. The initial value was written before all. Linearizable exactly
//! if no read returns before its write is called, no two forward zones overlap, and no backward zone lies within a
//! forward one.

use certificate::object::{Core, Linearization, Zone};
use history::Method;

use super::Answer;
use crate::view::{Call, Part};

const NONE: u32 = u32::MAX;

/// The zone of a value: the calls that returned first and were called last. Moments are counted from 1: the initial
/// value was written at 0.
#[derive(Copy, Clone)]
struct Bounds {
    first_return: u32,
    last_call: u32,
    write: u32,
    returned: u32,
    called: u32,
    is_read: bool,
}

/// Decides a register.
pub fn check(part: &Part, witness: bool) -> Answer {
    let absent = Bounds { first_return: NONE, last_call: 0, write: NONE, returned: NONE, called: NONE, is_read: false };
    let mut zones = vec![absent; part.values.len()];
    let mut duplicate = false;
    for (at, call) in part.calls.iter().enumerate() {
        let at = at as u32;
        let value = match call.method {
            Method::Write => call.argument,
            Method::Read => call.result,
            _ => return Answer::Declined("there are operations that read and write"),
        };
        let zone = &mut zones[value.index()];
        if call.method == Method::Write {
            duplicate |= zone.write != NONE || value == part.initial;
            zone.write = at;
        } else {
            zone.is_read = true;
        }
        // A write that is pending and that nobody read is left out below.
        let ret = if call.is_pending() { NONE } else { call.ret + 1 };
        if ret < zone.first_return {
            zone.first_return = ret;
            zone.returned = at;
        }
        if call.call + 1 > zone.last_call {
            zone.last_call = call.call + 1;
            zone.called = at;
        }
    }
    let initial = &mut zones[part.initial.index()];
    if !duplicate {
        initial.first_return = 0;
    }
    let operation = |at: u32| part.calls[at as usize].operation;
    for (value, zone) in zones.iter().enumerate() {
        if zone.is_read && zone.write == NONE && value != part.initial.index() {
            return Answer::Violation(Core::NeverInserted(operation(zone.returned)));
        }
    }
    if duplicate {
        return Answer::Declined("a value is written more than once");
    }
    let is_present = |zone: &Bounds| zone.called != NONE && (zone.is_read || zone.first_return != NONE);
    let low_high = |zone: &Bounds| {
        let (f, s) = (zone.first_return, zone.last_call);
        if f < s { (f, s) } else { (s, f) }
    };
    let mut begins = vec![NONE; part.moments as usize + 2];
    for (value, zone) in zones.iter().enumerate().filter(|(_, zone)| is_present(zone)) {
        if zone.write != NONE && zone.first_return < part.calls[zone.write as usize].call + 1 {
            let (insert, remove) = (operation(zone.write), operation(zone.returned));
            return Answer::Violation(Core::TooEarly { insert, remove });
        }
        begins[low_high(zone).0 as usize] = value as u32;
    }

    // In the order of time; what is inside a forward zone and still placed comes after it.
    let mut forward = (0, NONE);
    let mut order: Vec<(u32, u32)> = Vec::new();
    for value in begins.into_iter().filter(|&value| value != NONE) {
        let zone = &zones[value as usize];
        let (low, high) = low_high(zone);
        let is_forward = zone.first_return < zone.last_call;
        if low < forward.0 && (is_forward || high < forward.0) {
            let evidence = |zone: &Bounds| Zone {
                write: (zone.write != NONE).then(|| operation(zone.write)),
                returned: (zone.first_return > 0).then(|| operation(zone.returned)),
                called: operation(zone.called),
            };
            let enclosing: &Bounds = &zones[forward.1 as usize];
            return Answer::Violation(Core::Zones([evidence(enclosing), evidence(zone)]));
        }
        if witness {
            order.push((if is_forward { low } else { low.max(forward.0) }, value));
        }
        if is_forward {
            forward = (high, value);
        }
    }
    Answer::Linearizable(witness.then(|| linearize(part, &zones, order)))
}

fn linearize(part: &Part, zones: &[Bounds], mut order: Vec<(u32, u32)>) -> Linearization {
    order.sort_by_key(|&(place, _)| place);
    let mut rank = vec![NONE; zones.len()];
    for (at, &(_, value)) in order.iter().enumerate() {
        rank[value as usize] = at as u32;
    }
    let key = |call: &Call| match call.method {
        Method::Write => (rank[call.argument.index()], 0, call.call),
        _ => (rank[call.result.index()], 1, call.call),
    };
    let mut calls: Vec<&Call> = part.calls.iter().filter(|call| key(call).0 != NONE).collect();
    calls.sort_by_key(|call| key(call));
    Linearization { order: calls.iter().map(|call| call.operation).collect(), results: Vec::new() }
}
