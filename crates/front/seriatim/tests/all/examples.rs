//! The examples run, and what they assert holds.

#[path = "../../examples/check_a_file.rs"]
mod check_a_file;
#[path = "../../examples/embed_c11.rs"]
mod embed_c11;
#[path = "../../examples/mailbox.rs"]
mod mailbox;
#[path = "../../examples/model_checker.rs"]
mod model_checker;
#[path = "../../examples/monitor_beside.rs"]
mod monitor_beside;
#[path = "../../examples/own_object.rs"]
mod own_object;
#[path = "../../examples/own_verifier.rs"]
mod own_verifier;
#[path = "../../examples/record_a_queue.rs"]
mod record_a_queue;

#[test]
fn check_a_file() {
    check_a_file::main().unwrap();
}

#[test]
fn embed_c11() {
    embed_c11::main().unwrap();
}

#[test]
fn monitor_beside() {
    monitor_beside::main().unwrap();
}

#[test]
fn own_object() {
    own_object::main().unwrap();
}

#[test]
fn own_verifier() {
    own_verifier::main().unwrap();
}

#[test]
fn record_a_queue() {
    record_a_queue::main().unwrap();
}

/// The program that a tutorial shows is the example, and the example prints what the tutorial shows.
fn is_told(page: &str, example: &str, printed: &str) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read =
        |path: String| std::fs::read_to_string(folder.join(&path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let text = read(format!("../../../docs/tutorials/{page}.md"));
    let block =
        |kind: &str| text.split(&format!("\n```{kind}\n")).nth(1).unwrap().split("```").next().unwrap().to_owned();
    let source = read(format!("examples/{example}.rs"));
    // The head of the example says where it is shown.
    let (_, source) = source.split_once("\n\n").unwrap();
    assert!(block("rust") == source, "{page}: the program is not examples/{example}.rs");
    assert_eq!(block("text prints"), printed, "{page}");
}

#[test]
fn mailbox() {
    is_told("lock-free", "mailbox", &mailbox::tell());
    mailbox::main();
}

#[test]
fn model_checker() {
    is_told("model-checker", "model_checker", &model_checker::tell());
    model_checker::main();
}
