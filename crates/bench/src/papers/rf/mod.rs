//! RF: *Optimal Reads-From Consistency Checking for C11-Style Memory Models*, section 5 and appendix B.

mod explored;
mod programs;
mod sampled;
mod shapes;
mod triangles;

use crate::Experiment;

/// The experiments of the paper.
pub(super) fn all() -> Vec<Box<dyn Experiment>> {
    vec![
        Box::new(explored::RELEASE_ACQUIRE),
        Box::new(sampled::Sampled),
        Box::new(explored::WITH_RELAXED),
        Box::new(shapes::Shapes),
        Box::new(triangles::Triangles),
    ]
}
