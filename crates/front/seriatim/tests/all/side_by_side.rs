//! Checks side by side in one process, each on a budget of its own: what ends one does not touch the others.

use std::fmt::Write;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use seriatim::format::{ReadOptions, read_bytes};
use seriatim::model::{Budget, GaveUp};
use seriatim::{Cancel, History, Model, Options, Verdict, check, verify};
use workload::memory::{MemoryConfig, history, thread_by_thread};

/// A history of each view, a model that it satisfies, and how it is decided with all the time that it needs.
fn histories() -> Vec<(History, Model)> {
    let config = MemoryConfig { threads: 6, operations: 3000, locations: 8, seed: 1, ..MemoryConfig::default() };
    let memory = history(&config, thread_by_thread(&config));
    let mut queue = "# @object queue\n".to_owned();
    let mut transactions = String::new();
    for at in 0..300 {
        // Two overlap, and the same value comes twice, so the search decides.
        write!(queue, "[0] call enqueue {0}\n[1] call enqueue {0}\n[0] return\n[1] return\n", at % 7)
            .expect("to memory");
        write!(queue, "[2] call dequeue\n[2] return {0}\n[2] call dequeue\n[2] return {0}\n", at % 7)
            .expect("to memory");
        let session = ["a", "b", "c"][at % 3];
        write!(transactions, "[{session}] begin\n[{session}] r x {at}\n[{session}] w x {}\n", at + 1)
            .expect("to memory");
        writeln!(transactions, "[{session}] commit").expect("to memory");
    }
    let parse = |text: &str| seriatim::parse(text).expect("a good history");
    vec![(memory, Model::Sc), (parse(&queue), Model::Linearizable), (parse(&transactions), Model::Serializable)]
}

/// Why a check ends with nothing, if it does.
#[derive(Copy, Clone, Debug)]
enum Limit {
    None,
    Ample,
    Memory,
    Time,
    Cancelled,
}

impl Limit {
    fn options(self, cancel: &Cancel) -> Options {
        let options = Options::default().witness(true);
        match self {
            Self::None => options,
            Self::Ample => options.memory(usize::MAX).timeout(Duration::from_secs(3600)).cancel(&Cancel::new()),
            Self::Memory => options.memory(1 << 20),
            Self::Time => options.timeout(Duration::ZERO),
            Self::Cancelled => options.cancel(cancel),
        }
    }

    /// What the reason of a check says that gave up.
    fn reason(self) -> Option<String> {
        match self {
            Self::None | Self::Ample => None,
            Self::Memory => Some(GaveUp::Memory { limit: 1 << 20 }.to_string()),
            Self::Time => Some(GaveUp::Time.to_string()),
            Self::Cancelled => Some(GaveUp::Cancelled.to_string()),
        }
    }
}

#[test]
fn limits_of_one_check_do_not_touch_another() {
    const LIMITS: [Limit; 5] = [Limit::None, Limit::Memory, Limit::Ample, Limit::Time, Limit::Cancelled];
    let histories = histories();
    let cancel = Cancel::new();
    cancel.cancel();
    let start = Barrier::new(LIMITS.len());
    thread::scope(|scope| {
        for limit in LIMITS {
            let (histories, cancel, start) = (&histories, &cancel, &start);
            scope.spawn(move || {
                start.wait();
                for _ in 0..5 {
                    for (history, model) in histories {
                        let decision = check(history, *model, &limit.options(cancel)).expect("the model fits");
                        let what = format!("{limit:?}, {model}: {decision:?}");
                        let Some(reason) = limit.reason() else {
                            assert_eq!(decision.verdict, Verdict::Consistent, "{what}");
                            let certificate = decision.certificate(0, history).expect("a witness");
                            assert_eq!(verify(&certificate, history).map_err(|refusal| refusal.to_string()), Ok(()));
                            continue;
                        };
                        assert_eq!((decision.verdict, decision.reason), (Verdict::Unknown, Some(reason)), "{what}");
                    }
                }
            });
        }
    });
}

/// Additions of even amounts that overlap, and a read of an odd sum: each subset of them is tried.
fn hard() -> History {
    let mut text = "# @object counter\n".to_owned();
    for at in 0..60 {
        writeln!(text, "[{at}] call add {}", 1000 + 2 * at * at).expect("to memory");
    }
    seriatim::parse(&(text + "[r] call read\n[r] return 50001\n")).expect("a good history")
}

/// Two that nobody can finish: one is cancelled while it runs, the other goes on until its own time is over.
#[test]
fn one_is_cancelled_while_it_runs_and_the_other_goes_on() {
    let (history, cancel) = (hard(), Cancel::new());
    let check = |options| check(&history, Model::Linearizable, &options).expect("the model fits").reason;
    thread::scope(|scope| {
        let cancelled = scope.spawn(|| check(Options::default().cancel(&cancel)));
        let other = scope.spawn(|| check(Options::default().cancel(&Cancel::new()).timeout(Duration::from_secs(2))));
        thread::sleep(Duration::from_millis(200));
        assert!(!cancelled.is_finished());
        cancel.cancel();
        assert_eq!(cancelled.join().expect("it does not panic"), Some(GaveUp::Cancelled.to_string()));
        assert!(!other.is_finished());
        assert_eq!(other.join().expect("it does not panic"), Some(GaveUp::Time.to_string()));
    });
}

/// Reading has a budget, too.
#[test]
fn reading_is_cancelled() {
    let cancel = Cancel::new();
    let budget = Budget::default().cancel(&cancel);
    let read = |budget| {
        let options = ReadOptions { budget, ..Default::default() };
        let text = "[0] w x 1\n".repeat(100_000);
        read_bytes(text.into_bytes(), &options).next().expect("a history, or why not")
    };
    assert!(read(budget.clone()).is_ok());
    cancel.cancel();
    let error = read(budget).expect_err("it was cancelled");
    assert!(error.message.contains("not read to its end: it was cancelled"), "{error}");
    assert!(read(Budget::UNLIMITED).is_ok());
}
