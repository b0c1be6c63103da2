//! What the tests of linearizability share.
#![allow(dead_code)]

use format::{Format, Writer};
use history::{History, Object};
use monitor::saturate::{Propagation, Removal};
use object::ValueId;

/// Every object that has calls and returns.
pub fn objects() -> impl Iterator<Item = Object> {
    Object::ALL.into_iter().filter(|&object| object != Object::Memory)
}

/// Whether SATURATE has a theory of an object. Then SYMBOLIC must have one, too.
pub fn has_theory(object: Object) -> bool {
    Propagation::new(object, 1, ValueId(0), Removal::Never).is_some()
}

/// A history as text, for messages.
pub fn text(history: &History) -> String {
    let mut writer = Writer::new(Vec::new(), Format::Text);
    writer.write(history).expect("writing to memory");
    String::from_utf8(writer.finish().expect("writing to memory")).expect("text")
}
