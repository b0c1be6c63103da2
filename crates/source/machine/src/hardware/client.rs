//! Random clients on this machine's own memory.
//!
//! Each round has a new program. Every write writes a value of its own; all locations hold 0 at first.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use explore::{Order, Update};
use history::execution::Kind;
use history::{History, MemoryOrder};
use workload::random::SplitMix64;

use super::{Act, Arena, Layout, LayoutFault, act, of_fence, of_load, of_rmw, of_store, round};
use crate::client::{Client, ClientFault, ClientOperation, Instruction, history};

/// The memory orders of a client's accesses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Orders {
    /// Relaxed accesses and full fences; the history says nothing about orders.
    Plain,
    /// Relaxed accesses and acquire-release fences.
    Relaxed,
    /// Acquiring loads, releasing stores.
    ReleaseAcquire,
    /// Sequentially consistent accesses.
    SeqCst,
    /// Any of them, at random, but for sequentially consistent ones.
    Mixed,
}

impl Orders {
    /// The order of an access in a program, and in the history.
    fn pick(self, kind: Kind, random: &mut SplitMix64) -> (Order, MemoryOrder) {
        const ACCESSES: [(Order, MemoryOrder); 4] = [
            (Order::Relaxed, MemoryOrder::Relaxed),
            (Order::Acquire, MemoryOrder::Acquire),
            (Order::Release, MemoryOrder::Release),
            (Order::AcquireRelease, MemoryOrder::AcquireRelease),
        ];
        let any = match kind {
            Kind::Read => &ACCESSES[..2],
            Kind::Write => &[ACCESSES[0], ACCESSES[2]][..],
            Kind::Rmw => &ACCESSES[..],
            Kind::Fence => &ACCESSES[1..],
        };
        match (self, kind) {
            (Self::Plain, Kind::Fence) => (Order::SequentiallyConsistent, MemoryOrder::Plain),
            (Self::Plain, Kind::Rmw) => (Order::AcquireRelease, MemoryOrder::Plain),
            (Self::Plain, _) => (Order::Relaxed, MemoryOrder::Plain),
            (Self::SeqCst, _) => (Order::SequentiallyConsistent, MemoryOrder::SequentiallyConsistent),
            (Self::Mixed, _) => random.pick(any),
            (Self::Relaxed, Kind::Fence) | (Self::ReleaseAcquire, Kind::Fence | Kind::Rmw) => ACCESSES[3],
            (Self::Relaxed, _) => ACCESSES[0],
            (Self::ReleaseAcquire, Kind::Read) => ACCESSES[1],
            (Self::ReleaseAcquire, Kind::Write) => ACCESSES[2],
        }
    }
}

/// Random clients, and how they are run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Clients {
    /// The shape of each program. Its operations are those of all threads together.
    pub client: Client,
    /// The memory orders.
    pub orders: Orders,
    /// How they are run.
    pub layout: Layout,
}

/// What is wrong with clients.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientsFault {
    /// With the programs.
    #[error(transparent)]
    Client(#[from] ClientFault),
    /// With how they are run.
    #[error(transparent)]
    Layout(#[from] LayoutFault),
}

/// One way in which the instances of a round ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceOutcome {
    /// What was read, by thread and in program order.
    pub operations: Vec<ClientOperation>,
    /// How many instances ended so.
    pub count: u64,
}

/// What came of a round.
#[derive(Clone, Debug)]
pub struct Round {
    /// The number of the round, from zero.
    pub number: u64,
    /// The shape of its program.
    pub client: Client,
    /// The distinct outcomes.
    pub outcomes: Vec<InstanceOutcome>,
}

impl Round {
    /// The history of an outcome.
    pub fn history(&self, outcome: &InstanceOutcome) -> History {
        history(self.client.threads, self.client.locations, &outcome.operations, false)
    }
}

/// Runs rounds until `each` says that it is enough.
///
/// ```
/// use std::ops::ControlFlow;
/// use machine::Client;
/// use machine::hardware::{Clients, Layout, Orders, clients};
///
/// let client = Client { threads: 2, operations: 8, locations: 2, ..Client::default() };
/// let wanted = Clients { client, orders: Orders::Plain, layout: Layout { instances: 100, ..Layout::default() } };
/// let mut runs = 0;
/// clients(&wanted, |round| {
///     runs += round.outcomes.iter().map(|outcome| outcome.count).sum::<u64>();
///     ControlFlow::Break(())
/// })
/// .unwrap();
/// assert_eq!(runs, 100);
/// ```
pub fn clients(wanted: &Clients, mut each: impl FnMut(Round) -> ControlFlow<()>) -> Result<(), ClientsFault> {
    let Clients { client, orders, layout } = *wanted;
    if let Some(fault) = client.fault() {
        return Err(fault.into());
    }
    if let Some(fault) = layout.fault(client.threads as usize, client.locations as usize) {
        return Err(fault.into());
    }
    let mut random = SplitMix64::new(layout.seed);
    for number in 0.. {
        let client = Client { seed: random.next(), ..client };
        let mut programs: Vec<Vec<Instruction>> =
            (0..client.threads).map(|thread| client.program(thread).collect()).collect();
        let mut code = Vec::new();
        for program in &mut programs {
            let acts: Vec<Act> =
                program.iter_mut().map(|instruction| compile(instruction, orders, &mut random)).collect();
            code.push(acts);
        }
        let arena = Arena::new(&layout, &vec![0; client.locations as usize]);
        let told = round(
            &layout,
            code.len(),
            |thread, instance, told: &mut Vec<u32>| {
                let cells = arena.cells(instance);
                for &it in &code[thread] {
                    let value = act(it, cells, arena.stride);
                    if matches!(it, Act::Load(..) | Act::Rmw(..)) {
                        told.push(value as u32);
                    }
                }
            },
            &mut random,
        );
        let outcomes = outcomes(&programs, &told, layout.instances as usize);
        if each(Round { number, client, outcomes }).is_break() {
            break;
        }
    }
    Ok(())
}

/// The access of an instruction, whose memory order is chosen here.
fn compile(instruction: &mut Instruction, orders: Orders, random: &mut SplitMix64) -> Act {
    let Instruction { kind, location, value, .. } = *instruction;
    let (order, written) = orders.pick(kind, random);
    instruction.order = written;
    match kind {
        Kind::Read => Act::Load(location, of_load(order)),
        Kind::Write => Act::Store(location, of_store(order), value.into()),
        Kind::Rmw => Act::Rmw(location, of_rmw(order), of_load(order), Update::Set(value.into())),
        Kind::Fence => of_fence(order),
    }
}

/// The distinct outcomes, in the order of the values that were read.
fn outcomes(programs: &[Vec<Instruction>], told: &[Vec<u32>], instances: usize) -> Vec<InstanceOutcome> {
    let reads: Vec<usize> =
        programs.iter().map(|program| program.iter().filter(|it| it.kind.reads()).count()).collect();
    let mut counts: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
    let mut key = Vec::new();
    for instance in 0..instances {
        key.clear();
        for (told, &reads) in told.iter().zip(&reads) {
            key.extend_from_slice(&told[instance * reads..][..reads]);
        }
        match counts.get_mut(&key) {
            Some(count) => *count += 1,
            None => {
                counts.insert(key.clone(), 1);
            }
        }
    }
    let outcome = |(values, count): (Vec<u32>, u64)| {
        let mut values = values.into_iter();
        let mut operations = Vec::new();
        for (thread, program) in (0..).zip(programs) {
            for (index, &instruction) in (0..).zip(program) {
                let read = if instruction.kind.reads() { values.next().unwrap_or(0) } else { 0 };
                operations.push(ClientOperation { thread, index, instruction, read, performed: 0 });
            }
        }
        InstanceOutcome { operations, count }
    };
    counts.into_iter().map(outcome).collect()
}
