//! Seriatim tells whether a recorded concurrent execution is allowed by a consistency model, shows why, and proves it.
//!
//! You want this crate if you have a record of what concurrent threads or clients did, and ask whether a memory, a
//! database or a data structure behaved as its consistency model promises. Rust code with atomics can also be explored,
//! in all executions that a memory model allows ([`programs`]).
//!
//! A [`History`] is what was recorded: reads and writes of a memory, calls and returns of an object, or transactions. A
//! [`Model`] says which histories are allowed. [`check`] decides whether a model allows a history. Its [`Decision`]
//! explains itself in words, and has a certificate:
//!
//! ```
//! use seriatim::{History, Model, Options, Verdict};
//!
//! // Bob sees the second write of Alice, but not the first.
//! let history = seriatim::parse("[a] w row 1\n[a] w flag 1\n[b] r flag 1\n[b] r row 0\n")?;
//! let decision = seriatim::check(&history, Model::Sc, &Options::default())?;
//! assert_eq!(decision.verdict, Verdict::Violation);
//! assert_eq!(
//!     decision.explain(&history).to_string(),
//!     "\
//! sc: violation
//!   stale read: line 4 [b] r row 0 returns the initial value of row, which line 1 [a] w row 1 had overwritten:
//!     line 1  [a] w row 1
//!     line 2  [a] w flag 1  later in thread a
//!     line 3  [b] r flag 1  reads from line 2
//!     line 4  [b] r row 0   later in thread b"
//! );
//!
//! // Anyone can verify the certificate, without trust in the checkers.
//! let certificate = decision.certificate(0, &history).unwrap();
//! seriatim::verify(&certificate, &history)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which of them do I want?
//!
//! | you have | you want |
//! | --- | --- |
//! | a file, or a string | [`load`], [`parse`]; [`load_all`] for a file of many histories |
//! | one question about a history | [`check`] |
//! | several models and one history | [`Checker`], which does the work that the models share only once |
//! | the place of a history among all memory models | [`classify`] |
//! | a page to show to others, or to attach to a bug report | [`write_page`] |
//! | an object of your own, such as a bank account | [`object`]: write its sequential specification |
//! | Rust code with atomics, to be run in all ways that a memory model allows | [`programs`] |
//! | threads of a running program | [`record`]: a recorder to put around the calls |
//! | events that come one by one, without end | [`monitor`]: reports a violation at once; [`Watch`] for lines of text |
//! | an execution graph that grows, in a model checker | [`memory::c11::C11Checker`] and [`memory::c11::Incremental`] |
//! | histories to try things with | [`workload`]: simulated memories and objects, right and wrong ones |
//!
//! # Features
//!
//! Both are on by default. Without them the crate needs neither a C compiler nor a SAT solver.
//!
//! | feature | what it adds |
//! | --- | --- |
//! | `compression` | reads files that gzip or zstd have compressed; without it such a file is an input error |
//! | `sat` | what asks a SAT solver: [`memory::kernel`], and a second way to decide priority queues |
//!
//! The modules below are the crates of the project, each with a front page of its own. The command `seriatim` is in the
//! package `seriatim-cli`.

mod checker;
mod decision;
mod misfit;
mod options;
mod page;
mod prefix;
pub mod programs;
mod shrink;
mod watch;

pub use ::verify as verifier;
pub use attribute::test;
pub use format;
pub use history;
pub use memory;
pub use model;
pub use monitor;
pub use object;
pub use record;
pub use report;
pub use transaction;
pub use workload;

pub use ::verify::{Refusal, verify};
pub use format::{ReadError, load, load_all, parse};
pub use history::{History, OperationId};
pub use model::{Cancel, Certificate, Evidence, Model, Verdict};

pub use checker::{Checker, check, classify, default_model, fitting};
pub use decision::{Decision, Explanation};
pub use misfit::{Cause, Misfit};
pub use options::Options;
pub use page::{Findings, write_page};
pub use prefix::{Prefix, longest_prefix};
pub use shrink::{ShrinkError, Shrunk, shrink};
pub use watch::{Wanted, Watch};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
