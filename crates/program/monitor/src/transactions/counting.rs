//! What a transaction forces when it counts: edges from the writers that it knows of, by the premises of the level, and
//! its reach. Each transaction counts once, after its sources and after those before it in its session.

use history::Value;

use super::graph::{ChainClock, ChainPlace, NodeId, Read, Source, State};
use super::keys::Element;
use super::{Fault, Level, MOST_CHAINS, Transactions, too_many_chains};

impl Transactions {
    /// A committed transaction counts: its sources were looked at, and so were those before it in its session.
    pub(super) fn count(&mut self, id: NodeId, session: u32, reads: Vec<Read>) -> Result<(), Fault> {
        self.wake(&reads)?;
        let last = self.sessions[session as usize].last;
        let (mut reach, mut seen) = self.past(&reads);
        if let Some(last) = last {
            reach.join(&self.graph.node(last).reach);
            seen.join(&self.graph.node(last).seen);
        }
        let node = self.graph.node_mut(id);
        (node.reach, node.seen, node.reads) = (reach, seen, reads);
        self.apply(id)?;
        let of = &mut self.sessions[session as usize];
        of.counted += 1;
        of.last = Some(id);
        self.pin(id);
        if let Some(last) = last {
            self.unpin(last);
        }
        Ok(())
    }

    /// An indeterminate transaction does not count so far. It stays, and so do its sources.
    pub(super) fn sleep(&mut self, id: NodeId, reads: Vec<Read>) {
        let (reach, seen) = self.past(&reads);
        for read in &reads {
            if let Source::Node(source) = read.source {
                self.pin(source);
            }
        }
        let node = self.graph.node_mut(id);
        node.reach.join(&reach);
        node.seen.join(&seen);
        node.reads = reads;
        node.state = State::Dormant;
    }

    /// What reads-from puts before a transaction.
    fn past(&self, reads: &[Read]) -> (ChainClock, ChainClock) {
        let (mut reach, mut seen) = (ChainClock::default(), ChainClock::default());
        for read in reads {
            if let Source::Node(source) = read.source {
                reach.join(&self.graph.node(source).reach);
                seen.join(&self.graph.node(source).seen);
            }
        }
        (reach, seen)
    }

    /// The dormant transactions that these reads are from.
    fn dormant(&self, reads: &[Read]) -> Vec<NodeId> {
        let mut found = Vec::new();
        for read in reads {
            if let Source::Node(source) = read.source {
                found.push(source);
            }
            if let Some((base, _)) = &read.list {
                let known = self.keys.get(read.key as usize).map_or(0, |key| key.list.order.len());
                let fresh = base.iter().skip(known);
                found.extend(fresh.filter_map(|&value| Some(self.versions.get(&(read.key, value))?.node)));
            }
        }
        found.retain(|&id| self.graph.node(id).state == State::Dormant);
        found
    }

    /// The indeterminate transactions that are read now count, with those that they read from.
    fn wake(&mut self, reads: &[Read]) -> Result<(), Fault> {
        let mut stack = self.dormant(reads);
        while let Some(&id) = stack.last() {
            if self.graph.node(id).state != State::Dormant {
                stack.pop();
                continue;
            }
            let sources = self.dormant(&self.graph.node(id).reads);
            if !sources.is_empty() {
                stack.extend(sources);
                continue;
            }
            stack.pop();
            if let Some(fault) = self.graph.node_mut(id).fault.take() {
                return Err(fault);
            }
            if self.graph.chain_count() >= MOST_CHAINS {
                return Err(too_many_chains());
            }
            let place = ChainPlace { chain: self.graph.new_chain(), index: 0 };
            self.graph.loose.retain(|&other| other != id);
            // Indeterminate sources have a place only now.
            let (reach, seen) = self.past(&self.graph.node(id).reads);
            let node = self.graph.node_mut(id);
            node.place = place;
            node.reach.join(&reach);
            node.seen.join(&seen);
            let sources: Vec<Source> = node.reads.iter().map(|read| read.source).collect();
            self.apply(id)?;
            for source in sources {
                if let Source::Node(source) = source {
                    self.unpin(source);
                }
            }
        }
        Ok(())
    }

    /// A transaction, whose past is known, counts from now on.
    fn apply(&mut self, id: NodeId) -> Result<(), Fault> {
        let node = self.graph.node_mut(id);
        let place = node.place;
        node.state = State::Counted;
        node.reach.include(place);
        if self.level == Level::Causal {
            node.seen.include(place);
        }
        let mut reads = std::mem::take(&mut node.reads);
        self.graph.enter(id);
        for read in &reads {
            self.key(read.key);
            if self.silence.is_replayed {
                let newest = self.keys[read.key as usize].newest.map_or(Source::Init, Source::Node);
                self.silence.is_replayed = newest == read.source;
            }
        }
        for read in reads.iter().filter(|read| read.list.is_some() && read.source != Source::Unknown) {
            self.observe(id, read)?;
        }
        if self.level > Level::ReadCommitted {
            for (at, read) in reads.iter().enumerate() {
                if reads[..at].iter().any(|other| other.key == read.key && other.source != read.source) {
                    return Err(Fault::Violation(format!(
                        "non-repeatable read: {} reads two versions of one key",
                        self.told(id)
                    )));
                }
            }
        }
        self.write(id, &reads)?;
        if self.level == Level::Serializable {
            self.overwrite(id)?;
        }
        for at in 0..reads.len() {
            self.force(id, &reads, at)?;
        }
        if self.level == Level::Serializable {
            self.precede_overwriters(id, &reads)?;
            for read in &mut reads {
                read.list = None;
            }
            self.graph.node_mut(id).reads = reads;
        }
        Ok(())
    }

    /// A transaction in words.
    fn told(&self, id: NodeId) -> String {
        format!("the transaction that ended with event {}", self.graph.node(id).event + 1)
    }

    /// A read of a list shows the order of its versions.
    fn observe(&mut self, id: NodeId, read: &Read) -> Result<(), Fault> {
        let Some((base, has_own)) = &read.list else { return Ok(()) };
        let key = read.key;
        let order = &self.keys[key as usize].list.order;
        if order.iter().zip(base).any(|(element, value)| element.value != *value) {
            return Err(self.incompatible(id));
        }
        let known = order.len();
        for &value in base.iter().skip(known) {
            self.see(id, key, value)?;
        }
        if *has_own {
            let node = self.graph.node(id);
            let own: Vec<Value> = node.writes.iter().filter(|write| write.0 == key).map(|write| write.1).collect();
            let order = &self.keys[key as usize].list.order[base.len()..];
            if order.iter().zip(&own).any(|(element, value)| element.value != *value) {
                return Err(self.incompatible(id));
            }
            let known = order.len();
            for &value in own.iter().skip(known) {
                self.see(id, key, value)?;
            }
        }
        let list = &self.keys[key as usize].list;
        if let Some(last) = list.last
            && list.order.len() > known
        {
            let seen: Vec<ChainPlace> = list.order[known..].iter().map(|element| element.owner).collect();
            let list = &mut self.keys[key as usize].list;
            list.unseen.retain(|place| !seen.contains(place));
            for place in list.unseen.clone() {
                self.connect(last, place, key)?;
            }
        }
        self.silence.is_replayed &= self.keys[key as usize].list.unseen.is_empty();
        Ok(())
    }

    fn incompatible(&self, id: NodeId) -> Fault {
        let who = self.told(id);
        Fault::Violation(format!(
            "incompatible-order: {who} reads a version of a list that contradicts another version"
        ))
    }

    /// The next element of a list.
    fn see(&mut self, id: NodeId, key: u32, value: Value) -> Result<(), Fault> {
        let Some(version) = self.versions.get_mut(&(key, value)) else {
            // A dormant transaction read it, and its writer was forgotten before that one counted.
            return Err(self.outside());
        };
        let is_double = std::mem::replace(&mut version.is_seen, true);
        let version = *version;
        let list = &self.keys[key as usize].list;
        let continues = match list.order.last() {
            Some(last) if version.at == 0 => last.is_last,
            Some(last) => last.owner == self.graph.node(version.node).place && !last.is_last,
            None => version.at == 0,
        };
        if is_double {
            let who = self.told(id);
            return Err(Fault::Violation(format!("duplicate-elements: {who} reads a list that has an element twice")));
        }
        if !continues {
            let who = self.told(id);
            return Err(Fault::Violation(format!(
                "dirty write (G0): {who} reads appends of one transaction that do not lie together"
            )));
        }
        let owner = self.graph.node(version.node).place;
        let before = list.last;
        if version.at == 0 {
            let place = |of: NodeId| self.keys[key as usize].writers.iter().position(|&writer| writer == of);
            self.silence.is_replayed &= place(version.node).is_none() || before.and_then(place) < place(version.node);
            match before {
                Some(before) => self.connect(before, owner, key)?,
                None => self.follow_readers(None, owner, key)?,
            }
            self.pin(version.node);
            if let Some(before) = before {
                self.unpin(before);
            }
        }
        let list = &mut self.keys[key as usize].list;
        list.last = Some(version.node);
        list.order.push(Element { value, owner, is_last: version.is_last });
        Ok(())
    }

    /// A version of a list comes before another.
    fn connect(&mut self, from: NodeId, to: ChainPlace, key: u32) -> Result<(), Fault> {
        self.graph.connect(from, to).map_err(|_| {
            let who = self.told(from);
            Fault::Violation(format!(
                "the versions of a list contradict each other (G0 or G1c): {who} is before itself"
            ))
        })?;
        self.follow_readers(Some(self.graph.node(from).place), to, key)
    }

    /// Of `serializable`: whoever read a version comes before the transaction that overwrites it.
    fn follow_readers(&mut self, version: Option<ChainPlace>, to: ChainPlace, key: u32) -> Result<(), Fault> {
        if self.level != Level::Serializable {
            return Ok(());
        }
        let readers = self.keys[key as usize].readers.iter().filter(|(of, _)| *of == version);
        let mut readers: Vec<NodeId> = readers.map(|(_, reader)| *reader).collect();
        readers.retain(|&reader| self.graph.node(reader).place != to);
        for reader in readers {
            self.graph.connect(reader, to).map_err(|_| self.cycle(reader))?;
        }
        Ok(())
    }

    fn cycle(&self, id: NodeId) -> Fault {
        let who = self.told(id);
        Fault::Violation(format!("a cycle with anti-dependencies (G-single or G2-item): {who} is before itself"))
    }

    /// A transaction writes its keys.
    fn write(&mut self, id: NodeId, reads: &[Read]) -> Result<(), Fault> {
        let node = self.graph.node(id);
        let (place, chain) = (node.place, node.session.chain);
        let is_committed = place == node.session;
        for (key, _) in node.finals.clone() {
            let is_rmw = reads.iter().any(|read| read.key == key && matches!(read.source, Source::Node(_)));
            let of = &mut self.keys[key as usize];
            of.writers.push(id);
            let before = of.newest.replace(id);
            let is_list = of.is_list;
            if !is_list && !is_rmw {
                of.roots += 1;
                self.silence.is_ordered &= of.roots < 2;
            }
            self.pin(id);
            if let Some(before) = before {
                self.unpin(before);
            }
            if self.level == Level::ReadAtomic && is_committed {
                self.pin(id);
                if let Some(before) = self.lasts.insert((chain, key), id) {
                    self.unpin(before);
                }
            }
            let list = &mut self.keys[key as usize].list;
            if is_list && !list.order.iter().rev().any(|element| element.owner == place) {
                list.unseen.push(place);
                if let Some(last) = list.last {
                    self.connect(last, place, key)?;
                }
            }
        }
        Ok(())
    }

    /// The pairs that a read forces.
    fn force(&mut self, id: NodeId, reads: &[Read], at: usize) -> Result<(), Fault> {
        let Read { key, source, .. } = reads[at];
        let version = if let Source::Node(version) = source { Some(version) } else { None };
        for writer in self.known_writers(id, reads, at) {
            match (source, version) {
                (Source::Init, _) => return Err(self.overtaken(id, reads, writer)),
                (_, Some(version)) => {
                    let version = self.graph.node(version);
                    if !version.reach.has(self.graph.node(writer).place) {
                        let place = version.place;
                        self.graph.connect(writer, place).map_err(|_| self.overtaken(id, reads, writer))?;
                    }
                }
                _ => {}
            }
        }
        if source == Source::Unknown {
            return Err(self.unknown(id, reads, at));
        }
        let node = self.graph.node(id);
        for forgotten in &self.keys[key as usize].forgotten {
            let horizon = match self.level {
                Level::ReadAtomic if forgotten.chain == node.session.chain => node.session.index,
                Level::ReadCommitted | Level::ReadAtomic => 0,
                Level::Causal => node.seen.count(forgotten.chain),
                Level::Serializable => node.reach.count(forgotten.chain),
            };
            if horizon <= forgotten.first {
                continue;
            }
            let Some(version) = version else {
                let who = self.told(id);
                return Err(Fault::Violation(format!(
                    "stale read: {who} reads the initial version of a key, and knows of a version after it"
                )));
            };
            if self.graph.node(version).reach.count(forgotten.chain) < horizon.min(forgotten.last + 1) {
                self.doubt.get_or_insert_with(|| {
                    format!(
                        "no violation was found, but transactions older than the last {} (--window) may violate the \
                         level together with later ones",
                        self.window
                    )
                });
            }
        }
        Ok(())
    }

    /// The kept writers of a key that a read must not be older than, as the premise of the level says.
    fn known_writers(&self, id: NodeId, reads: &[Read], at: usize) -> Vec<NodeId> {
        let Read { key, source, .. } = reads[at];
        let node = self.graph.node(id);
        let writers = &self.keys[key as usize].writers;
        let sources = |reads: &[Read]| {
            let mut found: Vec<NodeId> = Vec::new();
            for read in reads {
                if let Source::Node(writer) = read.source
                    && read.source != source
                    && !found.contains(&writer)
                    && self.graph.node(writer).writes_key(key)
                {
                    found.push(writer);
                }
            }
            found
        };
        let within = |clock: &ChainClock| {
            // The newest first: what it knows of needs no edge of its own.
            let others = writers.iter().rev().copied().filter(|&writer| writer != id && Source::Node(writer) != source);
            others.filter(|&writer| clock.has(self.graph.node(writer).place)).collect()
        };
        match self.level {
            Level::ReadCommitted => sources(&reads[..at]),
            Level::ReadAtomic => {
                let mut found = sources(reads);
                let own = writers.iter().rev().copied().find(|&writer| {
                    let place = self.graph.node(writer).place;
                    writer != id && place.chain == node.session.chain && place.index < node.session.index
                });
                found.extend(own.filter(|&own| Source::Node(own) != source));
                found
            }
            Level::Causal => within(&node.seen),
            Level::Serializable => within(&node.reach),
        }
    }

    /// A read is older than a version that its transaction knows of.
    fn overtaken(&self, id: NodeId, reads: &[Read], writer: NodeId) -> Fault {
        let is_source = reads.iter().any(|read| read.source == Source::Node(writer));
        let is_own = self.graph.node(writer).place.chain == self.graph.node(id).session.chain;
        let name = match self.level {
            Level::ReadCommitted => "non-monotonic read (G-single)",
            Level::Serializable => "a cycle with anti-dependencies (G-single or G2-item)",
            _ if is_source => "fractured read (G-single)",
            _ if is_own => "read-your-writes violation (G-single-process)",
            _ => "causality violation (G-single)",
        };
        let (who, overwriter) = (self.told(id), self.graph.node(writer).event + 1);
        Fault::Violation(format!(
            "{name}: {who} reads a version that comes before that of the transaction of event {overwriter}, of which \
             it knows"
        ))
    }

    /// A read of a value that nobody wrote who is kept.
    fn unknown(&self, id: NodeId, reads: &[Read], at: usize) -> Fault {
        let key = &self.keys[reads[at].key as usize];
        let who = self.told(id);
        if key.forgotten.is_empty() && !key.is_unsure {
            return Fault::Violation(format!("thin-air: {who} reads what nobody wrote"));
        }
        let mut cover = ChainClock::default();
        for writer in self.known_writers(id, reads, at) {
            cover.join(&self.graph.node(writer).reach);
        }
        // An element that was never read before does not tell how old the version is.
        let is_new = reads[at].list.as_ref().is_some_and(|(base, _)| base.len() > key.list.order.len());
        if is_new || key.is_unsure || key.forgotten.iter().any(|it| cover.count(it.chain) <= it.last) {
            return self.outside();
        }
        Fault::Violation(format!(
            "stale read or thin-air: {who} reads what nobody wrote, or a version that was overwritten before one of \
             which it knows"
        ))
    }

    fn outside(&self) -> Fault {
        Fault::GaveUp(format!(
            "a transaction reads a value that none of the last {} transactions (--window) wrote, and no newest version \
             of a key has: nobody wrote it, or it is older",
            self.window
        ))
    }

    /// Of `serializable`: whoever read a version that a transaction overwrites comes before it.
    fn overwrite(&mut self, id: NodeId) -> Result<(), Fault> {
        let place = self.graph.node(id).place;
        for at in 0..self.graph.node(id).finals.len() {
            let key = self.graph.node(id).finals[at].0;
            for at in 0..self.keys[key as usize].readers.len() {
                let (version, reader) = self.keys[key as usize].readers[at];
                let reach = &self.graph.node(id).reach;
                let is_overwritten = version.is_none_or(|version| version != place && reach.has(version));
                if is_overwritten && !reach.has(self.graph.node(reader).place) {
                    self.graph.connect(reader, place).map_err(|_| self.cycle(reader))?;
                }
            }
        }
        Ok(())
    }

    /// Of `serializable`: a transaction comes before those that overwrite what it read.
    fn precede_overwriters(&mut self, id: NodeId, reads: &[Read]) -> Result<(), Fault> {
        for read in reads {
            let version = if let Source::Node(version) = read.source { Some(version) } else { None };
            let of = version.map(|version| self.graph.node(version).place);
            for at in 0..self.keys[read.key as usize].writers.len() {
                let writer = self.keys[read.key as usize].writers[at];
                let other = self.graph.node(writer);
                let is_other = writer != id && Some(writer) != version;
                if is_other && of.is_none_or(|of| other.reach.has(of)) {
                    let to = other.place;
                    self.graph.connect(id, to).map_err(|_| self.contradicted(id, writer, read))?;
                }
            }
            self.keys[read.key as usize].readers.push((of, id));
        }
        Ok(())
    }

    /// A transaction reads a version that another one, which is before it, overwrites.
    fn contradicted(&self, id: NodeId, writer: NodeId, read: &Read) -> Fault {
        let of = |key: u32, reader: NodeId| {
            self.keys[key as usize].readers.iter().find(|(_, other)| *other == reader).map(|(version, _)| *version)
        };
        let version = match read.source {
            Source::Node(version) => Some(self.graph.node(version).place),
            _ => None,
        };
        let node = self.graph.node(id);
        let name = if node.writes_key(read.key) && of(read.key, writer) == Some(version) {
            "lost update"
        } else if node.finals.iter().any(|&(key, _)| key != read.key && of(key, writer).is_some()) {
            "write skew (G2-item)"
        } else {
            return self.cycle(id);
        };
        let (who, other) = (self.told(id), self.graph.node(writer).event + 1);
        Fault::Violation(format!("{name}: {who} and that of event {other} overwrite what the other read"))
    }
}
