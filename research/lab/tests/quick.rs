//! All experiments run, quickly: algorithms agree, every experiment has tables, plots and a judgement.

use lab::{Options, Scale};

#[test]
fn all_experiments_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scale = Scale { is_quick: true, share: 100, limit: None, steps: None, distance: 4, seed: 1 };
    let options = Options { scale, folder: folder.path().to_owned(), resume: false, progress: false };
    let mut texts = Vec::new();
    let finished = lab::run(lab::papers::all(), &options, &mut |text| texts.push(text.to_owned()));
    let finished = finished.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(finished.len(), lab::papers::all().len());
    assert_eq!(texts.len(), finished.len() + 1, "one text for each, and the summary");
    for done in &finished {
        let name = done.experiment.about().name;
        assert!(!done.rows.all().is_empty(), "{name} measured nothing");
        assert!(done.rows.all().iter().all(|row| row.value.is_finite()), "{name}");
        assert!(!done.experiment.plots(&done.rows).is_empty(), "{name} has no plot");
        assert!(folder.path().join(format!("{name}.csv")).exists(), "{name}");
    }
    assert!(folder.path().join("report.md").exists());

    // The raw data are kept. A page keeps its head, and gets the results; the second time nothing changes.
    let data = tempfile::tempdir().expect("a temporary folder");
    let runs = [folder.path().to_owned()];
    let kept = lab::keep(&runs, data.path(), "A note.").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(kept.len(), finished.len());
    let docs = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(docs.path().join("pictures")).expect("a folder");
    let names = ["experiments.md", "experiments-mr.md", "experiments-rf.md"];
    for name in names {
        std::fs::write(docs.path().join(name), "# Head\n\n## Results\n\nOld.\n").expect("a page");
    }
    let write = || {
        lab::pages(data.path(), docs.path()).unwrap_or_else(|error| panic!("{error}"));
        names.map(|name| std::fs::read_to_string(docs.path().join(name)).expect("a page"))
    };
    let pages = write();
    assert_eq!(pages, write());
    for page in &pages {
        assert!(page.starts_with("# Head\n\n## Results\n\nSeriatim beside "), "{page}");
        assert!(page.split_whitespace().collect::<Vec<_>>().join(" ").contains(". A note. "), "{page}");
        assert!(!page.contains("Old."));
    }
    for done in &finished {
        let heading = format!("(`{}`)\n", done.experiment.about().name);
        assert_eq!(pages.iter().filter(|page| page.contains(&heading)).count(), 1, "{heading}");
    }
    // Without its raw data a section stays as it is, and says so; the claim is found again.
    std::fs::remove_file(data.path().join("wsc-fig6.tsv")).expect("raw data");
    let kept = write();
    assert!(kept[0].contains("Raw data: none.") && kept == write());
    let claim = |page: &str| {
        let line = page.lines().find(|line| line.starts_with("| [`wsc-fig6`]")).expect("a line").to_owned();
        line.split(" | ").nth(1).map(str::to_owned)
    };
    assert_eq!(claim(&kept[0]), claim(&pages[0]));
    // A run that is not finished is not kept.
    let state = folder.path().join("wsc-fig6.state");
    let text = std::fs::read_to_string(&state).expect("a state");
    let (whole, _) = text.trim_end().rsplit_once('\n').expect("lines");
    std::fs::write(&state, format!("{whole}\n")).expect("a state");
    let error = lab::keep(&runs, data.path(), "").expect_err("a sample is missing");
    assert!(error.contains("wsc-fig6.state: the run is not finished"), "{error}");
    std::fs::write(&state, text).expect("a state");

    // What was measured is not measured again.
    let again = Options { resume: true, ..options };
    let resumed = lab::run(lab::papers::all(), &again, &mut |_| ()).unwrap_or_else(|error| panic!("{error}"));
    for (first, second) in finished.iter().zip(&resumed) {
        let name = first.experiment.about().name;
        assert_eq!(first.rows.all().len(), second.rows.all().len(), "{name}");
        for (one, other) in first.rows.all().iter().zip(second.rows.all()) {
            // The last digit of a number may be lost on its way through the file.
            let is_same = (one.value - other.value).abs() <= one.value.abs() * 1e-12;
            let key = |row: &lab::Row| (row.point, row.sample, row.series.clone(), row.measure.clone());
            assert!(is_same && key(one) == key(other), "{name}: {one:?}, {other:?}");
        }
    }
}
