//! Exchanger: EXCHANGE, SYMMETRIC, INJECTIVE, MATCHOVERLAP.
//!
//! Offers are unique, so an exchange that returned v has one possible partner: the exchange that offered v. The two
//! must overlap. When the partner returns, it must return the value that the first one offered. There is no order to
//! propagate.
//!
//! Obsolete are two partners that both returned, and an exchange that returned `null`.

use object::ValueId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{Engine, Invocation, PropagationEnd};

#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
struct Offer {
    called: u64,
    /// The moment of the return, and the result.
    returned: Option<(u64, ValueId)>,
    /// The value that it must return, if its partner has returned.
    must_return: Option<ValueId>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Exchanger {
    offers: FxHashMap<ValueId, Offer>,
    open: FxHashMap<u32, ValueId>,
    obsolete: Vec<ValueId>,
    moment: u64,
    is_ambiguous: bool,
}

impl Engine for Exchanger {
    fn call(&mut self, number: u32, invocation: Invocation) {
        let offer = Offer { called: self.moment, returned: None, must_return: None };
        self.is_ambiguous |= self.offers.insert(invocation.argument, offer).is_some();
        self.open.insert(number, invocation.argument);
        self.moment += 1;
    }

    fn return_(&mut self, number: u32, result: ValueId) -> Result<(), PropagationEnd> {
        if self.is_ambiguous {
            return Err(PropagationEnd::NotUnique);
        }
        let moment = self.moment;
        self.moment += 1;
        if result == ValueId::NONE {
            return Ok(());
        }
        let Some(value) = self.open.remove(&number) else { return Ok(()) };
        let Some(this) = self.offers.get_mut(&value) else { return Ok(()) };
        this.returned = Some((moment, result));
        let Offer { called, must_return, .. } = *this;
        PropagationEnd::unless(must_return.is_none_or(|must| must == result))?;
        if result == ValueId::NULL {
            self.obsolete.push(value);
            return Ok(());
        }
        PropagationEnd::unless(result != value)?;
        let that = self.offers.get_mut(&result).ok_or(PropagationEnd::Contradiction)?;
        if let Some((returned, got)) = that.returned {
            PropagationEnd::unless(got == value && called < returned)?;
            self.obsolete.extend([value, result]);
        } else {
            PropagationEnd::unless(that.must_return.is_none_or(|must| must == value))?;
            that.must_return = Some(value);
        }
        Ok(())
    }

    fn fail(&mut self, number: u32) -> Result<(), PropagationEnd> {
        let Some(value) = self.open.remove(&number) else { return Ok(()) };
        let offer = self.offers.remove(&value);
        PropagationEnd::unless(offer.is_none_or(|offer| offer.must_return.is_none()))
    }

    fn remembers(&self, value: ValueId) -> bool {
        self.offers.contains_key(&value)
    }

    fn remove_matches(&mut self, _at_once: bool) {
        for value in self.obsolete.drain(..) {
            self.offers.remove(&value);
        }
    }

    fn size(&self) -> usize {
        self.offers.len()
    }
}
