//! Coherence protocols: each is a table of its caches and one of its directory, and a list of mistakes to make in them.
//! Where the directory is a second level of caches, the memory behind it has a table of its own.
//!
//! | protocol | who knows about copies | who counts the answers |
//! | --- | --- | --- |
//! | [`mi`] | the directory knows the owner; there are no copies to read | nobody |
//! | [`mesi_two_level`] | the second level knows the owner or the readers | the cache that writes |
//! | [`moesi_hammer`] | nobody: all caches are asked | the cache that asks |
//! | [`moesi_amd`] | nobody: all caches are asked | the directory |
//!
//! In all of them the directory does one transaction on a block at a time; what else comes for the block waits. None
//! needs a network that keeps messages in order. A store is performed when no other cache has a copy any more, a load
//! when its data is there.

pub(crate) mod engine;
mod live;
mod mesi_two_level;
mod mi;
mod moesi_amd;
mod moesi_hammer;
mod reach;
mod table;

use std::fmt;

pub use engine::{MAX_CACHES, MAX_WORDS};
pub use reach::{Explored, Space, explore};
pub use table::{ProtocolRow, State, Table, TableAction, TableEvent};

/// The protocols by name.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Name {
    Mi,
    MesiTwoLevel,
    MoesiHammer,
    MoesiAmd,
}

impl Name {
    /// All protocols.
    pub const ALL: [Self; 4] = [Self::Mi, Self::MesiTwoLevel, Self::MoesiHammer, Self::MoesiAmd];

    /// The name as the command takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mi => "mi",
            Self::MesiTwoLevel => "mesi-two-level",
            Self::MoesiHammer => "moesi-hammer",
            Self::MoesiAmd => "moesi-amd",
        }
    }

    /// What it is, in a few words.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Mi => "A directory with one owner; every copy may be written",
            Self::MesiTwoLevel => "A shared second level that knows the readers; the writer counts acknowledgements",
            Self::MoesiHammer => "Every request asks all caches, which answer the requester",
            Self::MoesiAmd => "Every request asks all caches, which answer the directory",
        }
    }

    /// The protocol of this name; `mesi`, `hammer` and `amd` are short for it.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "mesi" => Some(Self::MesiTwoLevel),
            "hammer" => Some(Self::MoesiHammer),
            "amd" => Some(Self::MoesiAmd),
            name => Self::ALL.into_iter().find(|it| it.name() == name),
        }
    }

    /// Its tables, without mistakes.
    pub fn protocol(self) -> Protocol {
        match self {
            Self::Mi => mi::protocol(),
            Self::MesiTwoLevel => mesi_two_level::protocol(),
            Self::MoesiHammer => moesi_hammer::protocol(),
            Self::MoesiAmd => moesi_amd::protocol(),
        }
    }

    /// Its tables with a probe filter, if it asks all caches without one: the directory then remembers which caches may
    /// have a copy, and asks only these.
    pub fn filtered(self) -> Option<Protocol> {
        let mut protocol = self.protocol();
        match self {
            Self::MoesiHammer => moesi_hammer::filter(&mut protocol),
            Self::MoesiAmd => moesi_amd::filter(&mut protocol),
            Self::Mi | Self::MesiTwoLevel => return None,
        }
        Some(protocol)
    }

    /// The mistakes that can be made in it.
    pub const fn bugs(self) -> &'static [Bug] {
        match self {
            Self::Mi => mi::BUGS,
            Self::MesiTwoLevel => mesi_two_level::BUGS,
            Self::MoesiHammer => moesi_hammer::BUGS,
            Self::MoesiAmd => moesi_amd::BUGS,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A protocol: its tables.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// The table of the caches.
    pub cache: Table,
    /// The table of the directory.
    pub directory: Table,
    /// If the directory is a second level of caches: the table of the memory behind it.
    pub memory: Option<Table>,
    /// The first state of a block at the directory.
    home: State,
    /// Whether the directory knows the owner and the readers of a block.
    knows_copies: bool,
}

/// A mistake in a protocol: some rows of its tables are changed.
#[derive(Copy, Clone)]
pub struct Bug {
    /// Its name.
    pub name: &'static str,
    /// What goes wrong.
    pub summary: &'static str,
    apply: fn(&mut Protocol),
}

impl Bug {
    /// Makes the mistake.
    pub fn apply(&self, protocol: &mut Protocol) {
        (self.apply)(protocol);
    }
}

/// A mistake that every protocol can make.
const COUNTED_TOO_EARLY: Bug = Bug {
    name: "store-hit-profile-swapped",
    summary: "the hit is counted, and the block put back, before the store is written into it",
    apply: |it| it.cache.set(State::M, TableEvent::Store, &[TableAction::ProfileHit, TableAction::StoreHit], State::M),
};

/// A mistake in a probe filter.
const FILTER_FORGETS: &str = "filter-forgets-copies";
const FILTER_FORGETS_SUMMARY: &str = "a probe filter notes a reader, and forgets who had a copy before";

impl fmt::Debug for Bug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cache, directory, memory, .. } = self;
        match memory {
            None => write!(f, "cache\n{cache}\ndirectory\n{directory}"),
            Some(memory) => write!(f, "cache\n{cache}\nsecond level\n{directory}\nmemory\n{memory}"),
        }
    }
}
