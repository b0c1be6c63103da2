//! What the tests share.
#![allow(dead_code)]

use history::{History, Object};

/// Every object that has calls and returns.
pub const OBJECTS: [Object; 12] = [
    Object::Register,
    Object::Queue,
    Object::Stack,
    Object::PriorityQueue,
    Object::Set,
    Object::Mutex,
    Object::Semaphore,
    Object::Exchanger,
    Object::KeyValue,
    Object::Multiset,
    Object::TaggedMutex,
    Object::TaggedSemaphore,
];

/// Whether only the search decides an object: it has no fast algorithm and no theory.
pub fn is_searched(object: Object) -> bool {
    matches!(object, Object::KeyValue | Object::Multiset | Object::TaggedMutex | Object::TaggedSemaphore)
}

/// A history as text, for messages.
pub fn text(history: &History) -> String {
    let mut writer = history::format::Writer::new(Vec::new(), history::format::Format::Text);
    writer.write(history).expect("writing to memory");
    String::from_utf8(writer.finish().expect("writing to memory")).expect("text")
}
