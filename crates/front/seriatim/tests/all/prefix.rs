//! The longest beginning of a history that has a linearization, on small random histories: compared with all of its
//! beginnings.

use history::{History, HistoryEvent, Object, Replay};
use seriatim::model::Certificate;
use seriatim::{Evidence, Model, Options, Verdict, check, longest_prefix};
use workload::small::cases;

/// The first events of a history, and perhaps the end of one more operation.
fn beginning(history: &History, length: usize, end: Option<HistoryEvent>) -> History {
    let mut replay = Replay::new(history);
    for event in history.events().take(length).chain(end) {
        replay.play(event).expect("the events come in their order");
    }
    replay.finish().expect("a beginning is a history")
}

fn verdict(history: &History) -> Verdict {
    check(history, Model::Linearizable, &Options::default()).expect("the model fits").verdict
}

fn assert_proved(history: &History, evidence: &Evidence) {
    let certificate = Certificate::of(0, history, Model::Linearizable, Verdict::Consistent, evidence.clone());
    verify::verify(&certificate, history).expect("the witness proves it");
}

#[test]
fn it_is_the_longest_and_its_orders_are_witnesses() {
    let [mut found, mut open, mut dead] = [0; 3];
    for object in Object::ALL.into_iter().filter(|&object| object != Object::Memory) {
        for seed in 0..cases(60) {
            let history = match seed % 3 {
                0 => workload::object::small(object, seed),
                1 => workload::object::small_with_peeks(object, seed),
                _ => workload::object::small_with_duplicates(object, seed),
            };
            let events: Vec<HistoryEvent> = history.events().collect();
            let is_violation = |length: usize| verdict(&beginning(&history, length, None)) == Verdict::Violation;
            let longest = (0..=events.len()).find(|&length| is_violation(length)).map(|length| length - 1);
            let prefix = longest_prefix(&history, &Options::default());
            assert_eq!(prefix.is_some(), longest.is_some(), "{history:?}");
            let (Some(prefix), Some(longest)) = (prefix, longest) else { continue };
            found += 1;
            assert_eq!(events[longest], HistoryEvent::End(prefix.died));
            assert_proved(&beginning(&history, longest, None), &prefix.witness);
            for (id, evidence) in &prefix.open {
                let with_end = beginning(&history, longest, Some(HistoryEvent::End(*id)));
                if let Some(evidence) = evidence {
                    open += 1;
                    assert_proved(&with_end, evidence);
                } else {
                    dead += 1;
                    assert_eq!(verdict(&with_end), Verdict::Violation);
                }
            }
        }
    }
    assert!(found > 50 && open > 5, "{found}, {open} and {dead}");
}
