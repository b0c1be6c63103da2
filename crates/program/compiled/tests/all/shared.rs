//! Programs that are shared by several projects, with their verdicts and numbers of executions. Read in place.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use compiled::{Compiled, NotExplored, ProgramVerdict, Setup, explore};
use explore::Model;
use serde_json::Value;

fn list(value: &Value) -> Vec<&str> {
    value.as_array().map(|all| all.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

/// What is wrong with an answer, if something is.
type Test<'a> = &'a dyn Fn(&ProgramVerdict) -> Result<(), String>;

/// What is not as expected of one program with these flags.
fn differences(compilers: [&str; 2], file: &Path, expected: &Value, flags: &[OsString]) -> Vec<String> {
    let mut all = Vec::new();
    let program = match Compiled::by(compilers.map(OsStr::new), &[file.to_owned()], flags) {
        Ok(program) => program,
        Err(error) => return vec![error.to_string()],
    };
    let leaks = list(&expected["options"]).contains(&"--leaks");
    let ask = |model: &str, spurious: u32| -> Result<ProgramVerdict, NotExplored> {
        explore(&program, &Setup { leaks, spurious, ..Setup::new(Model::from_name(model).unwrap()) })
    };
    let mut expect_with = |model: &str, spurious: u32, test: Test<'_>| match ask(model, spurious) {
        Ok(answer) => {
            if let Err(difference) = test(&answer) {
                all.push(format!("{model}: {difference}: {answer:#?}"));
            }
        }
        Err(error) => all.push(format!("{model}: {error}")),
    };
    // Nothing happens without a reason in the numbers that are expected.
    let mut expect = |model: &str, test: Test<'_>| expect_with(model, 0, test);
    let ok = |count: Option<u64>| {
        move |answer: &ProgramVerdict| match answer {
            ProgramVerdict { finding: Some(_), .. } => Err("a finding".to_owned()),
            ProgramVerdict { refused: Some(_), .. } => Err("refused".to_owned()),
            ProgramVerdict { is_complete: false, .. } => Err("not complete".to_owned()),
            _ if count.is_some_and(|count| count != answer.executions) => {
                Err(format!("{} executions and not {count:?}", answer.executions))
            }
            _ => Ok(()),
        }
    };
    match expected["verdict"].as_str() {
        Some("ok") => {
            match expected["executions"].as_object() {
                Some(counts) => counts.iter().for_each(|(model, count)| expect(model, &ok(count.as_u64()))),
                None => ["c20", "rc11", "sc"].into_iter().for_each(|model| expect(model, &ok(None))),
            }
            expect_with("c20", 1, &ok(None));
        }
        Some("refused") => expect("c20", &|answer| match answer.refused {
            Some(_) => Ok(()),
            None => Err("not refused".to_owned()),
        }),
        _ => {
            for model in list(&expected["models"]) {
                expect(model, &|answer| {
                    let Some(finding) = &answer.finding else { return Err("no finding".to_owned()) };
                    if !list(&expected["kind"]).contains(&finding.kind.name()) {
                        return Err("another kind".to_owned());
                    }
                    let lines = expected["lines"].as_array().into_iter().flatten().filter_map(Value::as_u64);
                    for line in lines {
                        if finding.places.iter().all(|place| u64::from(place.call.line) != line) {
                            return Err(format!("without line {line}"));
                        }
                    }
                    Ok(())
                });
            }
            for (model, count) in expected["ok"].as_object().into_iter().flatten() {
                expect(model, &ok(count.as_u64()));
            }
        }
    }
    all
}

#[test]
fn programs_have_their_verdicts_and_counts() {
    let Some(folder) = std::env::var_os("SERIATIM_SHARED_DATA").map(|data| PathBuf::from(data).join("programs-c"))
    else {
        println!("skipped: SERIATIM_SHARED_DATA is not set");
        return;
    };
    let text = std::fs::read(folder.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&text).unwrap();
    let only = std::env::var("SERIATIM_ONLY").unwrap_or_default();
    let mut wrong = Vec::new();
    // At -O2, clang drops accesses that the programs need.
    for (compilers, levels) in [(["gcc", "g++"], &["-O0", "-O1", "-O2"][..]), (["clang", "clang++"], &["-O0"])] {
        if !compilers.iter().all(|compiler| crate::has_command(compiler)) {
            println!("skipped: {} is not installed", compilers.join(" or "));
            continue;
        }
        for (name, expected) in expected.as_object().unwrap().iter().filter(|(name, _)| name.contains(&only)) {
            for &level in levels {
                if level != "-O0" && expected["only_O0"] == true {
                    continue;
                }
                let differences = differences(compilers, &folder.join(name), expected, &[level.into()]);
                let of = format!("{name} {} {level}", compilers[0]);
                wrong.extend(differences.into_iter().map(|difference| format!("{of}: {difference}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
