//! The JSON of certificates: what is written, what is read, and what is not a certificate.

use crate::common;
use common::*;
use history::OperationId;
use model::object::{Core, Linearization, Stay, Zone};
use model::{Certificate, Evidence, JsonError, Model, Verdict, digest};

const HISTORY: &str = "[a] w x 1\n[a] w x 2\n[a] w y 1\n[b] r y 1\n[b] r x 1\n";

/// A certificate of [`HISTORY`] with that evidence.
fn with(evidence: &str) -> String {
    let digest = digest(&parse(HISTORY));
    let head = r#""certificate":1,"history":0,"model":"cc","verdict":"violation""#;
    format!(r#"{{{head},"digest":"{digest}","evidence":{evidence}}}"#)
}

fn read(json: &str) -> Result<Certificate, JsonError> {
    Certificate::from_json(json, &parse(HISTORY))
}

/// What is wrong with such evidence.
fn wrong(evidence: &str) -> String {
    read(&with(evidence)).unwrap_err().to_string()
}

#[test]
fn evidence_as_it_is_written() {
    let id = OperationId;
    let stay = |insert: u32, remove: u32| Stay::new(id(insert), Some(id(remove)));
    let seen = Stay { insert: id(0), remove: None, peeks: vec![id(3)].into() };
    let all = [
        (Evidence::ThinAir(id(4)), r#"{"thin_air":4}"#),
        (Evidence::Constraints(ids(&[3, 0])), r#"{"constraints":[3,0]}"#),
        (Evidence::Interleaving(ids(&[0, 1])), r#"{"interleaving":[0,1]}"#),
        (Evidence::MemoryOrder(ids(&[1, 0])), r#"{"memory_order":[1,0]}"#),
        (Evidence::WriteOrder(ids(&[1])), r#"{"write_order":[1]}"#),
        (Evidence::ViewOrders(vec![ids(&[0]), ids(&[])]), r#"{"view_orders":[[0],[]]}"#),
        (Evidence::ModificationOrders(vec![ids(&[0, 1])]), r#"{"modification_orders":[[0,1]]}"#),
        (Evidence::DecideAgain, r#"{"decide_again":true}"#),
        (Evidence::Pairs(vec![[id(0), id(1)]]), r#"{"pairs":[[0,1]]}"#),
        (
            Evidence::Linearizations(vec![Linearization { order: ids(&[2, 0]), results: Vec::new() }]),
            r#"{"linearizations":[{"order":[2,0]}]}"#,
        ),
        (Evidence::Core(Core::NeverInserted(id(1))), r#"{"core":{"never_inserted":1}}"#),
        (
            Evidence::Core(Core::RemovedTwice { insert: id(1), removes: [id(2), id(3)] }),
            r#"{"core":{"removed_twice":[1,[2,3]]}}"#,
        ),
        (Evidence::Core(Core::TooEarly { insert: id(1), remove: id(2) }), r#"{"core":{"too_early":[1,2]}}"#),
        (
            Evidence::Core(Core::TooLate { insert: id(1), remove: id(2), peek: id(3) }),
            r#"{"core":{"too_late":[1,2,3]}}"#,
        ),
        (
            Evidence::Core(Core::Overtaken { first: seen.clone(), second: stay(1, 2) }),
            r#"{"core":{"overtaken":[[0,null,[3]],[1,2]]}}"#,
        ),
        (Evidence::Core(Core::Circle(vec![stay(0, 1), stay(2, 3)])), r#"{"core":{"circle":[[0,1],[2,3]]}}"#),
        (
            Evidence::Core(Core::Covered { removal: id(4), by: vec![stay(0, 1)] }),
            r#"{"core":{"covered":{"removal":4,"by":[[0,1]]}}}"#,
        ),
        (Evidence::Core(Core::Tangled(vec![seen])), r#"{"core":{"tangled":[[0,null,[3]]]}}"#),
        (
            Evidence::Core(Core::Zones([
                Zone { write: None, returned: None, called: id(1) },
                Zone { write: Some(id(2)), returned: Some(id(3)), called: id(4) },
            ])),
            r#"{"core":{"zones":[[null,null,1],[2,3,4]]}}"#,
        ),
        (Evidence::Core(Core::Unpaired(id(1))), r#"{"core":{"unpaired":1}}"#),
        (Evidence::Core(Core::Stuck(id(1))), r#"{"core":{"stuck":1}}"#),
    ];
    let history = parse(HISTORY);
    for (evidence, json) in all {
        let certificate = certificate(&history, Model::Cc, Verdict::Violation, &evidence);
        assert_eq!(certificate.to_json(&history), with(json));
        assert_eq!(read(&with(json)).unwrap(), certificate);
    }
}

#[test]
fn derivations_as_they_are_written() {
    let steps = [
        cf(1, 0, 4, &[po(1, 2), rf(2, 3), po(3, 4)]),
        cf_in(1, 1, 0, 4, &[step(0)]),
        ww(init(0), 0, &[po(init(0), 0)]),
        rw(4, 1, &[step(2)]),
        coherence(0, 1, 0, 1, &[sw(0, 1, 3, 4)]),
        atomicity(0, 1, &[step(4)]),
        assume(0, 1),
        lemma(7, 1, 0, &[step(6)]),
    ];
    let json = [
        r#"{"rule":"cf","from":1,"to":0,"read":4,"path":[{"po":[1,2]},{"rf":[2,3]},{"po":[3,4]}]}"#,
        r#"{"rule":"cf","from":1,"to":0,"read":4,"view":"b","path":[{"step":0}]}"#,
        r#"{"rule":"ww","from":{"init":"x"},"to":0,"path":[{"po":[{"init":"x"},0]}]}"#,
        r#"{"rule":"rw","from":4,"to":1,"path":[{"step":2}]}"#,
        r#"{"rule":"coherence","from":0,"to":1,"happens":[0,1],"path":[{"sw":[0,1,3,4]}]}"#,
        r#"{"rule":"atomicity","from":0,"to":1,"path":[{"step":4}]}"#,
        r#"{"rule":"assumed","from":0,"to":1,"path":[]}"#,
        r#"{"rule":"lemma","from":1,"to":0,"lemma":7,"path":[{"step":6}]}"#,
    ];
    let history = parse(HISTORY);
    let body = format!(r#"{{"steps":[{}],"cycle":[{{"po":[0,1]}},{{"step":0}}]}}"#, json.join(","));
    let whole = derivation(&steps, &[po(0, 1), step(0)]);
    let one = certificate(&history, Model::Cc, Verdict::Violation, &Evidence::Cycle(whole.clone()));
    assert_eq!(one.to_json(&history), with(&body));
    assert_eq!(read(&with(&body)).unwrap(), one);
    let lemmas =
        certificate(&history, Model::Cc, Verdict::Violation, &Evidence::Refutation(vec![whole.clone(), whole]));
    let json = with(&format!(r#"{{"lemmas":[{body},{body}]}}"#));
    assert_eq!(lemmas.to_json(&history), json);
    assert_eq!(read(&json).unwrap(), lemmas);
}

#[test]
fn the_location_of_a_single_object_has_the_empty_name() {
    let history = parse("# @object register\n[0] write 1\n[1] read => 0\n");
    let evidence = cycle(&[rw(1, 0, &[po(init(0), 0)])], &[step(0)]);
    let certificate = certificate(&history, Model::Sc, Verdict::Violation, &evidence);
    let json = certificate.to_json(&history);
    assert!(json.contains(r#"{"init":""}"#), "{json}");
    assert_eq!(Certificate::from_json(&json, &history).unwrap(), certificate);
}

#[test]
fn results_of_pending_operations() {
    let history = parse("# @object queue\n[0] call enqueue seven\n[0] return\n[1] call dequeue\n");
    let json = |result: &str| {
        let head = r#""certificate":1,"history":0,"model":"linearizable","verdict":"consistent""#;
        let order = format!(r#"{{"order":[0,1],"results":[[1,"{result}"]]}}"#);
        format!(r#"{{{head},"digest":"","evidence":{{"linearizations":[{order}]}}}}"#)
    };
    let read = Certificate::from_json(&json("seven"), &history).unwrap();
    assert_eq!(read.to_json(&history), json("seven"));
    let error = Certificate::from_json(&json("eight"), &history).unwrap_err();
    assert!(matches!(&error, JsonError::Name(name) if name == "eight"));
    assert_eq!(error.to_string(), "the certificate names 'eight', which the history does not have");
}

#[test]
fn the_head_of_a_certificate() {
    let good = with(r#"{"decide_again":true}"#);
    assert!(read(&good).is_ok());
    let error = |from: &str, to: &str| read(&good.replace(from, to)).unwrap_err();
    let version = error(r#""certificate":1"#, r#""certificate":2"#);
    assert!(matches!(version, JsonError::Version(2)));
    assert_eq!(version.to_string(), "the certificate is of version 2, and this program reads version 1");
    let model = error(r#""cc""#, r#""weak""#);
    assert!(matches!(&model, JsonError::Model(name) if name == "weak"));
    assert_eq!(model.to_string(), "the certificate is about the unknown model 'weak'");
    for word in ["unknown", "maybe"] {
        let verdict = error("violation", word);
        assert!(matches!(&verdict, JsonError::Verdict(name) if name == word));
        assert_eq!(verdict.to_string(), format!("'{word}' is not a verdict that has a certificate"));
    }
    let nothing = error("true", "false");
    assert!(matches!(nothing, JsonError::NoEvidence));
    assert_eq!(nothing.to_string(), "the certificate has no evidence");
    for (from, to) in [
        (r#""certificate":1,"#, ""),
        (r#""history":0,"#, ""),
        (r#""history":0"#, r#""history":-1"#),
        (r#""history":0"#, r#""history":0,"more":1"#),
        (r#""digest""#, r#""fingerprint""#),
        ("}}", "}"),
        ("{", "["),
    ] {
        let form = error(from, to);
        assert!(matches!(form, JsonError::Form(_)), "{form}");
        assert!(form.to_string().starts_with("not a certificate: "), "{form}");
    }
}

#[test]
fn every_model_has_its_name() {
    for model in Model::ALL.into_iter().chain(Model::OTHERS) {
        let json = with(r#"{"decide_again":true}"#).replace(r#""cc""#, &format!(r#""{}""#, model.name()));
        assert_eq!(read(&json).unwrap().model, model);
    }
}

#[test]
fn the_number_of_a_history_is_read_first() {
    assert_eq!(Certificate::history_number(r#"{"history":7,"model":"a model of the future"}"#).unwrap(), 7);
    for json in ["", "{}", r#"{"history":"7"}"#, r#"{"history":-7}"#] {
        assert!(matches!(Certificate::history_number(json), Err(JsonError::Form(_))), "{json}");
    }
}

#[test]
fn evidence_of_no_kind() {
    for evidence in [
        "{}",
        "null",
        "[]",
        r#"{"thin_air":-1}"#,
        r#"{"thin_air":4294967296}"#,
        r#"{"thin_air":1,"decide_again":true}"#,
        r#"{"interleaving":0}"#,
        r#"{"interleaving":["0"]}"#,
        r#"{"steps":[]}"#,
        r#"{"cycle":[]}"#,
        r#"{"steps":[],"cycle":[],"lemmas":[]}"#,
        r#"{"steps":[],"cycle":[{"po":[0]}]}"#,
        r#"{"steps":[],"cycle":[{"po":[0,1,2]}]}"#,
        r#"{"steps":[],"cycle":[{"before":[0,1]}]}"#,
        r#"{"steps":[{"rule":"because","from":0,"to":1,"path":[]}],"cycle":[]}"#,
        r#"{"steps":[{"rule":"ww","from":0,"path":[]}],"cycle":[]}"#,
        r#"{"steps":[{"rule":"ww","from":0,"to":1,"path":[],"why":"so"}],"cycle":[]}"#,
        r#"{"lemmas":[{"steps":[]}]}"#,
        r#"{"pairs":[[0,1,2]]}"#,
        r#"{"linearizations":[{"results":[]}]}"#,
        r#"{"linearizations":[{"order":[],"more":[]}]}"#,
        r#"{"core":{}}"#,
        r#"{"core":{"broken":1}}"#,
        r#"{"core":{"stuck":1,"unpaired":1}}"#,
        r#"{"core":{"overtaken":[[0,1]]}}"#,
        r#"{"core":{"overtaken":[[0],[1,2]]}}"#,
        r#"{"core":{"zones":[[0,1,null],[0,1,2]]}}"#,
    ] {
        assert!(matches!(read(&with(evidence)), Err(JsonError::Form(_))), "{evidence}");
    }
}

#[test]
fn steps_that_do_not_fit_their_rule() {
    let step = |rest: &str| wrong(&format!(r#"{{"steps":[{{"from":1,"to":0,"path":[],{rest}}}],"cycle":[]}}"#));
    let cf = "not a certificate: a step by the rule cf names its read, and a view or none";
    assert_eq!(step(r#""rule":"cf""#), cf);
    assert_eq!(step(r#""rule":"cf","read":4,"happens":[0,1]"#), cf);
    assert_eq!(step(r#""rule":"cf","read":4,"lemma":0"#), cf);
    let coherence = "not a certificate: a step by the rule coherence names what happens before what, and nothing else";
    assert_eq!(step(r#""rule":"coherence""#), coherence);
    assert_eq!(step(r#""rule":"coherence","happens":[0,1],"read":4"#), coherence);
    assert_eq!(step(r#""rule":"coherence","happens":[0,1],"view":"a""#), coherence);
    let lemma = "not a certificate: a step by the rule lemma names its lemma, and nothing else";
    assert_eq!(step(r#""rule":"lemma""#), lemma);
    assert_eq!(step(r#""rule":"lemma","lemma":0,"view":"a""#), lemma);
    let more = "not a certificate: only a step by the rule cf, coherence or lemma names more than its ends";
    for rule in ["ww", "rw", "atomicity", "assumed"] {
        for rest in [r#""read":4"#, r#""view":"a""#, r#""happens":[0,1]"#, r#""lemma":0"#] {
            assert_eq!(step(&format!(r#""rule":"{rule}",{rest}"#)), more);
        }
    }
}

#[test]
fn names_that_the_history_does_not_have() {
    let location = "the certificate names 'z', which the history does not have";
    let init = r#"{"init":"z"}"#;
    for evidence in [
        format!(r#"{{"steps":[],"cycle":[{{"po":[{init},0]}}]}}"#),
        format!(r#"{{"steps":[],"cycle":[{{"rf":[0,{init}]}}]}}"#),
        format!(r#"{{"steps":[],"cycle":[{{"sw":[0,1,{init},0]}}]}}"#),
        format!(r#"{{"steps":[{{"rule":"ww","from":{init},"to":0,"path":[]}}],"cycle":[]}}"#),
        format!(r#"{{"steps":[{{"rule":"ww","from":0,"to":{init},"path":[]}}],"cycle":[]}}"#),
        format!(r#"{{"steps":[{{"rule":"cf","from":0,"to":1,"read":{init},"path":[]}}],"cycle":[]}}"#),
        format!(r#"{{"steps":[{{"rule":"coherence","from":0,"to":1,"happens":[0,{init}],"path":[]}}],"cycle":[]}}"#),
        format!(r#"{{"lemmas":[{{"steps":[],"cycle":[{{"po":[{init},0]}}]}}]}}"#),
    ] {
        assert_eq!(wrong(&evidence), location);
    }
    let view = r#"{"steps":[{"rule":"cf","from":1,"to":0,"read":4,"view":"c","path":[]}],"cycle":[]}"#;
    assert_eq!(wrong(view), "the certificate names 'c', which the history does not have");
}
