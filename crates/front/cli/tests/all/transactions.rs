//! Histories of transactions through the commands.

use crate::common;
use common::{Files, json, seriatim, with_input};
use std::fmt::Write as _;

const SKEW: &str = "# @name skew
[a] begin
[b] begin
[a] r y 0
[a] w x 1
[b] r x 0
[b] w y 1
[a] commit
[b] commit
[c] w z 1
";

#[test]
fn check_names_the_violation_and_tells_it() {
    let files = Files::new();
    let path = files.write("skew.hist", SKEW);
    let ran = seriatim(["check", "--model", "si,ser", &path]);
    assert_eq!(ran.status, 1, "{ran:?}");
    let expected = format!(
        "\
{path}: snapshot-isolation: consistent
{path}: serializable: violation
  name: skew
  write skew, G2-item: no commit order has all of these:
    T0, line 2  [a] r y 0, w x 1
    T1, line 3  [b] r x 0, w y 1
    T0 < T1, because line 4 [a] r y 0 returns the initial version of y, which T1 overwrites
    T1 < T0, because line 6 [b] r x 0 returns the initial version of x, which T0 overwrites
"
    );
    assert_eq!(ran.out, expected);
}

#[test]
fn the_default_is_strict_where_times_are_known() {
    let files = Files::new();
    let stale = "# @object transactions\n[a] w x 1\n[b] r x 0\n";
    let path = files.write("stale.hist", stale);
    let ran = seriatim(["check", "--quiet", &path]);
    assert_eq!(ran.out, format!("{path}: strict-serializable: violation (serializable holds)\n"));
    let path = files.write("untimed.hist", format!("# @realtime none\n{stale}"));
    let ran = seriatim(["check", &path]);
    assert_eq!((ran.status, ran.out), (0, format!("{path}: serializable: consistent\n")));
    let ran = seriatim(["check", "--model", "strong-si", &path]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("the level asks for the order in time, and this history has no times"), "{ran:?}");
}

#[test]
fn all_names_of_elle_are_understood() {
    let files = Files::new();
    let path = files.write("own.hist", "# @object transactions\n[a] w x 1\n[a] r x 1\n");
    for name in [":strict-serializable", "strong-session-snapshot-isolation", ":PL-2+", "strong-consistent-view"] {
        let ran = seriatim(["check", "--names", "elle", "--model", name, &path]);
        assert_eq!(ran.status, 0, "{name}: {ran:?}");
    }
    let ran = seriatim(["check", "--json", "--names", "elle", "--model", ":PL-SI,:strict-serializable", &path]);
    assert!(ran.out.contains(r#""model":"snapshot-isolation""#), "{ran:?}");
    assert!(ran.out.contains(r#""model":"strict-serializable""#), "{ran:?}");
    let ran = seriatim(["check", "--model", ":update-serializable", &path]);
    assert_eq!(ran.status, 2, "{ran:?}");
    let expected = "the nearest are `consistent-view` (weaker) and `serializable` (stronger)";
    assert!(ran.err.contains(expected), "{ran:?}");
    // Commands about one model take them, too.
    for command in ["explain", "shrink"] {
        let ran = seriatim([command, "--model", ":strong-session-PL-SI", &files.write("skew.hist", SKEW)]);
        assert_eq!((ran.status, ran.err.contains("error")), (0, false), "{command}: {ran:?}");
        let ran = seriatim([command, "--model", ":strict-serializable", &files.write("skew.hist", SKEW)]);
        assert!(ran.status == 1 && ran.out.contains("strict-serializable: violation"), "{command}: {ran:?}");
        let ran = seriatim([command, "--model", ":update-serializable", &path]);
        assert!(ran.status == 2 && ran.err.contains(expected), "{command}: {ran:?}");
    }
    let ran = seriatim(["monitor", "--model", ":strong-session-causal-cerone", &path]);
    assert_eq!((ran.status, ran.out), (0, format!("{path}: causal: consistent\n")));
    let ran = seriatim(["monitor", "--model", ":strict-serializable", &path]);
    assert!(ran.status == 2 && ran.err.contains("invalid value"), "{ran:?}");
}

#[test]
fn a_level_may_hold_without_sessions() {
    let files = Files::new();
    let path = files.write("own.hist", "# @object transactions\n[a] w x 1\n[a] r x 0\n");
    let ran = seriatim(["check", "--quiet", "--model", "causal,sessionless-causal", &path]);
    assert_eq!(ran.out, format!("{path}: causal: violation (sessionless-causal holds)\n"));
    let ran = seriatim(["check", "--model", "serializable,strong-session-serializable", "--names", "elle", &path]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.contains(": serializable: consistent\n"), "{ran:?}");
    assert!(ran.out.contains(": strong-session-serializable: violation (serializable holds)\n"), "{ran:?}");
    let ran = seriatim(["check", "--json", "--model", "serializable", &path]);
    assert!(ran.out.contains(r#""anomalies":["read-your-writes violation","G-single-process"]"#), "{ran:?}");
    assert!(ran.out.contains(r#""weaker_form":"sessionless-serializable""#), "{ran:?}");
}

/// Two transactions of one session read one version and both overwrite it.
const LOST: &str = "\
# @object transactions
# @realtime none
[c] w z 1
[a] begin
[a] r x 0
[a] w x 1
[a] commit
[c] w z 2
[a] begin
[a] r x 0
[a] w x 2
[a] commit
";

#[test]
fn a_lost_update_in_one_session_is_no_fractured_read() {
    let files = Files::new();
    let path = files.write("lost.hist", LOST);
    let ran = seriatim(["check", "--json", "--model", "causal,serializable", &path]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert_eq!(ran.out.matches(r#""anomalies":["lost update""#).count(), 2, "{ran:?}");
    // The monitor does not keep what the first of them read.
    let ran = seriatim(["monitor", "--model", "causal", &path]);
    assert!(ran.out.contains("read-your-writes violation") && !ran.out.contains("fractured"), "{ran:?}");
}

#[test]
fn a_read_that_misses_a_write_is_told_from_the_read() {
    let files = Files::new();
    let path = files.write("lost.hist", LOST);
    let ran = seriatim(["check", "--model", "causal", &path]);
    let expected = format!(
        "\
{path}: causal: violation (sessionless-causal holds)
  lost update, G-single-process: no commit order has all of these:
    T1, line 4  [a] r x 0, w x 1
    T3, line 9  [a] r x 0, w x 2
    T1 < T3, because T3 is later in session a
    T3 < T1, because line 10 [a] r x 0 returns the initial version of x, which T1 overwrites
"
    );
    assert_eq!(ran.out, expected);
}

#[test]
fn a_transaction_has_one_number_everywhere() {
    let files = Files::new();
    let path = files.write("lost.hist", LOST);
    let check = seriatim(["check", "--model", "causal", &path]);
    let explain = seriatim(["explain", "--model", "causal", &path]);
    let json = seriatim(["explain", "--json", "--model", "causal", &path]);
    for ran in [&check, &explain, &json] {
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(ran.out.contains("T1 < T3, because"), "{ran:?}");
        assert!(!ran.out.contains("T0") && !ran.out.contains("T2"), "{ran:?}");
    }
    assert!(explain.out.contains("┏ T3 :9") && json.out.contains(r#""place":"T3, line 9""#), "{explain:?} {json:?}");
}

#[test]
fn classify_places_a_history_among_the_levels() {
    let files = Files::new();
    let path = files.write("skew.hist", SKEW);
    let svg = files.path("levels.svg");
    let ran = seriatim(["classify", "--quiet", "--svg", &svg, &path]);
    let expected = "satisfies strong-snapshot-isolation; breaks sessionless-serializable";
    assert_eq!((ran.status, ran.out), (0, format!("{path}: {expected}\n")));
    let drawn = std::fs::read_to_string(svg).unwrap();
    assert!(drawn.contains("strict-serializable") && !drawn.contains(">tso<"));
}

#[test]
fn certificates_are_verified_and_bound_to_their_history() {
    let files = Files::new();
    let path = files.write("skew.hist", SKEW);
    let proof = files.path("proof.jsonl");
    let ran = seriatim(["check", "--quiet", "--model", "all", "--certificate", &proof, &path]);
    assert_eq!(ran.status, 1, "{ran:?}");
    let ran = seriatim(["verify", &proof, &path]);
    assert_eq!((ran.status, ran.out.lines().count()), (0, 27), "{ran:?}");
    let other = files.write("other.hist", SKEW.replace("[c] w z 1", "[c] w z 2"));
    let ran = seriatim(["verify", &proof, &other]);
    assert!(ran.status == 1 && ran.out.contains("refused: the certificate belongs to another history"), "{ran:?}");
}

#[test]
fn shrink_keeps_what_clashes() {
    let files = Files::new();
    let mut text = String::from("# @object transactions\n");
    for number in 0..50 {
        writeln!(text, "[d] begin\n[d] r u {number}\n[d] w u {}\n[d] commit", number + 1).unwrap();
    }
    let path = files.write("long.hist", format!("{text}{}", &SKEW[SKEW.find('[').unwrap()..]));
    let ran = seriatim(["shrink", "--model", "ser", &path]);
    assert_eq!(ran.status, 1, "{ran:?}");
    let operations = ran.out.lines().filter(|line| line.contains(" r ") || line.contains(" w "));
    let operations: Vec<&str> = operations.filter(|line| line.starts_with('[')).collect();
    assert_eq!(operations, ["[a] r y 0", "[a] w x 1", "[b] r x 0", "[b] w y 1"], "{ran:?}");
    let again = files.write("small.hist", &ran.out);
    assert_eq!(seriatim(["check", "--quiet", "--model", "serializable", &again]).status, 1);
}

#[test]
fn an_ambiguous_read_names_both_writes() {
    let files = Files::new();
    let path = files.write("twice.hist", "# @object transactions\n[a] w x 1\n[b] w x 1\n[c] r x 1\n");
    let ran = seriatim(["check", &path]);
    assert_eq!(ran.status, 2, "{ran:?}");
    let words = "this read may be from line 2 `[a] w x 1` or from line 3 `[b] w x 1`";
    assert!(ran.err.contains(words), "{ran:?}");
}

#[test]
fn models_lists_the_levels() {
    let ran = seriatim(["models"]);
    assert!(ran.out.contains("\nIsolation levels of transactions:\nsessionless-pl-2"), "{ran:?}");
    assert!(ran.out.contains("strict-serializable  "), "{ran:?}");
}

/// Sessions that pass values on, and in the end one that sees half of a transaction.
fn relay(rounds: u32) -> String {
    let mut text = String::new();
    for round in 1..=rounds {
        let (before, session) = (round - 1, round % 3);
        let _ = writeln!(text, "[{session}] begin\n[{session}] r x {before}\n[{session}] w x {round}");
        let _ = writeln!(text, "[{session}] w y {round}\n[{session}] commit");
    }
    text
}

#[test]
fn a_stream_of_transactions_is_monitored() {
    let good = relay(50);
    let half = format!("{good}[d] begin\n[d] r x 50\n[d] r y 49\n[d] commit\n[d] w z 1\n");
    for model in ["read-committed", "read-atomic", "causal", "serializable"] {
        let ran = with_input(["monitor", "--model", model], good.as_bytes());
        assert_eq!((ran.status, ran.out), (0, format!("-: {model}: consistent\n")));
        let files = Files::new();
        let (seen, proof) = (files.path("seen.hist"), files.path("proof.jsonl"));
        let ran = with_input(["monitor", "--model", model, "--json"], half.as_bytes());
        let told = json(&ran.out).remove(0);
        assert_eq!((told["verdict"].as_str(), told["at"].as_u64()), (Some("violation"), Some(254)), "{ran:?}");
        let reason = told["reason"].as_str().unwrap();
        assert!(reason.contains("G-single"), "{model}: {reason}");
        let ran =
            with_input(["monitor", "--model", model, "--record", &seen, "--certificate", &proof], half.as_bytes());
        assert!(ran.status == 1 && ran.out.contains("T49") && ran.err.is_empty(), "{ran:?}");
        assert!(ran.out.contains("non-monotonic read"), "{model}: {}", ran.out);
        let ran = seriatim(["verify", &proof, &seen]);
        assert_eq!(ran.status, 0, "{ran:?}");
    }
    let default = with_input(["monitor"], good.as_bytes());
    assert_eq!((default.status, default.out.as_str()), (0, "-: serializable: consistent\n"));
    let misfit = with_input(["monitor", "--model", "causal"], b"[0] w x 1\n");
    assert!(misfit.status == 2 && misfit.err.contains("causal is about transactions"), "{misfit:?}");
    let misfit = with_input(["monitor", "--model", "ra"], good.as_bytes());
    assert!(misfit.status == 2 && misfit.err.contains("there is no monitor of ra for transactions"), "{misfit:?}");
}

#[test]
fn a_monitor_says_what_it_cannot_know() {
    // Under read-committed a new transaction may return what is older than the window, and nobody can know.
    let old = format!("{}[d] r x 1\n", relay(50));
    let ran = with_input(["monitor", "--model", "read-committed", "--window", "10"], old.as_bytes());
    assert!(ran.status == 3 && ran.out.contains("unknown") && ran.out.contains("--window"), "{ran:?}");
    let ran = with_input(["monitor", "--model", "read-committed"], old.as_bytes());
    assert_eq!((ran.status, ran.out.as_str()), (0, "-: read-committed: consistent\n"));
    // A session that knows of a later version must not return it.
    let stale = format!("{}[1] r x 1\n", relay(50));
    for model in ["causal", "serializable"] {
        let ran = with_input(["monitor", "--model", model, "--window", "10"], stale.as_bytes());
        assert!(ran.status == 1 && ran.out.contains("stale read or thin-air"), "{model}: {ran:?}");
    }
    // The order of blind writes may stay open.
    let blind =
        "[a] begin\n[a] w x 1\n[a] commit\n[b] begin\n[b] w x 2\n[b] commit\n[c] begin\n[c] r x 1\n[c] commit\n";
    let ran = with_input(["monitor", "--model", "serializable"], blind.as_bytes());
    assert!(ran.status == 3 && ran.out.contains("without a read before"), "{ran:?}");
}

#[test]
fn a_stream_in_json_lines_is_monitored() {
    let line = |kind: &str, process: u32, value: &str| {
        format!("{{\"type\":\"{kind}\",\"process\":{process},\"f\":\"txn\",\"value\":{value}}}\n")
    };
    let mut text = line("invoke", 0, "[[\"append\",1,1]]") + &line("invoke", 1, "[[\"r\",1,null]]");
    // The reader is told before the writer.
    text += &(line("ok", 1, "[[\"r\",1,[1]]]") + &line("ok", 0, "[[\"append\",1,1]]"));
    let ran = with_input(["monitor", "--model", "causal"], text.as_bytes());
    assert_eq!((ran.status, ran.out.as_str()), (0, "-: causal: consistent\n"), "{}", ran.err);
    text += &(line("invoke", 1, "[[\"r\",1,null]]") + &line("ok", 1, "[[\"r\",1,null]]"));
    let ran = with_input(["monitor", "--model", "causal"], text.as_bytes());
    assert!(ran.status == 1 && ran.out.contains("causality violation"), "{ran:?}");
}
