//! Runs that are stopped and resumed (`--state`), and corpora that are split (`--shard`, `merge`).

use crate::common;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Files, GOOD, Ran, STALE, STORE_BUFFERING, command, ran, seriatim, seriatim_with};

/// A corpus of histories of all kinds: good and bad ones, some that cannot be read, and some without a verdict.
fn corpus(files: &Files, count: usize) -> String {
    let kinds = [GOOD, STALE, STORE_BUFFERING, "[0] q\n", "# @name n\n[0] w x 1\n[0] w x 1\n[1] r x 1\n"];
    let mut text = String::new();
    for number in 0..count {
        let kind = kinds[number * number % kinds.len()];
        let _ = write!(text, "{kind}[7] w y{number} 1\n---\n");
    }
    files.write("corpus.hist", text)
}

/// The output without what differs from run to run: the times.
fn timeless(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        match serde_json::from_str::<serde_json::Value>(line) {
            Ok(mut record) if record.is_object() => {
                for field in ["parse_micros", "check_micros"] {
                    record.as_object_mut().unwrap().remove(field);
                }
                let _ = writeln!(out, "{record}");
            }
            _ => {
                let _ = writeln!(out, "{line}");
            }
        }
    }
    out
}

/// What counts of a run. The remark about a state is left out.
fn essence(ran: &Ran) -> (i32, String, String) {
    let err: Vec<&str> = ran.err.lines().filter(|line| !line.contains(" decided in ")).collect();
    let err = err.join("\n");
    (ran.status, timeless(&ran.out), err.replace("seriatim merge:", "seriatim check:"))
}

/// How often each input is recorded in a state, and whether the run is finished.
fn records(state: &str) -> (BTreeMap<(u64, u64), usize>, bool) {
    let bytes = fs::read(state).unwrap();
    let mut rest = &bytes["seriatim state 1\n".len()..];
    let (mut counts, mut is_finished) = (BTreeMap::new(), false);
    while rest.len() >= 8 {
        let length = u32::from_le_bytes(rest[..4].try_into().unwrap()) as usize;
        let Some(body) = rest.get(8..8 + length) else { break };
        match body[0] {
            1 => {
                let mut at = 1;
                let mut number = || {
                    let mut number = 0;
                    for shift in (0..).step_by(7) {
                        at += 1;
                        number |= u64::from(body[at - 1] & 127) << shift;
                        if body[at - 1] < 128 {
                            break;
                        }
                    }
                    number
                };
                *counts.entry((number(), number())).or_insert(0) += 1;
            }
            2 => is_finished = true,
            _ => {}
        }
        rest = &rest[8 + length..];
    }
    (counts, is_finished)
}

/// Pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[cfg(unix)]
#[test]
fn a_run_that_is_killed_again_and_again_ends_as_if_it_were_not() {
    const KILLS: usize = 25;
    let files = Files::new();
    let (count, hard_count) = (9000, "4500");
    let easy = corpus(&files, count);
    let hard = &files.path("hard.hist");
    let flags = ["--threads", "5", "--operations", "30", "--values", "3", "--histories", hard_count, "-o", hard];
    assert_eq!(seriatim_with(&[&["gen", "--object", "queue"], &flags[..]].concat()).status, 0);
    let mut random = Random(7);
    for (mode, jobs) in [("--json", "3"), ("--timeout=60", "1")] {
        let state = &files.path(&format!("state{mode}"));
        let base = ["check", mode, "--jobs", jobs, "--algorithm", "search", "-m", "sc,linearizable", &easy, hard];
        let whole = seriatim_with(&base);
        let stateful = [&base[..], &["--state", state]].concat();
        let (mut kills, mut before) = (0, 0);
        let last = loop {
            let run = || Command::new(env!("CARGO_BIN_EXE_seriatim"));
            if kills == KILLS {
                break ran(command().args(&stateful).output().unwrap());
            }
            let mut child = run().args(&stateful).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            // Some are killed before they record anything, others some time after.
            let begin = Instant::now();
            let grown = || fs::metadata(state).map_or(0, |data| data.len()) > before;
            let waits = kills % 5 > 0;
            while waits && !grown() && begin.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none()
            {
                std::thread::sleep(Duration::from_micros(200));
            }
            std::thread::sleep(Duration::from_micros(random.below(if waits { 4000 } else { 20_000 })));
            child.kill().unwrap();
            let is_killed = std::os::unix::process::ExitStatusExt::signal(&child.wait().unwrap()) == Some(9);
            assert!(is_killed, "the run was over after {kills} kills");
            kills += 1;
            if fs::metadata(state).is_ok_and(|data| data.len() > 17) {
                let (counts, is_finished) = records(state);
                assert!(counts.values().all(|&times| times == 1) && !is_finished);
                before = fs::metadata(state).unwrap().len();
            }
        };
        assert_eq!(essence(&last), essence(&whole));
        let (counts, is_finished) = records(state);
        // Nothing that was recorded was decided again.
        assert_eq!((counts.len(), is_finished), (count + 4500, true));
        assert!(counts.values().all(|&times| times == 1));
        // Now there is nothing left to do.
        let length = fs::metadata(state).unwrap().len();
        let again = seriatim_with(&stateful);
        assert!(again.err.contains("the run is finished"), "{}", again.err);
        assert_eq!(essence(&again), essence(&whole));
        assert_eq!(fs::metadata(state).unwrap().len(), length);
    }
}

#[test]
fn a_state_that_is_cut_off_or_damaged_anywhere_costs_work_and_no_verdict() {
    let files = Files::new();
    let corpus = &corpus(&files, 40);
    let state = &files.path("state");
    let junit = &files.path("junit.xml");
    let base = ["check", "--json", "-m", "all", corpus];
    let whole = essence(&seriatim_with(&base));
    let stateful = [&base[..], &["--state", state, "--junit", junit]].concat();
    assert_eq!(essence(&seriatim_with(&stateful)), whole);
    let bytes = fs::read(state).unwrap();
    let cases = fs::read_to_string(junit).unwrap();
    let mut random = Random(3);
    let header = 17 + 8 + u32::from_le_bytes(bytes[17..21].try_into().unwrap()) as usize;
    for round in 0..40 {
        let at = if round < 5 { random.below(header as u64) } else { random.below(bytes.len() as u64) } as usize;
        fs::write(state, &bytes[..at]).unwrap();
        assert_eq!(essence(&seriatim_with(&stateful)), whole, "cut off at {at}");
        assert_eq!(fs::read_to_string(junit).unwrap().lines().count(), cases.lines().count());
        assert!(records(state).1);

        let at = header + random.below((bytes.len() - header) as u64) as usize;
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << random.below(8);
        fs::write(state, &damaged).unwrap();
        assert_eq!(seriatim(["merge", state]).status, 2, "damaged at {at}");
        assert_eq!(essence(&seriatim_with(&stateful)), whole, "damaged at {at}");
        assert_eq!(essence(&seriatim(["merge", state])), whole, "damaged at {at}");
    }
    // What was never a state is left alone.
    for content in ["seriatim state 2\n", "[0] w x 1\n", "seriatim stat\n"] {
        fs::write(state, content).unwrap();
        let ran = seriatim_with(&stateful);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""));
        assert!(ran.err.contains("not the state of a run"), "{}", ran.err);
        assert_eq!(fs::read_to_string(state).unwrap(), content);
    }
    fs::write(state, "").unwrap();
    assert_eq!(essence(&seriatim_with(&stateful)), whole);
    assert_eq!(seriatim(["check", corpus, "--state", &files.path("")]).status, 2);
}

#[test]
fn a_state_of_another_run_is_refused() {
    let files = Files::new();
    let corpus = &corpus(&files, 20);
    let state = &files.path("state");
    let first = seriatim(["check", corpus, "--state", state]);
    let kept = fs::read(state).unwrap();
    let refused = |arguments: &[&str], message: &str| {
        let ran = seriatim_with(&[&["check"], arguments, &["--state", state]].concat());
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.err.starts_with(state.as_str()) && ran.err.contains(message), "{}", ran.err);
        assert_eq!(fs::read(state).unwrap(), kept);
    };
    refused(&[corpus, "-m", "tso"], "this state was made without --model and not with --model tso");
    refused(&[corpus, "--timeout", "5"], "made with --timeout 60s and not with --timeout 5s");
    refused(&[corpus, "--first"], "made without --first and not with --first");
    refused(&[corpus, "--shard", "1/2"], "the state of shard 1/1, and not of 1/2");
    refused(&[corpus, corpus], "from another corpus: 1 file, ");
    refused(&["-"], "- cannot be read again");
    let text = fs::read_to_string(corpus).unwrap();
    fs::write(corpus, text.replacen("r x 1", "r x 2", 1)).unwrap();
    refused(&[corpus], "from another corpus: 1 file, ");
    fs::write(corpus, text).unwrap();
    // The number of jobs does not matter.
    assert_eq!(essence(&seriatim(["check", corpus, "--jobs", "1", "--state", state])), essence(&first));
    let flags = ["check", corpus, "--shard", "1/2"];
    assert_eq!(seriatim_with(&flags).status, 2);
    assert_eq!(seriatim(["check", corpus, "--state", state, "--report", &files.path("r")]).status, 2);
}

#[cfg(unix)]
#[test]
fn two_processes_do_not_share_a_state() {
    let files = Files::new();
    let hard = &files.path("hard.hist");
    // No way to decide this one is known that takes less than many seconds.
    let shape = ["--threads", "8", "--operations", "5000", "--values", "10", "--pending", "5"];
    let made = seriatim_with(&[&["gen", "--object", "stack", "-o", hard][..], &shape].concat());
    assert_eq!(made.status, 0);
    let state = &files.path("state");
    let flags = ["check", hard, "--algorithm", "search", "--timeout", "600", "--state", state];
    let mut child = command().args(flags).stdout(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    while fs::metadata(state).map_or(0, |data| data.len()) <= 17 && begin.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let second = seriatim(flags);
    assert_eq!(second.status, 2);
    assert!(second.err.contains("another process is using this state"), "{}", second.err);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The states of all shards.
fn shards(files: &Files, flags: &[&str], of: usize) -> Vec<String> {
    (1..=of)
        .map(|number| {
            let state = files.path(&format!("shard-{number}-of-{of}"));
            let _ = fs::remove_file(&state);
            let shard = format!("{number}/{of}");
            let ran = seriatim_with(&[&["check"], flags, &["--state", &state, "--shard", &shard]].concat());
            assert!(ran.status >= 0);
            state
        })
        .collect()
}

fn merge(states: &[String]) -> Ran {
    let states: Vec<&str> = states.iter().map(String::as_str).collect();
    seriatim_with(&[&["merge"], &states[..]].concat())
}

#[test]
fn shards_together_are_the_whole() {
    let files = Files::new();
    let corpus = &corpus(&files, 60);
    // So many files that they are dealt as a whole.
    let many = &files.path("many");
    for number in 0..100 {
        let content = if number % 7 == 3 { format!("{GOOD}---\n{STALE}") } else { GOOD.to_owned() };
        files.write(&format!("many/{number:03}.hist"), content);
    }
    for input in [corpus, many] {
        for flags in [
            &["-m", "sc,tso"][..],
            &["--json", "-m", "all"],
            &["--quiet"],
            &["--first"],
            &["--first", "-m", "ra"],
            &["--smallest"],
            &["--skip-unreadable", "--github"],
        ] {
            let flags = [flags, &[input]].concat();
            let whole = essence(&seriatim_with(&[&["check"], &flags[..]].concat()));
            for of in [1, 2, 3, 5] {
                let mut states = shards(&files, &flags, of);
                states.reverse();
                assert_eq!(essence(&merge(&states)), whole, "{flags:?} in {of} shards");
            }
        }
    }
    // Every input is in one shard. Whole files are dealt where there are many.
    for (input, of, is_by_file) in [(corpus, 3, false), (many, 3, true), (many, 20, false)] {
        let parts: Vec<_> = shards(&files, &[input], of).iter().map(|state| records(state).0).collect();
        let all: Vec<_> = parts.iter().flat_map(|part| part.keys().copied()).collect();
        assert_eq!(all.len(), if input == corpus { 60 } else { 114 });
        let mut distinct = all.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), all.len());
        let is_split = parts.iter().any(|part| {
            part.keys()
                .any(|&(file, _)| parts.iter().filter(|other| other.keys().any(|&(of, _)| of == file)).count() > 1)
        });
        assert_eq!(is_split, !is_by_file);
    }
}

#[test]
fn lost_work_is_never_merged() {
    let files = Files::new();
    let corpus = &corpus(&files, 30);
    let states = shards(&files, &[corpus], 3);
    let refused = |states: &[String], message: &str| {
        let ran = merge(states);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{message}");
        assert!(ran.err.contains(message), "{}", ran.err);
    };
    refused(&states[..2], "shard 3/3 is missing");
    refused(&states[1..2], "shard 1/3 and 1 more are missing");
    refused(&[&states[..], &states[..1]].concat(), "shard 1/3 is given twice");
    refused(&[states[0].clone(), states[1].clone(), files.path("none")], "none: ");
    let with = |other: String| vec![states[0].clone(), states[1].clone(), other];
    let whole = fs::read(&states[2]).unwrap();
    // The last record says that the shard is finished.
    refused(&with(files.write("cut", &whole[..whole.len() - 1])), "shard 3/3 is not finished");
    refused(&with(files.write("cut", &whole[..whole.len() / 2])), "shard 3/3 is not finished");
    refused(&with(files.write("cut", "")), "has not begun");
    refused(&with(files.write("cut", "[0] w x 1\n")), "not the state of a run");
    let other = |name: &str, flags: &[&str], shard: &str| {
        let state = files.path(name);
        seriatim_with(&[&["check", "--state", &state, "--shard", shard], flags].concat());
        with(state)
    };
    refused(&other("flags", &[corpus, "-m", "tso"], "3/3"), "made with --model tso and not without --model");
    refused(&other("number", &[corpus], "3/4"), "as one of 4 shards and not of 3");
    let text = fs::read_to_string(corpus).unwrap();
    fs::write(corpus, format!("{text}[0] w x 1\n")).unwrap();
    refused(&other("corpus", &[corpus], "3/3"), "from another corpus");
}
