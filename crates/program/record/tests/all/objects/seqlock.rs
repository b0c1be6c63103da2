//! A register of two words under a sequence lock. A reader that saw the same even number before and after has read both
//! words of one write. In C11 this needs release and acquire. Here the orders can also be relaxed, and the check of the
//! number can be left out.

use std::sync::atomic::{AtomicU32, Ordering, fence};

/// How a reader and a writer order their accesses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// With the orders that C11 needs.
    AcquireRelease,
    /// Everything relaxed, no fences.
    Relaxed,
    /// The reader does not look at the number at all.
    Unchecked,
}

pub struct SeqLock {
    order: Order,
    sequence: AtomicU32,
    words: [AtomicU32; 2],
}

impl SeqLock {
    pub fn new(order: Order) -> Self {
        Self { order, sequence: AtomicU32::new(0), words: Default::default() }
    }

    fn fence(&self, order: Ordering) {
        if self.order != Order::Relaxed {
            fence(order);
        }
    }

    /// Writes a value below 2^16 to both words. One writer at a time.
    pub fn write(&self, value: u32) {
        let sequence = self.sequence.load(Ordering::Relaxed);
        self.sequence.store(sequence + 1, Ordering::Relaxed);
        self.fence(Ordering::Release);
        self.words[0].store(value, Ordering::Relaxed);
        // Here a reader may see the new value of one word and the old value of the other.
        std::thread::yield_now();
        self.words[1].store(value, Ordering::Relaxed);
        self.fence(Ordering::Release);
        self.sequence.store(sequence + 2, Ordering::Relaxed);
    }

    /// The value. If the two words differ, the result is a value that nobody wrote.
    pub fn read(&self) -> u32 {
        loop {
            let before = self.sequence.load(Ordering::Relaxed);
            self.fence(Ordering::Acquire);
            let [first, second] = [0, 1].map(|at: usize| self.words[at].load(Ordering::Relaxed));
            self.fence(Ordering::Acquire);
            let after = self.sequence.load(Ordering::Relaxed);
            if (before == after && before & 1 == 0) || self.order == Order::Unchecked {
                return if first == second { first } else { first << 16 | second };
            }
            std::thread::yield_now();
        }
    }
}
