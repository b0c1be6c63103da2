//! Transactions from other tools and from simulated databases, through the commands.

use crate::common;
use common::{Files, seriatim};

#[test]
fn simulated_databases_keep_their_levels() {
    let files = Files::new();
    for level in ["serializable", "snapshot-isolation", "causal", "read-atomic", "read-committed"] {
        for lists in [&[][..], &["--lists"]] {
            let path = &files.path("made.hist");
            let flags = ["gen", "--model", level, "--operations", "400", "--rmws", "50", "--aborts", "5", "-o", path];
            let made = common::seriatim_with(&[&flags[..], lists].concat());
            assert_eq!(made.status, 0, "{made:?}");
            assert_eq!(seriatim(["check", "--model", level, path]).status, 0, "{level}");
        }
    }
    let skew = &files.path("skew.hist");
    assert_eq!(seriatim(["gen", "--model", "serializable", "--anomaly", "write-skew", "-o", skew]).status, 0);
    assert_eq!(seriatim(["check", "--model", "snapshot-isolation", skew]).status, 0);
    assert_eq!(seriatim(["check", "--model", "serializable", skew]).status, 1);
    let stray = seriatim(["gen", "--model", "sc", "--anomaly", "g1a"]);
    assert_eq!(stray.status, 2);
    assert!(stray.err.contains("--anomaly has no meaning with --model sc"), "{}", stray.err);
    let lists = seriatim(["gen", "--model", "causal", "--anomaly", "g0"]);
    assert_eq!((lists.status, lists.err.as_str()), (2, "seriatim gen: this anomaly shows on lists only\n"));
}

#[test]
fn what_a_format_cannot_say_is_said() {
    let files = Files::new();
    let path = &files.write("a.hist", "[a] begin\n[a] w x 1 id=p\n[a] commit\n[b] r x 1 from=p\n");
    let ran = seriatim(["convert", "--to", "plume", path]);
    assert_eq!((ran.status, ran.out.as_str()), (0, "w(0,1,0,0)\nr(0,1,1,1)\n"));
    for what in ["the order in time", "the names of keys", "the names of sessions", "the sources of reads"] {
        assert!(ran.err.contains(what), "{what}: {}", ran.err);
    }
    let edn = seriatim(["convert", "--to", "edn", path]).out;
    assert!(edn.starts_with("{:process 0, :type :invoke, :f :txn, :value [[:w \"x\" 1]]}\n"), "{edn}");
    let lists = &files.write("l.hist", "[a] begin\n[a] a l 1\n[a] commit\n");
    let ran = seriatim(["convert", "--to", "dbcop", lists]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("this format cannot express lists"), "{}", ran.err);
    assert_eq!(seriatim(["convert", "--to", "cobra", path]).status, 2);
}

#[test]
fn a_folder_of_cobra_is_one_history() {
    let files = Files::new();
    let folder = std::path::PathBuf::from(files.path("logs"));
    std::fs::create_dir(&folder).unwrap();
    let record = |kind: u8, numbers: &[i64]| {
        [&[kind][..], &numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<_>>()].concat()
    };
    let log = [record(b'S', &[1]), record(b'W', &[7, 1, 0]), record(b'C', &[1])].concat();
    std::fs::write(folder.join("T1.log"), log).unwrap();
    std::fs::write(folder.join("T2.log"), b"").unwrap();
    let name = folder.to_str().unwrap();
    let ran = seriatim(["check", "--model", "serializable", name]);
    assert_eq!((ran.status, ran.out), (0, format!("{name}: serializable: consistent\n")));
    let above = files.path("");
    assert_eq!(seriatim(["check", "--model", "serializable", &above]).status, 0, "also below another folder");
}

#[test]
fn a_database_that_is_not_there_is_said() {
    let ran = seriatim(["probe", "redis://127.0.0.1:1", "--seconds", "1", "-o", "/dev/null"]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("127.0.0.1:1 cannot be reached"), "{}", ran.err);
    assert_eq!(seriatim(["probe", "mysql://localhost"]).status, 2);
    assert_eq!(seriatim(["probe", "redis://127.0.0.1:1", "--model", "nonsense"]).status, 2);
}
