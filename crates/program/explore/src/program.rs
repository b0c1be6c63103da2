//! What a program is to an exploration: threads that ask for one access of memory after the other.

use crate::Graph;

/// The value of a location.
pub type Value = i64;

/// The order of an access or a fence, as C has them.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// A plain access. It gives and takes no synchronization, not even through fences.
    NonAtomic,
    /// `memory_order_relaxed`
    Relaxed,
    /// `memory_order_acquire`
    Acquire,
    /// `memory_order_release`
    Release,
    /// `memory_order_acq_rel`
    AcquireRelease,
    /// `memory_order_seq_cst`
    SequentiallyConsistent,
}

impl Order {
    /// Whether a read or fence with this order acquires.
    pub const fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcquireRelease | Self::SequentiallyConsistent)
    }

    /// Whether a write or fence with this order releases.
    pub const fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcquireRelease | Self::SequentiallyConsistent)
    }

    /// Whether the access or fence is sequentially consistent.
    pub const fn is_sequential(self) -> bool {
        matches!(self, Self::SequentiallyConsistent)
    }
}

/// An integer type: so many bits, in two's complement if it has a sign. A value of an unsigned type of 64 bits is kept
/// as the [`Value`] with the same bits.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Integer {
    /// 0 or 1.
    Bool,
    /// So many bits, with a sign.
    Signed(u8),
    /// So many bits, without a sign.
    Unsigned(u8),
}

impl Integer {
    /// C's `int`.
    pub const INT: Self = Self::Signed(32);

    /// How many bits a value takes in memory.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bool => 8,
            Self::Signed(bits) | Self::Unsigned(bits) => bits as u32,
        }
    }

    /// Whether some values are negative.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::Signed(_))
    }

    /// The value of the type that a number becomes: whatever is not 0 is true, and of a number the lowest bits stay.
    ///
    /// ```
    /// use explore::Integer;
    ///
    /// assert_eq!(Integer::Unsigned(8).wrap(256), 0);
    /// assert_eq!(Integer::Signed(8).wrap(255), -1);
    /// assert_eq!(Integer::Bool.wrap(256), 1);
    /// ```
    pub const fn wrap(self, value: Value) -> Value {
        let unused = Value::BITS - self.bits();
        match self {
            Self::Bool => (value != 0) as Value,
            Self::Signed(_) => value << unused >> unused,
            Self::Unsigned(_) => (((value as u64) << unused) >> unused) as Value,
        }
    }
}

/// What a read-modify-write makes of the value that it reads.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Update {
    /// Another value, whatever the old one.
    Set(Value),
    /// The sum, which wraps around.
    Add(Value),
    /// The sum, which wraps around where this type does.
    AddWithin(Integer, Value),
    /// The difference, which wraps around.
    Sub(Value),
    /// The bits of both.
    And(Value),
    /// The bits of either.
    Or(Value),
    /// The bits of one of the two.
    Xor(Value),
    /// The complement of the bits of both.
    Nand(Value),
    /// The greater of the two.
    Max(Value),
    /// The lesser of the two.
    Min(Value),
    /// The greater of the two, as numbers without a sign.
    UnsignedMax(Value),
    /// The lesser of the two, as numbers without a sign.
    UnsignedMin(Value),
    /// The new value if the old one is as expected. Otherwise the rmw fails: it is a read.
    CompareExchange {
        /// The value with which it succeeds.
        expected: Value,
        /// The value that it then writes.
        new: Value,
    },
}

impl Update {
    /// The value to write, given the value that was read; none if the rmw fails.
    #[inline]
    pub fn apply(self, old: Value) -> Option<Value> {
        Some(match self {
            Self::Set(new) => new,
            Self::Add(operand) => old.wrapping_add(operand),
            Self::AddWithin(integer, operand) => integer.wrap(old.wrapping_add(operand)),
            Self::Sub(operand) => old.wrapping_sub(operand),
            Self::And(operand) => old & operand,
            Self::Or(operand) => old | operand,
            Self::Xor(operand) => old ^ operand,
            Self::Nand(operand) => !(old & operand),
            Self::Max(operand) => old.max(operand),
            Self::Min(operand) => old.min(operand),
            Self::UnsignedMax(operand) => (old as u64).max(operand as u64) as Value,
            Self::UnsignedMin(operand) => (old as u64).min(operand as u64) as Value,
            Self::CompareExchange { expected, new } => {
                if old != expected {
                    return None;
                }
                new
            }
        })
    }
}

/// How an [`Await`] compares.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Less.
    Less,
    /// Less or equal.
    LessOrEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison that holds iff this one does not.
    pub(crate) const fn opposite(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }
}

/// The values that a thread waits for: those whose bits under the mask compare as told.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Await {
    /// The bits that count; -1 for all.
    pub mask: Value,
    /// How they are compared.
    pub comparison: Comparison,
    /// With what.
    pub value: Value,
}

impl Await {
    /// Waits for one value.
    pub const fn equal(value: Value) -> Self {
        Self { mask: -1, comparison: Comparison::Equal, value }
    }

    /// Waits for any other value.
    pub const fn not_equal(value: Value) -> Self {
        Self { mask: -1, comparison: Comparison::NotEqual, value }
    }

    /// Whether this value ends the wait.
    pub const fn accepts(self, value: Value) -> bool {
        let (value, other) = (value & self.mask, self.value);
        match self.comparison {
            Comparison::Equal => value == other,
            Comparison::NotEqual => value != other,
            Comparison::Less => value < other,
            Comparison::LessOrEqual => value <= other,
            Comparison::Greater => value > other,
            Comparison::GreaterOrEqual => value >= other,
        }
    }
}

/// A step of a thread.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[repr(u8)] // so the location is at one place in all that have one
pub enum Step {
    /// Reads a location.
    Read {
        /// The location.
        location: u32,
        /// The order of the read.
        order: Order,
        /// If the read stands for a loop without effect: the values that end it.
        until: Option<Await>,
    },
    /// Writes a location.
    Write {
        /// The location.
        location: u32,
        /// The order of the write.
        order: Order,
        /// The value to write.
        value: Value,
    },
    /// Reads a location, and writes it at once.
    Rmw {
        /// The location.
        location: u32,
        /// The order if it succeeds.
        order: Order,
        /// The order of the read if it fails.
        failure: Order,
        /// What it makes of the value.
        update: Update,
        /// If the rmw stands for a loop without effect: the values that end it. (A lock is such a loop, a
        /// compare-exchange from 0 to 1 that waits for 0.)
        until: Option<Await>,
    },
    /// An access that is checked for data races and has no value that the exploration knows of. Without a race, what it
    /// reads is determined by what happens before it. No other kind of step accesses the same location.
    Access {
        /// The location.
        location: u32,
        /// Whether it writes.
        writes: bool,
    },
    /// A fence.
    Fence(Order),
    /// Any number below this one, which must not be 0. The exploration tries each.
    Choice(u32),
    /// Starts a thread that is not one of the first ones.
    Spawn(u32),
    /// Waits for a thread to finish.
    Join(u32),
    /// The first step of a thread that was spawned. The exploration itself adds it; no program asks for it.
    Begin,
}

impl Step {
    /// The location that the step accesses.
    #[inline]
    pub const fn location(self) -> Option<u32> {
        match self {
            Self::Read { location, .. }
            | Self::Write { location, .. }
            | Self::Rmw { location, .. }
            | Self::Access { location, .. } => Some(location),
            _ => None,
        }
    }

    /// What the step waits for, if it stands for a loop.
    #[inline]
    pub const fn until(self) -> Option<Await> {
        match self {
            Self::Read { until, .. } | Self::Rmw { until, .. } => until,
            _ => None,
        }
    }
}

/// What a thread does next.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Next {
    /// It goes on with this step.
    Step(Step),
    /// It has finished.
    Finished,
    /// It stops for good without having finished, as after `assume(false)`. The execution is blocked.
    Stopped,
    /// It is in a loop without effect, which its last steps are, as many as told. It goes on only if one of the reads
    /// among them reads another value. The exploration does so; the thread stops for good.
    Spins(u32),
    /// An assertion failed: the execution so far is a finding. The thread stops for good.
    Failed,
    /// It has had more steps than are allowed. The thread stops for good, and the exploration is bounded.
    Bounded,
}

/// A program of finitely many steps. The next step of a thread depends on the values that it has read and on nothing
/// else.
pub trait Program {
    /// How many threads run from the start. They are the numbers below this one. All others are spawned.
    fn threads(&self) -> u32;

    /// The value that a location has at first.
    fn initial(&self, location: u32) -> Value;

    /// What a thread does after the steps that it has in the graph. [`Graph::value`] is what it read.
    fn next(&mut self, thread: u32, graph: &Graph) -> Next;

    /// The same in a random run, in which nothing is taken back. The program may add steps of the thread to the graph
    /// by itself, if nobody can tell when the thread has taken them.
    fn advance(&mut self, thread: u32, graph: &mut Graph) -> Next {
        self.next(thread, graph)
    }

    /// The graph has lost events, or some of its reads have other values. Until this is called, it only grows. The
    /// answer is whether all that [`next`](Self::next) has said must be asked again.
    fn rewound(&mut self) -> bool {
        false
    }

    /// Another thread of the operating system goes on with the program. The graph stays, and all that
    /// [`next`](Self::next) has said is asked again.
    fn detach(&mut self) {}

    /// In a random run, the loop of a thread that [spins](Next::Spins) can read another value: the thread goes on.
    fn wake(&mut self, _thread: u32, _graph: &Graph) {}

    /// Whether an execution also is a deadlock if its threads could go on, but need not: they wait for values that the
    /// last writes do not have. A fair scheduler does not end that, as it only makes the last writes known to all.
    fn asks_for_liveness(&self) -> bool {
        false
    }

    /// The kind of a thread that is about to take its first step. Threads of one kind are alike: whatever an execution
    /// is, there is another one in which they have changed their names, and nobody minds. They begin one right after
    /// the other, they take the same steps when they have read the same, and no thread uses their numbers, but to join
    /// all of them, one right after the other. Of executions that differ in their names alone, not all are visited, and
    /// at least one is. Threads without a kind are like no other.
    fn kind(&mut self, _thread: u32) -> Option<u32> {
        None
    }
}
