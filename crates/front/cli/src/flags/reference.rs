//! The pages of docs/reference are made from the definitions of the flags, the models and the formats, and every
//! command that a page of the repository shows is one that the command takes.
//!
//! `SERIATIM_UPDATE_DOCS=1 cargo test -p seriatim-cli reference` writes the pages anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::builder::StyledStr;
use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory};
use format::Format;
use model::Model;

use super::{Flags, MOST_VALUES};

const MADE: &str = "<!-- Made from the code: SERIATIM_UPDATE_DOCS=1 cargo test -p seriatim-cli reference -->\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// All commands, with what they inherit.
fn commands() -> Command {
    let mut command = Flags::command();
    command.build();
    command
}

/// A text without markup outside of backquotes.
fn plain(text: &str) -> String {
    let pieces = text.split('`').enumerate();
    pieces
        .map(|(at, piece)| if at % 2 == 0 { piece.replace('<', "\\<") } else { piece.to_owned() })
        .collect::<Vec<_>>()
        .join("`")
}

/// A text of a help, as the cell of a table. Its paragraphs become sentences.
fn cell(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "));
    let ended = paragraphs.map(|it| it.trim_end_matches('.').to_owned());
    plain(&ended.collect::<Vec<_>>().join(". ").replace('|', "\\|"))
}

/// The longest help that there is.
fn long(long: Option<&StyledStr>, short: Option<&StyledStr>) -> String {
    long.or(short).map(ToString::to_string).unwrap_or_default()
}

/// What a flag takes, or where that is told.
fn values(flag: &Arg) -> String {
    let values = flag.get_possible_values();
    let names: Vec<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
    if !flag.get_action().takes_values() || names.is_empty() {
        return String::new();
    }
    for (one, page) in [
        (Model::Linearizable.name(), "[a model](../models.md)"),
        ("queue", "[an object](../../formats/text.md#objects)"),
        (Format::Axe.name(), "[a format](../formats.md)"),
    ] {
        if names.contains(&one) && names.len() > MOST_VALUES {
            return format!(" Takes {page}.");
        }
    }
    let told = values.iter().map(|value| match value.get_help() {
        Some(help) if names.len() <= 2 * MOST_VALUES => format!("`{}`: {}", value.get_name(), cell(&help.to_string())),
        _ => format!("`{}`", value.get_name()),
    });
    let between = if names.len() <= 2 * MOST_VALUES { "; " } else { ", " };
    format!(" Takes {}.", told.collect::<Vec<_>>().join(between))
}

fn row(flag: &Arg) -> String {
    let mut names: Vec<String> = flag.get_short().map(|short| format!("`-{short}`")).into_iter().collect();
    let takes = flag.get_action().takes_values();
    let value = flag.get_value_names().and_then(|names| names.first()).filter(|_| takes);
    names.extend(match (flag.get_long(), value) {
        (Some(long), Some(value)) => Some(format!("`--{long} {value}`")),
        (Some(long), None) => Some(format!("`--{long}`")),
        (None, value) => value.map(|value| format!("`{value}`")),
    });
    let mut help = cell(&long(flag.get_long_help(), flag.get_help()));
    help.push('.');
    let defaults: Vec<String> =
        flag.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
    let default =
        if takes && !defaults.is_empty() { format!(" Default: {}.", defaults.join(", ")) } else { String::new() };
    format!("| {} | {help}{}{default} |\n", names.join(", "), values(flag))
}

/// The sentence about the exit status at the end of a help.
fn status(command: &Command) -> String {
    let after = long(command.get_after_long_help(), command.get_after_help());
    let after = after.split_whitespace().collect::<Vec<_>>().join(" ");
    after.split_once("Exit status: ").map(|(_, rest)| rest.to_owned()).unwrap_or_default()
}

/// The page of a command.
fn page(command: &mut Command) -> String {
    let usage = command.render_usage().to_string();
    let mut text = format!("# `seriatim {}`\n\n{MADE}\n", command.get_name());
    let about = long(command.get_long_about(), command.get_about());
    for paragraph in about.split("\n\n") {
        let _ = writeln!(text, "{}\n", wrapped(paragraph));
    }
    let _ = writeln!(text, "```text\n{}\n```", usage.trim().trim_start_matches("Usage: "));
    let mut groups: BTreeMap<&str, String> = BTreeMap::new();
    let shown = command.get_arguments().filter(|flag| !flag.is_hide_set() && flag.get_id() != "help");
    for flag in shown {
        groups.entry(flag.get_help_heading().unwrap_or_default()).or_default().push_str(&row(flag));
    }
    for (heading, rows) in groups {
        let title = if heading.is_empty() { String::new() } else { format!("\n## {heading}\n") };
        let _ = write!(text, "{title}\n| flag | meaning |\n| --- | --- |\n{rows}");
    }
    let status = status(command);
    if !status.is_empty() {
        let _ = write!(text, "\n{}\n", wrapped(&format!("Exit status: {status}")));
    }
    text
}

/// Prose in lines of at most 120 characters.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in plain(text).split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > 120 {
            lines.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join("\n")
}

/// All pages, by their paths below docs/reference.
fn pages() -> BTreeMap<String, String> {
    let mut all = commands();
    let mut pages = BTreeMap::new();
    let mut table = format!(
        "# Commands\n\n{MADE}\nWhat `seriatim help COMMAND` prints, as pages.\n\n| command | what it does | exit \
         status |\n| --- | --- | --- |\n"
    );
    for command in all.get_subcommands_mut().filter(|command| command.get_name() != "help") {
        let name = command.get_name().to_owned();
        let about = cell(&command.get_about().map(ToString::to_string).unwrap_or_default());
        let status = cell(&status(command));
        assert!(!status.is_empty(), "the help of {name} does not tell its exit status");
        let _ = writeln!(table, "| [`{name}`](commands/{name}.md) | {about} | {status} |");
        pages.insert(format!("commands/{name}.md"), page(command));
    }
    pages.insert("commands.md".to_owned(), table);
    let mut models = format!(
        "# All models\n\n{MADE}\nWhat `seriatim models --long` prints, as a table. [models.md](../models.md) leads to \
         the definitions.\n\n| model | other names | asks that | polynomial | `monitor` |\n\
         | --- | --- | --- | --- | --- |\n"
    );
    let said = |is: bool| if is { "yes" } else { "" };
    for model in Model::every() {
        let aliases: Vec<String> = model.aliases().map(|alias| format!("`{alias}`")).collect();
        let _ = writeln!(
            models,
            "| `{model}` | {} | {} | {} | {} |",
            aliases.join(", "),
            cell(&model.summary()),
            said(model.row().polynomial),
            said(model.row().monitored),
        );
    }
    pages.insert("models.md".to_owned(), models);
    let about = wrapped(
        "The names that `--format` takes. [formats.md](../formats.md) says what each holds. A file without one of \
         these extensions is told by its content; `.gz` and `.zst` are left out.",
    );
    let head = "| `--format` | extensions | `convert --to` |\n| --- | --- | --- |\n";
    let mut formats = format!("# All formats\n\n{MADE}\n{about}\n\n{head}");
    for format in Format::ALL {
        let extensions: Vec<String> = format.extensions().iter().map(|it| format!("`.{it}`")).collect();
        let is_written = Format::WRITTEN.contains(&format);
        let _ = writeln!(formats, "| `{}` | {} | {} |", format.name(), extensions.join(", "), said(is_written));
    }
    pages.insert("formats.md".to_owned(), formats);
    pages
}

#[test]
fn the_pages_are_those_of_the_code() {
    let folder = root().join("docs/reference");
    let pages = pages();
    if std::env::var_os("SERIATIM_UPDATE_DOCS").is_some() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("commands")).expect("the folder can be made");
        for (name, text) in &pages {
            fs::write(folder.join(name), text).expect("the page can be written");
        }
        return;
    }
    for (name, text) in &pages {
        let there = fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert!(there == *text, "docs/reference/{name} is another: SERIATIM_UPDATE_DOCS=1 writes it");
    }
}

/// The words of a line for the shell, up to what the shell does itself. None if a quote does not end.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut found, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for character in line.chars() {
        match (quote, character) {
            (Some(open), it) if it == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '|' | '>' | ';' | '&' | '#' | '<') if word.is_none() => break,
            (None, ';') => break,
            (None, ' ') => found.extend(word.take()),
            (_, it) => word.get_or_insert_default().push(it),
        }
    }
    found.extend(word);
    quote.is_none().then_some(found)
}

/// The lines of the blocks `sh` and `console` of a page that call the command.
fn calls(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let block = block.join("\n").replace("\\\n", " ");
        for line in block.lines() {
            let line = match kind {
                "sh" => line,
                "console" => line.strip_prefix("$ ").unwrap_or_default(),
                _ => continue,
            };
            found.extend(line.starts_with("seriatim ").then(|| line.to_owned()));
        }
    }
    found
}

#[test]
fn every_command_that_a_page_shows_is_taken() {
    let mut pages = vec![root().join("README.md"), root().join("python/README.md"), root().join("RELEASING.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "md") {
                pages.push(entry);
            }
        }
    }
    let (mut seen, mut refused) = (0, Vec::new());
    for page in pages {
        // What the shell puts in is not known.
        for call in calls(&fs::read_to_string(&page).expect("a page")).into_iter().filter(|call| !call.contains('$')) {
            let words = words(&call).unwrap_or_else(|| panic!("{}: {call}", page.display()));
            seen += 1;
            if let Err(error) = super::command(false).try_get_matches_from(words)
                && !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
            {
                refused.push(format!("{}: {call}\n{error}", page.display()));
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(seen > 60, "{seen} commands");
}
