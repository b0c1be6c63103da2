//! Section 4 of wSC: which procedure finds which pair of the kernel, and which misses it.

use baseline::literal::{Rule, Saturation};
use history::Execution;
use history::execution::{EventId, ExecutionBuilder, Kind};
use memory::Budget;
use memory::kernel::{self, KernelOrder};
use workload::hard::{self, HardShape};
use workload::{cases, memory as atomic};

const WSC: Saturation = Saturation { rule: Rule::Wsc, guesses: 0 };
const SIX: Saturation = Saturation { rule: Rule::SixWrites, guesses: 0 };
const fn guess(guesses: u32) -> Saturation {
    Saturation { rule: Rule::Wsc, guesses }
}

/// A history of the corpus, and the pairs of its kernel that the paper speaks of, by the places of the writes.
struct Claim {
    name: &'static str,
    pairs: &'static [(u32, u32)],
    finds: &'static [Saturation],
    misses: &'static [Saturation],
}

const CLAIMS: &[Claim] = &[
    // x = 4 before x = 2. The pattern of six writes is made for it, and a guess finds it.
    Claim { name: "wsc-3", pairs: &[(3, 2)], finds: &[SIX, guess(1), guess(2)], misses: &[WSC] },
    // The family: with a longer cycle the pattern does not fit, a guess still does.
    Claim { name: "wsc-4-3", pairs: &[(4, 3)], finds: &[guess(1), guess(2)], misses: &[WSC, SIX] },
    Claim { name: "wsc-4-4", pairs: &[(5, 4)], finds: &[guess(1), guess(2)], misses: &[WSC, SIX] },
    // x = 1 before x = 2, and t = 2 before t = 1. The paper says that one guess finds neither. That is so if a guess is
    // only looked at for a cycle. If saturation goes on after it, x = 2 before x = 1 forces t = 1 before t = 2 in one
    // block, and t = 2 before t = 1 in another.
    Claim { name: "wsc-5", pairs: &[(1, 4), (9, 7)], finds: &[guess(1), guess(2)], misses: &[WSC, SIX] },
];

#[test]
fn the_claims_of_section_4() {
    let corpus = oracle::corpus::corpus();
    for Claim { name, pairs, finds, misses } in CLAIMS {
        let execution = &corpus.iter().find(|entry| entry.name == *name).expect("an entry").execution;
        let has = |saturation: &Saturation, &(first, second): &(u32, u32)| {
            let order = saturation.order(execution, &Budget::UNLIMITED).expect("no limit").expect("it is sc");
            assert!(!order.has(second, first), "{name}, {saturation:?}");
            order.has(first, second)
        };
        // They are in the kernel, and the saturation of wSC leaves them open.
        let mut open = Vec::new();
        kernel::visit(execution, &Budget::UNLIMITED, |pair| {
            if pair.weakest == Some(KernelOrder::Kernel) {
                open.push((pair.first.0, pair.second.0));
            }
        })
        .expect("it is sc");
        assert!(pairs.iter().all(|pair| open.contains(pair)), "{name}: {open:?}");
        for pair in *pairs {
            println!("{name} {pair:?}: {:?}", [WSC, SIX, guess(1), guess(2)].map(|it| has(&it, pair)));
            assert!(finds.iter().all(|it| has(it, pair)), "{name}: {pair:?} is to be found");
            assert!(!misses.iter().any(|it| has(it, pair)), "{name}: {pair:?} is to be missed");
        }
    }
}

/// Figure 5 with all four ways impossible, and Figure 1c: saturation refutes neither, the pattern of six writes the
/// latter, one guess both.
#[test]
fn a_guess_refutes_what_saturation_does_not() {
    let corpus = oracle::corpus::corpus();
    for (name, by_six) in [("wsc-5-closed", false), ("wsc-1c", true)] {
        let execution = &corpus.iter().find(|entry| entry.name == name).expect("an entry").execution;
        let refutes = |it: Saturation| it.order(execution, &Budget::UNLIMITED).expect("no limit").is_none();
        assert_eq!([WSC, SIX, guess(1)].map(refutes), [false, by_six, true], "{name}");
    }
}

/// As Figure 5, with three pairs of writes in place of two. Each of seven blocks forbids one of the eight ways to order
/// them. A block is as in Figure 4 with three locations, but each of its three conflicts hangs on a pair of its own. So
/// two pairs must be known before a block says anything about the third. The pairs are the first six writes.
fn three_pairs() -> (Execution, [(u32, u32); 3]) {
    let mut steps: Vec<Vec<(Kind, u32, u32)>> = vec![Vec::new(); 6];
    let mut location = 3;
    // The way that is left has 0 before 1 in each pair.
    for block in 1..8_u32 {
        let first = |pair: u32| block >> pair & 1;
        for pair in 0..3 {
            // What the first write of the pair comes after.
            steps[(2 * pair + first(pair)) as usize].push((Kind::Write, location + pair, 1));
            // Who saw the second write overwrites it, and does not see that another was overwritten.
            steps.push(vec![
                (Kind::Read, pair, 1 - first(pair) + 1),
                (Kind::Write, location + pair, 2),
                (Kind::Read, location + (pair + 1) % 3, 1),
            ]);
        }
        location += 3;
    }
    for (thread, steps) in steps.iter_mut().take(6).enumerate() {
        steps.push((Kind::Write, thread as u32 / 2, thread as u32 % 2 + 1));
    }
    let mut builder = ExecutionBuilder::new();
    let (mut writes, mut reads) = (rustc_hash::FxHashMap::default(), Vec::new());
    for (thread, steps) in steps.iter().enumerate() {
        for &(kind, location, value) in steps {
            let event = builder.push(thread as u32, kind, location);
            match kind {
                Kind::Write => drop(writes.insert((location, value), event)),
                _ => reads.push((event, (location, value))),
            }
        }
    }
    for (read, source) in reads {
        builder.read_from(read, Some(writes[&source]));
    }
    // The builder numbers the events thread by thread, as they are pushed.
    let pairs = [0, 1, 2].map(|pair| (writes[&(pair, 1)] as u32, writes[&(pair, 2)] as u32));
    (builder.build(), pairs)
}

/// One guess finds none of the three pairs, a guess of two finds all: what the paper says of Figure 5.
#[test]
fn some_kernels_need_two_guesses() {
    let (execution, pairs) = three_pairs();
    let decision = memory::check(model::Model::Sc, &execution, &memory::MemoryOptions::default());
    assert_eq!(decision.verdict, model::Verdict::Consistent);
    for (saturation, is_found) in [(WSC, false), (SIX, false), (guess(1), false), (guess(2), true)] {
        let order = saturation.order(&execution, &Budget::UNLIMITED).expect("no limit").expect("it is sc");
        for (first, second) in pairs {
            assert!(!order.has(second, first), "{saturation:?}");
            assert_eq!(order.has(first, second), is_found, "{saturation:?}");
        }
    }
}

/// On random histories: what is found is in the kernel, and more guesses find no less.
#[test]
fn what_is_found_is_in_the_kernel() {
    let stages = [WSC, SIX, guess(1), guess(2)];
    let (mut found, mut all) = ([0; 4], 0);
    let hard = [HardShape::OneGuess, HardShape::LongConflict, HardShape::TwoGuesses].map(|shape| {
        let config = hard::HardConfig { shape, copies: 1, side_by_side: false, violating: false };
        Execution::from_history(&hard::history(&config)).expect("an execution")
    });
    let random = (0..cases(40)).map(|seed| {
        let config =
            atomic::MemoryConfig { threads: 8, operations: 48, locations: 4, seed, ..atomic::MemoryConfig::default() };
        atomic::execution(&config)
    });
    for (seed, execution) in hard.into_iter().chain(random).enumerate() {
        let orders = stages.map(|it| it.order(&execution, &Budget::UNLIMITED).expect("no limit").expect("it is sc"));
        let mut is_kernel = rustc_hash::FxHashSet::default();
        kernel::visit(&execution, &Budget::UNLIMITED, |pair| {
            if pair.is_in(KernelOrder::Kernel) {
                is_kernel.insert((pair.first, pair.second));
            }
        })
        .expect("it is sc");
        all += is_kernel.len();
        let writes: Vec<EventId> = execution.ids().filter(|&id| execution.event(id).kind.writes()).collect();
        for &first in &writes {
            for &second in &writes {
                if first == second || execution.event(first).location != execution.event(second).location {
                    continue;
                }
                let has = orders.each_ref().map(|order| order.has(first.0, second.0));
                assert!(!has.contains(&true) || is_kernel.contains(&(first, second)), "seed {seed}");
                assert!(!has[0] || (has[1] && has[2]), "seed {seed}");
                assert!(!has[1] && !has[2] || has[3], "seed {seed}");
                for (found, has) in found.iter_mut().zip(has) {
                    *found += usize::from(has);
                }
            }
        }
    }
    println!(
        "of {all} pairs of kernels: wSC {}, six writes {}, a guess {}, two guesses {}",
        found[0], found[1], found[2], found[3]
    );
    assert!(found[0] < found[1] && found[1] < found[2] && found[2] <= all, "{found:?} of {all}");
}
