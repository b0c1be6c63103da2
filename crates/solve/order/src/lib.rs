//! Partial orders over chains.
//!
//! Use this crate to write an engine or a monitor that keeps a partial order of events. To check a history, use the
//! crate `seriatim` instead.
//!
//! A chain is a run of consecutive event numbers, each event before the next: the events of one thread, for example.
//! The chains, and further edges between events, generate a partial order. The crate has these tools for it:
//!
//! | to find out or keep | use |
//! | --- | --- |
//! | what comes before an event | [`Clocks`], of any [`width`], compared in [`lanes`] |
//! | the same, if there are many chains and an event knows of few | [`ClockLists`] |
//! | an order in which all events can be done, or the cycle that forbids one | [`schedule()`] |
//! | a shortest path between two events | [`path()`] |
//! | a shortest cycle of a graph | [`Cycles`] |
//! | which vertices of a graph lead to each other | [`strong_components`] |
//! | what is nearest, where some edges cost nothing | [`ZeroOneQueue`] |
//! | an order that is closed under rules, and whose last edges can be taken back | [`Saturation`] |
//! | why an event is before another in that order | [`cheapest_path`] |
//! | what a search decides in that order, and what a conflict of it rests on | [`Justified`] |
//! | lists of items by number, in one array | [`Rows`] |
//!
//! The crate does not know what an edge means.

pub mod clocks;
pub mod components;
pub mod explain;
pub mod justified;
pub mod lanes;
pub mod lists;
pub mod path;
pub mod prefetch;
pub mod reasons;
pub mod rows;
pub mod saturation;
pub mod schedule;
pub mod width;

pub use clocks::{Clocks, join};
pub use components::strong_components;
pub use explain::{Explained, Explainer, Explanation, Grounds, Premises};
pub use justified::{EventItems, Items, Justified};
pub use lists::{ClockLists, end_in};
pub use path::{Cycles, Hop, ZeroOneQueue, path};
pub use prefetch::prefetch;
pub use reasons::{Hops, cheapest_path};
pub use rows::Rows;
pub use saturation::Saturation;
pub use schedule::{Failure, Stuck, schedule};
pub use width::{Entries, Fixed, Width};
