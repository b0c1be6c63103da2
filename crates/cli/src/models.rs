//! `seriatim models`: the models and the implications among them.

use std::io::{self, Write};

use certificate::Model;
use serde_json::json;

use crate::flags::Models;
use crate::{json, output};

pub(crate) fn run(flags: &Models) -> u8 {
    match write(&mut io::stdout().lock(), flags.json) {
        Ok(()) => 0,
        Err(error) => output::write_error(&error),
    }
}

fn all() -> impl Iterator<Item = Model> {
    Model::ALL.into_iter().chain(Model::OTHERS)
}

fn write(out: &mut impl Write, as_json: bool) -> io::Result<()> {
    let implied =
        |model| memory::implications().iter().filter(move |(from, _)| *from == model).map(|(_, to)| to.name());
    if as_json {
        for model in all() {
            let implies: Vec<&str> = implied(model).collect();
            let fields = json!({"model": model.name(), "summary": model.summary(), "implies": implies});
            out.write_all(json::line(&fields).as_bytes())?;
        }
        return out.flush();
    }
    let width = all().map(|model| model.name().len()).max().unwrap_or(0);
    for model in all() {
        writeln!(out, "{model:width$}  {}", model.summary())?;
    }
    writeln!(out, "\nA history that satisfies the left satisfies the right:")?;
    for model in Model::ALL.into_iter().rev() {
        let implies: Vec<&str> = implied(model).collect();
        if !implies.is_empty() {
            writeln!(out, "{model:width$}  =>  {}", implies.join(", "))?;
        }
    }
    out.flush()
}
