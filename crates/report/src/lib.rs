//! Explains verdicts in words: which operations of a history clash, and why.
//!
//! You want this crate if you print the evidence of certificates yourself. The crate `seriatim` calls it for you
//! (`Decision::explain`).
//!
//! ```
//! use certificate::{Evidence, Model};
//! use history::{History, OperationId};
//!
//! let history = History::parse("[0] w x 1\n[1] r x 7\n")?;
//! let lines = report::explain(&history, Model::Sc, &Evidence::ThinAir(OperationId(1)));
//! assert_eq!(
//!     lines[0].to_string(),
//!     "thin-air read: line 2 [1] r x 7 returns 7, which nobody wrote to x (the initial value is 0)"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every operation is named by its line, and written as in the text format, which shows its thread. A chain of
//! operations is a table; each row gives the reason why it comes after the row above. Derived edges are numbered, and
//! their reasons stand below the table, down to program order and reads-from. This crate does not know how a verdict
//! was found: it explains only the evidence.
//!
//! [`story`] is the same as data: the operations, the edges between them, and the premises of each edge.
//!
//! [`drawing`] draws the place of histories among the models:
//!
//! ```
//! use report::drawing::{Drawing, Mark, Node};
//!
//! let node = |name: &str| Node { name: name.to_owned(), note: String::new(), mark: Mark::Plain, heavy: false };
//! let nodes = vec![node("sc"), node("tso")];
//! let drawing = Drawing { title: "sc implies tso".to_owned(), nodes, edges: vec![(0, 1)] };
//! assert!(drawing.to_dot().contains("tso"));
//! assert!(drawing.to_svg().starts_with("<svg"));
//! ```

mod c11;
pub mod drawing;
mod graph;
mod hint;
pub mod lanes;
mod object;
mod outline;
pub mod page;
pub mod perfetto;
mod played;
mod sources;
pub mod story;
mod tale;
mod text;
mod transaction;
mod words;

pub use graph::Graph;
pub use played::witness;
pub use story::Story;
pub use tale::{Depth, tell, wrap};
pub use text::{Line, Span, Style};
pub use transaction::anomalies;
pub use words::explain;
