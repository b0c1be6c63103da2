//! `seriatim simulate --observe`: VC's observers ride on the messages of the simulated protocol. Beside them the
//! central monitor sees the same operations.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use machine::{ClientOperation, MachineSetup, Note, Seen};
use monitor::{Monitor, Observers, PerformedNow, ScObserved, Violation, WrongValue};
use serde_json::json;

use crate::flags::Shown;
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
    /// What carriers have to carry if what nobody needs is left out, and what a core has to keep at most.
    needed: u64,
    most_kept: u64,
    most_notices: u64,
    most_unsettled: u64,
    dropped: u64,
    /// Histories with a violation, by the observers, and by the central monitor.
    observers: u64,
    central: u64,
    /// Operations of which observers and central monitor say different things.
    differences: u64,
    /// Reads that returned another value than was stored last.
    wrong_values: u64,
}

pub(crate) fn run(setups: impl Iterator<Item = MachineSetup>, shown: &Shown, is_json: bool) -> u8 {
    let mut totals = Totals::default();
    let mut text = String::new();
    for setup in setups {
        match setup.observe_timed() {
            Ok(seen) => observe(&setup, seen, shown, &mut totals, is_json, &mut text),
            Err(fault) => return simulate::refuse("simulate", &fault.to_string()),
        }
    }
    tell(&totals, is_json, &mut text);
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => u8::from(totals.observers > 0 || totals.central > 0),
        Err(error) => output::write_error(&error),
    }
}

fn observe(
    setup: &MachineSetup,
    seen: Vec<(u64, Seen)>,
    shown: &Shown,
    totals: &mut Totals,
    is_json: bool,
    text: &mut String,
) {
    let threads = setup.client.threads as usize;
    let room = shown.notices.unwrap_or(usize::MAX);
    let mut observers = Observers::new(threads, setup.caches.block).with_lag(shown.lag).with_room(room);
    let mut central = ScObserved::new();
    let (mut local_found, mut central_found) = (false, false);
    totals.histories += 1;
    let mut operations: Vec<ClientOperation> = Vec::new();
    for (now, it) in seen {
        if let Some(violation) = observers.tick(now).filter(|_| !local_found) {
            finding(setup, &operations[violation.event as usize], &violation, is_json, text);
            local_found = true;
        }
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
        operations.push(operation);
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
    if let Some(violation) = observers.tick(u64::MAX).filter(|_| !local_found) {
        finding(setup, &operations[violation.event as usize], &violation, is_json, text);
        local_found = true;
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
    totals.needed += traffic.needed;
    totals.most_kept = totals.most_kept.max(traffic.most_kept);
    totals.most_notices = totals.most_notices.max(traffic.most_notices);
    totals.most_unsettled = totals.most_unsettled.max(traffic.most_unsettled);
    totals.dropped += traffic.dropped;
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
    let Totals { needed, most_kept, most_notices, most_unsettled, dropped, .. } = *totals;
    if is_json {
        text.push_str(&json::line(&json!({
            "kind": "totals", "histories": histories, "operations": operations, "messages": messages,
            "carriers": carriers, "carried": carried, "late": late, "late_bytes": late_bytes, "block": block,
            "violations": observers, "central": central, "differences": differences,
            "wrong_values": wrong_values, "needed": needed, "most_kept": most_kept, "most_notices": most_notices,
            "most_unsettled": most_unsettled, "dropped": dropped,
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
         without what nobody needs: {:.1} bytes a message that carries them; a core keeps {most_kept} bytes of vectors \
         and {most_notices} notices at most; {most_unsettled} operations of all cores wait for a second check at most\n\
         out of program order: {late} messages between observers, {:.0} bytes each; {dropped} dropped for want of \
         room\n",
        per(carried, carriers),
        per(carried, messages),
        per(needed, carriers),
        per(late_bytes, late),
    );
}
