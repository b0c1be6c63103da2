//! An exchanger: `exchange v => v'` or `null`. It is not sequential: operations form pairs, and the two operations of a
//! pair overlap.

mod fast;

use history::Object;

use super::BuiltIn;

pub(super) const BUILT_IN: BuiltIn = BuiltIn {
    pairs: true,
    fast: |part, _| fast::check(part),
    search: |part, _| Ok(fast::check(part)),
    ..BuiltIn::without_order(Object::Exchanger)
};
