//! Theorem 1.7: the lower bound, shown. The executions of `workload::triangles` grow with a graph without triangles;
//! each checker takes more than linear time on them.

use std::time::Duration;

use baseline::ra::printed::{Text, algorithm1, algorithm3};
use memory::c11::C11Checker;
use model::{Certificate, Model, Verdict};
use workload::triangles::{self, TriangleConfig};

use crate::plot::{Axis, Line, Plot};
use crate::timing::{Contender, Outcome, take_turns};
use crate::{About, Experiment, Judgement, Measured, Point, Role, Rows, Scale, Series, Task};

const REMARKS: &str = "\
    The theorem is about all algorithms, and conditional, so no measurement can show it. What is tested is that no \
    algorithm here grows slower than n^1.5 on executions that hide a triangle: one that did would be a mistake, or a \
    discovery.

    The checker that makes certificates begins anew for each execution, where the one without keeps its memory; it \
    makes the witness or the cycle, and hashes the history. The algorithms of the paper make no certificate.";

/// Theorem 1.7.
pub(super) struct Triangles;

const CUBIC: &str = "writes-before";
const RF_RA: &str = "Algorithm 3";
const RF_WRA: &str = "Algorithm 1, wra";
const OURS: [(&str, Model); 2] = [(Series::OURS[0].name, Model::Ra), ("seriatim, wra", Model::Wra)];
const CERTIFIED: &str = Series::OURS[1].name;

fn nodes(scale: &Scale) -> &'static [u32] {
    scale.either(&[20, 40, 80, 160, 320], &[10, 20, 40])
}

impl Experiment for Triangles {
    fn about(&self) -> About {
        About {
            name: "rf-triangles",
            paper: "RF",
            figure: "Theorem 1.7",
            title: "Executions that are allowed if a graph has no triangle, with four times as many edges as nodes.",
            claim: "No algorithm for wra, ra or sra is linear: with n events and no fast multiplication of matrices, \
                    n^1.5 steps are needed.",
            points: "events",
            remarks: REMARKS,
        }
    }

    fn series(&self) -> Vec<Series> {
        let [ours, weak] = OURS;
        vec![
            Series { name: CUBIC, role: Role::Other },
            Series::paper(RF_RA),
            Series { name: RF_WRA, role: Role::Other },
            Series { name: ours.0, role: Role::Ours },
            Series { name: CERTIFIED, role: Role::OursCertified },
            Series { name: weak.0, role: Role::Other },
        ]
    }

    fn points(&self, scale: &Scale) -> Vec<Point> {
        let point = |&nodes: &u32| {
            let config = TriangleConfig { nodes, edges: 4 * nodes, violating: false, seed: 0 };
            let events = triangles::steps(nodes, &triangles::graph(&config)).len() as u32;
            Point::number(events, scale.samples(5, 2))
        };
        nodes(scale).iter().map(point).collect()
    }

    fn measure(&self, task: &Task<'_>) -> Measured {
        let nodes = nodes(task.scale)[task.point];
        let violating = task.sample % 2 == 1;
        let config = TriangleConfig { nodes, edges: 4 * nodes, violating, seed: task.seed() };
        let execution = triangles::execution(&config);
        let history = triangles::history(&config);
        let certify = |budget: &memory::Budget| {
            let options = memory::MemoryOptions { witness: true, budget: budget.clone(), ..Default::default() };
            let decision = memory::check(Model::Ra, &execution, &options);
            Certificate::new(0, &history, Model::Ra, &decision)
        };
        let limit = task.scale.limit(Duration::from_secs(10), Duration::from_millis(500));
        let mut contenders = vec![Contender::new(CUBIC, |_: &memory::Budget| {
            Outcome::Decided(baseline::ra::writes_before(&execution, Model::Ra))
        })];
        contenders
            .push(Contender::new(RF_RA, |_| Outcome::Decided(algorithm3(&execution, Model::Ra, Text::Corrected))));
        contenders.push(Contender::new(RF_WRA, |_| Outcome::Decided(algorithm1(&execution, Text::Corrected))));
        for (name, model) in OURS {
            let mut checker = C11Checker::new();
            let execution = &execution;
            contenders.push(Contender::new(name, move |_| {
                checker.allows(model, execution).map_or(Outcome::Undecided, Outcome::Decided)
            }));
        }
        contenders.push(Contender::new(CERTIFIED, |budget| {
            let certificate = certify(budget);
            certificate.map_or(Outcome::Undecided, |it| Outcome::Decided(it.verdict == Verdict::Consistent))
        }));
        let (mut rows, allowed) = take_turns(task, limit, &mut contenders)?;
        if allowed == Some(violating) {
            return Err("a triangle is a violation, and nothing else is".to_owned());
        }
        let certificate = certify(&memory::Budget::UNLIMITED).ok_or("an execution has no certificate")?;
        verify::verify(&certificate, &history).map_err(|refusal| refusal.to_string())?;
        rows.push(task.row("", "events", execution.len() as f64));
        Ok(rows)
    }

    fn judge(&self, rows: &Rows) -> Judgement {
        let last = rows.points().len() - 1;
        let exponent = |name: &str| {
            let ratio = |measure: &str, of: &str| Some(rows.mean(last, of, measure)? / rows.mean(0, of, measure)?);
            Some(ratio("seconds", name)?.ln() / ratio("events", "")?.ln())
        };
        let parts: Vec<(bool, String)> = [OURS[0].0, OURS[1].0, RF_RA, RF_WRA, CUBIC]
            .into_iter()
            .filter_map(|name| exponent(name).map(|it| (it >= 1.5, format!("{name} grows as n^{it:.2}"))))
            .collect();
        Judgement::of(&parts)
    }

    fn setting(&self, _: &Scale) -> String {
        "every second graph has one triangle. Each node has three threads, and so has each edge, so n k is a square \
         here."
            .to_owned()
    }

    fn plots(&self, rows: &Rows) -> Vec<Plot> {
        let line = |series: &Series| Line {
            name: series.name.to_owned(),
            points: (0..rows.points().len())
                .filter_map(|at| Some((rows.points()[at].x, rows.mean(at, series.name, "seconds")?)))
                .collect(),
            is_ours: series.role != Role::Paper,
        };
        vec![Plot::lines(
            "RF Theorem 1.7",
            Axis::logarithmic("events"),
            Axis::logarithmic("seconds"),
            self.series().iter().map(line).collect(),
        )]
    }
}
