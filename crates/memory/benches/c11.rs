//! tmp
use std::time::Instant;
use certificate::Model;
use memory::c11::Checker;
use workload::view_machine::{Config, Machine, execution};
fn cpu() -> f64 { std::fs::read_to_string("/proc/self/schedstat").unwrap().split(' ').next().unwrap().parse::<f64>().unwrap() }
fn main() {
    let n: u32 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1_000_000);
    for machine in [Machine::ReleaseAcquire, Machine::Rc20] {
    for stale in [0, 20] {
        let config = Config { machine, threads: 8, operations: n, locations: 1000, writes: 30, rmws: 20, fences: if machine == Machine::Rc20 {5} else {0}, stale, ..Config::default() };
        let t = Instant::now();
        let e = execution(&config);
        println!("{machine:?} stale {stale} gen {:?}", t.elapsed());
        let mut c = Checker::new();
        for model in if std::env::var("ONLY").is_ok() {vec![Model::Ra; 10]} else {vec![Model::Ra, Model::Rc20, Model::Relaxed, Model::Wra]} {
            if machine == Machine::Rc20 && model == Model::Ra {continue}
            for _ in 0..3 {
                let t = cpu();
                let v = c.allows(model, &e);
                let d = cpu() - t;
                println!("  {model}: {v:?} {:.1} ns/event {}", d / e.len() as f64, "");
            }
        }
    }
    }
}
