use certificate::Model;
use memory::{Interrupt, Options, check};
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    s.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e6
}
fn main() {
    let a: Vec<u64> = std::env::args().skip(1).map(|s| s.parse().unwrap()).collect();
    let config = workload::memory::Config {
        operations: a[0] as u32,
        threads: a[1] as u32,
        locations: a[2] as u32,
        writes: a[3] as u32,
        seed: a[4],
        perturb: a[5] as u32,
        rmws: 0,
    };
    let e = workload::memory::execution(&config);
    let interrupt = Interrupt::never();
    let c0 = cpu();
    let s = memory::sc::saturate::Saturated::new(&e, interrupt);
    let c1 = cpu();
    match s {
        Ok(s) => {
            let (edges, joins) = (s.order.edge_count(), s.order.joins);
            let mut search = memory::sc::search::Search::new(&e, s);
            let o = search.run(interrupt);
            let c2 = cpu();
            println!(
                "{a:?} saturate {:.0} ms, edges {edges} joins {joins}; search {:.0} ms {} {:?}",
                c1 - c0,
                c2 - c1,
                match o {
                    memory::sc::search::Outcome::Found(_) => "found",
                    memory::sc::search::Outcome::Refuted(_) => "refuted",
                    _ => "interrupted",
                },
                search.effort
            );
        }
        Err(_) => {
            println!("{a:?} refused {:.0} ms", c1 - c0);
            let d = check(Model::Sc, &e, &Options { witness: true, deadline: None });
            let c2 = cpu();
            if let Some(certificate::Evidence::Cycle(d)) = d.evidence {
                println!("with derivation {:.0} ms: {} steps cycle {}", c2 - c1, d.steps.len(), d.cycle.len());
            }
        }
    }
}
