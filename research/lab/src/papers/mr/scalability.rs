//! Figures 12 and 13: how many steps a checker goes through within time limits, on histories of Michael and Scott's
//! queue.
//!
//! A step is a return, at which the checker says whether the history so far is still possible. The limits of the paper
//! (5, 25, 50, 75 and 100 s) are scaled by a factor. The column `seriatim` is the exact monitor of `monitor`, which
//! answers the same question at each return; it is exact where SATURATE is silent. A monitor makes no witness. Who
//! wants a certificate lets the checker make that of the recorded history at the end. So with a certificate, every step
//! is later by the time that the certificate of the whole history takes. Figure 13 has the same measurement, with time
//! divided by the square of the average number of values inside.

use std::collections::HashMap;
use std::time::Duration;

use baseline::refinement::{Options, Step, invocation, monitor as new_monitor};
use history::event::{Action, ProcessEvent};
use history::{History, HistoryEvent, Object, Value};
use monitor::linearizable::OnlineAlgorithm;
use monitor::{Linearizable, Monitor, Progress};
use object::{Budget, Call, Endpoint, ObjectHistory, Part, ValueId};

use super::runs::Run;
use super::structures::STRUCTURES;
use super::{CERTIFIED, ENTRANTS, Entrant, OURS, certificate, originals, read, series};
use crate::plot::{Axis, Form, Group, Line, Plot};
use crate::table::{Table, advantage, percent, ratio};
use crate::timing::{PATIENCE, Stopwatch};
use crate::{About, Experiment, Judgement, Measured, Point, Role, Row, Rows, Scale, Series, Task, quantiles};

/// The limits of the paper, in seconds.
const LIMITS: [u32; 5] = [5, 25, 50, 75, 100];

const OF_FIGURE_12: &str = "\
    Why: the claim holds on our queue. On the paper's own histories ENUMERATE goes farther than SYMBOLIC and \
    SATURATE without removal. There, as many operations are open as in ours, and more values are inside, but none \
    overtakes another, as far as values show. So operations take effect in the order of their calls. This is the \
    order that ENUMERATE tries first, and it hardly ever has to go back. On our queue, many operations overtake \
    others. The ENUMERATE of the paper tests whole linearizations with Z3, one after the other; ours gives a wrong \
    one up early.

    The ratios are of the time of a step, on average over the steps within the limit. To read the clock of the \
    processor after each step takes longer than a step of Seriatim. So the ratios are too small.";

const OF_FIGURE_13: &str = "\
    Why: the claim holds for SATURATE with removal, not without. Without removal, our SATURATE keeps the order of \
    all operations so far closed. In a profile, that is 83% of its time, and it grows with each step. The paper \
    explains its own linear curve by histories with few matches; ours have as many removals as insertions. On the \
    paper's own histories ENUMERATE and SYMBOLIC are not slow, for the reason that Figure 12 has. The clock is in the \
    ratios here, too.";

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

/// How many other operations are open at a return, on average.
fn overlap(part: &Part<'_>) -> f64 {
    let (mut open, mut sum, mut returns) = (0_u64, 0, 0_u64);
    for event in part.events() {
        match event {
            Endpoint::Nothing => {}
            Endpoint::Call(_) => open += 1,
            Endpoint::Return(_) => {
                open -= 1;
                sum += open;
                returns += 1;
            }
        }
    }
    sum as f64 / returns.max(1) as f64
}

/// Of the overlapping pairs of insertions, and of removals: in which part the operation that was called later took
/// effect first, as the values show beyond doubt.
fn overtaken(part: &Part<'_>) -> f64 {
    let is_insert = |call: &&Call| call.argument.is_index();
    let inserts: Vec<&Call> = part.calls.iter().filter(is_insert).collect();
    let removes: Vec<&Call> = part.calls.iter().filter(|it| !is_insert(it) && it.result.is_index()).collect();
    let partners = |calls: &[&Call], value: fn(&Call) -> ValueId| -> HashMap<ValueId, [u32; 2]> {
        calls.iter().map(|it| (value(it), [it.call, it.ret])).collect()
    };
    let (mut pairs, mut overtaken) = (0_u64, 0_u64);
    let mut count = |calls: &[&Call], value: fn(&Call) -> ValueId, partners: &HashMap<ValueId, [u32; 2]>| {
        for (at, first) in calls.iter().enumerate() {
            for second in calls[at + 1..].iter().take_while(|second| second.call < first.ret) {
                if let (Some(first), Some(second)) = (partners.get(&value(first)), partners.get(&value(second))) {
                    pairs += 1;
                    overtaken += u64::from(second[1] < first[0]);
                }
            }
        }
    };
    count(&inserts, |it| it.argument, &partners(&removes, |it| it.result));
    count(&removes, |it| it.result, &partners(&inserts, |it| it.argument));
    overtaken as f64 / pairs.max(1) as f64
}

/// Lets a checker of the paper run.
fn follow(part: &Part<'_>, entrant: Entrant, limit: Duration) -> Result<Vec<f64>, String> {
    let begin = Stopwatch::start();
    let budget = Budget::default().timeout(limit * PATIENCE);
    let options = Options { remove_matches: entrant.remove_matches, budget };
    let mut monitor = new_monitor(part, entrant.checker, options)?;
    let mut times = Vec::new();
    for event in part.events() {
        match event {
            Endpoint::Nothing => {}
            Endpoint::Call(at) => monitor.call(at, invocation(&part.calls[at as usize])),
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
    let mut monitor = Linearizable::new(Object::Queue, OnlineAlgorithm::Auto).map_err(|error| error.to_string())?;
    let begin = Stopwatch::start();
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
        let progress = monitor.push(ProcessEvent { process, action }).map_err(|violation| violation.to_string())?;
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
                    steps); removal of matches helps both (SATURATE to 1,303 in under 5 s).",
            points: "time limit",
            remarks: OF_FIGURE_12,
        };
        if !self.is_normalized {
            return steps;
        }
        About {
            name: "mr-fig13",
            figure: "Figure 13",
            title: "The same histories: time over the square of the average number of values inside, against steps.",
            claim: "So divided, SATURATE grows in proportion to the steps; ENUMERATE and SYMBOLIC do not.",
            remarks: OF_FIGURE_13,
            ..steps
        }
    }

    fn series(&self) -> Vec<Series> {
        series(entrants())
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
        let mut rows = vec![task.row("", "overlap", overlap(&part))];
        rows.push(task.row("", "overtaken", overtaken(&part)));
        rows.extend(capacities.last().map(|&all| task.row("", "inside", all)));
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
        let mut times = watch(&history, longest)?;
        note(OURS, &times);
        let begin = Stopwatch::start();
        let certificate = certificate(&history, &view).ok_or("a history has no certificate")?;
        let later = begin.elapsed().as_secs_f64();
        verify::verify(&certificate, &history).map_err(|refusal| refusal.to_string())?;
        for time in &mut times {
            *time += later;
        }
        note(CERTIFIED, &times);
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
             each history once. `seriatim` is the exact monitor. With a certificate, each step is later by the time \
             of the certificate of the whole history, which the checker makes at the end.{}",
            factor(scale),
            if sources(scale).len() > 1 { " The paper's own histories beside ours." } else { "" }
        )
    }

    fn tables(&self, rows: &Rows) -> Vec<Table> {
        let series = self.series();
        let mut head = vec!["time limit".to_owned()];
        head.extend(series.iter().map(|it| it.name.to_owned()));
        head.extend(["best of the paper / seriatim", "with certificate"].map(str::to_owned));
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
            line.extend(
                [Role::Ours, Role::OursCertified]
                    .map(|role| advantage(&series, rows, at, role).map_or_else(|| "-".to_owned(), ratio)),
            );
            table.line(line);
        }
        if self.is_normalized {
            return vec![table];
        }
        let head = ["histories", "other operations open at a return", "values inside", "overtaken while open"];
        let mut histories = Table::new("What the histories are like, on average.", &head);
        for (at, point) in rows.points().iter().enumerate() {
            if let (Some(overlap), Some(inside)) = (rows.mean(at, "", "overlap"), rows.mean(at, "", "inside")) {
                let source = point.label.split(',').next().unwrap_or_default().to_owned();
                let overtaken = percent(rows.mean(at, "", "overtaken").unwrap_or(0.0));
                histories.line(vec![source, format!("{overlap:.2}"), format!("{inside:.1}"), overtaken]);
            }
        }
        vec![table, histories]
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
                    Line { name: it.name.to_owned(), points: dots, is_ours: it.role != Role::Paper }
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
