//! Lanes of two columns each, with all texts to the right of them. A lane is used again by another thread once its
//! thread has ended.

use super::canvas::{Canvas, cut, width};
use super::{Row, Scene};
use crate::text::{Line, Style};

impl Scene {
    /// The drawing.
    pub(super) fn narrow(&self, most: usize) -> Vec<Line> {
        let columns = self.columns(most / 3);
        let used = columns.iter().flatten().max().map_or(0, |&column| column + 2);
        let spans = self.spans();
        let places = self.items.iter().map(|item| width(&item.place)).max().unwrap_or(0);
        let mut lines = Vec::with_capacity(self.rows.len());
        let mut open: Vec<Option<usize>> = vec![None; self.lanes.len()];
        for (at, &row) in self.rows.iter().enumerate() {
            let item = row.item();
            let shown = &self.items[item];
            let mut canvas = Canvas::default();
            for (lane, &column) in columns.iter().enumerate() {
                let Some(column) = column else { continue };
                match open[lane].map(|item| &self.items[item]) {
                    Some(item) => canvas.put(column, if item.is_pending { "┆" } else { "┃" }, item.style()),
                    None if !self.has_calls && (spans[lane][0]..=spans[lane][1]).contains(&at) => {
                        canvas.put(column, "│", Style::Frame);
                    }
                    None => {}
                }
            }
            let mark = match row {
                Row::Point(_) => shown.mark(),
                Row::Call(_) => "┏",
                Row::Return(_) if shown.is_pending => "?",
                Row::Return(_) => "┗",
            };
            match row {
                Row::Call(_) => open[shown.lane] = Some(item),
                Row::Return(_) => open[shown.lane] = None,
                Row::Point(_) => {}
            }
            let mut notes = Vec::new();
            for arrow in self.arrows_of(item) {
                notes.push(format!("{}{}", if arrow.leads_up { "↑ " } else { "" }, arrow.label));
                if let (Some(own), Some(other)) = (columns[shown.lane], columns[arrow.other])
                    && !arrow.leads_up
                {
                    canvas.across(own.min(other) + 1, own.max(other), arrow.is_derived);
                    canvas.put(other, if other < own { "├" } else { "┤" }, Style::Arrow);
                }
            }
            if let Some(column) = columns[shown.lane] {
                canvas.put(column, mark, shown.style());
            }
            let text = match row {
                Row::Return(_) => format!("[{}] returned", self.lanes[shown.lane]),
                Row::Point(_) if !shown.begins() => format!("  {}", shown.text),
                Row::Point(_) | Row::Call(_) => format!("[{}] {}", self.lanes[shown.lane], shown.text),
            };
            let begin = used + 1;
            let note = notes.join(", ");
            let left = most.saturating_sub(begin + places + 2).max(12);
            let text = cut(&text, left.saturating_sub(if note.is_empty() { 0 } else { width(&note) + 2 }).max(12));
            if !matches!(row, Row::Return(_)) {
                canvas.put(begin + places - width(&shown.place), &shown.place, Style::Place);
            }
            let style = if matches!(row, Row::Return(_)) { Style::Reason } else { shown.style() };
            canvas.put(begin + places + 2, &text, style);
            let end = begin + places + 2 + width(&text) + 2;
            canvas.put(end, &cut(&note, most.saturating_sub(end)), Style::Arrow);
            lines.push(canvas.line());
        }
        lines
    }

    /// The column of each lane; none if there are too many at the same time.
    fn columns(&self, most: usize) -> Vec<Option<usize>> {
        let spans = self.spans();
        let mut order: Vec<usize> = (0..self.lanes.len()).collect();
        order.sort_by_key(|&lane| (spans[lane][0], lane));
        let mut columns = vec![None; self.lanes.len()];
        // The last row of the lane that uses each column.
        let mut last: Vec<usize> = Vec::new();
        for lane in order {
            let [first, end] = spans[lane];
            let free = last.iter().position(|&last| last < first);
            let column = free.unwrap_or(last.len());
            if 2 * column >= most {
                continue;
            }
            if free.is_none() {
                last.push(0);
            }
            last[column] = end;
            columns[lane] = Some(2 * column + 2);
        }
        columns
    }
}
