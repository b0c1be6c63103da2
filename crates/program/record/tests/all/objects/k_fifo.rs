//! A k-FIFO queue after Kirsch, Lippautz, Payer (2013): segments of k slots, filled and emptied in any order. By
//! design, values leave up to k - 1 places out of order, so it is not a queue.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

const FREE: u32 = 0;

pub struct KFifo {
    k: usize,
    slots: Vec<AtomicU32>,
    head: AtomicUsize,
    tail: AtomicUsize,
}

impl KFifo {
    /// Room for that many segments in all. No segment is used twice.
    pub fn new(k: usize, segments: usize) -> Self {
        let slots = (0..k * segments).map(|_| AtomicU32::new(FREE)).collect();
        Self { k, slots, head: AtomicUsize::new(0), tail: AtomicUsize::new(0) }
    }

    fn segment(&self, segment: usize) -> Option<&[AtomicU32]> {
        self.slots.get(segment * self.k..(segment + 1) * self.k)
    }

    /// Inserts a value that is not 0, at the first free slot from `start` on. Fails when all segments are used up.
    pub fn enqueue(&self, value: u32, start: usize) -> Result<(), ()> {
        loop {
            let tail = self.tail.load(Ordering::SeqCst);
            let segment = self.segment(tail).ok_or(())?;
            for at in 0..self.k {
                let slot = &segment[(start + at) % self.k];
                if slot.compare_exchange(FREE, value, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                    // If the queue has left the segment behind meanwhile, and nobody took the value, it is taken back.
                    let is_behind = self.head.load(Ordering::SeqCst) > tail;
                    if !is_behind || slot.compare_exchange(value, FREE, Ordering::SeqCst, Ordering::SeqCst).is_err() {
                        return Ok(());
                    }
                    break;
                }
            }
            let _ = self.tail.compare_exchange(tail, tail + 1, Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    /// Removes a value, from the first filled slot from `start` on.
    pub fn dequeue(&self, start: usize) -> Option<u32> {
        loop {
            let (head, tail) = (self.head.load(Ordering::SeqCst), self.tail.load(Ordering::SeqCst));
            for at in 0..self.k {
                let slot = &self.segment(head)?[(start + at) % self.k];
                let value = slot.load(Ordering::SeqCst);
                if value != FREE && slot.compare_exchange(value, FREE, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                    return Some(value);
                }
            }
            if head == tail {
                return None;
            }
            let _ = self.head.compare_exchange(head, head + 1, Ordering::SeqCst, Ordering::SeqCst);
        }
    }
}
