//! Checks verdicts about histories that leave sources open: a value was written twice, and a read of it names no
//! source.
//!
//! A history satisfies a model exactly if some choice of sources for its open reads does. Which sources a read may
//! have, and why a partial choice counts as an execution, is at [`OpenExecution`].
//!
//! - `consistent`: the evidence chooses a source for each open read, and has a witness for the execution with these
//!   sources. A read that is optional needs a source only if it is the source of another read.
//! - `violation`: the evidence is a list of cases. A case names choices that cannot all hold. Either the execution
//!   with these choices alone is a violation, by evidence of the usual kind; or there is a read such that, for each of
//!   its candidates, an earlier case has no choices but those of this case and that candidate. The last case has no
//!   choices, so nothing can be chosen at all.
//! - Evidence of the usual kind about the reads that are not open proves a violation, too.

use std::collections::{BTreeMap, HashMap, HashSet};

use history::execution::EventId;
use history::{Execution, History, MemoryOrder, OpenExecution, OperationId};

use super::{Place, Refusal, fault, proves};
use model::{Because, Case, Certificate, Choice, Evidence, Model, Node, Verdict};

/// Checks a certificate about a history that leaves sources open.
pub fn verify(certificate: &Certificate, history: &History) -> Result<(), Refusal> {
    let open = OpenExecution::from_history(history).map_err(Refusal::NotAnExecution)?;
    let mut sources = Sources {
        execution: open.execution().clone(),
        events: open.execution().ids().map(|id| (open.execution().operation(id), id)).collect(),
        open: &open,
    };
    let model = certificate.model;
    let mut wholes = (0..open.reads().len()).map(|read| open.whole(read));
    if model == Model::Rc20 && wholes.any(|event| event.order == MemoryOrder::SequentiallyConsistent) {
        return fault(Place::Again, "rc20 does not speak of sequentially consistent accesses");
    }
    match (certificate.verdict, &certificate.evidence) {
        (Verdict::Consistent, Evidence::Sources(chosen, witness)) => {
            let chosen = sources.set(Place::Sources, chosen)?;
            sources.all_chosen(&chosen)?;
            proves(&sources.execution, model, Verdict::Consistent, witness)
        }
        (Verdict::Violation, Evidence::Cases(cases)) => sources.cases(model, cases),
        (Verdict::Violation, evidence) => proves(open.execution(), model, Verdict::Violation, evidence),
        (verdict, evidence) => {
            sources.all_chosen(&Chosen::new())?;
            proves(open.execution(), model, verdict, evidence)
        }
    }
}

struct Sources<'a> {
    open: &'a OpenExecution,
    /// The execution with the choices that are looked at.
    execution: Execution,
    events: HashMap<OperationId, EventId>,
}

/// The sources that are chosen, by the number of the open read.
type Chosen = BTreeMap<usize, EventId>;

impl Sources<'_> {
    /// The open read and the source that a choice names.
    fn choice(&self, place: Place, choice: Choice) -> Result<(usize, EventId), Refusal> {
        let number = choice.read.0;
        let event = self.events.get(&choice.read).copied();
        let Some(read) = event.and_then(|event| self.open.find(event)) else {
            return fault(place, format!("operation {number} is no read whose source is open"));
        };
        let source = match choice.source {
            Node::Init(location) if location == self.open.whole(read).location => Some(EventId::INIT),
            Node::Init(_) => None,
            Node::Operation(id) => self.events.get(&id).copied(),
        };
        match source.filter(|&source| self.open.is_candidate(read, source)) {
            Some(source) => Ok((read, source)),
            None => fault(place, format!("operation {number} cannot have that source")),
        }
    }

    /// The choices, each checked by itself.
    fn choices(&self, place: Place, choices: &[Choice]) -> Result<Chosen, Refusal> {
        let mut chosen = Chosen::new();
        for &choice in choices {
            let (read, source) = self.choice(place, choice)?;
            if chosen.insert(read, source).is_some() {
                return fault(place, format!("two sources are chosen for operation {}", choice.read.0));
            }
        }
        Ok(chosen)
    }

    /// Makes choices in the execution.
    fn set(&mut self, place: Place, choices: &[Choice]) -> Result<Chosen, Refusal> {
        let chosen = self.choices(place, choices)?;
        for (&read, &source) in &chosen {
            self.open.set_source(&mut self.execution, read, Some(source));
        }
        Ok(chosen)
    }

    /// Checks that every read that needs a source has one.
    fn all_chosen(&self, chosen: &Chosen) -> Result<(), Refusal> {
        let read_from: HashSet<EventId> = chosen.values().copied().collect();
        for (at, read) in self.open.reads().iter().enumerate() {
            let is_needed = !read.is_optional || read_from.contains(&read.event);
            if is_needed && !chosen.contains_key(&at) {
                let operation = self.execution.operation(read.event).0;
                return fault(Place::Sources, format!("no source is chosen for operation {operation}"));
            }
        }
        Ok(())
    }

    fn cases(&mut self, model: Model, cases: &[Case]) -> Result<(), Refusal> {
        let mut known: Vec<Chosen> = Vec::with_capacity(cases.len());
        for (at, case) in cases.iter().enumerate() {
            let place = Place::Case(at);
            let chosen = match &case.because {
                Because::Violation(evidence) => {
                    let chosen = self.set(place, &case.choices)?;
                    let proved = proves(&self.execution, model, Verdict::Violation, evidence);
                    for &read in chosen.keys() {
                        self.open.set_source(&mut self.execution, read, None);
                    }
                    proved.map_err(|refusal| Refusal::Fault { place, what: refusal.to_string() })?;
                    chosen
                }
                Because::NoneLeft { read, cases } => {
                    let chosen = self.choices(place, &case.choices)?;
                    self.none_left(place, &chosen, *read, cases, &known)?;
                    chosen
                }
            };
            known.push(chosen);
        }
        match known.last() {
            Some(last) if last.is_empty() => Ok(()),
            _ => fault(Place::LastCase, "it must be there and have no choices"),
        }
    }

    /// Checks that the choices leave no candidate for the read: for each candidate, one of the cases has no choices but
    /// these and that candidate.
    fn none_left(
        &self,
        place: Place,
        chosen: &Chosen,
        read: OperationId,
        cases: &[u32],
        known: &[Chosen],
    ) -> Result<(), Refusal> {
        let Some(number) = self.events.get(&read).and_then(|&event| self.open.find(event)) else {
            return fault(place, format!("operation {} is no read whose source is open", read.0));
        };
        let open = self.open.reads()[number];
        if open.is_optional && !chosen.values().any(|&source| source == open.event) {
            return fault(place, format!("operation {} needs no source, since no choice is from it", read.0));
        }
        let mut refuted = HashSet::new();
        for &case in cases {
            let Some(earlier) = known.get(case as usize) else {
                return fault(place, format!("case {case} is not an earlier one"));
            };
            let mut others = earlier.iter().filter(|&(other, _)| *other != number);
            if others.any(|(other, source)| chosen.get(other) != Some(source)) {
                return fault(place, format!("case {case} has a choice that is not made here"));
            }
            match earlier.get(&number) {
                Some(&source) => drop(refuted.insert(source)),
                // The case holds whatever the source of the read is.
                None => return Ok(()),
            }
        }
        match self.open.candidates(number).find(|source| !refuted.contains(source)) {
            None => Ok(()),
            Some(_) => fault(place, format!("a candidate of operation {} is left", read.0)),
        }
    }
}
