//! All tests of `object` that need no process of their own, as one program: it is linked once.

mod chains;
mod common;
mod duplicates;
mod oracle;
mod own;
mod shared_data;
mod tampering;
mod whole_set;
mod wrong;
