//! The pages of results in `research/docs`: each is a head, which is written by hand, and what the runs say.

use std::fs;
use std::path::{Path, PathBuf};

use crate::runner::Finished;
use crate::{papers, report};

/// What ends the head of a page.
const RESULTS: &str = "\n## Results\n\n";

/// The page of a paper.
pub(crate) fn file(paper: &str) -> &'static str {
    match paper {
        "MR" => "experiments-mr.md",
        "RF" => "experiments-rf.md",
        _ => "experiments.md",
    }
}

/// Replaces the results on the pages in `docs` by those of runs in these folders, and the plots with them. Of each
/// experiment the first run counts that is finished. The page of the first papers compares the experiments of all
/// papers. `note` is what is to be said of the runs.
///
/// The error says which file cannot be read or written, which page has no place for results, or which experiment has
/// no finished run.
pub fn pages(folders: &[PathBuf], docs: &Path, note: &str) -> Result<(), String> {
    let mut finished = Vec::new();
    for experiment in papers::all() {
        let name = experiment.about().name;
        let paths = folders.iter().map(|folder| folder.join(format!("{name}.state"))).filter(|path| path.exists());
        let mut told = format!("there is no {name}.state");
        let done = paths.into_iter().find_map(|path| match Finished::read(&*experiment, &path) {
            Ok(read) => Some(read),
            Err(error) => {
                told = error;
                None
            }
        });
        let (scale, rows) = done.ok_or(told)?;
        finished.push(Finished::new(experiment, scale, rows));
    }
    let pictures = docs.join(report::PICTURES);
    let all: Vec<&Finished> = finished.iter().collect();
    for page in ["experiments.md", "experiments-mr.md", "experiments-rf.md"] {
        let here: Vec<&Finished> =
            all.iter().copied().filter(|done| file(done.experiment.about().paper) == page).collect();
        let path = docs.join(page);
        let told = |error: std::io::Error| format!("{}: {error}", path.display());
        let text = fs::read_to_string(&path).map_err(told)?;
        let (head, _) = text
            .split_once(RESULTS)
            .ok_or_else(|| format!("{}: there is no heading {:?}", path.display(), RESULTS.trim()))?;
        let compared = if page == "experiments.md" { &all } else { &here };
        fs::write(&path, format!("{head}{RESULTS}{}", report::page(compared, &here, note))).map_err(told)?;
        for done in here {
            report::draw(done, &pictures)?;
        }
    }
    Ok(())
}
