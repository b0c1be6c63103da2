//! Records what two threads do with a queue, and checks that the history is linearizable. Then it does the same with a
//! wrong queue, which hands out the newest value. A history can also be written to a file, for `seriatim check`.

use std::collections::VecDeque;
use std::error::Error;
use std::sync::Mutex;

use seriatim::format::{Format, Writer};
use seriatim::history::{Method, Object};
use seriatim::record::Recorder;
use seriatim::{History, Model, Options, Verdict, check};

/// Records what two threads do with a queue. `remove` takes a value out of the queue.
fn record(remove: impl Fn(&mut VecDeque<u32>) -> Option<u32> + Sync) -> History {
    let queue = Mutex::new(VecDeque::new());
    let recorder = Recorder::new(Object::Queue);
    std::thread::scope(|scope| {
        for first in [0, 100] {
            let (mut thread, queue, remove) = (recorder.thread(), &queue, &remove);
            scope.spawn(move || {
                for value in first..first + 50_u32 {
                    thread.record((Method::Enqueue, value), || queue.lock().unwrap().push_back(value));
                }
                for _ in 0..50 {
                    thread.record(Method::Dequeue, || remove(&mut queue.lock().unwrap()));
                }
            });
        }
    });
    recorder.finish()
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let history = record(VecDeque::pop_front);
    let decision = check(&history, Model::Linearizable, &Options::default())?;
    println!("{}", decision.explain(&history));
    assert_eq!(decision.verdict, Verdict::Consistent);

    let history = record(VecDeque::pop_back);
    let decision = check(&history, Model::Linearizable, &Options::default())?;
    println!("{}", decision.explain(&history));
    assert_eq!(decision.verdict, Verdict::Violation);

    let mut writer = Writer::new(Vec::new(), Format::Text);
    writer.write(&history)?;
    let text = String::from_utf8(writer.finish()?)?;
    assert!(text.starts_with("# @object queue\n"));
    Ok(())
}
