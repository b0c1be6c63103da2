//! `seriatim simulate --observe`: VC's observers ride on the messages of the simulated protocol. Beside them the
//! central monitor sees the same operations.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use machine::{ClientOperation, MachineSetup, Note, Seen};
use monitor::{Monitor, Observers, PerformedNow, ScObserved, Violation, WrongValue};
use serde_json::json;

use crate::output;
use crate::{json, simulate};

#[derive(Default)]
struct Totals {
    histories: u64,
    operations: u64,
    messages: u64,
    carriers: u64,
    carried: u64,
    late: u64,
    late_bytes: u64,
    block: u64,
    /// Histories with a violation, by the observers, and by the central monitor.
    observers: u64,
    central: u64,
    /// Operations of which observers and central monitor say different things.
    differences: u64,
    /// Reads that returned another value than was stored last.
    wrong_values: u64,
}

pub(crate) fn run(setups: impl Iterator<Item = MachineSetup>, is_json: bool) -> u8 {
    let mut totals = Totals::default();
    let mut text = String::new();
    for setup in setups {
        match setup.observe() {
            Ok(seen) => observe(&setup, seen, &mut totals, is_json, &mut text),
            Err(fault) => return simulate::refuse("simulate", &fault.to_string()),
        }
    }
    tell(&totals, is_json, &mut text);
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => u8::from(totals.observers > 0 || totals.central > 0),
        Err(error) => output::write_error(&error),
    }
}

fn observe(setup: &MachineSetup, seen: Vec<Seen>, totals: &mut Totals, is_json: bool, text: &mut String) {
    let threads = setup.client.threads as usize;
    let mut observers = Observers::new(threads, setup.caches.block);
    let mut central = ScObserved::new();
    let (mut local_found, mut central_found) = (false, false);
    totals.histories += 1;
    for it in seen {
        let operation = match it {
            Seen::Message(Note::Sent { message, kind, from, block, .. }) => {
                totals.messages += 1;
                if kind.carries() {
                    observers.sent(message, from, block * setup.caches.block);
                }
                continue;
            }
            Seen::Message(Note::Taken { message, to }) => {
                observers.taken(message, to);
                continue;
            }
            Seen::Message(Note::Performed { .. }) => continue,
            Seen::Performed(operation) => operation,
        };
        totals.operations += 1;
        let ClientOperation { thread, index, instruction, .. } = operation;
        let (kind, location, written) = (instruction.kind, instruction.location, instruction.value);
        let event = PerformedNow { thread, index: Some(index.into()), kind, location };
        let read = if kind.reads() { operation.read } else { written };
        let local = observers.performed_rmw(event, read.into(), written.into()).err();
        let global = central.push(event).err();
        totals.differences += u64::from(local.is_some() != global.is_some());
        if let (Some(violation), false) = (&local, local_found) {
            finding(setup, &operation, violation, is_json, text);
        }
        local_found |= local.is_some();
        central_found |= global.is_some();
    }
    let (count, first) = observers.wrong_values();
    totals.wrong_values += count;
    if let (Some(WrongValue { event, read, stored }), false) = (first, is_json) {
        let (seed, event) = (setup.client.seed, event + 1);
        let _ = writeln!(text, "seed {seed}: event {event} returns {read}, and {stored} was stored last");
    }
    totals.observers += u64::from(local_found);
    totals.central += u64::from(central_found);
    let traffic = observers.traffic();
    totals.carriers += traffic.carriers;
    totals.carried += traffic.carried;
    totals.late += traffic.late;
    totals.late_bytes += traffic.late_bytes;
    totals.block = traffic.block;
}

/// The first violation of a history.
fn finding(setup: &MachineSetup, operation: &ClientOperation, violation: &Violation, is_json: bool, text: &mut String) {
    let (seed, ClientOperation { thread, index, .. }) = (setup.client.seed, operation);
    let reason = &violation.reason;
    if is_json {
        text.push_str(&json::line(&json!({
            "kind": "finding", "seed": seed, "model": "sc-observed", "event": violation.event, "thread": thread,
            "index": index, "reason": reason,
        })));
    } else {
        let event = violation.event + 1;
        let _ = writeln!(text, "seed {seed}: violation at event {event}: [{thread}] po={index}: {reason}");
    }
}

fn tell(totals: &Totals, is_json: bool, text: &mut String) {
    let Totals { histories, operations, messages, carriers, carried, late, late_bytes, block, .. } = *totals;
    let Totals { observers, central, differences, wrong_values, .. } = *totals;
    if is_json {
        text.push_str(&json::line(&json!({
            "kind": "totals", "histories": histories, "operations": operations, "messages": messages,
            "carriers": carriers, "carried": carried, "late": late, "late_bytes": late_bytes, "block": block,
            "violations": observers, "central": central, "differences": differences, "wrong_values": wrong_values,
        })));
        return;
    }
    let per = |bytes: u64, count: u64| bytes as f64 / count.max(1) as f64;
    let _ = write!(
        text,
        "{histories} histories, {operations} operations, {messages} messages\n\
         histories in violation: {observers} by the observers, {central} by the central monitor\n\
         operations of which observers and central monitor say different things: {differences}\n\
         reads of another value than was stored last: {wrong_values} (`sc-observed` looks at the order alone)\n\
         vectors: {carriers} messages carry them, {:.0} bytes each, {:.1} bytes a message over all; {block} bytes a \
         block at a place\n\
         out of program order: {late} messages between observers, {:.0} bytes each\n",
        per(carried, carriers),
        per(carried, messages),
        per(late_bytes, late),
    );
}
