//! The experiments, by paper.

mod contenders;
mod histories;
mod mr;
mod rf;
mod wsc;

use crate::Experiment;

/// All experiments, in the order of the papers and of their figures.
pub fn all() -> Vec<Box<dyn Experiment>> {
    let mut all = wsc::all();
    all.extend(mr::all());
    all.extend(rf::all());
    all
}
