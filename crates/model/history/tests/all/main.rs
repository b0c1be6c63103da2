//! All tests of `history` that need no process of their own, as one program: it is linked once.

mod documents;
mod finals;
mod replay;
