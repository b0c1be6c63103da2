//! The table of objects in docs/formats/text.md is that of the rows.
//!
//! `SERIATIM_UPDATE_DOCS=1 cargo test -p seriatim-history documents` writes it anew.

use std::fs;

use history::Object;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/formats/text.md");
const HEAD: &str = "| object | methods |\n| --- | --- |\n";

#[test]
fn the_table_of_objects_is_that_of_the_rows() {
    let document = fs::read_to_string(PATH).expect("the document is there");
    let (before, rest) = document.split_once(HEAD).expect("it has the table");
    let (_, after) = rest.split_once("\n\n").expect("text comes after the table");
    let line = |object: Object| match object.about() {
        "" => String::new(),
        about => format!("| `{}` | {about} |\n", object.name()),
    };
    let table: String = Object::ALL.into_iter().map(line).collect();
    let wanted = format!("{before}{HEAD}{table}\n{after}");
    if std::env::var_os("SERIATIM_UPDATE_DOCS").is_some() {
        fs::write(PATH, wanted).expect("the document can be written");
    } else {
        assert!(
            document == wanted,
            "the table of objects in docs/formats/text.md is another: SERIATIM_UPDATE_DOCS=1 writes it"
        );
    }
}
