//! What a run tells: text for the terminal, CSV, plots, and a page in Markdown.

use std::fmt::Write;
use std::fs;

use crate::runner::{Finished, Options};
use crate::table::{Table, advantage, ratio};
use crate::{Role, geometric_mean, machine_text};

fn write_file(options: &Options, name: &str, content: &str) -> Result<(), String> {
    let path = options.folder.join(name);
    fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))
}

/// The names of the plots of an experiment.
fn plot_names(done: &Finished) -> Vec<String> {
    let name = done.experiment.about().name;
    let count = done.experiment.plots(&done.rows).len();
    let letter = |at: usize| if count == 1 { String::new() } else { format!("-{}", (b'a' + at as u8) as char) };
    (0..count).map(|at| format!("{name}{}.svg", letter(at))).collect()
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
    write_file(options, &format!("{}.csv", about.name), &csv)?;
    for (name, plot) in plot_names(done).iter().zip(done.experiment.plots(&done.rows)) {
        write_file(options, name, &plot.svg())?;
    }
    Ok(())
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
    let holds = if done.judgement.holds { "holds here" } else { "does not hold here, or not all of it" };
    format!("The claim {holds}: {}.", done.judgement.text)
}

/// The text of an experiment for the terminal.
pub(crate) fn text(done: &Finished, options: &Options) -> String {
    let about = done.experiment.about();
    let mut text = format!("{}: {} {}. {}\n", about.name, about.paper, about.figure, about.title);
    for table in done.experiment.tables(&done.rows) {
        text.push_str(&table.text());
    }
    let _ = writeln!(text, "Setting: {}", done.experiment.setting(&options.scale));
    let _ = writeln!(text, "Claim: {}\n{}\n", about.claim, verdict(done));
    text
}

/// How Seriatim compares in one experiment: the geometric mean over the points, without and with certificates.
fn advantages(done: &Finished, role: Role) -> Vec<f64> {
    let series = done.experiment.series();
    (0..done.rows.points().len()).filter_map(|point| advantage(&series, &done.rows, point, role)).collect()
}

/// The end of a run: the comparison over all experiments, as text, and the page in Markdown.
pub(crate) fn summary(finished: &[Finished], options: &Options) -> (String, String) {
    let head = ["experiment", "claim", "best of the paper / seriatim", "with certificate", "least, with certificate"];
    let mut table =
        Table::new("Seriatim beside the best algorithm of each paper, geometric mean over the points.", &head);
    let mut all = [Vec::new(), Vec::new()];
    let shown = |values: &[f64]| geometric_mean(values.iter().copied()).map_or_else(|| "-".to_owned(), ratio);
    for done in finished {
        let both = [Role::Ours, Role::OursCertified].map(|role| advantages(done, role));
        let least = both.iter().flatten().copied().min_by(f64::total_cmp).map_or_else(|| "-".to_owned(), ratio);
        let claim = if done.judgement.holds { "holds" } else { "not all" };
        table.line(vec![
            done.experiment.about().name.to_owned(),
            claim.to_owned(),
            shown(&both[0]),
            shown(&both[1]),
            least,
        ]);
        for (all, values) in all.iter_mut().zip(both) {
            all.extend(values);
        }
    }
    table.line(vec!["all".to_owned(), String::new(), shown(&all[0]), shown(&all[1]), String::new()]);
    let scale = &options.scale;
    let size =
        if scale.is_quick { "quick".to_owned() } else { format!("{} percent of the papers' samples", scale.share) };
    let limit = scale.limit.map_or_else(|| "of each experiment".to_owned(), |limit| format!("{limit:?}"));
    let machine =
        format!("Machine: {}. Seed {}; size: {size}; time limit: {limit}.", machine_text::describe(), scale.seed);
    let text = format!("{}{machine}\n", table.text());
    let mut page = format!("{}\n\n{}\n", wrap(&machine, LINE), table.markdown());
    for done in finished {
        let about = done.experiment.about();
        let _ =
            write!(page, "## {} {} (`{}`)\n\n{}\n\n", about.paper, about.figure, about.name, wrap(about.title, LINE));
        let _ = write!(page, "{}\n\n", wrap(&format!("Setting: {}", done.experiment.setting(scale)), LINE));
        for table in done.experiment.tables(&done.rows) {
            let _ = writeln!(page, "{}", table.markdown());
        }
        for name in plot_names(done) {
            let _ = writeln!(page, "![{} {}](pictures/{name})", about.paper, about.figure);
        }
        let claim = wrap(&format!("The paper: {}", about.claim), LINE);
        let _ = write!(page, "\n{claim}\n\n{}\n\n", wrap(&format!("**{}**", verdict(done)), LINE));
    }
    (text, page)
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
}
