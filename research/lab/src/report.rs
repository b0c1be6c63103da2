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
fn wrap(text: &str, most: usize) -> String {
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
const LINE: usize = 118;

fn verdict(done: &Finished) -> String {
    let standing = match done.judgement.standing {
        Standing::Holds => "The claim holds here",
        Standing::NotAll => "The claim does not hold here, or not all of it",
        Standing::NoClaim => "There is no claim. What was seen",
    };
    format!("{standing}: {}.", done.judgement.text)
}

/// The arguments of `bench` that measure the same.
fn command(done: &Finished) -> String {
    let (scale, mut text) = (&done.scale, format!("bench paper {}", done.experiment.about().name));
    if scale.is_quick {
        text.push_str(" --quick");
    } else {
        let _ = write!(text, " --share {}", scale.share);
    }
    if let Some(limit) = scale.limit {
        let _ = write!(text, " --limit {}", limit.as_secs_f64());
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

/// The comparison over experiments: the geometric mean over the points, without and with certificates.
fn comparison(finished: &[&Finished], name: impl Fn(&About) -> String) -> Table {
    let head = ["experiment", "claim", "best of the paper / seriatim", "with certificate", "least"];
    let title = "Seriatim beside the best algorithm of each paper: geometric mean over the points, and the least.";
    let mut table = Table::new(title, &head);
    let mut all = [Vec::new(), Vec::new()];
    let shown = |values: &[f64]| geometric_mean(values.iter().copied()).map_or_else(|| "-".to_owned(), ratio);
    let smallest = |both: &[Vec<f64>; 2]| {
        both.iter().flatten().copied().min_by(f64::total_cmp).map_or_else(|| "-".to_owned(), ratio)
    };
    for done in finished {
        let both = [Role::Ours, Role::OursCertified].map(|role| advantages(done, role));
        let claim = match done.judgement.standing {
            Standing::Holds => "holds",
            Standing::NotAll => "not all of it",
            Standing::NoClaim => "no claim",
        };
        let name = name(&done.experiment.about());
        table.line(vec![name, claim.to_owned(), shown(&both[0]), shown(&both[1]), smallest(&both)]);
        for (all, values) in all.iter_mut().zip(both) {
            all.extend(values);
        }
    }
    table.line(vec!["all points".to_owned(), String::new(), shown(&all[0]), shown(&all[1]), smallest(&all)]);
    table
}

/// The end of a run, as text: the comparison over all experiments.
pub(crate) fn summary(finished: &[&Finished]) -> String {
    let table = comparison(finished, |about| about.name.to_owned());
    format!("{}Machine: {}.\n", table.text(), machine_text::describe())
}

/// The heading of an experiment.
fn heading(about: &About) -> String {
    format!("{} {} (`{}`)", about.paper, about.figure, about.name)
}

/// Where the section of an experiment is: its page, if that is another than the page of `here`, and the heading.
fn link(about: &About, here: &str) -> String {
    let kept = |it: &char| it.is_alphanumeric() || " -".contains(*it);
    let anchor: String = heading(about).to_lowercase().chars().filter(kept).collect();
    let file = crate::pages::file(about.paper);
    let file = if file == here { "" } else { file };
    format!("[`{}`]({file}#{})", about.name, anchor.replace(' ', "-"))
}

/// The page of some experiments, without its head: the machine, what is to be said of the run, the comparison over
/// `all`, and a section for each of `here`.
pub(crate) fn page(all: &[&Finished], here: &[&Finished], note: &str) -> String {
    let file = here.first().map_or("", |done| crate::pages::file(done.experiment.about().paper));
    let machine = format!("Machine: {}. {note}", machine_text::describe());
    let mut page = format!("{}\n\n{}\n", wrap(&machine, LINE), comparison(all, |about| link(about, file)).markdown());
    for done in here {
        let about = done.experiment.about();
        let _ = write!(page, "## {}\n\n{}\n\n", heading(&about), wrap(about.title, LINE));
        let setting = format!("Setting: {} Run by `{}`.", done.experiment.setting(&done.scale), command(done));
        let _ = write!(page, "{}\n\n", wrap(&setting, LINE));
        for table in done.experiment.tables(&done.rows) {
            let _ = writeln!(page, "{}", table.markdown());
        }
        for name in plot_names(done) {
            let _ = writeln!(page, "![{} {}]({PICTURES}/{name})", about.paper, about.figure);
        }
        let whose = if done.judgement.standing == Standing::NoClaim { "" } else { "The paper: " };
        let claim = wrap(&format!("{whose}{}", about.claim), LINE);
        let _ = write!(page, "\n{claim}\n\n{}\n\n", wrap(&format!("**{}**", verdict(done)), LINE));
        for paragraph in about.remarks.split("\n\n").filter(|it| !it.is_empty()) {
            let _ = write!(page, "{}\n\n", wrap(paragraph, LINE));
        }
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
