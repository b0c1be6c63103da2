//! Lanes that are as wide as their texts: each operation stands in the lane of its thread. If the terminal is too
//! narrow for that, texts and gaps are cut; if it still is, [`narrow`](super::narrow) draws.

use super::canvas::{Canvas, cut, width};
use super::{Arrow, Row, Scene};
use crate::text::{Line, Style};

/// How far the drawing is from the left edge.
const LEFT: usize = 2;
/// The most operations that are drawn with room between them.
const AIRY: usize = 12;
/// The least room between two lanes.
const GAP: usize = 3;

/// Where the lanes are.
struct Layout {
    /// The column of each lane.
    columns: Vec<usize>,
    /// How many columns the text of an operation may take.
    most: usize,
}

impl Scene {
    /// The drawing, if it fits.
    pub(super) fn wide(&self, most: usize) -> Option<Vec<Line>> {
        let longest = self.items.iter().map(|item| width(&item.text)).max().unwrap_or(0);
        let labels = self.arrows.iter().map(|arrow| width(&arrow.label)).max();
        let roomy = labels.map_or(GAP, |label| label + 8);
        let tight = labels.map_or(GAP, |label| label + 5);
        let tries = [(longest, roomy), (longest, tight), (longest.min(24), tight), (longest.min(14), tight)];
        let layout = tries.into_iter().find_map(|(text, gap)| self.layout(text, gap, most))?;
        Some(if self.has_calls { self.intervals(&layout) } else { self.lines(&layout) })
    }

    /// The columns, if the lanes fit.
    fn layout(&self, text: usize, gap: usize, most: usize) -> Option<Layout> {
        let mut columns = Vec::with_capacity(self.lanes.len());
        let mut at = LEFT;
        let mut end = at;
        for (lane, name) in self.lanes.iter().enumerate() {
            columns.push(at);
            let items = self.items.iter().filter(|item| item.lane == lane);
            let widest = items.map(|item| 3 + width(&item.text).min(text) + width(&item.place)).max().unwrap_or(0);
            end = at + widest.max(width(name).min(text.max(8)));
            at = end + gap;
        }
        (end <= most).then_some(Layout { columns, most: text })
    }

    fn header(&self, layout: &Layout) -> Line {
        let mut row = Canvas::default();
        for (&column, name) in layout.columns.iter().zip(&self.lanes) {
            row.put(column, &cut(name, layout.most.max(8)), Style::Heading);
        }
        row.line()
    }

    /// Writes the text of an operation behind a mark. Returns the column after it.
    fn write(&self, row: &mut Canvas, layout: &Layout, item: usize, mark: &str) -> usize {
        let item = &self.items[item];
        let column = layout.columns[item.lane];
        let text = cut(&item.text, layout.most);
        row.put(column, mark, item.style());
        row.put(column + 2, &text, item.style());
        let end = column + 2 + width(&text) + 1;
        row.put(end, &item.place, Style::Place);
        end + width(&item.place)
    }

    /// Operations as points on the lines of their threads.
    fn lines(&self, layout: &Layout) -> Vec<Line> {
        let mut lines = vec![self.header(layout)];
        let spans = self.spans();
        let spines = |at: usize| {
            let mut row = Canvas::default();
            for (&column, _) in layout.columns.iter().zip(&spans).filter(|(_, span)| at <= span[1]) {
                row.put(column, "│", Style::Frame);
            }
            row
        };
        let count = self.items.iter().filter(|item| item.begins()).count();
        for (at, &row) in self.rows.iter().enumerate() {
            let begins = self.items[row.item()].begins();
            if begins && count <= AIRY {
                lines.push(spines(at).line());
            }
            let item = row.item();
            let mark = self.items[item].mark();
            let mut canvas = spines(at);
            let column = layout.columns[self.items[item].lane];
            let mut arrows = self.arrows_of(item);
            if let Some(arrow) = arrows.next() {
                let end = self.end(layout, item);
                draw(&mut canvas, arrow, [column, end], layout.columns[arrow.other]);
            }
            self.write(&mut canvas, layout, item, mark);
            lines.push(canvas.line());
            for arrow in arrows {
                let mut canvas = spines(at);
                let column = layout.columns[self.items[item].lane];
                draw(&mut canvas, arrow, [column, column], layout.columns[arrow.other]);
                let joint = match (arrow.leads_up, layout.columns[arrow.other] < column) {
                    (true, true) => "┤",
                    (true, false) => "├",
                    (false, _) => "│",
                };
                canvas.put(column, joint, Style::Frame);
                lines.push(canvas.line());
            }
        }
        lines
    }

    /// The column after the text of an operation.
    fn end(&self, layout: &Layout, item: usize) -> usize {
        self.write(&mut Canvas::default(), layout, item, "●")
    }

    /// Operations as intervals.
    fn intervals(&self, layout: &Layout) -> Vec<Line> {
        let mut lines = vec![self.header(layout)];
        let mut open: Vec<Option<usize>> = vec![None; self.lanes.len()];
        for &row in &self.rows {
            let mut canvas = Canvas::default();
            for (&column, item) in layout.columns.iter().zip(&open) {
                if let Some(item) = item.map(|item| &self.items[item]) {
                    let line = match (item.is_pending, item.is_core) {
                        (true, _) => "┆",
                        (false, true) => "┃",
                        (false, false) => "│",
                    };
                    canvas.put(column, line, item.style());
                }
            }
            let item = row.item();
            let lane = self.items[item].lane;
            let is_core = self.items[item].is_core;
            match row {
                Row::Point(_) => {
                    self.write(&mut canvas, layout, item, "●");
                }
                Row::Call(_) => {
                    self.write(&mut canvas, layout, item, if is_core { "┏" } else { "┌" });
                    open[lane] = Some(item);
                }
                Row::Return(_) => {
                    let mark = match (self.items[item].is_pending, is_core) {
                        (true, _) => "?",
                        (false, true) => "┗",
                        (false, false) => "└",
                    };
                    canvas.put(layout.columns[lane], mark, self.items[item].style());
                    open[lane] = None;
                }
            }
            lines.push(canvas.line());
        }
        let mut canvas = Canvas::default();
        for (lane, item) in open.iter().enumerate() {
            if let Some(item) = item {
                canvas.put(layout.columns[lane], "┆ never returned", self.items[*item].style());
            }
        }
        lines.extend(open.iter().any(Option::is_some).then(|| canvas.line()));
        lines
    }
}

/// Draws an arrow in the row of an operation, whose mark and text are in the columns `own`, to or from the lane in the
/// column `other`.
fn draw(canvas: &mut Canvas, arrow: &Arrow, own: [usize; 2], other: usize) {
    let [begin, end] = own;
    let is_rightward = (other < begin) != arrow.leads_up;
    // The columns between the two ends.
    let (from, to) = if other < begin { (other + 1, begin) } else { ((end + 1).max(begin + 1), other) };
    if from + 1 >= to {
        return;
    }
    canvas.across(from, to, arrow.is_derived);
    if is_rightward {
        canvas.put(to - 1, "▶", Style::Arrow);
    } else {
        canvas.put(from, "◀", Style::Arrow);
    }
    if !arrow.leads_up {
        canvas.put(other, if other < begin { "├" } else { "┤" }, Style::Arrow);
    }
    let label = format!(" {} ", arrow.label);
    let room = to - from;
    if width(&label) + 2 <= room {
        // Near the operation of the row, so that labels of one lane stand below each other.
        let place = if other < begin { to - 3 - width(&label) } else { from + 2 };
        canvas.put(place.max(from + 1), &label, Style::Arrow);
    }
}
