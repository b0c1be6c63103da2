//! All tests of `explore` that need no process of their own, as one program: it is linked once.

mod checked;
mod common;
mod counts;
mod endless;
mod execution;
mod integers;
mod litmus;
mod litmus_forms;
mod liveness;
mod loom;
mod native;
mod outside;
mod programs;
mod random;
mod roles;
mod spurious;
mod statics;
mod symmetry;
mod tutorial;
mod waits;
