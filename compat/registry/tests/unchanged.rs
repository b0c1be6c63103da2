//! The loom tests of other crates as they are: their files are read where cargo has unpacked them.

// The tests of crossbeam-epoch call it so.
extern crate loom as loom_crate;

include!(concat!(env!("OUT_DIR"), "/modules.rs"));
