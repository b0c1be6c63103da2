//! The lattice of the memory models as a picture, in the files that `--dot` and `--svg` name.

use std::path::Path;

use certificate::Model;
use report::drawing::{Drawing, Node};

use crate::{BAD, output};

/// The lattice with this title. The nodes are those of [`Model::ALL`], in that order.
pub(crate) fn drawing(title: String, nodes: Vec<Node>) -> Drawing {
    let number = |model: Model| Model::ALL.iter().position(|&other| other == model);
    let edges = memory::implications().filter_map(|(from, to)| Some((number(from)?, number(to)?)));
    Drawing { title, nodes, edges: edges.collect() }
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
