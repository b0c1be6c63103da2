//! A client runs on cores and a memory system: tick after tick, each core that can begins its next access, and the
//! memory system goes on by one step. Operations retire in program order. A run in which nothing ends for many ticks is
//! stuck.

use workload::random::SplitMix64;

use crate::client::{Client, ClientOperation};
use crate::core::{Core, Cores, Log};
use crate::system::{MemorySystem, Notice};

/// After so many ticks without an operation that ends, a run is stuck.
const PATIENCE: u64 = 200_000;
/// How often the memory system is asked whether it can go on.
const ASKED_EVERY: u64 = 256;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineEnding {
    /// All operations are done.
    Finished,
    /// The memory system does not go on, for this reason. The operations so far are those that ended.
    Stuck(String),
}

/// Runs a client. `each` gets its operations in the order in which they retire, which is program order in each thread.
///
/// ```
/// use machine::{Client, Cores, MachineEnding, MachineSetup};
///
/// let setup = MachineSetup { client: Client { operations: 50, ..Client::default() }, ..MachineSetup::default() };
/// let mut count = 0;
/// let ending = machine::execute(&mut setup.caches().unwrap(), &setup.client, &setup.cores, &mut |_| count += 1);
/// assert_eq!((ending, count), (MachineEnding::Finished, 50));
/// ```
pub fn execute(
    system: &mut impl MemorySystem,
    client: &Client,
    cores: &Cores,
    each: &mut impl FnMut(ClientOperation),
) -> MachineEnding {
    execute_watched(system, client, cores, each, |_| ())
}

/// As [`execute`]; `watch` is called after every tick.
pub(crate) fn execute_watched<M: MemorySystem>(
    system: &mut M,
    client: &Client,
    cores: &Cores,
    each: &mut impl FnMut(ClientOperation),
    mut watch: impl FnMut(&mut M),
) -> MachineEnding {
    let mut seeds = SplitMix64::new(client.seed ^ 0xc04e_0000);
    let core = |thread| Core::new(cores, thread, client.program(thread), seeds.next());
    let mut running: Vec<Core> = (0..client.threads).map(core).collect();
    let mut log = Log::default();
    let (mut ticks, mut retired, mut since) = (0u64, 0, 0);
    let ending = loop {
        for core in &mut running {
            core.step(system, &mut log);
        }
        system.tick();
        while let Some(notice) = system.poll() {
            match notice {
                Notice::Done { core, tag, value } => running[core as usize].done(tag, value, &mut log),
                Notice::Lost { core, first, count } => {
                    // A cache may have room for more cores than there are.
                    if let Some(core) = running.get_mut(core as usize) {
                        core.lost(first, count);
                    }
                }
            }
        }
        watch(system);
        ticks += 1;
        if log.len() >= 1024 {
            log.hand_on(false, each);
        }
        if log.retired() != retired {
            (retired, since) = (log.retired(), ticks);
            if retired >= client.operations.into() && running.iter().all(Core::is_finished) {
                break MachineEnding::Finished;
            }
            continue;
        }
        if ticks.is_multiple_of(ASKED_EVERY) {
            if running.iter().all(Core::is_finished) {
                break MachineEnding::Finished;
            }
            if let Some(reason) = system.stuck() {
                break MachineEnding::Stuck(reason);
            }
            if ticks - since > PATIENCE {
                break MachineEnding::Stuck(format!("no operation ended for {PATIENCE} ticks"));
            }
        }
    };
    for core in &mut running {
        core.flush(&mut log);
    }
    log.hand_on(true, each);
    ending
}
