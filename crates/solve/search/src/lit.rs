//! Literals, and variables that are made when they are first asked for.
//!
//! A literal is a variable or its negation, as one number: twice the variable, and one more for the negation. So the
//! two literals of a variable differ in the last bit.

use std::fmt;
use std::ops::Not;

use rustc_hash::FxHashMap;

/// A variable, or its negation. What a variable means is for the theory to say.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lit(u32);

impl Lit {
    /// The literal of a variable, below 2^31.
    #[inline]
    pub const fn new(variable: u32, is_positive: bool) -> Self {
        Self(2 * variable + !is_positive as u32)
    }

    /// Its variable.
    #[inline]
    pub const fn variable(self) -> u32 {
        self.0 / 2
    }

    /// Whether it is the variable, and not its negation.
    #[inline]
    pub const fn is_positive(self) -> bool {
        self.0.is_multiple_of(2)
    }

    /// Its place in a table with two entries for each variable.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Not for Lit {
    type Output = Self;

    #[inline]
    fn not(self) -> Self {
        Self(self.0 ^ 1)
    }
}

impl fmt::Debug for Lit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_positive() { "" } else { "-" }, self.variable())
    }
}

/// A variable for each pair of things that must be ordered one way or the other: the smaller number comes first, or
/// the greater does.
///
/// ```
/// let mut pairs = search::Pairs::default();
/// let lit = pairs.lit(7, 3);
/// assert_eq!(pairs.of(lit), (7, 3));
/// assert_eq!(!lit, pairs.lit(3, 7));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    variables: FxHashMap<(u32, u32), u32>,
    pairs: Vec<(u32, u32)>,
}

impl Pairs {
    /// The literal which says that `first` comes before `second`. They are two different things.
    pub fn lit(&mut self, first: u32, second: u32) -> Lit {
        let pair = (first.min(second), first.max(second));
        let variable = *self.variables.entry(pair).or_insert_with(|| {
            self.pairs.push(pair);
            self.pairs.len() as u32 - 1
        });
        Lit::new(variable, first < second)
    }

    /// What a literal says comes first, and what comes second.
    #[inline]
    pub fn of(&self, lit: Lit) -> (u32, u32) {
        let (low, high) = self.pairs[lit.variable() as usize];
        if lit.is_positive() { (low, high) } else { (high, low) }
    }
}
