//! All tests of `transaction` that need no process of their own, as one program: it is linked once.

mod common;
mod larger;
mod one_operation;
mod oracle;
mod sets;
mod shared_data;
