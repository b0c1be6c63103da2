//! Figures 11 and 12: five shapes on which the online algorithms differ, with growing numbers of events and of threads.
//!
//! The drawing of Figure 11 is lost in the text that we have, so the shapes are ours. Each shows one thing that the
//! paper says of the two algorithms: chains of rmws have one clock (a counter), the graph is closed and Algorithm 5's
//! order is not (writers that know nothing of each other; a long order), an order that only reads imply, and, against
//! Algorithm 5, few writes and no rmws.

use std::time::Duration;

use explore::DataAccess;
use history::MemoryOrder;
use history::execution::Kind;

use super::sampled::{DIGEST, by_algorithm_5, compare, series};
use crate::plot::{Axis, Line, Plot};
use crate::table::ratio;
use crate::{About, Experiment, Judgement, Measured, Point, Role, Rows, Scale, Series, Task};

/// What makes a sequence of so many events and threads.
type Make = fn(&mut Sequence, u32, u32);

const SHAPES: [(&str, Make); 5] = [
    ("counter", |s, events, threads| {
        let mut last = None;
        for at in 0..events {
            last = Some(s.push(at % threads, Kind::Rmw, last));
        }
    }),
    ("strangers", |s, events, threads| {
        let mut own = vec![None; threads as usize];
        for at in 0..events {
            let thread = at / 3 % threads;
            if at % 3 == 2 {
                s.push(thread, Kind::Read, own[thread as usize]);
            } else {
                own[thread as usize] = Some(s.push(thread, Kind::Write, None));
            }
        }
    }),
    ("relay", |s, events, threads| {
        let mut last = None;
        for at in 0..events / 2 {
            s.push(at % threads, Kind::Read, last);
            last = Some(s.push(at % threads, Kind::Write, None));
        }
    }),
    ("neighbours", |s, events, threads| {
        for _ in 0..events / (2 * threads) {
            let writes: Vec<u32> = (0..threads).map(|thread| s.push(thread, Kind::Write, None)).collect();
            for thread in 0..threads - 1 {
                s.push(thread, Kind::Read, Some(writes[thread as usize + 1]));
            }
        }
    }),
    ("few writes", |s, events, threads| {
        let mut last = None;
        for at in 0..events {
            if at % 64 == 0 {
                last = Some(s.push(at / 64 % threads, Kind::Write, None));
            } else {
                s.push(at % threads, Kind::Read, last);
            }
        }
    }),
];

/// Accesses of one location.
#[derive(Default)]
struct Sequence(Vec<DataAccess>);

impl Sequence {
    fn push(&mut self, thread: u32, kind: Kind, source: Option<u32>) -> u32 {
        self.0.push(DataAccess { thread, kind, location: 0, order: MemoryOrder::Plain, source });
        self.0.len() as u32 - 1
    }
}

/// The sizes: events with 10 threads, then threads.
fn sizes(scale: &Scale) -> Vec<(u32, u32)> {
    let events: &[u32] = scale.either(&[2000, 4000, 8000, 16_000], &[500, 1000, 2000]);
    let threads: &[u32] = scale.either(&[5, 20, 40, 80], &[5, 20]);
    let fixed = scale.either(4000, 1000);
    events.iter().map(|&events| (events, 10)).chain(threads.iter().map(|&threads| (fixed, threads))).collect()
}

/// Figure 12.
pub(super) struct Shapes;

impl Experiment for Shapes {
    fn about(&self) -> About {
        About {
            name: "rf-fig12",
            paper: "RF",
            figure: "Figures 11 and 12",
            title: "Five shapes, event by event, with growing numbers of events and of threads.",
            claim: "Algorithm 5 scales better than C11Tester's graph where orders are long or need not be.",
            points: "shape, events x threads",
            remarks: "Why: on a counter, a single chain of rmws, the two take about the same time. Our graph notes the \
                      ends of chains, where C11Tester's own walks along them.",
        }
    }

    fn series(&self) -> Vec<Series> {
        series()
    }

    fn points(&self, scale: &Scale) -> Vec<Point> {
        let mut points = Vec::new();
        for (name, _) in SHAPES {
            for (events, threads) in sizes(scale) {
                let label = format!("{name}, {events} x {threads}");
                points.push(Point { label, x: events.into(), samples: 1, weight: u64::from(events) });
            }
        }
        points
    }

    fn measure(&self, task: &Task<'_>) -> Measured {
        let sizes = sizes(task.scale);
        let (_, make) = SHAPES[task.point / sizes.len()];
        let (events, threads) = sizes[task.point % sizes.len()];
        let mut sequence = Sequence::default();
        make(&mut sequence, events, threads);
        let limit = task.scale.limit(Duration::from_secs(10), Duration::from_millis(500));
        let mut rows = compare(task, limit, &sequence.0)?;
        rows.extend([task.row("", "events", events.into()), task.row("", "threads", threads.into())]);
        Ok(rows)
    }

    fn judge(&self, rows: &Rows) -> Judgement {
        let count = rows.points().len() / SHAPES.len();
        let parts: Vec<(bool, String)> = (0..SHAPES.len())
            .map(|shape| {
                // The largest number of events, and the largest number of threads.
                let events = |at: usize| rows.mean(shape * count + at, "", "threads") == Some(10.0);
                let last = (0..count).filter(|&at| events(at)).max().unwrap_or(0);
                let at = |at: usize| by_algorithm_5(rows, shape * count + at);
                let name = SHAPES[shape].0;
                let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), ratio);
                let (long, wide) = (at(last), at(count - 1));
                // On few writes the paper itself expects no gain. What the graph does not decide, it loses.
                let is_more = |it: Option<f64>| it.is_none_or(|it| it > 1.0);
                let holds = name == "few writes" || is_more(long) || is_more(wide);
                (holds, format!("{name}: {} times with most events, {} with most threads", shown(long), shown(wide)))
            })
            .collect();
        Judgement::of(&parts)
    }

    fn setting(&self, scale: &Scale) -> String {
        format!(
            "one location; 10 threads where events grow; the shapes are ours, for those of Figure 11 are lost. Limit \
             {:?}.",
            scale.limit(Duration::from_secs(10), Duration::from_millis(500))
        )
    }

    fn plots(&self, rows: &Rows) -> Vec<Plot> {
        let count = rows.points().len() / SHAPES.len();
        let plot = |shape: usize| {
            let points = shape * count..(shape + 1) * count;
            let line = |series: &Series| Line {
                name: series.name.to_owned(),
                points: points
                    .clone()
                    .filter(|&at| rows.mean(at, "", "threads") == Some(10.0))
                    .filter_map(|at| Some((rows.points()[at].x, rows.mean(at, series.name, "seconds")?)))
                    .collect(),
                is_ours: matches!(series.role, Role::Ours | Role::OursCertified),
            };
            let lines = self.series().iter().filter(|it| it.name != DIGEST).map(line).collect();
            Plot::lines(
                &format!("RF Figure 12: {}", SHAPES[shape].0),
                Axis::linear("events, 10 threads"),
                Axis::logarithmic("seconds"),
                lines,
            )
        };
        (0..SHAPES.len()).map(plot).collect()
    }
}
