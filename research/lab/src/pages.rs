//! The pages of results in `research/docs`: each is a head, which is written by hand, and what the raw data say.

use std::fs;
use std::path::Path;

use crate::data::{self, Origin};
use crate::report::{Compared, STANDINGS};
use crate::runner::Finished;
use crate::{About, Standing, papers, report};

/// What ends the head of a page.
const RESULTS: &str = "\n## Results\n\n";
const PAGES: [&str; 3] = ["experiments.md", "experiments-mr.md", "experiments-rf.md"];
/// The folder of the raw data, as the pages name it.
const DATA: &str = "../data";
/// What a section says that is of a run whose raw data were not kept.
const NO_DATA: &str = "Raw data: none. What stands here is of an earlier run, and imputed times may be in it.";

/// The page of a paper.
pub(crate) fn file(paper: &str) -> &'static str {
    match paper {
        "MR" => "experiments-mr.md",
        "RF" => "experiments-rf.md",
        _ => "experiments.md",
    }
}

/// An experiment on a page.
enum Part {
    /// Made of raw data.
    Made(Box<Finished>, Origin),
    /// What the page had, without raw data.
    Kept(About, Section),
}

/// A section without raw data, taken apart.
struct Section {
    /// The setting, the tables and the pictures.
    middle: String,
    /// Whether the claim holds.
    verdict: String,
}

impl Section {
    /// The section of an experiment on a page.
    fn find(page: &str, about: &About) -> Option<Self> {
        let (_, rest) = page.split_once(&format!("## {}\n\n", report::heading(about)))?;
        let text = rest.split("\n## ").next()?;
        let (middle, rest) = text.split_once("\n\n")?.1.split_once("\n\n**")?;
        let verdict = format!("**{}**", rest.split_once("**")?.0);
        // The paragraph before the verdict is the claim.
        let middle = middle.rsplit_once("\n\n")?.0;
        let middle = middle.replace(&format!("\n\n{NO_DATA}"), "").replace("`bench paper", "`lab paper");
        Some(Self { middle, verdict })
    }

    fn standing(&self) -> Option<&'static (Standing, &'static str, &'static str)> {
        let verdict = self.verdict.split_whitespace().collect::<Vec<_>>().join(" ");
        STANDINGS.iter().find(|it| verdict.starts_with(&format!("**{}:", it.2)))
    }

    /// The ratios in the columns of its tables.
    fn ratios(&self) -> [Vec<f64>; 2] {
        let mut ratios = [Vec::new(), Vec::new()];
        let mut columns = None;
        for line in self.middle.lines() {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let place = |name: &str| cells.iter().position(|&cell| cell == name);
            if let Some(ours) = place("best of the paper / seriatim") {
                columns = Some([Some(ours), place("with certificate")]);
            } else if !line.starts_with('|') {
                columns = None;
            } else if let Some(columns) = columns {
                for (ratios, column) in ratios.iter_mut().zip(columns) {
                    ratios.extend(column.and_then(|at| cells.get(at)?.parse::<f64>().ok()));
                }
            }
        }
        ratios
    }
}

impl Part {
    fn about(&self) -> About {
        match self {
            Self::Made(done, _) => done.experiment.about(),
            Self::Kept(about, _) => *about,
        }
    }

    fn compared(&self, page: &str) -> Compared {
        let about = self.about();
        let link = report::link(&about, page);
        match self {
            Self::Made(done, _) => report::compared(done, link, format!("[data]({DATA}/{}.tsv)", about.name)),
            Self::Kept(_, section) => Compared {
                name: link,
                claim: section.standing().map_or("", |it| it.1),
                ratios: section.ratios(),
                data: "none".to_owned(),
            },
        }
    }

    fn section(&self) -> String {
        match self {
            Self::Made(done, origin) => {
                let Origin { commit, date, machine, note } = origin;
                let name = done.experiment.about().name;
                let note = if note.is_empty() { String::new() } else { format!(" {note}") };
                let link = format!("[{name}.tsv]({DATA}/{name}.tsv)");
                report::section_of(done, &format!(" Raw data: {link}, of commit {commit}, {date}, {machine}.{note}"))
            }
            Self::Kept(about, section) => {
                let is_claim = section.standing().is_some_and(|it| it.0 != Standing::NoClaim);
                let (setting, rest) = section.middle.split_once("\n\n").unwrap_or((&section.middle, ""));
                let middle = format!("{setting}\n\n{NO_DATA}\n\n{rest}");
                report::section(about, &middle, &section.verdict, is_claim)
            }
        }
    }
}

/// Makes the results on the pages in `docs` anew from the raw data, and the plots with them. The page of the first
/// papers compares the experiments of all papers. A section whose raw data were not kept stays, and says so.
///
/// The error says which file cannot be read or written, which page has no place for results, or which experiment has
/// neither raw data nor a section.
pub fn pages(data: &Path, docs: &Path) -> Result<(), String> {
    let read = |page: &str| {
        let path = docs.join(page);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let mut parts = Vec::new();
    for experiment in papers::all() {
        let about = experiment.about();
        let part = if data::file(data, about.name).exists() {
            let (done, origin) = data::read(data, about.name)?;
            Part::Made(Box::new(done), origin)
        } else {
            let section = Section::find(&read(file(about.paper))?, &about);
            let missing = || format!("{} has neither raw data nor a section", about.name);
            Part::Kept(about, section.ok_or_else(missing)?)
        };
        parts.push(part);
    }
    for page in PAGES {
        let text = read(page)?;
        let (head, _) = text.split_once(RESULTS).ok_or_else(|| format!("{page}: there is no heading {RESULTS:?}"))?;
        let is_here = |part: &&Part| file(part.about().paper) == page;
        let compared = parts.iter().filter(|part| page == PAGES[0] || is_here(part)).map(|part| part.compared(page));
        let table = report::comparison(&compared.collect::<Vec<_>>());
        let mut text = format!("{head}{RESULTS}{}\n", table.markdown());
        for part in parts.iter().filter(is_here) {
            text.push_str(&part.section());
            if let Part::Made(done, _) = part {
                report::draw(done, &docs.join(report::PICTURES))?;
            }
        }
        fs::write(docs.join(page), format!("{}\n", text.trim_end())).map_err(|error| format!("{page}: {error}"))?;
    }
    Ok(())
}
