//! What a memory system is to the cores that use it.
//!
//! A simulator of one's own, or a test bench of a design, implements [`MemorySystem`]; [`crate::hunt`] then runs
//! clients on it until a model is violated.

use history::execution::Kind;

/// An access of a core.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemoryRequest {
    /// The name of the access among those of its core that are under way.
    pub tag: u32,
    /// Read, write or read-modify-write; cores deal with fences themselves.
    pub kind: Kind,
    /// The location, from zero.
    pub location: u32,
    /// The value to write, if it writes.
    pub value: u32,
}

/// What a memory system tells its cores.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// An access has been performed, just now.
    Done {
        /// The core.
        core: u32,
        /// The tag of the access.
        tag: u32,
        /// The value that was read, if it reads.
        value: u32,
    },
    /// A core no longer holds these locations, or another core that shares its cache has stored there: their values may
    /// change from here on. A core that reads ahead must read them again. Only cores that are out of order listen to
    /// it.
    Lost {
        /// The core.
        core: u32,
        /// The first location.
        first: u32,
        /// How many locations.
        count: u32,
    },
}

/// A memory system under test. All locations hold 0 at first.
///
/// ```
/// use machine::{MemorySystem, Notice, MemoryRequest};
///
/// /// A memory that does at once what it is asked for.
/// struct Atomic(Vec<u32>, Vec<Notice>);
///
/// impl MemorySystem for Atomic {
///     fn issue(&mut self, core: u32, request: MemoryRequest) -> bool {
///         let cell = &mut self.0[request.location as usize];
///         self.1.push(Notice::Done { core, tag: request.tag, value: *cell });
///         if request.kind.writes() {
///             *cell = request.value;
///         }
///         true
///     }
///     fn tick(&mut self) {}
///     fn poll(&mut self) -> Option<Notice> {
///         self.1.pop()
///     }
/// }
/// # let mut memory = Atomic(vec![0], Vec::new());
/// # let write = MemoryRequest { tag: 0, kind: history::execution::Kind::Write, location: 0, value: 5 };
/// # assert!(memory.issue(0, write) && memory.poll().is_some() && memory.poll().is_none());
/// ```
pub trait MemorySystem {
    /// Begins an access. If the system cannot take it now, the answer is false, and the core asks again later.
    fn issue(&mut self, core: u32, request: MemoryRequest) -> bool;

    /// Lets time pass: one step of the system's clock.
    fn tick(&mut self);

    /// The next thing that the system has to tell, in the order in which things happened.
    fn poll(&mut self) -> Option<Notice>;

    /// Why the system cannot go on, if it knows that it cannot: a message that its protocol does not expect, say.
    fn stuck(&self) -> Option<String> {
        None
    }
}

impl<M: MemorySystem + ?Sized> MemorySystem for Box<M> {
    fn issue(&mut self, core: u32, request: MemoryRequest) -> bool {
        (**self).issue(core, request)
    }

    fn tick(&mut self) {
        (**self).tick();
    }

    fn poll(&mut self) -> Option<Notice> {
        (**self).poll()
    }

    fn stuck(&self) -> Option<String> {
        (**self).stuck()
    }
}
