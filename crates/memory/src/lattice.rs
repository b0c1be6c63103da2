//! Which model implies which.
//!
//! Most implications are plain from the definitions, or the papers state them. These follow from the axioms:
//!
//! - `wsc => ra`. What `ra` orders of the writes of a location is in `st`. A chain of rmws stands together in `st`: what comes
//!   after one of it comes after all, by `rw`, and what comes before one comes before all, by `cf`. So for each location the
//!   chains can be ordered, and that order is the `mo` of `ra`.
//! - `ccm => wra`: of two rmws that read one write, `rw[pww]` orders each before the other.

use std::sync::OnceLock;

use certificate::Model;

/// Pairs of a model and the next weaker ones that it implies; the others follow by transitivity.
pub fn implications() -> &'static [(Model, Model)] {
    &[
        (Model::Sc, Model::Wsc),
        (Model::Sc, Model::Sra),
        (Model::Wsc, Model::Ccm),
        (Model::Ccm, Model::Ccv),
        (Model::Ccm, Model::Cm),
        (Model::Ccm, Model::Wra),
        (Model::Ccv, Model::Cc),
        (Model::Cm, Model::Cc),
        (Model::Sra, Model::Ra),
        (Model::Sra, Model::Ccv),
        (Model::Ra, Model::Wra),
        (Model::Ra, Model::Rc20),
        (Model::Wra, Model::Cc),
        (Model::Rc20, Model::Relaxed),
        (Model::Relaxed, Model::Coherence),
        (Model::Wsc, Model::Ra),
    ]
}

/// Whether every execution that `stronger` allows is allowed by `weaker`.
pub fn implies(stronger: Model, weaker: Model) -> bool {
    // By model: those that it implies, one bit each.
    static IMPLIED: OnceLock<[u32; 32]> = OnceLock::new();
    let implied = IMPLIED.get_or_init(|| {
        let mut implied: [u32; 32] = std::array::from_fn(|model| 1 << model);
        // Often enough for the longest chain.
        for _ in Model::ALL {
            for &(from, to) in implications() {
                implied[from as usize] |= implied[to as usize];
            }
        }
        implied
    });
    implied[stronger as usize] >> weaker as usize & 1 == 1
}
