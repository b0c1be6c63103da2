//! From a broken spinlock to a proof that the mended one is right. `docs/programs-rust.md` tells the story.
//!
//! `cargo run -p seriatim-explore --example spinlock`

#![allow(unsafe_code, reason = "a lock gives access to what it protects")]

use explore::cell::UnsafeCell;
use explore::sync::Arc;
use explore::sync::atomic::{AtomicBool, Ordering};
use explore::{Builder, hint, thread};

/// How a thread takes the lock.
#[derive(Copy, Clone)]
enum Take {
    /// Looks whether it is free, and then takes it.
    LookAndTake,
    /// Takes it at once.
    Swap(Ordering),
}

struct SpinLock {
    is_taken: AtomicBool,
    value: UnsafeCell<u32>,
}

// SAFETY: whoever accesses the value has the lock. Whether that is true is the question.
unsafe impl Sync for SpinLock {}

impl SpinLock {
    fn increment(&self, take: Take) {
        match take {
            Take::LookAndTake => {
                while self.is_taken.load(Ordering::Acquire) {
                    hint::spin_loop();
                }
                self.is_taken.store(true, Ordering::Relaxed);
            }
            Take::Swap(order) => {
                while self.is_taken.compare_exchange(false, true, order, Ordering::Relaxed).is_err() {
                    hint::spin_loop();
                }
            }
        }
        // SAFETY: this thread has the lock.
        self.value.with_mut(|value| unsafe { *value += 1 });
        self.is_taken.store(false, Ordering::Release);
    }
}

/// Three threads increment a number under the lock.
fn program(take: Take) {
    let lock = Arc::new(SpinLock { is_taken: AtomicBool::new(false), value: UnsafeCell::new(0) });
    let others: Vec<_> = (0..2)
        .map(|_| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || lock.increment(take))
        })
        .collect();
    lock.increment(take);
    for other in others {
        other.join().unwrap();
    }
    // SAFETY: all other threads have ended.
    assert_eq!(lock.value.with(|value| unsafe { *value }), 3);
}

/// What is found of each attempt.
pub fn story() -> String {
    let attempts = [
        ("look, then take", Take::LookAndTake),
        ("swap, relaxed", Take::Swap(Ordering::Relaxed)),
        ("swap, acquire", Take::Swap(Ordering::Acquire)),
    ];
    attempts.map(|(name, take)| format!("{name}: {}\n", Builder::new().check(move || program(take)))).concat()
}

fn main() {
    print!("{}", story());
}
