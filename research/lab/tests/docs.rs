//! The pages of results say of each experiment what the code says, and have its pictures.

use std::path::Path;

const PAGES: [&str; 3] = ["experiments.md", "experiments-mr.md", "experiments-rf.md"];

/// Without line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn pages_are_of_this_code() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let pages = PAGES.map(|name| std::fs::read_to_string(docs.join(name)).expect("a page of results"));
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
