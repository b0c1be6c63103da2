//! Rows become histories: each row is a record of the same fields as in [JSON Lines](crate::json), and consecutive rows
//! of one `history` are one history. A history that comes back after another began is an error.

use std::collections::VecDeque;
use std::hash::Hasher;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use rustc_hash::{FxHashSet, FxHasher};

use super::super::Format;
use super::super::allowance::Allowance;
use super::super::builder::Preset;
use super::super::columns;
use super::super::error::{Fault, InputError};
use super::super::json::{self, Json};
use super::super::record::{Assembler, Field, Raw, Record};
use super::super::room::Room;
use super::source::{Batches, Damage};
use super::{Column, JSON, cells};
use history::history::History;
use history::value::quote;

/// The offset of a fault is the number of its column, shifted so far; below are the offsets within the cell.
const SHIFT: u32 = usize::BITS / 2;
/// How many histories are remembered, to notice one that comes back.
const REMEMBERED: usize = 1 << 20;

/// Where the columns are.
pub(super) struct Layout {
    /// The place of each column in the schema, and whether its cells have JSON.
    columns: [Option<(usize, bool)>; Column::ALL.len()],
    /// Whether methods may be called as test benches do: `load`, `store`.
    has_accesses: bool,
}

impl Layout {
    pub(super) fn new(schema: &Schema) -> Result<Self, InputError> {
        let mut columns = [None; Column::ALL.len()];
        let mut named = [const { Vec::new() }; Column::ALL.len()];
        for (at, field) in schema.fields().iter().enumerate() {
            if let Some(column) = Column::named(field.name()) {
                named[column as usize].push(at);
            }
        }
        if named[Column::F as usize].is_empty() {
            named.swap(Column::F as usize, Column::Type as usize);
        }
        for column in Column::ALL {
            let (at, field) = match named[column as usize][..] {
                [] => continue,
                [at] => (at, schema.field(at)),
                [one, other, ..] => {
                    let [one, other] = [one, other].map(|at| quote(schema.field(at).name().as_bytes()));
                    let message = format!("the columns {one} and {other} both mean `{}`", column.name());
                    return Err(whole(message, Some("one of them, or another name for the other".to_owned())));
                }
            };
            let is_json = field.metadata().get(JSON).is_some_and(|value| value == "true");
            let wanted = match column {
                Column::Header if !cells::is_text(field.data_type()) => Some("strings"),
                _ if is_json && !cells::is_text(field.data_type()) => Some("strings, because its cells have JSON"),
                _ if !cells::is_read(field.data_type()) => Some("integers, booleans, strings or lists"),
                _ => None,
            };
            if let Some(wanted) = wanted {
                let kind = field.data_type();
                let message = format!("column {}: a column of type {kind} is not read", column.name());
                return Err(whole(message, Some(format!("a column of {wanted}"))));
            }
            columns[column as usize] = Some((at, is_json || column == Column::Header));
        }
        // A transaction has a list of operations, and an object has methods of its own.
        let has_accesses = [Column::Header, Column::Call].into_iter().all(|column| columns[column as usize].is_none());
        let layout = Self { columns, has_accesses };
        match [Column::Process, Column::F].into_iter().find(|&column| !layout.has(column)) {
            Some(missing) => {
                let names: Vec<&str> = schema.fields().iter().take(20).map(|field| field.name().as_str()).collect();
                let message = format!("there is no column {} among {}", missing.name(), names.join(", "));
                let expected = "a row for each operation, with the columns process (thread, core, cpu, tid) and f (op)";
                Err(whole(message, Some(expected.to_owned())))
            }
            None => Ok(layout),
        }
    }

    /// The column `history`, and whether its cells have JSON.
    pub(super) fn history(&self) -> Option<(usize, bool)> {
        self.columns[Column::History as usize]
    }

    fn has(&self, column: Column) -> bool {
        self.columns[column as usize].is_some()
    }

    /// The offset of a fault in a cell of this column.
    fn offset(&self, column: Column) -> usize {
        self.columns[column as usize].map_or(0, |(at, _)| (at + 1) << SHIFT)
    }
}

/// An error that is about no row.
fn whole(message: String, expected: Option<String>) -> InputError {
    InputError { line: 0, column: 0, text: String::new(), message, expected }
}

/// The cells of a row, as JSON one after the other.
#[derive(Default)]
struct Cells {
    text: Vec<u8>,
    /// Where the cell of each column ends. One that is null is empty.
    ends: [u32; Column::ALL.len()],
}

impl Cells {
    fn read(&mut self, layout: &Layout, batch: &RecordBatch, row: usize) -> Result<(), Fault> {
        self.text.clear();
        for column in Column::ALL {
            let start = self.text.len();
            let read = self.push(layout, batch, row, column);
            if read.is_err() {
                self.text.truncate(start);
            }
            self.ends[column as usize..].fill(self.text.len() as u32);
            read.map_err(|message| Fault::new(layout.offset(column), message))?;
        }
        Ok(())
    }

    fn push(&mut self, layout: &Layout, batch: &RecordBatch, row: usize, column: Column) -> Result<(), String> {
        let Some((at, is_json)) = layout.columns[column as usize] else { return Ok(()) };
        let start = self.text.len();
        let is_there = cells::push(&mut self.text, batch.column(at).as_ref(), row, is_json)?;
        if is_json && is_there && !json::is_value(&self.text[start..]) {
            return Err("this is not JSON".to_owned());
        }
        if !is_there && matches!(column, Column::Process | Column::F) {
            return Err("this is null".to_owned());
        }
        if self.text.len() > u32::MAX as usize { Err("this row is longer than 4 GiB".to_owned()) } else { Ok(()) }
    }
}

/// The cell of a column; none if it is null.
fn cell<'a>(text: &'a [u8], ends: &[u32], column: Column) -> Option<&'a [u8]> {
    let at = column as usize;
    let start = if at == 0 { 0 } else { ends[at - 1] as usize };
    Some(&text[start..ends[at] as usize]).filter(|cell| !cell.is_empty())
}

/// An operation with a call, of the current history. Its cells are kept until all its calls and returns are in order.
struct Kept {
    row: u64,
    /// Where its text begins in the text of all.
    start: usize,
    ends: [u32; Column::ALL.len()],
    call: i64,
    end: Option<i64>,
}

/// The history whose rows are being read.
#[derive(Default)]
struct Current {
    /// Its cell in the column `history`.
    id: Vec<u8>,
    is_begun: bool,
    kept: Vec<Kept>,
    text: Vec<u8>,
    /// Whether it has an operation without a call.
    has_instants: bool,
}

/// The histories that were there before.
#[derive(Default)]
struct Seen {
    hashes: FxHashSet<u64>,
    /// The last number, while all of them ascend.
    last: Option<i64>,
    count: usize,
}

impl Seen {
    /// Whether a history that begins was there before, as far as that is known: of the first million it is, and of
    /// others if all their numbers ascend.
    fn is_back(&mut self, id: &[u8]) -> bool {
        let number = std::str::from_utf8(id).ok().and_then(|id| id.parse::<i64>().ok());
        let ascends = self.count == 0 || self.last.is_some();
        let is_next = number.is_some() && (self.count == 0 || self.last < number);
        self.count += 1;
        let is_full = self.hashes.len() >= REMEMBERED;
        let mut hasher = FxHasher::default();
        hasher.write(id);
        let is_old = if is_full {
            self.hashes.contains(&hasher.finish()) || (ascends && !is_next)
        } else {
            !self.hashes.insert(hasher.finish())
        };
        self.last = number.filter(|_| ascends && is_next);
        is_old
    }
}

/// Reads the histories of a table.
pub(in super::super) struct TableReader {
    batches: Batches,
    layout: Layout,
    assembler: Assembler<Json>,
    batch: Option<RecordBatch>,
    /// The next row of the batch.
    at: usize,
    /// The number of the next row, from 0.
    row: u64,
    /// The number that rows are counted from.
    first: u64,
    is_apart: bool,
    cells: Cells,
    current: Current,
    seen: Seen,
    /// What was found, each with the cell of its history.
    found: VecDeque<(Vec<u8>, Result<History, InputError>)>,
    /// The cell of the history that was handed out last.
    last: Vec<u8>,
    /// Whether rows before the next history may be lost.
    is_after_damage: bool,
    is_done: bool,
    allowance: Allowance,
}

impl TableReader {
    /// A reader of the batches that `open` opens. Rows are counted from the beginning of the table or of each history.
    pub fn new(
        open: impl FnOnce() -> Result<Batches, String>,
        is_apart: bool,
        preset: Preset,
    ) -> Result<Self, InputError> {
        let opened = catch_unwind(AssertUnwindSafe(open));
        let opened = opened.unwrap_or_else(|_| Err("this cannot be decoded".to_owned()));
        let batches = opened.map_err(|message| whole(message, None))?;
        let layout = Layout::new(&batches.schema())?;
        // The cells mean what JSON Lines mean, down to the initial values.
        let preset = Preset { format: Format::JsonLines, ..preset };
        Ok(Self {
            batches,
            layout,
            allowance: preset.allowance.clone(),
            assembler: Assembler::new(Json, preset, false),
            batch: None,
            at: 0,
            row: 0,
            cells: Cells::default(),
            current: Current::default(),
            seen: Seen::default(),
            found: VecDeque::new(),
            last: Vec::new(),
            first: 0,
            is_apart,
            is_after_damage: false,
            is_done: false,
        })
    }

    /// The next history; `None` at the end of the table.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        loop {
            if let Some((id, found)) = self.found.pop_front() {
                self.last = id;
                return Some(found);
            }
            if self.is_done {
                return None;
            }
            match self.batch.take() {
                Some(batch) => {
                    self.rows(&batch);
                    self.batch = Some(batch).filter(|batch| self.at < batch.num_rows());
                }
                None => self.next_batch(),
            }
        }
    }

    /// What the column `history` says of the history, or of the error, that was handed out last.
    pub fn id(&self) -> Option<String> {
        let text = std::str::from_utf8(&self.last).ok().filter(|text| !text.is_empty())?;
        Some(serde_json::from_str::<String>(text).unwrap_or_else(|_| text.to_owned()))
    }

    fn next_batch(&mut self) {
        self.at = 0;
        let batches = &mut self.batches;
        let next = match self.allowance.check() {
            Err(fault) => Some(Err(Damage { message: fault.message, has_more: false })),
            Ok(()) => catch_unwind(AssertUnwindSafe(|| batches.next())).unwrap_or_else(|_| {
                Some(Err(match &mut self.batches {
                    Batches::Parquet(parquet) => parquet.abandon(),
                    _ => Damage { message: "the rest cannot be decoded".to_owned(), has_more: false },
                }))
            }),
        };
        match next {
            Some(Ok((batch, first))) => {
                self.row = first.unwrap_or(self.row);
                self.batch = Some(batch);
                self.check_room();
            }
            Some(Err(Damage { message, has_more })) => {
                if self.current.is_begun && !self.assembler.is_lost() {
                    self.lose_to_damage();
                }
                self.end();
                self.found.push_back((Vec::new(), Err(whole(message, None))));
                self.is_after_damage = true;
                // A table without the column `history` is one history, which is lost.
                self.is_done = !has_more || !self.layout.has(Column::History);
            }
            None => {
                self.end();
                self.is_done = true;
            }
        }
    }

    /// Gives up the current history if it takes too much memory.
    fn check_room(&mut self) {
        let kept = self.current.text.capacity() + self.current.kept.capacity() * size_of::<Kept>();
        let size = self.assembler.builder().footprint() + kept;
        if !self.assembler.is_lost() && !Room::allows(self.allowance.budget(), size) {
            let message = format!("too large: the history takes {} MiB up to row {}", size >> 20, self.number());
            let expected = "a history that fits into a quarter of the memory".to_owned();
            self.lose(whole(message, Some(expected)));
        }
    }

    /// Reads rows of the batch until a history ends.
    fn rows(&mut self, batch: &RecordBatch) {
        let mut cells = std::mem::take(&mut self.cells);
        while self.at < batch.num_rows() && self.found.is_empty() {
            let read = cells.read(&self.layout, batch, self.at);
            // A bad cell leaves those before it, and `history` is the first. A row of nobody knows which history is
            // taken for one of the current history, which is then lost.
            let history = cell(&cells.text, &cells.ends, Column::History).unwrap_or_default();
            let is_known = read.is_ok() || !history.is_empty() || !self.layout.has(Column::History);
            if !self.current.is_begun || is_known && history != self.current.id {
                self.end();
                self.begin(history, &cells);
            }
            if !self.assembler.is_lost()
                && let Err(fault) = read.and_then(|()| self.push(&cells))
            {
                self.lose(placed(&self.layout, &batch.schema(), self.number(), fault));
            }
            self.at += 1;
            self.row += 1;
        }
        self.cells = cells;
    }

    /// The number of the next row in the table, from 0.
    fn number(&self) -> u64 {
        self.batches.number(self.row) - self.first
    }

    /// Begins a history.
    fn begin(&mut self, id: &[u8], cells: &Cells) {
        self.current.is_begun = true;
        if self.is_apart {
            self.first = self.row;
        }
        self.current.id.clear();
        self.current.id.extend_from_slice(id);
        self.assembler.begin();
        if std::mem::take(&mut self.is_after_damage) {
            self.lose_to_damage();
        } else if self.seen.is_back(id) {
            let message = format!("row {}, column history: {} comes back", self.number() + 1, shown(id));
            let expected = "the rows of a history one after the other, and then no more of it".to_owned();
            self.lose(InputError { line: line(self.number()), column: 1, ..whole(message, Some(expected)) });
        } else if let Some(header) = cell(&cells.text, &cells.ends, Column::Header) {
            let mut record = Record::default();
            let read = json::read_object(header, &mut record);
            if let Err(fault) = read.and_then(|()| self.assembler.push(&record, line(self.number()))) {
                let message = format!("row {}, column header: {}", self.number() + 1, fault.message);
                self.lose(InputError { line: line(self.number()), column: 1, ..whole(message, fault.expected) });
            }
        }
    }

    /// Gives up the current history.
    fn lose(&mut self, error: InputError) {
        self.assembler.give_up();
        self.current.kept = Vec::new();
        self.current.text = Vec::new();
        self.found.push_back((self.current.id.clone(), Err(error)));
    }

    fn lose_to_damage(&mut self) {
        let id = shown(&self.current.id);
        self.lose(whole(format!("{id} is not read: it may have rows in the part that cannot be read"), None));
    }

    /// Ends the current history, if there is one.
    fn end(&mut self) {
        let current = std::mem::take(&mut self.current);
        if !current.is_begun {
            return;
        }
        if let Err((row, fault)) = self.push_kept(&current) {
            self.assembler.give_up();
            let schema = self.batches.schema();
            self.found.push_back((current.id.clone(), Err(placed(&self.layout, &schema, row, fault))));
        }
        self.found.extend(self.assembler.end().map(|ended| (current.id, ended)));
    }

    /// Takes in a row.
    fn push(&mut self, cells: &Cells) -> Result<(), Fault> {
        let get = |column| cell(&cells.text, &cells.ends, column);
        let moment = |column: Column| -> Result<Option<i64>, Fault> {
            let Some(text) = get(column) else { return Ok(None) };
            let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
            number.map(Some).ok_or_else(|| Fault::new(self.layout.offset(column), "a moment is an integer"))
        };
        let is_instant = get(Column::Type) == Some(b"\"instant\"");
        let (call, end) = (moment(Column::Call)?, moment(Column::Return)?);
        let Some(call) = call else {
            // Rows are events, or operations without calls.
            if self.layout.has(Column::Call) {
                if !self.current.kept.is_empty() || end.is_some() {
                    return Err(Fault::new(self.layout.offset(Column::Call), "this is null"));
                }
                self.current.has_instants = true;
            }
            let part = if self.layout.has(Column::Call) { Part::Instant } else { Part::Event };
            return self.push_part(&cells.text, &cells.ends, part, self.number());
        };
        if self.current.has_instants {
            let fault = Fault::new(self.layout.offset(Column::Call), "the rows of this history above have no call");
            return Err(fault.expected("null here, or a call in every row of the history"));
        }
        if end.is_some_and(|end| end < call) {
            let message = "the operation returns before it is called";
            return Err(Fault::new(self.layout.offset(Column::Return), message));
        }
        if is_instant && end != Some(call) {
            let message = "an operation without a call happens at one moment";
            return Err(Fault::new(self.layout.offset(Column::Return), message).expected("the same as in `call`"));
        }
        let start = self.current.text.len();
        self.current.text.extend_from_slice(&cells.text);
        self.current.kept.push(Kept { row: self.number(), start, ends: cells.ends, call, end });
        Ok(())
    }

    /// Takes in the calls and returns of the rows that were kept, in their order.
    fn push_kept(&mut self, current: &Current) -> Result<(), (u64, Fault)> {
        let mut events = Vec::with_capacity(2 * current.kept.len());
        for (at, kept) in current.kept.iter().enumerate() {
            let text = &current.text[kept.start..];
            if cell(text, &kept.ends, Column::Type) == Some(b"\"instant\"") {
                events.push((kept.call, false, at, Part::Instant));
                continue;
            }
            events.push((kept.call, false, at, Part::Call));
            events.extend(kept.end.map(|end| (end, true, at, Part::Return)));
        }
        events.sort_by_key(|&(moment, is_return, at, _)| (moment, is_return, at));
        for (_, _, at, part) in events {
            let kept = &current.kept[at];
            let pushed = self.push_part(&current.text[kept.start..], &kept.ends, part, kept.row);
            pushed.map_err(|fault| (kept.row, fault))?;
        }
        Ok(())
    }

    fn push_part(&mut self, text: &[u8], ends: &[u32], part: Part, row: u64) -> Result<(), Fault> {
        self.assembler.push(&record(&self.layout, text, ends, part), line(row))?;
        if part == Part::Instant
            && let Some(time) = cell(text, ends, Column::TimeEnd)
            && let Some(time) = std::str::from_utf8(time).ok().and_then(|time| time.parse().ok())
        {
            self.assembler.set_end_time(time);
        }
        Ok(())
    }
}

/// What a row says, or a part of it.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Part {
    Event,
    Instant,
    Call,
    Return,
}

/// A part of a row as a record.
fn record<'a>(layout: &Layout, text: &'a [u8], ends: &[u32], part: Part) -> Record<'a> {
    let mut record = Record::default();
    let mut set = |field, column: Column| {
        let at = layout.offset(column);
        let null = (layout.has(column) && field == Field::Value).then_some(&b"null"[..]);
        if let Some(text) = cell(text, ends, column).or(null) {
            record.set(field, Raw { text, at });
        }
    };
    set(Field::Process, Column::Process);
    set(Field::Key, Column::Key);
    if part == Part::Return {
        set(Field::Value, Column::Result);
        set(Field::Time, Column::TimeEnd);
    } else {
        set(Field::Value, Column::Value);
        set(Field::Time, Column::Time);
        set(Field::Order, Column::Order);
        set(Field::Id, Column::Id);
        set(Field::From, Column::From);
        set(Field::Po, Column::Po);
        set(Field::Size, Column::Size);
    }
    if matches!(part, Part::Event | Part::Return) {
        set(Field::Type, Column::Type);
    }
    let f = cell(text, ends, Column::F).unwrap_or_default();
    let is_access = layout.has_accesses && matches!(part, Part::Event) && cell(text, ends, Column::Type).is_none();
    let access = is_access.then(|| columns::quoted_access(f)).flatten();
    record.set(Field::F, Raw { text: access.unwrap_or(f), at: layout.offset(Column::F) });
    let mut say = |text| record.set(Field::Type, Raw { text, at: layout.offset(Column::Type) });
    match part {
        Part::Call => say(b"\"invoke\""),
        Part::Return if cell(text, ends, Column::Type).is_none() => say(b"\"ok\""),
        _ => {}
    }
    record
}

/// The line of a row: rows are counted from 1.
fn line(row: u64) -> u32 {
    u32::try_from(row + 1).unwrap_or(u32::MAX - 1)
}

/// A history, for a message.
fn shown(id: &[u8]) -> String {
    match id {
        [] => "the history".to_owned(),
        id => format!("history {}", quote(id)),
    }
}

/// The error for a fault in a row, with its column if the fault is in one.
fn placed(layout: &Layout, schema: &Schema, row: u64, fault: Fault) -> InputError {
    let number = row + 1;
    let column = fault.at >> SHIFT;
    let is_known = layout.columns.iter().flatten().any(|&(at, _)| at + 1 == column);
    let message = match schema.fields().get(column.wrapping_sub(1)).filter(|_| is_known) {
        Some(field) => format!("row {number}, column {}: {}", field.name(), fault.message),
        None => format!("row {number}: {}", fault.message),
    };
    let column = u32::try_from(column).unwrap_or(0).max(1);
    InputError { line: line(row), column, ..whole(message, fault.expected) }
}
