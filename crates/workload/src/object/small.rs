//! Small runs of objects, for comparison with the oracle.

use history::{History, Object, Operation, Outcome};

use super::{Config, Fault, history};
use crate::random::SplitMix64;

/// A small run near the boundary of what is linearizable: mostly a run with faults, and then the results of some operations
/// swapped or replaced, or neighbouring events of different processes exchanged.
pub fn small(object: Object, seed: u64) -> History {
    perturbed(object, seed, &[0], &[0, 0, 0, 2, 3])
}

/// [`small`], with peeks where the object has them, and tries to lock a mutex.
pub fn small_with_peeks(object: Object, seed: u64) -> History {
    perturbed(object, seed, &[0, 15, 40], &[0, 0, 0, 2, 3])
}

/// [`small_with_peeks`], with values that are inserted more than once.
pub fn small_with_duplicates(object: Object, seed: u64) -> History {
    perturbed(object, seed, &[0, 0, 15, 40], &[1, 2, 2, 3])
}

fn perturbed(object: Object, seed: u64, peeks: &[u32], values: &[u32]) -> History {
    let mut random = SplitMix64::new(seed);
    let faults = [None, Some(Fault::OutOfOrder(3)), Some(Fault::Lost), Some(Fault::Duplicated), Some(Fault::LateEmpty)];
    let config = Config {
        threads: random.between(1, 4),
        operations: random.between(1, 8),
        progress: random.pick(&[20, 40, 66, 90]),
        inserts: random.pick(&[30, 50, 60]),
        swaps: random.pick(if object == Object::Mutex { peeks } else { &[0, 0, 20] }),
        peeks: random.pick(peeks),
        values: match object {
            Object::Set => random.between(1, 2),
            _ => random.pick(values),
        },
        keys: random.pick(&[0, 0, 0, 2]),
        capacity: random.between(0, 3),
        pending: random.pick(&[0, 0, 150, 300]),
        fault: random.pick(&faults),
        faults: random.between(1, 2),
        seed: random.next(),
        ..Config::new(object)
    };
    let mut history = history(&config);
    for _ in 0..random.pick(&[0, 0, 1, 1, 2]) {
        perturb(&mut history, &mut random);
    }
    history
}

fn perturb(history: &mut History, random: &mut SplitMix64) {
    let answered = |operation: &Operation| operation.outcome == Outcome::Ok && operation.result.is_some();
    let operations: Vec<usize> =
        (0..history.operations().len()).filter(|&at| answered(&history.operations()[at])).collect();
    let events = history.moments().iter().flatten().filter(|&&moment| moment != History::NEVER).count() as u32;
    if events < 2 {
        return;
    }
    if operations.len() > 1 && random.percent(60) {
        let (a, b) = (random.pick(&operations), random.pick(&operations));
        let (one, other) = (history.operations()[a], history.operations()[b]);
        if one.method == other.method {
            history.operations[a].result = other.result;
            if random.percent(70) {
                history.operations[b].result = one.result;
            }
        }
        return;
    }
    // Two events in a row, not of the same process, change places.
    let moment = random.below(u64::from(events) - 1) as u32;
    let find = |moment: u32| {
        (0..history.moments().len()).find_map(|at| {
            let end = history.moments()[at].iter().position(|&other| other == moment)?;
            Some((at, end))
        })
    };
    if let (Some((a, a_end)), Some((b, b_end))) = (find(moment), find(moment + 1))
        && history.operations()[a].process != history.operations()[b].process
        && a_end != b_end
    {
        history.moments[a][a_end] = moment + 1;
        history.moments[b][b_end] = moment;
    }
}
