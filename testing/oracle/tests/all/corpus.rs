//! Every verdict that the corpus states, against the oracle.

use std::fmt::Write as _;

use history::Execution;
use oracle::corpus::{Entry, OpenEntry, corpus, objects, open_corpus, write_expected};
use oracle::{EQUAL, IMPLICATIONS, Model, allowed, sources};

fn verdict(model: Model, execution: &Execution) -> &'static str {
    match model.applies(execution) {
        false => "error",
        true if allowed(model, execution) => "yes",
        true => "no",
    }
}

/// A history of the corpus: its file, its name, the verdicts that the file states, and those of the oracle.
type Judged = (String, String, String, String);

/// Compares what the files state with the oracle. With `SERIATIM_UPDATE_CORPUS` set, the lines are written anew.
fn compare(histories: &[Judged]) {
    let updates = std::env::var_os("SERIATIM_UPDATE_CORPUS").is_some();
    let mut wrong = String::new();
    for of_file in histories.chunk_by(|a, b| a.0 == b.0) {
        for (file, name, _, verdicts) in of_file.iter().filter(|(.., stated, verdicts)| stated != verdicts) {
            let _ = writeln!(wrong, "{file}: {name}:\n# @expect {verdicts}");
        }
        if updates {
            let verdicts: Vec<String> = of_file.iter().map(|(.., verdicts)| verdicts.clone()).collect();
            write_expected(&of_file[0].0, &verdicts);
        }
    }
    if updates {
        println!("written anew:\n{wrong}");
    } else {
        let help = "with SERIATIM_UPDATE_CORPUS=1 this test writes them";
        assert!(
            wrong.is_empty(),
            "by the oracle, these lines of testing/corpus/ should be as follows; {help}:\n{wrong}"
        );
    }
}

/// The verdicts of all models, as the corpus states them.
fn line(verdict: impl Fn(Model) -> &'static str) -> String {
    let stated = |&model: &Model| format!("{}={}", model.name(), verdict(model));
    Model::ALL.iter().map(stated).collect::<Vec<String>>().join(" ")
}

#[test]
fn every_stated_verdict_is_that_of_the_oracle() {
    let judge = |entry: Entry| {
        let verdicts = line(|model| verdict(model, &entry.execution));
        (entry.file, entry.name, entry.expect, verdicts)
    };
    compare(&corpus().into_iter().map(judge).collect::<Vec<Judged>>());
}

/// A history that leaves sources open satisfies a model if some choice of sources does. Such histories have files of
/// their own.
#[test]
fn every_stated_verdict_on_open_sources_is_that_of_the_oracle() {
    let corpus = open_corpus();
    assert!(corpus.len() >= 20);
    let judge = |entry: OpenEntry| {
        let executions = sources::executions(&entry.history, 10_000).expect("few choices");
        let is_allowed = |model| executions.iter().any(|execution| allowed(model, execution));
        let verdicts = line(|model| if is_allowed(model) { "yes" } else { "no" });
        (entry.file, entry.name, entry.expect, verdicts)
    };
    compare(&corpus.into_iter().map(judge).collect::<Vec<Judged>>());
}

#[test]
fn every_stated_verdict_on_objects_is_that_of_the_oracle() {
    let corpus = objects();
    assert!(corpus.len() >= 10);
    for entry in corpus {
        let verdict = if oracle::object::linearizable(&entry.history) { "yes" } else { "no" };
        assert_eq!(entry.expect, format!("linearizable={verdict}"), "{}: {}", entry.file, entry.name);
    }
}

#[test]
fn names_are_unique() {
    let open = open_corpus().into_iter().chain(objects()).map(|entry| entry.name);
    let mut names: Vec<String> = corpus().into_iter().map(|entry| entry.name).chain(open).collect();
    assert!(names.len() > 100);
    names.sort();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}

/// For each implication, some history separates the two models.
#[test]
fn the_corpus_separates_the_models() {
    let corpus = corpus();
    let says = |entry: &Entry, model: Model, verdict| entry.expected(model.name()) == Some(verdict);
    for &(strong, weak) in IMPLICATIONS.iter().filter(|pair| !EQUAL.contains(pair)) {
        let separates = |entry: &Entry| says(entry, weak, "yes") && says(entry, strong, "no");
        let (weak, strong) = (weak.name(), strong.name());
        assert!(corpus.iter().any(separates), "testing/corpus/ needs a history with {weak}=yes and {strong}=no");
    }
}

/// The verdicts that the papers and the specification state for histories of the corpus, by name.
#[test]
fn the_papers_verdicts_hold() {
    const CLAIMS: &[(&str, &str, &str)] = &[
        ("gcc-1a", "cm", "ccv tso"),
        ("gcc-1b", "ccv tso wccm", "cm ccm"),
        ("gcc-1c", "cm ccv", "ccm"),
        ("gcc-1d", "ccm", "wsc sc"),
        ("gcc-3", "cm ccv", "ccm wccm tso sc"),
        ("gcc-erratum-cc", "cc cm ccv tso", "ccm sc"),
        ("gcc-erratum-tso", "", "tso pso coherence cc"),
        ("wsc-1a", "sc", ""),
        ("wsc-1c", "wsc", "sc"),
        ("wsc-1c-fenced", "wtso", "tso"),
        ("wsc-1c-fenced-twice", "wpso", "pso"),
        ("wsc-3", "sc", ""),
        ("wsc-3-closed", "", "sc"),
        ("wsc-4-3", "sc", ""),
        ("wsc-5", "sc", ""),
        ("wsc-5-closed", "wsc", "sc"),
        ("vc-missed-violation", "", "sc"),
        ("rf-1-consistent", "ra", ""),
        ("rf-1-inconsistent", "", "ra"),
        ("rf-3-sra", "sra", "sc"),
        ("rf-3-ra", "ra", "sra"),
        ("rf-3-wra", "wra", "ra relaxed"),
        ("rf-3-relaxed", "relaxed rc20", "wra"),
        ("rf-10", "", "wra ra sra"),
        ("rf-erratum-algorithm-1", "", "wra"),
        ("rf-erratum-algorithm-3", "", "rc20 relaxed"),
        ("rf-erratum-algorithm-3-corr", "", "relaxed"),
        ("rf-second-rmw", "cc", "ra sra wra rc20 relaxed"),
        ("thin-air", "", "cc ccv cm ccm sc wsc tso wtso wccm pso wpso coherence ra sra wra rc20 relaxed"),
    ];
    let corpus = corpus();
    for (name, allowing, refusing) in CLAIMS {
        let entry = corpus.iter().find(|entry| entry.name == *name).unwrap_or_else(|| panic!("{name} is missing"));
        for (models, verdict) in [(allowing, "yes"), (refusing, "no")] {
            for model in models.split_whitespace() {
                assert_eq!(entry.expected(model), Some(verdict), "{name}: {model}");
            }
        }
    }
}
