//! Which model implies which.

use certificate::Model;

/// Pairs of a model and the next weaker ones that it implies; the others follow by transitivity.
pub fn implications() -> &'static [(Model, Model)] {
    &[
        (Model::Sc, Model::Wsc),
        (Model::Sc, Model::Sra),
        (Model::Wsc, Model::Ccm),
        (Model::Ccm, Model::Ccv),
        (Model::Ccm, Model::Cm),
        (Model::Ccv, Model::Cc),
        (Model::Cm, Model::Cc),
        (Model::Sra, Model::Ra),
        (Model::Sra, Model::Ccv),
        (Model::Ra, Model::Wra),
        (Model::Ra, Model::Rc20),
        (Model::Wra, Model::Cc),
        (Model::Rc20, Model::Relaxed),
        (Model::Relaxed, Model::Coherence),
    ]
}

/// Whether every execution that `stronger` allows is allowed by `weaker`.
pub fn implies(stronger: Model, weaker: Model) -> bool {
    stronger == weaker || implications().iter().any(|&(from, to)| from == stronger && implies(to, weaker))
}
