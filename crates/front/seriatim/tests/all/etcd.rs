//! Histories of etcd against brute force: random small ones, right and wrong, in the files of its robustness tests.
//! `SERIATIM_CASES` sets how many times as many cases there are.

use std::collections::BTreeMap;

use format::{Format, ReadOptions, read_bytes};
use serde_json::{Value, json};
use seriatim::{History, Model, Options, Verdict, check, verify};

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A store, written down again from etcd's documents, on values of JSON. It shares nothing with the checker.
#[derive(Clone, Default)]
struct Store {
    changes: i64,
    keys: BTreeMap<String, (Value, i64, i64)>,
}

impl Store {
    fn range(&self, range: &Value) -> Value {
        let (start, end) = (range["Start"].as_str().unwrap(), range["End"].as_str().unwrap());
        let is_in = |key: &str| if end.is_empty() { key == start } else { start <= key && key < end };
        let found: Vec<Value> = self
            .keys
            .iter()
            .filter(|(key, _)| is_in(key))
            .map(|(key, (value, revision, version))| {
                json!({"Key": key, "Value": value, "ModRevision": revision, "Version": version})
            })
            .collect();
        let limit = range["Limit"].as_u64().filter(|&limit| limit > 0 && !end.is_empty()).unwrap_or(99) as usize;
        json!({"KVs": found.iter().take(limit).collect::<Vec<_>>(), "Count": found.len()})
    }

    fn apply(&mut self, input: &Value) -> Value {
        if input["Type"] == "range" {
            return json!({"Range": self.range(&input["Range"]), "Revision": self.changes + 1, "Error": ""});
        }
        let txn = &input["Txn"];
        let holds = |condition: &Value| {
            let key = condition["Key"].as_str().unwrap();
            let (_, revision, version) = self.keys.get(key).cloned().unwrap_or_default();
            match condition["ExpectedVersion"].as_i64() {
                Some(wanted) if wanted > 0 => version == wanted,
                _ => revision == condition["ExpectedRevision"].as_i64().unwrap(),
            }
        };
        let is_then = txn["Conditions"].as_array().unwrap().iter().all(holds);
        let actions = &txn[if is_then { "OperationsOnSuccess" } else { "OperationsOnFailure" }];
        let (mut results, mut has_changed) = (Vec::new(), false);
        for action in actions.as_array().unwrap() {
            results.push(match action["Type"].as_str().unwrap() {
                "put-operation" => {
                    let key = action["Put"]["Key"].as_str().unwrap().to_owned();
                    let version = self.keys.get(&key).map_or(1, |held| held.2 + 1);
                    self.keys.insert(key, (action["Put"]["Value"].clone(), self.changes + 2, version));
                    has_changed = true;
                    json!({})
                }
                "delete-operation" => {
                    let is_there = self.keys.remove(action["Delete"]["Key"].as_str().unwrap()).is_some();
                    has_changed |= is_there;
                    json!({"Deleted": u8::from(is_there)})
                }
                _ => self.range(&action["Range"]),
            });
        }
        self.changes += i64::from(has_changed);
        let txn = json!({"Failure": !is_then, "Results": results});
        json!({"Txn": txn, "Revision": self.changes + 1, "Error": ""})
    }
}

fn action(random: &mut Random) -> Value {
    let key = ["a", "b"][random.below(2) as usize];
    match random.below(4) {
        0 => json!({"Type": "range-operation", "Range": {"Start": key, "End": "", "Limit": 0}}),
        1 => json!({"Type": "delete-operation", "Delete": {"Key": key}}),
        _ => json!({"Type": "put-operation", "Put": {"Key": key, "Value": {"Value": random.below(3).to_string()}}}),
    }
}

fn input(random: &mut Random) -> Value {
    if random.below(3) == 0 {
        let range = [json!({"Start": "a", "End": "", "Limit": 0}), json!({"Start": "a", "End": "c", "Limit": 1})];
        return json!({"Type": "range", "Range": range[random.below(2) as usize]});
    }
    let conditions: Vec<Value> = (0..random.below(2))
        .map(|_| match random.below(3) {
            0 => json!({"Key": "a", "ExpectedRevision": 0, "ExpectedVersion": 1}),
            _ => json!({"Key": "a", "ExpectedRevision": 2 * random.below(2)}),
        })
        .collect();
    let mut some = |least| (0..random.below(2) + least).map(|_| action(random)).collect::<Vec<_>>();
    let (then, otherwise) = (some(1), some(0));
    json!({"Type": "txn", "Txn": {"Conditions": conditions, "OperationsOnSuccess": then,
        "OperationsOnFailure": otherwise}})
}

/// Operations that really happened, at a moment within each.
fn record(random: &mut Random) -> Vec<Value> {
    let count = 3 + random.below(4);
    let mut store = Store::default();
    let mut free = [0_u64; 3];
    let mut operations = Vec::new();
    for at in 0..count {
        let (client, moment) = (random.below(3) as usize, 10 * at + 5);
        let call = free[client].max(moment.saturating_sub(random.below(25)));
        let ret = moment + 1 + random.below(25);
        if call > moment {
            continue;
        }
        free[client] = ret + 1;
        let input = input(random);
        let output = store.apply(&input);
        operations.push(json!({"ClientId": client, "Input": input, "Call": call, "Output": output, "Return": ret}));
    }
    operations
}

fn damage(random: &mut Random, operations: &mut Vec<Value>) {
    let at = random.below(operations.len() as u64) as usize;
    let operation = &mut operations[at];
    match random.below(4) {
        0 => {
            let change = [-1, 1][random.below(2) as usize];
            if let Some(revision) = operation["Output"]["Revision"].as_i64() {
                operation["Output"]["Revision"] = json!((revision + change).max(0));
            }
        }
        1 => operation["Output"] = json!({"Error": "request timed out"}),
        2 => {
            let call = operation["Call"].as_u64().unwrap();
            operation["Return"] = json!(call + 1);
        }
        _ => drop(operations.remove(at)),
    }
}

/// Whether some order explains what was answered: every order is tried.
fn is_linearizable(operations: &[Value]) -> bool {
    fn go(store: &Store, left: &[&Value]) -> bool {
        let has_answer = |operation: &&Value| operation["Output"]["Error"] == "";
        let must = left.iter().filter(|operation| has_answer(operation));
        let Some(first) = must.map(|operation| operation["Return"].as_u64().unwrap()).min() else { return true };
        left.iter().enumerate().any(|(at, operation)| {
            // A call at the moment of a return overlaps it.
            let mut store = store.clone();
            operation["Call"].as_u64().unwrap() <= first
                && {
                    let answer = store.apply(&operation["Input"]);
                    !has_answer(operation) || answer == operation["Output"]
                }
                && go(&store, &[&left[..at], &left[at + 1..]].concat())
        })
    }
    // An answer without results has lists of nothing.
    go(&Store::default(), &operations.iter().collect::<Vec<_>>())
}

fn text(operations: &[Value]) -> String {
    operations.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

fn read(operations: &[Value]) -> Option<History> {
    let text = text(operations);
    let options = ReadOptions { format: Some(Format::Porcupine), ..ReadOptions::default() };
    match read_bytes(text.clone().into_bytes(), &options).next()? {
        Ok(history) => Some(history),
        Err(error) if error.message.contains("no history") => None,
        Err(error) => panic!("{error:?}\n{text}"),
    }
}

#[test]
fn random_histories() {
    let times: u64 = std::env::var("SERIATIM_CASES").map_or(1, |times| times.parse().expect("a number"));
    let (mut good, mut bad) = (0, 0);
    for seed in 0..3000 * times {
        let mut random = Random(seed);
        let mut operations = record(&mut random);
        for _ in 0..random.below(3) {
            if !operations.is_empty() {
                damage(&mut random, &mut operations);
            }
        }
        let Some(history) = read(&operations) else { continue };
        let decision = check(&history, Model::Linearizable, &Options::default().witness(true)).unwrap();
        let expected = if is_linearizable(&operations) { Verdict::Consistent } else { Verdict::Violation };
        assert_eq!(decision.verdict, expected, "seed {seed}\n{}", text(&operations));
        let certificate = decision.certificate(0, &history).unwrap();
        verify(&certificate, &history).unwrap_or_else(|refusal| panic!("seed {seed}: {refusal}"));
        // The evidence does not prove the opposite.
        let other = match expected {
            Verdict::Consistent => Verdict::Violation,
            _ => Verdict::Consistent,
        };
        assert!(verify(&seriatim::Certificate { verdict: other, ..certificate }, &history).is_err());
        match expected {
            Verdict::Consistent => good += 1,
            _ => bad += 1,
        }
    }
    assert!(good > 500 * times && bad > 300 * times, "{good} consistent, {bad} violations");
}
