//! Final values. If all writers read the final values in the end, the writes of these values are the last in the store
//! order.

use history::Value;
use history::execution::{EventId, Execution};
use oracle::{Model, allowed, allowed_with_last};
use workload::random::SplitMix64;
use workload::small::{add_finals, executions, to_history};

#[test]
fn a_final_value_is_that_of_the_last_write() {
    let mut random = SplitMix64::new(17);
    let mut verdicts = [0; 2];
    for execution in executions(16).take(workload::cases(2500) as usize) {
        let history = add_finals(to_history(&execution), &mut random);
        // The value of a write is one more than its number.
        let write = |value: Value| value.as_integer().and_then(|n| n.checked_sub(1)).filter(|&n| n >= 0);
        let last = history
            .finals()
            .iter()
            .map(|&(key, value)| (key.0, write(value).map_or(EventId::INIT, |number| EventId(number as u32))));
        let last: Vec<(u32, EventId)> = last.collect();
        let observed = Execution::from_history(&history).unwrap();
        for &model in Model::ALL.iter().filter(|model| model.orders_writes() && model.applies(&execution)) {
            let expected = allowed_with_last(model, &execution, &last);
            assert_eq!(allowed(model, &observed), expected, "{}: {:?}", model.name(), history.operations());
            verdicts[usize::from(expected)] += 1;
        }
    }
    assert!(verdicts.iter().all(|&count| count * 10 > verdicts[0] + verdicts[1]), "{verdicts:?}");
}
