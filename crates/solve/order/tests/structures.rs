//! The structure that the benchmark compares with computes the same order.

#[path = "../benches/structures/suffix_minima.rs"]
mod suffix_minima;
#[path = "../benches/structures/workload.rs"]
mod workload;

use order::Saturation;
use order::lanes::Lane;
use order::saturation::{Derived, Rules};
use suffix_minima::SuffixMinima;
use workload::Workload;

struct NoRules;

impl<L> Rules<L> for NoRules {
    fn entered(&mut self, _: &Saturation<L>, _: u32, _: &mut Vec<Derived>) {}
    fn grown(&mut self, _: &Saturation<L>, _: u32, _: usize, _: u32, _: u32, _: &mut Vec<Derived>) {}
}

#[test]
fn clocks_and_suffix_minima_agree() {
    agree::<u32>();
    agree::<u8>();
}

fn agree<L: Lane>() {
    for seed in 0..60 {
        // Enough chains that clocks have several groups of lanes.
        let chains = [2, 3, 5, 17, 40][seed as usize % 5];
        let workload = Workload::new(chains, 6, 120, 30, seed);
        let mut clocks = Saturation::<L>::default();
        clocks.restart(&workload.starts, |_| std::iter::empty());
        let mut minima = SuffixMinima::new(&workload.starts);
        for &event in &workload.line {
            assert_eq!(clocks.enter(event, std::iter::empty(), &mut NoRules), Ok(()));
        }
        clocks.record();
        let count = workload.line.len() as u32;
        for (at, &(_, from, to)) in workload.edges.iter().enumerate() {
            // Some edges are turned round, so that some close a cycle.
            let (from, to) = if at % 7 == 0 { (to, from) } else { (from, to) };
            let mark = clocks.mark();
            let inserted = clocks.insert(Derived { from, to, reason: 0 }, &mut NoRules).is_ok();
            if !inserted {
                clocks.undo(mark);
            }
            assert_eq!(inserted, minima.insert(from, to), "seed {seed}, edge {at}");
            if at % 16 == 0 {
                for pair in 0..count * count {
                    let (a, b) = (pair / count, pair % count);
                    assert_eq!(clocks.before(a, b), minima.before(a, b), "seed {seed}, edge {at}: {a}, {b}");
                }
            }
        }
    }
}
