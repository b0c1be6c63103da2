//! Replays of histories that were read.

use history::builder::{BuildError, Which};
use history::{HistoryEvent, OperationId, Replay, Source};

#[test]
fn a_source_is_replayed_before_what_reads_it_or_after() {
    let history = format::parse("[a] r x 1 from=l\n[b] w x 1 id=l\n").unwrap();
    let [reader, write] = [0, 1].map(OperationId);
    let mut swapped = Replay::new(&history);
    for id in [write, reader] {
        swapped.play(HistoryEvent::Instant(id)).unwrap();
    }
    assert_eq!(swapped.finish().unwrap().sources(), [(OperationId(1), Source::Operation(OperationId(0)))]);
    let mut alone = Replay::new(&history);
    alone.play(HistoryEvent::Instant(reader)).unwrap();
    let missing = BuildError::SourceNotReplayed(Which { id: reader, line: 1 });
    assert_eq!(alone.finish().unwrap_err(), missing);
    let mut ended = Replay::new(&history);
    assert_eq!(ended.play(HistoryEvent::End(write)), Err(BuildError::NotOpen { process: "b".to_owned() }));
    let none = Err(BuildError::UnknownOperation(OperationId(2)));
    assert_eq!(Replay::new(&history).play(HistoryEvent::Call(OperationId(2))), none);
}
