//! Histories that saturation does not decide: small shapes, composed of many copies.
//!
//! The histories are made of *rings*. A ring is a list of conditions "A before B", each on two writes of one location.
//! For each condition the ring has a location y, a write of y before A in A's thread, and a thread that sees B,
//! overwrites y, and then reads the overwritten value of the y of the next condition. If all conditions held, each of
//! these reads would have to come before the overwriting write of its location, round the ring: a cycle. So a ring
//! forbids that all its conditions hold, and saturation derives nothing from it while one of them is open.
//!
//! - [`HardShape::OneGuess`]: a ring of the same condition twice. The opposite must hold, and only a guess finds this
//!   out;
//! - [`HardShape::LongConflict`]: a ring of the same condition many times. The guess leads to a conflict that is as
//!   long;
//! - [`HardShape::TwoGuesses`]: two pairs of writes, and rings that forbid three of the four ways to order them;
//! - [`HardShape::TwoGuessesOfRmws`]: the same with rmws ([`crate::rings`]). Saturation does not decide it even under
//!   `sra`.
//!
//! (The first three are those of wSC Figures 3, 4 and 5.) The violating form of each shape forbids the remaining order,
//! too. Copies are composed one after another in the same threads, or side by side in new threads. In both cases they
//! share their locations, so the writes of different copies have to be ordered as well.

use history::execution::Kind;
use history::{History, MemoryOrder};

use crate::memory::{MemoryStep, history_of};
use crate::rings;

/// The shape of each copy.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum HardShape {
    /// One guess decides it.
    OneGuess,
    /// One guess decides it, by a long conflict.
    LongConflict,
    /// Two guesses decide it.
    TwoGuesses,
    /// Two guesses decide it, under `sra`, too.
    TwoGuessesOfRmws,
}

/// What to generate.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct HardConfig {
    /// The shape.
    pub shape: HardShape,
    /// How many copies.
    pub copies: u32,
    /// Whether each copy has new threads. Otherwise the copies come one after another in the same threads.
    pub side_by_side: bool,
    /// Whether the last copy forbids every order.
    pub violating: bool,
}

/// A write of the shape: its thread and location.
type Write = usize;

/// How many conditions the ring of a long conflict has.
const LONG_RING: usize = 5;

/// The operations, thread by thread.
pub fn generate(config: &HardConfig) -> Vec<MemoryStep> {
    let is_violating = |copy: u32| config.violating && copy + 1 == config.copies;
    if config.shape == HardShape::TwoGuessesOfRmws {
        let copies: Vec<_> = (0..config.copies).map(|copy| rings::crossed(is_violating(copy))).collect();
        return rings::steps(2, &copies, config.side_by_side);
    }
    let mut threads: Vec<Vec<MemoryStep>> = Vec::new();
    let mut values = 0;
    for copy in 0..config.copies {
        let first = if config.side_by_side { threads.len() } else { 0 };
        let violating = is_violating(copy);
        Copy { threads: &mut threads, first, values: &mut values }.add(config.shape, violating);
    }
    threads.into_iter().flatten().collect()
}

/// The history of these operations.
pub fn history(config: &HardConfig) -> History {
    let steps = generate(config);
    let threads = steps.iter().map(|step| step.thread + 1).max().unwrap_or(1);
    let locations = steps.iter().map(|step| step.location + 1).max().unwrap_or(1);
    history_of(threads, locations, steps.into_iter())
}

struct Copy<'a> {
    threads: &'a mut Vec<Vec<MemoryStep>>,
    first: usize,
    values: &'a mut u32,
}

impl Copy<'_> {
    fn push(&mut self, thread: usize, location: usize, kind: Kind, value: u32) {
        let thread = self.first + thread;
        if self.threads.len() <= thread {
            self.threads.resize_with(thread + 1, Vec::new);
        }
        let (number, location, order) = (thread as u32, location as u32, MemoryOrder::Plain);
        self.threads[thread].push(MemoryStep { thread: number, location, kind, order, read: value, written: value });
    }

    fn read(&mut self, thread: usize, location: usize, value: u32) {
        self.push(thread, location, Kind::Read, value);
    }

    fn write(&mut self, thread: usize, location: usize) -> u32 {
        *self.values += 1;
        let value = *self.values;
        self.push(thread, location, Kind::Write, value);
        value
    }

    fn add(&mut self, shape: HardShape, violating: bool) {
        // Writes 0 and 1 are of location 0, 2 and 3 of location 1, each in the thread of its number.
        let (pairs, mut rings): (usize, Vec<Vec<(Write, Write)>>) = match shape {
            HardShape::OneGuess => (1, vec![vec![(0, 1); 2]]),
            HardShape::LongConflict => (1, vec![vec![(0, 1); LONG_RING]]),
            HardShape::TwoGuesses | HardShape::TwoGuessesOfRmws => {
                (2, vec![vec![(1, 0), (3, 2)], vec![(1, 0), (2, 3)], vec![(0, 1), (2, 3)]])
            }
        };
        if violating {
            rings.push(match shape {
                HardShape::OneGuess => vec![(1, 0); 2],
                HardShape::LongConflict => vec![(1, 0); LONG_RING],
                HardShape::TwoGuesses | HardShape::TwoGuessesOfRmws => vec![(0, 1), (3, 2)],
            });
        }
        // The locations and threads that every copy has keep their numbers, whether the copy is violating or not.
        let mut location = pairs;
        let mut seen: Vec<Vec<u32>> = Vec::new();
        for ring in &rings {
            let mut values = Vec::new();
            for &(before, _) in ring {
                values.push(self.write(before, location));
                location += 1;
            }
            seen.push(values);
        }
        let written: Vec<u32> = (0..2 * pairs).map(|write| self.write(write, write / 2)).collect();
        let mut location = pairs;
        let mut thread = 2 * pairs;
        for (ring, values) in rings.iter().zip(&seen) {
            for (at, &(_, after)) in ring.iter().enumerate() {
                let next = (at + 1) % ring.len();
                self.read(thread, after / 2, written[after]);
                self.write(thread, location + at);
                self.read(thread, location + next, values[next]);
                thread += 1;
            }
            location += ring.len();
        }
    }
}
