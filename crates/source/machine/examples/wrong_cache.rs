//! A memory system of one's own, and a hunt for its bug: each core has a cache that a write goes through, and that no
//! other core's write ever reaches.
//!
//! `cargo run -p seriatim-machine --example wrong_cache`

use machine::{Client, Cores, MemoryRequest, MemorySystem, Notice};
use seriatim::{Model, Options, Verdict};

/// The memory, a cache for each core, and what there is to tell.
struct WrongCache {
    memory: Vec<u32>,
    caches: Vec<Vec<Option<u32>>>,
    done: Vec<Notice>,
}

impl MemorySystem for WrongCache {
    fn issue(&mut self, core: u32, MemoryRequest { tag, kind, location, value }: MemoryRequest) -> bool {
        let cached = &mut self.caches[core as usize][location as usize];
        let read = *cached.get_or_insert(self.memory[location as usize]);
        if kind.writes() {
            // The copies of other cores should be invalidated here.
            *cached = Some(value);
            self.memory[location as usize] = value;
        }
        self.done.push(Notice::Done { core, tag, value: read });
        true
    }

    fn tick(&mut self) {}

    fn poll(&mut self) -> Option<Notice> {
        self.done.pop()
    }
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let make = |client: &Client| WrongCache {
        memory: vec![0; client.locations as usize],
        caches: vec![vec![None; client.locations as usize]; client.threads as usize],
        done: Vec::new(),
    };
    let options = Options::default();
    let hunted = machine::hunt::hunt(0..1000, &Client::default(), &Cores::default(), make, |run| {
        seriatim::check(&run.history(), Model::Sc, &options).is_ok_and(|it| it.verdict == Verdict::Violation)
    });
    let (number, run) = hunted.found.ok_or("nothing was found")?;
    let shrunk = seriatim::shrink(&run.history(), Model::Sc, &options)?;
    println!("execution {number}: {}", shrunk.decision.explain(&shrunk.history));
    Ok(())
}
