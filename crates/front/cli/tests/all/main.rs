//! All tests of `cli` that need no process of their own, as one program: it is linked once.

mod c11;
mod check;
mod classify;
mod commands;
mod common;
mod compare;
mod databases;
mod docs;
mod explain;
mod explore;
mod foreign;
mod hostile;
mod input;
mod json_fields;
mod machines;
mod monitor;
mod objects;
mod programs;
mod report;
mod selection;
#[cfg(unix)]
mod service;
#[cfg(unix)]
mod serving;
#[cfg(target_os = "linux")]
mod soak;
mod state;
mod strategies;
mod tables;
mod transactions;
#[cfg(unix)]
mod tutorials;
