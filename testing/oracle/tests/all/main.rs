//! All tests of `oracle` that need no process of their own, as one program: it is linked once.

mod agreement;
mod axe;
mod corpus;
mod finals;
mod generated;
mod lattice;
