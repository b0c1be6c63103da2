//! `c20`: `rc20` with sequentially consistent accesses and fences.
//!
//! ```text
//! eco = (rf u mo u fr)+     po!= : po but for two accesses of one location
//! hb|loc : hb between accesses of one location
//! scb = po u po!=;hb;po!= u hb|loc u mo u fr
//! psc = ([SC] u [Fsc];hb?) ; scb ; ([SC] u hb?;[Fsc])   u   [Fsc] ; (hb u hb;eco;hb) ; [Fsc]
//! ```
//!
//! SC are the sequentially consistent events, Fsc the fences among them. They also acquire and release. An execution is
//! allowed if for some modification order it is allowed by `rc20` and `psc` is acyclic. (This is `psc` of RC11 with the
//! release sequences of `rc20`.) Whether there is one is NP-hard: if all accesses are sequentially consistent it is
//! `sc`.
//!
//! `rc11` is the same with RC11's release sequences, which go on over later writes of the releasing thread. So it is
//! stronger: `rc20` must allow the execution, too. Where there are such writes, their coherence is decided here.
//!
//! The engine is the one of store orders ([`crate::store`]), for two kinds of nodes: `psc` orders events, and each
//! modification order its writes. They are saturated together, and what is open is searched.
//!
//! | module | what |
//! | --- | --- |
//! | [`steps`] | happens-before |
//! | [`nodes`] | the nodes; how modification orders make `psc` |
//! | [`fixed`] | the rest of `psc` |
//! | [`rules`] | the rules of saturation |
//! | [`interleaving`] | a modification order, or where it must be decided |
//! | [`theory`] | the theory for the kernel `search` |
//! | [`derive`] | certificates of violations |

mod derive;
mod fixed;
mod interleaving;
mod nodes;
mod rules;
mod steps;
mod theory;

use std::cell::OnceCell;

use history::execution::EventId;
use history::{Execution, OperationId};
use model::{Evidence, GaveUp, Model, Verdict};
use search::Ending;

use super::happens::publishers;
use super::{C11Checker, without_sequential_accesses};
use crate::{Attempt, MemoryOptions, Tactic, consistent, violation};
use derive::Certifier;
use nodes::{Node, Nodes};
use rules::{PscRules, Reason};
use steps::Steps;
pub(crate) use theory::Base;
use theory::{Psc, Reasons, saturate};

/// What is found out about one execution, from turn to turn.
pub(crate) struct PscSearch<'f> {
    /// Where the base is kept.
    base: &'f OnceCell<Base>,
    /// The execution without sequentially consistent orders, once `rc20` is known to allow it.
    weak: Option<Execution>,
    /// The search, with the number of edges that depend on no decision, and how many steps it has taken.
    search: Option<(Box<search::Search<Psc<'f>>>, u32)>,
    taken: u64,
}

impl<'f> PscSearch<'f> {
    /// Nothing is known yet.
    pub(crate) fn new(base: &'f OnceCell<Base>) -> Self {
        Self { base, weak: None, search: None, taken: 0 }
    }

    /// Decides `c20` or `rc11`. It is `rc20` of the same execution [without](Execution::without_sequential_orders)
    /// sequentially consistent orders, and then a question about these, and about longer release sequences. Only the
    /// tactic [`Tactic::Search`] answers the latter. It ends with [`GaveUp::Steps`] once it has taken so many steps,
    /// and may be continued.
    pub(crate) fn attempt(
        &mut self,
        tactic: Tactic,
        model: Model,
        execution: &Execution,
        options: &MemoryOptions,
        steps: u64,
    ) -> Attempt {
        if self.weak.is_none() && self.search.is_none() {
            let weak = execution.without_sequential_orders();
            let has_more = without_sequential_accesses(execution).is_err()
                || model == Model::Rc11 && publishers(&weak, true) != publishers(&weak, false);
            let inner = MemoryOptions { witness: options.witness && !has_more, ..options.clone() };
            let decision = C11Checker::new().check(Model::Rc20, tactic.name(), &weak, &inner, steps)?;
            let is_allowed = decision.as_ref().is_some_and(|decision| decision.verdict == Verdict::Consistent);
            if !is_allowed || !has_more {
                return Ok(decision);
            }
            self.weak = Some(weak);
        }
        if tactic != Tactic::Search {
            return Ok(None);
        }
        if let Some(weak) = self.weak.take()
            && let Some(evidence) = self.begin(model, execution, weak, options)?
        {
            return Ok(Some(violation(tactic.name(), evidence)));
        }
        let Some((search, _)) = &mut self.search else { return Ok(None) };
        let mut left = ::search::Steps::new(steps.saturating_sub(self.taken));
        let ending = search.run(&mut left);
        self.taken += left.taken();
        match ending? {
            Ending::Found(writes) => {
                let witness = || Evidence::ModificationOrders(orders(search.theory().nodes(), &writes));
                Ok(Some(consistent(tactic.name(), options.witness.then(witness))))
            }
            Ending::Paused => Err(GaveUp::Steps),
            Ending::Refuted => Ok(Some(violation(tactic.name(), self.refutation()))),
        }
    }

    /// Saturates. Returns the evidence of a contradiction.
    fn begin(
        &mut self,
        model: Model,
        original: &Execution,
        execution: Execution,
        options: &MemoryOptions,
    ) -> Result<Option<Evidence>, GaveUp> {
        let budget = &options.budget;
        let (count, threads) = (execution.len(), execution.thread_count());
        // Two clocks of happens-before, and two nodes with a clock each.
        let words = count.saturating_mul(4 * threads + 2 * order::lanes::lanes(threads) + 80);
        let chains = execution.location_count().saturating_mul(threads + order::lanes::lanes(threads));
        budget.check_room(words.saturating_add(chains).saturating_mul(4))?;
        if count >= (Reason::MOST / 2) as usize {
            return Err(GaveUp::Events { most: (Reason::MOST / 2) as usize });
        }
        let happens = if model == Model::Rc11 { model } else { Model::Rc20 };
        let nodes = Steps::new(original, execution, happens).and_then(Nodes::new);
        let Some(nodes) = nodes else { unreachable!("rc20 allows the execution") };
        let base = self.base.get_or_init(|| Base::new(nodes));
        let mut rules = PscRules::new(&base.nodes);
        match saturate(base, &mut rules, budget)? {
            Ok(order) => {
                let known = order.edge_count() as u32;
                let search = Psc::search(base, order, rules, options.knobs.psc, budget);
                self.search = Some((Box::new(search), known));
                Ok(None)
            }
            Err(explanation) => {
                let mut certifier = Certifier::new(&base.nodes, &rules, 0);
                certifier.add(&explanation, |clause| clause);
                Ok(Some(certifier.into_evidence()))
            }
        }
    }

    /// The evidence, when the search has refuted the execution.
    fn refutation(&self) -> Evidence {
        let Some(((search, known), base)) = self.search.as_ref().zip(self.base.get()) else {
            unreachable!("the search is over")
        };
        let (refutation, order) = (search.refutation(), search.theory().order());
        let reasons = Reasons { base, rules: order.rules() };
        let mut certifier = Certifier::new(&base.nodes, order.rules(), *known);
        let mut numbers: Vec<u32> = Vec::new();
        for lemma in &refutation.lemmas {
            let number = |clause: u32| {
                let place = refutation.places[clause as usize];
                place.map_or_else(|| unreachable!("a lemma that is used is kept"), |at| numbers[at as usize])
            };
            let number = certifier.add(&order.whole(&reasons, &lemma.proof), number);
            numbers.push(number);
        }
        certifier.into_evidence()
    }
}

/// The modification orders as operations.
fn orders(nodes: &Nodes, writes: &[Node]) -> Vec<Vec<OperationId>> {
    let execution = &nodes.steps.execution;
    let mut orders = vec![Vec::new(); execution.location_count()];
    for &write in writes {
        orders[nodes.location(write)].push(execution.operation(EventId(nodes.event_of[write as usize])));
    }
    orders
}
