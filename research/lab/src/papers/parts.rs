//! Why the claims of wSC and GCC do not all hold here: where the time of their algorithms goes. The papers have no such
//! experiments. The histories are those of the figures, with the same seeds.

use std::time::{Duration, Instant};

use baseline::literal::{self, Algorithm};
use memory::Budget;

use super::contenders::{literal, weaker};
use super::histories::{LOCATIONS, Sample, Shape, Source, WRITES};
use crate::plot::{Axis, Group, Line, Plot};
use crate::table::{self, Table, milliseconds, percent};
use crate::timing::{Contender, Outcome, take_turns};
use crate::{About, Experiment, Judgement, Measured, Point, Role, Rows, Scale, Series, Task, mean};

const LIMIT: [Duration; 2] = [Duration::from_secs(2), Duration::from_millis(200)];
const NO_CLAIM: &str = "The paper has no such experiment.";

fn other(name: &'static str) -> Series {
    Series { name, role: Role::Other }
}

/// What all settings have in common.
fn common(scale: &Scale) -> String {
    format!(
        "{LOCATIONS} variables; {WRITES}% writes; histories of an atomic memory, of MI, MOESI Hammer, MESI Two Level \
         and MOESI AMD in turn; time limit {:?}.",
        scale.limit(LIMIT[0], LIMIT[1])
    )
}

/// The parts of wSC+ENUM, on the histories of Figure 6.
pub(super) struct Saturation;

const WSC: &str = "wSC alone";
const CCM: &str = "CCM alone";
const DBCOP: &str = "DBCOP";
const WRITTEN: &str = "wSC, and clauses written";
const ENUM: &str = "wSC+ENUM";

/// wSC+ENUM without the solver.
fn written(sample: &Sample) -> Contender<'_> {
    Contender::new(WRITTEN, |budget| match literal::formula(&sample.execution, budget) {
        Ok(_) => Outcome::Passed,
        Err(_) => Outcome::Undecided,
    })
}

impl Experiment for Saturation {
    fn about(&self) -> About {
        About {
            name: "wsc-parts",
            paper: "wSC",
            figure: "parts",
            title: "Where the time goes on the histories of Figure 6: saturation alone, and clauses.",
            claim: NO_CLAIM,
            points: "operations",
            remarks: "Nothing is compared with Seriatim here, so there is no certificate.",
        }
    }

    fn series(&self) -> Vec<Series> {
        [WSC, CCM, DBCOP, WRITTEN, ENUM].map(other).to_vec()
    }

    fn points(&self, scale: &Scale) -> Vec<Point> {
        (2..=scale.either(8, 3)).map(|hundreds| Point::number(100 * hundreds, scale.samples(50, 2))).collect()
    }

    fn measure(&self, task: &Task<'_>) -> Measured {
        let shape = Shape::new(6, 200 + 100 * task.point as u32);
        let sample = Source::of_sample(task.sample / 2).valid(&shape, task.seed())?;
        let mut contenders = vec![
            weaker(WSC, Algorithm::Wsc, &sample),
            weaker(CCM, Algorithm::Ccm, &sample),
            literal(DBCOP, Algorithm::Dbcop, &sample),
            written(&sample),
            literal(ENUM, Algorithm::WscEnum, &sample),
        ];
        let (mut rows, _) = take_turns(task, task.scale.limit(LIMIT[0], LIMIT[1]), &mut contenders)?;
        if let Ok(Some(size)) = literal::formula(&sample.execution, &Budget::UNLIMITED) {
            rows.push(task.row(WRITTEN, "variables", size.variables as f64));
            rows.push(task.row(WRITTEN, "clauses", size.clauses as f64));
        }
        Ok(rows)
    }

    fn judge(&self, rows: &Rows) -> Judgement {
        let ms = |at, name| rows.mean(at, name, "seconds").unwrap_or(f64::NAN) * 1e3;
        let last = rows.points().len() - 1;
        let told = |at: usize| {
            format!(
                "at {} operations wSC alone takes {:.2} ms and DBCOP {:.2} ms; of the {:.1} ms of wSC+ENUM, writing \
                 {:.0} clauses takes {:.1} ms",
                rows.points()[at].label,
                ms(at, WSC),
                ms(at, DBCOP),
                ms(at, ENUM),
                rows.mean(at, WRITTEN, "clauses").unwrap_or(0.0),
                ms(at, WRITTEN) - ms(at, WSC)
            )
        };
        Judgement::without_claim(format!("{}; {}", told(0), told(last)))
    }

    fn setting(&self, scale: &Scale) -> String {
        format!("6 threads; {}", common(scale))
    }

    fn tables(&self, rows: &Rows) -> Vec<Table> {
        let mut table = table::seconds(&self.about(), &self.series(), rows);
        table.head.extend(["open pairs of events", "clauses"].map(str::to_owned));
        for (at, line) in table.lines.iter_mut().enumerate() {
            let count =
                |measure| rows.mean(at, WRITTEN, measure).map_or_else(|| "-".to_owned(), |it| format!("{it:.0}"));
            line.extend(["variables", "clauses"].map(count));
        }
        vec![table]
    }
}

/// Where CCM stops, on the violations of Figure 9.
pub(super) struct Stops;

/// Where CCM stops: at `cc`, at `ccv`, at its own relations, or nowhere.
const STOPS: [&str; 4] = ["CC", "CCv", "CCM", "nowhere"];

impl Experiment for Stops {
    fn about(&self) -> About {
        About {
            name: "wsc-stops",
            paper: "wSC",
            figure: "stops of CCM",
            title: "The violations of Figure 9: which of CC, CCv and CCM fails first, and what it takes until then.",
            claim: NO_CLAIM,
            points: "threads",
            remarks: "Nothing is compared with Seriatim here, so there is no certificate.",
        }
    }

    fn series(&self) -> Vec<Series> {
        ["wSC", "CCM"].map(other).to_vec()
    }

    fn points(&self, scale: &Scale) -> Vec<Point> {
        (1..=scale.either(4, 3)).map(|it| Point::number(4 * it, scale.samples(100, 4))).collect()
    }

    fn measure(&self, task: &Task<'_>) -> Measured {
        let threads = 4 + 4 * task.point as u32;
        let shape = Shape::new(threads, 50 * threads);
        let (sample, _) = Source::of_sample(task.sample).violating(&shape, task.scale.distance, task.seed())?;
        let mut contenders = vec![weaker("wSC", Algorithm::Wsc, &sample), weaker("CCM", Algorithm::Ccm, &sample)];
        let (mut rows, _) = take_turns(task, task.scale.limit(LIMIT[0], LIMIT[1]), &mut contenders)?;
        let fails = |algorithm: Algorithm| algorithm.decide(&sample.execution, &Budget::UNLIMITED) == Ok(false);
        let stop = [Algorithm::Cc, Algorithm::Ccv, Algorithm::Ccm].into_iter().position(fails).unwrap_or(3);
        let of = |rows: &[crate::Row], name: &str| {
            rows.iter().find(|row| row.series == name && row.measure == "seconds").map_or(0.0, |row| row.value)
        };
        let (wsc, ccm) = (of(&rows, "wSC"), of(&rows, "CCM"));
        rows.extend([task.row(STOPS[stop], "CCM", ccm), task.row(STOPS[stop], "wSC", wsc)]);
        Ok(rows)
    }

    fn judge(&self, rows: &Rows) -> Judgement {
        let all: usize = STOPS.iter().map(|name| rows.everywhere(name, "CCM").count()).sum();
        let told = STOPS.iter().filter_map(|name| {
            let count = rows.everywhere(name, "CCM").count() as f64;
            let ms = |measure| Some(milliseconds(mean(rows.everywhere(name, measure))?));
            let share = percent(count / all.max(1) as f64);
            let place = if *name == STOPS[3] { (*name).to_owned() } else { format!("at {name}") };
            Some(format!("{share} {place} ({} ms, wSC {} ms)", ms("CCM")?, ms("wSC")?))
        });
        Judgement::without_claim(format!("CCM stops in {}", told.collect::<Vec<_>>().join(", ")))
    }

    fn setting(&self, scale: &Scale) -> String {
        format!(
            "only violations: 1 to 4 reads return another value, at most {} writes away; {}",
            scale.distance,
            common(scale)
        )
    }

    fn tables(&self, rows: &Rows) -> Vec<Table> {
        let mut table = Table::new(
            "Where CCM stops: the share of the violations, and the milliseconds of CCM and of wSC on them.",
            &["threads", STOPS[0], STOPS[1], STOPS[2], STOPS[3]],
        );
        for (at, point) in rows.points().iter().enumerate() {
            let mut line = vec![point.label.clone()];
            line.extend(STOPS.map(|name| {
                let count = rows.values(at, name, "CCM").count();
                let ms = |measure| rows.mean(at, name, measure).map_or_else(|| "-".to_owned(), milliseconds);
                let share = percent(count as f64 / f64::from(point.samples));
                if count == 0 { share } else { format!("{share}: {}, {}", ms("CCM"), ms("wSC")) }
            }));
            table.line(line);
        }
        vec![table]
    }

    fn plots(&self, rows: &Rows) -> Vec<Plot> {
        let groups = rows.points().iter().map(|point| format!("{} threads", point.label)).collect();
        let bars = |name: &str| Group {
            name: name.to_owned(),
            values: (0..rows.points().len()).map(|at| rows.mean(at, name, "CCM")).collect(),
        };
        let axis = Axis::logarithmic("seconds of CCM until it stops, average");
        vec![Plot::bars("wSC: where CCM stops", axis, groups, STOPS.map(bars).to_vec())]
    }
}

/// What SC-CCM+Enum tries, on the histories of Figure 4a.
pub(super) struct Tried;

impl Experiment for Tried {
    fn about(&self) -> About {
        About {
            name: "gcc-tried",
            paper: "GCC",
            figure: "choices tried",
            title: "The histories of Figure 4a: how many pairs are open, and which choices SC-CCM+Enum tries.",
            claim: NO_CLAIM,
            points: "operations",
            remarks: "Nothing is compared with Seriatim here, so there is no certificate.",
        }
    }

    fn series(&self) -> Vec<Series> {
        vec![other("SC-CCM+Enum")]
    }

    fn points(&self, scale: &Scale) -> Vec<Point> {
        (1..=scale.either(5, 3)).map(|hundreds| Point::number(100 * hundreds, scale.samples(50, 3))).collect()
    }

    fn measure(&self, task: &Task<'_>) -> Measured {
        let shape = Shape::new(4, 100 + 100 * task.point as u32);
        let sample = Source::of_sample(task.sample).valid(&shape, task.seed())?;
        let limit = task.scale.limit(LIMIT[0], LIMIT[1]);
        let start = Instant::now();
        let Ok(tried) = literal::tried(&sample.execution, &Budget::default().until(Some(start + limit))) else {
            return Err("the partial store order takes longer than the limit".to_owned());
        };
        let seconds = start.elapsed().min(limit).as_secs_f64();
        let (effort, is_decided) = tried.ok_or("a valid history is refused")?;
        let row = |measure, value| task.row(if is_decided { "decided" } else { "not decided" }, measure, value);
        Ok(vec![
            task.row("SC-CCM+Enum", "seconds", seconds),
            row("pairs", effort.pairs as f64),
            row("choices", effort.choices as f64),
            row("most", effort.most as f64),
            row("kept", effort.kept as f64),
        ])
    }

    fn judge(&self, rows: &Rows) -> Judgement {
        let of = |name, measure| mean(rows.everywhere(name, measure)).unwrap_or(0.0);
        let open = "not decided";
        Judgement::without_claim(format!(
            "{} histories were not decided: on average it made {:.0} choices in them, had up to {:.0} of {:.0} pairs \
             chosen at once, and in the second half of its choices never came back to the first {:.0}",
            rows.everywhere(open, "pairs").count(),
            of(open, "choices"),
            of(open, "most"),
            of(open, "pairs"),
            of(open, "kept")
        ))
    }

    fn setting(&self, scale: &Scale) -> String {
        format!("4 processors; {}", common(scale))
    }

    fn tables(&self, rows: &Rows) -> Vec<Table> {
        let head =
            ["operations", "histories", "open pairs", "choices made", "chosen at once, at most", "not chosen again"];
        let mut table = Table::new("Averages over the histories that it decides, and over the others.", &head);
        for (at, point) in rows.points().iter().enumerate() {
            for kind in ["decided", "not decided"] {
                let count = rows.values(at, kind, "pairs").count();
                if count > 0 {
                    let of = |measure| format!("{:.0}", rows.mean(at, kind, measure).unwrap_or(0.0));
                    let mut line = vec![format!("{}, {kind}", point.label), count.to_string()];
                    line.extend(["pairs", "choices", "most", "kept"].map(of));
                    table.line(line);
                }
            }
        }
        vec![table]
    }

    fn plots(&self, rows: &Rows) -> Vec<Plot> {
        let line = |name: &str| Line {
            name: name.to_owned(),
            points: (0..rows.points().len())
                .filter_map(|at| Some((rows.points()[at].x, rows.mean(at, name, "choices")?)))
                .collect(),
            is_ours: false,
        };
        let lines = ["decided", "not decided"].map(line).to_vec();
        let y = Axis::logarithmic("choices made, average");
        vec![Plot::lines("GCC: choices of SC-CCM+Enum", Axis::linear("operations"), y, lines)]
    }
}
