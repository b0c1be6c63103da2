//! The four checkers of Emmi, Enea, Hamza: Monitoring Refinement via Symbolic Reasoning (MR, PLDI 2015), to compare.
//!
//! SATURATE is an engine of the product ([`monitor::saturate`]), which uses it where no exact monitor exists. Here it
//! is one of four. The theories of the built-in objects are written for each checker, so that they are fast.
//! [`theory`] accepts the theory of an object of your own, as axioms.
//!
//! | checker | how | a violation | silence |
//! | --- | --- | --- | --- |
//! | [`enumerate`](mod@enumerate) | linearizations of completions, one after the other | proved | a linearization |
//! | [`symbolic`] | satisfiability of `STRONGER(h)` and `G(THEORY)` | proved | a linearization, unless matches go |
//! | [`saturate`](monitor::saturate) | unit propagation in the theory | proved | no proof |
//! | [`counting`](mod@counting) | `symbolic`, but only with the order of the last k intervals | proved | no proof |

mod checker;
pub mod counting;
pub mod enumerate;
pub mod symbolic;
pub mod theory;

use model::{Budget, GaveUp};
use monitor::saturate::{NOT_UNIQUE, Propagation, Removal};
use object::ValueId;

pub use checker::{
    Checker, Finding, Invocation, Monitor, NO_THEORY, NewMonitor, Options, Scan, Step, Witness, check, has_theory,
    invocation, matches_are_told, monitor, scan, values_are_unique,
};

/// Linearizations one after the other.
pub const ENUMERATE: Checker = Checker::new("enumerate", 0, |part, _, options| Ok(enumerate::monitor(part, options)));

/// Satisfiability.
pub const SYMBOLIC: Checker = Checker::new("symbolic", 0, |part, _, options| {
    if !has_theory(part) {
        return Err(NO_THEORY);
    }
    Ok(Box::new(symbolic::Monitor::new(part.object, part.capacity, part.initial, options)?))
});

/// Unit propagation.
pub const SATURATE: Checker = Checker::new("saturate", 0, |part, _, options| {
    if !has_theory(part) {
        return Err(NO_THEORY);
    }
    if !matches_are_told(part) {
        return Err(NOT_UNIQUE);
    }
    let removal = if options.remove_matches { Removal::WhenSettled } else { Removal::Never };
    let propagation = Propagation::new(part.object, part.capacity, part.initial, removal);
    Ok(Box::new(propagation.ok_or(NO_THEORY)?))
});

impl Monitor for Propagation {
    fn call(&mut self, number: u32, invocation: Invocation) {
        self.call(number, invocation);
    }

    fn return_(&mut self, number: u32, result: ValueId) -> Step {
        self.return_(number, result)
    }

    fn witness(&mut self) -> Witness {
        Witness::None(SILENCE)
    }
}

/// Why a checker had to stop, in short.
fn reason(budget: &Budget) -> &'static str {
    match budget.why() {
        GaveUp::Time => "the time limit was reached",
        GaveUp::Cancelled => "it was cancelled",
        GaveUp::Asks => "the number of steps that was allowed is used up",
        _ => "the memory limit was reached",
    }
}

const SILENCE: &str = "SATURATE found no contradiction, which proves nothing";

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

/// The checker of that name: `enumerate`, `symbolic`, `saturate`, `counting(k)`.
pub fn checker(name: &str) -> Option<Checker> {
    match name {
        "enumerate" => Some(ENUMERATE),
        "symbolic" => Some(SYMBOLIC),
        "saturate" => Some(SATURATE),
        _ => {
            let k = name.strip_prefix("counting(")?.strip_suffix(')')?;
            k.parse().ok().map(counting)
        }
    }
}
