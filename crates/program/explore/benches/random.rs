//! How much a step of a random run costs, and whether it costs more if the run is longer.
//!
//! ```text
//! cargo bench -p seriatim-explore --bench random
//! ```

use std::time::Instant;

use explore::{Graph, Model, Next, Order, Program, RandomStrategy, Sampler, Step, Update, Value};

/// Threads that access a few locations, by turns: stores, loads, additions, fences.
struct Mix {
    threads: u32,
    steps: u32,
}

impl Program for Mix {
    fn threads(&self) -> u32 {
        self.threads
    }

    fn initial(&self, _location: u32) -> Value {
        0
    }

    fn next(&mut self, thread: u32, graph: &Graph) -> Next {
        let at = graph.len(thread);
        if at >= self.steps {
            return Next::Finished;
        }
        let location = (at * 7 + thread * 3) % 8;
        let order = [Order::Relaxed, Order::Acquire, Order::Release, Order::SequentiallyConsistent][at as usize % 4];
        Next::Step(match at % 11 {
            0 | 3 | 6 => Step::Write { location, order, value: Value::from(at) },
            4 => {
                let (update, failure) = (Update::Add(1), Order::Relaxed);
                Step::Rmw { location, order, failure, update, until: None }
            }
            8 => Step::Fence(Order::SequentiallyConsistent),
            _ => Step::Read { location, order, until: None },
        })
    }
}

fn main() {
    for model in [Model::C20, Model::Ra, Model::Relaxed, Model::Tso] {
        for strategy in [RandomStrategy::Uniform, RandomStrategy::Pctwm { depth: 3, history: 2 }] {
            let mut costs = Vec::new();
            for steps in [10_000_u32, 100_000, 1_000_000] {
                let mut sampler = Sampler::new(Mix { threads: 4, steps: steps / 4 }, model, strategy);
                sampler.run(0);
                let rounds = 1_000_000 / steps;
                let start = Instant::now();
                for seed in 0..u64::from(rounds) {
                    sampler.run(seed);
                }
                costs.push(start.elapsed().as_nanos() as f64 / f64::from(rounds) / f64::from(steps));
            }
            println!(
                "{model:8} {strategy:?}: a step costs {:.0} ns in runs of 10,000 steps, {:.0} of 100,000, {:.0} of \
                 1,000,000: ratio {:.2}",
                costs[0],
                costs[1],
                costs[2],
                costs[2] / costs[0]
            );
        }
    }
}
