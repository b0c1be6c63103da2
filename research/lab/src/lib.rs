//! The experiments of the papers that Seriatim follows, rerun with the papers' own algorithms beside Seriatim.
//!
//! An [`Experiment`] says what is measured: its points, and what one sample of a point measures. The runner ([`run`])
//! measures sample after sample, and writes each down at once, so that a run can be stopped and resumed. In the end it
//! prints tables, writes all values as CSV and draws the plots in the form of the paper. One line says whether the
//! claim of the paper holds here.
//!
//! **A fair comparison.** All algorithms decide the same history one after the other, in rounds, in one process
//! ([`timing`]). What is not decided within the time limit, or refused, counts as the time limit. A baseline decides
//! and no more: it does not pay for the evidence of Seriatim. If two algorithms decide differently, the run fails.
//!
//! [`papers::all`] lists the experiments. [`trial`] is apart from them: it measures the heuristics of the memory
//! engines.

pub mod allocated;
mod data;
mod experiment;
mod machine_text;
mod pages;
pub mod papers;
pub mod plot;
mod report;
mod rows;
mod runner;
mod state;
pub mod table;
pub mod timing;
pub mod trial;

pub use data::keep;
pub use experiment::{About, Experiment, Judgement, Measured, Point, Role, Scale, Series, Standing, Task};
pub use machine_text::describe as machine;
pub use pages::pages;
pub use rows::{Row, Rows, geometric_mean, mean, quantiles};
pub use runner::{Finished, Options, run, select};
pub use state::State;
