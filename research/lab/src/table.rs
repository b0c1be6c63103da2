//! Tables: for the terminal, and in Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::rows::median;
use crate::{About, Role, Rows, Series};

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// The names of the columns.
    pub head: Vec<String>,
    /// The lines; each has as many cells as the head.
    pub lines: Vec<Vec<String>>,
}

impl Table {
    /// A table without lines.
    pub fn new(title: &str, head: &[&str]) -> Self {
        Self { title: title.to_owned(), head: head.iter().map(|&cell| cell.to_owned()).collect(), lines: Vec::new() }
    }

    /// Adds a line.
    pub fn line(&mut self, cells: Vec<String>) {
        self.lines.push(cells);
    }

    /// The table as text: the first column to the left, the others to the right.
    pub fn text(&self) -> String {
        let width = |column: usize| {
            let cells = std::iter::once(&self.head).chain(&self.lines).filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let mut text = format!("{}\n", self.title);
        for line in std::iter::once(&self.head).chain(&self.lines) {
            for (at, (cell, &width)) in line.iter().zip(&widths).enumerate() {
                let _ = if at == 0 { write!(text, "  {cell:<width$}") } else { write!(text, "  {cell:>width$}") };
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }

    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("{}\n\n", self.title);
        let mut row = |cells: &mut dyn Iterator<Item = &str>| {
            let _ = writeln!(text, "| {} |", cells.collect::<Vec<_>>().join(" | "));
        };
        row(&mut self.head.iter().map(String::as_str));
        row(&mut (0..self.head.len()).map(|at| if at == 0 { "---" } else { "---:" }));
        for line in &self.lines {
            row(&mut line.iter().map(String::as_str));
        }
        text
    }
}

/// Seconds, in milliseconds with three digits that matter.
pub fn milliseconds(seconds: f64) -> String {
    let value = seconds * 1e3;
    let digits = (2 - value.log10().floor() as i32).clamp(0, 4) as usize;
    format!("{value:.digits$}")
}

/// A whole number, with commas between thousands.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part of a whole in percent.
pub fn percent(part: f64) -> String {
    format!("{:.2}%", part * 100.0)
}

/// A ratio.
pub fn ratio(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// The time of a series at a point: the median of what it decided, and how much that is, if not all.
pub fn time(rows: &Rows, point: usize, series: &str) -> String {
    let (all, decided) = rows.decided(point, series);
    let median = rows.median(point, series).map_or_else(|| "-".to_owned(), milliseconds);
    if decided.len() == all { median } else { format!("{median} ({} of {all})", decided.len()) }
}

/// The time of each series at each point, and how many times the paper's best takes what Seriatim takes.
pub fn seconds(about: &About, series: &[Series], rows: &Rows) -> Table {
    let is_compared = series.iter().any(|it| it.role == Role::Ours);
    let mut head = vec![about.points];
    head.extend(series.iter().map(|it| it.name));
    if is_compared {
        head.extend(["best of the paper / seriatim", "with certificate"]);
    }
    let mut table = Table::new("Milliseconds a history, median of those decided; how many, if not all.", &head);
    for (at, point) in rows.points().iter().enumerate() {
        let mut line = vec![point.label.clone()];
        for it in series {
            line.push(time(rows, at, it.name));
        }
        if is_compared {
            for role in [Role::Ours, Role::OursCertified] {
                line.push(advantage(series, rows, at, role).map_or_else(|| "-".to_owned(), ratio));
            }
        }
        table.line(line);
    }
    table
}

/// Of these series, the one that decided the most at a point, and of those the one with the least median.
pub fn best<'a>(rows: &Rows, point: usize, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let ranked = names.filter_map(|name| Some((name, rows.decided(point, name).1.len(), rows.median(point, name)?)));
    ranked.min_by(|a, b| b.1.cmp(&a.1).then(a.2.total_cmp(&b.2))).map(|it| it.0)
}

/// How many times as long as Seriatim the best algorithm of the paper takes at a point, where the best is chosen for
/// each sample: medians over the samples that both decided. So no time of what was given up is in it.
pub fn advantage(series: &[Series], rows: &Rows, point: usize, role: Role) -> Option<f64> {
    let least = |role| {
        let mut least = BTreeMap::new();
        for (sample, seconds) in
            series.iter().filter(|it| it.role == role).flat_map(|it| rows.decided(point, it.name).1)
        {
            let known = least.entry(sample).or_insert(seconds);
            *known = seconds.min(*known);
        }
        least
    };
    let (papers, ours): (BTreeMap<u32, f64>, _) = (least(Role::Paper), least(role));
    let both = || ours.iter().filter_map(|(sample, seconds)| Some((*papers.get(sample)?, *seconds)));
    Some(median(both().map(|it| it.0))? / median(both().map(|it| it.1))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new("t", &["a", "long"]);
        table.line(vec!["xyz".to_owned(), "1".to_owned()]);
        assert_eq!(table.text(), "t\n  a    long\n  xyz     1\n");
        assert_eq!(table.markdown(), "t\n\n| a | long |\n| --- | ---: |\n| xyz | 1 |\n");
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn the_best_is_chosen_for_each_sample() {
        let mut rows = Rows::new(vec![crate::Point::number(1, 3)]);
        let row = |sample, series: &str, measure: &str, value| crate::Row {
            point: 0,
            sample,
            series: series.to_owned(),
            measure: measure.to_owned(),
            value,
        };
        // The first algorithm is fast, and gives sample 2 up; the other takes long. Of sample 3 nobody knows.
        rows.extend([
            row(1, "fast", "seconds", 4.0),
            row(2, "fast", "undecided", 1.0),
            row(1, "slow", "seconds", 90.0),
        ]);
        rows.extend([row(2, "slow", "seconds", 6.0), row(3, "slow", "undecided", 1.0)]);
        rows.extend([1, 2, 3].map(|sample| row(sample, "ours", "seconds", 1.0)));
        let series = [Series::paper("fast"), Series::paper("slow"), Series { name: "ours", role: Role::Ours }];
        assert_eq!(advantage(&series, &rows, 0, Role::Ours), Some(5.0));
        assert_eq!(advantage(&series, &rows, 0, Role::OursCertified), None);
    }

    #[test]
    fn three_digits_that_matter() {
        assert_eq!(milliseconds(1.2345), "1234");
        assert_eq!(milliseconds(0.012_345), "12.3");
        assert_eq!(milliseconds(0.000_012_345), "0.0123");
    }
}
