//! Random clients of a memory system, as in the papers' experiments: threads, operations, variables, a mix of reads and
//! writes. Every write writes a value of its own, so it is always clear which write a read is from.

use history::execution::Kind;
use history::{Call, History, HistoryBuilder, KeyId, MemoryOrder, Method, Object, ProcessId, Value};
use thiserror::Error;
use workload::random::SplitMix64;

/// A random client.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// How many threads; each runs on a core of its own.
    pub threads: u32,
    /// How many operations, all threads together.
    pub operations: u32,
    /// How many variables.
    pub locations: u32,
    /// How many of a hundred operations write.
    pub writes: u32,
    /// How many of a hundred operations are read-modify-writes.
    pub rmws: u32,
    /// How many of a hundred operations are fences. The rest, up to a hundred, are reads.
    pub fences: u32,
    /// How many of a hundred accesses go to the first eighth of the variables, which are at least one.
    pub hot: u32,
    /// Where the random choices start.
    pub seed: u64,
}

impl Default for Client {
    fn default() -> Self {
        Self { threads: 4, operations: 200, locations: 8, writes: 50, rmws: 0, fences: 0, hot: 0, seed: 0 }
    }
}

/// What is wrong with a client.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClientFault {
    /// No threads.
    #[error("a client needs at least one thread")]
    Threads,
    /// No variables.
    #[error("a client needs at least one variable")]
    Locations,
    /// More than all.
    #[error("writes, rmws and fences together are more than 100 percent")]
    Mix,
    /// More than all.
    #[error("more than 100 percent of the accesses are hot")]
    Hot,
    /// Values are numbers of 32 bits.
    #[error("{0} operations are too many: each needs a value of its own, of 32 bits")]
    Operations(u32),
}

/// One operation of a client, as its thread is told to do it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The kind of operation.
    pub kind: Kind,
    /// The location. It means nothing for a fence.
    pub location: u32,
    /// The value to write, if it writes.
    pub value: u32,
    /// Its memory order.
    pub order: MemoryOrder,
}

/// One operation of a client, as it was done.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ClientOperation {
    /// The thread.
    pub thread: u32,
    /// The index in the program order of the thread.
    pub index: u32,
    /// What was done.
    pub instruction: Instruction,
    /// The value that was read, if it reads.
    pub read: u32,
    /// Its place in the order in which accesses were globally performed, from one. There are gaps: accesses that were
    /// done again. A read that was forwarded from a store buffer has the place of the store, a fence that of the last
    /// access of any thread.
    pub performed: u64,
}

impl Client {
    /// What is wrong with the client, if anything.
    pub fn fault(&self) -> Option<ClientFault> {
        match self {
            _ if self.threads == 0 => Some(ClientFault::Threads),
            _ if self.locations == 0 => Some(ClientFault::Locations),
            _ if self.writes.saturating_add(self.rmws).saturating_add(self.fences) > 100 => Some(ClientFault::Mix),
            _ if self.hot > 100 => Some(ClientFault::Hot),
            _ if self.operations > u32::MAX - 2 * self.threads => Some(ClientFault::Operations(self.operations)),
            _ => None,
        }
    }

    /// The program of a thread.
    pub fn program(&self, thread: u32) -> ClientProgram {
        let share = self.operations / self.threads + u32::from(thread < self.operations % self.threads);
        let mut seeds = SplitMix64::new(self.seed ^ 0xc11e_0000);
        let mut seed = seeds.next();
        for _ in 0..thread {
            seed = seeds.next();
        }
        ClientProgram { client: *self, thread, random: SplitMix64::new(seed), done: 0, count: share }
    }
}

/// The instructions of a thread.
#[derive(Clone, Debug)]
pub struct ClientProgram {
    client: Client,
    thread: u32,
    random: SplitMix64,
    done: u32,
    count: u32,
}

impl Iterator for ClientProgram {
    type Item = Instruction;

    fn next(&mut self) -> Option<Instruction> {
        if self.done == self.count {
            return None;
        }
        let Client { threads, locations, writes, rmws, fences, hot, .. } = self.client;
        let percent = self.random.below(100) as u32;
        let kind = match percent {
            _ if percent < writes => Kind::Write,
            _ if percent < writes + rmws => Kind::Rmw,
            _ if percent < writes + rmws + fences => Kind::Fence,
            _ => Kind::Read,
        };
        let among = if hot > 0 && self.random.percent(hot as u8) { (locations / 8).max(1) } else { locations };
        let location = self.random.below(among.into()) as u32;
        let value = self.done * threads + self.thread + 1;
        self.done += 1;
        let value = if kind.writes() { value } else { 0 };
        Some(Instruction { kind, location, value, order: MemoryOrder::Plain })
    }
}

/// The history of these operations, in the order given. Threads are named 0, 1, 2, …, and locations x0, x1, x2, ….
/// If the order is that of performance, each operation has its index in program order (`po=`).
pub fn history(threads: u32, locations: u32, operations: &[ClientOperation], is_performed: bool) -> History {
    let mut builder = HistoryBuilder::new(Object::Memory);
    let processes: Vec<ProcessId> = (0..threads).map(|thread| builder.process(&thread.to_string())).collect();
    let keys: Vec<KeyId> =
        (0..locations).map(|location| builder.key(&workload::memory::location_name(location))).collect();
    builder.reserve(operations.len());
    for (line, operation) in (2..).zip(operations) {
        let instruction = operation.instruction;
        let (method, key) = match instruction.kind {
            Kind::Read => (Method::Read, keys[instruction.location as usize]),
            Kind::Write => (Method::Write, keys[instruction.location as usize]),
            Kind::Rmw => (Method::Rmw, keys[instruction.location as usize]),
            Kind::Fence => (Method::Fence, KeyId::NONE),
        };
        let some = |is_there: bool, value| if is_there { Value::small(value) } else { Value::NONE };
        let call = Call::new(processes[operation.thread as usize], method)
            .key(key)
            .line(line)
            .order(instruction.order)
            .argument(some(instruction.kind.writes(), instruction.value))
            .result(some(instruction.kind.reads(), operation.read));
        let id = builder.instant(&call).expect("an operation of one of these threads on one of these locations");
        if is_performed {
            builder.set_program_index(id, operation.index.into()).expect("an operation of a memory");
        }
    }
    builder.finish().expect("operations name no labels")
}

impl ClientProgram {
    /// Whether there is no further instruction.
    pub(crate) fn is_over(&self) -> bool {
        self.done == self.count
    }
}
