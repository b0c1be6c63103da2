//! The lattice of models as a picture, in the files that `--dot` and `--svg` name.

use std::path::Path;

use model::Isolation;
use model::Model;
use report::drawing::Drawing;

use crate::{BAD, output};

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
