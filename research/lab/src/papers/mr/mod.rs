//! MR: *Monitoring Refinement via Symbolic Reasoning*, section 6.
//!
//! The histories are runs of ten structures ([`structures`], [`runs`]). With `SERIATIM_SHARED_DATA` set to a folder
//! that holds those of the paper (`violin/`), these are measured, too.

mod completeness;
mod runs;
mod scalability;
mod structures;

use std::path::PathBuf;

use baseline::refinement::{Checker, ENUMERATE, SATURATE, SYMBOLIC, counting};
use history::History;
use model::{Certificate, Model};
use object::ObjectHistory;

use crate::{Experiment, Series};

/// The experiments of the paper.
pub(super) fn all() -> Vec<Box<dyn Experiment>> {
    vec![
        Box::new(scalability::Scalability::STEPS),
        Box::new(scalability::Scalability::NORMALIZED),
        Box::new(completeness::Completeness),
    ]
}

/// A checker of the paper, and whether it forgets matches.
#[derive(Copy, Clone)]
struct Entrant {
    name: &'static str,
    checker: Checker,
    remove_matches: bool,
}

const fn entrant(name: &'static str, checker: Checker, remove_matches: bool) -> Entrant {
    Entrant { name, checker, remove_matches }
}

/// The checkers of Figures 12 and 13; COUNTING is in Figure 14 alone.
const ENTRANTS: [Entrant; 7] = [
    entrant("ENUMERATE", ENUMERATE, false),
    entrant("SYMBOLIC", SYMBOLIC, false),
    entrant("SYMBOLIC+R", SYMBOLIC, true),
    entrant("SATURATE", SATURATE, false),
    entrant("SATURATE+R", SATURATE, true),
    entrant("COUNTING(4)", counting(4), false),
    entrant("COUNTING(2)", counting(2), false),
];

/// The columns of Seriatim, without and with a certificate.
const OURS: &str = Series::OURS[0].name;
const CERTIFIED: &str = Series::OURS[1].name;

/// The series of these checkers of the paper, and of Seriatim.
fn series(entrants: &[Entrant]) -> Vec<Series> {
    entrants.iter().map(|it| Series::paper(it.name)).chain(Series::OURS).collect()
}

/// The certificate of a history, as `seriatim check --certificate` makes it.
fn certificate(history: &History, view: &ObjectHistory<'_>) -> Option<Certificate> {
    let options = object::ObjectOptions { witness: true, ..object::ObjectOptions::default() };
    Certificate::new(0, history, Model::Linearizable, &object::check(view, &options))
}

/// The histories of the paper in this folder, if there are any.
fn originals(folder: &str) -> Vec<PathBuf> {
    let Some(data) = std::env::var_os("SERIATIM_SHARED_DATA") else { return Vec::new() };
    let folder = PathBuf::from(data).join("violin/generated").join(folder);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

fn read(path: &std::path::Path) -> Result<History, String> {
    format::load(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use model::Verdict;
    use object::ObjectHistory;

    use super::runs::Run;
    use super::structures::STRUCTURES;

    fn is_linearizable(history: &history::History) -> bool {
        let view = ObjectHistory::new(history).expect("an object history");
        match object::check(&view, &object::ObjectOptions::default()).verdict {
            Verdict::Consistent => true,
            Verdict::Violation => false,
            Verdict::Unknown => panic!("these histories are decided"),
        }
    }

    /// Atomic structures are, and the others are not, on both kinds of runs; nothing is lost or doubled in any of them.
    #[test]
    fn structures_are_what_they_are_meant_to_be() {
        for structure in STRUCTURES {
            let mut violations = 0;
            for seed in 0..60 {
                let operations = if seed % 4 == 0 { 40 } else { 20 };
                let run = Run { structure, operations, inserts: 55, seed };
                for history in [run.scheduled().expect("a run to its end"), run.real()] {
                    assert_eq!(history.operations().len(), operations);
                    let is_good = is_linearizable(&history);
                    assert!(is_good || !structure.is_atomic, "{}, seed {seed}", structure.name);
                    violations += u32::from(!is_good);
                    let mut removed: Vec<i64> =
                        history.operations().iter().filter_map(|it| it.result.as_integer()).collect();
                    let count = removed.len();
                    removed.sort_unstable();
                    removed.dedup();
                    assert_eq!(removed.len(), count, "{}: a value is removed twice", structure.name);
                }
            }
            assert!(structure.is_atomic || violations > 10, "{}: {violations}", structure.name);
        }
    }
}
