//! The heuristics on trial, and those that went.

use history::Object;
use model::Model;

use super::points::{MemoryPoint, Point};

/// A heuristic, and what switches it off.
pub(super) struct Heuristic {
    pub(super) name: &'static str,
    pub(super) off: &'static [(&'static str, &'static str)],
    at: Place,
}

/// Where a heuristic matters.
enum Place {
    /// Machines, and the models that are asked of their histories.
    Memory(&'static [(Model, Model)]),
    Object(Object),
}

/// The machines of the search for a store order, each with its own model.
const SEARCHED: Place = Place::Memory(&[(Model::Sc, Model::Sc), (Model::Tso, Model::Tso), (Model::Pso, Model::Pso)]);
/// `pso`, on two machines.
const PSO: Place = Place::Memory(&[(Model::Pso, Model::Pso), (Model::Sc, Model::Pso)]);

const fn of(name: &'static str, off: &'static [(&'static str, &'static str)], at: Place) -> Heuristic {
    Heuristic { name, off, at }
}

/// The heuristics on trial.
pub(super) const HEURISTICS: &[Heuristic] = &[
    of("run", &[("store.guesses", "0")], SEARCHED),
    of("rest of a run", &[("store.least_beginning", "4294967295")], SEARCHED),
    of("ages by lags", &[("store.lags", "false")], SEARCHED),
    of("ages by guesses", &[("store.turned", "false")], SEARCHED),
    of("hints", &[("store.hints", "0")], SEARCHED),
    of("nearness", &[("store.nearness", "false")], SEARCHED),
    of("8-bit lanes", &[("store.narrow", "false")], SEARCHED),
    of("windows", &[("windows.shortest", "4294967295")], PSO),
    of("progressive relaxing", &[("windows.progressive", "false")], PSO),
    of("components", &[("tactics.components", "false")], SEARCHED),
    of(
        "other models",
        &[("tactics.other_models", "false")],
        Place::Memory(&[
            (Model::Sc, Model::Sc),
            (Model::Tso, Model::Tso),
            (Model::Pso, Model::Pso),
            (Model::Sc, Model::Ccm),
            (Model::Sc, Model::Cm),
        ]),
    ),
    of("downward sets", &[("tactics.sets_per_step", "0")], Place::Memory(&[(Model::Sc, Model::Sra)])),
    of(
        "near-first log",
        &[("causal.look_back", "0"), ("causal.look_back_per_thread", "0")],
        Place::Memory(&[(Model::Sc, Model::Cc)]),
    ),
    of("lasts", &[("causal.lasts", "false")], Place::Memory(&[(Model::Sc, Model::Ccv)])),
    of("cuts", &[("causal.cuts", "false")], Place::Memory(&[(Model::Sc, Model::Ccv)])),
    of(
        "clocks as lists",
        &[("causal.many_threads", "4294967295")],
        Place::Memory(&[(Model::Sc, Model::Cc), (Model::Sc, Model::Ccv), (Model::Sc, Model::Cm)]),
    ),
    of(
        "recent clocks",
        &[("causal.recent_clocks", "4294967295"), ("causal.recent_entries", "4294967295")],
        Place::Memory(&[(Model::Sc, Model::Cc), (Model::Sc, Model::Ccv)]),
    ),
    of("guess of copies (stack)", &[("stack.guess_share", "0")], Place::Object(Object::Stack)),
    of("guess of pending pops", &[("stack.pending_guesses", "0")], Place::Object(Object::Stack)),
    of("counts (stack)", &[("stack.counted_events", "0")], Place::Object(Object::Stack)),
    of("guess of copies (priority queue)", &[("priority_queue.rounds", "0")], Place::Object(Object::PriorityQueue)),
    of("guess of pending removals", &[("priority_queue.taken_steps", "0")], Place::Object(Object::PriorityQueue)),
    of(
        "counts (priority queue)",
        &[("priority_queue.few_calls", "18446744073709551615")],
        Place::Object(Object::PriorityQueue),
    ),
    of("nearby gaps", &[("priority_queue.reach", "0")], Place::Object(Object::PriorityQueue)),
];

/// What went, and what was measured when it went.
pub(super) const GONE: &[(&str, &str)] = &[
    (
        "two halves side by side",
        "a guessed cut between the halves was mostly wrong: 348 ms instead of 286 on the clock",
    ),
    ("windows for `sc` and `tso`", "3.25 times the time and 1.8 times the memory of plain saturation and search"),
    (
        "saturation goes on where a run is stuck",
        "of a run that is stuck, only the rest is saturated; before, up to 1.35 times the time of plain saturation",
    ),
    (
        "a window around the place where a run is stuck",
        "a conflict in the rest shows the violation: 1.71 times the time",
    ),
    ("huge pages", "0.1 ms at the start of the command was all they saved"),
];

impl Heuristic {
    /// The machines and models where it matters.
    pub(super) fn models(&self) -> &'static [(Model, Model)] {
        match self.at {
            Place::Memory(models) => models,
            Place::Object(_) => &[],
        }
    }

    /// Whether it matters at a point.
    pub(super) fn is_at(&self, point: Point) -> bool {
        match (&self.at, point) {
            (Place::Memory(models), Point::Memory(MemoryPoint { machine, model, .. })) => {
                models.contains(&(machine, model))
            }
            (Place::Object(object), Point::Object(config)) => config.object == *object,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knobs_of_the_heuristics_exist() {
        for heuristic in HEURISTICS {
            for (knob, value) in heuristic.off {
                let is_changed = match heuristic.at {
                    Place::Memory(_) => {
                        let mut knobs = memory::Knobs::default();
                        knobs.set(knob, value).expect("a knob");
                        knobs != memory::Knobs::default()
                    }
                    Place::Object(_) => {
                        let mut knobs = object::Knobs::DEFAULT;
                        knobs.set(knob, value).expect("a knob");
                        knobs != object::Knobs::DEFAULT
                    }
                };
                assert!(is_changed, "{knob}={value} switches nothing off");
            }
        }
    }
}
