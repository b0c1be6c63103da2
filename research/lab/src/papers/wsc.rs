//! wSC: *Boosting Sequential Consistency Checking using Saturation*, section 6, Figures 6 to 9. ([`super::kernel`] has
//! the kernels.)

use baseline::literal::Algorithm;
use model::Model;

use super::contenders::{decided, fastest, is_faster, literal, ours, series, told, weaker};
use super::histories::{LOCATIONS, Shape, Source, WRITES};
use crate::plot::{Axis, Group, Plot};
use crate::table::{Table, percent, ratio};
use crate::timing::{Limit, take_turns};
use crate::{About, Experiment, Judgement, Measured, Point, Rows, Scale, Series, Task, table};

/// The experiments of the figures.
pub(super) fn all() -> Vec<Box<dyn Experiment>> {
    vec![
        Box::new(Times::Operations),
        Box::new(Times::Threads),
        Box::new(Times::HalfViolations),
        Box::new(Violations),
        Box::new(Times::Mix),
    ]
}

/// The four algorithms, and wSC+DBCOP once more on the saturation of Seriatim.
const ALGORITHMS: [(&str, Algorithm); 5] = [
    ("wSC+ENUM", Algorithm::WscEnum),
    ("CCM+ENUM", Algorithm::ScCcmSat),
    ("DBCOP", Algorithm::Dbcop),
    ("wSC+DBCOP", Algorithm::WscDbcop),
    ("wSC+DBCOP, lent", Algorithm::WscDbcopLent),
];
const NAMES: [&str; 4] = ["wSC+ENUM", "CCM+ENUM", "DBCOP", "wSC+DBCOP"];
/// The limit of an algorithm, in steps.
const LIMIT: [u64; 2] = [100_000, 10_000];

/// Numbers of variables, and how many of a hundred operations write, for [`Times::Mix`].
const MIXES: [(u32, u32); 7] = [(2, 50), (8, 20), (8, 50), (8, 80), (32, 20), (32, 50), (128, 50)];

const OF_FIGURE_6: &str = "\
    Why: `wsc-parts` has the parts. With rows of bits, a saturation takes less than the search of DBCOP on short \
    histories, and about as long on long ones. So wSC+DBCOP, which needs both and meets fewer dead ends, is the \
    fastest of the paper on short ones, and close to DBCOP on the others. In the paper, saturation took up to \
    seconds. Both ENUM write the axioms that are left as clauses, tens or hundreds of thousands. That takes far \
    longer than the saturation before, so it matters little which saturation it is.";

const OF_MIX: &str = "\
    With few variables, or few writes, DBCOP is the fastest of the paper. Its search meets few dead ends there: 70 on \
    average in 30 histories, against 1,515 with half writes and 65,000 with 80% writes. (A test counts them: \
    `dbcop_meets_dead_ends_where_much_is_written`.)";

const OF_FIGURE_9: &str = "\
    The paper computes the relations of CCM for every history, and so does the column CCM, until one of them has a \
    cycle. The column 'CCM, early exit' looks at CC and CCv first, and stops where one of them fails, as GCC says of \
    its implementation: `wsc-stops` has where. Most violations have a cycle early, so the medians are close. On the \
    few violations that only CCM finds it takes far longer, which the averages show. Both take far less than in the \
    paper, where wSC took up to 8 seconds. The ratio to DBCOP is of the violations that DBCOP decides within the \
    limit, which are the easy ones.";

/// What all settings have in common.
fn common(scale: &Scale, writes: &str) -> String {
    format!(
        "histories of an atomic memory, of MI, MOESI Hammer, MESI Two Level and MOESI AMD in turn; {writes}limit {} \
         steps: 32 moves of DBCOP are one, and a decision of the SAT solver. wSC+DBCOP, lent: the search of DBCOP \
         after the saturation of Seriatim",
        table::count(scale.steps(LIMIT[0], LIMIT[1]))
    )
}

/// The time to decide `sc`.
enum Times {
    /// Figure 6.
    Operations,
    /// Figure 7.
    Threads,
    /// Figure 8.
    HalfViolations,
    /// Not in the paper.
    Mix,
}

impl Times {
    fn shape(&self, point: usize) -> Shape {
        let point = point as u32;
        match self {
            Self::Operations => Shape::new(6, 200 + 100 * point),
            Self::Threads | Self::HalfViolations => Shape::new(4 + 4 * point, 50 * (4 + 4 * point)),
            Self::Mix => {
                let (locations, writes) = MIXES[point as usize];
                Shape { locations, writes, ..Shape::new(6, 300) }
            }
        }
    }
}

impl Experiment for Times {
    fn about(&self) -> About {
        let (name, figure, title, claim, points, remarks) = match self {
            Self::Operations => (
                "wsc-fig6",
                "Figure 6",
                "Valid histories of 6 threads, with more and more operations.",
                "With few threads DBCOP is the fastest; wSC+ENUM is clearly faster than CCM+ENUM.",
                "operations",
                OF_FIGURE_6,
            ),
            Self::Threads => (
                "wsc-fig7",
                "Figure 7",
                "Valid histories of 50 operations a thread, with more and more threads.",
                "DBCOP degrades beyond 8 threads, those with saturation scale; wSC+DBCOP is the fastest, and wSC+ENUM \
                 is faster than CCM+ENUM.",
                "threads",
                "",
            ),
            Self::HalfViolations => (
                "wsc-fig8",
                "Figure 8",
                "Histories of 50 operations a thread, half of them violations.",
                "As in Figure 7.",
                "threads",
                "DBCOP is not asked any more at a point where it left three histories, and half of all, undecided.",
            ),
            Self::Mix => (
                "wsc-mix",
                "variables and mix",
                "Valid histories of 6 threads and 300 operations; variables and share of writes vary.",
                "The paper does not say how many variables there are, nor how many operations write.",
                "variables, writes",
                OF_MIX,
            ),
        };
        About { name, paper: "wSC", figure, title, claim, points, remarks }
    }

    fn series(&self) -> Vec<Series> {
        series(&ALGORITHMS)
    }

    fn points(&self, scale: &Scale) -> Vec<Point> {
        let samples = scale.samples(200, 5);
        match self {
            Self::Operations => {
                (2..=scale.either(8, 4)).map(|hundreds| Point::number(100 * hundreds, samples)).collect()
            }
            Self::Threads | Self::HalfViolations => {
                (1..=scale.either(4, 3)).map(|it| Point::number(4 * it, samples.max(4))).collect()
            }
            Self::Mix => {
                let mixes = &MIXES[..scale.either(MIXES.len(), 4)];
                let point = |(at, (locations, writes)): (usize, &(u32, u32))| Point {
                    label: format!("{locations}, {writes}%"),
                    ..Point::number(at as u32 + 1, scale.samples(50, 3))
                };
                mixes.iter().enumerate().map(point).collect()
            }
        }
    }

    fn measure(&self, task: &Task<'_>) -> Measured {
        let shape = self.shape(task.point);
        let source = Source::of_sample(task.sample / 2);
        // Of two samples of one source, one is a violation.
        let is_violation = matches!(self, Self::HalfViolations) && task.sample % 2 == 1;
        let (sample, tries) = if is_violation {
            source.violating(&shape, task.scale.distance, task.seed())?
        } else {
            (source.valid(&shape, task.seed())?, 0)
        };
        let mut contenders: Vec<_> =
            ALGORITHMS.into_iter().map(|(name, algorithm)| literal(name, algorithm, &sample)).collect();
        contenders.extend(ours(Model::Sc, &sample));
        let (mut rows, allowed) =
            take_turns(task, Limit::Steps(task.scale.steps(LIMIT[0], LIMIT[1])), &mut contenders)?;
        if allowed.is_some_and(|allowed| allowed == is_violation) {
            return Err(format!("a history of {source:?} is allowed: {}", !is_violation));
        }
        if is_violation {
            rows.push(task.row("injector", "allowed before", tries as f64));
        }
        Ok(rows)
    }

    fn judge(&self, rows: &Rows) -> Judgement {
        let last = rows.points().len() - 1;
        let fast = |at: usize| fastest(rows, at, &NAMES);
        let label = |at: usize| &rows.points()[at].label;
        let wins = (0..=last).filter(|&at| is_faster(rows, at, "wSC+ENUM", "CCM+ENUM")).count();
        let enums = (
            wins == last + 1,
            format!(
                "wSC+ENUM is faster than CCM+ENUM at {wins} of {} points; at the last {}, {}",
                last + 1,
                told(rows, last, "wSC+ENUM"),
                told(rows, last, "CCM+ENUM")
            ),
        );
        match self {
            Self::Operations => {
                let wins = (0..=last).filter(|&at| fast(at) == "DBCOP").count();
                let text = format!("DBCOP is the fastest of the paper at {wins} of {} points", last + 1);
                Judgement::of(&[(wins == last + 1, text), enums])
            }
            Self::Threads | Self::HalfViolations => {
                let growth = |name| Some(rows.median(last, name)? / rows.median(0, name)?);
                let degrades = decided(rows, last, "DBCOP") < decided(rows, last, "wSC+DBCOP")
                    || growth("DBCOP") > growth("wSC+DBCOP");
                let text = format!(
                    "with {} threads {} and {}, with {} threads {} and {}",
                    label(0),
                    told(rows, 0, "DBCOP"),
                    told(rows, 0, "wSC+DBCOP"),
                    label(last),
                    told(rows, last, "DBCOP"),
                    told(rows, last, "wSC+DBCOP")
                );
                let wins = fast(last) == "wSC+DBCOP";
                let best = format!("the fastest of the paper at {} threads is {}", label(last), fast(last));
                Judgement::of(&[(degrades, text), (wins, best), enums])
            }
            Self::Mix => {
                let fast: Vec<String> = (0..=last).map(|at| format!("{}: {}", label(at), fast(at))).collect();
                Judgement::without_claim(format!("the fastest of the paper: {}", fast.join("; ")))
            }
        }
    }

    fn setting(&self, scale: &Scale) -> String {
        let what = match self {
            Self::Mix => "6 threads, 300 operations".to_owned(),
            Self::HalfViolations => format!(
                "{LOCATIONS} variables; in each violation 1 to 4 reads return another value, at most {} writes away",
                scale.distance
            ),
            _ => format!("{LOCATIONS} variables"),
        };
        let writes = if matches!(self, Self::Mix) { String::new() } else { format!("{WRITES}% writes; ") };
        format!("{what}; {}.", common(scale, &writes))
    }

    fn plots(&self, rows: &Rows) -> Vec<Plot> {
        let lent = ALGORITHMS[4].0;
        match self {
            Self::Operations => vec![self.lines(rows, "", &[])],
            Self::Mix => {
                let count = rows.points().len();
                let bars = |it: Series| Group {
                    name: it.name.to_owned(),
                    values: (0..count).map(|at| rows.median(at, it.name)).collect(),
                };
                let groups = rows.points().iter().map(|point| point.label.clone()).collect();
                let bars = self.series().into_iter().map(bars).collect();
                let axis = Axis::logarithmic("seconds, median");
                vec![Plot::bars("wSC: variables and share of writes", axis, groups, bars)]
            }
            Self::Threads | Self::HalfViolations => {
                vec![self.lines(rows, " (a)", &[]), self.lines(rows, " (b)", &["DBCOP", lent])]
            }
        }
    }
}

/// Figure 9.
struct Violations;

const EARLY: &str = "CCM, early exit";
const SATURATIONS: [(&str, Algorithm); 4] =
    [("wSC", Algorithm::Wsc), ("CCM", Algorithm::CcmWhole), (EARLY, Algorithm::Ccm), ("DBCOP", Algorithm::Dbcop)];

impl Experiment for Violations {
    fn about(&self) -> About {
        About {
            name: "wsc-fig9",
            paper: "wSC",
            figure: "Figure 9",
            title: "Violations of 50 operations a thread: saturation alone, and DBCOP.",
            claim: "All violations are violations of wSC; CCM misses 1.25%; wSC is faster than CCM, and at least 70 \
                    times as fast as DBCOP at 8 threads and more.",
            points: "threads",
            remarks: OF_FIGURE_9,
        }
    }

    fn series(&self) -> Vec<Series> {
        series(&SATURATIONS)
    }

    fn points(&self, scale: &Scale) -> Vec<Point> {
        (1..=scale.either(4, 3)).map(|it| Point::number(4 * it, scale.samples(100, 5))).collect()
    }

    fn measure(&self, task: &Task<'_>) -> Measured {
        let threads = 4 + 4 * task.point as u32;
        let shape = Shape::new(threads, 50 * threads);
        let source = Source::of_sample(task.sample);
        let (sample, tries) = source.violating(&shape, task.scale.distance, task.seed())?;
        let mut contenders = vec![
            weaker("wSC", Algorithm::Wsc, &sample),
            weaker("CCM", Algorithm::CcmWhole, &sample),
            weaker(EARLY, Algorithm::Ccm, &sample),
            literal("DBCOP", Algorithm::Dbcop, &sample),
        ];
        contenders.extend(ours(Model::Sc, &sample));
        let (mut rows, allowed) =
            take_turns(task, Limit::Steps(task.scale.steps(LIMIT[0], LIMIT[1])), &mut contenders)?;
        if allowed == Some(true) {
            return Err("a violation is allowed".to_owned());
        }
        rows.push(task.row("injector", "allowed before", tries as f64));
        Ok(rows)
    }

    fn judge(&self, rows: &Rows) -> Judgement {
        let share = |name| rows.mean_everywhere(name, "violation").unwrap_or(0.0);
        let missed = 1.0 - share("CCM");
        let last = rows.points().len() - 1;
        // What DBCOP does not decide is no part of a ratio.
        let quotient = |at| rows.medians_of_both(at, "DBCOP", "wSC").map(|(dbcop, wsc)| dbcop / wsc);
        let ratios: Vec<f64> = (1..=last).filter_map(quotient).collect();
        // Both decide everything, so that there are averages.
        let average = |at, name| rows.mean(at, name, "seconds").unwrap_or(0.0);
        let wins = (0..=last).filter(|&at| average(at, "wSC") < average(at, "CCM")).count();
        let shown: Vec<String> = ratios.iter().map(|&it| ratio(it)).collect();
        Judgement::of(&[
            (share("wSC") >= 1.0, format!("{} of the violations are violations of wSC", percent(share("wSC")))),
            (missed > 0.0, format!("CCM misses {}", percent(missed))),
            (
                wins == last + 1,
                format!(
                    "wSC is faster than CCM on average at {wins} of {} points; at the last it takes {} ms, CCM {} ms",
                    last + 1,
                    table::milliseconds(average(last, "wSC")),
                    table::milliseconds(average(last, "CCM"))
                ),
            ),
            (
                ratios.iter().all(|&it| it >= 70.0),
                format!(
                    "DBCOP takes {} times as long from 8 threads on, where it decides anything; with {} threads {}",
                    shown.join(", "),
                    rows.points()[last].label,
                    told(rows, last, "DBCOP")
                ),
            ),
        ])
    }

    fn setting(&self, scale: &Scale) -> String {
        format!(
            "{LOCATIONS} variables; only violations: 1 to 4 reads return another value, at most {} writes away; {}.",
            scale.distance,
            common(scale, &format!("{WRITES}% writes; "))
        )
    }

    fn tables(&self, rows: &Rows) -> Vec<Table> {
        let head = [
            "threads",
            "found by wSC",
            "found by CCM",
            "wSC, average ms",
            "CCM, average ms",
            "CCM, early exit, average ms",
            "histories",
            "changed histories that were allowed",
        ];
        let mut found =
            Table::new("How many violations the saturations find, and how long they take on average.", &head);
        for (at, point) in rows.points().iter().enumerate() {
            let share = |name| percent(rows.mean(at, name, "violation").unwrap_or(0.0));
            let average = |name| table::milliseconds(rows.mean(at, name, "seconds").unwrap_or(0.0));
            let tries = rows.sum(at, "injector", "allowed before");
            let count = f64::from(point.samples);
            found.line(vec![
                point.label.clone(),
                share("wSC"),
                share("CCM"),
                average("wSC"),
                average("CCM"),
                average(EARLY),
                point.samples.to_string(),
                percent(tries / (tries + count)),
            ]);
        }
        vec![table::seconds(&self.about(), &self.series(), rows), found]
    }

    fn plots(&self, rows: &Rows) -> Vec<Plot> {
        vec![self.lines(rows, " (a)", &[]), self.lines(rows, " (b)", &["DBCOP"])]
    }
}

#[cfg(test)]
mod tests {
    use memory::Budget;
    use memory::research::Frame;

    use super::*;

    /// The reason why DBCOP is fast on some mixes.
    #[test]
    fn dbcop_meets_dead_ends_where_much_is_written() {
        let mean = |(locations, writes)| {
            let shape = Shape { locations, writes, ..Shape::new(6, 300) };
            let dead_ends = (0..30).map(|sample| {
                let sample = Source::of_sample(sample).valid(&shape, sample.into()).expect("a history");
                let (line, dead_ends) =
                    baseline::frontier::dead_ends(&Frame::sequential(&sample.execution), &Budget::UNLIMITED);
                assert!(line.is_ok_and(|line| line.is_some()));
                dead_ends as f64
            });
            dead_ends.sum::<f64>() / 30.0
        };
        let counts = [(2, 50), (8, 20), (8, 50), (8, 80)].map(mean);
        assert!(counts[2] > 2.0 * counts[0].max(counts[1]) && counts[3] > 10.0 * counts[2], "{counts:?}");
    }
}
