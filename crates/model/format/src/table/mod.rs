//! Tables of Parquet and Arrow IPC: a row an operation or an event, a column a field. The cells have the meaning of the
//! fields of JSON Lines ([`super::record`]), and a cell that is null is a field that is null.
//!
//! The columns have [other names](super::columns), too.
//!
//! | column | |
//! | --- | --- |
//! | `history` | tells histories apart: the rows of one are consecutive. Without it, the table is one history |
//! | `header` | the header of the history as JSON, in its first row |
//! | `process`, `f` | who, and the method; needed, and never null |
//! | `key`, `value` | the key; the argument, or what an operation without a call wrote or read |
//! | `type` | how it ended: `ok` (if it returned), `fail`, `info`; `instant` without a call. Of an event: its type |
//! | `result` | what it returned |
//! | `call`, `return` | the moments; no return is a pending operation, no `call` at all an operation without a call |
//! | `time`, `time_end` | recorded times, carried along |
//! | `order`, `id`, `from`, `po` | of a memory |
//! | `size` | of the accesses to a memory: the same in all of them |
//!
//! If there is a column `call`, rows are operations, and the order of their moments is the order in time: at equal
//! moments, calls come before returns. Otherwise rows are events in the order in which they happened.
//!
//! A column may have integers, whole floating-point numbers, booleans, strings or lists, and dictionaries of these. A
//! column of strings whose field has the metadata `json` = `true` has JSON in every cell: so values of several types
//! stand in one column.
//!
//! Invariant of reading: there is one batch of rows in memory, and one history. What is damaged in a file is a row
//! group of Parquet, or a batch of Arrow; the others are read. A history that may have had rows in the damaged part is
//! not handed out.

mod cells;
mod chunks;
mod gather;
mod rows;
mod source;
mod write;

pub(super) use chunks::Chunks;
pub(super) use gather::Gathered;
pub(super) use rows::TableReader;
pub(super) use source::Batches;
pub(super) use write::TableWriter;

use super::columns;

/// The metadata of a column that has JSON in its cells.
const JSON: &str = "json";

/// The column that a table means by this name.
pub(super) fn column_named(name: &str) -> Option<&'static str> {
    Column::named(name).map(Column::name)
}

/// A column that is read.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Column {
    History,
    Header,
    Process,
    Type,
    F,
    Key,
    Value,
    Result,
    Call,
    Return,
    Time,
    TimeEnd,
    Order,
    Id,
    From,
    Po,
    Size,
}

impl Column {
    const ALL: [Self; 17] = [
        Self::History,
        Self::Header,
        Self::Process,
        Self::Type,
        Self::F,
        Self::Key,
        Self::Value,
        Self::Result,
        Self::Call,
        Self::Return,
        Self::Time,
        Self::TimeEnd,
        Self::Order,
        Self::Id,
        Self::From,
        Self::Po,
        Self::Size,
    ];

    /// What such a column may be called. `type` is also what is done, if no other column says that.
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::History => columns::HISTORY,
            Self::Process => columns::PROCESS,
            Self::F => columns::METHOD,
            Self::Key => columns::KEY,
            Self::Value => columns::VALUE,
            Self::Order => columns::ORDER,
            Self::Size => columns::SIZE,
            Self::Header => &["header"],
            Self::Type => &["type"],
            Self::Result => &["result"],
            Self::Call => &["call"],
            Self::Return => &["return"],
            Self::Time => &["time"],
            Self::TimeEnd => &["time_end"],
            Self::Id => &["id"],
            Self::From => &["from"],
            Self::Po => &["po"],
        }
    }

    /// The column of this name, or of another one that it has.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| columns::is_one_of(name, column.names()))
    }

    const fn name(self) -> &'static str {
        self.names()[0]
    }
}
