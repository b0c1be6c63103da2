//! wSC: *Boosting Sequential Consistency Checking using Saturation*, section 6.

use std::time::{Duration, Instant};

use certificate::Model;
use memory::Interrupt;
use memory::store::frame::Frame;

use super::contenders::ours;
use super::histories::{Sample, Shape, Source};
use crate::timing::{Contender, Outcome, take_turns};
use crate::{About, Experiment, Judgement, Measured, Point, Rows, Scale, Series, Task};

/// The experiments of the paper.
pub(super) fn all() -> Vec<Box<dyn Experiment>> {
    vec![Box::new(Valid)]
}

/// Figure 6.
struct Valid;

impl Experiment for Valid {
    fn about(&self) -> About {
        About {
            name: "wsc-fig6",
            paper: "wSC",
            figure: "Figure 6",
            title: "Valid histories of 6 threads, growing number of operations.",
            claim: "for few threads DBCOP is the fastest",
            points: "operations",
        }
    }

    fn series(&self) -> Vec<Series> {
        [&[Series::paper("DBCOP")][..], &Series::OURS].concat()
    }

    fn points(&self, scale: &Scale) -> Vec<Point> {
        (2..=scale.either(8, 4)).map(|it| Point::number(it * 100, scale.samples(200, 5))).collect()
    }

    fn measure(&self, task: &Task<'_>) -> Measured {
        let operations = 200 + 100 * task.point as u32;
        let sample = Source::of_sample(task.sample).valid(&Shape::new(6, operations), task.seed())?;
        let limit = task.scale.limit(Duration::from_secs(10), Duration::from_millis(200));
        let mut contenders = vec![Contender::new("DBCOP", |deadline| dbcop(&sample, deadline))];
        contenders.extend(ours(Model::Sc, &sample));
        let (rows, _) = take_turns(task, limit, &mut contenders)?;
        Ok(rows)
    }

    fn judge(&self, rows: &Rows) -> Judgement {
        let mean = |name| rows.mean_everywhere(name, "seconds").unwrap_or(0.0);
        Judgement::of(&[(mean("DBCOP") > 0.0, format!("DBCOP takes {:.3} ms", mean("DBCOP") * 1e3))])
    }

    fn setting(&self, _: &Scale) -> String {
        "8 variables".to_owned()
    }
}

fn dbcop(sample: &Sample, deadline: Instant) -> Outcome {
    let frame = Frame::sequential(&sample.execution);
    match baseline::frontier::search(&frame, Interrupt::at(Some(deadline))) {
        Ok(line) => Outcome::Decided(line.is_some()),
        Err(_) => Outcome::Undecided,
    }
}
