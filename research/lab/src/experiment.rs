//! What an experiment is.

use std::time::Duration;

use crate::plot::{Axis, Line, Plot};
use crate::rows::{Row, Rows};
use crate::table::{self, Table};

/// What is known of an experiment before it runs.
#[derive(Copy, Clone, Debug)]
pub struct About {
    /// Its name on the command line, which begins with the short name of its paper: `wsc-fig6`.
    pub name: &'static str,
    /// The short name of the paper, as `docs/models.md` has it.
    pub paper: &'static str,
    /// The figure or table of the paper.
    pub figure: &'static str,
    /// What is measured, in one sentence.
    pub title: &'static str,
    /// What the paper claims, in words.
    pub claim: &'static str,
    /// What the points are: `operations`, `threads`.
    pub points: &'static str,
    /// Why the claim does not hold here, where it does not, and what else a reader should know. An empty line begins a
    /// new paragraph. The pages in `docs` have it as it is here.
    pub remarks: &'static str,
}

/// What a series is to the comparison of Seriatim with the paper.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// An algorithm of the paper, or one that the paper compares with.
    Paper,
    /// Seriatim, by default, without a certificate.
    Ours,
    /// Seriatim, by default, with a certificate.
    OursCertified,
    /// Something that is not compared.
    Other,
}

/// A column of the table, a line of the plot.
#[derive(Copy, Clone, Debug)]
pub struct Series {
    /// Its name.
    pub name: &'static str,
    /// What it is to the comparison.
    pub role: Role,
}

impl Series {
    /// Seriatim without and with certificates.
    pub const OURS: [Self; 2] = [
        Self { name: "seriatim", role: Role::Ours },
        Self { name: "seriatim, certificate", role: Role::OursCertified },
    ];

    /// An algorithm of the paper.
    pub const fn paper(name: &'static str) -> Self {
        Self { name, role: Role::Paper }
    }
}

/// How much is measured.
#[derive(Copy, Clone, Debug)]
pub struct Scale {
    /// Whether the run is the quick one.
    pub is_quick: bool,
    /// How many percent of the paper's samples a full run measures.
    pub share: u32,
    /// The time limit of one algorithm for one sample, if it is not that of the experiment.
    pub limit: Option<Duration>,
    /// The limit in steps, of experiments that count them, if it is not that of the experiment.
    pub steps: Option<u64>,
    /// Where violations are made by changing reads: how far the new write is from the old one at most, in writes of the
    /// location.
    pub distance: u32,
    /// Where all random choices start.
    pub seed: u64,
}

impl Scale {
    /// How many samples: the share of the paper's number, at least one, or the number of the quick run.
    pub fn samples(&self, paper: u32, quick: u32) -> u32 {
        if self.is_quick { quick } else { (u64::from(paper) * u64::from(self.share)).div_ceil(100).max(1) as u32 }
    }

    /// The time limit of one algorithm for one sample, unless another was asked for.
    pub fn limit(&self, full: Duration, quick: Duration) -> Duration {
        self.limit.unwrap_or(if self.is_quick { quick } else { full })
    }

    /// The limit of one algorithm for one sample in steps, unless another was asked for.
    pub fn steps(&self, full: u64, quick: u64) -> u64 {
        self.steps.unwrap_or(if self.is_quick { quick } else { full })
    }

    /// One of two, the first in a full run.
    pub fn either<T>(&self, full: T, quick: T) -> T {
        if self.is_quick { quick } else { full }
    }
}

/// A point of an experiment.
#[derive(Clone, Debug)]
pub struct Point {
    /// Its name in tables.
    pub label: String,
    /// Its place on the axis of a plot.
    pub x: f64,
    /// How many samples it has.
    pub samples: u32,
    /// What a sample costs, about, compared with those of other points: for the time left.
    pub weight: u64,
}

impl Point {
    /// A point that is a number.
    pub fn number(x: u32, samples: u32) -> Self {
        Self { label: x.to_string(), x: x.into(), samples, weight: u64::from(x).max(1) }
    }
}

/// One sample to measure.
#[derive(Copy, Clone)]
pub struct Task<'a> {
    /// How much is measured in all.
    pub scale: &'a Scale,
    /// The number of the point.
    pub point: usize,
    /// The number of the sample at that point.
    pub sample: u32,
    /// All samples before this one.
    pub before: &'a Rows,
}

impl Task<'_> {
    /// A number that belongs to this sample of this point, and to no other of the experiment: the seed of its history.
    pub fn seed(&self) -> u64 {
        self.scale.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ((self.point as u64) << 32 | u64::from(self.sample))
    }

    /// Whether an algorithm need not be asked: it left three samples of the point undecided, and half of those it was
    /// asked for, or all samples of the point before. Then it counts as one that left this sample undecided.
    pub fn is_hopeless(&self, series: &str) -> bool {
        let undecided = |point| {
            let all: Vec<f64> = self.before.values(point, series, "undecided").collect();
            (all.iter().filter(|&&it| it > 0.0).count(), all.len())
        };
        let (left, asked) = undecided(self.point);
        let (left_before, asked_before) = self.point.checked_sub(1).map_or((0, 0), undecided);
        (left >= 3 && 2 * left >= asked) || (asked_before > 2 && left_before == asked_before)
    }

    /// A row of this sample.
    pub fn row(&self, series: &str, measure: &str, value: f64) -> Row {
        Row { point: self.point, sample: self.sample, series: series.to_owned(), measure: measure.to_owned(), value }
    }
}

/// The rows of a sample, or what is wrong: two algorithms that disagree, say.
pub type Measured = Result<Vec<Row>, String>;

/// What became of a claim.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// All of it holds here.
    Holds,
    /// Some of it does not hold here, or nothing.
    NotAll,
    /// The paper claims nothing.
    NoClaim,
}

/// Whether a claim holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Whether all of it holds.
    pub standing: Standing,
    /// What was seen, in one line.
    pub text: String,
}

impl Judgement {
    /// The judgement of several parts, each with what was seen of it: the claim holds if all parts do.
    pub fn of(parts: &[(bool, String)]) -> Self {
        let part = |(holds, text): &(bool, String)| format!("{}{text}", if *holds { "" } else { "NOT: " });
        let standing = if parts.iter().all(|part| part.0) { Standing::Holds } else { Standing::NotAll };
        Self { standing, text: parts.iter().map(part).collect::<Vec<_>>().join("; ") }
    }

    /// What was seen where the paper claims nothing.
    pub fn without_claim(text: String) -> Self {
        Self { standing: Standing::NoClaim, text }
    }
}

/// An experiment of a paper. What is measured in seconds has the measure `seconds`, and is compared with Seriatim.
pub trait Experiment {
    /// What is known of it before it runs.
    fn about(&self) -> About;

    /// What is measured at each point.
    fn series(&self) -> Vec<Series>;

    /// The points, in growing order of cost.
    fn points(&self, scale: &Scale) -> Vec<Point>;

    /// Measures one sample.
    fn measure(&self, task: &Task<'_>) -> Measured;

    /// Whether the claim of the paper holds.
    fn judge(&self, rows: &Rows) -> Judgement;

    /// What a reader must know of the set-up: number of variables, source of the histories, time limit.
    fn setting(&self, scale: &Scale) -> String;

    /// The tables of the experiment.
    fn tables(&self, rows: &Rows) -> Vec<Table> {
        vec![table::seconds(&self.about(), &self.series(), rows)]
    }

    /// The plots of the experiment.
    fn plots(&self, rows: &Rows) -> Vec<Plot> {
        vec![self.lines(rows, "", &[])]
    }

    /// The median seconds of each series over the points, of what it decided, without the series of these names.
    fn lines(&self, rows: &Rows, title: &str, without: &[&str]) -> Plot {
        let about = self.about();
        let series = self.series();
        let shown = series.iter().filter(|it| !without.contains(&it.name));
        let line = |series: &Series| Line {
            name: series.name.to_owned(),
            points: rows
                .points()
                .iter()
                .enumerate()
                .filter_map(|(at, point)| Some((point.x, rows.median(at, series.name)?)))
                .collect(),
            is_ours: matches!(series.role, Role::Ours | Role::OursCertified),
        };
        Plot::lines(
            &format!("{} {}{title}", about.paper, about.figure),
            Axis::linear(about.points),
            Axis::logarithmic("seconds, median"),
            shown.map(line).collect(),
        )
    }
}
