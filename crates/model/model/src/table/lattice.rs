//! Which model implies which.
//!
//! Most implications are plain from the definitions, or the papers state them. The following ones need an argument from
//! the axioms. Two facts serve them all. Each of the stronger models excludes that a thread reads its own later write,
//! so `rf` within a thread is part of `po`. And a path of `po u rf` enters a thread by `rfe`, at a read, and leaves it
//! by `rfe`, at a write.
//!
//! - `tso => sra`, with the store order as `mo`.
//!   - `hb u mo` is acyclic: a path of `po u rf` from a write to a write is a path of `ppo u rfe`, because in each
//!     thread it leads from a read or a write to a write, and `ppo` has all these pairs. So `hb` between writes, and
//!     `mo`, both agree with the memory order.
//!   - No read r of w knows of a write w' that overwrote w: suppose that w `mo` w' and w' `hb` r, so r `rw` w'. If the
//!     path from w' to r enters the thread of r from another thread, it does so at a read, which is r or is before r in
//!     `ppo`. So w' is before r in the memory order, and `rw` closes a cycle. If not, w' is of the thread of r. Then w'
//!     `po-loc` r, and `rw` closes a cycle of coherence.
//!   - No write stands between an rmw and its source, since `rw` puts the rmw before that write.
//! - `wtso => ra`. The same paths are in one of the two `hb_B` of `wtso`. So `st` has all pairs of `co` between writes
//!   of one location, and all pairs of `cf[co]`. Take a chain of rmws, each of which reads the write before it. A write
//!   that comes after one write of the chain in `st` comes after all of them, by `rw`. A write that comes before one
//!   comes before all, by `cf`. So the chains of a location can be put into a total order that extends `st`. This order
//!   is the `mo` of `ra`.
//! - `wccm => ccv`. Take a path of `co` from a write to a read of its location. If it enters the thread of the read
//!   from another thread, it is a path of `ppo u rfe`. If not, the write is of that thread, and the pair is in
//!   `po-loc`. So `cf[co]` is part of `wpww`.
//!   - `po u rf u cf[co]` is acyclic: suppose that it has a cycle. Only `po` leads out of a pure read. If `po` also
//!     leads into it, the two edges are replaced by one. Then `po` leads only to writes, so the cycle is one of `ppo u
//!     rfe u wpww`.
//!   - There is no w `co` w' `co` r for a read r of w: `whb` would put w before w', and `cf[co]` would put w' before w.
//! - `wccm => wra`. `cc` follows from `ccv`. If two rmws read one write, `rw[wpww]` puts each of them before the other.
//! - `wpso => relaxed`. The argument is that of `wtso => ra`, with `po-loc` instead of `co`. A cycle of `po u rf` leads
//!   through each thread from a read to a write, and `ppo` has these pairs in `wpso`, too.
//!
//! There are no other implications: the corpus refutes every implication that does not follow from these.

use std::sync::OnceLock;

use super::Model;

/// Pairs of a model and the next weaker ones that it implies, from the [table](super) of models; the
/// strongest first. The others follow by transitivity.
///
/// ```
/// use model::{Model, implications};
///
/// let is_stated = |stronger, weaker| implications().any(|pair| pair == (stronger, weaker));
/// assert!(is_stated(Model::Tso, Model::Pso));
/// // `tso` also implies `coherence`, by way of `pso`.
/// assert!(!is_stated(Model::Tso, Model::Coherence));
/// ```
pub fn implications() -> impl Iterator<Item = (Model, Model)> {
    Model::every().rev().flat_map(|model| model.row().implies.iter().map(move |&weaker| (model, weaker)))
}

/// The bit of a model, by its number in the table.
const fn bit(model: Model) -> u64 {
    1 << model as u64
}

/// Whether every execution that `stronger` allows is allowed by `weaker`.
///
/// ```
/// use model::{Model, implies};
///
/// assert!(implies(Model::Sc, Model::Tso));
/// assert!(!implies(Model::Tso, Model::Sc));
/// ```
pub fn implies(stronger: Model, weaker: Model) -> bool {
    // By model: a bit for each model that it implies.
    static IMPLIED: OnceLock<Vec<u64>> = OnceLock::new();
    let implied = IMPLIED.get_or_init(|| {
        let mut implied: Vec<u64> = Model::every().map(bit).collect();
        // As many rounds as there are models: the longest chain of implications has no more steps.
        for _ in Model::every() {
            for (from, to) in implications() {
                implied[from as usize] |= implied[to as usize];
            }
        }
        implied
    });
    implied[stronger as usize] & bit(weaker) != 0
}
