//! The kernel against its definition.

use workload::hard::{self, HardShape};
use workload::{cases, memory as atomic};

use super::*;
use crate::limits::Limits;

fn hard_configs(copies: u32) -> impl Iterator<Item = hard::HardConfig> {
    [HardShape::OneGuess, HardShape::LongConflict, HardShape::TwoGuesses].into_iter().flat_map(move |shape| {
        [(false, false), (false, true), (true, false), (true, true)].map(|(side_by_side, violating)| hard::HardConfig {
            shape,
            copies,
            side_by_side,
            violating,
        })
    })
}

/// The kernel by its definition: the pairs that all store orders agree on, all of which are enumerated.
#[test]
fn the_kernel_is_what_all_store_orders_share() {
    for config in hard_configs(1) {
        let execution = Execution::from_history(&hard::history(&config)).expect("an execution");
        let found = kernel(&execution, &Budget::UNLIMITED);
        if config.violating {
            assert_eq!(found, Err(NoKernel::Violation));
            continue;
        }
        let Ok(Kernel { pairs, st, pww, kernel, .. }) = found else { panic!("{config:?}: {found:?}") };
        assert!(pww <= st && st < kernel && kernel <= pairs, "{config:?}: {found:?}");
    }
    let mut compared = 0;
    for seed in 0..cases(200) {
        let config =
            atomic::MemoryConfig { threads: 4, operations: 40, locations: 3, seed, ..atomic::MemoryConfig::default() };
        let execution = atomic::execution(&config);
        let found = kernel(&execution, &Budget::UNLIMITED).expect("an atomic memory is sequentially consistent");
        assert!(found.ccv <= found.pww && found.pww <= found.st, "seed {seed}: {found:?}");
        let frame = Frame::sequential(&execution);
        let mut pairs = Vec::new();
        assert_eq!(visit(&execution, &Budget::UNLIMITED, |pair| pairs.push(pair)), Ok(found));
        assert_eq!(pairs.len() as u64, found.pairs);
        // Each order is part of the next: what ccv orders, ccm does, and so on.
        let causality = Causality::new(&execution, &Budget::UNLIMITED).expect("an atomic memory is causal");
        let convergent = PartialStoreOrder::new(&causality, &Limits::default()).expect("it is");
        let saturated = Saturated::new(&frame, &Budget::UNLIMITED).expect("it is");
        for &Pair { first, second, weakest } in &pairs {
            let (pww, st) = (convergent.before(first, second), saturated.order.before(first.0, second.0));
            assert_eq!(weakest.is_some_and(|it| it <= KernelOrder::Pww), pww, "seed {seed}");
            assert_eq!(weakest.is_some_and(|it| it <= KernelOrder::St), st, "seed {seed}");
        }
        let choices = Choices::all(&frame).expect("there are few pairs");
        if choices.pairs.len() > 14 {
            continue;
        }
        compared += 1;
        // One bit for each pair and direction: whether some store order has it.
        let (mut forth, mut back) = (0u32, 0u32);
        for chosen in 0..1u32 << choices.pairs.len() {
            if choices.graph(|pair| Some(chosen >> pair & 1 == 1)).topological_order().is_some() {
                forth |= chosen;
                back |= !chosen;
            }
        }
        let open = forth & back & ((1 << choices.pairs.len()) - 1);
        assert_eq!(found.kernel, found.pairs - u64::from(open.count_ones()), "seed {seed}: {found:?}");
        for (at, &(a, b)) in choices.pairs.iter().enumerate() {
            let is_pair = |it: &&Pair| [(a, b), (b, a)].contains(&(it.first.0, it.second.0));
            let pair = pairs.iter().find(is_pair).expect("all pairs are visited");
            assert_eq!(pair.is_in(KernelOrder::Kernel), open >> at & 1 == 0, "seed {seed}: {pair:?}");
            // The first of a pair in the kernel is first in every store order.
            assert!(pair.weakest.is_none() || (forth >> at & 1 == 1) == (pair.first.0 == a), "seed {seed}: {pair:?}");
        }
    }
    assert!(compared > 0, "no execution was small enough");
}
