//! All tests of `record` that need no process of their own, as one program: it is linked once.

mod objects;
mod real;
mod recorder;
