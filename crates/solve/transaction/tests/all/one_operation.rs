//! If each transaction is one operation, or a read-modify-write of one key, levels are memory models.

use crate::common;
use std::fmt::Write as _;

use common::{cases, checker, decide};
use history::Execution;
use model::{Model, Verdict};
use oracle::Model as Memory;
use workload::random::SplitMix64;

/// A history of a memory, and the same as transactions.
fn both(random: &mut SplitMix64) -> (String, String, bool) {
    let (threads, keys) = (1 + random.below(3), 1 + random.below(2));
    let mut memory = String::from("# @object memory\n");
    let mut transactions = String::from("# @object transactions\n# @realtime none\n");
    let mut written: Vec<Vec<u64>> = vec![vec![0]; keys as usize];
    let (mut value, mut has_rmw) = (0, false);
    for _ in 0..2 + random.below(5) {
        let (thread, key) = (random.below(threads), random.below(keys) as usize);
        let name = ["x", "y"][key];
        // Mostly one of the last values, sometimes one that is written later.
        let known = written[key].len() as u64;
        let back = random.below(known.min(3));
        let old = written[key][(known - 1 - back) as usize];
        match random.below(5) {
            0 | 1 => {
                value += 1;
                written[key].push(value);
                let _ = writeln!(memory, "[{thread}] w {name} {value}");
                let _ = writeln!(transactions, "[{thread}] w {name} {value}");
            }
            2 | 3 => {
                let _ = writeln!(memory, "[{thread}] r {name} {old}");
                let _ = writeln!(transactions, "[{thread}] r {name} {old}");
            }
            _ => {
                value += 1;
                has_rmw = true;
                written[key].push(value);
                let _ = writeln!(memory, "[{thread}] u {name} {old} {value}");
                let lines = ["begin".to_owned(), format!("r {name} {old}"), format!("w {name} {value}")];
                for line in lines.into_iter().chain(["commit".to_owned()]) {
                    let _ = writeln!(transactions, "[{thread}] {line}");
                }
            }
        }
    }
    (memory, transactions, has_rmw)
}

#[test]
fn levels_are_memory_models() {
    let mut random = SplitMix64::new(11);
    let mut counts = [0; 2];
    for _ in 0..cases(3000) {
        let (memory, transactions, has_rmw) = both(&mut random);
        let execution = Execution::from_history(&format::parse(&memory).unwrap()).unwrap();
        let history = format::parse(&transactions).unwrap();
        let checker = checker(&history).unwrap();
        let holds = |model| decide(&history, &checker, model).verdict == Verdict::Consistent;
        let sc = oracle::allowed(Memory::Sc, &execution);
        assert_eq!(holds(Model::Serializable), sc, "{transactions}");
        assert_eq!(holds(Model::SnapshotIsolation), sc, "{transactions}");
        assert!(!sc || holds(Model::Prefix), "{transactions}");
        assert!(has_rmw || holds(Model::Prefix) == sc, "{transactions}");
        let ccv = oracle::allowed(Memory::Ccv, &execution);
        assert_eq!(holds(Model::Causal), ccv, "{transactions}");
        assert!(!ccv || oracle::allowed(Memory::Cc, &execution), "{transactions}");
        assert!(!ccv || holds(Model::ReadAtomic), "{transactions}");
        let acyclic = holds(Model::Pl2);
        assert_eq!((holds(Model::ReadCommitted), holds(Model::RepeatableRead)), (acyclic, acyclic), "{transactions}");
        counts[usize::from(sc)] += 1;
    }
    assert!(counts.iter().all(|&count| count > 300), "{counts:?}");
}

/// Registers with calls and returns, and the same as transactions in real time.
#[test]
fn strict_serializability_of_one_operation_is_linearizability() {
    let mut random = SplitMix64::new(12);
    let mut counts = [0; 2];
    for _ in 0..cases(1000) {
        let mut calls = String::from("# @object register\n");
        let mut transactions = String::from("# @object transactions\n");
        let mut active: Vec<Option<(String, String)>> = vec![None; 3];
        let (mut written, mut value) = (vec![0], 0);
        let mut left = 2 + random.below(5);
        while left > 0 || active.iter().any(Option::is_some) {
            let process = random.below(3) as usize;
            if let Some((returned, lines)) = active[process].take() {
                let _ = writeln!(calls, "[{process}] return{returned}");
                let _ = writeln!(transactions, "{lines}[{process}] commit");
                continue;
            }
            if left == 0 {
                continue;
            }
            left -= 1;
            let back = random.below((written.len() as u64).min(2)) as usize;
            let old = written[written.len() - 1 - back];
            let _ = writeln!(transactions, "[{process}] begin");
            active[process] = Some(match random.below(5) {
                0 | 1 => {
                    value += 1;
                    written.push(value);
                    let _ = writeln!(calls, "[{process}] call write {value}");
                    (String::new(), format!("[{process}] w x {value}\n"))
                }
                2 | 3 => {
                    let _ = writeln!(calls, "[{process}] call read");
                    (format!(" {old}"), format!("[{process}] r x {old}\n"))
                }
                _ => {
                    value += 1;
                    written.push(value);
                    let _ = writeln!(calls, "[{process}] call cas {old} {value}");
                    (" true".to_owned(), format!("[{process}] r x {old}\n[{process}] w x {value}\n"))
                }
            });
        }
        let history = format::parse(&transactions).unwrap();
        let checker = checker(&history).unwrap();
        let expected = oracle::object::linearizable(&format::parse(&calls).unwrap());
        for model in [Model::StrictSerializable, Model::StrongSnapshotIsolation] {
            let found = decide(&history, &checker, model).verdict == Verdict::Consistent;
            assert_eq!(found, expected, "{model}\n{calls}\n{transactions}");
        }
        counts[usize::from(expected)] += 1;
    }
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}
