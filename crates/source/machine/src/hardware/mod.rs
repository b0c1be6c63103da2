//! This machine's own memory: short programs of real loads and stores, run on real threads over and over.
//!
//! A *round* runs one program many times. Each instance has locations of its own, and a gate of its own, where its
//! threads meet before they begin; then each waits for a short time that differs from instance to instance. Threads are
//! pinned to processor cores, where the system allows it. A thread writes what it reads into memory of its own, so
//! nothing is shared but the locations. After the round, outcomes are counted.
//!
//! What shows depends on the processor. On x86 a store may wait in the store buffer while later loads are done, and
//! nothing else is seen. ARM, POWER and RISC-V would show more; nothing here is for x86 alone. The instructions are
//! interpreted one by one from a list, so the compiler has no occasion to reorder them: what is seen is the processor.

mod client;
mod litmus;

use std::hint::spin_loop;
use std::num::NonZero;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering, fence};
use std::sync::{Barrier, Mutex, PoisonError};

use core_affinity::CoreId;
use explore::{Order, Update};
use workload::random::SplitMix64;

pub use client::{Clients, InstanceOutcome, Orders, Round, clients};
pub use litmus::run_litmus;

/// How programs are run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How many instances a round has.
    pub instances: u32,
    /// How many bytes there are from one location of an instance to the next: a multiple of eight.
    pub stride: u32,
    /// How far the threads of an instance may be apart when they begin, in turns of a waiting loop.
    pub stagger: u32,
    /// Where the random choices start.
    pub seed: u64,
}

impl Default for Layout {
    fn default() -> Self {
        Self { instances: 2048, stride: 64, stagger: 40, seed: 0 }
    }
}

/// Why programs cannot be run so.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutFault {
    /// Locations are eight bytes each.
    #[error("the stride must be a multiple of 8, up to 4096, not {0}")]
    Stride(u32),
    /// There must be something to run.
    #[error("a round must have 1 to 1048576 instances, not {0}")]
    Instances(u32),
    /// There must be somebody to run it.
    #[error("a program needs 1 to 64 threads, not {0}")]
    Threads(usize),
    /// The memory would be too large.
    #[error("these locations take more than 1 GB: fewer instances or a smaller stride would fit")]
    Size,
}

impl Layout {
    /// What is wrong with it, for programs of so many threads and locations.
    pub fn fault(&self, threads: usize, locations: usize) -> Option<LayoutFault> {
        if self.stride == 0 || !self.stride.is_multiple_of(8) || self.stride > 4096 {
            Some(LayoutFault::Stride(self.stride))
        } else if self.instances == 0 || self.instances > 1 << 20 {
            Some(LayoutFault::Instances(self.instances))
        } else if threads == 0 || threads > 64 {
            Some(LayoutFault::Threads(threads))
        } else if self.instances as usize * locations * self.stride as usize > 1 << 30 {
            Some(LayoutFault::Size)
        } else {
            None
        }
    }
}

/// An access, ready to be done.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Act {
    Load(u32, Ordering),
    Store(u32, Ordering, i64),
    Rmw(u32, Ordering, Ordering, Update),
    Fence(Ordering),
    Nothing,
}

/// The order that a load may have.
fn of_load(order: Order) -> Ordering {
    match order {
        Order::SequentiallyConsistent => Ordering::SeqCst,
        Order::Acquire | Order::AcquireRelease => Ordering::Acquire,
        Order::NonAtomic | Order::Relaxed | Order::Release => Ordering::Relaxed,
    }
}

/// The order that a store may have.
fn of_store(order: Order) -> Ordering {
    match order {
        Order::SequentiallyConsistent => Ordering::SeqCst,
        Order::Release | Order::AcquireRelease => Ordering::Release,
        Order::NonAtomic | Order::Relaxed | Order::Acquire => Ordering::Relaxed,
    }
}

fn of_rmw(order: Order) -> Ordering {
    match order {
        Order::SequentiallyConsistent => Ordering::SeqCst,
        Order::AcquireRelease => Ordering::AcqRel,
        Order::Acquire => Ordering::Acquire,
        Order::Release => Ordering::Release,
        Order::NonAtomic | Order::Relaxed => Ordering::Relaxed,
    }
}

fn of_fence(order: Order) -> Act {
    match of_rmw(order) {
        Ordering::Relaxed => Act::Nothing,
        order => Act::Fence(order),
    }
}

/// The locations of all instances of a round.
struct Arena {
    cells: Vec<AtomicI64>,
    /// How many cells there are from one location to the next, and from one instance to the next.
    stride: usize,
    instance: usize,
}

impl Arena {
    fn new(layout: &Layout, initial: &[i64]) -> Self {
        let stride = layout.stride as usize / 8;
        // Instances do not share a line of the cache.
        let instance = (initial.len() * stride).next_multiple_of(16);
        let mut cells = Vec::new();
        cells.resize_with(instance * layout.instances as usize, AtomicI64::default);
        for number in 0..layout.instances as usize {
            for (location, &value) in initial.iter().enumerate() {
                cells[number * instance + location * stride].store(value, Ordering::Relaxed);
            }
        }
        Self { cells, stride, instance }
    }

    fn cells(&self, instance: u32) -> &[AtomicI64] {
        &self.cells[instance as usize * self.instance..][..self.instance]
    }

    /// What the locations of an instance hold.
    fn memory(&self, instance: u32, locations: usize) -> Vec<i64> {
        let cells = self.cells(instance);
        (0..locations).map(|location| cells[location * self.stride].load(Ordering::Relaxed)).collect()
    }
}

/// Does an access. The answer is what it read, if it reads.
#[inline]
fn act(act: Act, cells: &[AtomicI64], stride: usize) -> i64 {
    let cell = |location: u32| &cells[location as usize * stride];
    match act {
        Act::Load(location, order) => cell(location).load(order),
        Act::Store(location, order, value) => {
            cell(location).store(value, order);
            0
        }
        Act::Rmw(location, order, failure, update) => {
            let cell = cell(location);
            match update {
                Update::Set(value) => cell.swap(value, order),
                Update::Add(value) => cell.fetch_add(value, order),
                Update::Sub(value) => cell.fetch_sub(value, order),
                Update::And(value) => cell.fetch_and(value, order),
                Update::Or(value) => cell.fetch_or(value, order),
                Update::Xor(value) => cell.fetch_xor(value, order),
                Update::Nand(value) => cell.fetch_nand(value, order),
                Update::Max(value) => cell.fetch_max(value, order),
                Update::Min(value) => cell.fetch_min(value, order),
                Update::CompareExchange { expected, new } => {
                    let (Ok(old) | Err(old)) = cell.compare_exchange(expected, new, order, failure);
                    old
                }
                Update::AddWithin(..) | Update::UnsignedMax(_) | Update::UnsignedMin(_) => {
                    let (Ok(old) | Err(old)) = cell.fetch_update(order, failure, |old| update.apply(old));
                    old
                }
            }
        }
        Act::Fence(order) => {
            fence(order);
            0
        }
        Act::Nothing => 0,
    }
}

/// A gate on a line of the cache of its own.
#[repr(align(128))]
#[derive(Default)]
struct Gate(AtomicU32);

impl Gate {
    /// Waits until all threads are here.
    fn pass(&self, threads: u32) {
        self.0.fetch_add(1, Ordering::AcqRel);
        let mut turns = 0u32;
        while self.0.load(Ordering::Acquire) < threads {
            turns += 1;
            // If there are fewer processors than threads, the others need this one.
            if turns.is_multiple_of(256) { std::thread::yield_now() } else { spin_loop() }
        }
    }
}

/// Runs a round: `thread` does what one thread does in one instance, and writes down what it has to tell. The answer
/// has what each thread has told.
fn round<T: Send>(
    layout: &Layout,
    threads: usize,
    thread: impl Fn(usize, u32, &mut Vec<T>) + Sync,
    random: &mut SplitMix64,
) -> Vec<Vec<T>> {
    let mut gates = Vec::new();
    gates.resize_with(layout.instances as usize, Gate::default);
    let start = Barrier::new(threads);
    let told: Vec<Mutex<Vec<T>>> = (0..threads).map(|_| Mutex::new(Vec::new())).collect();
    let places = cores(random);
    let seeds: Vec<u64> = (0..threads).map(|_| random.next()).collect();
    let work = |number: usize| {
        if let Some(&place) = places.get(number % places.len().max(1)) {
            core_affinity::set_for_current(place);
        }
        let mut random = SplitMix64::new(seeds[number]);
        let mut mine = Vec::with_capacity(layout.instances as usize * 4);
        start.wait();
        for (instance, gate) in (0..).zip(&gates) {
            let wait = if random.percent(50) { 0 } else { random.below(u64::from(layout.stagger) + 1) };
            gate.pass(threads as u32);
            for _ in 0..wait {
                spin_loop();
            }
            thread(number, instance, &mut mine);
        }
        *told[number].lock().unwrap_or_else(PoisonError::into_inner) = mine;
    };
    std::thread::scope(|scope| {
        for number in 0..threads {
            scope.spawn(move || work(number));
        }
    });
    told.into_iter().map(|told| told.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

/// The processor cores that threads are pinned to, in a random order. None if the system does not say.
fn cores(random: &mut SplitMix64) -> Vec<CoreId> {
    let mut cores = core_affinity::get_core_ids().unwrap_or_default();
    for at in (1..cores.len()).rev() {
        cores.swap(at, random.below(at as u64 + 1) as usize);
    }
    cores
}

/// How many processors there are for the threads of a program. With fewer than there are threads, little shows.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}
