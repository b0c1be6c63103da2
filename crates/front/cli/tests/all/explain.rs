//! `explain`, and what CI servers and viewers read: JUnit XML, annotations of GitHub, traces of Perfetto.

use crate::common;
use common::{Files, examples, json, seriatim, with_input};

fn example(name: &str) -> String {
    examples().join(name).display().to_string()
}

#[test]
fn a_circle_is_drawn_and_told() {
    let files = Files::new();
    let path = &files.write("mp.hist", "[a] w row 1\n[a] w flag 1\n[b] r flag 1\n[b] r row 0\n[b] w z 1\n");
    let ran = seriatim(["explain", "--width", "80", path]);
    assert_eq!(ran.status, 1);
    let told = ran.out.split_once('\n').unwrap();
    assert!(told.0.ends_with("sc: violation: 4 of 5 operations clash"), "{}", told.0);
    let expected = "
  at first: row = 0
    a                         b
    │                         │
    ● w row 1 :1              │
    │                         │
    ● w flag 1 :2             │
    │                         │
    ├─────────────── rf :2 ──▶● r flag 1 :3
    │                         │
    │◀╌╌╌╌╌╌╌╌╌╌╌╌╌╌ rw :1 ╌╌╌● r row 0 :4

  stale read: line 4 [b] r row 0 returns the initial value of row, which line 1
    [a] w row 1 had overwritten:
    po    line 1 [a] w row 1 comes before line 2 [a] w flag 1 in thread a
    rf    line 3 [b] r flag 1 reads from line 2 [a] w flag 1
    po    line 3 [b] r flag 1 comes before line 4 [b] r row 0 in thread b
    rw    line 4 [b] r row 0 reads the initial value of row, which line 1 [a] w
          row 1 overwrites, so line 4 comes before line 1
    ├ init  the initial value of row comes before every operation
    └ rf    line 4 [b] r row 0 reads from the initial value of row
";
    assert_eq!(told.1, expected, "{}", told.1);
    let short = seriatim(["explain", "--width", "80", "--depth", "0", path]).out;
    assert!(!short.contains("└ rf") && short.contains("rw    line 4"), "{short}");
}

#[test]
fn an_object_says_what_it_would_have_to_contain() {
    let text =
        "# @object stack\n[a] call push 1\n[a] return\n[b] call push 2\n[b] return\n[c] call pop\n[c] return 1\n";
    let ran = with_input(["explain", "-"], text.as_bytes());
    assert_eq!(ran.status, 1);
    assert!(ran.out.contains("┏ push 1 :2"), "{}", ran.out);
    assert!(ran.out.contains("the stack would have to contain 1 on top"), "{}", ran.out);
    assert!(ran.out.contains("it contains, the top last: 1, 2"), "{}", ran.out);
}

#[test]
fn several_histories_are_told_one_after_the_other() {
    let text = b"[0] w x 1\n[1] r x 7\n---\n[0] w x 1\n[1] r x 1\n";
    let ran = with_input(["explain", "-"], text);
    assert_eq!(ran.status, 1);
    assert!(ran.out.contains("-#0: sc: violation") && ran.out.contains("-#1: sc: consistent"), "{}", ran.out);
    assert!(ran.out.contains("this order of all operations explains every read"), "{}", ran.out);
    let lines = json(&with_input(["explain", "--json", "-"], text).out);
    assert_eq!(lines[0]["story"]["evidence"], "read from thin air");
    assert_eq!(lines[0]["shrunk"], 1);
    assert_eq!(lines[1]["story"]["witness"]["runs"][0]["steps"].as_array().unwrap().len(), 2);
    let pictures = with_input(["explain", "--to", "svg", "-"], b"[0] r x 7\n---\n[0] r x 7\n");
    assert_eq!(pictures.status, 2);
    assert!(pictures.err.contains("a picture shows one violation"), "{}", pictures.err);
    assert_eq!(seriatim(["explain", "--timeout", "0", &example("store-buffering.hist")]).status, 3);
    assert_eq!(with_input(["explain", "--model", "sc", "-"], b"# @object queue\n[0] call dequeue\n").status, 2);
}

/// A reader of XML that knows elements, attributes and text. It panics on anything that is not well-formed.
fn elements(xml: &str) -> Vec<(String, Vec<(String, String)>)> {
    fn plain(text: &str) -> String {
        assert!(!text.contains(['<', '>']), "{text}");
        for (at, _) in text.match_indices('&') {
            let known = ["&amp;", "&lt;", "&gt;", "&quot;"];
            assert!(known.iter().any(|entity| text[at..].starts_with(entity)), "{text}");
        }
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
    }
    let (mut found, mut open) = (Vec::new(), Vec::new());
    let mut rest = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").expect("a declaration");
    while let Some((text, after)) = rest.split_once('<') {
        plain(text);
        let (tag, after) = after.split_once('>').expect("a tag ends");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let (body, is_empty) = tag.strip_suffix('/').map_or((tag, false), |body| (body, true));
        let (name, mut left) = body.split_once(' ').unwrap_or((body, ""));
        let mut attributes = Vec::new();
        while let Some((key, after)) = left.split_once("=\"") {
            let (value, after) = after.split_once('"').expect("a value ends");
            attributes.push((key.trim().to_owned(), plain(value)));
            left = after;
        }
        assert_eq!(left.trim(), "");
        if !is_empty {
            open.push(name.to_owned());
        }
        found.push((name.to_owned(), attributes));
    }
    assert!(open.is_empty());
    found
}

#[test]
fn junit_is_well_formed_and_counts() {
    let files = Files::new();
    let evil = "]]><!-- \u{1b}[2J \"&lt;' -->\u{0}\u{fffe}";
    let key = serde_json::to_string(evil).unwrap();
    let access = |f: &str, value: u32| format!("{{\"process\":{key},\"f\":\"{f}\",\"key\":{key},\"value\":{value}}}\n");
    let bad = &files.write("bad.jsonl", access("read", 7));
    let good = &files.write("good <&\".hist", "[0] w x 1\n");
    let junk = &files.write("junk.hist", "[0] q\n");
    let out = &files.path("junit.xml");
    let ran = seriatim(["check", "--junit", out, bad, good, junk]);
    assert_eq!(ran.status, 2);
    let xml = std::fs::read_to_string(out).unwrap();
    let elements = elements(&xml);
    let of = |name: &str| elements.iter().filter(|(of, _)| of == name).collect::<Vec<_>>();
    assert_eq!(of("testcase").len(), 3);
    assert_eq!((of("failure").len(), of("error").len()), (1, 1));
    let suite = &of("testsuite")[0].1;
    let value = |name: &str| suite.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str());
    assert_eq!([value("tests"), value("failures"), value("errors")], [Some("3"), Some("1"), Some("1")]);
    assert!(of("testcase")[1].1[0].1.ends_with("good <&\".hist"), "{xml}");
    // The first violation ends the run, and the file is written all the same.
    let first = seriatim(["check", "--first", "--junit", out, bad, good]);
    assert_eq!(first.status, 1);
    assert!(std::fs::read_to_string(out).unwrap().ends_with("</testsuites>\n"));
    assert_eq!(seriatim(["check", "--junit", &files.path("no/such/folder.xml"), good]).status, 2);
}

#[test]
fn github_shows_the_line() {
    let path = example("message-passing.hist");
    let ran = seriatim(["check", "--github", &path]);
    assert_eq!(ran.status, 1);
    let command = ran.out.lines().find(|line| line.starts_with("::")).expect("an annotation");
    assert!(command.starts_with("::error file=") && command.contains(",line=6,title="), "{command}");
    assert!(command.contains("%0A"), "{command}");
    let fine = with_input(["check", "--github", "-"], b"[0] w x 1\n");
    assert!(!fine.out.contains("::"), "{}", fine.out);
    let junk = with_input(["check", "--github", "-"], b"[0] w x\n::error::forged\n");
    assert!(junk.out.lines().all(|line| !line.starts_with("::error::forged")), "{}", junk.out);
    assert!(junk.out.starts_with("::error title=bad input::"), "{}", junk.out);
}

#[test]
fn a_trace_of_perfetto_is_written() {
    let files = Files::new();
    let out = files.path("x.pftrace");
    assert_eq!(seriatim(["convert", &example("message-passing.hist"), "-o", &out]).status, 0);
    let by_extension = std::fs::read(&out).unwrap();
    assert_eq!(seriatim(["convert", "--to", "perfetto", &example("message-passing.hist"), "-o", &out]).status, 0);
    assert_eq!(std::fs::read(&out).unwrap(), by_extension);
    let contains = |text: &str| by_extension.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(contains("alice") && contains("w flag 1") && contains("r row 0"));
}
