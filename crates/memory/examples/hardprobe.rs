use certificate::Model;
use memory::{Checker, Options, Strategy};
use workload::hard::*;
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    s.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e6
}
fn main() {
    let copies: u32 = std::env::args().nth(1).unwrap().parse().unwrap();
    let strategies: Vec<Strategy> = std::env::args().skip(2).map(|s| Strategy::from_name(&s).unwrap()).collect();
    for figure in [Figure::Three, Figure::Four, Figure::Five] {
        for side_by_side in [false, true] {
            for violating in [false, true] {
                let h = workload::hard::history(&Config { figure, copies, side_by_side, violating });
                let e = history::Execution::from_history(&h).unwrap();
                let wsc = memory::check(Model::Wsc, &e, &Options::default());
                for &s in &strategies {
                    let c0 = cpu();
                    let mut c = Checker::new(
                        &e,
                        &Options {
                            witness: true,
                            deadline: Some(std::time::Instant::now() + std::time::Duration::from_secs(20)),
                        },
                    );
                    c.set_strategy(s);
                    let d = c.check(Model::Sc);
                    let c1 = cpu();
                    let v = certificate::Certificate::new(0, &h, Model::Sc, &d).map(|c| certificate::verify(&c, &h));
                    println!(
                        "{figure:?} side {side_by_side} violating {violating}: {} ops {} threads wsc {:?}; {}: {:?} {} {:.0} ms; {:?}",
                        e.len(),
                        e.thread_count(),
                        wsc.verdict,
                        s.name(),
                        d.verdict,
                        d.strategy,
                        c1 - c0,
                        v
                    );
                }
            }
        }
    }
}
