//! The checkers of MR on the histories of its experiments, where `SERIATIM_SHARED_DATA` names a folder that holds them.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;

use baseline::refinement::{ENUMERATE, Options, SATURATE, SYMBOLIC, check, counting};
use format::{ReadOptions, open};
use model::Verdict;
use object::ObjectHistory;

#[test]
fn the_small_scal_histories() {
    let Some(data) = env::var_os("SERIATIM_SHARED_DATA") else {
        eprintln!("skipped: SERIATIM_SHARED_DATA is not set");
        return;
    };
    let folder = Path::new(&data).join("violin");
    let verdicts = fs::read_to_string(folder.join("verdicts.tsv")).expect("the verdicts");
    let checkers = [
        ("ENUMERATE", ENUMERATE, false),
        ("SYMBOLIC", SYMBOLIC, false),
        ("SYMBOLIC with removal", SYMBOLIC, true),
        ("SATURATE", SATURATE, false),
        ("SATURATE with removal", SATURATE, true),
        ("COUNTING(2)", counting(2), false),
        ("COUNTING(4)", counting(4), false),
    ];
    let (mut histories, mut violations) = (0, 0);
    let mut found: BTreeMap<&str, u32> = BTreeMap::new();
    for line in verdicts.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[file, _, _, verdict] = &fields[..] else { panic!("{line}") };
        if !(file.starts_with("generated/small/") || file.starts_with("simple/")) {
            continue;
        }
        histories += 1;
        violations += u32::from(verdict == "violation");
        let mut reader = open(&folder.join(file), &ReadOptions::default()).expect("a file");
        let history = reader.next().expect("one history").expect("a good history");
        let view = ObjectHistory::new(&history).expect("an object history");
        for (name, checker, remove_matches) in checkers {
            let decision = check(&view, checker, &Options { remove_matches, ..Options::default() });
            let is_exact = [ENUMERATE, SYMBOLIC].contains(&checker) && !remove_matches;
            match decision.verdict {
                Verdict::Violation => assert_eq!(verdict, "violation", "{file}: {name}"),
                Verdict::Consistent => assert_eq!(verdict, "linearizable", "{file}: {name}"),
                Verdict::Unknown => assert!(!is_exact, "{file}: {name}: {:?}", decision.reason),
            }
            *found.entry(name).or_default() += u32::from(decision.verdict == Verdict::Violation);
        }
    }
    println!("{violations} violations in {histories} histories; found: {found:?}");
    assert!(histories >= 1000, "{histories}");
    // The paper found that SATURATE misses none of these.
    assert_eq!([found["SATURATE"], found["SATURATE with removal"]], [violations; 2]);
}
