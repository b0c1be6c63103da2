//! `seriatim models`: the table of models, and the implications among them.

use std::io::{self, Write};

use memory::Tactic;
use model::{EvidenceKind, Model};
use report::drawing::{Drawing, DrawnNode, NodeMark};
use serde_json::json;

use crate::flags::Models;
use crate::{json, lattice, output};

pub(crate) fn run(flags: &Models) -> u8 {
    let out = &mut io::stdout().lock();
    if let Err(status) = lattice::write(flags.dot.as_deref(), flags.svg.as_deref(), || drawing(flags.levels)) {
        return status;
    }
    let written = match (flags.json, flags.long) {
        (true, _) => records(out),
        (false, true) => long(out),
        (false, false) => short(out),
    };
    match written.and_then(|()| out.flush()) {
        Ok(()) => 0,
        Err(error) => output::write_error(&error),
    }
}

/// The lattice of the memory models or of the isolation levels, with how hard each is to decide.
fn drawing(levels: bool) -> Drawing {
    let models = if levels { lattice::levels() } else { Model::ALL.to_vec() };
    let node = |model: Model| DrawnNode {
        name: model.name().to_owned(),
        note: if model.row().polynomial { "polynomial" } else { "NP-complete" }.to_owned(),
        mark: if model.row().polynomial { NodeMark::Plain } else { NodeMark::Mixed },
        heavy: false,
    };
    let nodes = models.iter().copied().map(node).collect();
    Drawing::lattice("What satisfies a model satisfies those below it".to_owned(), &models, nodes)
}

fn models(models: &[Model]) -> Vec<&str> {
    models.iter().map(|model| model.name()).collect()
}

fn tactics(model: Model) -> Vec<&'static str> {
    memory::tactics(model).iter().map(|tactic| tactic.name()).collect()
}

fn kinds(kinds: &[EvidenceKind]) -> Vec<&str> {
    kinds.iter().map(|kind| kind.name()).collect()
}

fn records(out: &mut impl Write) -> io::Result<()> {
    for model in Model::every() {
        let row = model.row();
        let record = json!({
            "model": row.name,
            "summary": model.summary(),
            "title": row.title,
            "definition": row.definition,
            "module": row.family.module(),
            "view": row.view.name(),
            "implies": models(row.implies),
            "consistent_by": kinds(row.consistent),
            "violation_by": kinds(row.violation),
            "polynomial": row.polynomial,
            "tactics": tactics(model),
            "monitored": row.monitored,
        });
        out.write_all(json::line(&record).as_bytes())?;
    }
    Ok(())
}

fn short(out: &mut impl Write) -> io::Result<()> {
    let width = Model::every().map(|model| model.name().len()).max().unwrap_or(0);
    for model in Model::every() {
        if model.isolation().is_some_and(|isolation| isolation.model() == lattice::levels()[0]) {
            writeln!(out, "\nIsolation levels of transactions:")?;
        }
        writeln!(out, "{model:width$}  {}", model.summary())?;
    }
    writeln!(out, "\nA history that satisfies the left satisfies the right:")?;
    for model in Model::every().rev() {
        let implies = models(model.row().implies);
        if !implies.is_empty() {
            writeln!(out, "{model:width$}  =>  {}", implies.join(", "))?;
        }
    }
    Ok(())
}

fn long(out: &mut impl Write) -> io::Result<()> {
    for model in Model::every() {
        let row = model.row();
        writeln!(out, "{}: {}", row.name, row.title)?;
        writeln!(out, "  asks: {}", row.definition)?;
        writeln!(out, "  defined in: {}", row.family.module())?;
        writeln!(out, "  speaks of: {}", row.view.name())?;
        writeln!(out, "  decided in polynomial time: {}", if row.polynomial { "yes" } else { "no" })?;
        let lists = [
            ("implies", models(row.implies)),
            ("without read-modify-writes, also", models(row.implies_without_rmws)),
            ("consistent is proved by", kinds(row.consistent)),
            ("a violation is proved by", kinds(row.violation)),
            ("tactics, in this order", tactics(model)),
        ];
        for (title, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            writeln!(out, "  {title}: {}", list.join(", "))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "Tactics, which --strategy takes:")?;
    for tactic in Tactic::ALL {
        writeln!(out, "{tactic}: {}", tactic.help())?;
        writeln!(out, "  decides when: {}", tactic.precondition())?;
        writeln!(out, "  cost: {}", tactic.cost().name())?;
    }
    Ok(())
}
