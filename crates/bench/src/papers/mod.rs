//! The experiments, by paper.

mod contenders;
mod histories;
mod wsc;

use crate::Experiment;

/// All experiments, in the order of the papers and of their figures.
pub fn all() -> Vec<Box<dyn Experiment>> {
    wsc::all()
}
