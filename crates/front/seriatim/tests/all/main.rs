//! All tests of `seriatim` that need no process of their own, as one program: it is linked once.

mod etcd;
mod examples;
mod generated;
mod invariants;
mod prefix;
mod side_by_side;
mod story;
mod transactions;
