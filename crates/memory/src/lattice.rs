//! Which model implies which.

use certificate::Model;

/// Pairs of a model and the next weaker ones that it implies; the others follow by transitivity.
pub fn implications() -> &'static [(Model, Model)] {
    &[(Model::Ccm, Model::Ccv), (Model::Ccm, Model::Cm), (Model::Ccv, Model::Cc), (Model::Cm, Model::Cc)]
}

/// Whether every execution that `stronger` allows is allowed by `weaker`.
pub fn implies(stronger: Model, weaker: Model) -> bool {
    stronger == weaker || implications().iter().any(|&(from, to)| from == stronger && implies(to, weaker))
}
