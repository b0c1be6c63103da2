//! Partial orders over chains.
//!
//! A chain is a run of consecutive numbers, the events of one thread say, each before the next. An order is what the
//! chains and some further edges between events generate. This crate has what every model needs of it:
//! - what lies before an event ([`clocks`], of any [`width`], compared in [`lanes`]);
//! - an order of execution, or the cycle that forbids one ([`mod@schedule`]);
//! - the shortest path between two events, to tell why one is before the other, and shortest cycles ([`mod@path`]);
//! - an order that is closed under rules, edge by edge, and can be taken back ([`saturation`]);
//! - lists of events by number, in one array ([`rows`]).
//!
//! It does not know what an edge means.

pub mod clocks;
pub mod lanes;
pub mod path;
pub mod prefetch;
pub mod rows;
pub mod saturation;
pub mod schedule;
pub mod width;

pub use clocks::{Clocks, join};
pub use path::{Cycles, Hop, Nearest, path};
pub use prefetch::prefetch;
pub use rows::Rows;
pub use saturation::Saturation;
pub use schedule::{Failure, Stuck, schedule};
pub use width::{Entries, Fixed, Width};
