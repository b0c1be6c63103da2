//! A model checker in sixty lines. The program of `docs/tutorials/model-checker.md`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use seriatim::history::MemoryOrder::{self, Acquire, Relaxed, Release};
use seriatim::history::execution::Kind::{self, Read, Write};
use seriatim::memory::c11::Incremental;

/// An access: its kind, its location, its memory order, and the value that a write writes.
type Access = (Kind, u32, MemoryOrder, u32);

/// What is known at one point of one execution.
#[derive(Clone)]
struct Point {
    execution: Incremental,
    /// How far each thread is.
    done: Vec<usize>,
    /// The values of writes, by their names.
    written: Vec<u32>,
    /// What was read so far, thread by thread.
    read: Vec<Vec<u32>>,
}

/// Runs every thread that is not done, by one access, in each way that the model allows.
fn explore(program: &[Vec<Access>], point: &mut Point, outcomes: &mut BTreeSet<Vec<Vec<u32>>>) {
    let mut is_over = true;
    for (thread, accesses) in program.iter().enumerate() {
        let Some(&(kind, location, order, value)) = accesses.get(point.done[thread]) else { continue };
        is_over = false;
        // A write has no source. A read may have several: the engine knows which.
        let sources: Vec<_> = match kind {
            Read => point.execution.may_read_from(thread as u32, kind, location, order).collect(),
            _ => vec![None],
        };
        for source in sources {
            let mut next = point.clone();
            let name = next.execution.push(thread as u32, kind, location, order, source).expect("it is allowed");
            next.done[thread] += 1;
            if let Some(name) = name {
                next.written.resize(next.written.len().max(name.index() + 1), 0);
                next.written[name.index()] = value;
            } else {
                next.read[thread].push(source.map_or(0, |write| next.written[write.index()]));
            }
            explore(program, &mut next, outcomes);
        }
    }
    if is_over {
        outcomes.insert(point.read.clone());
    }
}

/// What the program prints.
pub fn tell() -> String {
    let (data, flag) = (0, 1);
    let mut text = String::new();
    for (name, release, acquire) in [("relaxed", Relaxed, Relaxed), ("release and acquire", Release, Acquire)] {
        let program = [
            vec![(Write, data, Relaxed, 1), (Write, flag, release, 1)],
            vec![(Read, flag, acquire, 0), (Read, data, Relaxed, 0)],
        ];
        let (done, read) = (vec![0; 2], vec![Vec::new(); 2]);
        let mut start = Point { execution: Incremental::rc20(), done, written: Vec::new(), read };
        let mut outcomes = BTreeSet::new();
        explore(&program, &mut start, &mut outcomes);
        let _ = writeln!(text, "{name}:");
        for outcome in outcomes {
            let _ = writeln!(text, "  flag {} data {}", outcome[1][0], outcome[1][1]);
        }
    }
    text
}

/// Runs the example.
pub fn main() {
    print!("{}", tell());
}
