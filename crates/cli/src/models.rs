//! `seriatim models`: the models and the implications among them.

use std::io::{self, Write};

use certificate::{Model, Tactic};
use serde_json::json;

use crate::flags::Models;
use crate::output;

pub(crate) fn run(flags: &Models) -> u8 {
    match write(&mut io::stdout().lock(), flags.json) {
        Ok(()) => 0,
        Err(error) => output::write_error(&error),
    }
}

fn write(out: &mut impl Write, as_json: bool) -> io::Result<()> {
    let implied = |model: Model| model.row().implies.iter().map(|weaker| weaker.name()).collect::<Vec<&str>>();
    if as_json {
        for model in Model::every() {
            let row = model.row();
            let tactics = |tactics: &[Tactic]| tactics.iter().map(|tactic| tactic.name()).collect::<Vec<&str>>();
            let record = json!({
                "model": row.name,
                "summary": model.summary(),
                "title": row.title,
                "definition": row.definition,
                "module": row.family.module(),
                "implies": implied(model),
                "polynomial": row.polynomial,
                "tactics": tactics(row.tactics),
                "by_name": tactics(row.by_name),
            });
            writeln!(out, "{record}")?;
        }
        return out.flush();
    }
    let width = Model::every().map(|model| model.name().len()).max().unwrap_or(0);
    for model in Model::every() {
        writeln!(out, "{model:width$}  {}", model.summary())?;
    }
    writeln!(out, "\nA history that satisfies the left satisfies the right:")?;
    for model in Model::every().rev() {
        let implies = implied(model);
        if !implies.is_empty() {
            writeln!(out, "{model:width$}  =>  {}", implies.join(", "))?;
        }
    }
    out.flush()
}
