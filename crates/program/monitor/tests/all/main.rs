//! All tests of `monitor` that need no process of their own, as one program: it is linked once.

mod c11;
mod linearizable;
mod observed;
mod transactions;
mod windowed;
