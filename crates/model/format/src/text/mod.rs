//! The text format (`.hist`, and the `.log` files of violin).
//!
//! A line is blank, a comment (`#`), a directive (`# @key value`), a separator (`---`) or an event:
//!
//! ```text
//! [0] w.rel x 1 id=a       an operation of a memory: orders .rlx .acq .rel .acqrel .sc
//! [1] r x 1 from=a         labels and sources; from=init is the initial write
//! [1] u x 1 7              a read-modify-write: reads 1, writes 7
//! [1] f.sc                 a fence
//! [1] call enqueue 5       also enqueue(5)
//! [1] return
//! [2] call dequeue
//! [2] return 5             a bare return of a removal means empty
//! ```
//!
//! This reader and writer add the following to the published format, so that every history can be written:
//! - A word that could be mistaken for something else is a JSON string in double quotes: `"a b"`, `"5"` (the word, not
//!   the integer), `""`. The same holds for the name of a process: `["client 1"]`.
//! - `[p] fail` and `[p] info` end a call with Jepsen's outcome of that name.
//! - Every object has instants (operations without call and return): `[2] dequeue => 5`, `[2] enqueue 5`.
//! - `key=x` names the key of an operation of an object that is not a memory.
//! - `time=5` is the recorded time of an event. `time=5:9`, `time=5:` and `time=:9` are the times of call and return of
//!   an operation that has no line for its return.
//! - `[p] call w x 1`, `[p] call r x`, `[p] call u x 7` are operations of a memory with call and return. The return has
//!   the value that was read.
//! - Other tools' spellings are read: `invoke` for `call`, `ret` and `ok` for `return`, in upper or lower case; `return
//!   (5)`, `return ()`; `Empty`, `True`, `OK`, 1 and 0 for the results that they stand for.
//! - An object that is not built in: `# @object account`. The name of its method begins with a letter; then come
//!   letters, digits and `-_.!?`. The method takes any number of values, and returns one value or nothing: `[0] call
//!   transfer 5 savings`, `[0] return ok`.
//! - Transactions: `[a] begin`, `[a] w x 1`, `[a] a l 5`, `[a] r l [3,5]`, `[a] commit`. An element of a list that
//!   could be mistaken for something else is in double quotes. `# @realtime none` says that the order of lines across
//!   sessions is not the order in time. `begin`, `commit`, `abort` and `info` may have a `time=`.
//! - The directives `# @initial v` (for all keys that `@init` does not name), `# @name text` and `# @final x v`.

mod arguments;
mod fast;
mod line;
mod operation;
mod read;
mod seen;
mod transactions;
mod write;

pub(super) use fast::read_event;
pub(super) use read::{Line, TextReader, read_line};
pub(super) use seen::Seen;
pub(super) use write::{action_line, operation_line, write_history};
