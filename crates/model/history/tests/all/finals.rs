//! Final values: the reads that stand for them in the view of a history.

use format::{Format, ReadOptions, read};
use history::History;
use history::execution::{EventId, Execution, Kind, ThreadId, ViewError};

fn history(text: &str) -> History {
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    read(Box::new(std::io::Cursor::new(text.to_owned())), &options).next().unwrap().unwrap()
}

#[test]
fn each_writer_reads_the_final_value_in_the_end() {
    let history = history("# @final x 2\n[0] w x 1\n[1] w x 2\n[2] r x 1\n[0] r y 0\n");
    let observed = history.observed();
    assert_eq!((observed.operations().len(), observed.finals().len()), (6, 0));
    let execution = Execution::from_history(&history).unwrap();
    let last = |thread| execution.event(execution.thread_events(ThreadId(thread)).next_back().unwrap());
    let write = execution.thread_events(ThreadId(1)).next().unwrap();
    assert_eq!((last(0).kind, last(0).source), (Kind::Read, write));
    assert_eq!((last(1).kind, last(1).source), (Kind::Read, write));
    assert_eq!(execution.len(), 6);
}

#[test]
fn what_nobody_wrote_is_thin_air() {
    for text in ["# @final x 3\n[0] w x 1\n", "# @final x 3\n[0] w y 1\n", "# @final x 3\n"] {
        assert_eq!(Execution::from_history(&history(text)).unwrap().thin_air().len(), 1, "{text}");
    }
    let initial = Execution::from_history(&history("# @final x 0\n[0] w y 1\n")).unwrap();
    assert_eq!(initial.events().last().unwrap().source, EventId::INIT);
}

#[test]
fn a_value_written_twice_is_ambiguous_and_an_unsettled_write_is_an_error() {
    let twice = Execution::from_history(&history("# @final x 1\n[0] w x 1\n[1] w x 1\n"));
    assert!(matches!(twice, Err(ViewError::Ambiguous { .. })));
    let text = "# @object register\n# @final x 1\n[0] call write 1 key=x\n[0] return\n[1] call write 2 key=x\n";
    assert!(matches!(Execution::from_history(&history(text)), Err(ViewError::Unsettled(_))));
}
