//! `seriatim check`: the contract of the command, case by case.

use crate::common;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use common::{Files, GOOD, STALE, STORE_BUFFERING, command, examples, json, seriatim, seriatim_with, with_input};

#[test]
fn the_exit_status_says_the_worst() {
    let files = Files::new();
    let good = &files.write("good.hist", GOOD);
    let stale = &files.write("stale.hist", STALE);
    let bad = &files.write("bad.hist", "[0] q x 1\n");
    let buffering = &files.write("sb.hist", STORE_BUFFERING);
    assert_eq!(seriatim(["check", good]).status, 0);
    assert_eq!(seriatim(["check", good, stale]).status, 1);
    assert_eq!(seriatim(["check", stale, good, bad]).status, 2);
    assert_eq!(seriatim(["check", "--model", "cc,ccv,cm", buffering]).status, 0);
    assert_eq!(seriatim(["check", "--model", "ccm", buffering]).status, 1);
    assert_eq!(seriatim(["check", "--timeout", "0", good]).status, 3);
    assert_eq!(seriatim(["check", "--timeout", "0", good, bad]).status, 2);
}

#[test]
fn bad_usage_is_status_two() {
    let files = Files::new();
    let good = &files.write("good.hist", GOOD);
    for arguments in [
        vec!["check"],
        vec!["check", "--model", "serial", good],
        vec!["check", "--memory", "much", good],
        vec!["check", "--memory", "0", good],
        vec!["check", "--memory", "1K", good],
        vec!["check", "--memory", "5X", good],
        vec!["check", "--timeout", "-1", good],
        vec!["check", "--timeout", "NaN", good],
        vec!["check", "--timeout", "soon", good],
        vec!["check", "--jobs", "0", good],
        vec!["check", "--format", "csv", good],
        vec!["check", "--object", "tree", good],
        vec!["verify", good],
        vec!["gen", "--writes", "60", "--rmws", "60"],
        vec!["gen", "--threads", "0"],
        vec!["completions", "cobol"],
        vec!["frobnicate"],
        vec![],
    ] {
        let output = command().args(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_verdict_is_a_line_and_a_violation_is_explained() {
    let files = Files::new();
    let stale = &files.write("stale.hist", STALE);
    let ran = seriatim(["check", "--model", "cc", stale]);
    let expected = format!(
        "{stale}: cc: violation\n  \
         stale read: line 3 [0] r x 1 returns the value of line 1 [0] w x 1, which line 2 [0] w x 2 had \
             overwritten:\n    \
         line 1  [0] w x 1\n    \
         line 2  [0] w x 2  later in thread 0\n    \
         line 3  [0] r x 1  later in thread 0\n"
    );
    assert_eq!((ran.out, ran.err, ran.status), (expected, String::new(), 1));
}

#[test]
fn what_violates_two_models_for_one_reason_is_explained_once() {
    let files = Files::new();
    let stale = &files.write("stale.hist", STALE);
    let ran = seriatim(["check", "--model", "cc,ccv", stale]);
    assert_eq!(ran.out.matches("stale read:").count(), 1);
    assert!(ran.out.ends_with(&format!("{stale}: ccv: violation\n  for the same reason as cc\n")), "{}", ran.out);
}

#[test]
fn the_examples_have_the_verdicts_that_they_say() {
    for (file, verdicts) in [
        ("message-passing.hist", ["violation", "violation", "violation", "violation"]),
        ("store-buffering.hist", ["consistent", "consistent", "consistent", "violation"]),
        ("two-replicas.hist", ["consistent", "violation", "consistent", "violation"]),
    ] {
        let path = examples().join(file);
        let ran = seriatim(["check", "--json", "--model", "cc,ccv,cm,ccm", path.to_str().unwrap()]);
        let records = json(&ran.out);
        assert_eq!(
            records.iter().map(|record| record["verdict"].as_str().unwrap()).collect::<Vec<_>>(),
            verdicts,
            "{file}"
        );
    }
}

/// The names of all memory models, as the command lists them.
fn all_models() -> Vec<String> {
    let records = json(&seriatim(["models", "--json"]).out);
    let mut models: Vec<String> = records.iter().map(|r| r["model"].as_str().unwrap().to_owned()).collect();
    // The memory models come first.
    let end = models.iter().position(|model| model == "sc-observed").unwrap();
    assert_eq!(models[end + 1], "linearizable");
    models.truncate(end);
    models
}

#[test]
fn models_may_be_repeated_and_all_means_all() {
    let files = Files::new();
    let good = &files.write("good.hist", GOOD);
    let models = |text: &str| json(text).iter().map(|r| r["model"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(
        models(&seriatim(["check", "--json", "--model", "cm,cc", "--model", "ccv,cm", good]).out),
        ["cm", "cc", "ccv"]
    );
    assert_eq!(models(&seriatim(["check", "--json", "-m", "all", good]).out), all_models());
    assert_eq!(models(&seriatim(["check", "--json", good]).out), ["sc"]);
}

#[test]
fn json_has_the_fields_of_the_contract() {
    let files = Files::new();
    let corpus = &files.write("corpus.hist", format!("{GOOD}---\n{STALE}"));
    let certificates = &files.path("out.cert");
    let ran = seriatim(["check", "--json", "--model", "cc", "--certificate", certificates, corpus]);
    let records = json(&ran.out);
    assert_eq!(records.len(), 2);
    for (number, (record, (verdict, operations, threads))) in
        records.iter().zip([("consistent", 2, 2), ("violation", 3, 1)]).enumerate()
    {
        assert_eq!(record["file"], corpus.as_str());
        assert_eq!(record["history"], number);
        assert_eq!(record["model"], "cc");
        assert_eq!(record["verdict"], verdict);
        assert_eq!(record["operations"], operations);
        assert_eq!(record["threads"], threads);
        assert!(record["parse_micros"].is_u64() && record["check_micros"].is_u64() && record["strategy"].is_string());
        assert!(record.get("reason").is_none());
        assert!(record["certificate"].is_object());
    }
    let lines: Vec<serde_json::Value> = json(&std::fs::read_to_string(certificates).unwrap());
    assert_eq!(lines, records.iter().map(|record| record["certificate"].clone()).collect::<Vec<_>>());

    let unknown = &json(&seriatim(["check", "--json", "--timeout", "0", corpus]).out)[0];
    assert_eq!(unknown["verdict"], "unknown");
    assert!(unknown["reason"].as_str().unwrap().contains("time limit"));
    assert!(unknown.get("certificate").is_none());
}

#[test]
fn a_time_limit_may_be_a_fraction_and_is_named() {
    let files = Files::new();
    let path = &files.path("large.hist");
    // The file has the operations thread by thread. So its order proves nothing, and an engine has to run, which looks
    // at the time limit.
    let generate = ["gen", "--operations", "400000", "--threads", "16", "--order", "threads", "-o", path];
    assert_eq!(seriatim(generate).status, 0);
    let ran = seriatim(["check", "--model", "cm", "--timeout", "0.000001", path]);
    assert_eq!(ran.status, 3);
    assert_eq!(ran.out, format!("{path}: cm: unknown\n  the time limit was reached\n"));
    assert_eq!(seriatim(["check", "--model", "cc", "--timeout", "1e300", path]).status, 0);
}

#[test]
fn histories_are_numbered_only_in_a_corpus() {
    let files = Files::new();
    let one = &files.write("one.hist", GOOD);
    let two = &files.write("two.hist", format!("{GOOD}---\n{GOOD}"));
    let ran = seriatim(["check", "--model", "cc", one, two]);
    assert_eq!(ran.out, format!("{one}: cc: consistent\n{two}#0: cc: consistent\n{two}#1: cc: consistent\n"));
}

#[test]
fn results_come_in_input_order_whatever_the_jobs() {
    let files = Files::new();
    let corpus = &files.path("corpus.hist");
    let flags = ["--operations", "60", "--locations", "3", "--perturb", "1", "--histories", "300", "--rmws", "10"];
    assert_eq!(command().args(["gen", "-o", corpus]).args(flags).status().unwrap().code(), Some(0));
    let other = &files.write("other.hist", format!("{STALE}---\n[0] junk\n---\n{GOOD}"));
    let run = |jobs| {
        let certificates = &files.path("out.cert");
        let ran =
            seriatim(["check", "-m", "all", "--jobs", jobs, "--certificate", certificates, corpus, other, corpus]);
        (ran.status, ran.out, ran.err, std::fs::read_to_string(certificates).unwrap())
    };
    let one = run("1");
    assert_eq!(one.0, 2);
    assert!(one.1.contains("violation") && one.1.contains("consistent"));
    assert!(one.1.lines().filter(|line| line.starts_with('/')).count() == all_models().len() * (300 + 2 + 300));
    assert_eq!(one, run("2"));
    assert_eq!(one, run("8"));
}

#[test]
fn standard_input_and_compressed_files_are_read() {
    let ran = with_input(["check", "--model", "cc", "-"], STALE.as_bytes());
    assert!(ran.out.starts_with("-: cc: violation\n"));
    assert_eq!(ran.status, 1);

    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(STALE.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    assert_eq!(with_input(["check", "-"], &packed).status, 1);
    let files = Files::new();
    assert_eq!(seriatim(["check", &files.write("stale.hist.gz", &packed)]).status, 1);
    let ran = seriatim(["check", &files.write("cut.hist.gz", &packed[..packed.len() - 12])]);
    assert_eq!((ran.status, ran.out.as_str()), (2, ""));
}

#[test]
fn results_of_a_stream_appear_before_its_end() {
    let mut child =
        command().args(["check", "-m", "cc", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The verdict on the first history is printed when the second history is there. Only then it is known whether its
    // name has a number.
    stdin.write_all(format!("{GOOD}---\n{GOOD}---\n").as_bytes()).unwrap();
    stdin.flush().unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "-#0: cc: consistent");
    assert_eq!(lines.next().unwrap().unwrap(), "-#1: cc: consistent");
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_directory_means_every_history_below_it_sorted() {
    let files = Files::new();
    for name in ["d/b/2.hist", "d/b/10.hist", "d/a.hist", "d/c/deep/er/x.hist"] {
        files.write(name, GOOD);
    }
    files.write("d/README.md", "# Not a history\n\nBut some words about them.\n");
    files.write("d/picture.png", [0x89, b'P', b'N', b'G', 13, 10, 26, 10, 0, 0, 0]);
    let directory = files.path("d");
    let ran = seriatim(["check", "--model", "cc", &directory]);
    let expected: String = ["a.hist", "b/10.hist", "b/2.hist", "c/deep/er/x.hist"]
        .map(|name| format!("{directory}/{name}: cc: consistent\n"))
        .concat();
    assert_eq!((ran.out, ran.err, ran.status), (expected, String::new(), 0));
    std::fs::create_dir(files.path("empty")).unwrap();
    assert_eq!(seriatim(["check", &files.path("empty")]).status, 2);
}

#[test]
fn bad_input_is_shown_with_its_place_and_the_rest_goes_on() {
    let files = Files::new();
    let bad = &files.write("bad.hist", "[0] w x 1\n[0] q x 1\n");
    let good = &files.write("good.hist", GOOD);
    let ran = seriatim(["check", "-m", "cc", bad, good]);
    assert_eq!((ran.status, ran.out), (2, format!("{good}: cc: consistent\n")));
    let mut lines = ran.err.lines();
    assert!(lines.next().unwrap().starts_with(&format!("{bad}:2:5: ")), "{}", ran.err);
    assert!(lines.next().unwrap().starts_with("  expected "));
    assert_eq!(lines.next(), Some("  2 | [0] q x 1"));
    assert_eq!(lines.next(), Some("    |     ^"));
    assert_eq!(lines.next(), None);
}

#[test]
fn no_junk_yields_a_verdict() {
    let files = Files::new();
    let random: Vec<u8> = (0..4000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for (name, content) in [
        ("junk", &random[..]),
        ("junk.hist", &random[..]),
        ("empty.hist", b""),
        ("zeros.jsonl", &[0; 3000]),
        ("cut.hist", b"[0] w x 1\n[1] w"),
        ("cut.jsonl", b"{\"process\":0,\"f\":\"w\",\"key\":\"x\",\"value\":1}\n{\"process\":0,\"f\":"),
        ("cut.edn", b"{:process 0, :type :invoke, :f :wri"),
        ("words.hist", b"hello world\n"),
    ] {
        let path = files.write(name, content);
        for models in ["cc", "all"] {
            let ran = seriatim(["check", "--model", models, &path]);
            assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{name}");
            assert!(ran.err.starts_with(&format!("{path}:")), "{name}: {}", ran.err);
        }
    }
    let ran = seriatim(["check", &files.path("missing.hist"), &files.write("good.hist", GOOD)]);
    assert_eq!(ran.status, 2);
    assert!(ran.out.contains("consistent") && ran.err.contains("missing.hist"));
}

#[test]
fn ambiguous_reads_name_both_writes() {
    let files = Files::new();
    let twice = &files.write("twice.hist", "[0] w x 1\n[1] w x 1\n\n[2] r x 1\n");
    let ran = seriatim(["check", "--unique", twice]);
    assert_eq!((ran.status, ran.out.as_str()), (2, ""));
    assert!(ran.err.starts_with(&format!("{twice}:4:1: reads-from is ambiguous")), "{}", ran.err);
    assert!(ran.err.contains("line 1 `[0] w x 1`") && ran.err.contains("line 2 `[1] w x 1`"), "{}", ran.err);
    assert!(ran.err.contains("  4 | [2] r x 1\n"));
    let named = &files.write("named.hist", "[0] w x 1\n[1] w x 1 id=b\n[2] r x 1 from=b\n");
    assert_eq!(seriatim(["check", "--unique", named]).status, 0);
    assert_eq!(seriatim(["classify", "--unique", twice]).status, 2);
}

#[test]
fn open_sources_are_looked_for() {
    let files = Files::new();
    let good = &files.write("good.hist", "[0] w x 1\n[1] w x 1\n[2] r x 1\n");
    let bad = &files.write("bad.hist", "[0] w x 1\n[0] w x 2\n[0] w x 1\n[1] r x 2\n[1] r x 1\n[1] r x 2\n");
    let proofs = &files.path("proofs.jsonl");
    let ran = seriatim(["check", "--model", "all", "--certificate", proofs, good, bad]);
    assert_eq!(ran.status, 1, "{}", ran.out);
    assert!(ran.out.contains(&format!("{good}: sc: consistent\n")), "{}", ran.out);
    assert!(ran.out.contains(&format!("{bad}: sc: violation\n  for the same reason as")), "{}", ran.out);
    let ran = seriatim(["check", bad]);
    assert!(
        ran.out.contains(&format!("{bad}: sc: violation\n  no choice of sources explains all reads: ")),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("suppose that line 5 [1] r x 1 reads from line 1 [0] w x 1; stale read: line 5"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("no source is left for line 5 [1] r x 1, by [1], [2]"), "{}", ran.out);
    assert_eq!(seriatim(["verify", "--all", proofs, good, bad]).status, 0);
    let lines = std::fs::read_to_string(proofs).expect("the certificates");
    assert!(lines.contains("\"sources\":[[2,") && lines.contains("\"none_left\":4"), "{lines}");
    let ran = seriatim(["classify", good, bad]);
    assert_eq!(ran.status, 0, "{}", ran.out);
}

#[test]
fn a_model_that_does_not_fit_is_bad_usage_and_says_what_would() {
    let files = Files::new();
    let queue = &files.write("q.hist", "# @object queue\n[1] call enqueue 5\n[1] return\n");
    for model in ["cc", "sc-observed"] {
        let ran = seriatim(["check", "--model", model, queue]);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""));
        assert!(ran.err.ends_with("\n  linearizable fits a queue\n"), "{}", ran.err);
    }
    for ran in [seriatim(["check", queue]), seriatim(["check", "-m", "all", queue])] {
        assert_eq!((ran.status, ran.out), (0, format!("{queue}: linearizable: consistent\n")));
    }

    let memory = &files.write("m.hist", GOOD);
    let ran = seriatim(["check", "--model", "linearizable", memory]);
    assert_eq!((ran.status, ran.out.as_str()), (2, ""));
    let advice = format!("\n  {} fit a memory without calls and returns\n", all_models().join(", "));
    assert!(ran.err.contains("calls and returns") && ran.err.ends_with(&advice), "{}", ran.err);
    let bare = &files.write("bare.hist", "# @object queue\n[1] enqueue 5\n");
    assert_eq!(seriatim(["check", bare]).status, 2);
    let empty = &files.write("e.hist", "# @object queue\n[1] call enqueue empty\n[1] return\n");
    let ran = seriatim(["check", empty]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.starts_with(&format!("{empty}:2:1: the value `empty`")), "{}", ran.err);
}

#[test]
fn quiet_leaves_out_what_is_well() {
    let files = Files::new();
    let good = &files.write("good.hist", GOOD);
    let stale = &files.write("stale.hist", STALE);
    let ran = seriatim(["check", "--quiet", "-m", "cc,ccm", good, stale]);
    assert_eq!(ran.out, format!("{stale}: cc: violation\n{stale}: ccm: violation\n"));
    assert_eq!(json(&seriatim(["check", "--quiet", "--json", "-m", "cc,ccm", good, stale]).out).len(), 4);
}

#[test]
fn nothing_but_text_goes_to_what_is_no_terminal() {
    let files = Files::new();
    let stale = &files.write("stale.hist", STALE);
    let bad = &files.write("bad.hist", "[0] q x 1\n");
    let ran = seriatim(["check", "-m", "all", stale, bad]);
    assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'));
    assert!(!ran.err.contains('\r'));
}

#[test]
fn a_reader_that_leaves_is_no_reason_to_panic() {
    let files = Files::new();
    let corpus = &files.write("corpus.hist", format!("{GOOD}---\n").repeat(20_000));
    for arguments in
        [vec!["check", corpus], vec!["gen", "--operations", "1000000"], vec!["convert", "--to", "jsonl", corpus]]
    {
        let mut child = command().args(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(!first.is_empty());
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn thin_air_is_a_violation_of_every_model() {
    let files = Files::new();
    let path = &files.write("air.hist", "[0] r x 7\n");
    let ran = seriatim(["check", "-m", "cc", path]);
    let told = "thin-air read: line 1 [0] r x 7 returns 7, which nobody wrote to x (the initial value is 0)\n  \
                1 read returns 7, which nobody wrote: if that is the initial value, use `--initial 7`";
    assert_eq!((ran.status, ran.out), (1, format!("{path}: cc: violation\n  {told}\n")));
    assert_eq!(
        json(&seriatim(["check", "--json", "-m", "all", path]).out)
            .iter()
            .filter(|r| r["verdict"] == "violation")
            .count(),
        all_models().len()
    );
}

#[test]
fn every_strategy_gives_the_verdict_of_its_model() {
    let files = Files::new();
    let good = &files.write("good.hist", GOOD);
    let buffering = &files.write("sb.hist", STORE_BUFFERING);
    for strategy in ["auto", "search", "wsc+search"] {
        let ran = seriatim(["check", "--json", "--model", "sc", "--strategy", strategy, good, buffering]);
        let records = json(&ran.out);
        assert_eq!([&records[0]["verdict"], &records[1]["verdict"]], ["consistent", "violation"], "{strategy}");
    }
    for (model, strategy) in [("tso", "search"), ("tso", "wtso+search"), ("pso", "wpso+search")] {
        let ran = seriatim(["check", "--json", "--model", model, "--strategy", strategy, good, buffering]);
        let records = json(&ran.out);
        assert_eq!([&records[0]["verdict"], &records[1]["verdict"]], ["consistent", "consistent"], "{strategy}");
        assert!(records.iter().all(|record| record["model"] == model), "{strategy}");
    }
    // The order of the file proves nothing if it is no interleaving.
    assert_eq!(seriatim(["check", "--strategy", "recorded", buffering]).status, 3);
    assert_eq!(seriatim(["check", "--strategy", "guess", good]).status, 2);
    // A strategy for a model that is not asked for is a mistake.
    assert_eq!(seriatim(["check", "--model", "sc", "--strategy", "windows", good]).status, 2);
    // The papers' own strategies are research: one line says who has them.
    for strategy in ["machine", "wsc+sat", "ccm+enum", "sc-ccm+sat"] {
        let ran = seriatim(["check", "--strategy", strategy, good]);
        assert_eq!(ran.status, 2);
        assert!(ran.err.contains(&format!("`lab check --strategy {strategy}`")), "{}", ran.err);
    }
}

#[test]
fn store_buffers_are_told_from_weaker_memories() {
    let files = Files::new();
    // Fences forbid store buffering. Writes may overtake each other in the buffers of pso, but not in those of tso.
    let fenced = &files.write("fenced.hist", "[0] w x 1\n[0] f\n[0] r y 0\n[1] w y 1\n[1] f\n[1] r x 0\n");
    let passing = &files.write("passing.hist", "[0] w x 1\n[0] w y 1\n[1] r y 1\n[1] r x 0\n");
    let certificates = &files.path("certificates");
    let ran = seriatim(["check", "--model", "tso,pso", "--certificate", certificates, fenced, passing]);
    assert_eq!(ran.status, 1);
    for told in [
        format!("{fenced}: tso: violation\n"),
        format!("{fenced}: pso: violation\n"),
        format!("{passing}: tso: violation\n  stale read: line 4"),
        format!("{passing}: pso: consistent\n"),
        "line 2  [0] f      later in thread 0\n".to_owned(),
    ] {
        assert!(ran.out.contains(&told), "{told}: {}", ran.out);
    }
    assert_eq!(seriatim(["verify", certificates, fenced, passing]).status, 0);
}

#[test]
fn a_violation_in_a_large_history_is_told_and_verified() {
    let files = Files::new();
    let (history, certificates) = (&files.path("large.hist"), &files.path("large.cert"));
    let machine = ["gen", "--model", "tso", "--threads", "16", "--locations", "64", "--rmws", "2", "--fences", "2"];
    let size = ["--operations", "100000", "--seed", "2", "--perturb", "1", "-o", history];
    assert_eq!(command().args(machine).args(size).status().unwrap().code(), Some(0));
    let ran = seriatim(["check", "--model", "wccm,wtso,tso", "--certificate", certificates, history]);
    assert_eq!(ran.status, 1);
    for model in ["wccm", "wtso", "tso"] {
        assert!(ran.out.contains(&format!("{history}: {model}: violation\n")), "{}", ran.out);
    }
    // The circles are short, although the history is long.
    assert!(ran.out.lines().count() < 60 && ran.out.contains("later in thread"), "{}", ran.out);
    assert_eq!(seriatim(["verify", certificates, history]).status, 0);
}

#[test]
fn what_saturation_leaves_open_is_refuted_told_and_verified() {
    let files = Files::new();
    let (history, certificates) = (&files.path("hard.hist"), &files.path("hard.cert"));
    for side_by_side in [false, true] {
        let mut generate = command();
        generate.args(["gen", "--model", "hard-5", "--copies", "3", "--violating", "-o", history]);
        generate.args(side_by_side.then_some("--side-by-side"));
        assert_eq!(generate.status().unwrap().code(), Some(0));
        let ran = seriatim(["check", "--model", "wsc,sc", "--certificate", certificates, history]);
        assert_eq!(ran.status, 1);
        assert!(ran.out.starts_with(&format!("{history}: wsc: consistent\n{history}: sc: violation\n")), "{}", ran.out);
        for told in
            ["[1] suppose that line", "in any case, each of these must come before the next", "refutes the opposite"]
        {
            assert!(ran.out.contains(told), "{told}: {}", ran.out);
        }
        assert_eq!(seriatim(["verify", certificates, history]).status, 0);
    }
}

#[test]
fn what_saturation_leaves_open_under_sra_is_refuted_told_and_verified() {
    let files = Files::new();
    let (history, certificates) = (&files.path("hard.hist"), &files.path("hard.cert"));
    assert_eq!(seriatim(["gen", "--model", "hard-rmw", "--copies", "2", "-o", history]).status, 0);
    assert_eq!(seriatim(["check", "--model", "sra", history]).status, 0);
    assert_eq!(seriatim(["gen", "--model", "hard-rmw", "--copies", "2", "--violating", "-o", history]).status, 0);
    let ran = seriatim(["check", "--model", "ra,sra", "--certificate", certificates, history]);
    assert_eq!(ran.status, 1);
    let begins = format!(
        "{history}: ra: consistent\n{history}: sra: violation\n  \
         no order of the writes agrees with what happens before and with atomicity: "
    );
    assert!(ran.out.starts_with(&begins), "{}", ran.out);
    for told in ["[1] suppose that line", "in any case, each of these must come before", "refutes the opposite"] {
        assert!(ran.out.contains(told), "{told}: {}", ran.out);
    }
    assert_eq!(seriatim(["verify", certificates, history]).status, 0);
}

/// A graph without a triangle is allowed by all three models of Theorem 1.7 of RF, and one with a triangle by none.
#[test]
fn triangles_are_generated_and_found() {
    let files = Files::new();
    let history = &files.path("graph.hist");
    let generate = ["gen", "--model", "triangles", "--nodes", "12", "--edges", "30", "-o", history];
    assert_eq!(seriatim(generate).status, 0);
    assert_eq!(seriatim(["check", "--model", "wra,ra,sra", history]).status, 0);
    assert_eq!(seriatim_with(&[&generate[..], &["--violating"]].concat()).status, 0);
    let ran = seriatim(["check", "--model", "wra,ra,sra", history]);
    assert_eq!((ran.status, ran.out.matches(": violation").count()), (1, 3), "{}", ran.out);
    assert_eq!(seriatim(["gen", "--model", "triangles", "--threads", "3"]).status, 2);
}

/// Replicated memories keep the model that they are named after.
#[test]
fn replicas_are_generated() {
    let files = Files::new();
    let history = &files.path("replicas.hist");
    for model in ["cc", "ccv", "cm"] {
        let size = ["--operations", "300", "--threads", "5", "--delay", "6", "--histories", "10"];
        assert_eq!(seriatim_with(&[&["gen", "--model", model, "-o", history][..], &size].concat()).status, 0);
        assert_eq!(seriatim(["check", "--model", model, history]).status, 0, "{model}");
        assert_eq!(seriatim(["check", "--model", "sc", history]).status, 1, "{model}");
    }
}

#[test]
fn the_kernel_is_counted() {
    let files = Files::new();
    let history = &files.path("hard.hist");
    assert_eq!(seriatim(["gen", "--model", "hard-3", "-o", history]).status, 0);
    let ran = seriatim(["kernel", "--json", history]);
    let record = &json(&ran.out)[0];
    // The order of the two writes of x is in the kernel, but saturation does not find it. The two writes of each of two
    // other locations may come in either order.
    assert_eq!((ran.status, &record["pairs"], &record["st"], &record["kernel"]), (0, &3.into(), &0.into(), &1.into()));
    assert!(seriatim(["kernel", history]).out.contains("3 pairs of writes, 1 in the kernel (33.33%)"));
    // The pairs themselves: one is in the kernel, and no weaker order has it.
    let ran = seriatim(["kernel", "--pairs", history]);
    assert_eq!((ran.out.matches(": kernel\n").count(), ran.out.matches(": open\n").count()), (1, 2), "{}", ran.out);
    let record = &json(&seriatim(["kernel", "--pairs", "--json", history]).out)[0];
    let writes = record["writes"].as_array().unwrap();
    let forced: Vec<_> = writes.iter().filter(|pair| pair["orders"] == serde_json::json!(["kernel"])).collect();
    assert!(writes.len() == 3 && forced.len() == 1, "{record}");
    // A corpus has a summary.
    let atomic = &files.path("atomic.hist");
    assert_eq!(seriatim(["gen", "--operations", "60", "--histories", "5", "-o", atomic]).status, 0);
    let ran = seriatim(["kernel", atomic, history]);
    assert!(ran.out.contains("\n6 histories: ") && ran.out.contains("\n  wsc: the whole kernel in "), "{}", ran.out);
    let summary = json(&seriatim(["kernel", "--json", atomic, history]).out).pop().unwrap();
    assert_eq!((&summary["kind"], &summary["histories"]), (&"summary".into(), &6.into()));
    assert!(summary["st"]["whole"].as_f64().unwrap() < 100.0 && summary["st"]["others"].is_number(), "{summary}");

    let buffering = &files.write("sb.hist", STORE_BUFFERING);
    assert_eq!(seriatim(["kernel", buffering]).status, 1);
    assert_eq!(seriatim(["kernel", "--timeout", "0", history]).status, 3);
}

/// A process takes more than one megabyte before it does anything.
#[test]
fn a_memory_limit_is_a_reason() {
    let files = Files::new();
    let memory = &files.write("sb.hist", STORE_BUFFERING);
    let ran = seriatim(["check", "--memory", "1M", "--json", memory]);
    assert_eq!(ran.status, 3, "{}", ran.out);
    let verdict = &json(&ran.out)[0];
    assert_eq!(verdict["verdict"], "unknown");
    assert_eq!(verdict["reason"], "the memory limit of 1 MiB was reached");
    assert_eq!(seriatim(["check", "--memory", "0.5g", memory]).status, 1);
    assert_eq!(seriatim(["kernel", "--memory", "1M", memory]).status, 3);
    assert_eq!(seriatim(["classify", "--memory", "1M", memory]).status, 3);
    assert_eq!(seriatim(["kernel", "--memory", "500MB", memory]).status, 1);
}
