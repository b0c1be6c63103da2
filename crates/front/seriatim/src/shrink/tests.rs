//! Removals are sound, and what is left is minimal, on small random histories near the boundary.

use history::{History, Object};
use workload::random::SplitMix64;
use workload::small::{cases, executions, to_history};

use super::*;

fn verdict(history: &History, model: Model) -> Option<Verdict> {
    check(history, model, &Options::default()).ok().map(|decision| decision.verdict)
}

/// Some items to remove, with all that need them.
fn some_removed(items: &Items, random: &mut SplitMix64) -> Vec<bool> {
    let one_in = 1 + random.below(8);
    let group: Vec<Item> = (0..items.kept.len()).filter(|_| random.below(one_in) == 0).collect();
    items.without(&group)
}

/// A beginning of the history.
fn beginning(history: &History, random: &mut SplitMix64) -> History {
    let count = history.events().count();
    let mut replay = Replay::new(history);
    for event in history.events().take(random.below(count as u64 + 1) as usize) {
        replay.play(event).expect("the events come in their order");
    }
    replay.finish().expect("a beginning is a history")
}

/// Removes items of a consistent history at random: what is left must be consistent.
fn removals_keep_it_consistent(history: &History, model: Model, random: &mut SplitMix64) -> u32 {
    if verdict(history, model) != Some(Verdict::Consistent) {
        return 0;
    }
    let items = Items { needs: needs::of_items(history, model), kept: vec![true; item_count(history)] };
    for _ in 0..4 {
        let left = part(history, &some_removed(&items, random)).expect("what is left is a history");
        assert_ne!(verdict(&left, model), Some(Verdict::Violation), "{model}\n{history:?}\n{left:?}");
    }
    1
}

/// Shrinks a violating history, and tries to remove each item of what is left.
fn what_is_left_is_minimal(history: &History, model: Model) -> u32 {
    let Ok(shrunk) = shrink(history, model, &Options::default()) else { return 0 };
    assert!(shrunk.is_minimal);
    let left = &shrunk.history;
    assert_eq!(verdict(left, model), Some(Verdict::Violation));
    let certificate = shrunk.decision.certificate(0, left).expect("a violation has a certificate");
    verify::verify(&certificate, left).expect("the certificate proves it");
    let items = Items { needs: needs::of_items(left, model), kept: vec![true; item_count(left)] };
    for item in 0..items.kept.len() {
        let rest = part(left, &items.without(&[item])).expect("what is left is a history");
        assert_eq!(verdict(&rest, model), Some(Verdict::Consistent), "{model} without {item}\n{left:?}");
    }
    1
}

#[test]
fn of_memory_models() {
    let mut random = SplitMix64::new(1);
    let [mut consistent, mut violating] = [0; 2];
    for execution in executions(7).take(cases(150) as usize) {
        let history = workload::small::add_finals(to_history(&execution), &mut random);
        for model in Model::ALL {
            consistent += removals_keep_it_consistent(&history, model, &mut random);
            violating += what_is_left_is_minimal(&history, model);
        }
    }
    assert!(consistent > 100 && violating > 100, "{consistent} and {violating}");
}

#[test]
fn of_objects() {
    let mut random = SplitMix64::new(2);
    for object in Object::ALL.into_iter().filter(|&object| object != Object::Memory) {
        let [mut consistent, mut violating] = [0; 2];
        for seed in 0..cases(60) {
            let small = match seed % 3 {
                0 => workload::object::small(object, seed),
                1 => workload::object::small_with_peeks(object, seed),
                _ => workload::object::small_with_duplicates(object, seed),
            };
            let history = beginning(&small, &mut random);
            consistent += removals_keep_it_consistent(&history, Model::Linearizable, &mut random);
            violating += what_is_left_is_minimal(&small, Model::Linearizable);
        }
        assert!(consistent > 5 && violating > 3, "{object:?}: {consistent} and {violating}");
    }
}
