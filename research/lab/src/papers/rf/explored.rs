//! Tables 1 and 3: model checking.
//!
//! TruSt enumerates executions, and asks for each that is complete whether it is consistent. RF changed the algorithm
//! that answers, and nothing else. So here `explore` visits the executions of a program, and a checker is asked about
//! each complete one, from scratch. `explore` itself visits only consistent executions: it has its own incremental
//! check, which takes the place of TruSt's simpler ones. The time of a visit is measured without any check; the time of
//! a check on the executions that were visited, all checkers on the same ones, without the step from the graph to the
//! list of events. How many executions are explored within a time limit is counted, in an exploration for each checker
//! that asks it about every complete one. So the whole cost of exploration counts for every checker.

use std::time::{Duration, Instant};

use baseline::ra::printed::{Text, algorithm3};
use explore::{Builder, DataAccess, ExplorationEnding};
use history::{Execution, History};
use memory::c11::C11Checker;
use model::{Certificate, Model, Verdict};

use super::history;
use super::programs::EXPLORED;
use crate::plot::{Axis, Group, Plot};
use crate::table::{Table, milliseconds, ratio};
use crate::timing::{PATIENCE, Stopwatch};
use crate::{About, Experiment, Judgement, Measured, Point, Role, Rows, Scale, Series, Task, geometric_mean};

/// RF's algorithm.
const OWN: &str = "Algorithm 3";
/// What RF compares with: the cubic algorithm. Besides, one that keeps an order closed.
const CUBIC: &str = "writes-before (TruSt)";
const CLOSED: &str = "closed order";

/// The time limit of an exploration whose executions are counted. The paper has two hours.
const LIMIT: [Duration; 2] = [Duration::from_secs(60), Duration::from_millis(20)];

const OF_TABLE_1: &str = "\
    Why: the number of executions grows only a little, because on most programs a visit of our explorer takes longer \
    than a cubic check (see the column of a visit): the check is no bottleneck here. In the paper a check took up to \
    1.6 s. The cubic construction here works location by location, on matrices of bits.

    With a certificate, the checker makes the modification orders of all locations, and hashes the history. The \
    algorithms of the paper make none.";

/// One of the two tables.
pub(super) struct Explored {
    model: Model,
    program_model: explore::Model,
    about: About,
}

pub(super) const RELEASE_ACQUIRE: Explored = Explored {
    model: Model::Ra,
    program_model: explore::Model::Ra,
    about: About {
        name: "rf-table1",
        paper: "RF",
        figure: "Table 1",
        title: "25 programs, explored under ra: the time of a check, and the complete executions in a time limit.",
        claim: "A check is always faster than the cubic one, up to 162 times, 36 times on (geometric) average; up to \
                71.6 times, on average 4.3 times as many executions are explored.",
        points: "program",
        remarks: OF_TABLE_1,
    },
};

pub(super) const WITH_RELAXED: Explored = Explored {
    model: Model::Rc20,
    program_model: explore::Model::Rc20,
    about: About {
        name: "rf-table3",
        figure: "Table 3",
        title: "The same programs with relaxed accesses, explored under rc20.",
        claim: "The same holds with relaxed accesses: checks are up to 80.5 times as fast as the cubic one, and up to \
                71.6 times as many executions are explored.",
        remarks: "Why: as in Table 1.",
        ..RELEASE_ACQUIRE.about
    },
};

/// An execution to be checked, and its history.
type Kept = (Execution, History);

/// What an exploration gave.
struct Visited {
    /// Seconds a visit.
    seconds: f64,
    /// How large the program was.
    rounds: usize,
    kept: Vec<Kept>,
    has_finding: bool,
}

impl Explored {
    /// Explores a program. It is made smaller until complete executions are found in time.
    fn visit(&self, scale: &Scale, point: usize) -> Visited {
        // The programs of the paper are larger than those of the quick run, by the times that it gives.
        let mut rounds = EXPLORED[point].rounds * scale.either(8, 1);
        loop {
            let visited = self.visit_with(scale, point, rounds);
            if !visited.kept.is_empty() || rounds == 1 {
                return visited;
            }
            rounds /= 2;
        }
    }

    fn visit_with(&self, scale: &Scale, point: usize, rounds: usize) -> Visited {
        let program = EXPLORED[point];
        let most = scale.either(4000, 300);
        let wanted = scale.either(60, 10);
        let time = scale.either(Duration::from_secs(2), Duration::from_millis(250));
        let builder = Builder {
            model: self.program_model,
            max_executions: Some(most),
            max_steps: u32::MAX,
            deadline: Some(Instant::now() + time),
            ..Builder::new()
        };
        let (mut visits, mut kept, mut outside) = (0_u64, Vec::new(), Duration::ZERO);
        let start = Stopwatch::start();
        let verdict = builder.visit(
            move || program.run(rounds),
            |graph, ending| {
                visits += 1;
                // Those kept are spread over the exploration.
                if ending == ExplorationEnding::Complete
                    && (kept.len() < wanted / 2 || visits.is_multiple_of(most / wanted as u64))
                {
                    let begin = Stopwatch::start();
                    let accesses = graph.accesses();
                    kept.push((DataAccess::execution(&accesses), history(&accesses)));
                    outside += begin.elapsed();
                }
            },
        );
        let seconds = start.elapsed().saturating_sub(outside).as_secs_f64() / visits.max(1) as f64;
        Visited { seconds, rounds, kept, has_finding: verdict.finding.is_some() }
    }

    /// How many executions of a program are explored in the time limit, if a checker is asked about each complete one.
    fn count(&self, scale: &Scale, point: usize, rounds: usize, mut check: impl FnMut(&Execution) -> bool) -> u64 {
        let (program, limit) = (EXPLORED[point], scale.limit(LIMIT[0], LIMIT[1]));
        let builder = Builder {
            model: self.program_model,
            max_executions: None,
            max_steps: u32::MAX,
            deadline: Some(Instant::now() + limit * PATIENCE),
            ..Builder::new()
        };
        let mut allowed = 0;
        let start = Stopwatch::start();
        builder.visit(
            move || program.run(rounds),
            |graph, ending| {
                if ending == ExplorationEnding::Complete && start.elapsed() <= limit {
                    allowed += u64::from(check(&DataAccess::execution(&graph.accesses())));
                }
            },
        );
        allowed
    }
}

/// The average seconds of a check, over as many executions as fit into the time; all must be allowed.
fn average(kept: &[Kept], time: Duration, mut check: impl FnMut(&Kept) -> bool) -> Result<f64, String> {
    let (mut count, mut sum) = (0_u32, Duration::ZERO);
    for it in kept {
        let mut least = Duration::MAX;
        for _ in 0..3 {
            let start = Stopwatch::start();
            if !check(it) {
                return Err("an execution that was explored is not allowed".to_owned());
            }
            least = least.min(start.elapsed());
            if least > Duration::from_millis(50) {
                break;
            }
        }
        sum += least;
        count += 1;
        if sum > time {
            break;
        }
    }
    Ok((sum.as_secs_f64() / f64::from(count.max(1))).max(1e-9))
}

impl Experiment for Explored {
    fn about(&self) -> About {
        self.about
    }

    fn series(&self) -> Vec<Series> {
        let baselines = [CUBIC, CLOSED].map(|name| Series { name, role: Role::Other });
        [&baselines[..], &[Series::paper(OWN)], &Series::OURS].concat()
    }

    fn points(&self, _: &Scale) -> Vec<Point> {
        let point = |(at, program): (u32, &super::programs::Program)| Point {
            label: program.name.to_owned(),
            x: at.into(),
            samples: 1,
            weight: 1,
        };
        (0..).zip(&EXPLORED).map(point).collect()
    }

    fn measure(&self, task: &Task<'_>) -> Measured {
        let visited = self.visit(task.scale, task.point);
        if visited.kept.is_empty() {
            return Err("no complete execution was found in time".to_owned());
        }
        let time = task.scale.either(Duration::from_millis(400), Duration::from_millis(40));
        let kept = &visited.kept[..];
        let mut checker = C11Checker::new();
        let certify = |(execution, history): &Kept| {
            let options = memory::MemoryOptions { witness: true, ..memory::MemoryOptions::default() };
            let decision = memory::check(self.model, execution, &options);
            Certificate::new(0, history, self.model, &decision)
        };
        let is_certified = |it: &Kept| certify(it).is_some_and(|it| it.verdict == Verdict::Consistent);
        let seconds = [
            (CUBIC, average(kept, time, |it| baseline::ra::writes_before(&it.0, self.model))?),
            (CLOSED, average(kept, time, |it| baseline::ra::closed_order(&it.0, self.model))?),
            (OWN, average(kept, time, |it| algorithm3(&it.0, self.model, Text::Corrected))?),
            (Series::OURS[0].name, average(kept, time, |it| checker.allows(self.model, &it.0) == Ok(true))?),
            (Series::OURS[1].name, average(kept, time, is_certified)?),
        ];
        for it in kept {
            let certificate = certify(it).ok_or("an execution has no certificate")?;
            verify::verify(&certificate, &it.1).map_err(|refusal| refusal.to_string())?;
        }
        let events = kept.iter().map(|it| it.0.len()).sum::<usize>() as f64 / kept.len() as f64;
        let mut rows = vec![
            task.row("", "events", events),
            task.row("", "visit", visited.seconds),
            task.row("", "finding", f64::from(u8::from(visited.has_finding))),
        ];
        rows.extend(seconds.map(|(name, seconds)| task.row(name, "seconds", seconds)));
        let count = |check: &mut dyn FnMut(&Execution) -> bool| {
            self.count(task.scale, task.point, visited.rounds, check) as f64
        };
        let model = self.model;
        rows.extend([
            task.row(CUBIC, "executions", count(&mut |it| baseline::ra::writes_before(it, model))),
            task.row(OWN, "executions", count(&mut |it| algorithm3(it, model, Text::Corrected))),
            task.row(Series::OURS[0].name, "executions", count(&mut |it| checker.allows(model, it) == Ok(true))),
        ]);
        Ok(rows)
    }

    fn judge(&self, rows: &Rows) -> Judgement {
        let of = |point, name, measure| rows.mean(point, name, measure).unwrap_or(f64::NAN);
        let ours = Series::OURS[0].name;
        let ratios = |measure: &'static str, one: &'static str, other: &'static str| {
            let points = 0..rows.points().len();
            let ratios = points.map(|point| of(point, one, measure) / of(point, other, measure));
            // Where no execution was counted there is no ratio.
            ratios.filter(|it| it.is_finite() && *it > 0.0).collect::<Vec<f64>>()
        };
        let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        let mean = |values: &[f64]| geometric_mean(values.iter().copied()).unwrap_or(f64::NAN);
        let (cubic, own) = (ratios("seconds", CUBIC, OWN), ratios("seconds", OWN, ours));
        let executions = ratios("executions", OWN, CUBIC);
        Judgement::of(&[
            (
                cubic.iter().all(|&it| it > 1.0),
                format!(
                    "Algorithm 3 is up to {} times as fast as the cubic check, {} on average",
                    ratio(most(&cubic)),
                    ratio(mean(&cubic))
                ),
            ),
            (
                own.iter().all(|&it| it > 1.0),
                format!(
                    "Seriatim is up to {} times as fast as Algorithm 3, {} on average",
                    ratio(most(&own)),
                    ratio(mean(&own))
                ),
            ),
            (
                mean(&executions) >= 2.0,
                format!(
                    "up to {} times as many executions, {} on average",
                    ratio(most(&executions)),
                    ratio(mean(&executions))
                ),
            ),
        ])
    }

    fn setting(&self, scale: &Scale) -> String {
        format!(
            "programs after the literature, in Rust (RF does not say how many events its own have); the times of a \
             visit and of a check are averages over up to {} executions; complete executions are counted in an \
             exploration of {:?} for each checker. A program with a mark stopped at a finding.",
            scale.either(60, 10),
            scale.limit(LIMIT[0], LIMIT[1])
        )
    }

    fn tables(&self, rows: &Rows) -> Vec<Table> {
        let series = self.series();
        let mut head = vec!["program".to_owned(), "events".to_owned()];
        head.extend(series.iter().map(|it| it.name.to_owned()));
        head.extend(["best of the paper / seriatim", "with certificate", "a visit"].map(str::to_owned));
        head.extend([CUBIC, OWN, "seriatim"].map(|name| format!("executions, {name}")));
        head.push("ratio".to_owned());
        let mut table = Table {
            title: "Milliseconds a check, and a visit of the explorer without any check; complete executions in the \
                    time limit."
                .to_owned(),
            head,
            lines: Vec::new(),
        };
        for (at, point) in rows.points().iter().enumerate() {
            let of = |name: &str, measure: &str| rows.mean(at, name, measure).unwrap_or(f64::NAN);
            let mark = if of("", "finding") > 0.0 { "†" } else { "" };
            let mut line = vec![format!("{}{mark}", point.label), format!("{:.0}", of("", "events"))];
            line.extend(series.iter().map(|it| milliseconds(of(it.name, "seconds"))));
            let best = series.iter().filter(|it| it.role == Role::Paper).map(|it| of(it.name, "seconds"));
            let best = best.fold(f64::INFINITY, f64::min);
            line.extend(Series::OURS.map(|it| ratio(best / of(it.name, "seconds"))));
            line.push(milliseconds(of("", "visit")));
            line.extend([CUBIC, OWN, "seriatim"].map(|name| format!("{:.0}", of(name, "executions"))));
            let more = Some(of(OWN, "executions") / of(CUBIC, "executions")).filter(|it| it.is_finite());
            line.push(more.map_or_else(|| "-".to_owned(), ratio));
            table.line(line);
        }
        vec![table]
    }

    fn plots(&self, rows: &Rows) -> Vec<Plot> {
        let group = |series: Series| Group {
            name: series.name.to_owned(),
            values: (0..rows.points().len())
                .map(|at| rows.mean(at, series.name, "seconds").map(|seconds| seconds * 1e6))
                .collect(),
        };
        let names = rows.points().iter().map(|point| point.label.clone()).collect();
        vec![Plot::bars(
            &format!("RF {}: a check", self.about.figure),
            Axis::logarithmic("microseconds"),
            names,
            self.series().into_iter().map(group).collect(),
        )]
    }
}
