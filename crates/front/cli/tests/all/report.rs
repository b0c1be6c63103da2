//! Pages: what `report` and `check --report` write. What a browser makes of them is tested in `report/page/test`.

use crate::common;
use std::fmt::Write as _;
use std::fs;

use common::{Files, GOOD, STALE, seriatim};

fn page(files: &Files, name: &str, history: &str, flags: &[&str]) -> String {
    let page = files.path(name);
    let ran = common::seriatim_with(&[&["report", history, "-o", &page], flags].concat());
    assert!([0, 1, 3].contains(&ran.status), "{ran:?}");
    fs::read_to_string(page).unwrap()
}

#[test]
fn the_status_is_that_of_check_and_the_page_is_always_the_same() {
    let files = Files::new();
    let stale = &files.write("stale.hist", STALE);
    let good = &files.write("good.hist", GOOD);
    for (history, status) in [(stale, 1), (good, 0)] {
        let out = &files.path("page.html");
        let ran = seriatim(["report", history, "--model", "sc", "-o", out]);
        assert_eq!((ran.status, ran.out.as_str()), (status, ""), "{ran:?}");
        let written = fs::read_to_string(out).unwrap();
        assert_eq!(written, page(&files, "again.html", history, &["--model", "sc"]));
        assert!(written.starts_with("<!doctype html>") && written.ends_with("</html>\n"));
    }
    // Of several histories, the first that violates the model.
    let both = page(&files, "both.html", &files.path("."), &["--model", "sc"]);
    assert!(both.contains("stale.hist: sc: violation</title>"), "{}", &both[..900]);
    // The page goes to standard output, too.
    let ran = seriatim(["report", stale, "-o", "-"]);
    assert!(ran.out.starts_with("<!doctype html>"), "{}", &ran.out[..100]);
}

#[test]
fn a_page_that_cannot_be_made_leaves_no_file() {
    let files = Files::new();
    let bad = &files.write("bad.hist", "[0] w\n");
    let out = &files.path("page.html");
    assert_eq!(seriatim(["report", bad, "-o", out]).status, 2);
    assert!(!fs::exists(out).unwrap());
    let queue = &files.write("queue.hist", "[0] call enqueue 1\n[0] return\n");
    let ran = seriatim(["report", queue, "--model", "sc", "-o", out]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(!fs::exists(out).unwrap());
}

/// Nothing of a history is markup: not in the title, not in the data, not without scripts.
#[test]
fn names_and_values_are_not_markup() {
    let files = Files::new();
    let evil = "</script></title></style></pre><script>alert(1)</script><img src=x onerror=alert(1)>&amp;\u{202e}";
    let text = format!("[\"{evil}\"] w \"{evil}\" \"{evil}\"\n[b] r \"{evil}\" \"{evil}1\"\n");
    let history = &files.write("evil.hist", text);
    let page = page(&files, "page.html", history, &["--model", "sc"]);
    assert!(!page.contains("<script>alert") && !page.contains("<img") && !page.contains('\u{202e}'));
    assert!(page.contains("&lt;script&gt;alert(1)"), "the words without scripts");
    // The element of each block of data, and that of the program.
    assert_eq!(page.matches("</script>").count(), 4);
}

/// At most 20 bytes an operation, and 200 KB.
#[test]
fn pages_are_small() {
    let files = Files::new();
    let cases: [&[&str]; 5] = [
        &["--operations", "60000", "--locations", "1000", "--threads", "16"],
        &["--model", "tso", "--operations", "60000"],
        &["--object", "queue", "--operations", "60000", "--wrong", "k-fifo"],
        &["--object", "register", "--operations", "60000", "--keys", "50"],
        &["--object", "kv", "--operations", "40000", "--keys", "50"],
    ];
    for (number, flags) in cases.iter().enumerate() {
        let history = &files.path(&format!("{number}.hist"));
        assert_eq!(common::seriatim_with(&[&["gen", "-o", history], *flags].concat()).status, 0);
        let operations: usize = if flags.contains(&"kv") { 40_000 } else { 60_000 };
        let size = page(&files, "page.html", history, &[]).len();
        assert!(size <= 20 * operations + 200_000, "{flags:?}: {size} bytes");
        // The program and the style, which do not depend on the history, are less than half of what is free.
        assert!(page(&files, "page.html", &files.write("one.hist", "[0] w x 1\n"), &[]).len() < 100_000);
    }
    // The same with recorded times, as Jepsen has them.
    let mut random: u64 = 7;
    let mut edn = String::new();
    let mut time = 0;
    for value in 0..20_000 {
        for kind in ["invoke", "ok"] {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            time += random >> 42;
            let process = value % 5;
            writeln!(edn, "{{:type :{kind}, :process {process}, :f :write, :value {value}, :time {time}}}").unwrap();
        }
    }
    let size = page(&files, "page.html", &files.write("times.edn", edn), &[]).len();
    assert!(size <= 20 * 20_000 + 200_000, "{size} bytes");
}

#[test]
fn a_run_has_an_index_and_a_page_for_every_violation() {
    let files = Files::new();
    let many = &files.write("many.hist", format!("{GOOD}---\n{STALE}---\n{STALE}---\n[0] q\n"));
    let listed = |run: &str| {
        let mut names: Vec<String> =
            fs::read_dir(run).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let run = &files.path("run");
    let ran = seriatim(["check", "--model", "sc,cc", "--report", run, many]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert_eq!(listed(run), ["1-cc.html", "1-sc.html", "2-cc.html", "2-sc.html", "index.html"]);
    // What is printed does not change.
    assert_eq!(ran.out, seriatim(["check", "--model", "sc,cc", many]).out);
    for (flag, pages) in [("--first", vec!["1-sc.html", "index.html"]), ("--smallest", vec!["1-sc.html", "index.html"])]
    {
        let run = &files.path(flag);
        seriatim(["check", "--model", "sc", flag, "--report", run, many]);
        assert_eq!(listed(run), pages, "{flag}");
    }
    // The same pages, whatever the number of jobs.
    let alone = &files.path("alone");
    seriatim(["check", "--model", "sc,cc", "--jobs", "1", "--report", alone, many]);
    for name in listed(run) {
        let read = |run: &str| fs::read(format!("{run}/{name}")).unwrap();
        assert!(read(run) == read(alone), "{name}");
    }
    let file = &files.write("file", "");
    assert_eq!(seriatim(["check", "--report", file, many]).status, 2);
}
