//! Sets, which are read as registers, against brute force over sets: serializability by trying every order.

use crate::common;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use common::{cases, checker, decide};
use format::{Format, ReadOptions, read};
use history::History;
use model::{Model, Verdict};
use workload::random::SplitMix64;

/// An operation: the set, and the element that is added or the elements that are read.
enum Operation {
    Add(usize, u64),
    Read(usize, BTreeSet<u64>),
}

struct Transaction {
    session: usize,
    operations: Vec<Operation>,
}

/// Transactions of a store that sometimes answers from an older version, in the order in which they commit.
fn generate(seed: u64) -> Vec<Transaction> {
    let mut random = SplitMix64::new(seed);
    let (sessions, sets) = (1 + random.below(3) as usize, 1 + random.below(2) as usize);
    let stale = [0, 10, 30][random.below(3) as usize];
    let mut versions: Vec<Vec<BTreeSet<u64>>> = vec![vec![BTreeSet::new()]; sets];
    let mut value = 0;
    (0..2 + random.below(5))
        .map(|_| {
            let mut now: Vec<BTreeSet<u64>> = versions
                .iter()
                .map(|all| {
                    let back = if random.percent(stale) { random.below(all.len() as u64) as usize } else { 0 };
                    all[all.len() - 1 - back].clone()
                })
                .collect();
            let mut added = Vec::new();
            let operations = (0..=random.below(3))
                .map(|_| {
                    let set = random.below(sets as u64) as usize;
                    if random.percent(50) {
                        value += 1;
                        now[set].insert(value);
                        added.push((set, value));
                        return Operation::Add(set, value);
                    }
                    let mut shown = now[set].clone();
                    if random.percent(stale / 3) {
                        shown.insert(random.below(value + 2));
                    }
                    Operation::Read(set, shown)
                })
                .collect();
            for (set, value) in added {
                let mut last = versions[set].last().cloned().unwrap_or_default();
                last.insert(value);
                versions[set].push(last);
            }
            Transaction { session: random.below(sessions as u64) as usize, operations }
        })
        .collect()
}

fn text(transactions: &[Transaction]) -> String {
    let mut text = String::new();
    for Transaction { session, operations } in transactions {
        let told: Vec<String> = operations
            .iter()
            .map(|operation| match operation {
                Operation::Add(set, value) => format!("[:add {set} {value}]"),
                Operation::Read(set, elements) => {
                    let elements: Vec<String> = elements.iter().map(u64::to_string).collect();
                    format!("[:r {set} #{{{}}}]", elements.join(" "))
                }
            })
            .collect();
        let _ = writeln!(text, "{{:process {session}, :type :ok, :f :txn, :value [{}]}}", told.join(" "));
    }
    text
}

/// Whether some order of all transactions, which keeps the order of sessions if wanted, gives every read its answer.
fn is_serializable(all: &[Transaction], by_session: bool) -> bool {
    fn search(all: &[Transaction], by_session: bool, done: &mut Vec<bool>, state: &[BTreeSet<u64>]) -> bool {
        if done.iter().all(|&done| done) {
            return true;
        }
        for at in 0..all.len() {
            let is_late = by_session && (0..at).any(|other| !done[other] && all[other].session == all[at].session);
            if done[at] || is_late {
                continue;
            }
            let mut next = state.to_vec();
            let fits = all[at].operations.iter().all(|operation| match operation {
                Operation::Add(set, value) => {
                    next[*set].insert(*value);
                    true
                }
                Operation::Read(set, elements) => next[*set] == *elements,
            });
            done[at] = true;
            if fits && search(all, by_session, done, &next) {
                return true;
            }
            done[at] = false;
        }
        false
    }
    search(all, by_session, &mut vec![false; all.len()], &[BTreeSet::new(), BTreeSet::new()])
}

#[test]
fn sets_are_serializable_exactly_if_their_registers_are() {
    let mut counts = [0u64; 4];
    for seed in 0..cases(3000) {
        let transactions = generate(seed);
        let text = text(&transactions);
        let options = ReadOptions { format: Some(Format::Edn), ..ReadOptions::default() };
        let history: History =
            read(Box::new(std::io::Cursor::new(text.clone().into_bytes())), &options).next().unwrap().unwrap();
        if !history.is_of_transactions() || !text.contains(":add") {
            continue;
        }
        let Some(checker) = checker(&history) else { panic!("the sources are known\n{text}") };
        for (at, model) in [Model::Serializable, Model::SessionlessSerializable].into_iter().enumerate() {
            let expected = is_serializable(&transactions, at == 0);
            let found = decide(&history, &checker, model).verdict == Verdict::Consistent;
            assert_eq!(found, expected, "{model}\n{text}");
            counts[2 * at + usize::from(found)] += 1;
        }
        // All other levels agree with the axioms on the registers.
        if let Some(expected) = oracle::transaction::verdicts(&history) {
            for isolation in model::Isolation::all() {
                let Some(expected) = expected.all()[isolation.sessions as usize][isolation.level as usize] else {
                    continue;
                };
                let found = decide(&history, &checker, isolation.model()).verdict == Verdict::Consistent;
                assert_eq!(found, expected, "{}\n{text}", isolation.model());
            }
        }
    }
    assert!(counts.iter().all(|&count| count > cases(3000) / 40), "{counts:?}");
}
