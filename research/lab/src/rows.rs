//! What was measured: rows of a point, a sample, a series, a measure and a value.

use serde::{Deserialize, Serialize};

use crate::Point;

/// One value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The number of the point.
    pub point: usize,
    /// The number of the sample.
    pub sample: u32,
    /// What was measured: an algorithm.
    pub series: String,
    /// What of it: `seconds`.
    pub measure: String,
    /// The value.
    pub value: f64,
}

/// All values of an experiment so far.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    points: Vec<Point>,
    rows: Vec<Row>,
}

impl Rows {
    /// No values yet.
    pub fn new(points: Vec<Point>) -> Self {
        Self { points, rows: Vec::new() }
    }

    /// Adds values.
    pub fn extend(&mut self, rows: impl IntoIterator<Item = Row>) {
        self.rows.extend(rows);
    }

    /// The points.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// All rows, in the order in which they were measured.
    pub fn all(&self) -> &[Row] {
        &self.rows
    }

    /// The values of a measure at a point.
    pub fn values<'a>(&'a self, point: usize, series: &'a str, measure: &'a str) -> impl Iterator<Item = f64> + 'a {
        let is_meant = move |row: &&Row| row.point == point && row.series == series && row.measure == measure;
        self.rows.iter().filter(is_meant).map(|row| row.value)
    }

    /// The values of a measure at all points.
    pub fn everywhere<'a>(&'a self, series: &'a str, measure: &'a str) -> impl Iterator<Item = f64> + 'a {
        self.rows.iter().filter(move |row| row.series == series && row.measure == measure).map(|row| row.value)
    }

    /// The average of a measure at a point, if there are values.
    pub fn mean(&self, point: usize, series: &str, measure: &str) -> Option<f64> {
        mean(self.values(point, series, measure))
    }

    /// The sum of a measure at a point.
    pub fn sum(&self, point: usize, series: &str, measure: &str) -> f64 {
        self.values(point, series, measure).sum()
    }

    /// How many samples a series was to decide at a point, and the seconds of those that it decided, by sample. What
    /// was given up has no time.
    pub fn decided(&self, point: usize, series: &str) -> (usize, Vec<(u32, f64)>) {
        let of = |measure: &'static str| {
            let is_meant = move |row: &&Row| row.point == point && row.series == series && row.measure == measure;
            self.rows.iter().filter(is_meant)
        };
        let given_up: Vec<u32> = of("undecided").filter(|row| row.value > 0.0).map(|row| row.sample).collect();
        let decided: Vec<(u32, f64)> =
            of("seconds").filter(|row| !given_up.contains(&row.sample)).map(|row| (row.sample, row.value)).collect();
        (decided.len() + given_up.len(), decided)
    }

    /// The median of the seconds of the samples that a series decided at a point, if there are any.
    pub fn median(&self, point: usize, series: &str) -> Option<f64> {
        median(self.decided(point, series).1.into_iter().map(|it| it.1))
    }

    /// The medians of two series over the samples that both decided at a point, if there are any.
    pub fn medians_of_both(&self, point: usize, one: &str, other: &str) -> Option<(f64, f64)> {
        let others = self.decided(point, other).1;
        let both: Vec<(f64, f64)> = self
            .decided(point, one)
            .1
            .into_iter()
            .filter_map(|(sample, seconds)| Some((seconds, others.iter().find(|it| it.0 == sample)?.1)))
            .collect();
        Some((median(both.iter().map(|it| it.0))?, median(both.iter().map(|it| it.1))?))
    }

    /// The average of a measure at all points, if there are values.
    pub fn mean_everywhere(&self, series: &str, measure: &str) -> Option<f64> {
        mean(self.everywhere(series, measure))
    }
}

/// The average, if there are values.
pub fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0u64, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / count as f64)
}

/// The geometric mean, if there are values; all must be positive.
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    mean(values.map(f64::ln)).map(f64::exp)
}

/// The median, if there are values.
pub fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    quantiles(values).map(|it| it[2])
}

/// Least value, quartiles and greatest value, if there are values.
pub fn quantiles(values: impl Iterator<Item = f64>) -> Option<[f64; 5]> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some([0, 1, 2, 3, 4].map(|quarter| {
        // Between two values, the place tells how much of each.
        let place = last as f64 * f64::from(quarter) / 4.0;
        let (low, high) = (values[place.floor() as usize], values[place.ceil() as usize]);
        low + (high - low) * place.fract()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_of_five_values_are_the_values() {
        assert_eq!(quantiles([5.0, 1.0, 4.0, 2.0, 3.0].into_iter()), Some([1.0, 2.0, 3.0, 4.0, 5.0]));
        assert_eq!(quantiles([1.0, 2.0].into_iter()), Some([1.0, 1.25, 1.5, 1.75, 2.0]));
        assert_eq!(quantiles(std::iter::empty()), None);
    }

    #[test]
    fn means() {
        assert_eq!(mean([1.0, 3.0].into_iter()), Some(2.0));
        assert!((geometric_mean([1.0, 4.0].into_iter()).unwrap() - 2.0).abs() < 1e-12);
    }
}
