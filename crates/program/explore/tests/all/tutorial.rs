//! The example of `docs/programs-rust.md` says what the document says.

#[path = "../../examples/spinlock.rs"]
#[allow(dead_code, missing_docs)]
mod spinlock;

#[test]
fn spinlocks() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/programs-rust.md");
    let document = std::fs::read_to_string(path).unwrap();
    let shown = document.split("--example spinlock\n").nth(1).unwrap().split("```").next().unwrap();
    let shown = shown.replace("\n  ", " ");
    // The file has another path when the example is part of a test.
    let bare = |text: &str| {
        let words = text.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
        words.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(bare(&spinlock::story()), bare(&shown));
}
