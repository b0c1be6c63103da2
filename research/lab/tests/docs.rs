//! The pages of results are made of the raw data and of this code, and figures in prose are measured.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const PAGES: [&str; 3] = ["experiments.md", "experiments-mr.md", "experiments-rf.md"];

fn research() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Without line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn has_data(name: &str) -> bool {
    research().join(format!("data/{name}.tsv")).exists()
}

#[test]
fn pages_are_of_this_code() {
    let docs = research().join("docs");
    let pages = PAGES.map(|name| read(&docs.join(name)));
    let results = pages.each_ref().map(|page| flat(page.split_once("\n## Results\n").expect("results").1));
    for experiment in lab::papers::all() {
        let about = experiment.about();
        let heading = format!("## {} {} (`{}`) {} Setting: ", about.paper, about.figure, about.name, about.title);
        let page = results.iter().find(|page| page.contains(&heading));
        let page = page.unwrap_or_else(|| panic!("no page has {heading:?}: `lab pages` writes them"));
        assert!(page.contains(&format!("{} **", about.claim)), "the claim of {}", about.name);
        for paragraph in about.remarks.split("\n\n") {
            assert!(page.contains(&flat(paragraph)), "the remarks of {}: {paragraph}", about.name);
        }
        assert!(page.contains(&format!("| [`{}`](#", about.name)), "the comparison has no {}", about.name);
    }
    for page in &pages {
        for link in page.split("](pictures/").skip(1) {
            let name = link.split(')').next().unwrap_or_default();
            assert!(docs.join("pictures").join(name).exists(), "there is no picture {name}");
        }
    }
}

/// `lab pages` changes nothing: what the pages say, with every ratio and picture, is what the raw data say.
#[test]
fn pages_are_made_of_the_raw_data() {
    let docs = research().join("docs");
    let again = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(again.path().join("pictures")).expect("a folder");
    for page in PAGES {
        fs::copy(docs.join(page), again.path().join(page)).expect("a page");
    }
    lab::pages(&research().join("data"), again.path()).unwrap_or_else(|error| panic!("{error}"));
    for page in PAGES {
        assert!(read(&docs.join(page)) == read(&again.path().join(page)), "{page}: `lab pages` makes it anew");
    }
    for picture in fs::read_dir(again.path().join("pictures")).expect("a folder").flatten() {
        let name = picture.file_name();
        assert!(
            read(&picture.path()) == read(&docs.join("pictures").join(&name)),
            "{name:?}: `lab pages` makes it anew"
        );
    }
}

/// The page of the raw data names the experiments that have none, and no others.
#[test]
fn what_has_no_raw_data_is_named() {
    let page = read(&research().join("data/README.md"));
    let (_, list) = page.split_once("\n## Without raw data\n").expect("a list");
    let listed: BTreeSet<&str> = list.lines().filter_map(|line| line.strip_prefix("- `")?.split('`').next()).collect();
    let all = lab::papers::all();
    let missing: BTreeSet<&str> = all.iter().map(|it| it.about().name).filter(|name| !has_data(name)).collect();
    assert_eq!(listed, missing);
}

/// The figures of a text: numbers with a point, with a percent sign, or of three digits and more.
fn figures(text: &str) -> BTreeSet<String> {
    let is_part = |it: char| it.is_ascii_digit() || it == '.' || it == ',';
    let mut figures = BTreeSet::new();
    let mut rest = text;
    while let Some(start) = rest.find(|it: char| it.is_ascii_digit()) {
        let before = rest[..start].chars().next_back();
        let end = rest[start..].find(|it: char| !is_part(it)).map_or(rest.len(), |end| start + end);
        let number = rest[start..end].trim_end_matches(['.', ',']).replace(',', "");
        let is_percent = rest[end..].starts_with('%');
        // What is part of a word, such as the name of a figure, is none.
        let is_alone = before.is_none_or(|it| !it.is_alphanumeric() && it != '-' && it != '_');
        let digits = number.bytes().filter(u8::is_ascii_digit).count();
        if is_alone && (number.contains('.') || is_percent || digits >= 3) {
            figures.insert(number);
        }
        rest = &rest[end..];
    }
    figures
}

#[test]
fn figures_are_found_in_a_text() {
    let found = figures("In 5 of 1,390 streams 3.5 ms, 20% (wsc-fig12, T2x345), 12.");
    assert_eq!(found, ["1390", "20", "3.5"].map(str::to_owned).into());
}

/// A figure in a remark is in a table of the pages, in a verdict, or measured by hand with its command. So is every
/// figure of `docs/papers.md`.
#[test]
fn figures_in_prose_are_measured() {
    let mut known = figures(&read(&research().join("data/README.md")));
    let mut remarks = Vec::new();
    for experiment in lab::papers::all() {
        let about = experiment.about();
        known.extend(figures(about.claim));
        known.extend(figures(about.title));
        remarks.push((about.name, about.remarks));
    }
    for page in PAGES {
        let page = read(&research().join("docs").join(page));
        let (_, results) = page.split_once("\n## Results\n").expect("results");
        let is_measured = |line: &&str| line.starts_with('|') || line.starts_with("**");
        known.extend(results.lines().filter(is_measured).flat_map(figures));
        // Verdicts go over several lines.
        known.extend(
            results.split("\n\n").filter(|it| it.starts_with("**") || it.starts_with("Setting:")).flat_map(figures),
        );
    }
    for (name, remarks) in remarks {
        let unknown: Vec<String> = figures(remarks).difference(&known).cloned().collect();
        assert!(unknown.is_empty(), "the remarks of {name} have figures that are not measured: {unknown:?}");
    }
    let page = read(&research().join("../docs/papers.md"));
    let unknown: Vec<String> = figures(&page).difference(&known).cloned().collect();
    assert!(unknown.is_empty(), "docs/papers.md has figures that are not measured: {unknown:?}");
}
