//! Small runs of objects, for comparison with the oracle.

use history::{History, HistoryBuilder, HistoryEvent, Object, OperationId, Outcome, Replay};

use super::{Fault, ObjectConfig, history};
use crate::random::SplitMix64;

/// A small run near the boundary of linearizability. Mostly it is a run with faults. Then the results of some
/// operations are swapped or replaced, or neighbouring events of different processes are exchanged.
pub fn small(object: Object, seed: u64) -> History {
    perturbed(object, seed, &[0], &[0, 0, 0, 2, 3])
}

/// As [`small`], with peeks if the object has them, and with attempts to lock a mutex.
pub fn small_with_peeks(object: Object, seed: u64) -> History {
    perturbed(object, seed, &[0, 15, 40], &[0, 0, 0, 2, 3])
}

/// As [`small_with_peeks`], with values that are inserted more than once.
pub fn small_with_duplicates(object: Object, seed: u64) -> History {
    perturbed(object, seed, &[0, 0, 15, 40], &[1, 2, 2, 3])
}

fn perturbed(object: Object, seed: u64, peeks: &[u32], values: &[u32]) -> History {
    let mut random = SplitMix64::new(seed);
    let faults = [None, Some(Fault::OutOfOrder(3)), Some(Fault::Lost), Some(Fault::Duplicated), Some(Fault::LateEmpty)];
    let config = ObjectConfig {
        threads: random.between(1, 4),
        operations: random.between(1, 8),
        progress: random.pick(&[20, 40, 66, 90]),
        inserts: random.pick(&[30, 50, 60]),
        swaps: random.pick(if object == Object::Mutex { peeks } else { &[0, 0, 20] }),
        peeks: random.pick(peeks),
        values: match object {
            Object::Set | Object::Multiset => random.between(1, 2),
            _ => random.pick(values),
        },
        keys: random.pick(&[0, 0, 0, 2]),
        capacity: random.between(0, 3),
        pending: random.pick(&[0, 0, 150, 300]),
        fault: random.pick(&faults),
        faults: random.between(1, 2),
        seed: random.next(),
        ..ObjectConfig::new(object)
    };
    let mut history = history(&config);
    for _ in 0..random.pick(&[0, 0, 1, 1, 2]) {
        history = perturb(history, &mut random);
    }
    history
}

/// The history with a small change: two results swapped, or two events.
fn perturb(history: History, random: &mut SplitMix64) -> History {
    let answered = |&id: &OperationId| {
        let operation = history.operation(id);
        operation.outcome == Outcome::Ok && operation.result.is_some()
    };
    let ids = (0..history.operations().len() as u32).map(OperationId);
    let answered: Vec<OperationId> = ids.filter(answered).collect();
    let mut events: Vec<HistoryEvent> = history.events().collect();
    if events.len() < 2 {
        return history;
    }
    if answered.len() > 1 && random.percent(60) {
        let (a, b) = (random.pick(&answered), random.pick(&answered));
        let (one, other) = (*history.operation(a), *history.operation(b));
        if one.method != other.method {
            return history;
        }
        let mut builder = HistoryBuilder::from(history);
        builder.set_result(a, other.result).expect("it returned");
        if random.percent(70) {
            builder.set_result(b, one.result).expect("it returned");
        }
        return builder.finish().expect("a result is no label");
    }
    // Two consecutive events of different processes, one a call and one a return, are exchanged.
    let at = random.below(events.len() as u64 - 1) as usize;
    let process = |event: HistoryEvent| history.operation(event.operation()).process;
    let is_call = |event: HistoryEvent| matches!(event, HistoryEvent::Call(_));
    if process(events[at]) == process(events[at + 1]) || is_call(events[at]) == is_call(events[at + 1]) {
        return history;
    }
    events.swap(at, at + 1);
    let mut replay = Replay::new(&history);
    for event in events {
        replay.play(event).expect("the events of each process are in order");
    }
    replay.finish().expect("no source is missing")
}
