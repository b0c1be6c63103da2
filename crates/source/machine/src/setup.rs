//! A whole experiment: a protocol, a mistake in it or in the cores, a client, cores and caches.

use history::History;
use thiserror::Error;
use workload::random::SplitMix64;

use crate::caches::{CacheConfig, Caches, Fault, Note};
use crate::client::{Client, ClientFault, ClientOperation, history};
use crate::core::{CoreBug, CoreKind, Cores};
use crate::execution::{MachineEnding, execute, execute_watched};
use crate::protocol::{Bug, Name, Protocol};

/// A mistake, in the protocol or in the cores.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub enum Mistake {
    /// In a table of the protocol.
    Protocol(&'static Bug),
    /// In the cores.
    Core(CoreBug),
}

impl Mistake {
    /// All mistakes that can be made with this protocol and these cores.
    pub fn all(protocol: Name, cores: CoreKind) -> impl Iterator<Item = Self> {
        protocol.bugs().iter().map(Self::Protocol).chain(cores.bugs().iter().copied().map(Self::Core))
    }

    /// The mistake of this name.
    pub fn from_name(protocol: Name, cores: CoreKind, name: &str) -> Result<Self, UnknownBug> {
        Self::all(protocol, cores).find(|it| it.name() == name).ok_or_else(|| UnknownBug {
            name: name.to_owned(),
            protocol,
            cores: cores.name(),
            known: Self::all(protocol, cores).map(Self::name).collect(),
        })
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Protocol(bug) => bug.name,
            Self::Core(bug) => bug.name(),
        }
    }

    /// What goes wrong.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Protocol(bug) => bug.summary,
            Self::Core(bug) => bug.summary(),
        }
    }
}

/// There is no such mistake.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{protocol} on {cores} cores has no bug {name:?}; there are {}", .known.join(", "))]
pub struct UnknownBug {
    name: String,
    protocol: Name,
    cores: &'static str,
    known: Vec<&'static str>,
}

/// What is wrong with an experiment.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SetupFault {
    /// With its client.
    #[error(transparent)]
    Client(#[from] ClientFault),
    /// With its caches.
    #[error(transparent)]
    Caches(#[from] Fault),
    /// With its protocol.
    #[error("{0} asks no caches that have no copy, so it has no probe filter")]
    Filter(Name),
    /// With its observers.
    #[error("observers need a cache for each core, so cores cannot share one")]
    Observers,
    /// With its cores.
    #[error("a core needs room for at least one operation")]
    Depth,
    /// With its cores.
    #[error("a core that is idle for 100 percent of the time does nothing")]
    Idle,
}

/// An experiment. The number of caches and their locations are those of the client.
#[derive(Copy, Clone, Debug)]
pub struct MachineSetup {
    /// The protocol.
    pub protocol: Name,
    /// The mistake, if any.
    pub mistake: Option<Mistake>,
    /// The client.
    pub client: Client,
    /// The cores.
    pub cores: Cores,
    /// The caches.
    pub caches: CacheConfig,
}

impl Default for MachineSetup {
    fn default() -> Self {
        Self {
            protocol: Name::MesiTwoLevel,
            mistake: None,
            client: Client::default(),
            cores: Cores::default(),
            caches: CacheConfig::default(),
        }
    }
}

/// A run of an experiment.
#[derive(Clone, Debug)]
pub struct MachineRun {
    /// The client that ran.
    pub client: Client,
    /// Its operations, in the order in which they retired.
    pub operations: Vec<ClientOperation>,
    /// How it ended.
    pub ending: MachineEnding,
}

/// What an observer of a run sees.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A message was sent or taken.
    Message(Note),
    /// An operation was performed.
    Performed(ClientOperation),
}

impl MachineRun {
    /// The history, in the order in which operations retired.
    pub fn history(&self) -> History {
        history(self.client.threads, self.client.locations, &self.operations, false)
    }

    /// The operations in the order in which they were performed.
    pub fn performed(&self) -> Vec<ClientOperation> {
        let mut operations = self.operations.clone();
        operations.sort_by_key(|operation| operation.performed);
        operations
    }

    /// The stream of operations in the order in which they were performed, each with its index in program order.
    pub fn performed_history(&self) -> History {
        history(self.client.threads, self.client.locations, &self.performed(), true)
    }
}

impl MachineSetup {
    /// What is wrong with the experiment, if anything.
    pub fn fault(&self) -> Option<SetupFault> {
        if self.cores.depth == 0 {
            return Some(SetupFault::Depth);
        }
        if self.caches.has_filter && self.protocol.filtered().is_none() {
            return Some(SetupFault::Filter(self.protocol));
        }
        if self.cores.idle >= 100 {
            return Some(SetupFault::Idle);
        }
        self.shape().fault().map(SetupFault::Caches).or_else(|| self.client.fault().map(SetupFault::Client))
    }

    /// The protocol, without a mistake.
    pub fn tables(&self) -> Protocol {
        let filtered = self.protocol.filtered().filter(|_| self.caches.has_filter);
        filtered.unwrap_or_else(|| self.protocol.protocol())
    }

    /// The memory system.
    pub fn caches(&self) -> Result<Caches, SetupFault> {
        if let Some(fault) = self.fault() {
            return Err(fault);
        }
        let mut protocol = self.tables();
        if let Some(Mistake::Protocol(bug)) = self.mistake {
            bug.apply(&mut protocol);
        }
        let is_checked = self.caches.is_checked && self.mistake.is_none();
        Ok(Caches::new(&protocol, CacheConfig { is_checked, seed: self.client.seed, ..self.shape() })?)
    }

    /// The caches, with as many as the client's threads need.
    fn shape(&self) -> CacheConfig {
        let caches = self.client.threads.div_ceil(self.caches.sharing.max(1));
        CacheConfig { caches, locations: self.client.locations, ..self.caches }
    }

    /// The cores, with their mistake.
    pub fn cores(&self) -> Cores {
        match self.mistake {
            Some(Mistake::Core(bug)) => Cores { bug: Some(bug), ..self.cores },
            _ => self.cores,
        }
    }

    /// Runs the experiment.
    pub fn run(&self) -> Result<MachineRun, SetupFault> {
        let mut caches = self.caches()?;
        let mut operations = Vec::with_capacity(self.client.operations.min(1 << 20) as usize);
        let ending = execute(&mut caches, &self.client, &self.cores(), &mut |operation| operations.push(operation));
        Ok(MachineRun { client: self.client, operations, ending })
    }

    /// Runs the experiment, and tells which message went where and which operation was performed when, in this order,
    /// each with its tick. Accesses that were done again count only as they were done last: the observer of a core sees
    /// which of its loads the core takes back.
    pub fn observe_timed(&self) -> Result<Vec<(u64, Seen)>, SetupFault> {
        if self.caches.sharing > 1 {
            return Err(SetupFault::Observers);
        }
        let mut caches = self.caches()?;
        caches.follow_messages();
        let mut operations = Vec::new();
        let mut notes = Vec::new();
        let mut each = |operation| operations.push(operation);
        execute_watched(&mut caches, &self.client, &self.cores(), &mut each, |caches| {
            let now = caches.counts().ticks;
            notes.extend(caches.notes().into_iter().map(|note| (now, note)));
        });
        operations.sort_by_key(|operation: &ClientOperation| operation.performed);
        let mut operations = operations.into_iter().peekable();
        let mut seen = Vec::with_capacity(notes.len());
        let (mut place, mut last) = (0, 0);
        let mut take_up_to = |place: u64, now: u64, seen: &mut Vec<(u64, Seen)>| {
            while let Some(operation) = operations.next_if(|operation| operation.performed <= place) {
                seen.push((now, Seen::Performed(operation)));
            }
        };
        for (now, note) in notes {
            // What is taken here was performed with the note before.
            take_up_to(place, last, &mut seen);
            last = now;
            match note {
                Note::Performed { .. } => place += 1,
                note => seen.push((now, Seen::Message(note))),
            }
        }
        take_up_to(u64::MAX, last, &mut seen);
        Ok(seen)
    }

    /// As [`MachineSetup::observe_timed`], without the ticks.
    pub fn observe(&self) -> Result<Vec<Seen>, SetupFault> {
        Ok(self.observe_timed()?.into_iter().map(|(_, seen)| seen).collect())
    }

    /// Execution `number` of a hunt: the same experiment with another client, and with caches and a network of another
    /// shape. It depends on nothing but the number and the seed.
    #[must_use]
    pub fn varied(&self, seed: u64, number: u64) -> Self {
        let mut random = SplitMix64::new(seed ^ SplitMix64::new(number).next());
        let client = vary_client(&self.client, &mut random);
        let mut setup = *self;
        setup.client = client;
        setup.cores.idle = random.pick(&[0, 10, 30, 60]);
        setup.cores.depth = random.pick(&[2, 4, 8]).min(self.cores.depth);
        setup.caches.block = random.pick(&[1, 1, 2, 4]).min(self.caches.block);
        setup.caches.frames = random.pick(&[1, 2, 4, 8]).min(self.caches.frames);
        setup.caches.evictions = random.pick(&[0, 10, 100]).min(self.caches.evictions);
        setup.caches.network.delay = random.pick(&[1, 8, 40, 100]).min(self.caches.network.delay);
        setup.caches.network.is_ordered |= random.percent(30);
        setup.caches.second = random.pick(&[1, 4, 8, 8]).min(self.caches.second);
        setup
    }
}

/// A client of another shape, with at most as many threads, operations and locations.
pub(crate) fn vary_client(most: &Client, random: &mut SplitMix64) -> Client {
    let up_to = |random: &mut SplitMix64, least: u32, most: u32| random.between(least.min(most), most);
    let writes = random.pick(&[20, 35, 50, 65]);
    Client {
        threads: up_to(random, 2, most.threads),
        operations: up_to(random, 8, most.operations),
        locations: up_to(random, 1, most.locations),
        writes,
        rmws: if random.percent(30) { 10 } else { most.rmws.min(100 - writes) },
        fences: if random.percent(30) { 15 } else { most.fences.min(90 - writes) },
        hot: random.pick(&[0, 0, 50]),
        seed: random.next(),
    }
}
