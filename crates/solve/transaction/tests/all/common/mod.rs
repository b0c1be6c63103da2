//! Small random histories of transactions near the boundaries of the levels, and checks that every test makes.

#![allow(dead_code)] // Every test file uses a part of this.

use std::fmt::Write as _;

use history::History;
use model::{Certificate, Decided, Model, Verdict};
use transaction::LevelChecker;
use workload::random::SplitMix64;

/// How many cases to try: `SERIATIM_CASES` multiplies them.
pub fn cases(count: u64) -> u64 {
    let factor = std::env::var("SERIATIM_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    count * factor
}

struct Active {
    snapshot: Vec<usize>,
    own: Vec<Vec<u64>>,
    left: u64,
}

/// A history of a simulated store that sometimes answers from another version than it should.
pub struct Small {
    /// How many transactions there are at most.
    pub transactions: u64,
    /// Whether a transaction reads each key before it writes it.
    pub rmw: bool,
}

impl Small {
    /// The history of a seed, in text.
    pub fn text(&self, seed: u64) -> String {
        let mut random = SplitMix64::new(seed);
        let below = |random: &mut SplitMix64, limit: u64| random.below(limit);
        let sessions = 1 + below(&mut random, 3) as usize + usize::from(below(&mut random, 2) == 0);
        let keys = 1 + below(&mut random, 3) as usize;
        let kind = below(&mut random, 3);
        let is_list: Vec<bool> = (0..keys).map(|_| kind == 1 || kind == 2 && below(&mut random, 2) == 0).collect();
        let mode = below(&mut random, 4);
        let stale = [0, 5, 15, 40][below(&mut random, 4) as usize];
        let trouble = if below(&mut random, 4) == 0 { 8 } else { 0 };
        let mut text = String::from("# @object transactions\n");
        if below(&mut random, 2) == 0 {
            text.push_str("# @realtime none\n");
        }
        // By key: the versions, each as all its elements; a register shows the last.
        let mut versions: Vec<Vec<Vec<u64>>> = vec![vec![Vec::new()]; keys];
        let mut active: Vec<Option<Active>> = (0..sessions).map(|_| None).collect();
        let mut to_begin = 2 + below(&mut random, self.transactions - 1);
        let mut value = 0;
        while to_begin > 0 || active.iter().any(Option::is_some) {
            let session = below(&mut random, sessions as u64) as usize;
            let Some(transaction) = &mut active[session] else {
                if to_begin > 0 {
                    to_begin -= 1;
                    let snapshot = versions.iter().map(|versions| versions.len() - 1).collect();
                    let left = below(&mut random, 5);
                    active[session] = Some(Active { snapshot, own: vec![Vec::new(); keys], left });
                    let _ = writeln!(text, "[{session}] begin");
                }
                continue;
            };
            if transaction.left == 0 {
                let end = below(&mut random, 100);
                let (word, applies) = match end {
                    _ if end < 4 + trouble => ("abort", false),
                    _ if end < 8 + 2 * trouble => ("info", end % 2 == 0),
                    _ => ("commit", true),
                };
                let _ = writeln!(text, "[{session}] {word}");
                if applies {
                    for (key, own) in transaction.own.iter().enumerate().filter(|(_, own)| !own.is_empty()) {
                        let mut version = versions[key].last().cloned().unwrap_or_default();
                        if is_list[key] {
                            version.extend(own);
                        } else {
                            version = vec![own[own.len() - 1]];
                        }
                        versions[key].push(version);
                    }
                }
                active[session] = None;
                continue;
            }
            transaction.left -= 1;
            let key = below(&mut random, keys as u64) as usize;
            let name = ["x", "y", "z"][key];
            let is_write = below(&mut random, 2) == 0;
            if !is_write || self.rmw && transaction.own[key].is_empty() {
                let latest = versions[key].len() - 1;
                let at = match mode {
                    _ if below(&mut random, 100) < stale => below(&mut random, latest as u64 + 1) as usize,
                    0 | 1 => latest,
                    _ => transaction.snapshot[key],
                };
                let mut shown = versions[key][at].clone();
                if below(&mut random, 100) < trouble / 2 {
                    shown.push(1 + below(&mut random, value + 1));
                }
                if is_list[key] {
                    shown.extend(&transaction.own[key]);
                    let shown: Vec<String> = shown.iter().map(u64::to_string).collect();
                    let _ = writeln!(text, "[{session}] r {name} [{}]", shown.join(","));
                } else {
                    let shown = transaction.own[key].last().or(shown.last()).copied().unwrap_or(0);
                    let _ = writeln!(text, "[{session}] r {name} {shown}");
                }
            }
            if is_write {
                value += 1;
                transaction.own[key].push(value);
                let word = if is_list[key] { "a" } else { "w" };
                let _ = writeln!(text, "[{session}] {word} {name} {value}");
            }
        }
        text
    }
}

/// Decides a level with a witness, and verifies the certificate, which goes through JSON.
pub fn decide(history: &History, checker: &LevelChecker, model: Model) -> Decided {
    let decision = checker.check(model).expect("the level fits");
    if decision.verdict != Verdict::Unknown {
        let certificate = Certificate::new(0, history, model, &decision).expect("there is evidence");
        let line = certificate.to_json(history);
        let read = Certificate::from_json(&line, history).expect("the JSON is read again");
        assert_eq!(read, certificate);
        if let Err(refusal) = verify::verify(&read, history) {
            panic!("{model}: {:?} refused: {refusal}\n{line}", decision.verdict);
        }
    }
    decision
}

/// A checker that makes witnesses.
pub fn checker(history: &History) -> Option<LevelChecker> {
    Some(LevelChecker::new(history).ok()?.with_witness(true))
}
