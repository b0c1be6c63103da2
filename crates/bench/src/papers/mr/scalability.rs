//! Figures 12 and 13: how many steps a checker goes through within time limits, on histories of Michael and Scott's
//! queue.
//!
//! A step is a return, at which the checker says whether the history so far is still possible. The limits of the paper
//! (5, 25, 50, 75 and 100 s) are scaled by a factor. The column `seriatim` is the exact monitor of `monitor`, which
//! answers the same question at each return; it is exact where SATURATE is silent. Figure 13 has the same measurement,
//! with time divided by the square of the average number of values inside.

use std::time::{Duration, Instant};

use history::event::{Action, Event};
use history::{History, HistoryEvent, Object, Value};
use monitor::linearizable::Algorithm;
use monitor::{Linearizable, Monitor, Progress};
use object::mr::{Invocation, Options, Step, monitor as new_monitor};
use object::{Endpoint, Interrupt, ObjectHistory, Part};

use super::runs::Run;
use super::structures::STRUCTURES;
use super::{ENTRANTS, Entrant, OURS, originals, read};
use crate::plot::{Axis, Form, Group, Line, Plot};
use crate::table::Table;
use crate::{About, Experiment, Judgement, Measured, Point, Role, Row, Rows, Scale, Series, Task, quantiles};

/// The limits of the paper, in seconds.
const LIMITS: [u32; 5] = [5, 25, 50, 75, 100];

/// One of the two figures.
pub(super) struct Scalability {
    is_normalized: bool,
}

impl Scalability {
    pub(super) const STEPS: Self = Self { is_normalized: false };
    pub(super) const NORMALIZED: Self = Self { is_normalized: true };
}

/// The checkers of these figures.
fn entrants() -> &'static [Entrant] {
    &ENTRANTS[..5]
}

/// By how much the limits are scaled.
fn factor(scale: &Scale) -> f64 {
    scale.limit.map_or(scale.either(0.01, 0.001), |limit| limit.as_secs_f64() / f64::from(LIMITS[4]))
}

/// What is known after a number of steps: the moment, and the average number of values inside so far.
#[derive(Copy, Clone)]
struct Reached {
    seconds: f64,
    capacity: f64,
}

/// The average number of values inside after each return.
fn capacities(part: &Part<'_>) -> Vec<f64> {
    let (mut inside, mut sum) = (0_i64, 0_i64);
    let mut capacities = Vec::new();
    for event in part.events() {
        if let Endpoint::Return(at) = event {
            let call = &part.calls[at as usize];
            let inserts = call.argument.is_index();
            inside += i64::from(inserts) - i64::from(!inserts && call.result.is_index());
            sum += inside;
            capacities.push(sum as f64 / (capacities.len() + 1) as f64);
        }
    }
    capacities
}

/// Lets a checker of the paper run.
fn follow(part: &Part<'_>, entrant: Entrant, limit: Duration) -> Result<Vec<f64>, String> {
    let begin = Instant::now();
    let interrupt = Interrupt { deadline: Some(begin + limit) };
    let options = Options { remove_matches: entrant.remove_matches, interrupt };
    let mut monitor = new_monitor(part, entrant.checker, options)?;
    let mut times = Vec::new();
    for event in part.events() {
        match event {
            Endpoint::Nothing => {}
            Endpoint::Call(at) => monitor.call(at, Invocation::of(&part.calls[at as usize])),
            Endpoint::Return(at) => {
                let step = monitor.return_(at, part.calls[at as usize].result);
                if step == Step::Violation {
                    return Err(format!("{} finds a violation in a linearizable queue", entrant.name));
                }
                let elapsed = begin.elapsed();
                if step != Step::Possible || elapsed > limit {
                    break;
                }
                times.push(elapsed.as_secs_f64());
            }
        }
    }
    Ok(times)
}

/// Lets the exact monitor run.
fn watch(history: &History, limit: Duration) -> Result<Vec<f64>, String> {
    let mut monitor = Linearizable::new(Object::Queue, Algorithm::Auto).map_err(|error| error.to_string())?;
    let begin = Instant::now();
    let mut times = Vec::new();
    for event in history.events() {
        let operation = history.operation(event.operation());
        let process = operation.process.0;
        let (action, is_return) = match event {
            HistoryEvent::Instant(_) => continue,
            HistoryEvent::Call(_) => {
                let (key, method, argument) = (operation.key, operation.method, operation.argument);
                (Action::Call { key, method, argument, expected: Value::NONE }, false)
            }
            HistoryEvent::End(_) => (Action::Return(operation.result), true),
        };
        let progress = monitor.push(Event { process, action }).map_err(|violation| violation.to_string())?;
        if progress != Progress::Possible {
            return Err(format!("the exact monitor: {progress:?}"));
        }
        if is_return {
            let elapsed = begin.elapsed();
            if elapsed > limit {
                break;
            }
            times.push(elapsed.as_secs_f64());
        }
    }
    Ok(times)
}

/// Where the histories come from.
fn sources(scale: &Scale) -> Vec<(&'static str, u32)> {
    let count = scale.samples(10, 2);
    let mut sources = vec![("our queue", count)];
    let originals = originals("big/ScalObject-msq").len() as u32;
    if originals > 0 {
        sources.push(("the paper's histories", originals.min(count)));
    }
    sources
}

fn history(task: &Task<'_>) -> Result<History, String> {
    let sources = sources(task.scale);
    if sources[task.point / LIMITS.len()].0 != "our queue" {
        let files = originals("big/ScalObject-msq");
        return read(files.get(task.sample as usize).ok_or("no such history")?);
    }
    let structure = *STRUCTURES.iter().find(|it| it.name == "msq").ok_or("no such structure")?;
    let operations = task.scale.either(10_000, 2000);
    Run { structure, operations, inserts: 50, seed: task.seed() }.scheduled()
}

impl Experiment for Scalability {
    fn about(&self) -> About {
        let steps = About {
            name: "mr-fig12",
            paper: "MR",
            figure: "Figure 12",
            title: "Michael and Scott's queue, 10,000 operations: the steps that each checker goes through in a time \
                    limit.",
            claim: "SATURATE goes farther than SYMBOLIC, and SYMBOLIC than ENUMERATE (357 to 854, 37 to 70, 18 to 32 \
                    steps); removal of matches helps both (SATURATE to 1,303 in under 5 s)",
            points: "time limit",
        };
        if !self.is_normalized {
            return steps;
        }
        About {
            name: "mr-fig13",
            figure: "Figure 13",
            title: "The same histories: time over the square of the average number of values inside, against steps.",
            claim: "so divided, SATURATE grows in proportion to the steps; ENUMERATE and SYMBOLIC do not",
            ..steps
        }
    }

    fn series(&self) -> Vec<Series> {
        let mut series: Vec<Series> = entrants().iter().map(|it| Series::paper(it.name)).collect();
        series.push(Series { name: OURS, role: Role::Ours });
        series
    }

    /// The limits of each source. All limits are measured together with the longest.
    fn points(&self, scale: &Scale) -> Vec<Point> {
        let mut points = Vec::new();
        for (source, samples) in sources(scale) {
            for (at, limit) in LIMITS.into_iter().enumerate() {
                let seconds = f64::from(limit) * factor(scale);
                let label = format!("{source}, {seconds} s");
                let samples = if at + 1 == LIMITS.len() { samples } else { 0 };
                points.push(Point { label, x: seconds, samples, weight: 1 });
            }
        }
        points
    }

    fn measure(&self, task: &Task<'_>) -> Measured {
        let history = history(task)?;
        let view = ObjectHistory::new(&history).map_err(|error| error.to_string())?;
        let part = view.parts().next().ok_or("no object")?;
        let capacities = capacities(&part);
        let longest = Duration::from_secs_f64(f64::from(LIMITS[4]) * factor(task.scale));
        let mut rows = Vec::new();
        let mut note = |name: &str, times: &[f64]| {
            let first = task.point + 1 - LIMITS.len();
            for (point, limit) in (first..).zip(LIMITS) {
                let limit = f64::from(limit) * factor(task.scale);
                let steps = times.partition_point(|&time| time <= limit);
                let reached = steps.checked_sub(1).map(|at| Reached { seconds: times[at], capacity: capacities[at] });
                let mut row = |measure: &str, value| rows.push(Row { point, ..task.row(name, measure, value) });
                row("steps", steps as f64);
                let Some(Reached { seconds, capacity }) = reached else { continue };
                row("time", seconds);
                row("capacity", capacity.max(1.0));
                // The time of a step, to compare with.
                row("seconds", (seconds / steps as f64).max(1e-9));
                row("all", f64::from(u8::from(steps == capacities.len())));
                // How normalized time grows from half of the steps to all of them: with which power of the steps.
                let half = steps / 2;
                if half > 10 && point == task.point {
                    let cost = |at: usize| times[at - 1] / capacities[at - 1].max(1.0).powi(2);
                    row("exponent", (cost(steps) / cost(half)).ln() / (steps as f64 / half as f64).ln());
                }
            }
        };
        for &entrant in entrants() {
            note(entrant.name, &follow(&part, entrant, longest)?);
        }
        note(OURS, &watch(&history, longest)?);
        Ok(rows)
    }

    fn judge(&self, rows: &Rows) -> Judgement {
        let mut parts = Vec::new();
        for last in (LIMITS.len() - 1..rows.points().len()).step_by(LIMITS.len()) {
            let source = rows.points()[last].label.split(',').next().unwrap_or_default();
            let median = |name: &str, measure: &str| quantiles(rows.values(last, name, measure)).map(|it| it[2]);
            if self.is_normalized {
                parts.extend(["SATURATE", "SATURATE+R", "SYMBOLIC", "ENUMERATE"].map(|name| {
                    let is_linear = name.starts_with("SATURATE");
                    median(name, "exponent").map_or_else(
                        || (true, format!("{source}: {name} came no farther than 20 steps")),
                        |it| (is_linear == (it < 1.5), format!("{source}: {name} grows as steps^{it:.1}")),
                    )
                }));
                continue;
            }
            let steps = |name: &str| median(name, "steps").unwrap_or(0.0);
            let pairs = [
                ("SATURATE", "SYMBOLIC"),
                ("SYMBOLIC", "ENUMERATE"),
                ("SYMBOLIC+R", "SYMBOLIC"),
                ("SATURATE+R", "SATURATE"),
            ];
            parts.extend(pairs.map(|(one, other)| {
                let (far, less) = (steps(one), steps(other));
                (far >= less, format!("{source}: {one} {far:.0} steps, {other} {less:.0}"))
            }));
            parts.push((true, format!("{source}: seriatim {:.0}", steps(OURS))));
        }
        Judgement::of(&parts)
    }

    fn setting(&self, scale: &Scale) -> String {
        format!(
            "4 threads under the seeded scheduler, half of the operations insert; the limits of the paper times {}; \
             each history once. `seriatim` is the exact monitor.{}",
            factor(scale),
            if sources(scale).len() > 1 { " The paper's own histories beside ours." } else { "" }
        )
    }

    fn tables(&self, rows: &Rows) -> Vec<Table> {
        let series = self.series();
        let mut head = vec!["time limit".to_owned()];
        head.extend(series.iter().map(|it| it.name.to_owned()));
        let title = if self.is_normalized {
            "Milliseconds over the square of the average number of values inside, at the median number of steps."
        } else {
            "Steps: least, quartiles, most; * if all histories were finished."
        };
        let mut table = Table { title: title.to_owned(), head, lines: Vec::new() };
        for (at, point) in rows.points().iter().enumerate() {
            let mut line = vec![point.label.clone()];
            for it in &series {
                let of = |measure: &str| quantiles(rows.values(at, it.name, measure));
                line.push(match (self.is_normalized, of("steps")) {
                    (_, None) => "-".to_owned(),
                    (false, Some(steps)) => {
                        let is_all = rows.values(at, it.name, "all").all(|all| all > 0.0);
                        let mark = if is_all && rows.sum(at, it.name, "all") > 0.0 { "*" } else { "" };
                        format!("{}{mark}", steps.map(|steps| format!("{steps:.0}")).join(" "))
                    }
                    (true, Some(steps)) => match (of("time"), of("capacity")) {
                        (Some(time), Some(capacity)) => {
                            format!("{:.0}: {:.3}", steps[2], time[2] * 1e3 / capacity[2].powi(2))
                        }
                        _ => "-".to_owned(),
                    },
                });
            }
            table.line(line);
        }
        vec![table]
    }

    fn plots(&self, rows: &Rows) -> Vec<Plot> {
        let count = rows.points().len() / LIMITS.len();
        let series = self.series();
        let plot = |source: usize| {
            let points = source * LIMITS.len()..(source + 1) * LIMITS.len();
            let name = rows.points()[points.start].label.split(',').next().unwrap_or_default();
            let title = format!("MR {}: {name}", self.about().figure);
            if self.is_normalized {
                let line = |it: &Series| {
                    let mut dots = Vec::new();
                    for at in points.clone() {
                        let (steps, times) = (rows.values(at, it.name, "steps"), rows.values(at, it.name, "time"));
                        let capacities = rows.values(at, it.name, "capacity");
                        let steps = steps.filter(|&steps| steps > 0.0);
                        dots.extend(steps.zip(times.zip(capacities)).map(|(s, (t, c))| (s, t / (c * c))));
                    }
                    Line { name: it.name.to_owned(), points: dots, is_ours: it.role == Role::Ours }
                };
                let form = Form::Points(Axis::logarithmic("steps"), series.iter().map(line).collect());
                return Plot { title, y: Axis::logarithmic("seconds / capacity squared"), form };
            }
            let groups = points.clone().map(|at| format!("{} s", rows.points()[at].x)).collect();
            let boxes = |it: &Series| Group {
                name: it.name.to_owned(),
                values: points.clone().map(|at| quantiles(rows.values(at, it.name, "steps"))).collect(),
            };
            Plot::boxes(&title, Axis::logarithmic("steps"), groups, series.iter().map(boxes).collect())
        };
        (0..count).map(plot).collect()
    }
}
