//! The tables of fields in docs/json.md and docs/json/programs.md are what the commands print: a field that is printed
//! stands in its table, a field without brackets is always printed, and one with brackets is printed by some command of
//! this test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::common::{Files, GOOD, STALE, json, seriatim, seriatim_with, with_input};

/// A table: each field, and whether it stands in brackets.
type Table = BTreeMap<String, bool>;

/// The tables of fields below a heading, in their order.
fn tables(page: &str, heading: &str) -> Vec<Table> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().skip_while(|line| *line != format!("## {heading}")).skip(1);
    let mut found: Vec<Table> = Vec::new();
    let mut is_table = false;
    for line in lines.take_while(|line| !line.starts_with("## ")) {
        if line.starts_with("| field") {
            is_table = true;
            found.push(Table::new());
        } else if !line.starts_with('|') {
            is_table = false;
        } else if is_table && !line.starts_with("| ---") {
            let cell = line.split('|').nth(1).unwrap();
            // `[`a`], [`b`]` or `` `a`, `b` ``.
            for piece in cell.split(',') {
                let name = piece.split('`').nth(1).unwrap_or_else(|| panic!("{page}: {line}")).to_owned();
                found.last_mut().unwrap().insert(name, piece.contains('['));
            }
        }
    }
    assert!(!found.is_empty(), "{page} has no table below {heading}");
    found
}

fn joined(tables: &[&Table]) -> Table {
    tables.iter().flat_map(|table| table.iter().map(|(name, is)| (name.clone(), *is))).collect()
}

/// Holds that objects have the fields of a table, and that all of its fields are seen.
fn holds(what: &str, table: &Table, objects: &[Value]) {
    assert!(!objects.is_empty(), "{what}: nothing was printed");
    let mut seen = BTreeSet::new();
    for object in objects {
        let fields: BTreeSet<&String> = object.as_object().unwrap().keys().filter(|name| *name != "schema").collect();
        for name in &fields {
            assert!(table.contains_key(*name), "{what}: no table has the field {name}: {object}");
            seen.insert((*name).clone());
        }
        for (name, is_optional) in table {
            assert!(*is_optional || fields.contains(name), "{what}: the field {name} is not printed: {object}");
        }
    }
    let unseen: Vec<&String> = table.keys().filter(|name| !seen.contains(*name)).collect();
    assert!(unseen.is_empty(), "{what}: nothing printed has the fields {unseen:?}");
}

/// All values of a field in objects, lists flattened.
fn all(objects: &[Value], field: &str) -> Vec<Value> {
    let values = objects.iter().filter_map(|object| object.get(field)).filter(|value| !value.is_null());
    values.flat_map(|value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])).collect()
}

#[test]
fn histories() {
    let files = Files::new();
    let about = &tables("json.md", "Every line about a history")[0];
    let check = tables("json.md", "`check`");
    let bad_input = tables("json.md", "Bad input");
    let stale = &files.write("stale.hist", format!("# @name stale\n{STALE}"));
    let good = &files.write("good.hist", GOOD);
    let strict = &files.write("strict.hist", "[a] begin\n[a] w x 1\n[a] commit\n[b] r x 0\n");
    let hard = &files.path("hard.hist");
    let flags = ["--threads", "32", "--operations", "20000", "--values", "10", "--pending", "5", "--seed", "1"];
    assert_eq!(seriatim_with(&[&["gen", "--object", "stack", "-o", hard], &flags[..]].concat()).status, 0);
    let proof = &files.path("proof.jsonl");
    let broken = &files.write("broken.hist", "[0] q\n");
    let checked = json(&seriatim(["check", "--json", "--certificate", proof, stale, good]).out);
    let mut lines = checked.clone();
    lines.extend(json(&seriatim(["check", "--json", "--model", "strict-serializable", strict]).out));
    lines.extend(json(&seriatim(["check", "--json", "--timeout", "0.01", hard]).out));
    holds("check", &joined(&[about, &check[0]]), &lines);
    let explanation = all(&lines, "explanation");
    holds("a line of an explanation", &check[1], &explanation);
    let final_value = json(&with_input(["check", "--json", "-"], b"# @final x 1\n[0] w x 1\n[0] w x 2\n").out);
    let mentioned = [all(&explanation, "operations"), all(&all(&final_value, "explanation"), "operations")].concat();
    holds("an operation of such a line", &check[2], &mentioned);

    let refused = json(&seriatim(["check", "--json", broken, "no/such/file"]).out);
    holds("bad input", &bad_input[0], &refused);
    holds("an error", &bad_input[1], &all(&refused, "error"));

    let of_verify = tables("json.md", "`verify`");
    let mut verified = json(&seriatim(["verify", "--json", proof, stale, good]).out);
    verified.extend(json(&seriatim(["verify", "--json", proof, good, stale]).out));
    let (about_certificates, about_all): (Vec<Value>, Vec<Value>) =
        verified.into_iter().partition(|line| line.get("certificate_line").is_some());
    holds("verify", &of_verify[0], &about_certificates);
    assert!(about_all.iter().all(|line| line["histories"] == 2 && line["without_certificate"] == 0));

    let classify = tables("json.md", "`classify`");
    let timeless = &files.write("timeless.hist", "# @realtime none\n[a] begin\n[a] w x 1\n[a] commit\n[b] r x 0\n");
    let classified = json(&seriatim(["classify", "--json", stale, strict, timeless]).out);
    holds("classify", &joined(&[about, &classify[0]]), &classified);
    let unknown = json(&seriatim(["classify", "--json", "--timeout", "0", stale]).out);
    let of_models = |line: &Value| line["models"].as_object().unwrap().values().cloned().collect::<Vec<_>>();
    let entries: Vec<Value> = classified.iter().chain(&unknown).flat_map(of_models).collect();
    holds("an entry of classify", &classify[1], &entries);

    let explain = tables("json.md", "`explain`");
    let explained = json(&seriatim(["explain", "--json", stale, good]).out);
    let unknown = json(&seriatim(["explain", "--json", "--timeout", "0.01", hard]).out);
    holds("explain", &joined(&[about, &explain[0]]), &[explained.clone(), unknown].concat());
    holds("a story", &explain[1], &all(&explained, "story"));
    holds("a node of a story", &explain[2], &all(&all(&explained, "story"), "nodes"));

    let monitor = tables("json/programs.md", "`monitor`");
    let mut watched = json(&seriatim(["monitor", "--json", "--model", "ra", "--certificate", proof, stale]).out);
    watched.extend(json(&seriatim(["monitor", "--json", "--model", "ra", good]).out));
    holds("monitor", &monitor[0], &watched);
}

#[test]
fn programs() {
    let files = Files::new();
    let explore = tables("json/programs.md", "`explore`");
    let test = &files.write(
        "sb.litmus",
        "C SB\n{ }\nP0 (atomic_int* x, atomic_int* y) {\n  atomic_store(x, 1);\n  int r0 = atomic_load(y);\n}\n\
         P1 (atomic_int* x, atomic_int* y) {\n  atomic_store(y, 1);\n  int r0 = atomic_load(x);\n}\n\
         exists (0:r0=0 /\\ 1:r0=0)\n",
    );
    let endless = &files.write(
        "spin.litmus",
        "C Spin\n{ }\nP0 (atomic_int* x) {\n  int r0 = atomic_load(x);\n  while (r0 == 0) { r0 = atomic_load(x); }\n}\n\
         exists (0:r0=1)\n",
    );
    let witnesses = &files.path("witnesses");
    let mut lines = json(&seriatim(["explore", "--json", "--witness", witnesses, test]).out);
    lines.extend(json(&seriatim(["explore", "--json", "--mode", "random", "--runs", "20", test]).out));
    lines.extend(json(&seriatim(["explore", "--json", endless]).out));
    // Twelve threads that are alike. Where their names count, there are too many executions for any time.
    let thread = |at: usize| format!("P{at} (atomic_int* x) {{ int r = atomic_fetch_add(x, 1); }}\n");
    let adds = (0..12).map(thread).collect::<String>();
    let adds = &files.write("adds.litmus", format!("C adds\n{{}}\n{adds}forall (x=12)\n"));
    lines.extend(json(&seriatim(["explore", "--json", adds]).out));
    lines.extend(json(&seriatim(["explore", "--json", "--symmetry", "never", "--timeout", "0.2", adds]).out));
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("spurious");
    }
    let mut table = explore[0].clone();
    assert_eq!(table.remove("spurious"), Some(true));
    holds("explore", &table, &lines);
    let log = &files.write("sb.log", "Test SB Allowed\nStates 1\n0:r0=0; 1:r0=0;\nNo\n");
    let compared = json(&seriatim(["explore", "--json", "--compare", log, test]).out);
    let also = ["file", "test", "model", "complete"].map(|name| (name.to_owned(), false));
    holds("explore --compare", &explore[1].clone().into_iter().chain(also).collect(), &compared);
    let program = &files.write("one.c", "int main(void) { return 0; }\n");
    let compiled = json(&seriatim(["explore", "--json", program]).out);
    holds("explore of C", &explore[2], &compiled);

    let models = tables("json/programs.md", "`models`");
    holds("models", &models[0], &json(&seriatim(["models", "--json"]).out));
}
