//! Three of the four checkers of Emmi, Enea, Hamza: Monitoring Refinement via Symbolic Reasoning (MR, PLDI 2015), to
//! compare. SATURATE, the fourth, is in [`object::mr`], which also says what a checker is and runs it.
//!
//! | checker | how | a violation | silence |
//! | --- | --- | --- | --- |
//! | [`enumerate`](mod@enumerate) | linearizations of completions, one after the other | proved | a linearization |
//! | [`symbolic`] | satisfiability of `STRONGER(h)` and `G(THEORY)` | proved | a linearization, unless matches go |
//! | [`counting`](mod@counting) | `symbolic`, but only with the order of the last k intervals | proved | no proof |

pub mod counting;
pub mod enumerate;
pub mod symbolic;

use object::mr::{Checker, NO_THEORY, has_theory};

/// Linearizations one after the other.
pub const ENUMERATE: Checker = Checker::new("enumerate", 0, |part, _, options| Ok(enumerate::monitor(part, options)));

/// Satisfiability.
pub const SYMBOLIC: Checker = Checker::new("symbolic", 0, |part, _, options| {
    if !has_theory(part) {
        return Err(NO_THEORY);
    }
    Ok(Box::new(symbolic::Monitor::new(part.object, part.capacity, part.initial, options)?))
});

/// The names of COUNTING(k), for the numbers k with which it can be of use.
const COUNTING: [&str; 10] = [
    "counting(0)",
    "counting(1)",
    "counting(2)",
    "counting(3)",
    "counting(4)",
    "counting(5)",
    "counting(6)",
    "counting(7)",
    "counting(8)",
    "counting(9)",
];

/// The approximation by the last k intervals. Its cost grows exponentially with k.
pub const fn counting(k: u32) -> Checker {
    let name = if (k as usize) < COUNTING.len() { COUNTING[k as usize] } else { "counting(k)" };
    Checker::new(name, k, |part, k, options| {
        if !has_theory(part) {
            return Err(NO_THEORY);
        }
        Ok(Box::new(counting::Monitor::new(part.object, part.capacity, part.initial, k, options)?))
    })
}

/// The checker of that name: `enumerate`, `symbolic`, `counting(k)`.
pub fn checker(name: &str) -> Option<Checker> {
    match name {
        "enumerate" => Some(ENUMERATE),
        "symbolic" => Some(SYMBOLIC),
        _ => {
            let k = name.strip_prefix("counting(")?.strip_suffix(')')?;
            k.parse().ok().map(counting)
        }
    }
}
