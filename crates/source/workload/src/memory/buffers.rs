//! An atomic memory, and the same behind store buffers: the machines of `sc`, `tso` and `pso`.
//!
//! On an atomic memory a read returns the value that was written last. With store buffers a write waits in a buffer of
//! its thread until it moves to memory. A thread reads the newest write that it has buffered for the location. If there
//! is none, it reads memory. Under `tso` the writes of a thread move to memory in their order. Under `pso` only the
//! writes of one location keep their order. A fence first moves all buffered writes of its thread. A read-modify-write
//! reads and writes memory at once; before that, it moves all writes of its thread under `tso`, as a locked instruction
//! does on x86, and those of its location under `pso`, as SPARC does. A sequentially consistent write is at once in
//! memory, after all writes of its thread, as compilers for these machines make it: so `c20` allows the histories, too.
//!
//! How long a write waits is drawn at random. It waits longer if an earlier write holds it up. So the moments at which
//! the writes of a buffer are due do not decrease. Writes that are due move to memory, the earliest first, and this
//! keeps the order of each buffer.
//!
//! A perturbed read returns one of the last values that were overwritten in memory: [`REMEMBERED_VALUES`] of them, or
//! as many as the configuration says.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use history::MemoryOrder;
use history::execution::Kind;

use super::{Chance, MemoryConfig, MemoryMachine, MemoryStep};

/// How far back, in writes of the same location, a perturbed read may look if the configuration does not say it.
pub(super) const REMEMBERED_VALUES: usize = 4;

/// A location: its value, and the values that it had before, the latest first.
#[derive(Clone, Default)]
pub(super) struct BufferedLocation {
    value: u32,
    before: VecDeque<u32>,
}

impl BufferedLocation {
    /// Stores a value, and remembers so many.
    pub(super) fn store(&mut self, value: u32, remembered: usize) {
        self.before.truncate(remembered - 1);
        self.before.push_front(self.value);
        self.value = value;
    }

    /// The values that it had before, as far as it remembers.
    pub(super) fn overwritten(&self) -> impl Iterator<Item = u32> + '_ {
        self.before.iter().copied()
    }
}

/// A write on its way to memory.
#[derive(Copy, Clone)]
struct Store {
    location: u32,
    value: u32,
    due: u64,
}

/// The memory with its buffers.
pub(super) struct Buffers {
    machine: MemoryMachine,
    cells: Vec<BufferedLocation>,
    /// By thread: the writes that memory does not have yet, in program order.
    waiting: Vec<Vec<Store>>,
    /// The same writes, by the moment at which each is due, with its value, which identifies it, and its thread. Writes
    /// that a fence has moved before their time are still in this list.
    agenda: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// How many operations, of all threads, a store waits at most if no other holds it up.
    delay: u64,
    /// How many values of a location are remembered that were overwritten.
    remembered: usize,
    now: u64,
}

impl Buffers {
    pub(super) fn new(config: &MemoryConfig) -> Self {
        Self {
            machine: config.machine,
            cells: vec![BufferedLocation::default(); config.locations as usize],
            waiting: vec![Vec::new(); config.threads as usize],
            agenda: BinaryHeap::new(),
            delay: u64::from(config.delay) * u64::from(config.threads),
            remembered: config.distance.map_or(REMEMBERED_VALUES, |distance| distance as usize),
            now: 0,
        }
    }

    /// Performs an operation, and finds the value that it reads. The answer is whether a perturbation could change this
    /// value.
    pub(super) fn perform(&mut self, step: &mut MemoryStep, chance: &mut Chance) -> bool {
        self.now += 1;
        self.move_due();
        let thread = step.thread as usize;
        let is_sequential = step.order == MemoryOrder::SequentiallyConsistent;
        match step.kind {
            Kind::Fence => {
                self.drain(thread, |_| true);
                return false;
            }
            Kind::Rmw | Kind::Write if is_sequential => self.drain(thread, |_| true),
            Kind::Rmw if self.machine == MemoryMachine::Pso => {
                self.drain(thread, |store| store.location == step.location);
            }
            Kind::Rmw => self.drain(thread, |_| true),
            Kind::Read | Kind::Write => {}
        }
        let cell = &self.cells[step.location as usize];
        let can_be_stale = step.kind.reads() && !cell.before.is_empty();
        if can_be_stale && chance.perturbed.takes_next() {
            step.read = cell.before[chance.perturbed.random.below(cell.before.len() as u64) as usize];
        } else if step.kind.reads() {
            let own = self.waiting[thread].iter().rfind(|store| store.location == step.location);
            step.read = own.map_or(cell.value, |store| store.value);
        }
        if step.kind == Kind::Write && self.machine != MemoryMachine::Sc && !is_sequential {
            let delay = chance.random.below(self.delay + 1);
            self.buffer(step, delay);
        } else if step.kind.writes() {
            self.cells[step.location as usize].store(step.written, self.remembered);
        }
        can_be_stale
    }

    fn buffer(&mut self, step: &MemoryStep, delay: u64) {
        let waiting = &mut self.waiting[step.thread as usize];
        let same_buffer = |store: &&Store| self.machine == MemoryMachine::Tso || store.location == step.location;
        let before = waiting.iter().rfind(same_buffer).map_or(0, |store| store.due);
        let due = before.max(self.now + delay);
        waiting.push(Store { location: step.location, value: step.written, due });
        self.agenda.push(Reverse((due, step.written, step.thread)));
    }

    /// Moves all writes that are due to memory.
    fn move_due(&mut self) {
        while let Some(&Reverse((due, value, thread))) = self.agenda.peek()
            && due < self.now
        {
            self.agenda.pop();
            let waiting = &mut self.waiting[thread as usize];
            if let Some(at) = waiting.iter().position(|store| store.value == value) {
                let store = waiting.remove(at);
                self.cells[store.location as usize].store(store.value, self.remembered);
            }
        }
    }

    /// Moves the buffered writes of a thread for which `is_meant` holds to memory, in program order.
    fn drain(&mut self, thread: usize, is_meant: impl Fn(&Store) -> bool) {
        for store in self.waiting[thread].extract_if(.., |store| is_meant(store)) {
            self.cells[store.location as usize].store(store.value, self.remembered);
        }
    }
}
