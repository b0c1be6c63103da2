//! What the names of loom do, and what they say that they do not do.

use std::panic::catch_unwind;
use std::time::Duration;

use explore::sync::Arc;
use explore::sync::atomic::AtomicUsize;
use explore::sync::atomic::Ordering::Relaxed;
use explore::{model::Builder, thread};

fn adds(threads: usize) -> impl Fn() + Send + Sync + 'static {
    move || {
        let counter = Arc::new(AtomicUsize::new(0));
        for _ in 0..threads {
            let counter = Arc::clone(&counter);
            thread::spawn(move || {
                counter.fetch_add(1, Relaxed);
                counter.fetch_add(1, Relaxed);
            });
        }
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

/// The time is up before all was explored: that is no pass, and it is said.
#[test]
fn a_duration_that_is_up_is_no_pass() {
    let mut builder = Builder::new();
    builder.max_duration = Some(Duration::ZERO);
    let message = message(&*catch_unwind(move || builder.check(adds(4))).unwrap_err());
    assert!(message.contains("`max_duration` was up") && message.contains("which are not all"), "{message}");
    // What was explored before that is a pass, and so is what was to be explored up to a number.
    let mut builder = Builder::new();
    builder.max_duration = Some(Duration::from_secs(3600));
    builder.check(adds(2));
    builder.max_duration = None;
    builder.max_permutations = Some(10);
    builder.check(adds(4));
}

/// The bound on preemptions and the checkpoints change nothing, and their absence is not an error.
#[test]
fn what_is_not_used_changes_nothing() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(1);
    builder.checkpoint_file("no such folder/file");
    builder.log = true;
    builder.check(adds(2));
    assert!(!std::path::Path::new("no such folder").exists());
}

/// Both names of the error, as tokio uses them.
#[test]
fn a_value_that_was_dropped_is_an_error() {
    fn is_the_same(error: explore::lazy_static::AccessError) -> thread::AccessError {
        error
    }
    explore::thread_local! {
        static NUMBER: std::cell::Cell<u32> = std::cell::Cell::new(7);
    }
    explore::model(|| {
        let found = NUMBER.try_with(std::cell::Cell::get);
        assert_eq!(found.map_err(is_the_same), Ok(7));
    });
}
