//! Explores C and C++ programs as they are, by the interface of the compiler's thread sanitizer.
//!
//! [`Compiled`] is a program that was compiled with the sanitizer's instrumentation, and [`explore()`] visits every
//! execution that a model allows, or some at random. A small library stands in the place of the sanitizer's runtime
//! (`shim.rs`): each access of memory and each call that has to do with threads, memory or the end of the program comes
//! to the [`Machine`](machine::Machine), which is a program to [`explore::Exploration`] as litmus tests and Rust code
//! are. All of it happens in a child process, so a program that crashes or hangs ends nothing but the child.
//!
//! | module | |
//! | --- | --- |
//! | `symbols`, `shim`, `switch` | the functions of which the calls come to us; how they come; stacks |
//! | `compile`, `module`, `elf`, `lines` | the program as files: compiled, loaded, its names, its lines |
//! | `space`, `places` | its memory, and which memory is which location |
//! | `machine`, `thread`, `calls`, `spins` | its threads, what each call does, and loops that wait |
//! | `replay`, `stacks` | its threads as the exploration sees them, and where they are in the code |
//! | `search`, `child` | the exploration, and the process in which it runs |
//!
//! It needs Linux on x86-64 with glibc, and gcc or clang.

#![cfg_attr(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")), allow(dead_code))]

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod calls;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod child;
mod compile;
mod elf;
mod finding;
mod lines;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod machine;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod module;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod places;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod replay;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod search;
mod shim;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod space;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod spins;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod stacks;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod switch;
mod symbols;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod thread;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use explore::{Model, RandomStrategy};
use serde::{Deserialize, Serialize};

pub use compile::{COMPILE_FLAGS, Compiled, LINK_FLAGS, is_program};
pub use finding::DefectKind;

/// Which executions to visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Every execution, each once.
    Exhaustive,
    /// One at random for each seed of a range.
    Random {
        /// How a run chooses.
        strategy: RandomStrategy,
        /// The seeds.
        seeds: std::ops::Range<u64>,
    },
    /// The one that the token of a finding tells.
    Replay(String),
    /// None: so many random walks tell about how many there are.
    Estimate(u64),
}

/// How to explore a program.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The model.
    pub model: Model,
    /// Which executions.
    pub mode: Selection,
    /// How many steps a thread may have that are no plain accesses.
    pub max_steps: u32,
    /// How many threads there may be.
    pub max_threads: u32,
    /// How many executions to visit at most.
    pub max_executions: Option<u64>,
    /// How long it may take.
    pub timeout: Duration,
    /// The bytes of a stack.
    pub stack: usize,
    /// The bytes that a thread may allocate.
    pub heap: usize,
    /// Whether memory that is left at the end is a finding.
    pub leaks: bool,
    /// How often a weak compare-exchange may fail, and a wait may end, without a reason: at each place in the code of a
    /// thread, in an execution.
    pub spurious: u32,
    /// How often the time of a wait may run out, counted in the same way.
    pub timeouts: u32,
    /// Whether executions are left out that differ alone in the names of threads that one thread has started right
    /// after each other, with one function and one argument. Nothing else may tell these threads apart.
    pub symmetry: bool,
    /// The arguments of the program, without its name.
    pub arguments: Vec<String>,
}

impl Setup {
    /// Every execution under a model.
    pub fn new(model: Model) -> Self {
        Self {
            model,
            mode: Selection::Exhaustive,
            max_steps: 1000,
            max_threads: 64,
            max_executions: None,
            timeout: Duration::from_secs(60),
            stack: 1 << 20,
            heap: 64 << 20,
            leaks: false,
            spurious: 1,
            timeouts: 1,
            symmetry: false,
            arguments: Vec::new(),
        }
    }
}

/// A place in the code of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeCall {
    /// The file, as the compiler was given it.
    pub file: String,
    /// The line, from 1; 0 if it is not known.
    pub line: u32,
    /// The function.
    pub function: String,
}

/// What a thread does somewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePlace {
    /// The thread.
    pub thread: u32,
    /// Where it is: the innermost call that is not in a header of the system.
    pub call: CodeCall,
    /// All calls, the innermost first.
    pub stack: Vec<CodeCall>,
}

impl std::fmt::Display for CodePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let CodeCall { file, line, function } = &self.call;
        write!(f, "thread {} at {file}:{line} ({function})", self.thread)
    }
}

/// What is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Defect {
    /// Its kind.
    pub kind: DefectKind,
    /// It in one line, without the places.
    pub message: String,
    /// Where it is in the code.
    pub places: Vec<CodePlace>,
}

/// What an exploration has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramVerdict {
    /// The executions in which all threads have finished.
    pub executions: u64,
    /// Those in which some thread cannot go on.
    pub blocked: u64,
    /// Those in which a thread had too many steps.
    pub bounded: u64,
    /// The first finding. The exploration stops there.
    pub finding: Option<Defect>,
    /// Whether every execution was visited to its end.
    pub is_complete: bool,
    /// How many threads there were at most.
    pub threads: u32,
    /// How often the program has called us, in all executions and all replays.
    pub hooks: u64,
    /// The steps of the execution with the finding, in lanes.
    pub lanes: String,
    /// What repeats it.
    pub token: Option<String>,
    /// The seed with which it was found.
    pub seed: Option<u64>,
    /// A weak compare-exchange could have failed without a reason once more: it did so only as often as told, and 0
    /// times if the compiler does not say which are weak.
    pub spurious_failures: Option<u32>,
    /// A wait could have ended without a reason once more, in the same way.
    pub spurious_wakes: Option<u32>,
    /// The time of a wait could have run out once more, in the same way.
    pub timeouts: Option<u32>,
    /// What the program does that is not supported.
    pub refused: Option<String>,
    /// Why not every execution was visited.
    pub reason: Option<String>,
    /// About how many executions there are, if not every one was visited: the complete ones, and all.
    pub estimate: Option<(u64, u64)>,
}

/// A program cannot be explored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotExplored {
    /// This is another platform.
    #[error("C and C++ programs can be explored on Linux on x86-64 with glibc, and nowhere else yet")]
    Platform,
    /// A compiler failed.
    #[error("cannot compile {}: {compiler} {how}", file.display())]
    Compiler {
        /// The file.
        file: PathBuf,
        /// The compiler.
        compiler: String,
        /// How it ended.
        how: String,
    },
    /// A file among others is no source.
    #[error("{}: a compiled program is explored alone", file.display())]
    Mixed {
        /// The file.
        file: PathBuf,
    },
    /// A file is no program that can be loaded.
    #[error("{}: this was not linked with the flags that `--libs` prints", file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
    },
    /// A file cannot be written.
    #[error("the folder for the compiled program cannot be written: {0}")]
    Folder(io::Error),
    /// There is no child process.
    #[error("no process can be started for the program: {0}")]
    Child(io::Error),
    /// The program cannot be loaded, or the exploration has failed.
    #[error("{0}")]
    Program(String),
}

/// Explores a program.
pub fn explore(program: &Compiled, options: &Setup) -> Result<ProgramVerdict, NotExplored> {
    explore_watched(program, options, &mut |_, _| {})
}

/// The same. Some times in a second a listener is told how many executions were visited, and about how many there are
/// as soon as that is known.
pub fn explore_watched(
    program: &Compiled,
    options: &Setup,
    listener: &mut dyn FnMut(u64, Option<u64>),
) -> Result<ProgramVerdict, NotExplored> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    return child::explore(program, options, listener);
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
    {
        let _ = (program, options, listener);
        Err(NotExplored::Platform)
    }
}
