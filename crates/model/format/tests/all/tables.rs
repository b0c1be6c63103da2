//! Tables of Parquet and Arrow: written and read again, damaged, and made by others.
use crate::common;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, DictionaryArray, Float64Array, Int64Array, LargeStringArray, ListArray,
    RecordBatch, RecordBatchIterator, StringArray, UInt8Array,
};
use common::{Profile, Random, canonical, parse, parse_valid, print, random_history, random_transactions};
use format::{Format, InputError, ReadOptions, RowOrder, Writer, column_named, open, read_batches, read_bytes};
use history::{History, Method};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;

const FORMATS: [Format; 2] = [Format::Parquet, Format::Arrow];

fn canonicals(histories: &[History]) -> Vec<String> {
    histories.iter().map(canonical).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_history_is_read_as_it_was_written(seed: u64) {
        let history = random_history(seed, Profile::Anything);
        prop_assume!(!history.operations().is_empty());
        for format in FORMATS {
            let bytes = print(std::slice::from_ref(&history), format);
            // The content tells the format.
            let again: Vec<History> = parse(bytes, None).into_iter().map(Result::unwrap).collect();
            prop_assert_eq!(canonicals(&again), vec![canonical(&history)]);
        }
    }

    #[test]
    fn so_is_a_corpus(seeds in prop::collection::vec(any::<u64>(), 1..8)) {
        let histories = seeds.iter().map(|&seed| random_history(seed, Profile::Anything));
        let histories: Vec<History> = histories.filter(|history| !history.operations().is_empty()).collect();
        prop_assume!(!histories.is_empty());
        for format in FORMATS {
            let again = parse_valid(print(&histories, format), format);
            prop_assert_eq!(canonicals(&again), canonicals(&histories));
        }
    }

    #[test]
    fn transactions_are_what_json_lines_say_of_them(seed: u64, lists: bool) {
        let history = random_transactions(seed, lists);
        prop_assume!(!lists || history.operations().iter().any(|operation| operation.method != Method::Read));
        let mut lines = Writer::new(Vec::new(), Format::JsonLines);
        lines.write(&history).unwrap();
        let dropped = lines.dropped().to_vec();
        let text = lines.finish().unwrap();
        prop_assume!(String::from_utf8_lossy(&text).lines().count() > 1);
        for format in FORMATS {
            let mut writer = Writer::new(Vec::new(), format);
            writer.write(&history).unwrap();
            prop_assert_eq!(writer.dropped(), &dropped[..]);
            let again = parse_valid(writer.finish().unwrap(), format);
            let again = print(&again, Format::JsonLines);
            prop_assert_eq!(String::from_utf8(again).unwrap(), String::from_utf8(text.clone()).unwrap());
        }
    }

    /// A file that is cut off is never taken for a whole one.
    #[test]
    fn damaged_files_are_answered(seed: u64) {
        let random = &mut Random(seed);
        let histories: Vec<History> = (0..3)
            .map(|_| random_history(random.next(), Profile::Anything))
            .filter(|history| !history.operations().is_empty())
            .collect();
        prop_assume!(!histories.is_empty());
        for format in FORMATS {
            let whole = print(&histories, format);
            let cut = random.below(whole.len());
            let found = parse(whole[..cut].to_vec(), Some(format));
            prop_assert!(found.iter().any(Result::is_err));
            let mut flipped = whole.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(flipped.len());
                flipped[at] ^= 1 << random.below(8);
            }
            prop_assert!(parse(flipped, Some(format)).len() < 100);
            let mut junk: Vec<u8> = (0..random.below(300)).map(|_| random.next() as u8).collect();
            prop_assert!(parse(junk.clone(), Some(format)).iter().all(Result::is_err));
            let head: &[u8] = random.pick(&[&b"PAR1"[..], b"ARROW1\0\0", b"\xff\xff\xff\xff"]);
            junk.splice(..0, head.iter().copied());
            junk.extend_from_slice(head);
            prop_assert!(parse(junk, None).iter().all(Result::is_err));
        }
    }
}

/// A table with these columns.
fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, cells)| (name, cells, true))).unwrap()
}

/// A file of Parquet with row groups of that size.
fn parquet(batch: &RecordBatch, group: usize) -> Vec<u8> {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn integers(cells: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(cells))
}

fn strings(cells: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(cells.to_vec()))
}

fn found(batch: &RecordBatch, object: Option<history::Object>) -> Vec<Result<String, InputError>> {
    let options = ReadOptions { object, ..ReadOptions::default() };
    let found = read_bytes(parquet(batch, 1 << 20), &options);
    found.map(|history| Ok(String::from_utf8(print(&[history?], Format::Text)).unwrap())).collect()
}

fn the_only(batch: &RecordBatch, object: Option<history::Object>) -> String {
    let [history] = found(batch, object).try_into().unwrap();
    history.unwrap()
}

#[test]
fn operations_stand_in_the_order_of_their_moments() {
    let queue = table(vec![
        ("process", integers([0, 1, 2])),
        ("f", strings(&["enqueue", "dequeue", "dequeue"])),
        ("value", Arc::new(Int64Array::from(vec![Some(7), None, None]))),
        ("result", Arc::new(Int64Array::from(vec![None, Some(7), None]))),
        ("call", integers([10, 5, 6])),
        ("return", Arc::new(Int64Array::from(vec![Some(10), Some(10), None]))),
    ]);
    let events = "[1] call dequeue\n[2] call dequeue\n[0] call enqueue 7\n[0] return\n[1] return 7\n";
    assert_eq!(the_only(&queue, None), format!("# @object queue\n{events}"));
}

#[test]
fn events_and_instants_are_read() {
    let events = table(vec![
        ("process", integers([0, 0, 1, 1])),
        ("type", strings(&["invoke", "ok", "invoke", "info"])),
        ("f", strings(&["enqueue", "enqueue", "dequeue", "dequeue"])),
        ("value", Arc::new(Int64Array::from(vec![Some(1), Some(1), None, None]))),
    ]);
    let text = the_only(&events, None);
    assert_eq!(text, "# @object queue\n[0] call enqueue 1\n[0] return\n[1] call dequeue\n[1] info\n");
    let memory = table(vec![
        ("process", strings(&["a", "b"])),
        ("f", strings(&["w", "r"])),
        ("key", strings(&["x", "x"])),
        ("value", integers([1, 1])),
        ("call", Arc::new(Int64Array::from(vec![None, None]))),
    ]);
    assert_eq!(the_only(&memory, None), "# @object memory\n[a] w x 1\n[b] r x 1\n");
}

#[test]
fn columns_of_many_types_are_read() {
    let expected = "# @object memory\n[1] w x 1\n[2] r x 1\n";
    let columns = |process: ArrayRef, key: ArrayRef, value: ArrayRef| {
        table(vec![("process", process), ("f", strings(&["w", "r"])), ("key", key), ("value", value)])
    };
    let key = || strings(&["x", "x"]);
    let value = || integers([1, 1]);
    let processes: [ArrayRef; 3] =
        [Arc::new(UInt8Array::from(vec![1, 2])), Arc::new(Float64Array::from(vec![1.0, 2.0])), integers([1, 2])];
    for process in processes {
        assert_eq!(the_only(&columns(process, key(), value()), None), expected);
    }
    let dictionary: DictionaryArray<Int8Type> = ["x", "x"].into_iter().collect();
    let keys: [ArrayRef; 2] = [Arc::new(LargeStringArray::from(vec!["x", "x"])), Arc::new(dictionary)];
    for key in keys {
        assert_eq!(the_only(&columns(integers([1, 2]), key, value()), None), expected);
    }
    let swaps = ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>([Some(vec![Some(0), Some(1)])]);
    let swap = table(vec![
        ("process", integers([1])),
        ("f", strings(&["cas"])),
        ("value", Arc::new(swaps)),
        ("result", Arc::new(BooleanArray::from(vec![false]))),
        ("call", integers([0])),
        ("return", integers([1])),
    ]);
    assert!(the_only(&swap, None).ends_with("[1] call cas 0 1\n[1] return false\n"));
}

/// Ten histories of two rows each; history 3 reads a value that is not an integer.
fn ten(change: impl Fn(&mut Vec<(&'static str, ArrayRef)>)) -> RecordBatch {
    let mut columns = vec![
        ("history", integers((0..20).map(|row| row / 2))),
        ("process", integers((0..20).map(|row| row % 2))),
        ("f", strings(&["w", "r"].repeat(10))),
        ("key", strings(&["x"; 20])),
        ("value", integers([1; 20])),
    ];
    change(&mut columns);
    table(columns)
}

#[test]
fn a_bad_cell_has_its_row_and_column_and_the_rest_goes_on() {
    let with = |column: &'static str, cells: ArrayRef| {
        let batch = ten(|columns| {
            let at = columns.iter().position(|(name, _)| *name == column).unwrap();
            columns[at].1 = Arc::clone(&cells);
        });
        found(&batch, None)
    };
    let holed = |hole: usize| -> ArrayRef {
        Arc::new((0..20).map(|row| (row != hole).then_some(row as i64 % 2)).collect::<Int64Array>())
    };
    let mut values = vec![1.0; 20];
    values[7] = 1.5;
    let mut methods = ["w", "r"].repeat(10);
    methods[7] = "q";
    for (column, cells, message) in [
        ("process", holed(7), "row 8, column process: this is null"),
        ("value", Arc::new(Float64Array::from(values)) as ArrayRef, "row 8, column value: 1.5 is not an integer"),
        ("f", strings(&methods), "row 8, column f: a memory has no method `q`"),
    ] {
        let found = with(column, cells);
        assert_eq!(found.len(), 10);
        for (number, history) in found.iter().enumerate() {
            assert_eq!(history.is_err(), number == 3, "{history:?}");
        }
        let error = found[3].as_ref().unwrap_err();
        assert_eq!((error.message.as_str(), error.line), (message, 8));
    }
    // A column that is never read is an error of the whole file.
    let [bad] = with("value", Arc::new(BinaryArray::from(vec![&b"x"[..]; 20]))).try_into().unwrap();
    assert_eq!(bad.unwrap_err().message, "column value: a column of type Binary is not read");
    let [bad] = found(&table(vec![("process", integers([1])), ("a", integers([1]))]), None).try_into().unwrap();
    assert_eq!(bad.unwrap_err().message, "there is no column f among process, a");
    let ids = integers((0..20).map(|row| if row == 19 { 2 } else { row / 2 }));
    let back = with("history", ids);
    let error = back.last().unwrap().as_ref().unwrap_err();
    assert_eq!(error.message, "row 20, column history: history `2` comes back");
    assert_eq!(back.iter().filter(|history| history.is_ok()).count(), 10);
}

#[test]
fn moments_make_sense() {
    let with = |call: Vec<Option<i64>>, end: Vec<Option<i64>>| {
        let batch = table(vec![
            ("process", integers([0, 1])),
            ("f", strings(&["enqueue", "enqueue"])),
            ("value", integers([1, 2])),
            ("call", Arc::new(Int64Array::from(call))),
            ("return", Arc::new(Int64Array::from(end))),
        ]);
        found(&batch, None).remove(0).unwrap_err().message
    };
    let late = with(vec![Some(1), Some(5)], vec![Some(2), Some(4)]);
    assert_eq!(late, "row 2, column return: the operation returns before it is called");
    assert_eq!(with(vec![Some(1), None], vec![None, Some(2)]), "row 2, column call: this is null");
    assert_eq!(
        with(vec![None, Some(1)], vec![None, Some(2)]),
        "row 2, column call: the rows of this history above have no call"
    );
}

/// The file with a column of a row group overwritten.
fn with_damaged_group(mut file: Vec<u8>, group: usize, column: usize) -> Vec<u8> {
    let reader = parquet::file::metadata::ParquetMetaDataReader::new();
    let metadata = reader.parse_and_finish(&bytes::Bytes::from(file.clone())).unwrap();
    assert_eq!(metadata.num_row_groups(), 5);
    let (start, length) = metadata.row_group(group).column(column).byte_range();
    file[start as usize..(start + length) as usize].fill(0xff);
    file
}

#[test]
fn a_damaged_row_group_takes_only_its_neighbours_with_it() {
    let batch = ten(|_| {});
    // Five groups of four rows: two histories each.
    let whole = parquet(&batch, 4);
    let found = parse(with_damaged_group(whole, 2, 1), None);
    let shown: Vec<String> = found
        .iter()
        .map(|found| found.as_ref().map_or_else(|error| error.message.clone(), |_| "read".to_owned()))
        .collect();
    let lost = |id| format!("history `{id}` is not read: it may have rows in the part that cannot be read");
    assert_eq!(shown[..4], ["read".to_owned(), "read".to_owned(), "read".to_owned(), lost(3)]);
    assert!(shown[4].starts_with("row group 2 (rows 9 to 12) cannot be read: "), "{}", shown[4]);
    assert_eq!(shown[5], lost(6));
    assert_eq!(shown[6..], ["read", "read", "read"].map(str::to_owned));
    // One history in a file has lost rows, too.
    let one = parquet(&ten(|columns| drop(columns.remove(0))), 4);
    let found = parse(with_damaged_group(one, 2, 0), None);
    assert!(found.len() == 2 && found.iter().all(Result::is_err));
}

#[test]
fn files_are_found_by_their_names_and_their_content() {
    let directory = tempfile::tempdir().unwrap();
    let history = random_history(5, Profile::Anything);
    for (name, format) in
        [("a.parquet", Format::Parquet), ("a.arrow", Format::Arrow), ("b", Format::Parquet), ("c.data", Format::Arrow)]
    {
        let path = directory.path().join(name);
        std::fs::write(&path, print(std::slice::from_ref(&history), format)).unwrap();
        let reader = open(&path, &ReadOptions::default()).unwrap();
        assert_eq!(reader.format(), Some(format));
        let again: Vec<History> = reader.map(Result::unwrap).collect();
        assert_eq!(canonicals(&again), [canonical(&history)]);
        assert!(format::looks_like_history(&path).unwrap());
    }
    std::fs::write(directory.path().join("x.parquet"), "[0] w x 1\n").unwrap();
    let mut reader = open(&directory.path().join("x.parquet"), &ReadOptions::default()).unwrap();
    assert!(reader.next().unwrap().unwrap_err().message.starts_with("this is not Parquet"));
    assert!(reader.next().is_none());
}

#[test]
fn columns_keep_the_types_of_the_first_rows() {
    let mut writer = Writer::new(Vec::new(), Format::Parquet);
    let number = format::parse(&"[0] w x 1\n".repeat(40_000)).unwrap();
    writer.write(&number).unwrap();
    writer.write(&number).unwrap();
    let word = format::parse(&"[0] w x a\n".repeat(80_000)).unwrap();
    let error = writer.write(&word).unwrap_err().to_string();
    assert!(error.contains("`a` in the column `value`, which has integers"), "{error}");
}

/// Numbers that a column of texts writes in two ways are one number, as in every other format.
#[test]
fn numbers_written_in_two_ways_are_one_number() {
    let batch = table(vec![
        ("process", integers([0, 0, 1, 1])),
        ("f", strings(&["w", "w", "r", "r"])),
        ("key", strings(&["0x80", "0xC0", "192", "0x0080"])),
        ("value", strings(&["0x01", "0xDEAD", "0xdead", "1"])),
    ]);
    let text = the_only(&batch, Some(history::Object::Memory));
    assert!(text.contains("[1] r 0xC0 0xDEAD") && text.contains("[1] r 0x80 0x01"), "{text}");
}

/// The rows of a corpus, one batch for each history.
fn batches(histories: &[History]) -> Vec<RecordBatch> {
    let bytes = print(histories, Format::Arrow);
    let whole: Vec<RecordBatch> = match arrow_ipc::reader::FileReader::try_new(std::io::Cursor::new(&bytes), None) {
        Ok(reader) => reader.collect::<Result<_, _>>().unwrap(),
        Err(_) => arrow_ipc::reader::StreamReader::try_new(&bytes[..], None).unwrap().map(Result::unwrap).collect(),
    };
    let mut row = 0;
    let mut parts = Vec::new();
    let whole = arrow_select::concat::concat_batches(&whole[0].schema(), &whole).unwrap();
    let ids = whole.column_by_name("history").unwrap().as_primitive::<arrow_array::types::Int64Type>().clone();
    while row < whole.num_rows() {
        let length = (row..whole.num_rows()).take_while(|&at| ids.value(at) == ids.value(row)).count();
        parts.push(whole.slice(row, length));
        row += length;
    }
    parts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scattered_rows_are_put_together(seeds in prop::collection::vec(any::<u64>(), 2..6), order: u64) {
        let histories = seeds.iter().map(|&seed| random_history(seed, Profile::Anything));
        let histories: Vec<History> = histories.filter(|history| !history.operations().is_empty()).collect();
        prop_assume!(!histories.is_empty());
        let parts = batches(&histories);
        prop_assert_eq!(parts.len(), histories.len());
        // The next row is of any history, but those of one keep their order.
        let mut random = Random(order);
        let mut nexts = vec![0; parts.len()];
        let mut places = Vec::new();
        loop {
            let open: Vec<usize> = (0..parts.len()).filter(|&at| nexts[at] < parts[at].num_rows()).collect();
            if open.is_empty() {
                break;
            }
            let at = random.pick(&open);
            places.push((at, nexts[at]));
            nexts[at] += 1;
        }
        let sources: Vec<&RecordBatch> = parts.iter().collect();
        let mixed: Vec<_> = places
            .chunks(3)
            .map(|places| arrow_select::interleave::interleave_record_batch(&sources, places))
            .collect();
        let reader = RecordBatchIterator::new(mixed, parts[0].schema());
        let again: Vec<History> =
            read_batches(Box::new(reader), RowOrder::Scattered, &ReadOptions::default()).map(Result::unwrap).collect();
        let sorted = |mut texts: Vec<String>| {
            texts.sort();
            texts
        };
        prop_assert_eq!(sorted(canonicals(&again)), sorted(canonicals(&histories)));
    }
}

#[test]
fn rows_are_counted_in_the_table_or_in_their_history() {
    let bad = |rows| {
        let f = strings(&["w", "w", "r", "nonsense"]);
        let columns = vec![
            ("history_id", strings(&["a", "b", "b", "b"])),
            ("Core", integers([0; 4])),
            ("OP", f),
            ("Addr", strings(&["x"; 4])),
            ("data", integers([1; 4])),
        ];
        let batch = table(columns);
        let schema = batch.schema();
        let mut reader =
            read_batches(Box::new(RecordBatchIterator::new([Ok(batch)], schema)), rows, &ReadOptions::default());
        assert_eq!(reader.next().unwrap().unwrap().operations().len(), 1);
        assert_eq!(reader.id().as_deref(), Some("a"));
        let error = reader.next().unwrap().unwrap_err();
        assert_eq!(reader.id().as_deref(), Some("b"));
        assert!(reader.next().is_none());
        error
    };
    for (rows, line) in [(RowOrder::Together, 4), (RowOrder::Scattered, 4), (RowOrder::Apart, 3)] {
        let error = bad(rows);
        assert!(error.message.starts_with(&format!("row {line}, column OP: ")), "{}", error.message);
        assert_eq!(error.line, line);
    }
}

#[test]
fn columns_have_other_names_and_two_of_one_meaning_are_refused() {
    for (process, f, key, value) in
        [("core", "op", "address", "data"), ("CPU", "type", "loc", "Val"), ("Thread ID", "kind", "addr", "value")]
    {
        let columns = vec![
            (process, integers([0, 1])),
            (f, strings(&["store", "LD"])),
            (key, strings(&["x"; 2])),
            (value, integers([1; 2])),
        ];
        assert_eq!(
            the_only(&table(columns), None),
            the_only(
                &table(vec![
                    ("process", integers([0, 1])),
                    ("f", strings(&["w", "r"])),
                    ("key", strings(&["x"; 2])),
                    ("value", integers([1; 2])),
                ]),
                None
            )
        );
    }
    let two = table(vec![("core", integers([0])), ("tid", integers([0])), ("op", strings(&["w"]))]);
    let error = found(&two, None).remove(0).unwrap_err();
    assert_eq!(error.message, "the columns `core` and `tid` both mean `process`");
    // `type` is the type of an event where another column says what is done.
    assert_eq!(column_named("Hart"), Some("process"));
    assert_eq!(column_named("note"), None);
}
