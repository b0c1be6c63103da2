//! Seriatim tells whether a recorded concurrent execution is allowed by a consistency model, shows why, and proves it.
//!
//! This is the library behind the command of the same name: its crates under one roof. A history is read by
//! [`history::format`], seen as an [`Execution`](history::Execution), decided by [`memory::check`], told in words by
//! [`report::explain`], and proved by a [`certificate`], which anyone can verify without trust in the checkers.
//!
//! ```
//! use seriatim::certificate::{Certificate, Model, Verdict, verify};
//! use seriatim::history::format::{Format, ReadOptions, read};
//! use seriatim::{history::Execution, memory, report};
//!
//! // Bob sees the second write of Alice, but not the first.
//! let text = "[alice] w row 1\n[alice] w flag 1\n[bob] r flag 1\n[bob] r row 0\n";
//! let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
//! let history = read(Box::new(text.as_bytes()), &options).next().unwrap()?;
//!
//! let execution = Execution::from_history(&history)?;
//! let decision = memory::check(Model::Cc, &execution, &memory::Options::default());
//! assert_eq!(decision.verdict, Verdict::Violation);
//!
//! let explanation = report::explain(&history, Model::Cc, decision.evidence.as_ref().unwrap());
//! assert_eq!(
//!     explanation[0].to_string(),
//!     "stale read: line 4 [bob] r row 0 returns the initial value of row, \
//!      which line 1 [alice] w row 1 had overwritten:"
//! );
//!
//! let certificate = Certificate::new(0, &history, Model::Cc, &decision).unwrap();
//! verify(&certificate, &history)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use certificate;
pub use history;
pub use memory;
pub use monitor;
pub use object;
pub use record;
pub use report;
pub use workload;
