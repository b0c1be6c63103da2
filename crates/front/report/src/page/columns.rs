//! A history as columns: one number an operation in each, near its neighbours, so that a column compresses well.
//!
//! A value is 0 for none, an odd number for an integer (its distance from an integer before), an even number for a
//! text of the table `texts`. Every text is made [`visible`](history::visible()) here, so a page shows it as it is.

use history::{History, KeyId, MemoryOrder, OperationId, Outcome, Source, Value, Words, visible};
use model::Evidence;
use model::{Choice, Node, transaction};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value as Json, json};

use super::Playable;
use super::block::{Block, Numbers, zigzag};

/// Integers of at most this size are exact in a browser, and so is their distance.
const EXACT: i64 = 1 << 50;

/// The texts of a block.
#[derive(Default)]
struct Texts {
    texts: Vec<Json>,
    numbers: FxHashMap<u64, u32>,
}

impl Texts {
    /// The number of the text of a value.
    fn number(&mut self, history: &History, value: Value) -> u32 {
        *self.numbers.entry(value.bits()).or_insert_with(|| {
            self.texts.push(text(history, value));
            self.texts.len() as u32 - 1
        })
    }
}

/// A column of values. The integers of an operation are near those of the operations before it: either in the same
/// column, or among the arguments. Both ways are tried, and the shorter one is taken.
struct Values {
    bytes: Numbers,
    last: i64,
}

impl Values {
    fn new() -> Self {
        Self { bytes: Numbers::default(), last: 0 }
    }

    fn push(&mut self, texts: &mut Texts, history: &History, value: Value) {
        let is_plain = |number: &i64| number.abs() < EXACT && !history.words().is_spelled(value);
        match value.as_integer().filter(is_plain) {
            _ if value.is_none() => self.bytes.push(0),
            Some(number) => {
                self.bytes.push(zigzag(number - self.last) << 1 | 1);
                self.last = number;
            }
            None => self.bytes.push((u64::from(texts.number(history, value)) + 1) << 1),
        }
    }
}

/// Puts a history into a block, with these witnesses. `origins` says for each operation which operation of another
/// history it is.
pub(super) fn block(history: &History, witnesses: &[Playable], origins: &[u32]) -> Block {
    let mut block = Block::default();
    let mut texts = Texts::default();
    head(history, &mut texts, &mut block);
    operations(history, &mut texts, &mut block);
    moments(history, &mut block);
    times(history, &mut block);
    let mut origin = Numbers::default();
    for &id in origins {
        origin.push_near(i64::from(id));
    }
    block.column("origin", origin.bytes);
    orders(history, witnesses, &mut block);
    block.insert("texts", Json::Array(texts.texts));
    block
}

/// How many elements of a list are shown at its beginning and at its end.
const ELEMENTS: usize = 6;

/// A value as text. A long list is cut in the middle: each of its versions is a value.
fn text(history: &History, value: Value) -> Json {
    let list = if value.as_list().is_some() { history.list(value) } else { &[] };
    if list.len() <= 2 * ELEMENTS + 1 {
        return json!(visible(&history.show(value)));
    }
    let shown = |part: &[Value]| part.iter().map(|&element| history.show(element)).collect::<Vec<_>>().join(" ");
    let [first, last] = [&list[..ELEMENTS], &list[list.len() - ELEMENTS..]].map(shown);
    json!(visible(&format!("[{first} … {last}] ({} elements)", list.len())))
}

fn head(history: &History, texts: &mut Texts, block: &mut Block) {
    let of_key = |table: &[(KeyId, Value)]| -> Json {
        table.iter().map(|&(key, value)| json!([key.0, text(history, value)])).collect()
    };
    let names = |names: &[Value], show: fn(&Words, Value) -> String| -> Json {
        names.iter().map(|&name| json!(visible(&show(history.words(), name)))).collect()
    };
    let mut head = Map::new();
    head.insert("count".to_owned(), json!(history.operations().len()));
    head.insert("object".to_owned(), json!(visible(history.object_name())));
    head.insert("capacity".to_owned(), json!(history.capacity()));
    head.insert("initial".to_owned(), text(history, history.initial()));
    head.insert("inits".to_owned(), of_key(history.inits()));
    head.insert("processes".to_owned(), names(history.processes(), Words::show_process));
    head.insert("keys".to_owned(), names(history.keys(), Words::show_key));
    let remarks = history.remarks().iter().map(|(moment, words)| json!([moment, visible(words)]));
    head.insert("events".to_owned(), remarks.collect());
    // The words that mean something to a machine have fixed numbers.
    for value in [Value::NULL, Value::TRUE, Value::FALSE, Value::EMPTY, Value::BLANK] {
        texts.number(history, value);
    }
    *block = Block::new(head);
}

fn operations(history: &History, texts: &mut Texts, block: &mut Block) {
    let [mut process, mut method, mut outcome, mut key, mut line] = [(); 5].map(|()| Numbers::default());
    let mut argument = Values::new();
    // Results near other results, and results near arguments.
    let mut result = [Values::new(), Values::new()];
    let mut methods: Vec<String> = Vec::new();
    for (id, operation) in (0..).map(OperationId).zip(history.operations()) {
        process.push(u64::from(operation.process.0));
        let mut name = visible(history.method_name(id)).into_owned();
        if operation.order != MemoryOrder::Plain {
            name = format!("{name}.{}", operation.order.name());
        }
        let number = methods.iter().position(|known| *known == name).unwrap_or_else(|| {
            methods.push(name);
            methods.len() - 1
        });
        method.push(number as u64);
        outcome.push(match operation.outcome {
            Outcome::Instant => 0,
            Outcome::Ok => 1,
            Outcome::Fail => 2,
            Outcome::Info => 3,
            Outcome::Pending => 4,
        });
        key.push(if operation.key == KeyId::NONE { 0 } else { u64::from(operation.key.0) + 1 });
        line.push_near(if operation.is_at_the_end() { -1 } else { i64::from(operation.line) });
        argument.push(texts, history, operation.argument);
        result[1].last = argument.last;
        for column in &mut result {
            column.push(texts, history, operation.result);
        }
    }
    let [near_results, near_arguments] = result.map(|column| column.bytes.bytes);
    block.insert("methods", json!(methods));
    let shorter = if compressed(&near_results) <= compressed(&near_arguments) { "results" } else { "arguments" };
    block.insert("near", json!(shorter));
    for (name, numbers) in
        [("process", process), ("method", method), ("outcome", outcome), ("key", key), ("line", line)]
    {
        block.column(name, numbers.bytes);
    }
    block.column("argument", argument.bytes.bytes);
    block.column("result", if shorter == "results" { near_results } else { near_arguments });
    further(history, texts, block);
}

/// How many bytes a column takes when it is compressed, about.
fn compressed(bytes: &[u8]) -> u64 {
    let mut counter = flate2::write::DeflateEncoder::new(Count(0), flate2::Compression::fast());
    // Counting does not fail.
    let _ = std::io::Write::write_all(&mut counter, bytes);
    counter.finish().map_or(u64::MAX, |count| count.0)
}

/// Counts what is written.
struct Count(u64);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What only some operations have: further arguments, expected values, recorded sources.
fn further(history: &History, texts: &mut Texts, block: &mut Block) {
    let mut expected = Numbers::default();
    for &(id, value) in history.expected_values() {
        expected.push_near(i64::from(id.0));
        let mut values = Values::new();
        values.push(texts, history, value);
        expected.bytes.extend(values.bytes.bytes);
    }
    block.column("expected", expected.bytes);
    let mut arguments = Vec::new();
    if history.object() == history::Object::Open {
        for id in (0..history.operations().len() as u32).map(OperationId) {
            let more: Vec<Json> = history.arguments(id).skip(1).map(|value| text(history, value)).collect();
            if !more.is_empty() {
                arguments.push(json!([id.0, more]));
            }
        }
    }
    block.insert("arguments", Json::Array(arguments));
}

/// Calls and returns. A return that never came is 0, any other its distance from the call, plus one.
fn moments(history: &History, block: &mut Block) {
    let [mut call, mut end] = [(); 2].map(|()| Numbers::default());
    for &[from, to] in history.moments() {
        call.push_near(i64::from(from));
        end.push(if to == History::NEVER { 0 } else { u64::from(to - from) + 1 });
    }
    block.column("call", call.bytes);
    block.column("end", end.bytes);
    transactions(history, block);
}

/// The transactions: how many operations each has, and its begin and end, as those of operations.
fn transactions(history: &History, block: &mut Block) {
    let [mut sizes, mut begin, mut end] = [(); 3].map(|()| Numbers::default());
    for (id, _) in history.transactions() {
        sizes.push(history.operation_range(id).len() as u64);
        if let Some(&[from, to]) = history.transaction_moments().get(id.index()) {
            begin.push_near(i64::from(from));
            end.push(if to == History::NEVER { 0 } else { u64::from(to - from) + 1 });
        }
    }
    block.column("transaction-sizes", sizes.bytes);
    block.column("transaction-begin", begin.bytes);
    block.column("transaction-end", end.bytes);
}

/// Up to how many operations have their times exactly.
const EXACT_TIMES: usize = 5000;

/// Recorded times, if every call has one. In a long history they are rounded, as fine as a drawing can show them.
fn times(history: &History, block: &mut Block) {
    let [mut call, mut end] = [(); 2].map(|()| Numbers::default());
    let calls: Option<Vec<i64>> = history.times().iter().map(|times| times[0]).collect();
    if let Some(calls) = calls.filter(|calls| !calls.is_empty()) {
        let ends = history.times().iter().filter_map(|times| times[1]);
        let first = calls.iter().copied().min().unwrap_or(0);
        let last = calls.iter().copied().chain(ends).max().unwrap_or(0);
        let span = i128::from(last) - i128::from(first);
        // In a long history, a sixteenth of the mean distance of two operations is fine enough.
        let wanted = if calls.len() > EXACT_TIMES { span / (16 * calls.len() as i128) } else { 0 };
        let mut unit: i128 = 1;
        while unit * 10 <= wanted || span / unit >= 1 << 45 {
            unit *= 10;
        }
        let rounded = |time: i64| ((i128::from(time) - i128::from(first)) / unit) as i64;
        for &[from, to] in history.times() {
            let from = rounded(from.unwrap_or(first));
            call.push_near(from);
            end.push(to.map_or(0, |to| zigzag(rounded(to) - from) + 1));
        }
        block.insert("time", json!([first.to_string(), unit.to_string()]));
    }
    block.column("time-call", call.bytes);
    block.column("time-end", end.bytes);
}

/// The orders of the witnesses, and the sources that the history or a witness names.
fn orders(history: &History, witnesses: &[Playable], block: &mut Block) {
    let mut shapes = Vec::new();
    let [mut order, mut lengths, mut sources] = [(); 3].map(|()| Numbers::default());
    for &(id, source) in history.sources() {
        sources.push_near(i64::from(id.0));
        sources.push(match source {
            Source::Init => 0,
            Source::Operation(write) => u64::from(write.0) + 1,
        });
    }
    for witness in witnesses {
        let (choices, evidence) = match witness.evidence {
            Evidence::Sources(choices, evidence) => (&choices[..], &**evidence),
            evidence => (&[][..], evidence),
        };
        for &Choice { read, source } in choices {
            sources.push_near(i64::from(read.0));
            sources.push(match source {
                Node::Init(_) => 0,
                Node::Operation(write) => u64::from(write.0) + 1,
            });
        }
        let mut count = 0;
        let mut put = |ids: &mut dyn Iterator<Item = OperationId>| {
            let mut length = 0;
            for id in ids {
                order.push_near(i64::from(id.0));
                length += 1;
            }
            lengths.push(length);
            count += 1;
        };
        let mut results: Vec<Json> = Vec::new();
        let kind = match evidence {
            Evidence::Interleaving(ids) | Evidence::MemoryOrder(ids) | Evidence::WriteOrder(ids) => {
                put(&mut ids.iter().copied());
                evidence.kind().name()
            }
            Evidence::ViewOrders(orders) | Evidence::ModificationOrders(orders) => {
                for ids in orders {
                    put(&mut ids.iter().copied());
                }
                evidence.kind().name()
            }
            Evidence::Linearizations(orders) => {
                for one in orders {
                    put(&mut one.order.iter().copied());
                    results.extend(one.results.iter().map(|&(id, value)| json!([id.0, text(history, value)])));
                }
                evidence.kind().name()
            }
            Evidence::Pairs(pairs) => {
                for pair in pairs {
                    put(&mut pair.iter().copied());
                }
                evidence.kind().name()
            }
            Evidence::Transactions(of) => match &**of {
                // Each transaction is named by its first operation. One without operations has nothing to show.
                transaction::TransactionEvidence::CommitOrder(ids)
                | transaction::TransactionEvidence::EventOrder(ids) => {
                    let firsts = ids.iter().map(|&id| history.operation_range(id)).filter(|range| !range.is_empty());
                    put(&mut firsts.map(|range| OperationId(range.start)));
                    evidence.kind().name()
                }
                _ => "none",
            },
            _ => "none",
        };
        shapes.push(json!({
            "kind": kind,
            "orders": count,
            "results": results,
            "died": witness.died.map(|id| id.0),
            "of": witness.of.map(|id| id.0),
        }));
    }
    block.insert("witnesses", Json::Array(shapes));
    block.column("order", order.bytes);
    block.column("lengths", lengths.bytes);
    block.column("sources", sources.bytes);
}
