//! Concurrent objects, some of them wrong on purpose. None of them has undefined behaviour: nodes are indices.

pub mod k_fifo;
pub mod seqlock;
pub mod treiber;
