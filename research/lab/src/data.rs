//! The raw data behind the pages: one text file for each experiment, in `research/data`.
//!
//! The head says what was run, of which commit, when and where. Then each line has the values of one measure of one
//! series at one point, as `sample:value`, with six digits that matter. Fields are apart by tabs, shown here as arrows:
//!
//! ```text
//! # experiment: gcc-pairs
//! # command: lab paper gcc-pairs --share 100 --distance 4 --seed 1
//! # commit: …
//! 0 → CCM → ordered → 0:0.885321 1:0.9
//! ```

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::runner::Finished;
use crate::{Row, Scale, machine_text, papers, report};

/// What is known of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) commit: String,
    pub(crate) date: String,
    pub(crate) machine: String,
    /// What else is to be said of it.
    pub(crate) note: String,
}

impl Origin {
    /// Of a run that ends now.
    fn now(note: &str) -> Self {
        let git = |arguments: &[&str]| {
            let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success());
            output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
        let is_changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|it| !it.is_empty());
        Self {
            commit: if is_changed { format!("{commit}, changed") } else { commit },
            date: today(),
            machine: machine_text::describe(),
            note: note.to_owned(),
        }
    }
}

/// The date of today, as ISO 8601 has it.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
    date(seconds / 86_400)
}

/// The date so many days after the first of January 1970, by counting years of 400 and of one.
fn date(mut days: u64) -> String {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 0;
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, days + 1)
}

/// The file of an experiment.
pub(crate) fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.tsv"))
}

/// A value with six digits that matter.
fn shown(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    format!("{rounded}")
}

fn text(done: &Finished, origin: &Origin) -> String {
    let Scale { is_quick, share, limit, steps, distance, seed } = done.scale;
    let mut text = String::new();
    let limit = limit.map_or_else(String::new, |limit| limit.as_secs_f64().to_string());
    let steps = steps.map_or_else(String::new, |steps| steps.to_string());
    for (name, value) in [
        ("experiment", done.experiment.about().name),
        ("command", &report::command(done)),
        ("commit", &origin.commit),
        ("date", &origin.date),
        ("machine", &origin.machine),
        ("note", &origin.note),
        ("quick", &is_quick.to_string()),
        ("share", &share.to_string()),
        ("limit", &limit),
        ("steps", &steps),
        ("distance", &distance.to_string()),
        ("seed", &seed.to_string()),
    ] {
        let _ = writeln!(text, "# {name}: {value}");
    }
    let mut lines: Vec<(usize, &str, &str, Vec<String>)> = Vec::new();
    for row in done.rows.all() {
        let value = format!("{}:{}", row.sample, shown(row.value));
        let is_of =
            |it: &&mut (usize, &str, &str, Vec<String>)| (it.0, it.1, it.2) == (row.point, &*row.series, &*row.measure);
        match lines.iter_mut().rev().find(is_of) {
            Some(line) => line.3.push(value),
            None => lines.push((row.point, &row.series, &row.measure, vec![value])),
        }
    }
    for (point, series, measure, values) in lines {
        let _ = writeln!(text, "{point}\t{series}\t{measure}\t{}", values.join(" "));
    }
    text
}

/// Reads the file of an experiment.
pub(crate) fn read(folder: &Path, name: &str) -> Result<(Finished, Origin), String> {
    let path = file(folder, name);
    let told = |what: &str| format!("{}: {what}", path.display());
    let text = fs::read_to_string(&path).map_err(|error| told(&error.to_string()))?;
    let head = |key: &str| {
        let start = format!("# {key}: ");
        let line = text.lines().find_map(|line| line.strip_prefix(start.trim_end()));
        line.map(|value| value.trim().to_owned()).ok_or_else(|| told(&format!("it has no {key}")))
    };
    let number = |key: &str| head(key)?.parse::<u64>().map_err(|_| told(&format!("{key} is no number")));
    let limit = head("limit")?;
    let limit = if limit.is_empty() { None } else { Some(limit.parse::<f64>().map_err(|_| told("the limit"))?) };
    let steps = head("steps")?;
    let steps = if steps.is_empty() { None } else { Some(number("steps")?) };
    let scale = Scale {
        steps,
        is_quick: head("quick")? == "true",
        share: number("share")? as u32,
        limit: limit.map(Duration::from_secs_f64),
        distance: number("distance")? as u32,
        seed: number("seed")?,
    };
    let mut rows = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let &[point, series, measure, values] = &cells[..] else { return Err(told("a line has not four cells")) };
        let point = point.parse().map_err(|_| told("a point is no number"))?;
        for it in values.split(' ') {
            let (sample, value) = it.split_once(':').ok_or_else(|| told("a value has no sample"))?;
            let sample = sample.parse().map_err(|_| told("a sample is no number"))?;
            let value = value.parse().map_err(|_| told("a value is no number"))?;
            rows.push(Row { point, sample, series: series.to_owned(), measure: measure.to_owned(), value });
        }
    }
    let experiment = papers::all().into_iter().find(|it| it.about().name == name);
    let experiment = experiment.ok_or_else(|| told("there is no such experiment"))?;
    let points = experiment.points(&scale).len();
    if let Some(row) = rows.iter().find(|row| row.point >= points) {
        return Err(told(&format!("there is no point {}", row.point)));
    }
    let mut all = crate::Rows::new(experiment.points(&scale));
    all.extend(rows);
    let origin =
        Origin { commit: head("commit")?, date: head("date")?, machine: head("machine")?, note: head("note")? };
    Ok((Finished::new(experiment, scale, all), origin))
}

/// Keeps the runs that are finished in these folders as raw data. `note` is what is to be said of them. The answer
/// names the experiments.
pub fn keep(runs: &[PathBuf], data: &Path, note: &str) -> Result<Vec<&'static str>, String> {
    let mut kept = Vec::new();
    for experiment in papers::all() {
        let name = experiment.about().name;
        let Some(path) = runs.iter().map(|run| run.join(format!("{name}.state"))).find(|path| path.exists()) else {
            continue;
        };
        let (scale, rows) = Finished::read(&*experiment, &path)?;
        let done = Finished::new(experiment, scale, rows);
        let path = file(data, name);
        fs::write(&path, text(&done, &Origin::now(note))).map_err(|error| format!("{}: {error}", path.display()))?;
        kept.push(name);
    }
    if kept.is_empty() { Err("there is no run of any experiment".to_owned()) } else { Ok(kept) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        let dates = [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_776, "2026-11-19")];
        assert!(dates.iter().all(|&(days, expected)| date(days) == expected));
    }

    #[test]
    fn six_digits_matter() {
        assert_eq!([0.000_012_345_67, 1234.0, 0.0, 1.0 / 3.0].map(shown), ["0.0000123457", "1234", "0", "0.333333"]);
    }
}
