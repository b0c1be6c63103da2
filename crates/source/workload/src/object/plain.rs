//! Plain objects: each holds one number. What their methods do to it, and what they return.
//!
//! The simulated runs and the oracle of the tests share this definition. The checkers and the verifier have their own.

use history::{Method, Object};

/// What a method of a plain object returns.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum PlainAnswer {
    /// Nothing.
    Nothing,
    /// Whether it succeeded.
    Boolean(bool),
    /// A number.
    Number(i128),
}

use PlainAnswer::{Nothing, Number};

/// The number that a plain object holds in the beginning; none if the object is not a plain one.
pub const fn plain_start(object: Object) -> Option<i128> {
    match object {
        Object::Counter | Object::MaxRegister => Some(0),
        _ => None,
    }
}

/// A method of a plain object takes effect. None if it cannot do so now. Without an argument, `argument` is 0.
pub fn plain_step(object: Object, method: Method, number: &mut i128, argument: i128) -> Option<PlainAnswer> {
    Some(match (object, method) {
        (Object::Counter, Method::Increase) => {
            *number += argument;
            Nothing
        }
        (Object::MaxRegister, Method::WriteMax) => {
            *number = argument.max(*number);
            Nothing
        }
        (Object::Counter | Object::MaxRegister, Method::Get) => Number(*number),
        _ => return None,
    })
}
