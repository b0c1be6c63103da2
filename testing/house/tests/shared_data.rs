//! Says, in one line of every run, what became of the tests that read the histories of other tools.
//!
//! Those tests pass without that data, since not everybody has it. A run should not hide that.

use std::env;
use std::path::Path;

use house::{files, read, root, shown};

const VARIABLE: &str = "SERIATIM_SHARED_DATA";

fn main() {
    let here = Path::new(file!()).file_name().expect("a name");
    let readers: Vec<String> = ["crates", "testing"]
        .iter()
        .flat_map(|folder| files(&root().join(folder)))
        .filter(|file| file.components().any(|part| part.as_os_str() == "tests") && file.file_name() != Some(here))
        .chain(files(&root().join("crates")).into_iter().filter(|file| file.file_name() == Some(here)))
        .filter(|file| read(file).contains(VARIABLE))
        .map(|file| shown(&file))
        .collect();
    assert!(!readers.is_empty(), "no test reads shared data");
    match env::var_os(VARIABLE) {
        Some(folder) if Path::new(&folder).is_dir() => {
            println!("shared data: {} files of tests read it", readers.len());
        }
        Some(folder) => panic!("{VARIABLE} names {}, which is no folder", folder.display()),
        None => println!("shared data: {VARIABLE} is not set, so these read nothing: {}", readers.join(", ")),
    }
}
