//! Exchanger: EXCHANGE, SYMMETRIC, INJECTIVE, MATCHOVERLAP.
//!
//! Offers are unique, so an exchange that returned v has one possible partner, the one that offered v. It must overlap,
//! and return, if it returned or when it does, what the other offered. There is no order to propagate.
//!
//! Obsolete: two partners that both returned; an exchange that returned null.

use rustc_hash::FxHashMap;

use super::{Engine, Stop};
use crate::mr::Invocation;
use crate::view::ValueId;

#[derive(Copy, Clone, Debug)]
struct Offer {
    value: ValueId,
    called: u32,
    /// The moment of the return, and the result.
    returned: Option<(u32, ValueId)>,
    /// What its partner, which returned, says that it must return.
    must_return: Option<ValueId>,
}

#[derive(Debug, Default)]
pub(super) struct Exchanger {
    offers: FxHashMap<u32, Offer>,
    by_value: FxHashMap<ValueId, u32>,
    obsolete: Vec<u32>,
    moment: u32,
    is_ambiguous: bool,
}

impl Engine for Exchanger {
    fn call(&mut self, number: u32, invocation: Invocation) {
        let value = invocation.argument;
        self.is_ambiguous |= self.by_value.insert(value, number).is_some();
        self.offers.insert(number, Offer { value, called: self.moment, returned: None, must_return: None });
        self.moment += 1;
    }

    fn return_(&mut self, number: u32, result: ValueId) -> Result<(), Stop> {
        if self.is_ambiguous {
            return Err(Stop::NotUnique);
        }
        let moment = self.moment;
        self.moment += 1;
        let Some(this) = self.offers.get_mut(&number) else { return Ok(()) };
        if result == ValueId::NONE {
            return Ok(());
        }
        this.returned = Some((moment, result));
        let Offer { value, called, must_return, .. } = *this;
        Stop::unless(must_return.is_none_or(|must| must == result))?;
        if result == ValueId::NULL {
            self.obsolete.push(number);
            return Ok(());
        }
        let partner = *self.by_value.get(&result).ok_or(Stop::Contradiction)?;
        Stop::unless(partner != number)?;
        let that = self.offers.get_mut(&partner).ok_or(Stop::Contradiction)?;
        if let Some((returned, got)) = that.returned {
            Stop::unless(got == value && called < returned)?;
            self.obsolete.extend([number, partner]);
        } else {
            Stop::unless(that.must_return.is_none_or(|must| must == value))?;
            that.must_return = Some(value);
        }
        Ok(())
    }

    fn remove_matches(&mut self) {
        for number in self.obsolete.drain(..) {
            if let Some(offer) = self.offers.remove(&number) {
                self.by_value.remove(&offer.value);
            }
        }
    }

    fn size(&self) -> usize {
        self.offers.len()
    }
}
