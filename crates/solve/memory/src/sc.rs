//! Sequential consistency: `sc` and `wsc`. (Sections 2 and 3 of wSC, *Boosting Sequential Consistency Checking using
//! Saturation*.)
//!
//! `sc` holds iff a store order `ww` exists with `po u rf u ww u rw[ww]` acyclic: iff there is one interleaving of all
//! threads in which each read returns the last write before it. `wsc` holds iff the least `st`, `hb` with `st = (hb_WW
//! u cf[hb])+`, `hb = (po u rf u st u rw[st])+` has `hb` acyclic. `sc` implies `wsc`, and `st` is part of every store
//! order.
//!
//! Both are decided as [`crate::store`] says, on the frame whose chains are the threads and whose base is `po u rf`.
