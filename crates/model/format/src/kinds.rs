//! The formats: the name of each, and the extensions that stand for it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::detect;

/// A format of history files.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Format {
    /// Also reads operations with their times, as fastlin writes them, and tables with named columns (CSV).
    Text,
    /// Also reads one array of such objects.
    JsonLines,
    /// Also reads the logs that Jepsen wrote before it wrote EDN.
    Edn,
    Axe,
    Plume,
    Awdit,
    /// JSON; also reads dbcop's text.
    Dbcop,
    Bincode,
    /// A folder.
    Cobra,
    /// Like [`Self::Cobra`], with timestamps after the beginnings and ends of transactions.
    CobraTimed,
    /// Apache Parquet, with a row for each operation.
    Parquet,
    /// The same in Arrow IPC, as a file or a stream.
    Arrow,
    /// A file, or a folder with one for each client.
    Porcupine,
    Tipocket,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 14] = [
        Self::Text,
        Self::JsonLines,
        Self::Edn,
        Self::Axe,
        Self::Plume,
        Self::Awdit,
        Self::Dbcop,
        Self::Bincode,
        Self::Cobra,
        Self::CobraTimed,
        Self::Parquet,
        Self::Arrow,
        Self::Porcupine,
        Self::Tipocket,
    ];

    /// The formats that are written. The last two can say transactions only, and axe only memories.
    pub const WRITTEN: [Self; 8] =
        [Self::Text, Self::JsonLines, Self::Edn, Self::Parquet, Self::Arrow, Self::Axe, Self::Plume, Self::Dbcop];

    /// The name, as the command line takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::JsonLines => "jsonl",
            Self::Edn => "edn",
            Self::Axe => "axe",
            Self::Plume => "plume",
            Self::Awdit => "awdit",
            Self::Dbcop => "dbcop",
            Self::Bincode => "bincode",
            Self::Cobra => "cobra",
            Self::CobraTimed => "cobra-timed",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Porcupine => "porcupine",
            Self::Tipocket => "tipocket",
        }
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The extensions that stand for it. No two formats have a common one.
    pub const fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Text => &["hist", "csv"],
            Self::JsonLines => &["jsonl"],
            // Jepsen's block files are unpacked to EDN.
            Self::Edn => &["edn", "jepsen"],
            Self::Axe => &["axe"],
            Self::Bincode => &["bincode"],
            Self::Parquet => &["parquet"],
            Self::Arrow => &["arrow", "arrows", "feather"],
            Self::Plume
            | Self::Awdit
            | Self::Dbcop
            | Self::Cobra
            | Self::CobraTimed
            | Self::Porcupine
            | Self::Tipocket => &[],
        }
    }

    /// The format that the extension of a file stands for. The extensions `.gz` and `.zst` are ignored.
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = detect::extension(path)?;
        Self::ALL.into_iter().find(|format| format.extensions().contains(&extension.as_str()))
    }

    /// Whether this is a format of tables, which must be found in the bytes and not in lines.
    pub(super) const fn is_table(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow)
    }
}
