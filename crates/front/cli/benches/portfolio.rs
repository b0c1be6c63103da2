//! Measures what other models, components and clocks as lists save: each model against one that is cheaper.
//!
//! `cargo bench -p seriatim-cli --bench portfolio`. Histories are written thread by thread. The measurements of one row
//! take turns, and each time is the least of several rounds. The last column is the time of the first measurement,
//! divided by that of the second.
//!
//! - `wccm` against `sc`, with many threads: `wsc` decides `wccm` where it holds, and `ccv` where that fails;
//! - the causal family, `wra`, `ra` and `sra` against `rc20`, on 10,000 threads of 10 operations: clocks are lists;
//! - `sc` on 500 hard copies side by side, the last of them a violation, against 50: components are decided one by one;
//! - `sc`, `ccm` and `wsc` with 100,000 locations against 1,000;
//! - `sc` on 1,000 threads of 20 operations against `wsc`: the search against saturation. This takes long, and is only
//!   measured if `-- threads` is given.

mod common;

use common::in_turns;
use history::Execution;
use memory::MemoryOptions;
use model::{Model, Verdict};
use workload::hard::{self, HardShape};
use workload::memory::{MemoryConfig, history, thread_by_thread};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 3;

/// An execution, and what to call it.
struct Input {
    name: String,
    execution: Execution,
}

fn input(config: &MemoryConfig) -> Input {
    let execution = Execution::from_history(&history(config, thread_by_thread(config))).expect("an execution");
    let MemoryConfig { threads, locations, operations, perturb, .. } = config;
    let perturbed = if *perturb > 0 { ", perturbed" } else { "" };
    Input { name: format!("{operations} operations, {threads} threads, {locations} locations{perturbed}"), execution }
}

fn hard(shape: HardShape, copies: u32) -> Input {
    let config = hard::HardConfig { shape, copies, side_by_side: true, violating: true };
    let execution = Execution::from_history(&hard::history(&config)).expect("an execution");
    Input { name: format!("{copies} copies of {shape:?} side by side"), execution }
}

/// Measures two models, each on its input, and prints one row.
fn compare(first: (Model, &Input), second: (Model, &Input)) {
    let decide = |(model, input): (Model, &Input)| memory::check(model, &input.execution, &MemoryOptions::default());
    let decisions = [first, second].map(decide);
    let mut runs = [first, second]
        .map(|side| -> Box<dyn FnMut()> { Box::new(move || assert_ne!(decide(side).verdict, Verdict::Unknown)) });
    let times = in_turns(ROUNDS, &mut runs);
    for (at, (model, input)) in [first, second].into_iter().enumerate() {
        let decision = &decisions[at];
        print!(
            "{model:>5} on {}: {:>9.2?}, {} by {}; ",
            input.name,
            times[at],
            decision.verdict.name(),
            decision.strategy
        );
    }
    println!("{:.2}", times[0].as_secs_f64() / times[1].as_secs_f64());
}

fn main() {
    let shape = |threads, locations, operations| MemoryConfig {
        threads,
        locations,
        operations,
        seed: 1,
        ..MemoryConfig::default()
    };
    for (threads, locations, operations) in [(128, 64, 250_000), (64, 2, 100_000), (128, 4, 100_000)] {
        for perturb in [0, 3] {
            let input = input(&MemoryConfig { perturb, ..shape(threads, locations, operations) });
            compare((Model::Wccm, &input), (Model::Sc, &input));
        }
    }
    let many = input(&shape(10_000, 64, 100_000));
    let by_lists = [Model::Cc, Model::Ccv, Model::Cm, Model::Ccm, Model::Wccm, Model::Wra, Model::Ra, Model::Sra];
    for model in by_lists {
        compare((model, &many), (Model::Rc20, &many));
    }
    for shape in [HardShape::TwoGuesses, HardShape::TwoGuessesOfRmws] {
        compare((Model::Sc, &hard(shape, 500)), (Model::Sc, &hard(shape, 50)));
    }
    let [wide, narrow] = [100_000, 1_000].map(|locations| input(&shape(16, locations, 250_000)));
    for model in [Model::Sc, Model::Ccm, Model::Wsc] {
        compare((model, &wide), (model, &narrow));
    }
    if std::env::args().any(|argument| argument == "threads") {
        let many = input(&shape(1_000, 64, 20_000));
        compare((Model::Sc, &many), (Model::Wsc, &many));
    }
}
