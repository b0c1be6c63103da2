//! The experiments, by paper.

mod contenders;
mod gcc;
mod histories;
mod kernel;
mod mr;
mod parts;
mod rf;
mod vc;
mod wsc;

use crate::Experiment;

/// All experiments, in the order of the papers and of their figures.
pub fn all() -> Vec<Box<dyn Experiment>> {
    let mut all: Vec<Box<dyn Experiment>> = vec![Box::new(kernel::OfWsc)];
    all.extend(wsc::all());
    all.extend([Box::new(parts::Saturation) as Box<dyn Experiment>, Box::new(parts::Stops)]);
    all.push(Box::new(kernel::OfGcc));
    all.extend(gcc::all());
    all.push(Box::new(parts::Tried));
    all.extend(vc::all());
    all.extend(mr::all());
    all.extend(rf::all());
    all
}
