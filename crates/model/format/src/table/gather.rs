//! Puts the rows of each history together, where they are scattered over a table.

use std::collections::hash_map::Entry;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave_record_batch;
use rustc_hash::FxHashMap;

use super::cells;
use super::rows::Layout;

/// The rows of a table, history by history, and those of a history in their order.
pub(in super::super) struct Gathered {
    batches: std::vec::IntoIter<RecordBatch>,
    pub(super) schema: SchemaRef,
    /// For each row the number that it had. Empty if every row has its own.
    numbers: Vec<u64>,
}

/// How many rows are put together at a time.
const BATCH: usize = 8192;

impl Gathered {
    /// Reads the whole table. Histories are in the order of their first rows.
    pub(in super::super) fn new(reader: Box<dyn RecordBatchReader + Send>) -> Result<Self, String> {
        let schema = reader.schema();
        let batches: Vec<RecordBatch> = reader.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        let unchanged = |batches: Vec<RecordBatch>| Self {
            batches: batches.into_iter(),
            schema: schema.clone(),
            numbers: Vec::new(),
        };
        // A bad table is told by the reader of its rows.
        let column = Layout::new(&schema).ok().and_then(|layout| layout.history());
        let Some((column, is_json)) = column else { return Ok(unchanged(batches)) };
        let mut groups: FxHashMap<Vec<u8>, u32> = FxHashMap::default();
        let mut rows: Vec<(u32, u32, u32)> = Vec::new();
        let mut cell = Vec::new();
        for (number, batch) in (0..).zip(&batches) {
            let cells = batch.column(column).as_ref();
            for row in 0..batch.num_rows() {
                cell.clear();
                // A bad cell is told where the row is read.
                let _ = cells::push(&mut cell, cells, row, is_json);
                let next = groups.len() as u32;
                let group = match groups.entry(std::mem::take(&mut cell)) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(new) => *new.insert(next),
                };
                rows.push((group, number, row as u32));
            }
        }
        if rows.is_sorted_by_key(|&(group, ..)| group) {
            return Ok(unchanged(batches));
        }
        let mut firsts = vec![0; batches.len()];
        for at in 1..batches.len() {
            firsts[at] = firsts[at - 1] + batches[at - 1].num_rows() as u64;
        }
        rows.sort_by_key(|&(group, ..)| group);
        let sources: Vec<&RecordBatch> = batches.iter().collect();
        let gathered = rows.chunks(BATCH).map(|rows| {
            let places: Vec<(usize, usize)> = rows.iter().map(|&(_, at, row)| (at as usize, row as usize)).collect();
            interleave_record_batch(&sources, &places).map_err(|error| error.to_string())
        });
        let gathered: Vec<RecordBatch> = gathered.collect::<Result<_, _>>()?;
        let numbers = rows.iter().map(|&(_, at, row)| firsts[at as usize] + u64::from(row)).collect();
        Ok(Self { batches: gathered.into_iter(), schema, numbers })
    }

    pub(super) fn next(&mut self) -> Option<RecordBatch> {
        self.batches.next()
    }

    /// The number that a row had in the table.
    pub(super) fn number(&self, row: u64) -> u64 {
        usize::try_from(row).ok().and_then(|row| self.numbers.get(row)).copied().unwrap_or(row)
    }
}
