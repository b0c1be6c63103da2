//! Section 4 of wSC: which procedure finds which pair of the kernel, and which misses it.

use baseline::literal::{Rule, Saturation};
use history::Execution;
use history::execution::EventId;
use memory::Budget;
use memory::kernel::{self, Order};
use workload::hard::{self, Figure};
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
    // x = 1 before x = 2, and t = 2 before t = 1: only a guess of two pairs at once finds either.
    Claim { name: "wsc-5", pairs: &[(1, 4), (9, 7)], finds: &[guess(2)], misses: &[WSC, SIX, guess(1)] },
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
            if pair.weakest == Some(Order::Kernel) {
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

/// The same history with one more reader, so that all four ways of Figure 5 are impossible: two guesses refute it.
#[test]
fn two_guesses_refute_what_one_does_not() {
    let corpus = oracle::corpus::corpus();
    let of = |name: &str| &corpus.iter().find(|entry| entry.name == name).expect("an entry").execution;
    let refutes = |name: &str, it: Saturation| it.order(of(name), &Budget::UNLIMITED).expect("no limit").is_none();
    println!("{:?}", [WSC, SIX, guess(1), guess(2)].map(|it| refutes("wsc-5-closed", it)));
    assert!(!refutes("wsc-5-closed", SIX) && !refutes("wsc-5-closed", guess(1)) && refutes("wsc-5-closed", guess(2)));
    assert!(!refutes("wsc-1c", WSC) && refutes("wsc-1c", guess(1)));
}

/// On random histories: what is found is in the kernel, and more guesses find no less.
#[test]
fn what_is_found_is_in_the_kernel() {
    let stages = [WSC, SIX, guess(1), guess(2)];
    let (mut found, mut all) = ([0; 4], 0);
    let hard = [Figure::Three, Figure::Four, Figure::Five].map(|figure| {
        let config = hard::HardConfig { figure, copies: 1, side_by_side: false, violating: false };
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
            if pair.is_in(Order::Kernel) {
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
