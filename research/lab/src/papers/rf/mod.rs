//! RF: *Optimal Reads-From Consistency Checking for C11-Style Memory Models*, section 5 and appendix B.

mod explored;
mod programs;
mod sampled;
mod shapes;
mod triangles;

use explore::DataAccess;
use history::History;
use workload::memory::{MemoryConfig, MemoryStep};

use crate::Experiment;

/// The history of these accesses, in their order. Each write writes a value of its own.
fn history(accesses: &[DataAccess]) -> History {
    let step = |(number, access): (u32, &DataAccess)| {
        let DataAccess { thread, kind, location, order, source } = *access;
        MemoryStep { thread, location, kind, order, read: source.map_or(0, |source| source + 1), written: number }
    };
    let most = |of: fn(&DataAccess) -> u32| accesses.iter().map(of).max().map_or(0, |most| most + 1);
    let (threads, locations) = (most(|it| it.thread), most(|it| it.location));
    let config = MemoryConfig { threads, locations, ..MemoryConfig::default() };
    workload::memory::history(&config, (1..).zip(accesses).map(step))
}

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
