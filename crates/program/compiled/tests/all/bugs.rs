//! Ten published bugs in C and C++, written from their descriptions (`tests/bugs`): each is found, and with `-DMENDED`
//! there is none in any execution.

use std::path::Path;

use compiled::{Compiled, Setup, explore};
use explore::Model;

const BUGS: [(&str, &str); 10] = [
    ("apache-21287.c", "double free"),
    ("chase-lev.c", "race"),
    ("double-checked.cpp", "race"),
    ("glibc-12674.c", "use after free"),
    ("mozilla-thread.cpp", "race"),
    ("pbzip2.cpp", "use after free"),
    ("postgres-latch.c", "assert"),
    ("seqlock.c", "assert"),
    ("shared-count.cpp", "use after free"),
    ("treiber-aba.c", "assert"),
];

#[test]
fn ten_bugs() {
    if !crate::own::has_compilers() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bugs");
    for (name, kind) in BUGS {
        let of = |flags: &[&str]| {
            let flags: Vec<_> = flags.iter().map(Into::into).collect();
            explore(&Compiled::new(&[folder.join(name)], &flags).unwrap(), &Setup::new(Model::C20)).unwrap()
        };
        let broken = of(&[]);
        let finding = broken.finding.as_ref().unwrap_or_else(|| panic!("{name}: {broken:#?}"));
        assert_eq!(finding.kind.name(), kind, "{name}: {broken:#?}");
        assert!(finding.places.iter().all(|place| place.call.file.ends_with(name)), "{name}: {broken:#?}");
        let mended = of(&["-DMENDED"]);
        assert!(mended.finding.is_none() && mended.is_complete, "{name}: {mended:#?}");
    }
}
