//! All tests of `verify` that need no process of their own, as one program: it is linked once.

mod buffered;
mod c11;
mod causal;
mod common;
mod cores;
mod json;
mod modification_orders;
mod objects;
mod observed;
mod sources;
mod store;
mod transactions;
mod verify;
mod wccm;
