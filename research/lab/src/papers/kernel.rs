//! How much of the SC-kernel the partial store orders have, and how many pairs of writes they leave open: wSC, section
//! 6, and GCC, section 5.1.

use history::Execution;
use history::execution::EventId;
use memory::Budget;
use memory::kernel::{self, Kernel, NoKernel};
use memory::research::Causality;

use baseline::literal::{Relation, Rule, Saturation};

use super::histories::{LOCATIONS, Shape, Source, WRITES};
use crate::plot::{Axis, Group, Plot};
use crate::table::{self, Table, percent};
use crate::timing::Limit;
use crate::{About, Experiment, Judgement, Measured, Point, Role, Rows, Scale, Series, Task, mean};

/// The kernel of wSC.
pub(super) struct OfWsc;

/// The pairs of GCC.
pub(super) struct OfGcc;

/// A set of histories of GCC: those of one source, or of all in turn.
struct Set {
    label: &'static str,
    source: Option<usize>,
    locations: u32,
    writes: u32,
}

const fn set(label: &'static str, source: Option<usize>, locations: u32, writes: u32) -> Set {
    Set { label, source, locations, writes }
}

/// The five sources, and then other numbers of variables and shares of writes.
const SETS: [Set; 10] = [
    set("atomic", Some(0), LOCATIONS, WRITES),
    set("MI", Some(1), LOCATIONS, WRITES),
    set("MOESI Hammer", Some(2), LOCATIONS, WRITES),
    set("MESI Two Level", Some(3), LOCATIONS, WRITES),
    set("MOESI AMD", Some(4), LOCATIONS, WRITES),
    set("2 variables", None, 2, WRITES),
    set("32 variables", None, 32, WRITES),
    set("128 variables", None, 128, WRITES),
    set("20% writes", None, LOCATIONS, 20),
    set("80% writes", None, LOCATIONS, 80),
];
/// How many of the sets are those of the claim.
const CLAIMED: usize = 5;

const OF_WSC: &str = "\
    Why: with 8 variables, half writes and short histories more pairs of writes are left open than in the paper's \
    clients. The share of ordered pairs grows with the length. `gcc-pairs` shows how it depends on variables and \
    writes. With few threads wSC is the whole kernel more often than in the paper, with many threads less often. \
    Histories whose kernel was not computed are not counted. A guess of one pair, and the pattern of six writes, \
    add what the second table says; guesses of two pairs at once were not measured, for they take too long.

    No times are compared here, and nothing is decided, so there is nothing that a certificate could be of.";

const OF_GCC: &str = "\
    Why: the order of CCv is that of causality and of the conflicts `cf`. So read, it orders not many fewer pairs than \
    CCM in any set that we tried. If only the pairs of `cf` are counted, without those that causality orders, the \
    share is that of the paper: this is the column of `cf` alone, and surely how the paper counted. CCM comes close to \
    the paper's 6.6% with 20% writes.

    No times are compared here, and nothing is decided, so there is nothing that a certificate could be of.";

/// The saturations of section 4 of wSC: with the pattern of six writes, and with a guess of one pair.
const PARTS: [(&str, Saturation); 2] = [
    ("six writes", Saturation { rule: Rule::SixWrites, guesses: 0 }),
    ("a guess", Saturation { rule: Rule::Wsc, guesses: 1 }),
];
const ORDERS: [&str; 3] = ["wSC", "CCM", "CCv"];
/// The shapes of Figures 6 and 7, without those that are between others: threads and operations.
const SHAPES: [(u32, u32); 7] = [(6, 200), (6, 400), (6, 800), (4, 200), (8, 400), (12, 600), (16, 800)];
/// The limit of a kernel, and of a saturation with guesses, in steps.
const LIMIT: [u64; 2] = [1_000_000, 30_000];

fn other(name: &'static str) -> Series {
    Series { name, role: Role::Other }
}

/// Which part of all pairs of same-location writes `co` orders.
fn causal_part(execution: &Execution) -> Result<f64, String> {
    let causality = Causality::new(execution, &Budget::UNLIMITED).map_err(|_| "`co` is cyclic".to_owned())?;
    let writes: Vec<_> = execution.ids().filter(|&id| execution.event(id).kind.writes()).collect();
    let is_before = |a: EventId, b: EventId| a.0 < causality.clocks.of(b.0)[execution.thread(a).index()];
    let (mut pairs, mut ordered) = (0u64, 0u64);
    for (at, &b) in writes.iter().enumerate() {
        for &a in writes[..at].iter().filter(|&&a| execution.event(a).location == execution.event(b).location) {
            pairs += 1;
            ordered += u64::from(is_before(a, b) || is_before(b, a));
        }
    }
    Ok(if pairs == 0 { 1.0 } else { ordered as f64 / pairs as f64 })
}

/// Which part of all pairs of same-location writes `cf` of `ccv` orders, without causality.
fn conflicting_part(execution: &Execution) -> Result<f64, String> {
    let conflicts = baseline::literal::conflicts(execution).ok_or("`cf` refutes a valid history")?;
    let open = Saturation::open(execution, &conflicts);
    let all = Saturation::open(execution, &Relation::new(execution.len()));
    Ok(if all == 0 { 1.0 } else { 1.0 - open as f64 / all as f64 })
}

/// The rows of a history: of each order, whether it is the whole kernel, which part of the kernel it is, and which part
/// of all pairs it orders.
fn measure(task: &Task<'_>, source: Source, shape: &Shape, has_parts: bool) -> Measured {
    let sample = source.valid(shape, task.seed())?;
    let limit = Limit::Steps(task.scale.steps(LIMIT[0], LIMIT[1]));
    let Kernel { pairs, st, pww, ccv, kernel, .. } = match kernel::kernel(&sample.execution, &limit.budget()) {
        Ok(kernel) => kernel,
        Err(NoKernel::GaveUp(_)) => return Ok(vec![task.row("kernel", "undecided", 1.0)]),
        Err(NoKernel::Violation) => return Err(format!("a history of {source:?} is not sequentially consistent")),
    };
    let part = |part: u64, whole: u64| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
    let mut rows = vec![task.row("kernel", "undecided", 0.0), task.row("kernel", "ordered", part(kernel, pairs))];
    for (name, count) in ORDERS.into_iter().zip([st, pww, ccv]) {
        rows.push(task.row(name, "whole", f64::from(u8::from(count == kernel))));
        rows.push(task.row(name, "of the kernel", part(count, kernel)));
        rows.push(task.row(name, "ordered", part(count, pairs)));
    }
    if has_parts {
        for (name, saturation) in PARTS {
            let found = saturation.order(&sample.execution, &limit.budget());
            rows.push(task.row(name, "undecided", f64::from(u8::from(found.is_err()))));
            let Ok(order) = found else { continue };
            let order = order.ok_or_else(|| format!("{name} refutes a valid history"))?;
            let count = pairs - Saturation::open(&sample.execution, &order) as u64;
            rows.push(task.row(name, "whole", f64::from(u8::from(count == kernel))));
            rows.push(task.row(name, "of the kernel", part(count, kernel)));
        }
    }
    rows.push(task.row("co", "ordered", causal_part(&sample.execution)?));
    rows.push(task.row("cf", "ordered", conflicting_part(&sample.execution)?));
    Ok(rows)
}

/// Of which part of the kernel an order is in those histories in which it is not the whole, on average.
fn part_of_others(rows: &Rows, name: &str, point: Option<usize>) -> Option<f64> {
    let values = rows.everywhere(name, "of the kernel").collect::<Vec<_>>();
    let parts = match point {
        Some(point) => rows.values(point, name, "of the kernel").collect(),
        None => values,
    };
    mean(parts.into_iter().filter(|&part| part < 1.0))
}

fn shares(rows: &Rows, point: Option<usize>, name: &str, measure: &str) -> Option<f64> {
    point.map_or_else(|| rows.mean_everywhere(name, measure), |point| rows.mean(point, name, measure))
}

fn shown(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), percent)
}

impl Experiment for OfWsc {
    fn about(&self) -> About {
        About {
            name: "wsc-kernel",
            paper: "wSC",
            figure: "kernel",
            title: "How much of the SC-kernel the saturations of wSC and CCM compute, on 1,742 valid histories.",
            claim: "wSC computes the whole kernel in 74.24% of the histories and 99.97% of it in the others, CCM the \
                    whole in 0.7%; they order 98.51% and 97.89% of the pairs of writes.",
            points: "threads x operations",
            remarks: OF_WSC,
        }
    }

    fn series(&self) -> Vec<Series> {
        ["wSC", "CCM", "CCv", "kernel"].map(other).to_vec()
    }

    fn points(&self, scale: &Scale) -> Vec<Point> {
        let shapes = &SHAPES[..scale.either(SHAPES.len(), 5)];
        let point = |(at, &(threads, operations)): (usize, &(u32, u32))| Point {
            label: format!("{threads} x {operations}"),
            x: at as f64,
            // 1,742 in all.
            samples: scale.samples(if at == 0 { 248 } else { 249 }, 6),
            weight: u64::from(threads * operations),
        };
        shapes.iter().enumerate().map(point).collect()
    }

    fn measure(&self, task: &Task<'_>) -> Measured {
        let (threads, operations) = SHAPES[task.point];
        measure(task, Source::of_sample(task.sample), &Shape::new(threads, operations), true)
    }

    fn judge(&self, rows: &Rows) -> Judgement {
        let share = |name, measure| rows.mean_everywhere(name, measure).unwrap_or(0.0);
        let whole = ["wSC", "CCM"].map(|name| share(name, "whole"));
        let ordered = ["wSC", "CCM"].map(|name| share(name, "ordered"));
        let others = part_of_others(rows, "wSC", None).unwrap_or(1.0);
        Judgement::of(&[
            (whole[0] > 0.5, format!("wSC is the whole kernel in {}", percent(whole[0]))),
            (others > 0.99, format!("{} of it in the others", percent(others))),
            (whole[1] < whole[0] / 2.0, format!("CCM the whole in {}", percent(whole[1]))),
            (
                ordered[0] > 0.95 && ordered[1] > 0.95,
                format!("they order {} and {} of the pairs", percent(ordered[0]), percent(ordered[1])),
            ),
        ])
    }

    fn setting(&self, scale: &Scale) -> String {
        format!(
            "{LOCATIONS} variables; {WRITES}% writes; histories of an atomic memory, of MI, MOESI Hammer, MESI Two \
             Level and MOESI AMD in turn; limit {} steps for a kernel, and for each saturation of section 4.",
            table::count(scale.steps(LIMIT[0], LIMIT[1]))
        )
    }

    fn tables(&self, rows: &Rows) -> Vec<Table> {
        let head = [
            "threads x operations",
            "wSC whole",
            "CCM whole",
            "CCv whole",
            "wSC in the others",
            "CCM in the others",
            "pairs by wSC",
            "pairs by CCM",
            "pairs by CCv",
            "pairs in the kernel",
            "kernel not computed",
        ];
        let mut table = Table::new("In how many histories an order is the whole kernel, and how much of it.", &head);
        let points = (0..rows.points().len()).map(Some).chain([None]);
        for point in points {
            let label = point.map_or("all", |point| &rows.points()[point].label);
            let mut line = vec![label.to_owned()];
            line.extend(ORDERS.map(|name| shown(shares(rows, point, name, "whole"))));
            line.extend(["wSC", "CCM"].map(|name| shown(part_of_others(rows, name, point))));
            line.extend(["wSC", "CCM", "CCv", "kernel"].map(|name| shown(shares(rows, point, name, "ordered"))));
            line.push(shown(shares(rows, point, "kernel", "undecided")));
            table.line(line);
        }
        let head = [
            "threads x operations",
            "histories",
            "wSC whole",
            "six writes whole",
            "a guess whole",
            "wSC in the others",
            "six writes in the others",
            "a guess in the others",
            "six writes not computed",
            "a guess not computed",
        ];
        let title = "Section 4: the rules with the pattern of six writes, and with a guess of one pair, of those \
                     computed.";
        let mut parts = Table::new(title, &head);
        for point in (0..rows.points().len()).map(Some).chain([None]) {
            let label = point.map_or("all", |point| &rows.points()[point].label);
            let histories = (0..rows.points().len()).filter(|&at| point.is_none_or(|it| it == at));
            let histories: u32 = histories.map(|at| rows.points()[at].samples).sum();
            let names = ["wSC", PARTS[0].0, PARTS[1].0];
            let mut line = vec![label.to_owned(), histories.to_string()];
            line.extend(names.map(|name| shown(shares(rows, point, name, "whole"))));
            line.extend(names.map(|name| shown(part_of_others(rows, name, point))));
            line.extend(PARTS.map(|(name, _)| shown(shares(rows, point, name, "undecided"))));
            parts.line(line);
        }
        vec![table, parts]
    }

    fn plots(&self, rows: &Rows) -> Vec<Plot> {
        let groups = rows.points().iter().map(|point| point.label.clone()).collect();
        let bars = |name: &str| Group {
            name: name.to_owned(),
            values: (0..rows.points().len()).map(|at| rows.mean(at, name, "whole").map(|it| it * 100.0)).collect(),
        };
        let axis = Axis::linear("percent of histories: the whole kernel");
        vec![Plot::bars("wSC: which saturation computes the kernel", axis, groups, ORDERS.map(bars).to_vec())]
    }
}

impl Experiment for OfGcc {
    fn about(&self) -> About {
        About {
            name: "gcc-pairs",
            paper: "GCC",
            figure: "unordered pairs",
            title: "Pairs of writes that partial store orders leave open, on 200 valid histories of 200 operations.",
            claim: "CCM leaves 6.6% of the pairs open, CCv 57.75%.",
            points: "set",
            remarks: OF_GCC,
        }
    }

    fn series(&self) -> Vec<Series> {
        ["wSC", "CCM", "CCv", "kernel"].map(other).to_vec()
    }

    fn points(&self, scale: &Scale) -> Vec<Point> {
        let point = |(at, set): (usize, &Set)| Point {
            label: set.label.to_owned(),
            x: at as f64,
            samples: scale.samples(40, 4),
            weight: 1,
        };
        SETS.iter().enumerate().map(point).collect()
    }

    fn measure(&self, task: &Task<'_>) -> Measured {
        let Set { source, locations, writes, .. } = SETS[task.point];
        let source = source.map_or_else(|| Source::of_sample(task.sample), |at| Source::ALL[at]);
        measure(task, source, &Shape { locations, writes, ..Shape::new(4, 200) }, false)
    }

    fn judge(&self, rows: &Rows) -> Judgement {
        let ordered = |name: &str| mean((0..CLAIMED).filter_map(|point| rows.mean(point, name, "ordered")));
        let open = |name| 1.0 - ordered(name).unwrap_or(1.0);
        let (ccm, ccv) = (open("CCM"), open("CCv"));
        Judgement::of(&[
            (ccm < 0.1, format!("CCM leaves {} open", percent(ccm))),
            (
                (0.5..0.65).contains(&open("cf")),
                format!("`cf` alone, as the paper counts CCv, {}", percent(open("cf"))),
            ),
            (ccv > ccm, format!("CCv with causality {}, and causality alone {}", percent(ccv), percent(open("co")))),
        ])
    }

    fn setting(&self, _: &Scale) -> String {
        format!("4 processors; {LOCATIONS} variables and {WRITES}% writes, unless the set says otherwise.")
    }

    fn tables(&self, rows: &Rows) -> Vec<Table> {
        let head = [
            "set",
            "open by co alone",
            "open by cf alone",
            "open by CCv",
            "open by CCM",
            "open by wSC",
            "open in the kernel",
        ];
        let mut table =
            Table::new("Pairs of writes of one location that are left open, average over histories.", &head);
        for (at, point) in rows.points().iter().enumerate() {
            let mut line = vec![point.label.clone()];
            let open = |name| shown(rows.mean(at, name, "ordered").map(|it| 1.0 - it));
            line.extend(["co", "cf", "CCv", "CCM", "wSC", "kernel"].map(open));
            table.line(line);
        }
        vec![table]
    }

    fn plots(&self, rows: &Rows) -> Vec<Plot> {
        let groups = rows.points().iter().map(|point| point.label.clone()).collect();
        let open = |at, name: &str| rows.mean(at, name, "ordered").map(|it| (1.0 - it) * 100.0);
        let bars = |name: &str| Group {
            name: name.to_owned(),
            values: (0..rows.points().len()).map(|at| open(at, name)).collect(),
        };
        let axis = Axis::linear("percent of pairs left open");
        vec![Plot::bars(
            "GCC: pairs of writes left open",
            axis,
            groups,
            ["cf", "co", "CCv", "CCM", "wSC"].map(bars).to_vec(),
        )]
    }
}
