//! The lattice of models as a picture, in the files that `--dot` and `--svg` name.

use std::path::Path;

use model::Isolation;
use model::Model;
use report::drawing::{Drawing, DrawnNode};

use crate::{BAD, output};

/// The lattice of some models with this title. The nodes are those of the models, in that order.
pub(crate) fn drawing(title: String, models: &[Model], nodes: Vec<DrawnNode>) -> Drawing {
    let number = |model: Model| models.iter().position(|&other| other == model);
    let edges = model::implications().filter_map(|(from, to)| Some((number(from)?, number(to)?)));
    Drawing { title, nodes, edges: edges.collect() }
}

/// The isolation levels of transactions.
pub(crate) fn levels() -> Vec<Model> {
    Isolation::all().map(Isolation::model).collect()
}

/// Writes the drawing to the files that are named. Nothing is drawn if none is. An error is the exit status.
pub(crate) fn write(dot: Option<&Path>, svg: Option<&Path>, drawing: impl Fn() -> Drawing) -> Result<(), u8> {
    let dot = dot.map(|path| (path, drawing().to_dot()));
    let svg = svg.map(|path| (path, drawing().to_svg()));
    for (path, text) in dot.into_iter().chain(svg) {
        if let Err(error) = output::write_file(path, &text) {
            output::complain(path, error);
            return Err(BAD);
        }
    }
    Ok(())
}
