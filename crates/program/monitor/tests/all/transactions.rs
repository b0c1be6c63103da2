//! The monitor of isolation levels is compared with the checker and with the oracle of commit orders.

#[path = "../../../../solve/transaction/tests/all/common/mod.rs"]
mod common;

use common::{Small, cases, checker, decide};
use format::ReadOptions;
use format::stream::{Item, Stream, What};
use history::{History, Method, Outcome, Status, TransactionId, Value};
use model::{Model, Verdict};
use monitor::{Monitor, Progress, TransactionAction, TransactionEvent, Transactions};

const MODELS: [Model; 4] = [Model::ReadCommitted, Model::ReadAtomic, Model::Causal, Model::Serializable];

/// The events of a history in text, and whether lines say what happened before what.
fn events(text: &str) -> (Vec<TransactionEvent>, bool) {
    let mut stream = Stream::new(&ReadOptions::default()).unwrap();
    let mut lines = text.as_bytes();
    let mut events = Vec::new();
    while let Some(item) = stream.next(&mut lines) {
        let Item::Event(event) = item.unwrap() else { continue };
        let operation = event.operation;
        let key = operation.key.0;
        let action = match (event.what, operation.method) {
            (What::Begin, _) => TransactionAction::Begin,
            (What::End, _) => TransactionAction::End(match operation.outcome {
                Outcome::Fail => Status::Aborted,
                Outcome::Info => Status::Indeterminate,
                _ => Status::Committed,
            }),
            (_, Method::Write) => TransactionAction::Write { key, value: operation.argument },
            (_, Method::Append) => TransactionAction::Append { key, value: operation.argument },
            _ if operation.result.as_list().is_some() => {
                TransactionAction::ReadList { key, elements: stream.history().list(operation.result).into() }
            }
            _ => TransactionAction::Read { key, value: operation.result },
        };
        events.push(TransactionEvent { session: operation.process.0, action });
    }
    (events, !stream.history().is_untimed())
}

/// What a monitor says of a stream: the event of the violation, or whether silence is a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    Violation(usize),
    Consistent,
    Unknown(String),
}

fn watch(model: Model, window: Option<u32>, events: &[TransactionEvent], is_timed: bool) -> Said {
    let mut monitor = Transactions::new(model).unwrap();
    if let Some(window) = window {
        monitor.set_window(window);
    }
    if !is_timed {
        monitor.set_untimed();
    }
    for (number, event) in events.iter().enumerate() {
        match monitor.push(event.clone()) {
            Ok(Progress::Possible) => {}
            Ok(Progress::GaveUp(reason)) => return Said::Unknown(reason),
            Ok(Progress::Refused(reason)) => panic!("{reason}"),
            Err(violation) => {
                assert_eq!(violation.event, number as u64);
                return Said::Violation(number);
            }
        }
        if number % 3 == 2 {
            let saved = postcard::to_stdvec(&monitor).unwrap();
            monitor = postcard::from_bytes(&saved).unwrap();
        }
    }
    match monitor.finish() {
        Err(_) => Said::Violation(events.len()),
        Ok(()) => monitor.doubt().map_or(Said::Consistent, |reason| Said::Unknown(reason.to_owned())),
    }
}

/// For each event that ends a transaction: its place among the events, and the transaction.
fn ends(history: &History, events: &[TransactionEvent]) -> Vec<(usize, TransactionId)> {
    let sessions = history.processes().len();
    let mut next = vec![0; sessions];
    let of: Vec<Vec<TransactionId>> = (0..sessions)
        .map(|session| {
            let own = history.transactions().filter(|(_, transaction)| transaction.session.index() == session);
            own.map(|(id, _)| id).collect()
        })
        .collect();
    let mut ends = Vec::new();
    for (number, event) in events.iter().enumerate() {
        if matches!(event.action, TransactionAction::End(_)) {
            let session = event.session as usize;
            ends.push((number, of[session][next[session]]));
            next[session] += 1;
        }
    }
    ends
}

fn holds(history: &History, model: Model) -> Option<bool> {
    let checker = checker(history)?;
    let decision = decide(history, &checker, model);
    assert_ne!(decision.verdict, Verdict::Unknown);
    Some(decision.verdict == Verdict::Consistent)
}

/// The first event after which the transactions that have ended violate a level; none if they never do.
fn first_violation(history: &History, model: Model, ends: &[(usize, TransactionId)]) -> Option<usize> {
    (1..=ends.len()).find_map(|count| {
        let ended: Vec<TransactionId> = ends[..count].iter().map(|(_, id)| *id).collect();
        let part = history.restricted(|id| ended.contains(&id), |_| true).unwrap();
        (holds(&part, model) == Some(false)).then(|| ends[count - 1].0)
    })
}

/// Whether every transaction ends after those that wrote what it read, and somebody wrote what was read.
fn is_in_commit_order(history: &History, ends: &[(usize, TransactionId)]) -> bool {
    let place = |id: TransactionId| ends.iter().position(|(_, other)| *other == id);
    let mut written: Vec<(u32, Value, TransactionId)> = Vec::new();
    for (id, _) in history.transactions().filter(|(_, it)| it.status != Status::Aborted) {
        let writes = history.operations_of(id).iter().filter(|operation| operation.method != Method::Read);
        written.extend(writes.map(|operation| (operation.key.0, operation.argument, id)));
    }
    history.transactions().all(|(id, _)| {
        history.operations_of(id).iter().filter(|operation| operation.method == Method::Read).all(|read| {
            let elements = history.list(read.result);
            let values = if read.result.as_list().is_some() { elements } else { std::slice::from_ref(&read.result) };
            values.iter().all(|value| {
                let mut writers = written.iter().filter(|(key, other, _)| *key == read.key.0 && other == value);
                let is_known = *value == Value::ZERO || writers.clone().next().is_some();
                is_known && writers.all(|&(_, _, writer)| writer == id || place(writer) < place(id))
            })
        })
    })
}

#[derive(Debug, Default)]
struct Counts {
    violations: u64,
    consistent: u64,
    unknown: u64,
    ordered: u64,
}

fn compare(text: &str, counts: &mut [Counts; 4]) {
    let history = format::parse(text).unwrap();
    let (events, is_timed) = events(text);
    let ends = ends(&history, &events);
    let Some(expected) = oracle::transaction::verdicts(&history) else { return };
    let is_ordered = is_in_commit_order(&history, &ends);
    for (model, counts) in MODELS.into_iter().zip(counts) {
        let isolation = model.isolation().unwrap();
        let holds = expected.all()[isolation.sessions as usize][isolation.level as usize].unwrap();
        let said = watch(model, None, &events, is_timed);
        match &said {
            Said::Violation(_) => counts.violations += 1,
            Said::Consistent => counts.consistent += 1,
            Said::Unknown(_) => counts.unknown += 1,
        }
        match said {
            Said::Violation(at) => {
                assert!(!holds || at < events.len() && is_timed, "{model}: {at}\n{text}");
                if is_ordered {
                    counts.ordered += 1;
                    let first = first_violation(&history, model, &ends);
                    let is_exact = model != Model::Serializable;
                    let is_right = if is_exact { first == Some(at) } else { first.is_some_and(|first| first <= at) };
                    assert!(is_right || at == events.len(), "{model}: {at}, and not {first:?}\n{text}");
                } else {
                    // Also where the whole is allowed: what was read was written in a transaction that began after the
                    // reader had ended.
                    let ended: Vec<_> = ends.iter().filter(|(end, _)| *end <= at).map(|(_, id)| *id).collect();
                    let part = history.restricted(|id| ended.contains(&id), |_| true).unwrap();
                    assert_eq!(self::holds(&part, model), Some(false), "{model}: {at}\n{text}");
                }
            }
            Said::Consistent => assert!(holds, "{model}\n{text}"),
            Said::Unknown(reason) => assert_eq!(model, Model::Serializable, "{reason}\n{text}"),
        }
    }
}

fn run(small: &Small, seeds: std::ops::Range<u64>) -> [Counts; 4] {
    let mut counts = Default::default();
    let count = seeds.end - seeds.start;
    for seed in seeds {
        compare(&small.text(seed), &mut counts);
    }
    for (model, counts) in MODELS.into_iter().zip(&counts) {
        let is_balanced = counts.violations > count / 40 && counts.consistent > count / 40;
        assert!(is_balanced && counts.ordered > count / 80, "{model}: {counts:?}");
    }
    counts
}

#[test]
fn the_monitor_says_what_the_axioms_say_at_the_first_transaction() {
    run(&Small { transactions: 6, rmw: false }, 0..cases(4000));
}

#[test]
fn where_every_writer_reads_its_key_serializable_is_decided() {
    let counts = run(&Small { transactions: 7, rmw: true }, 1_000_000..1_000_000 + cases(2000));
    assert_eq!(counts[3].unknown, 0, "{counts:?}");
}

/// With a small window much is forgotten: what is said must be true all the same.
#[test]
fn what_is_said_after_forgetting_is_true() {
    let mut counts: [Counts; 4] = Default::default();
    for seed in 0..cases(1500) {
        let text = Small { transactions: 20, rmw: seed % 2 == 0 }.text(2_000_000 + seed);
        let history = format::parse(&text).unwrap();
        let (events, is_timed) = events(&text);
        let ends = ends(&history, &events);
        for (model, counts) in MODELS.into_iter().zip(&mut counts) {
            let Some(holds) = holds(&history, model) else { continue };
            for window in 2..6 {
                match watch(model, Some(window), &events, is_timed) {
                    Said::Violation(at) => {
                        counts.violations += 1;
                        let ended: Vec<_> = ends.iter().filter(|(end, _)| *end <= at).map(|(_, id)| *id).collect();
                        let part = history.restricted(|id| ended.contains(&id), |_| true).unwrap();
                        let is_violation = if at < events.len() { self::holds(&part, model) } else { Some(holds) };
                        assert_eq!(is_violation, Some(false), "{model}, window {window}: {at}\n{text}");
                    }
                    Said::Consistent => {
                        counts.consistent += 1;
                        assert!(holds, "{model}, window {window}\n{text}");
                    }
                    Said::Unknown(_) => counts.unknown += 1,
                }
            }
        }
    }
    for (model, counts) in MODELS.into_iter().zip(&counts) {
        let least = cases(1500) / 20;
        assert!(
            counts.violations > least && counts.consistent > least && counts.unknown > least,
            "{model}: {counts:?}"
        );
    }
}

#[test]
fn while_a_transaction_waits_silence_is_no_proof() {
    let (events, _) = events("[a] begin\n[a] w x 1\n[b] begin\n[b] r x 1\n[b] commit\n[a] commit\n");
    let mut monitor = Transactions::new(Model::Causal).unwrap();
    let doubts: Vec<bool> = events
        .into_iter()
        .map(|event| {
            assert_eq!(monitor.push(event), Ok(Progress::Possible));
            monitor.doubt().is_some()
        })
        .collect();
    assert_eq!(doubts, [false, false, false, false, true, false]);
    assert_eq!((monitor.finish(), monitor.doubt()), (Ok(()), None));
}
