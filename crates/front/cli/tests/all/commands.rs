//! The other subcommands.

use crate::common;
use common::{Files, GOOD, MODELS, STALE, STORE_BUFFERING, command, json, seriatim, seriatim_with, with_input};

#[test]
fn certificates_verify_and_belong_to_their_history() {
    let files = Files::new();
    let corpus = &files.write("corpus.hist", format!("{GOOD}---\n{STALE}---\n[0] q\n---\n{STORE_BUFFERING}"));
    let other = &files.write("other.hist", "[0] w x 1\n[0] w x 2\n[1] r x 1\n");
    let certificates = &files.path("out.cert");
    assert_eq!(seriatim(["check", "-m", "all", "--certificate", certificates, corpus, other]).status, 2);

    let ran = seriatim(["verify", certificates, corpus, other]);
    // The history that `check` could not read, `verify` cannot read either.
    assert_eq!((ran.status, ran.out.lines().count()), (2, 4 * MODELS));
    assert!(ran.out.lines().all(|line| line.contains("verified")), "{}", ran.out);

    let lines = std::fs::read_to_string(certificates).unwrap();
    let last: String =
        lines.lines().rev().take(MODELS).collect::<Vec<_>>().join("\n").replace("\"history\":4", "\"history\":0");
    let last = &files.write("last.cert", last);
    assert_eq!(seriatim(["verify", last, other]).status, 0);
    let ran = seriatim(["verify", last, &files.write("stale.hist", STALE)]);
    assert_eq!(
        (ran.status, ran.out.lines().filter(|line| line.contains("refused: ")).count()),
        (1, MODELS),
        "{}",
        ran.out
    );
}

#[test]
fn histories_without_operations_are_decided_and_verified() {
    let files = Files::new();
    let empty = &files.write("empty.hist", format!("# @init x 5\n---\n[0] f\n---\n# @final x 0\n---\n{STALE}"));
    let certificates = &files.path("out.cert");
    let ran = seriatim(["check", "-m", "all", "--json", "--certificate", certificates, empty]);
    let consistent = json(&ran.out).iter().filter(|record| record["verdict"] == "consistent").count();
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert!(consistent >= 3 * MODELS && json(&ran.out).len() == 4 * MODELS, "{}", ran.out);
    let ran = seriatim(["verify", certificates, empty]);
    assert_eq!((ran.status, ran.out.lines().count()), (0, 4 * MODELS), "{}", ran.out);
}

#[test]
fn a_certificate_without_a_history_or_sense_is_not_verified() {
    let files = Files::new();
    let good = &files.write("good.hist", GOOD);
    let certificates = &files.path("out.cert");
    assert_eq!(seriatim(["check", "-m", "all", "--certificate", certificates, good]).status, 0);
    let text = std::fs::read_to_string(certificates).unwrap();

    let ran = seriatim(["verify", &files.write("far.cert", text.replace("\"history\":0", "\"history\":7")), good]);
    assert_eq!(ran.status, 1);
    assert!(ran.out.contains("refused: there is no history 7"), "{}", ran.out);
    let ran = seriatim(["verify", &files.write("lie.cert", text.replace("\"consistent\"", "\"violation\"")), good]);
    assert_ne!(ran.status, 0);
    assert!(!ran.out.contains("verified"));
    for content in ["", "junk\n", "{}\n", "[1,2]\n", "{\"history\":-1}\n", "\u{0}\n"] {
        let ran = seriatim(["verify", &files.write("junk.cert", content), good]);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{content}: {}", ran.err);
    }
    assert_eq!(seriatim(["verify", &files.path("none.cert"), good]).status, 2);
    // A directory can be opened, but not read.
    assert_eq!(seriatim(["verify", &files.path(""), good]).status, 2);
    assert_eq!(seriatim(["verify", certificates, &files.path("none.hist")]).status, 2);
}

#[test]
fn conversion_there_and_back_changes_nothing() {
    let files = Files::new();
    let text = &files.path("a.hist");
    let flags = ["--rmws", "20", "--histories", "3", "--operations", "50"];
    assert_eq!(command().args(["gen", "-o", text]).args(flags).status().unwrap().code(), Some(0));
    let original = std::fs::read_to_string(text).unwrap();
    let verdicts = |path: &str| {
        let ran = seriatim(["check", "-m", "all", "--json", path]);
        let records = json(&ran.out);
        assert_eq!(records.len(), 3 * MODELS, "{}", ran.err);
        records
            .iter()
            .map(|r| (r["history"].clone(), r["verdict"].clone(), r["operations"].clone()))
            .collect::<Vec<_>>()
    };
    let expected = verdicts(text);
    for format in ["jsonl", "axe"] {
        let there = &files.path(&format!("a.{format}"));
        let ran = seriatim(["convert", "--to", format, text, "-o", there]);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{format}");
        assert_eq!(verdicts(there), expected, "{format}");
        if format == "jsonl" {
            assert_eq!(seriatim(["convert", "--to", "text", there]).out, original);
            // The content tells the format if there is no file name.
            let content = std::fs::read(there).unwrap();
            assert_eq!(with_input(["convert", "--to", "text"], &content).out, original);
        }
    }
}

#[test]
fn conversion_tells_what_is_wrong() {
    let files = Files::new();
    let bad = &files.write("bad.hist", format!("{GOOD}---\n[0] q\n---\n{STALE}"));
    let ran = seriatim(["convert", "--to", "jsonl", bad]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.starts_with(&format!("{bad}:4:")), "{}", ran.err);
    assert_eq!(json(&ran.out).iter().filter(|record| record.get("f").is_some()).count(), 2 + 3);
    let queue = &files.write("q.hist", "# @object queue\n[1] call enqueue 5\n[1] return\n");
    let ran = seriatim(["convert", "--to", "axe", queue]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.starts_with(queue.as_str()), "{}", ran.err);
    assert_eq!(seriatim(["convert", bad, "-o", &files.path("x.unknown")]).status, 2);
}

#[test]
fn generated_histories_are_consistent_and_perturbed_ones_are_not() {
    let flags =
        ["gen", "--threads", "5", "--operations", "3000", "--locations", "4", "--seed", "9", "--histories", "4"];
    let generate = |more: &[&str]| command().args(flags).args(more).output().unwrap().stdout;
    for more in [&[][..], &["--rmws", "30"], &["--order", "threads"], &["--format", "jsonl"], &["--format", "axe"]] {
        let ran = with_input(["check", "-m", "all", "--json", "-"], &generate(more));
        assert_eq!((ran.status, json(&ran.out).len()), (0, 4 * MODELS), "{more:?}: {}", ran.err);
        assert!(ran.err.lines().all(|line| line.contains("rc20: an access without a memory order")), "{}", ran.err);
    }
    let perturbed = generate(&["--perturb", "40"]);
    assert_eq!(with_input(["check", "-"], &perturbed).status, 1);
    assert_eq!(perturbed, generate(&["--perturb", "40"]));
    assert_ne!(perturbed, generate(&[]));
}

#[test]
fn flags_that_mean_nothing_are_refused() {
    for (flags, stray) in [
        (&["--object", "queue", "--model", "tso"][..], "--model has no meaning with --object queue"),
        (&["--object", "queue", "--perturb", "1"], "--perturb has no meaning with --object queue"),
        (&["--copies", "2"], "--copies has no meaning with --model sc"),
        (&["--stale", "20", "--model", "tso"], "--stale has no meaning with --model tso"),
        (&["--model", "hard-3", "--side-by-side", "--threads", "4"], "--threads has no meaning with --model hard-3"),
        (&["--pending", "3"], "--pending has no meaning with --model sc"),
    ] {
        let made = command().arg("gen").args(flags).output().unwrap();
        assert_eq!(made.status.code(), Some(2), "{flags:?}");
        assert!(String::from_utf8(made.stderr).unwrap().contains(stray), "{flags:?}");
    }
}

#[test]
fn what_a_crashed_process_did_is_in_no_order_with_what_follows() {
    let lines = [
        r#"{"process":0,"type":"invoke","f":"write","value":1}"#,
        r#"{"process":0,"type":"info","f":"write","value":1}"#,
        r#"{"process":0,"type":"invoke","f":"write","value":2}"#,
        r#"{"process":0,"type":"ok","f":"write","value":2}"#,
        r#"{"process":0,"type":"invoke","f":"read"}"#,
        r#"{"process":0,"type":"ok","f":"read","value":1}"#,
    ];
    let ran = with_input(["check", "-m", "sc,cc,linearizable", "-"], lines.join("\n").as_bytes());
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
}

#[test]
fn both_streamed_formats_are_what_the_writer_writes() {
    for machine in ["sc", "tso", "pso", "ra", "rc20", "relaxed"] {
        let flags = ["--rmws", "20", "--fences", "10", "--histories", "2", "--operations", "40", "--perturb", "2"];
        let generate = |format| {
            let made = command().args(["gen", "--model", machine, "--format", format]).args(flags).output().unwrap();
            String::from_utf8(made.stdout).unwrap()
        };
        let text = generate("text");
        assert_eq!(with_input(["convert", "--from", "text", "--to", "text"], text.as_bytes()).out, text);
        assert_eq!(with_input(["convert", "--from", "text", "--to", "jsonl"], text.as_bytes()).out, generate("jsonl"));
    }
}

#[test]
fn models_are_listed_with_their_implications() {
    let ran = seriatim(["models"]);
    assert_eq!(ran.status, 0);
    for model in ["cc ", "ccv", "cm ", "ccm", "wsc", "sc ", "linearizable"] {
        assert!(ran.out.lines().any(|line| line.starts_with(model)), "{}", ran.out);
    }
    let words: Vec<Vec<&str>> = ran.out.lines().map(|line| line.split_whitespace().collect()).collect();
    for implication in
        [["ccm", "=>", "wccm,", "cm"].as_slice(), &["ccv", "=>", "cc"], &["sc", "=>", "wsc,", "tso,", "rc11"]]
    {
        assert!(words.iter().any(|line| line == implication), "{implication:?}: {}", ran.out);
    }
    let records = json(&seriatim(["models", "--json"]).out);
    // Besides the memory models: sc-observed, linearizable, and nine isolation levels in three forms.
    assert_eq!(records.len(), MODELS + 2 + 3 * 9);
    assert!(records.iter().any(|r| r["model"] == "ccm" && r["implies"] == serde_json::json!(["wccm", "cm"])));
}

#[test]
fn help_completions_and_man_pages_know_the_same_flags() {
    let flags = ["--model", "--timeout", "--jobs", "--certificate", "--quiet", "--json", "--object", "--format"];
    let help = seriatim(["check", "--help"]).out;
    let files = Files::new();
    let directory = &files.path("man");
    std::fs::create_dir(directory).unwrap();
    assert_eq!(seriatim(["man", directory]).status, 0);
    let page = std::fs::read_to_string(files.path("man/seriatim-check.1")).unwrap().replace('\\', "");
    for flag in flags {
        assert!(help.contains(flag) && page.contains(flag), "{flag}");
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = seriatim(["completions", shell]);
        assert_eq!(ran.status, 0);
        assert!(flags.iter().all(|flag| ran.out.contains(flag.trim_start_matches('-'))), "{shell}");
    }
    assert!(seriatim(["man"]).out.contains("seriatim"));
    assert_eq!(seriatim(["man", &files.path("nowhere/man")]).status, 2);
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_an_error() {
    for arguments in [&["--help"][..], &["--version"], &["check", "--help"], &["monitor", "-h"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ran = command().args(arguments).stdout(full).output().unwrap();
        assert_eq!(ran.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&ran.stderr).contains("cannot be written"), "{arguments:?}");
        assert!(command().args(arguments).output().unwrap().status.success(), "{arguments:?}");
    }
}

#[test]
fn a_file_is_written_as_a_whole_or_not_at_all() {
    let files = Files::new();
    let bad = &files.write("bad.hist", format!("{GOOD}---\n[0] q\n---\n{STALE}"));
    let queue = &files.write("q.hist", format!("{GOOD}---\n# @object queue\n[1] call enqueue 5\n[1] return\n"));
    let out = &files.path("out.axe");
    let left = || {
        let mut names: Vec<String> = std::fs::read_dir(files.path(""))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    for input in [bad, queue] {
        assert_eq!(seriatim(["convert", input, "-o", out]).status, 2);
        assert_eq!(left(), ["bad.hist", "q.hist"]);
    }
    assert_eq!(seriatim(["gen", "--object", "queue", "--format", "axe", "-o", out]).status, 2);
    assert_eq!(left(), ["bad.hist", "q.hist"]);
    // The old file stays until a new one can replace it.
    let before = &files.write("before.jsonl", "before");
    let ran = seriatim(["convert", bad, "-o", before]);
    assert!(ran.status == 2 && ran.err.contains("not written"), "{}", ran.err);
    assert_eq!(std::fs::read_to_string(before).unwrap(), "before");
    let good = &files.write("good.hist", GOOD);
    assert_eq!(seriatim(["convert", good, "-o", before]).status, 0);
    assert_eq!(json(&std::fs::read_to_string(before).unwrap()).len(), 3);
    // The output may even replace the input.
    assert_eq!(seriatim(["convert", "--to", "jsonl", good, "-o", good]).status, 0);
    assert_eq!(std::fs::read(good).unwrap(), std::fs::read(before).unwrap());
    assert_eq!(left(), ["bad.hist", "before.jsonl", "good.hist", "q.hist"]);
}

#[cfg(unix)]
#[test]
fn what_is_replaced_keeps_its_mode_and_its_links_and_devices_are_written_to() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let files = Files::new();
    let good = &files.write("good.hist", GOOD);
    let mode = |path: &str| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let plain = &files.path("plain.hist");
    assert_eq!(seriatim(["convert", good, "-o", plain]).status, 0);
    // The file has the permissions of any other new file.
    assert_eq!(mode(plain), mode(good));
    let odd = &files.write("odd.hist", "");
    std::fs::set_permissions(odd, PermissionsExt::from_mode(0o640)).unwrap();
    let link = &files.path("link.hist");
    symlink(odd, link).unwrap();
    assert_eq!(seriatim(["gen", "--operations", "3", "-o", link]).status, 0);
    assert!(std::fs::symlink_metadata(link).unwrap().is_symlink());
    assert_eq!((mode(odd), std::fs::read_to_string(odd).unwrap().lines().count()), (0o640, 4));
    let ran = seriatim(["convert", "--to", "text", good, "-o", "/dev/stdout"]);
    assert_eq!((ran.status, ran.out.as_str()), (0, format!("# @object memory\n{GOOD}").as_str()));
    assert_eq!(seriatim(["gen", "-o", "/dev/null"]).status, 0);
}

/// The short help of `check` fits one screen, and nothing at all is answered in ten lines.
#[test]
fn a_stranger_is_told_on_one_screen() {
    for columns in [80, 200] {
        let run = |arguments: &[&str]| {
            let ran = command().args(arguments).env("COLUMNS", columns.to_string()).output().unwrap();
            (ran.status.code(), String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap())
        };
        let (status, help, _) = run(&["check", "-h"]);
        assert_eq!(status, Some(0));
        assert!(help.lines().count() <= 24, "{help}");
        assert!(help.contains("`seriatim models` lists all") && help.contains("--timeout"), "{help}");
        assert!(!help.contains("sessionless-pl-2"), "{help}");
        let (_, long, _) = run(&["check", "--help"]);
        for flag in ["--strategy", "--names", "--shard", "--smallest", "sessionless-pl-2", "FILE#k"] {
            assert!(long.contains(flag), "{flag}");
        }
        let (status, out, welcome) = run(&[]);
        assert_eq!((status, out.as_str(), welcome.lines().count()), (Some(2), "", 10));
        assert!(help.lines().chain(welcome.lines()).all(|line| line.chars().count() <= 80), "{help}{welcome}");
    }
    let (models, all) = (seriatim(["models"]).out, seriatim(["check", "--help"]).out);
    assert!(models.contains("sessionless-pl-2") && all.contains("sessionless-pl-2"));
}

#[test]
fn errors_end_with_what_to_do_next() {
    let files = Files::new();
    let good = &files.write("good.hist", GOOD);
    let folder = &files.path("");
    let nowhere = &files.path("no/such/folder/x");
    for (arguments, next) in [
        (&["check", "nowhere.hist"][..], "next: is the name right? `-` is standard input"),
        (&["explore", "nowhere.litmus"], "next: is the name right? `-` is standard input"),
        (&["check", folder, "--format", "jepsen-store"], "For more information, try '--help'."),
        (&["chek", good], "For more information, try '--help'."),
        (&["check", "--model", "causal", good], "fit a memory without calls and returns"),
        (&["verify", "nowhere.jsonl", good], "next: is the name right, and is its folder there?"),
        (&["verify", good, good], "next: name the file that `check --certificate` wrote, and then the histories"),
        (&["merge", good], "next: name the files that `check --state` wrote"),
        (&["models", "--svg", nowhere], "next: is the name right, and is its folder there?"),
        (&["report", good, "-o", nowhere], "next: is the name right, and is its folder there?"),
        (&["convert", "--to", "plume", good], "next: --to jsonl can say all of it"),
        (&["monitor", "--model", "ra"], "next: name a file, or send events to standard input"),
        (&["probe", "redis://127.0.0.1:1"], "next: does it run there? An address is SCHEME://HOST:PORT/DATABASE"),
    ] {
        let ran = seriatim_with(arguments);
        assert_eq!(ran.status, 2, "{arguments:?}: {ran:?}");
        assert!(ran.err.lines().any(|line| line.ends_with(next)), "{arguments:?}: {ran:?}");
    }
}

/// Every line of help fits the terminal, and indented text stays indented when it is wrapped.
#[test]
fn help_fits_the_terminal() {
    for arguments in [
        &["--help"][..],
        &["check", "--help"],
        &["classify", "--help"],
        &["verify", "--help"],
        &["convert", "--help"],
        &["monitor", "--help"],
        &["kernel", "--help"],
        &["gen", "--help"],
        &["probe", "--help"],
        &["check", "-h"],
        &["monitor", "-h"],
        &["gen", "-h"],
    ] {
        for columns in [80, 200] {
            let ran = command().args(arguments).env("COLUMNS", columns.to_string()).output().unwrap();
            let help = String::from_utf8(ran.stdout).unwrap();
            let widest = help.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= columns.min(100), "{arguments:?} {columns}: {widest}");
        }
    }
    let help = seriatim(["gen", "--help"]).out;
    let heading = |flag: &str| {
        let before = &help[..help.find(&format!("--{flag} ")).or_else(|| help.find(&format!("--{flag}\n"))).unwrap()];
        before.lines().rev().find(|line| line.ends_with(':') && !line.starts_with(' ')).unwrap().to_owned()
    };
    for (flag, expected) in [
        ("seed", "Options:"),
        ("operations", "Options:"),
        ("output", "Options:"),
        ("delay", "For a memory:"),
        ("copies", "For the hard shapes:"),
        ("anomaly", "For transactions:"),
        ("pending", "With --object:"),
    ] {
        assert_eq!(heading(flag), expected, "{flag}");
    }
    let check = seriatim(["check", "--help"]).out;
    let (_, research) = check.split_once("To compare algorithms:").unwrap();
    assert!(["--strategy", "--algorithm"].iter().all(|flag| research.contains(flag)));
}

#[test]
fn a_counterexample_is_minimal_and_is_checked_again() {
    let files = Files::new();
    let long = &files.path("long.hist");
    let made = seriatim(["gen", "--threads", "6", "--operations", "2000", "--perturb", "4", "--seed", "5", "-o", long]);
    assert_eq!(made.status, 0);
    for model in ["sc", "tso", "ra"] {
        let ran = seriatim(["shrink", "--model", model, long]);
        assert_eq!(ran.status, 1, "{model}");
        assert!(ran.out.contains("# line ") && ran.out.starts_with(&format!("# | {long}: {model}: violation: ")));
        assert!(ran.out.lines().filter(|line| line.starts_with('[')).count() <= 12, "{}", ran.out);
        let short = &files.write("short.hist", &ran.out);
        assert_eq!(seriatim(["check", "--model", model, short]).status, 1);
        // Nothing can be removed from it any more.
        let again = seriatim(["shrink", "--model", model, short]);
        let operations = |text: &str| text.lines().filter(|line| line.starts_with('[')).map(str::to_owned).collect();
        let [once, twice]: [Vec<String>; 2] = [operations(&ran.out), operations(&again.out)];
        assert_eq!(once, twice);
    }
}

#[test]
fn what_is_shrunk_may_have_to_satisfy_another_model() {
    let files = Files::new();
    let buffering = &files.write("sb.hist", format!("{STORE_BUFFERING}[2] w z 1\n"));
    let kept = seriatim(["shrink", "--model", "sc", "--keep", "tso", buffering]);
    assert_eq!(kept.status, 1);
    assert_eq!(kept.out.lines().filter(|line| line.starts_with('[')).count(), 4);
    assert!(seriatim(["shrink", "--model", "sc", "--keep", "wsc", buffering]).out.is_empty());
    let tso = seriatim(["shrink", "--model", "tso", buffering]);
    assert_eq!((tso.status, tso.out.as_str()), (0, ""));
    assert!(tso.err.contains("no violation to shrink"), "{}", tso.err);
    assert_eq!(seriatim(["shrink", "--timeout", "0", buffering]).status, 3);
    assert_eq!(seriatim(["shrink", &files.write("bad.hist", "[0] q x 1\n")]).status, 2);
}

/// The command can be loaded anywhere, its tables are read-only once it runs, and its stack holds no code.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn the_command_is_hardened() {
    let bytes = std::fs::read(env!("CARGO_BIN_EXE_seriatim")).unwrap();
    let number =
        |at: usize, size: usize| bytes[at..at + size].iter().rev().fold(0, |all, &it| all << 8 | usize::from(it));
    assert_eq!(&bytes[..4], b"\x7fELF");
    assert_eq!(number(16, 2), 3, "not a shared object, so at a fixed address");
    let (table, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    let segments: Vec<(usize, usize)> =
        (0..count).map(|at| table + at * size).map(|at| (number(at, 4), number(at + 4, 4))).collect();
    let flags = |kind: usize| segments.iter().find(|segment| segment.0 == kind).map(|segment| segment.1);
    assert!(flags(0x6474_e552).is_some(), "no tables that become read-only");
    assert!(flags(0x6474_e551).is_some_and(|flags| flags & 1 == 0), "the stack may hold code");
}
