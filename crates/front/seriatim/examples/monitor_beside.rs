//! A monitor beside a running program. It gets each call and each return as they happen, and stops at the event that
//! makes a violation certain. The checker then explains the history up to that event.

use std::error::Error;
use std::sync::Mutex;

use seriatim::history::{Method, Object};
use seriatim::monitor::linearizable::OnlineAlgorithm;
use seriatim::monitor::{Linearizable, Monitor};
use seriatim::record::Live;
use seriatim::{Model, Options, check};

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let mut monitor = Linearizable::new(Object::Queue, OnlineAlgorithm::Auto)?;
    let live = Live::new(Object::Queue, move |events| {
        // The events are kept, so that a violation can be explained. Without this call, the monitor runs in bounded
        // memory.
        events.keep();
        let violation = events.map(|event| monitor.push(event)).find_map(Result::err)?;
        Some((violation, events.history()))
    });
    // A queue that hands out the newest value, as soon as there are two.
    let queue = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for first in [0, 1_000] {
            let (mut thread, queue) = (live.thread(), &queue);
            scope.spawn(move || {
                for value in first..first + 100_u32 {
                    thread.record((Method::Enqueue, value), || queue.lock().unwrap().push(value));
                    thread.record((Method::Enqueue, value + 500), || queue.lock().unwrap().push(value + 500));
                    thread.record(Method::Dequeue, || queue.lock().unwrap().pop());
                    thread.record(Method::Dequeue, || queue.lock().unwrap().pop());
                }
            });
        }
    });
    let (violation, history) = live.finish().ok_or("the monitor sees that the queue is wrong")?;
    println!("{violation}");
    let decision = check(&history, Model::Linearizable, &Options::default())?;
    println!("{}", decision.explain(&history));
    Ok(())
}
