//! Explains verdicts in words: which operations of a history clash, and why.
//!
//! You want this crate if you print the evidence of certificates yourself. The crate `seriatim` calls it for you
//! (`Decision::explain`).
//!
//! ```
//! use model::{Evidence, Model};
//! use history::{History, OperationId};
//!
//! let history = format::parse("[0] w x 1\n[1] r x 7\n")?;
//! let lines = report::explain(&history, Model::Sc, &Evidence::ThinAir(OperationId(1)));
//! assert_eq!(
//!     lines[0].to_string(),
//!     "thin-air read: line 2 [1] r x 7 returns 7, which nobody wrote to x (the initial value is 0)"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Story`] is what the evidence says, as data: the operations, the edges between them, and the premises of each
//! edge. It is the only thing here that understands evidence, and it does not know how a verdict was found. (A
//! [`page`] has the orders of a witness once more, as columns of numbers.) All else shows it: [`explain`] and [`tell`]
//! in words, [`lanes`] and [`StoryGraph`] as drawings, [`page`] in a browser. Every operation is named by its line, and
//! written as in the text format, which shows its thread.
//!
//! [`drawing`] draws the place of histories among the models:
//!
//! ```
//! use report::drawing::{DrawnNode, Drawing, NodeMark};
//!
//! let node = |name: &str| {
//!     let (name, note) = (name.to_owned(), String::new());
//!     DrawnNode { name, note, mark: NodeMark::Plain, heavy: false }
//! };
//! let nodes = vec![node("sc"), node("tso")];
//! let drawing = Drawing { title: "sc implies tso".to_owned(), nodes, edges: vec![(0, 1)] };
//! assert!(drawing.to_dot().contains("tso"));
//! assert!(drawing.to_svg().starts_with("<svg"));
//! ```

pub mod drawing;
mod graph;
pub mod lanes;
pub mod page;
pub mod perfetto;
mod played;
pub mod story;
mod tale;
mod text;

pub use graph::StoryGraph;
pub use played::witness;
pub use story::{Story, anomalies};
pub use tale::{Depth, explain, tell, wrap};
pub use text::{Line, Span, Style};
