//! Partial orders over chains.
//!
//! A chain is a run of consecutive numbers, the events of one thread say, each before the next. An order is what the
//! chains and some further edges between events generate. This crate has what every model needs of it: what lies
//! before an event ([`clocks`], of any [`width`]), an order of execution or the cycle that forbids one ([`mod@schedule`]), and the
//! shortest path between two events, to tell why one is before the other ([`mod@path`]); and an order that is closed under
//! rules, edge by edge, and can be taken back ([`saturation`]). Lists of many events are in [`rows`]. It does not know what
//! an edge means.

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
