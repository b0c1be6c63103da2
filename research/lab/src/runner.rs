//! Runs experiments: sample after sample, each written down at once, with the time left.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::report;
use crate::state::Samples;
use crate::{About, Experiment, Judgement, Point, Row, Rows, Scale, State, Task, papers};

/// How to run experiments.
#[derive(Clone, Debug)]
pub struct Options {
    /// How much is measured.
    pub scale: Scale,
    /// Where results are written.
    pub folder: PathBuf,
    /// Whether to go on with a run that was stopped.
    pub resume: bool,
    /// Whether to show on the terminal how far the run is.
    pub progress: bool,
}

/// An experiment that has run.
pub struct Finished {
    /// The experiment.
    pub experiment: Box<dyn Experiment>,
    /// How much it measured.
    pub scale: Scale,
    /// What it measured.
    pub rows: Rows,
    /// Whether the claim of its paper holds.
    pub judgement: Judgement,
}

impl Finished {
    pub(crate) fn new(experiment: Box<dyn Experiment>, scale: Scale, rows: Rows) -> Self {
        let judgement = experiment.judge(&rows);
        Self { experiment, scale, rows, judgement }
    }

    /// What a run wrote down. The error says what is missing of it.
    pub(crate) fn read(experiment: &dyn Experiment, path: &Path) -> Result<(Scale, Rows), String> {
        let (scale, samples) = State::read(path)?;
        let mut rows = Rows::new(experiment.points(&scale));
        let is_here = |(point, sample, _): &(usize, u32, _)| {
            rows.points().get(*point).is_some_and(|point| *sample < point.samples)
        };
        if !samples.iter().all(is_here) {
            return Err(format!("{}: there are histories that cannot be found now", path.display()));
        }
        let mut known = Known::new(rows.points(), samples);
        for (point, it) in rows.points().to_vec().iter().enumerate() {
            for sample in 0..it.samples {
                let missing = || format!("{}: the run is not finished: {} is missing", path.display(), it.label);
                rows.extend(known.take(point, sample).ok_or_else(missing)?);
            }
        }
        Ok((scale, rows))
    }
}

/// The samples that were measured before.
struct Known {
    /// The place of the first sample of each point.
    firsts: Vec<usize>,
    samples: Vec<Option<Vec<Row>>>,
}

impl Known {
    fn new(points: &[Point], measured: Samples) -> Self {
        let place = |sum: &mut usize, point: &Point| {
            let first = *sum;
            *sum += point.samples as usize;
            Some(first)
        };
        let firsts: Vec<usize> = points.iter().scan(0, place).collect();
        let mut samples = Vec::new();
        samples.resize_with(points.iter().map(|point| point.samples as usize).sum(), || None);
        for (point, sample, rows) in measured {
            if let Some(first) = firsts.get(point).filter(|_| sample < points[point].samples) {
                samples[first + sample as usize] = Some(rows);
            }
        }
        Self { firsts, samples }
    }

    fn take(&mut self, point: usize, sample: u32) -> Option<Vec<Row>> {
        self.samples[self.firsts[point] + sample as usize].take()
    }
}

/// The experiments that a name means: one of them, all of a paper, or `all`.
pub fn select(name: &str) -> Option<Vec<Box<dyn Experiment>>> {
    let is_meant = |about: About| name == "all" || about.name == name || about.paper.eq_ignore_ascii_case(name);
    let selected: Vec<_> = papers::all().into_iter().filter(|it| is_meant(it.about())).collect();
    (!selected.is_empty()).then_some(selected)
}

/// A bar for so much work.
fn bar(work: u64, is_shown: bool) -> ProgressBar {
    let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(work), target);
    let style = ProgressStyle::with_template("{msg:<28} [{bar:30}] {percent:>3}%, {elapsed} so far, about {eta} left");
    bar.set_style(style.expect("a good template"));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// Runs experiments one after the other, and writes what they measured: NAME.csv, the plots NAME.svg, and report.md of
/// all. `tell` gets the text of each experiment when it is done.
pub fn run(
    experiments: Vec<Box<dyn Experiment>>,
    options: &Options,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Finished>, String> {
    let scale = &options.scale;
    fs::create_dir_all(&options.folder).map_err(|error| format!("{}: {error}", options.folder.display()))?;
    let weigh =
        |it: &dyn Experiment| it.points(scale).iter().map(|point| u64::from(point.samples) * point.weight).sum::<u64>();
    // Each experiment has the same share of the bar: their weights have no common measure.
    let bar = bar(experiments.len() as u64 * 1000, options.progress);
    let mut finished = Vec::new();
    for (number, experiment) in experiments.into_iter().enumerate() {
        let name = experiment.about().name;
        bar.set_message(name);
        let work = weigh(&*experiment).max(1);
        let mut done = 0;
        let mut rows = Rows::new(experiment.points(scale));
        let points = rows.points().to_vec();
        let mut state = State::open(&options.folder.join(format!("{name}.state")), name, scale, options.resume)?;
        let mut known = Known::new(&points, std::mem::take(&mut state.measured));
        for (point, it) in points.iter().enumerate() {
            for sample in 0..it.samples {
                let measured = if let Some(rows) = known.take(point, sample) {
                    rows
                } else {
                    let task = Task { scale, point, sample, before: &rows };
                    let measured = experiment.measure(&task).map_err(|error| {
                        format!("{name}, {} {}: sample {sample}: {error}", it.label, experiment.about().points)
                    })?;
                    state.push(point, sample, &measured).map_err(|error| format!("{name}: {error}"))?;
                    measured
                };
                rows.extend(measured);
                done += it.weight;
                bar.set_position(number as u64 * 1000 + done * 1000 / work);
            }
        }
        let done = Finished::new(experiment, *scale, rows);
        report::write(&done, options)?;
        let text = report::text(&done);
        bar.suspend(|| tell(&text));
        finished.push(done);
    }
    bar.finish_and_clear();
    let all: Vec<&Finished> = finished.iter().collect();
    let path = options.folder.join("report.md");
    fs::write(&path, report::page(&all)).map_err(|error| format!("{}: {error}", path.display()))?;
    tell(&report::summary(&all));
    Ok(finished)
}
