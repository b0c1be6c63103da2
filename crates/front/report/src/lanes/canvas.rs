//! A row of a drawing in the terminal, character by character.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::text::{Line, Style};

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The beginning of a text that takes `most` columns at most; a mark at its end says that something is missing.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    if most == 0 {
        return String::new();
    }
    let mut shown = String::new();
    let mut taken = 1;
    for character in text.chars() {
        taken += character.width().unwrap_or(0);
        if taken > most {
            break;
        }
        shown.push(character);
    }
    shown.push('…');
    shown
}

/// One row. A character that takes two columns leaves the next cell empty.
#[derive(Clone, Default)]
pub(super) struct Canvas {
    cells: Vec<(String, Style)>,
}

impl Canvas {
    /// Writes a text at a column.
    pub(super) fn put(&mut self, at: usize, text: &str, style: Style) {
        let mut at = at;
        for character in text.chars() {
            let columns = character.width().unwrap_or(0);
            if columns == 0 {
                // A mark on the character before it.
                if let Some((cell, _)) = at.checked_sub(1).and_then(|before| self.cells.get_mut(before)) {
                    cell.push(character);
                }
                continue;
            }
            self.reach(at + columns);
            self.cells[at] = (character.to_string(), style);
            for cell in &mut self.cells[at + 1..at + columns] {
                *cell = (String::new(), style);
            }
            at += columns;
        }
    }

    fn reach(&mut self, columns: usize) {
        if self.cells.len() < columns {
            self.cells.resize(columns, (" ".to_owned(), Style::Plain));
        }
    }

    /// Draws a horizontal line from one column up to another, across the lines that go down.
    pub(super) fn across(&mut self, from: usize, to: usize, is_derived: bool) {
        self.reach(to);
        for cell in &mut self.cells[from.min(to)..to] {
            let is_crossed = matches!(cell.0.as_str(), "│" | "┼" | "┃");
            let line = match (is_crossed, is_derived) {
                (true, _) => "┼",
                (false, true) => "╌",
                (false, false) => "─",
            };
            *cell = (line.to_owned(), Style::Arrow);
        }
    }

    /// The row as a line, without blanks at its end.
    pub(super) fn line(self) -> Line {
        let mut line = Line::default();
        let (mut text, mut style) = (String::new(), Style::Plain);
        let end = self.cells.iter().rposition(|(cell, _)| cell != " ").map_or(0, |last| last + 1);
        for (cell, of) in &self.cells[..end] {
            // A blank looks the same in every style.
            if *of != style && cell != " " {
                line = line.with(style, std::mem::take(&mut text));
                style = *of;
            }
            text.push_str(cell);
        }
        line.with(style, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_columns() {
        assert_eq!(cut("enqueue", 7), "enqueue");
        assert_eq!(cut("enqueue 12", 7), "enqueu…");
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(width(&cut("漢字漢字", 6)), 5);
    }

    #[test]
    fn lines_cross() {
        let mut row = Canvas::default();
        row.put(0, "│", Style::Frame);
        row.put(4, "│", Style::Frame);
        row.put(8, "漢", Style::Operation);
        row.across(1, 7, false);
        assert_eq!(row.line().to_string(), "│───┼── 漢");
    }
}
