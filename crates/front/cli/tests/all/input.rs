//! The inputs that the command reads, and its messages about inputs that it cannot read.

use crate::common;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Files, GOOD, STALE, ran, seriatim, seriatim_with};

/// A register that starts with 0, as Jepsen records it.
const STARTS_WITH_ZERO: &str = "{:process 0, :type :invoke, :f :read, :value nil}\n\
    {:process 0, :type :ok, :f :read, :value 0}\n\
    {:process 0, :type :invoke, :f :write, :value 1}\n\
    {:process 0, :type :ok, :f :write, :value 1}\n\
    {:process 1, :type :invoke, :f :read, :value nil}\n\
    {:process 1, :type :ok, :f :read, :value 1}\n";

#[test]
fn an_initial_value_is_hinted_at_and_given() {
    let files = Files::new();
    let zero = &files.write("zero.edn", STARTS_WITH_ZERO);
    let hint = "1 read returns 0, which nobody wrote: if that is the initial value, use `--initial 0`";
    for model in ["linearizable", "sc", "cc"] {
        let found = seriatim(["check", "--model", model, zero]);
        assert_eq!(found.status, 1);
        assert!(found.out.contains(hint), "{}", found.out);
        assert_eq!(seriatim(["check", "--model", model, "--initial", "0", zero]).status, 0, "{model}");
    }
    // The search decides this one: a register with a compare-and-swap, to which a value is written twice.
    let swaps = "[0] call cas 7 1\n[0] return true\n[0] call write 1\n[0] return\n[0] call write 1\n[0] return\n";
    let swaps = &files.write("swaps.hist", swaps);
    let found = seriatim(["check", swaps]);
    assert!(found.status == 1 && found.out.contains("use `--initial 7`"), "{}", found.out);
    assert_eq!(seriatim(["check", "--initial", "7", swaps]).status, 0);
    let two = &files.write("two.hist", "[0] r x 7\n[0] r x 8\n");
    let found = seriatim(["check", two]);
    assert!(found.status == 1 && !found.out.contains("--initial"), "{}", found.out);
    let words = &files.write("words.hist", "[0] r x \"a b\"\n[0] r x \"a b\"\n");
    let found = seriatim(["check", words]);
    assert!(found.out.contains("2 reads return a b, which nobody wrote"), "{}", found.out);
    assert!(found.out.contains("use `--initial 'a b'`"), "{}", found.out);
    for given in ["a b", "\"a b\""] {
        assert_eq!(seriatim(["check", "--initial", given, words]).status, 0);
    }
    let converted = seriatim(["convert", "--initial", "0", "--to", "text", zero]);
    assert!(converted.status == 0 && !converted.out.contains("@initial"), "{}", converted.out);
    let converted = seriatim(["convert", "--to", "text", zero]);
    assert!(converted.out.contains("# @initial null\n"), "{}", converted.out);
}

#[test]
fn strings_begin_empty_in_every_format() {
    let generated = seriatim(["gen", "--object", "kv", "--operations", "40"]);
    assert!(generated.status == 0 && !generated.out.contains("@initial"), "{}", generated.out);
    let files = Files::new();
    let text = &files.write("kv.hist", &generated.out);
    let json = &files.write("kv.jsonl", &seriatim(["convert", "--to", "jsonl", text]).out);
    let edn = &files.write("kv.edn", &seriatim(["convert", "--to", "edn", text]).out);
    assert_eq!(seriatim(["check", text, json, edn]).status, 0);
    assert_eq!(seriatim(["convert", "--to", "text", json]).out, seriatim(["convert", "--to", "text", text]).out);
}

#[test]
fn a_test_of_a_jepsen_store_means_its_history() {
    let files = Files::new();
    let store = Path::new(&files.write("store/note.txt", "a note")).parent().unwrap().to_owned();
    let test = store.join("register/20261117T120000");
    fs::create_dir_all(test.join("independent/1")).unwrap();
    for (name, text) in [
        ("history.edn", STARTS_WITH_ZERO),
        ("independent/1/history.edn", STARTS_WITH_ZERO),
        ("history.txt", "0 :invoke :read nil\n"),
        ("results.edn", "{:valid? true}\n"),
        ("jepsen.log", "2026-11-17 INFO jepsen.core: hello\n"),
    ] {
        fs::write(test.join(name), text).unwrap();
    }
    symlink(&test, store.join("latest")).unwrap();
    for directory in [store.clone(), store.join("latest"), test] {
        let found = seriatim(["check", "--initial", "0", directory.to_str().unwrap()]);
        assert_eq!((found.status, found.err.as_str()), (0, ""), "{directory:?}");
        assert_eq!(found.out.lines().count(), 1, "{}", found.out);
        assert!(found.out.contains("history.edn: linearizable: consistent"), "{}", found.out);
    }
    // Another directory that happens to have a file of that name is read as a whole.
    let plain = Path::new(&files.write("plain/history.edn", STARTS_WITH_ZERO)).parent().unwrap().to_owned();
    fs::write(plain.join("other.hist"), GOOD).unwrap();
    let found = seriatim(["check", "--initial", "0", plain.to_str().unwrap()]);
    assert_eq!((found.status, found.out.lines().count()), (0, 2));
}

#[test]
fn what_cannot_be_read_is_named_and_can_be_skipped() {
    let files = Files::new();
    let folder = Path::new(&files.write("all/stale.hist", STALE)).parent().unwrap().to_owned();
    fs::write(folder.join("good.hist"), GOOD).unwrap();
    fs::write(folder.join("bad.hist"), "[0] q x 1\n").unwrap();
    symlink(folder.join("gone"), folder.join("link.hist")).unwrap();
    let folder = folder.to_str().unwrap();
    for command in ["check", "classify", "kernel"] {
        let without = seriatim([command, folder]);
        assert_eq!(without.status, 2, "{command}");
        assert!(without.err.contains("link.hist: this link leads nowhere"), "{}", without.err);
        assert!(without.err.contains("bad.hist:1:5:"), "{}", without.err);
        let with = seriatim([command, "--skip-unreadable", folder]);
        assert_eq!(with.status, i32::from(command != "classify"), "{command}");
        assert!(with.err.starts_with(&without.err), "{}", with.err);
        assert!(with.err.contains("2 inputs could not be read and were skipped; 2 histories could"), "{}", with.err);
        assert_eq!(with.err.contains("; 1 violation\n"), command == "check", "{}", with.err);
        let bad = format!("{folder}/bad.hist");
        assert_eq!(seriatim([command, "--skip-unreadable", &bad]).status, 2, "nothing could be read");
    }
    let good = format!("{folder}/good.hist");
    assert_eq!(seriatim(["check", "--skip-unreadable", &good]).err, "");
}

#[test]
fn hints_are_in_the_terms_of_the_format() {
    let files = Files::new();
    let twice = "[0] w x 1\n[1] w x 1\n[2] r x 1\n";
    let text = &files.write("twice.hist", twice);
    let json = &files.write("twice.jsonl", &seriatim(["convert", "--to", "jsonl", text]).out);
    let edn = &files.write("twice.edn", &seriatim(["convert", "--to", "edn", text]).out);
    let axe = &files.write("twice.axe", &seriatim(["convert", "--to", "axe", text]).out);
    for (file, term) in [(text, "(id= and from=)"), (json, "`id` and `from`"), (edn, "`:id` and `:from`"), (axe, "")] {
        let refused = seriatim(["check", "--unique", "--model", "sc", file]);
        assert_eq!(refused.status, 2);
        assert!(refused.err.contains("reads-from is ambiguous") && refused.err.contains(term), "{}", refused.err);
        assert!(file == text || !refused.err.contains("id="), "{}", refused.err);
    }
}

#[test]
fn whole_sets_are_checked() {
    let files = Files::new();
    let event = |process: u32, kind: &str, f: &str, value: &str| {
        format!("{{:process {process}, :type :{kind}, :f :{f}, :value {value}}}\n")
    };
    let adds = event(0, "invoke", "add", "1") + &event(1, "invoke", "add", "2");
    let read = |value: &str| event(2, "invoke", "read", "nil") + &event(2, "ok", "read", value);
    let good = &files.write("good.edn", &(adds.clone() + &read("#{}") + &read("#{2}") + &read("[1 2]")));
    let bad = &files.write("bad.edn", &(adds.clone() + &read("#{1}") + &read("#{2}")));
    let certificate = &files.path("c");
    for (file, status) in [(good, 0), (bad, 1)] {
        let found = seriatim(["check", "--certificate", certificate, file]);
        assert_eq!(found.status, status, "{}", found.out);
        assert_eq!(seriatim(["verify", certificate, file]).status, 0);
    }
    let explained = seriatim(["check", bad]).out;
    assert!(explained.contains("no order is left: line 5 [2] read => {2} cannot"), "{explained}");
    assert!(explained.contains("[0] add 1 (pending)"), "{explained}");
    let json = seriatim(["convert", "--to", "jsonl", bad]).out;
    assert_eq!(seriatim(["monitor", "--format", "jsonl", &files.write("bad.jsonl", &json)]).status, 3);
}

/// Runs the command with so many KiB of address space.
fn limited(kilobytes: u32, arguments: &[&str]) -> common::Ran {
    let mut command = Command::new("bash");
    command.arg("-c").arg(format!("ulimit -v {kilobytes}; exec \"$0\" \"$@\"")).arg(env!("CARGO_BIN_EXE_seriatim"));
    ran(command.args(arguments).stdin(Stdio::null()).output().unwrap())
}

#[test]
fn what_is_too_large_is_refused() {
    let files = Files::new();
    let compress = |name: &str, head: &str, line: &str, tail: &str, lines: usize| {
        let path = files.path(name);
        let mut out = flate2::write::GzEncoder::new(fs::File::create(&path).unwrap(), flate2::Compression::fast());
        out.write_all(head.as_bytes()).unwrap();
        let many = line.repeat(1 << 12);
        for _ in 0..lines >> 12 {
            out.write_all(many.as_bytes()).unwrap();
        }
        out.write_all(tail.as_bytes()).unwrap();
        out.finish().unwrap();
        path
    };
    let json = "{\"process\":0,\"f\":\"w\",\"key\":\"x\",\"value\":1}";
    let edn = "{:process 0 :f :w :key \"x\" :value 1}\n";
    let log = "INFO  jepsen.util - 0 :invoke :write 1\nINFO  jepsen.util - 0 :ok :write 1\n";
    let huge = [
        compress("text.hist.gz", "", "[0] w x 1\n", "", 5 << 20),
        compress("calls.hist.gz", "# @object queue\n", "[0] call dequeue\n[0] return\n", "", 5 << 20),
        compress("lines.jsonl.gz", "", &format!("{json}\n"), "", 5 << 20),
        compress("array.json.gz", "[", &format!("{json},\n"), &format!("{json}]"), 5 << 20),
        compress("maps.edn.gz", "", edn, "", 5 << 20),
        compress("old.log.gz", "", log, "", 5 << 20),
        compress("trace.axe.gz", "# large\n", "0: v0 := 1\n", "check\n", 5 << 20),
        compress("times.gz", "# queue\n", "enqueue 1 1 2\n", "", 5 << 20),
    ];
    for file in &huge {
        let refused = limited(1 << 19, &["check", "--jobs", "1", "--model", "linearizable", file]);
        assert_eq!(refused.status, 2, "{file}: {}", refused.err);
        assert!(refused.err.starts_with(&format!("{file}: too large: ")), "{}", refused.err);
        assert_eq!(refused.out, "");
    }
    let plain = &files.path("plain.hist");
    fs::write(plain, "[0] w x 1\n".repeat(5 << 20)).unwrap();
    let refused = limited(1 << 19, &["check", "--jobs", "1", plain]);
    assert!(refused.status == 2 && refused.err.contains("too large"), "{}", refused.err);
    // The others are still checked.
    let good = &files.write("good.hist", GOOD);
    let both = limited(1 << 19, &["check", "--jobs", "1", "--skip-unreadable", &huge[0], good]);
    assert_eq!((both.status, both.out), (0, format!("{good}: sc: consistent\n")), "{}", both.err);
}

#[test]
fn names_count_as_well() {
    let files = Files::new();
    let path = &files.path("names.hist.gz");
    let mut out = flate2::write::GzEncoder::new(fs::File::create(path).unwrap(), flate2::Compression::fast());
    let pad = "n".repeat(1 << 10);
    for name in 0..100_000 {
        writeln!(out, "[0] w {pad}{name} 1").unwrap();
    }
    out.finish().unwrap();
    let refused = limited(1 << 19, &["check", "--jobs", "1", path]);
    assert!(refused.status == 2 && refused.err.contains("too large"), "{}", refused.err);
}

#[test]
fn a_certificate_without_an_end_is_refused() {
    let files = Files::new();
    let good = &files.write("good.hist", GOOD);
    for (certificate, what) in [("/dev/zero", "too long: a line of more than"), (&files.path(""), "directory")] {
        let refused = limited(1 << 19, &["verify", certificate, good]);
        assert_eq!(refused.status, 2);
        assert!(refused.err.contains(what), "{}", refused.err);
    }
}

/// Four gigabytes of newlines, as a gzip of a few megabytes: reading is limited, whatever command reads.
#[test]
fn a_file_that_is_read_for_ever_is_given_up() {
    let files = Files::new();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&vec![b'\n'; 1 << 20]).unwrap();
    let path = files.path("newlines.hist.gz");
    fs::write(&path, encoder.finish().unwrap().repeat(4096)).unwrap();
    for command in ["check", "classify", "convert", "explain", "kernel", "report", "shrink", "verify"] {
        let (page, certificate) = (&files.path("page.html"), &files.write("empty.jsonl", ""));
        let others: &[&str] = match command {
            "convert" => &["--to", "jsonl"],
            "report" => &["--output", page],
            "verify" => &[certificate],
            _ => &[],
        };
        let ran = seriatim_with(&[&[command, "--timeout", "0.05"], others, &[&path]].concat());
        assert_eq!(ran.status, 2, "{command:?}: {ran:?}");
        assert!(ran.err.contains("not read to its end"), "{command:?}: {ran:?}");
    }
    let ran = seriatim(["check", "-m", "sc", "--timeout", "0.05", "--skip-unreadable", &path]);
    assert!(ran.err.contains("not read to its end"), "{ran:?}");
}
