//! What a run tells: text for the terminal, CSV, plots, and a page in Markdown.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::runner::{Finished, Options};
use crate::table::{Table, advantage, ratio};
use crate::{About, Role, Standing, geometric_mean, machine_text};

/// The folder of the plots, beside the page.
pub(crate) const PICTURES: &str = "pictures";

fn write_file(folder: &Path, name: &str, content: &str) -> Result<(), String> {
    let path = folder.join(name);
    fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))
}

/// The names of the plots of an experiment.
fn plot_names(done: &Finished) -> Vec<String> {
    let name = done.experiment.about().name;
    let count = done.experiment.plots(&done.rows).len();
    let letter = |at: usize| if count == 1 { String::new() } else { format!("-{}", (b'a' + at as u8) as char) };
    (0..count).map(|at| format!("{name}{}.svg", letter(at))).collect()
}

/// Writes the plots of an experiment into a folder.
pub(crate) fn draw(done: &Finished, folder: &Path) -> Result<(), String> {
    for (name, plot) in plot_names(done).iter().zip(done.experiment.plots(&done.rows)) {
        write_file(folder, name, &plot.svg())?;
    }
    Ok(())
}

/// Writes the values and the plots of an experiment.
pub(crate) fn write(done: &Finished, options: &Options) -> Result<(), String> {
    let about = done.experiment.about();
    let mut csv = "experiment,point,sample,series,measure,value\n".to_owned();
    for row in done.rows.all() {
        let label = &done.rows.points()[row.point].label;
        let _ = writeln!(
            csv,
            "{},\"{label}\",{},\"{}\",\"{}\",{}",
            about.name, row.sample, row.series, row.measure, row.value
        );
    }
    write_file(&options.folder, &format!("{}.csv", about.name), &csv)?;
    let pictures = options.folder.join(PICTURES);
    fs::create_dir_all(&pictures).map_err(|error| format!("{}: {error}", pictures.display()))?;
    draw(done, &pictures)
}

/// Breaks a text into lines of at most so many characters, at spaces.
pub(crate) fn wrap(text: &str, most: usize) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let size = word.chars().count();
        if length > 0 && length + 1 + size > most {
            lines.push('\n');
            length = 0;
        } else if length > 0 {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += size;
    }
    lines
}

/// How long a line of the page is at most, tables apart.
pub(crate) const LINE: usize = 118;

fn verdict(done: &Finished) -> String {
    let standing = STANDINGS.iter().find(|it| it.0 == done.judgement.standing).map_or("", |it| it.2);
    format!("{standing}: {}.", done.judgement.text)
}

/// The command that measures the same.
pub(crate) fn command(done: &Finished) -> String {
    let (scale, mut text) = (&done.scale, format!("lab paper {}", done.experiment.about().name));
    if scale.is_quick {
        text.push_str(" --quick");
    } else {
        let _ = write!(text, " --share {}", scale.share);
    }
    if let Some(limit) = scale.limit {
        let _ = write!(text, " --limit {}", limit.as_secs_f64());
    }
    if let Some(steps) = scale.steps {
        let _ = write!(text, " --steps {steps}");
    }
    let _ = write!(text, " --distance {} --seed {}", scale.distance, scale.seed);
    text
}

/// The text of an experiment for the terminal.
pub(crate) fn text(done: &Finished) -> String {
    let about = done.experiment.about();
    let mut text = format!("{}: {} {}. {}\n", about.name, about.paper, about.figure, about.title);
    for table in done.experiment.tables(&done.rows) {
        text.push_str(&table.text());
    }
    let _ = writeln!(text, "Setting: {}\nRun: {}", done.experiment.setting(&done.scale), command(done));
    let _ = writeln!(text, "Claim: {}\n{}\n", about.claim, verdict(done));
    text
}

/// How Seriatim compares in one experiment, by point.
fn advantages(done: &Finished, role: Role) -> Vec<f64> {
    let series = done.experiment.series();
    (0..done.rows.points().len()).filter_map(|point| advantage(&series, &done.rows, point, role)).collect()
}

/// What the comparison says of an experiment.
pub(crate) struct Compared {
    pub(crate) name: String,
    /// Whether the claim holds, in short.
    pub(crate) claim: &'static str,
    /// By point: how many times as long the best of the paper takes, without and with certificates.
    pub(crate) ratios: [Vec<f64>; 2],
    /// Where the raw data is.
    pub(crate) data: String,
}

/// What became of a claim, in short and at the beginning of a sentence.
pub(crate) const STANDINGS: [(Standing, &str, &str); 3] = [
    (Standing::Holds, "holds", "The claim holds here"),
    (Standing::NotAll, "not all of it", "The claim does not hold here, or not all of it"),
    (Standing::NoClaim, "no claim", "There is no claim. What was seen"),
];

pub(crate) fn compared(done: &Finished, name: String, data: String) -> Compared {
    let of = |standing| STANDINGS.iter().find(|it| it.0 == standing).map_or("", |it| it.1);
    let ratios = [Role::Ours, Role::OursCertified].map(|role| advantages(done, role));
    Compared { name, claim: of(done.judgement.standing), ratios, data }
}

/// The comparison over experiments: the geometric mean over the points, without and with certificates.
pub(crate) fn comparison(compared: &[Compared]) -> Table {
    let head = ["experiment", "claim", "best of the paper / seriatim", "with certificate", "least", "raw data"];
    let title = "Seriatim beside the best algorithm of each paper: geometric mean over the points, and the least.";
    let mut table = Table::new(title, &head);
    let mut all = [Vec::new(), Vec::new()];
    let shown = |values: &[f64]| geometric_mean(values.iter().copied()).map_or_else(|| "-".to_owned(), ratio);
    let smallest = |both: &[Vec<f64>; 2]| {
        both.iter().flatten().copied().min_by(f64::total_cmp).map_or_else(|| "-".to_owned(), ratio)
    };
    for it in compared {
        let [ours, certified] = &it.ratios;
        let least = smallest(&it.ratios);
        table.line(vec![it.name.clone(), it.claim.to_owned(), shown(ours), shown(certified), least, it.data.clone()]);
        for (all, values) in all.iter_mut().zip(&it.ratios) {
            all.extend(values);
        }
    }
    let least = smallest(&all);
    table.line(vec!["all points".to_owned(), String::new(), shown(&all[0]), shown(&all[1]), least, String::new()]);
    table
}

/// The end of a run, as text: the comparison over all experiments.
pub(crate) fn summary(finished: &[&Finished]) -> String {
    let row = |done: &&Finished| compared(done, done.experiment.about().name.to_owned(), String::new());
    let table = comparison(&finished.iter().map(row).collect::<Vec<_>>());
    format!("{}Machine: {}.\n", table.text(), machine_text::describe())
}

/// The heading of an experiment.
pub(crate) fn heading(about: &About) -> String {
    format!("{} {} (`{}`)", about.paper, about.figure, about.name)
}

/// Where the section of an experiment is: its page, if that is another than the page of `here`, and the heading.
pub(crate) fn link(about: &About, here: &str) -> String {
    let kept = |it: &char| it.is_alphanumeric() || " -".contains(*it);
    let anchor: String = heading(about).to_lowercase().chars().filter(kept).collect();
    let file = crate::pages::file(about.paper);
    let file = if file == here { "" } else { file };
    format!("[`{}`]({file}#{})", about.name, anchor.replace(' ', "-"))
}

/// A section that is written in parts.
pub(crate) fn section(about: &About, middle: &str, verdict: &str, is_claim: bool) -> String {
    let mut text = format!("## {}\n\n{}\n\n{middle}\n\n", heading(about), wrap(about.title, LINE));
    let whose = if is_claim { "The paper: " } else { "" };
    let _ = write!(text, "{}\n\n{verdict}\n\n", wrap(&format!("{whose}{}", about.claim), LINE));
    for paragraph in about.remarks.split("\n\n").filter(|it| !it.is_empty()) {
        let _ = write!(text, "{}\n\n", wrap(paragraph, LINE));
    }
    text
}

/// The section of an experiment that has run. `data` is what is to be said of its raw data.
pub(crate) fn section_of(done: &Finished, data: &str) -> String {
    let about = done.experiment.about();
    let samples: u32 = done.rows.points().iter().map(|point| point.samples).sum();
    let share = match done.scale.share {
        _ if done.scale.is_quick => String::new(),
        100 => format!(" {samples} samples."),
        share => format!(" {samples} samples, {share}% of the number above."),
    };
    let setting = done.experiment.setting(&done.scale);
    let setting = format!("Setting: {setting}{share} Run by `{}`.{data}", command(done));
    let mut middle = format!("{}\n\n", wrap(&setting, LINE));
    for table in done.experiment.tables(&done.rows) {
        let _ = writeln!(middle, "{}", table.markdown());
    }
    for name in plot_names(done) {
        let _ = writeln!(middle, "![{} {}]({PICTURES}/{name})", about.paper, about.figure);
    }
    let is_claim = done.judgement.standing != Standing::NoClaim;
    section(&about, middle.trim_end(), &wrap(&format!("**{}**", verdict(done)), LINE), is_claim)
}

/// The page of a run: the machine, the comparison, and a section for each experiment.
pub(crate) fn page(all: &[&Finished]) -> String {
    let row = |done: &&Finished| compared(done, link(&done.experiment.about(), ""), String::new());
    let table = comparison(&all.iter().map(row).collect::<Vec<_>>());
    let mut page = format!("Machine: {}.\n\n{}\n", machine_text::describe(), table.markdown());
    for done in all {
        page.push_str(&section_of(done, ""));
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_spaces() {
        assert_eq!(wrap("one two three", 7), "one two\nthree");
        assert_eq!(wrap("one  two\nthree", 100), "one two three");
        assert_eq!(wrap("a-very-long-word b", 5), "a-very-long-word\nb");
    }

    #[test]
    fn links_go_to_headings() {
        let find = |name| crate::select(name).expect("an experiment").remove(0).about();
        assert_eq!(link(&find("wsc-fig6"), "experiments.md"), "[`wsc-fig6`](#wsc-figure-6-wsc-fig6)");
        let file = "experiments-rf.md";
        assert_eq!(link(&find("rf-triangles"), ""), format!("[`rf-triangles`]({file}#rf-theorem-17-rf-triangles)"));
    }
}
