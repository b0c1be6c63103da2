//! VC's Table 1 as it is printed: observers that share their vectors, for `sc-observed`.
//!
//! Each operation has a vector: by core, up to which of its operations all come before this one. A location has the
//! vector of its last write, and that of its last read. An operation is an error if the vector of its location says
//! that a later operation of the same core came before it.
//!
//! It misses violations: a load overwrites the read vector of its location, and what is performed late reaches nobody
//! who depends on what was performed before it. `docs/models/stores.md` has the corrections; `monitor::ScObserved` is
//! the corrected one.

use std::collections::VecDeque;

use history::execution::Kind;
use rustc_hash::FxHashMap;

/// The observers of Table 1. See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct TableOne {
    /// By core: the vectors of its instructions, as far as the next one needs them.
    instructions: FxHashMap<(u32, u64), Vec<u64>>,
    /// By location: the write vector and the read vector.
    locations: FxHashMap<u32, [Vec<u64>; 2]>,
    cores: usize,
    /// How many ticks it takes until other observers see what one has written into a vector.
    lag: u64,
    now: u64,
    /// What only its writer sees as yet, in order.
    unseen: VecDeque<Unseen>,
}

/// A vector of a location that other observers do not see yet.
#[derive(Clone, Debug)]
struct Unseen {
    due: u64,
    core: usize,
    location: u32,
    /// 0 for its write vector, 1 for its read vector.
    which: usize,
    vector: Vec<u64>,
}

impl TableOne {
    /// Observers of so many cores.
    pub fn new(cores: usize) -> Self {
        Self { cores, ..Self::default() }
    }

    /// Others see what an observer has written after so many ticks.
    #[must_use]
    pub fn with_lag(self, lag: u64) -> Self {
        Self { lag, ..self }
    }

    /// It is this tick now.
    pub fn tick(&mut self, now: u64) {
        self.now = now;
        while self.unseen.front().is_some_and(|it| it.due <= now)
            && let Some(Unseen { location, which, vector, .. }) = self.unseen.pop_front()
        {
            self.of(location)[which] = vector;
        }
    }

    fn of(&mut self, location: u32) -> &mut [Vec<u64>; 2] {
        let cores = self.cores;
        self.locations.entry(location).or_insert_with(|| [vec![0; cores], vec![0; cores]])
    }

    /// An operation was performed. The answer is whether Table 1 says `error`; the operation is then left out.
    pub fn performed(&mut self, thread: u32, index: u64, kind: Kind, location: u32) -> bool {
        let core = thread as usize;
        let stamp = index + 1;
        let before = index.checked_sub(1).and_then(|before| self.instructions.get(&(thread, before)));
        let mut vector = before.cloned().unwrap_or_else(|| vec![0; self.cores]);
        if kind != Kind::Fence {
            // What this observer has written itself it sees at once.
            let mut seen = self.of(location).clone();
            for it in self.unseen.iter().filter(|it| it.core == core && it.location == location) {
                seen[it.which].clone_from(&it.vector);
            }
            let [writes, reads] = &seen;
            if stamp < writes[core] || (kind.writes() && stamp < reads[core]) {
                return true;
            }
            join(&mut vector, writes);
            if kind.writes() {
                join(&mut vector, reads);
            }
            vector[core] = stamp;
            let (due, which) = (self.now + self.lag, usize::from(!kind.writes()));
            self.unseen.push_back(Unseen { due, core, location, which, vector: vector.clone() });
            if self.lag == 0 {
                self.tick(self.now);
            }
        }
        vector[core] = stamp;
        self.instructions.insert((thread, index), vector);
        false
    }
}

fn join(into: &mut [u64], other: &[u64]) {
    into.iter_mut().zip(other).for_each(|(entry, &other)| *entry = other.max(*entry));
}
