//! A certificate that was changed is refused, unless its claim is still true and proved.

use crate::common;
use std::collections::BTreeMap;

use common::{show, verified_certificates};
use format::{Format, ReadOptions, read};
use history::{Execution, History, OperationId};
use model::{Certificate, Evidence, Model, Verdict};
use serde_json::Value;
use verify::{Refusal, verify};
use workload::random::SplitMix64;
use workload::{cases, small, to_history};

/// All numbers, strings and lists in a JSON value, by their paths.
fn places(value: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match value {
        Value::Array(items) => {
            found.push(path.clone());
            for (at, item) in items.iter().enumerate() {
                path.push(at.to_string());
                places(item, path, found);
                path.pop();
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                path.push(name.clone());
                places(field, path, found);
                path.pop();
            }
        }
        _ => found.push(path.clone()),
    }
}

fn at<'a>(value: &'a mut Value, path: &[String]) -> &'a mut Value {
    path.iter().fold(value, |value, step| match value {
        Value::Array(items) => &mut items[step.parse::<usize>().expect("a place in a list")],
        other => &mut other[step.as_str()],
    })
}

/// Changes one thing at random.
fn tamper(json: &str, operations: u64, random: &mut SplitMix64) -> String {
    let mut value: Value = serde_json::from_str(json).expect("a certificate is JSON");
    let mut found = Vec::new();
    places(&value, &mut Vec::new(), &mut found);
    let path = &found[random.below(found.len() as u64) as usize];
    let place = at(&mut value, path);
    match place {
        Value::Array(items) if !items.is_empty() => {
            let first = random.below(items.len() as u64) as usize;
            let second = random.below(items.len() as u64) as usize;
            match random.below(3) {
                0 => drop(items.remove(first)),
                1 => items.swap(first, second),
                _ => items.insert(first, items[second].clone()),
            }
        }
        Value::Number(_) => *place = random.below(operations + 1).into(),
        Value::String(_) => {
            let words = [
                "cc",
                "ccv",
                "cm",
                "ccm",
                "wccm",
                "wtso",
                "cf",
                "ww",
                "rw",
                "0",
                "1",
                "consistent",
                "violation",
                "x0",
                "x1",
            ];
            *place = random.pick(&words).into();
        }
        _ => {}
    }
    value.to_string()
}

#[test]
fn a_tampered_certificate_proves_nothing_false() {
    let mut random = SplitMix64::new(5);
    let mut refused = 0u64;
    let mut accepted = 0u64;
    for (case, execution) in small::executions(2).take(cases(1_000) as usize).enumerate() {
        let history = to_history(&execution);
        for certificate in verified_certificates(&history, &case) {
            let json = certificate.to_json(&history);
            for _ in 0..6 {
                let tampered = tamper(&json, execution.len() as u64, &mut random);
                let Ok(changed) = Certificate::from_json(&tampered, &history) else {
                    refused += 1;
                    continue;
                };
                if changed == certificate {
                    continue;
                }
                if verify(&changed, &history).is_err() {
                    refused += 1;
                    continue;
                }
                // Another proof, of the same or of another claim: the claim must be true.
                accepted += 1;
                let model = oracle::Model::from_name(changed.model.name()).expect("the oracle knows every model");
                let allowed = oracle::allowed(model, &execution);
                let claimed = changed.verdict == Verdict::Consistent;
                assert_eq!(claimed, allowed, "case {case}: accepted {tampered}\nof {}", show(&execution));
            }
        }
    }
    assert!(refused > 4 * accepted, "{refused} refused, {accepted} accepted");
}

/// A derivation of a violation of one model may prove a violation of another. It proves nothing false, and of most
/// models nothing.
#[test]
fn a_derivation_of_another_model_proves_nothing_false() {
    let mut refused = 0u64;
    for (case, execution) in small::executions(6).take(cases(1_000) as usize).enumerate() {
        let history = to_history(&execution);
        let mut known = BTreeMap::new();
        let mut allowed = |model: Model| {
            *known.entry(model).or_insert_with(|| {
                let model = oracle::Model::from_name(model.name()).expect("the oracle knows every model");
                oracle::allowed(model, &execution)
            })
        };
        for certificate in verified_certificates(&history, &case) {
            if !matches!(certificate.evidence, Evidence::Cycle(_) | Evidence::Refutation(_)) {
                continue;
            }
            for model in Model::ALL {
                match verify(&Certificate { model, ..certificate.clone() }, &history) {
                    Ok(()) => assert!(!allowed(model), "case {case}: {certificate:?} of {model}\n{}", show(&execution)),
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > cases(1_000), "{refused} refused");
}

#[test]
fn a_certificate_of_another_history_is_refused() {
    let mut executions = small::executions(3);
    for case in 0..200 {
        let (one, other) = (executions.next().expect("no end"), executions.next().expect("no end"));
        let (one, other) = (to_history(&one), to_history(&other));
        if Execution::from_history(&other).is_err() || model::digest(&one) == model::digest(&other) {
            continue;
        }
        for certificate in verified_certificates(&one, &case) {
            let refusal = verify(&certificate, &other).expect_err("it belongs to another history");
            assert!(matches!(refusal, Refusal::OtherHistory { .. }), "{refusal}");
        }
    }
}

/// An rmw finds the buffer of its location empty under `pso`, and that of its thread under `tso`.
#[test]
fn an_rmw_waits_for_the_buffer_that_a_write_of_its_location_would_go_to() {
    let parse = |text: &'static str| {
        let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
        read(Box::new(text.as_bytes()), &options).next().expect("one history").expect("a good history")
    };
    let refusal = |history: &History, model| {
        let certificate = Certificate {
            history: 0,
            model,
            verdict: Verdict::Consistent,
            digest: model::digest(history),
            evidence: Evidence::MemoryOrder(vec![OperationId(1), OperationId(0)]),
        };
        verify(&certificate, history).err().map(|refusal| refusal.to_string())
    };
    let (same, other) = (parse("[0] w x 1\n[0] u x 1 2\n"), parse("[0] w x 1\n[0] u y 0 2\n"));
    for (history, models) in [(&same, &[Model::Tso, Model::Pso, Model::Wtso, Model::Wpso][..]), (&other, &[Model::Tso])]
    {
        for &model in models {
            assert!(refusal(history, model).is_some_and(|reason| reason.contains("is not empty")), "{model}");
        }
    }
    assert_eq!(refusal(&other, Model::Pso), None);
    assert_eq!(refusal(&other, Model::Wpso), None);
}

#[test]
fn nonsense_is_refused_with_a_reason() {
    let history = to_history(&small::executions(4).next().expect("no end"));
    let json = |version: u32, model: &str, verdict: &str, again: bool| {
        format!(r#"{{"certificate":{version},"history":0,"model":"{model}","verdict":"{verdict}","digest":"","#)
            + &format!(r#""evidence":{{"decide_again":{again}}}}}"#)
    };
    for (json, reason) in [
        ("", "not a certificate"),
        ("{}", "not a certificate"),
        ("[1,2]", "not a certificate"),
        (&json(2, "cc", "consistent", true), "version 2"),
        (&json(1, "xc", "consistent", true), "unknown model 'xc'"),
        (&json(1, "cc", "consistent", false), "no evidence"),
        (&json(1, "cc", "unknown", true), "'unknown' is not a verdict"),
    ] {
        let error = Certificate::from_json(json, &history).expect_err("nonsense").to_string();
        assert!(error.contains(reason), "{error:?} should speak of {reason:?}");
    }
}
