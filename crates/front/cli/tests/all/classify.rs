//! `classify` on the command line.

use crate::common;
use common::{Files, GOOD, STALE, STORE_BUFFERING, json, seriatim, seriatim_with};
use serde_json::json;

#[test]
fn a_history_is_placed_in_the_lattice_and_its_boundary_is_explained() {
    let files = Files::new();
    let path = &files.write("mp.hist", "[0] w x 1\n[0] w y 1\n[1] r y 1\n[1] r x 0\n");
    let ran = seriatim(["classify", path]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let mut lines = ran.out.lines();
    let first = lines.next().unwrap();
    assert!(first.starts_with(&format!("{path}: satisfies ")) && first.contains("; breaks cc"), "{first}");
    assert_eq!(lines.next(), Some("  cc:"), "{}", ran.out);
    assert!(lines.next().unwrap().starts_with("    stale read: line 4 [1] r x 0"), "{}", ran.out);
    let quiet = seriatim(["classify", "--quiet", path]);
    assert_eq!(quiet.out.lines().collect::<Vec<_>>(), [first]);
}

#[test]
fn json_says_how_each_verdict_is_known() {
    let files = Files::new();
    let path = &files.write("corpus.hist", format!("{GOOD}---\n{STORE_BUFFERING}---\n{STALE}"));
    let ran = seriatim(["classify", "--json", path]);
    assert_eq!(ran.status, 0);
    let records = json(&ran.out);
    assert_eq!(records.len(), 3);
    assert_eq!(records[0]["strongest_satisfied"], json!(["sc"]));
    assert_eq!(records[0]["weakest_broken"], json!([]));
    assert_eq!(records[0]["runs"], json!(["sc"]));
    assert_eq!(records[0]["models"]["cc"], json!({"verdict": "consistent", "implied_by": "sc"}));
    assert!(records[1]["weakest_broken"].as_array().unwrap().contains(&json!("ccm")));
    assert_eq!(records[1]["models"]["sc"]["verdict"], "violation");
    assert_eq!(records[2]["strongest_satisfied"], json!([]));
    let models = records[2]["models"].as_object().unwrap();
    assert_eq!(models.len(), common::MODELS);
    assert!(models.values().all(|model| model["verdict"] == "violation"));
    // The number of jobs changes nothing but the times.
    let one = json(&seriatim(["classify", "--json", "--jobs", "1", path]).out);
    for (a, b) in one.iter().zip(&records) {
        assert_eq!(a["strongest_satisfied"], b["strongest_satisfied"]);
        assert_eq!(a["runs"], b["runs"]);
    }
}

#[test]
fn the_lattice_is_drawn() {
    let files = Files::new();
    let one = &files.write("sb.hist", STORE_BUFFERING);
    let (dot, svg) = (&files.path("l.dot"), &files.path("l.svg"));
    assert_eq!(seriatim(["classify", "--dot", dot, "--svg", svg, one]).status, 0);
    let (dot_text, svg_text) = (std::fs::read_to_string(dot).unwrap(), std::fs::read_to_string(svg).unwrap());
    assert!(
        dot_text.contains("\"ccm\" [label = \"ccm\\nbroken\", fillcolor = \"#ffcdd2\", penwidth = 3];"),
        "{dot_text}"
    );
    assert!(dot_text.contains("\"wccm\" -> \"ccv\";"));
    assert_eq!(svg_text.matches("<rect").count(), common::MODELS + 1);
    assert!(svg_text.contains(">broken<") && svg_text.contains(">satisfied<"));
    // Of several histories, the picture says how many satisfy each model.
    let several = &files.write("several.hist", format!("{GOOD}---\n{STORE_BUFFERING}"));
    assert_eq!(seriatim(["classify", "--dot", dot, several]).status, 0);
    let text = std::fs::read_to_string(dot).unwrap();
    assert!(
        text.contains("\"sc\" [label = \"sc\\n1 of 2\"") && text.contains("\"cc\" [label = \"cc\\n2 of 2\""),
        "{text}"
    );
}

#[test]
fn what_cannot_be_classified_is_told_and_the_rest_goes_on() {
    let files = Files::new();
    files.write("d/a.hist", GOOD);
    files.write("d/b.hist", "[0] q\n");
    files.write("d/c.hist", "# @object queue\n[1] call enqueue 5\n[1] return\n");
    files.write("d/e.hist", "[0] w.sc x 1\n[1] r x 1\n");
    let ran = seriatim(["classify", "--json", &files.path("d")]);
    assert_eq!((ran.status, json(&ran.out).len()), (2, 4), "{}", ran.err);
    assert!(ran.err.contains("b.hist:1:") && ran.err.contains("c.hist: "), "{}", ran.err);
    assert_eq!(json(&ran.out)[3]["models"]["rc20"], json!({"applies": false}));
    let nowhere = &files.path("none/x.svg");
    assert_eq!(seriatim_with(&["classify", "--svg", nowhere, &files.path("d/a.hist")]).status, 2);
    let late = seriatim(["classify", "--timeout", "0", &files.write("sb.hist", STORE_BUFFERING)]);
    assert_eq!(late.status, 3, "{}", late.out);
    assert!(late.out.contains("unknown: ") && late.out.contains("the time limit was reached"), "{}", late.out);
}
