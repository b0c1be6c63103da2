//! Decides a register with compare-and-swap or read-modify-write, if each value that was read or expected is written by
//! one operation only. Then it is known which operation made each state that was seen (see [`super::chains`]).

use history::Method;

use crate::answer::Answer;
use crate::chains::{self, INITIAL, Link, NONE, Unlinked};
use crate::view::{Call, Part, ValueId};

/// Decides a register.
pub fn check(part: &Part, witness: bool) -> Answer {
    chains::check(part, witness, links)
}

fn links(part: &Part) -> Result<Vec<Link>, Unlinked> {
    const SEVERAL: u32 = NONE - 2;
    // For each value: the operation that writes it; NONE if there is none.
    let mut makers = vec![NONE; part.values.len()];
    makers[part.initial.index()] = INITIAL;
    for (at, call) in (0..).zip(part.calls) {
        let writes = match call.method {
            Method::Write | Method::Rmw => true,
            Method::Cas => call.result != ValueId::FALSE,
            _ => false,
        };
        if writes {
            let maker = &mut makers[call.argument.index()];
            *maker = if *maker == NONE { at } else { SEVERAL };
        }
    }
    let maker = |value: ValueId| match makers[value.index()] {
        SEVERAL => Err(Unlinked::Ambiguous("a value that was read or expected is written more than once")),
        maker => Ok(maker),
    };
    let seen = |value: ValueId| match maker(value)? {
        NONE => Err(Unlinked::Impossible),
        maker => Ok(maker),
    };
    let link = |call: &Call| {
        let result = call.result;
        Ok(match call.method {
            Method::Write => Link::MAKES,
            Method::Rmw if result == ValueId::NONE => Link::MAKES,
            Method::Rmw => Link { sees: seen(result)?, ..Link::MAKES },
            Method::Cas if result == ValueId::FALSE => Link::avoids(maker(call.expected)?),
            Method::Cas if result == ValueId::TRUE => Link { sees: seen(call.expected)?, ..Link::MAKES },
            Method::Cas if call.is_pending() => match maker(call.expected)? {
                // It cannot have succeeded. So it makes no state, and nobody can have seen its value.
                NONE => Link::FREE,
                maker => Link { sees: maker, ..Link::MAKES },
            },
            Method::Cas => return Err(Unlinked::Ambiguous("it is not known whether a compare-and-swap succeeded")),
            _ if result == ValueId::NONE => Link::FREE,
            _ => Link::sees(seen(result)?),
        })
    };
    part.calls.iter().map(link).collect()
}
