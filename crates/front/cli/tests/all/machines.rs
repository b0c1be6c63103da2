//! `seriatim simulate`, `hunt` and `run`: what they print, and their exit status.

use crate::common;
use common::{Files, seriatim, seriatim_with};

#[test]
fn a_protocol_is_printed_as_a_table() {
    let ran = seriatim(["simulate", "--protocol", "mi", "--table"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.out.contains("\nM     Store         StoreHit, ProfileHit            -> M\n"), "{}", ran.out);
    let wrong = seriatim(["simulate", "--protocol", "mi", "--table", "--bug", "store-hit-profile-swapped"]);
    assert!(wrong.out.contains("\nM     Store         ProfileHit, StoreHit            -> M\n"), "{}", wrong.out);
    let two_levels = seriatim(["simulate", "--protocol", "mesi", "--table"]);
    assert!(two_levels.out.contains("\nsecond level\n") && two_levels.out.contains("\nmemory\n"), "{}", two_levels.out);
    let bugs = seriatim(["simulate", "--protocol", "amd", "--core", "tso", "--bugs"]);
    assert!(bugs.out.contains("dirty-as-clean") && bugs.out.contains("wrong-forwarding"), "{}", bugs.out);
}

#[test]
fn bad_input() {
    for (flags, message) in [
        (&["--bug", "typo"][..], "there are store-hit-profile-swapped, lost-invalidation"),
        (&["--bug", "load-not-squashed"], "has no bug"),
        (&["--threads", "0"], "1 to 64 caches"),
        (&["--threads", "65"], "1 to 64 caches"),
        (&["--locations", "0"], "locations"),
        (&["--block", "3"], "a block has 1, 2, 4 or 8 locations"),
        (&["--block", "16"], "a block has 1, 2, 4 or 8 locations"),
        (&["--cache", "0"], "at least one block"),
        (&["--second-level", "0"], "the second level must hold at least one block"),
        (&["--capacity", "0"], "capacity cannot be 0"),
        (&["--delay", "0"], "1 to 4096 ticks"),
        (&["--sharing", "0"], "at least one core uses a cache"),
        (&["--probe-filter", "--protocol", "mi"], "mi asks no caches that have no copy"),
        (&["--writes", "60", "--rmws", "50"], "more than 100 percent"),
        (&["--depth", "0"], "room for at least one"),
        (&["--idle", "100"], "does nothing"),
        (&["--hot", "101"], "are hot"),
        (&["--operations", "4294967295"], "too many"),
    ] {
        for command in ["simulate", "hunt"] {
            let ran = seriatim_with(&[&[command], flags].concat());
            assert_eq!(ran.status, 2, "{flags:?}: {ran:?}");
            assert!(ran.err.contains(message), "{flags:?}: {}", ran.err);
        }
    }
    for (flags, message) in [
        (&["--stride", "7"][..], "multiple of 8"),
        (&["--threads", "0"], "at least one thread"),
        (&["--instances", "0"], "1 to 1048576 instances"),
        (&["--instances", "1000000", "--locations", "1000"], "1 GB"),
        (&["--order", "seq-cst", "--model", "rc20", "--seconds", "0"], "rc20"),
        (&["--program", "no-such-file.litmus"], "no-such-file.litmus"),
    ] {
        let ran = seriatim_with(&[&["run"], flags].concat());
        assert_eq!(ran.status, 2, "{flags:?}: {ran:?}");
        assert!(ran.err.contains(message), "{flags:?}: {}", ran.err);
    }
}

#[test]
fn simulated_histories_are_those_of_the_model_that_the_cores_promise() {
    for (core, model) in [("in-order", "sc"), ("tso", "tso"), ("pso", "pso"), ("out-of-order", "sc")] {
        for protocol in ["mi", "mesi", "hammer", "amd"] {
            let flags = ["--protocol", protocol, "--core", core, "--histories", "3", "--operations", "100"];
            let ran = seriatim_with(&[&["simulate", "--check"], &flags[..]].concat());
            assert_eq!(ran.out, "3 histories, 300 operations: 0 in violation\n", "{ran:?}");
            assert_eq!(ran.status, 0);
            let blocking = ["--buffers", "1", "--victims", "lru", "--cache", "1", "--second-level", "1"];
            let ran = seriatim_with(&[&["simulate", "--check"], &flags[..], &blocking[..]].concat());
            assert_eq!(ran.out, "3 histories, 300 operations: 0 in violation\n", "{ran:?}");
        }
        let files = Files::new();
        let path = files.path("x.hist");
        let ran = seriatim(["simulate", "--core", core, "--rmws", "5", "--fences", "5", "-o", &path]);
        assert_eq!(ran.status, 0, "{ran:?}");
        assert_eq!(seriatim(["check", "--model", model, &path]).status, 0);
    }
}

/// Streams in the order of performance, from `simulate` and from `gen`, are right, and some are out of program order.
#[test]
fn performed_streams() {
    let files = Files::new();
    let path = files.path("stream.hist");
    let simulate = ["simulate", "--core", "out-of-order", "--order", "performed", "-o", &path];
    for command in [&simulate[..], &["gen", "--model", "sc-observed", "--operations", "500", "-o", &path]] {
        let ran = seriatim_with(command);
        assert_eq!(ran.status, 0, "{ran:?}");
        let ran = seriatim(["check", "--model", "sc-observed", &path]);
        assert_eq!(ran.status, 0, "{ran:?}");
        assert_eq!(seriatim(["monitor", "--model", "sc-observed", &path]).status, 0);
        let text = std::fs::read_to_string(&path).unwrap();
        let mut last = std::collections::HashMap::new();
        let is_early = text.lines().filter(|line| line.starts_with('[')).any(|line| {
            let thread = line.split(']').next().unwrap().to_owned();
            let index: u64 = line.rsplit("po=").next().unwrap().parse().unwrap();
            last.insert(thread, index).is_some_and(|before| before > index)
        });
        assert!(is_early, "all operations are in program order");
    }
    let wrong = ["simulate", "--core", "out-of-order", "--bug", "load-not-squashed", "--histories", "20"];
    let ran = seriatim_with(&[&wrong[..], &["--check", "--model", "sc-observed"]].concat());
    assert_eq!(ran.status, 1, "{ran:?}");
}

/// Observers agree with the central monitor, on right cores and on wrong ones.
#[test]
fn observers_ride_on_messages() {
    let flags = ["simulate", "--observe", "--json", "--core", "out-of-order", "--histories", "20"];
    for (bug, status) in [(&[][..], 0), (&["--bug", "load-not-squashed"], 1)] {
        let ran = seriatim_with(&[&flags[..], bug].concat());
        assert_eq!(ran.status, status, "{ran:?}");
        let totals: serde_json::Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
        assert_eq!((&totals["differences"], &totals["violations"]), (&0.into(), &totals["central"]), "{totals}");
        assert_eq!(i32::from(totals["violations"].as_u64() > Some(0)), status);
        // Four locations a block, two vectors each, of four entries.
        assert_eq!(totals["block"], 4 * 2 * 4 * 8);
        // Notices that take their time miss nothing, since operations are checked again.
        let lagging = seriatim_with(&[&flags[..], bug, &["--lag", "40"]].concat());
        let totals: serde_json::Value = serde_json::from_str(lagging.out.lines().last().unwrap()).unwrap();
        assert_eq!(totals["violations"], totals["central"], "{totals}");
        let cramped = seriatim_with(&[&flags[..], bug, &["--lag", "40", "--notices", "1"]].concat());
        let totals: serde_json::Value = serde_json::from_str(cramped.out.lines().last().unwrap()).unwrap();
        assert!(totals["violations"].as_u64() <= totals["central"].as_u64(), "{totals}");
        assert!(totals["dropped"].as_u64() > Some(0), "{totals}");
        assert!(totals["needed"].as_u64() < totals["carried"].as_u64(), "{totals}");
    }
    assert_eq!(seriatim(["simulate", "--json"]).status, 2);
    let shared = seriatim(["simulate", "--observe", "--sharing", "2"]);
    assert!(shared.status == 2 && shared.err.contains("a cache for each core"), "{shared:?}");
}

/// A load miss is answered from what the frame held before. The values have another order, so there is no violation,
/// neither for the observers nor for `check`.
#[test]
fn a_wrong_value_is_no_violation_of_an_order() {
    let run = ["simulate", "--protocol", "mi", "--bug", "fill-lost", "--seed", "10849667979899222076"];
    let ran = seriatim_with(&[&run[..], &["--check", "--model", "sc,sc-observed"]].concat());
    assert_eq!((ran.status, ran.out.as_str()), (0, "1 histories, 200 operations: 0 in violation\n"));
    let ran = seriatim_with(&[&run[..], &["--observe"]].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.out.contains(": event 9 returns 0, and 30 was stored last\n"), "{}", ran.out);
    assert!(ran.out.contains("violation: 0 by the observers, 0 by the central monitor"), "{}", ran.out);
    assert!(ran.out.contains("say different things: 0\n"), "{}", ran.out);
}

#[test]
fn a_hunt_finds_a_bug_and_shrinks_it() {
    let files = Files::new();
    let path = files.path("found.hist");
    let flags = ["hunt", "--protocol", "mi", "--bug", "store-hit-profile-swapped"];
    let page = files.path("found.html");
    let ran = seriatim_with(&[&flags[..], &["--output", &path, "--report", &page]].concat());
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(std::fs::read_to_string(&page).unwrap().contains("<html"));
    assert!(ran.out.starts_with("execution 0 of seed 0, after 1 executions, "), "{}", ran.out);
    let again = seriatim(["check", &path]);
    assert_eq!(again.status, 1, "{again:?}");
    let operations = std::fs::read_to_string(&path).unwrap().lines().filter(|line| line.starts_with('[')).count();
    assert!(operations <= 3, "{operations} operations");
    again_shows_it(&ran.out);
}

/// The command in the second line can be pasted, and shows the violation again.
fn again_shows_it(told: &str) {
    let line = told.lines().nth(1).expect("a command").trim();
    let words = line.strip_prefix("seriatim ").expect("a command of seriatim").split(' ');
    let again = seriatim_with(&words.collect::<Vec<_>>());
    assert_eq!(again.status, 1, "{line}\n{again:?}");
}

#[test]
fn the_command_of_a_hunt_names_the_protocol_the_bug_and_the_model() {
    for flags in [&["--protocol", "amd", "--bug", "exclusive-kept"][..], &["--core", "tso", "--model", "sc"]] {
        let ran = seriatim_with(&[&["hunt"], flags].concat());
        assert_eq!(ran.status, 1, "{ran:?}");
        again_shows_it(&ran.out);
    }
    let json = seriatim(["hunt", "--json", "--protocol", "amd", "--bug", "exclusive-kept"]);
    let finding: serde_json::Value = serde_json::from_str(json.out.lines().next().unwrap()).unwrap();
    let command = finding["command"].as_str().unwrap();
    assert!(command.starts_with("seriatim simulate --check --model sc --protocol moesi-amd --bug exclusive-kept "));
}

/// Without a name for the page, and without a file for the history.
#[test]
fn a_page_of_a_hunt_has_a_name_by_itself() {
    let files = Files::new();
    let flags = ["hunt", "--protocol", "mi", "--bug", "store-hit-profile-swapped", "--report"];
    let ran = common::ran(common::command().current_dir(files.path("")).args(flags).output().unwrap());
    assert_eq!(ran.status, 1, "{ran:?}");
    let page = std::fs::read_to_string(files.path("hunt.html")).unwrap();
    assert!(page.contains("seriatim simulate --check --model sc --protocol mi --bug store-hit-profile-swapped"));
}

#[test]
fn a_hunt_gives_the_same_answer_with_any_number_of_workers() {
    let flags = ["hunt", "--protocol", "amd", "--bug", "exclusive-kept", "--json"];
    let finding = |jobs: &str| {
        let ran = seriatim_with(&[&flags[..], &["--jobs", jobs]].concat());
        assert_eq!(ran.status, 1, "{ran:?}");
        ran.out.lines().next().unwrap().to_owned()
    };
    assert_eq!(finding("1"), finding("3"));
}

#[test]
fn a_hunt_goes_on_where_it_ended() {
    let files = Files::new();
    let path = files.path("resume");
    let flags = ["hunt", "--executions", "20", "--operations", "30", "--resume", &path];
    for next in ["20\n", "40\n"] {
        let ran = seriatim(flags);
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(ran.out.starts_with("sc: no violation in 20 executions"), "{}", ran.out);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), next);
    }
    std::fs::write(&path, "tomorrow").unwrap();
    assert_eq!(seriatim(flags).status, 2);
}

#[test]
fn a_stuck_memory_system_is_a_finding() {
    let flags = ["--protocol", "mesi", "--bug", "owner-not-noted"];
    let ran = seriatim_with(&[&["hunt", "--json"], &flags[..]].concat());
    assert_eq!(ran.status, 4, "{ran:?}");
    assert!(ran.out.contains("\"verdict\":\"stuck\"") && ran.out.contains("is not expected"), "{}", ran.out);
    let ran = seriatim_with(&[&["hunt"], &flags[..]].concat());
    let first = ran.out.lines().next().unwrap();
    let count: u64 = first.split_once(" of them stuck").unwrap().0.rsplit('(').next().unwrap().parse().unwrap();
    assert!(count > 0 && first.contains(" executions ("), "{first}");
    let ran = seriatim_with(&[&["simulate", "--check"], &flags[..]].concat());
    assert_eq!(ran.status, 4, "{ran:?}");
    assert!(ran.out.contains("the memory system does not go on"), "{}", ran.out);
    assert!(ran.out.ends_with("0 in violation, 1 stuck\n"), "{}", ran.out);
}

/// Each line of `--json` is an object, the last one has the totals.
#[test]
fn json() {
    let found = ["simulate", "--check", "--json", "--bug", "silent-upgrade", "--histories", "5"];
    for flags in [&found[..], &["hunt", "--json", "--executions", "5"], &["run", "--json", "--seconds", "0.1"]] {
        let ran = seriatim_with(flags);
        let lines: Vec<serde_json::Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (last, findings) = lines.split_last().unwrap();
        assert_eq!(last["kind"], "totals", "{ran:?}");
        assert!(findings.iter().all(|it| it["kind"] == "finding"), "{ran:?}");
        assert_eq!(ran.status, i32::from(!findings.is_empty()), "{ran:?}");
    }
}

const SB: &str = "X86 SB
{ x=0; y=0; }
 P0          | P1          ;
 MOV [x],$1  | MOV [y],$1  ;
 MOV EAX,[y] | MOV EAX,[x] ;
exists (0:EAX=0 /\\ 1:EAX=0)
";

/// What this machine's memory does is up to the machine. On x86, nothing breaks `tso`.
#[test]
fn this_machine() {
    let ran = seriatim(["run", "--seconds", "0.5", "--rmws", "5", "--fences", "5"]);
    assert!(ran.out.contains("\nsc: ") || ran.out.starts_with("sc: ") || ran.status == 0, "{ran:?}");
    if cfg!(target_arch = "x86_64") {
        assert!(ran.out.contains("\ntso: 0 executions in violation"), "{ran:?}");
    }
    // With sequentially consistent accesses every machine keeps sc.
    let ran = seriatim(["run", "--seconds", "0.3", "--order", "seq-cst", "--model", "sc"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let files = Files::new();
    let path = files.write("sb.litmus", SB);
    let ran = seriatim(["run", "--seconds", "0.2", "--program", &path]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.out.starts_with("Test SB Allowed\nHistogram (") && ran.out.contains("\nObservation SB "), "{ran:?}");
}

/// A test whose threads do other accesses for other values, and one that waits.
#[test]
fn litmus_tests_with_branches() {
    let files = Files::new();
    let branch = "C MP
{ [x] = 0; [y] = 0; }
P0 (atomic_int* x, atomic_int* y) { atomic_store(x, 1); atomic_store(y, 1); }
P1 (atomic_int* x, atomic_int* y) { int r0 = atomic_load(y); int r1 = 2; if (r0 == 1) { r1 = atomic_load(x); } }
~exists (1:r0=1 /\\ 1:r1=0)
";
    let ran = seriatim(["run", "--seconds", "0.2", "--program", &files.write("mp.litmus", branch)]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.out.contains("\nObservation MP Never 0 "), "{ran:?}");
    let forbidden = "C one
{ [x] = 0; }
P0 (atomic_int* x) { atomic_store(x, 1); }
~exists ([x]=1)
";
    let ran = seriatim(["run", "--seconds", "0.1", "--program", &files.write("one.litmus", forbidden)]);
    assert_eq!(ran.status, 1, "{ran:?}");
}
