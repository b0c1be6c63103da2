//! The result of a method, from what an input gives. It is the same in every format.

use std::hint::select_unpredictable;

use super::Returns;
use crate::value::Value;

impl Returns {
    /// Like [`Self::result`], for the common cases; `None` for the others. Methods alternate at random, so no branch
    /// depends on which one it is.
    #[inline]
    pub fn plain(self, given: Value) -> Option<Value> {
        /// Whether each kind of given result is good (no value, a boolean, another value), and the result that no value
        /// stands for.
        const fn row(returns: Returns) -> ([bool; 3], Value) {
            match returns {
                Returns::Nothing => ([true, false, false], Value::NONE),
                Returns::Value => ([false, true, true], Value::NONE),
                Returns::Removed => ([true, true, true], Value::EMPTY),
                Returns::Boolean => ([false, true, false], Value::NONE),
                Returns::OptionalBoolean => ([true, true, false], Value::NONE),
                // A set in braces takes the general way.
                Returns::Whole => ([false; 3], Value::NONE),
                Returns::Partner => ([true, true, true], Value::NULL),
                Returns::Any => ([true, true, true], Value::NONE),
            }
        }
        const ROWS: [([bool; 3], Value); 8] = [
            row(Returns::Nothing),
            row(Returns::Value),
            row(Returns::Removed),
            row(Returns::Boolean),
            row(Returns::OptionalBoolean),
            row(Returns::Whole),
            row(Returns::Partner),
            row(Returns::Any),
        ];
        let is_boolean = (given == Value::TRUE) | (given == Value::FALSE);
        let kind = usize::from(given.is_some()) * (2 - usize::from(is_boolean));
        let (is_good, absent) = ROWS[self as usize];
        is_good[kind].then_some(select_unpredictable(given.is_none(), absent, given))
    }

    /// The result that `given` stands for; [`Value::NONE`] if the input gives none. The error says what was expected. A
    /// whole set must be in its [canonical form](crate::whole_set) already.
    pub fn result(self, given: Value) -> Result<Value, &'static str> {
        let is_boolean = given == Value::TRUE || given == Value::FALSE;
        match self {
            Self::Nothing if given.is_none() || given == Value::TRUE || given == Value::NULL => Ok(Value::NONE),
            Self::Nothing => Err("nothing: the method returns no value"),
            Self::Value if given.is_none() => Err("the value that was read"),
            Self::Whole if given.is_none() => Err("all elements of the set: `{1,2,3}`"),
            Self::Removed if given.is_none() => Ok(Value::EMPTY),
            Self::Partner if given.is_none() => Ok(Value::NULL),
            Self::Value | Self::Removed | Self::Partner | Self::Whole | Self::Any => Ok(given),
            Self::OptionalBoolean if given.is_none() => Ok(given),
            Self::Boolean | Self::OptionalBoolean if is_boolean => Ok(given),
            Self::Boolean | Self::OptionalBoolean => Err("`true` or `false`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{Method, Object};

    #[test]
    fn plain_results_are_results() {
        let values = [Value::NONE, Value::NULL, Value::TRUE, Value::FALSE, Value::EMPTY, Value::ZERO, Value::word(7)];
        let built_in = Object::ALL.iter().flat_map(|object| object.methods()).map(|&(method, _)| method);
        for method in built_in.chain([Method::Open]) {
            let returns = method.returns();
            for given in values {
                let result = returns.result(given).ok();
                let is_common = returns != Returns::Whole && (given.is_none() || returns != Returns::Nothing);
                assert_eq!(returns.plain(given), result.filter(|_| is_common), "{method:?} {given:?}");
            }
        }
    }
}
