//! What the name of a method, or of an object, says in each format.

use super::Format;
use history::object::Object;
use history::value::Value;

/// Whether the initial value of a key has a meaning for this object.
pub(super) const fn has_initial_value(object: Object) -> bool {
    matches!(object, Object::Memory | Object::Register | Object::KeyValue | Object::Open | Object::Transactions)
}

/// The initial value of the keys of an object, in a file of that format that names none. Where it has no meaning, it is
/// the same in all formats.
pub(super) const fn default_initial(object: Object, format: Format) -> Value {
    match (object, format) {
        _ if !has_initial_value(object) => Value::ZERO,
        (Object::KeyValue, _) => Value::BLANK,
        (Object::Memory, _) => Value::ZERO,
        (_, Format::JsonLines | Format::Edn) => Value::NULL,
        _ => Value::ZERO,
    }
}

/// The object that the name of a method shows, for a file that does not name its object. An instant is an operation on
/// a memory, if it can be. A method that several objects share shows nothing, except for the methods of Jepsen's
/// workloads in its own formats.
pub(super) fn infer_object(method: &str, has_call: bool, format: Format) -> Option<Object> {
    let is_record = matches!(format, Format::JsonLines | Format::Edn);
    Some(match method {
        "add" | "remove" | "broadcast" if is_record => Object::Set,
        "acquire" | "release" if is_record => Object::Mutex,
        "r" | "w" | "u" | "rmw" | "f" | "fence" => Object::Memory,
        "read" | "write" if !has_call => Object::Memory,
        "read" | "write" | "cas" => Object::Register,
        "enqueue" | "enq" | "dequeue" | "deq" => Object::Queue,
        "push" | "pop" => Object::Stack,
        "insert" | "delete-max" => Object::PriorityQueue,
        "contains" => Object::Set,
        "lock" | "try-lock" | "tryLock" | "trylock" | "try_lock" | "unlock" => Object::Mutex,
        "exchange" => Object::Exchanger,
        "get" | "put" | "append" => Object::KeyValue,
        "write-max" => Object::MaxRegister,
        _ => return None,
    })
}
