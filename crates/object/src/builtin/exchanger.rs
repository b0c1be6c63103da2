//! An exchanger: `exchange v => v'` or `null`. It is not sequential: operations form pairs, and the two operations of a
//! pair overlap.

use history::Object;

use super::BuiltIn;
use crate::fast;

pub(super) const BUILT_IN: BuiltIn = BuiltIn {
    pairs: true,
    fast: |part, _| fast::exchanger::check(part),
    search: |part, _| Ok(fast::exchanger::check(part)),
    ..BuiltIn::new(Object::Exchanger)
};
