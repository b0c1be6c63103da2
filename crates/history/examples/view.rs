//! x
use history::Execution;
use history::format::{Format, ReadOptions, open};
use std::time::Instant;
fn main() {
    let file = std::env::args().nth(1).unwrap();
    let options = ReadOptions { format: Some(Format::Text), object: None };
    let mut best = [u128::MAX; 2];
    for _ in 0..15 {
        let s = Instant::now();
        let mut reader = open(file.as_ref(), &options).unwrap();
        let h = reader.next().unwrap().unwrap();
        best[0] = best[0].min(s.elapsed().as_micros());
        let s = Instant::now();
        let e = Execution::from_history(&h).unwrap();
        best[1] = best[1].min(s.elapsed().as_micros());
        std::hint::black_box(&e);
    }
    println!("parse {} us, view {} us", best[0], best[1]);
}
