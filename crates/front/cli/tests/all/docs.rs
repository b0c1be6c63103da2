//! The examples of the documents are true.

use crate::common;
use std::path::Path;

use common::{Files, seriatim, seriatim_with};

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every `` `MODEL` allows …: `` and `` `MODEL` forbids …: `` of `docs/models` stands before a history that shows it.
#[test]
fn models() {
    let text: String = ["stores", "causal", "c11", "objects", "levels"]
        .map(|page| document(&format!("docs/models/{page}.md")))
        .concat();
    let mut lines = text.lines();
    let mut shown = Vec::new();
    let files = Files::new();
    while let Some(line) = lines.next() {
        let Some((model, words)) = line.strip_prefix('`').and_then(|line| line.split_once("` ")) else { continue };
        let verdict = match words.split(' ').next() {
            Some("allows") => "consistent",
            Some("forbids") => "violation",
            _ => continue,
        };
        let history: Vec<&str> =
            lines.by_ref().skip_while(|line| *line != "```text").skip(1).take_while(|line| *line != "```").collect();
        let path = files.write("example.hist", &(history.join("\n") + "\n"));
        let ran = seriatim(["check", "--quiet", "--json", "--model", model, &path]);
        assert!(ran.out.contains(&format!("\"verdict\":\"{verdict}\"")), "{line}\n{history:#?}\n{ran:?}");
        shown.push((model.to_owned(), verdict));
    }
    // Of the forms of isolation levels without sessions and in real time, one each is shown.
    let others = ["sessionless-serializable", "strict-serializable"];
    let is_plain = |model: &model::Model| {
        let isolation = model.isolation();
        isolation.is_none_or(|it| it.sessions == model::Sessions::Session) || others.contains(&model.name())
    };
    for model in model::Model::every().filter(is_plain) {
        for verdict in ["consistent", "violation"] {
            assert!(shown.contains(&(model.name().to_owned(), verdict)), "there is no {verdict} example of {model}");
        }
    }
}

/// The pictures of `docs/models.md` are those that the command draws.
#[test]
fn lattice() {
    let files = Files::new();
    for (name, flags) in [("lattice.svg", &["models"][..]), ("levels.svg", &["models", "--levels"])] {
        let path = files.path(name);
        let arguments: Vec<&str> = flags.iter().copied().chain(["--svg", path.as_str()]).collect();
        let ran = seriatim_with(&arguments);
        assert_eq!(ran.status, 0, "{ran:?}");
        let drawn = std::fs::read_to_string(path).unwrap();
        let again = format!("draw it again: seriatim {} --svg docs/{name}", flags.join(" "));
        assert!(drawn == document(&format!("docs/{name}")), "{again}");
    }
}

/// The answer that the README shows is the answer of the command.
#[test]
fn readme() {
    let text = document("README.md");
    let shown = text.split("The answer:\n\n```text\n").nth(1).unwrap().split("```").next().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let output = common::command().current_dir(root).args(["check", "examples/message-passing.hist"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), shown);
}

/// The drawing that `docs/explain.md` shows is the one of the command, and so are the pictures.
#[test]
fn explain() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let told = |arguments: &[&str]| {
        let output = common::command().current_dir(&root).arg("explain").args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let text = document("docs/explain.md");
    let shown = text.split("store-buffering.hist -->\n```text\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(told(&["examples/store-buffering.hist"]), shown);
    for name in ["message-passing", "two-replicas"] {
        let drawn = told(&["--to", "svg", &format!("examples/{name}.hist")]);
        assert!(drawn == document(&format!("docs/pictures/{name}.svg")), "draw {name} again: docs/pictures/explain.sh");
    }
    let readme = document("README.md");
    let drawing = readme.split("    alice  ").nth(1).unwrap().split("```").next().unwrap();
    assert!(told(&["--width", "80", "examples/message-passing.hist"]).contains(drawing), "{drawing}");
}
