//! The state of a run, in a file: what was measured so far.
//!
//! The file has one line of JSON for the run, and one for each sample that was measured, written as soon as it is. A
//! line that was cut off is not there. So a run may be stopped at any time, and goes on after the last whole sample.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Row, Scale};

/// What a run must have in common with the run that it goes on with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    experiment: String,
    quick: bool,
    share: u32,
    limit_ms: Option<u64>,
    #[serde(default)]
    steps: Option<u64>,
    distance: u32,
    seed: u64,
}

impl Head {
    fn new(experiment: &str, scale: &Scale) -> Self {
        Self {
            experiment: experiment.to_owned(),
            quick: scale.is_quick,
            share: scale.share,
            limit_ms: scale.limit.map(|limit| limit.as_millis() as u64),
            steps: scale.steps,
            distance: scale.distance,
            seed: scale.seed,
        }
    }

    fn scale(&self) -> Scale {
        Scale {
            is_quick: self.quick,
            share: self.share,
            limit: self.limit_ms.map(Duration::from_millis),
            steps: self.steps,
            distance: self.distance,
            seed: self.seed,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Sample {
    point: usize,
    number: u32,
    rows: Vec<Row>,
}

/// The file of a run, and what it held when it was opened.
pub struct State {
    file: File,
    /// The samples that were measured before, by point and number.
    pub measured: Vec<(usize, u32, Vec<Row>)>,
}

/// The samples of a run, by point and number.
pub(crate) type Samples = Vec<(usize, u32, Vec<Row>)>;

/// What a file holds: the head, the samples, and how long all whole lines are.
fn read(path: &Path) -> Result<Option<(Head, Samples, u64)>, String> {
    let told = |error: io::Error| format!("{}: {error}", path.display());
    let mut lines = BufReader::new(File::open(path).map_err(told)?);
    let mut line = String::new();
    let mut head = None;
    let (mut samples, mut length) = (Vec::new(), 0);
    while lines.read_line(&mut line).map_err(told)? > 0 && line.ends_with('\n') {
        if head.is_none() {
            head = Some(serde_json::from_str(&line).map_err(|error| told(error.into()))?);
        } else {
            let Sample { point, number, rows } = serde_json::from_str(&line).map_err(|error| told(error.into()))?;
            samples.push((point, number, rows));
        }
        length += line.len() as u64;
        line.clear();
    }
    Ok(head.map(|head| (head, samples, length)))
}

impl State {
    /// Begins a run, or goes on with one. The error says why it cannot be gone on with.
    pub fn open(path: &Path, experiment: &str, scale: &Scale, resume: bool) -> Result<Self, String> {
        let told = |error: io::Error| format!("{}: {error}", path.display());
        let head = Head::new(experiment, scale);
        let (mut measured, mut length) = (Vec::new(), 0);
        if resume
            && path.exists()
            && let Some((found, samples, whole)) = read(path)?
        {
            if found != head {
                return Err(format!("{}: another run: {found:?}, not {head:?}", path.display()));
            }
            (measured, length) = (samples, whole);
        }
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(told)?;
        // What follows the last whole line was cut off when the run was stopped.
        file.set_len(length).map_err(told)?;
        if length == 0 {
            writeln!(file, "{}", json(&head)).map_err(told)?;
        }
        Ok(Self { file, measured })
    }

    /// How much a run measures, and what it has measured so far.
    pub(crate) fn read(path: &Path) -> Result<(Scale, Samples), String> {
        let (head, samples, _) = read(path)?.ok_or_else(|| format!("{}: it is empty", path.display()))?;
        Ok((head.scale(), samples))
    }

    /// Writes a sample down.
    pub fn push(&mut self, point: usize, number: u32, rows: &[Row]) -> io::Result<()> {
        let line = json(&Sample { point, number, rows: rows.to_vec() });
        self.file.write_all(format!("{line}\n").as_bytes())
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers and texts have a JSON form")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_goes_on_after_the_last_whole_sample() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.state");
        let scale = Scale { is_quick: true, share: 100, limit: None, steps: None, distance: 4, seed: 1 };
        let row = Row { point: 0, sample: 0, series: "s".to_owned(), measure: "seconds".to_owned(), value: 0.5 };
        let mut state = State::open(&path, "x", &scale, false).unwrap();
        state.push(0, 0, std::slice::from_ref(&row)).unwrap();
        state.push(0, 1, &[]).unwrap();
        drop(state);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 3]).unwrap();
        let mut state = State::open(&path, "x", &scale, true).unwrap();
        assert_eq!(state.measured, [(0, 0, vec![row])]);
        state.push(0, 1, &[]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        // Another seed is another run; without `resume` a run begins anew.
        assert!(State::open(&path, "x", &Scale { seed: 2, ..scale }, true).is_err());
        assert!(State::open(&path, "x", &scale, false).unwrap().measured.is_empty());
    }
}
