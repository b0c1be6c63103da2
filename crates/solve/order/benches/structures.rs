//! Vector clocks with a worklist against suffix minima for each pair of chains, on the same edges. The benchmark
//! measures what each structure costs to keep a partial order closed. `cargo bench -p seriatim-order --bench
//! structures`.

#[path = "structures/suffix_minima.rs"]
mod suffix_minima;
#[path = "structures/workload.rs"]
mod workload;

use std::time::{Duration, Instant};

use order::Saturation;
use order::saturation::{Derived, Rules};
use suffix_minima::SuffixMinima;
use workload::Workload;

const RUNS: usize = 3;

struct NoRules;

impl Rules for NoRules {
    fn entered(&mut self, _: &Saturation, _: u32, _: &mut Vec<Derived>) {}
    fn grown(&mut self, _: &Saturation, _: u32, _: usize, _: u32, _: u32, _: &mut Vec<Derived>) {}
}

fn clocks(workload: &Workload) -> usize {
    let mut order = Saturation::new(&workload.starts, |_| std::iter::empty());
    let mut edges = workload.edges.iter().peekable();
    for (at, &event) in workload.line.iter().enumerate() {
        order.enter(event, std::iter::empty(), &mut NoRules).expect("no edges, no cycle");
        while let Some(&(_, from, to)) = edges.next_if(|edge| edge.0 == at + 1) {
            order.insert(Derived { from, to, reason: 0 }, &mut NoRules).expect("edges follow the line");
        }
    }
    order.edge_count()
}

fn minima(workload: &Workload) -> usize {
    let mut order = SuffixMinima::new(&workload.starts);
    workload.edges.iter().filter(|&&(_, from, to)| order.insert(from, to)).count()
}

fn least(mut run: impl FnMut() -> usize) -> Duration {
    let timed = |_| {
        let start = Instant::now();
        std::hint::black_box(run());
        start.elapsed()
    };
    (0..RUNS).map(timed).min().unwrap_or_default()
}

fn main() {
    for (chains, length) in [(4, 50_000), (16, 12_500), (64, 3_125)] {
        let workload = Workload::new(chains, length, 70, 8 * chains as usize, 1);
        let (clocks, minima) = (least(|| clocks(&workload)), least(|| minima(&workload)));
        println!(
            "{chains:>3} chains of {length:>5}, {} edges: clocks {clocks:>8.2?}, \
             suffix minima {minima:>8.2?} = {:.1} times",
            workload.edges.len(),
            minima.as_secs_f64() / clocks.as_secs_f64()
        );
    }
}
