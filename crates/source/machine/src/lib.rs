//! Memory systems to judge: simulated processors with caches and coherence protocols, right ones and wrong ones, and
//! the memory of the machine that this program runs on.
//!
//! Nothing is checked here: a run gives a history, which the crate `seriatim` checks.
//!
//! | to | use |
//! | --- | --- |
//! | run a client on a simulated memory | [`MachineSetup`] |
//! | look at a protocol | [`protocol::Name::protocol`], whose tables are data |
//! | run programs on this machine's own memory | [`hardware`] |
//! | run clients on a memory system of one's own | [`MemorySystem`], [`execute`], [`hunt::hunt`] |

//!
//! ```
//! use machine::protocol::Name;
//! use machine::{Client, Mistake, MachineSetup};
//!
//! let setup = MachineSetup { protocol: Name::MoesiHammer, ..MachineSetup::default() };
//! let run = setup.run().unwrap();
//! assert_eq!(run.history().operations().len(), 200);
//! // The same with a mistake: some runs are not sequentially consistent any more.
//! let mistake = Mistake::from_name(setup.protocol, setup.cores.kind, "lost-invalidation").unwrap();
//! let wrong = MachineSetup { mistake: Some(mistake), ..setup };
//! assert_eq!(wrong.run().unwrap().operations.len(), 200);
//! ```
//!
//! Everything simulated is a function of its configuration and of a seed.

mod caches;
mod client;
mod core;
mod execution;
pub mod hardware;
pub mod hunt;
mod network;
pub mod protocol;
mod setup;
mod system;

pub use caches::{CacheConfig, CacheCounts, Caches, Fault, Note};
pub use client::{Client, ClientFault, ClientOperation, ClientProgram, Instruction, history};
pub use core::{CoreBug, CoreKind, Cores};
pub use execution::{MachineEnding, execute};
pub use network::Network;
pub use setup::{MachineRun, MachineSetup, Mistake, Seen, SetupFault, UnknownBug};
pub use system::{MemoryRequest, MemorySystem, Notice};
