//! Concurrent objects: their sequential specifications, and whether a history of calls and returns is linearizable.
//!
//! A history is linearizable if the operations that returned, and some of the pending ones, can be ordered such that
//! each comes after all that returned before its call, and the order is a run of the sequential object. (The exchanger's
//! specification is not sequential: there, operations pair, and the two of a pair overlap.)
//!
//! [`view`] is the history as the checkers see it, [`spec`] the sequential objects.

pub mod mr;
pub mod spec;
pub mod view;

pub use spec::Sequential;
pub use view::{Call, Event, ObjectError, ObjectHistory, Part, ValueId};
