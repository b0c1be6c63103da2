//! All tests of `report` that need no process of their own, as one program: it is linked once.

mod explanations;
mod objects;
