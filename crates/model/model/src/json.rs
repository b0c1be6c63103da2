//! Certificates as JSON, one object each.
//!
//! An operation is named by its place in the history, counted from zero. An initial write is named by its location:
//! `{"init":"x"}`.
//!
//! ```json
//! {"certificate":1,"history":0,"model":"cc","verdict":"violation","digest":"...",
//!  "evidence":{"steps":[{"rule":"cf","from":2,"to":0,"read":5,"path":[{"po":[2,3]},{"rf":[3,4]},{"po":[4,5]}]}],
//!              "cycle":[{"po":[0,2]},{"step":0}]}}
//! ```

use history::execution::LocationId;
use history::{History, OperationId, ProcessId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::object_json::{CoreJson, LinearizationJson};
use crate::transaction_json::TransactionsJson;
use crate::{Because, Case, Certificate, Choice, Derivation, Edge, Evidence, Model, Node, Rule, Step, Verdict};

/// The version of the format.
const VERSION: u32 = 1;

/// Why a text cannot be read as a certificate of this history.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JsonError {
    /// The text is not JSON, or does not have the fields of a certificate.
    #[error("not a certificate: {0}")]
    Form(#[from] serde_json::Error),
    /// The certificate has another version of the format.
    #[error("the certificate is of version {0}, and this program reads version {VERSION}")]
    Version(u32),
    /// There is no model of that name.
    #[error("the certificate is about the unknown model '{0}'")]
    Model(String),
    /// The verdict is neither `consistent` nor `violation`.
    #[error("'{0}' is not a verdict that has a certificate")]
    Verdict(String),
    /// The history has no location or process of that name.
    #[error("the certificate names '{0}', which the history does not have")]
    Name(String),
    /// The certificate has no evidence of any kind.
    #[error("the certificate has no evidence")]
    NoEvidence,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CertificateJson {
    certificate: u32,
    history: u32,
    model: String,
    verdict: String,
    digest: String,
    evidence: EvidenceJson,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum EvidenceJson {
    Transactions { transactions: TransactionsJson },
    Cycle { steps: Vec<StepJson>, cycle: Vec<EdgeJson> },
    Refutation { lemmas: Vec<LemmaJson> },
    Constraints { constraints: Vec<u32> },
    Interleaving { interleaving: Vec<u32> },
    MemoryOrder { memory_order: Vec<u32> },
    ThinAir { thin_air: u32 },
    WriteOrder { write_order: Vec<u32> },
    ViewOrders { view_orders: Vec<Vec<u32>> },
    ModificationOrders { modification_orders: Vec<Vec<u32>> },
    DecideAgain { decide_again: bool },
    Linearizations { linearizations: Vec<LinearizationJson> },
    Pairs { pairs: Vec<[u32; 2]> },
    Core { core: CoreJson },
    Sources { sources: Vec<ChoiceJson>, witness: Box<EvidenceJson> },
    Cases { cases: Vec<CaseJson> },
}

/// A read, and the source that is chosen for it.
#[derive(Serialize, Deserialize)]
struct ChoiceJson(u32, NodeJson);

#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum CaseJson {
    Violation { choices: Vec<ChoiceJson>, violation: EvidenceJson },
    NoneLeft { choices: Vec<ChoiceJson>, none_left: u32, cases: Vec<u32> },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LemmaJson {
    steps: Vec<StepJson>,
    cycle: Vec<EdgeJson>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepJson {
    rule: RuleJson,
    from: NodeJson,
    to: NodeJson,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    read: Option<NodeJson>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    view: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    happens: Option<[NodeJson; 2]>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    lemma: Option<u32>,
    path: Vec<EdgeJson>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RuleJson {
    Cf,
    Ww,
    Rw,
    Coherence,
    Atomicity,
    Assumed,
    Lemma,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum NodeJson {
    Operation(u32),
    Init { init: String },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EdgeJson {
    Po(NodeJson, NodeJson),
    Rf(NodeJson, NodeJson),
    Sw(NodeJson, NodeJson, NodeJson, NodeJson),
    Step(u32),
}

impl EvidenceJson {
    fn new(evidence: &Evidence, history: &History) -> Self {
        let node = |node: Node| match node {
            Node::Operation(id) => NodeJson::Operation(id.0),
            Node::Init(location) => NodeJson::Init { init: location_name(history, location) },
        };
        let edge = |&edge: &Edge| match edge {
            Edge::Po(from, to) => EdgeJson::Po(node(from), node(to)),
            Edge::Rf(from, to) => EdgeJson::Rf(node(from), node(to)),
            Edge::Sw { release, write, read, acquire } => {
                EdgeJson::Sw(node(release), node(write), node(read), node(acquire))
            }
            Edge::Derived(step) => EdgeJson::Step(step),
        };
        let step = |step: &Step| {
            let mut happens = None;
            let (rule, read, view) = match step.rule {
                Rule::Conflict { read, view } => (RuleJson::Cf, Some(node(read)), view),
                Rule::StoreOrder => (RuleJson::Ww, None, None),
                Rule::ReadWrite => (RuleJson::Rw, None, None),
                Rule::Coherence { before, after } => {
                    happens = Some([node(before), node(after)]);
                    (RuleJson::Coherence, None, None)
                }
                Rule::Atomicity => (RuleJson::Atomicity, None, None),
                Rule::Assumed => (RuleJson::Assumed, None, None),
                Rule::Lemma(_) => (RuleJson::Lemma, None, None),
            };
            let lemma = if let Rule::Lemma(number) = step.rule { Some(number) } else { None };
            let view = view.map(|process| history.process_name(process));
            let path = step.path.iter().map(edge).collect();
            StepJson { rule, from: node(step.from), to: node(step.to), read, view, happens, lemma, path }
        };
        let choices =
            |choices: &[Choice]| choices.iter().map(|choice| ChoiceJson(choice.read.0, node(choice.source))).collect();
        let numbers = |order: &[OperationId]| order.iter().map(|id| id.0).collect();
        match evidence {
            Evidence::ThinAir(read) => EvidenceJson::ThinAir { thin_air: read.0 },
            Evidence::Cycle(derivation) => EvidenceJson::Cycle {
                steps: derivation.steps.iter().map(step).collect(),
                cycle: derivation.cycle.iter().map(edge).collect(),
            },
            Evidence::Refutation(lemmas) => EvidenceJson::Refutation {
                lemmas: lemmas
                    .iter()
                    .map(|lemma| LemmaJson {
                        steps: lemma.steps.iter().map(step).collect(),
                        cycle: lemma.cycle.iter().map(edge).collect(),
                    })
                    .collect(),
            },
            Evidence::Constraints(cycle) => EvidenceJson::Constraints { constraints: numbers(cycle) },
            Evidence::Interleaving(order) => EvidenceJson::Interleaving { interleaving: numbers(order) },
            Evidence::MemoryOrder(order) => EvidenceJson::MemoryOrder { memory_order: numbers(order) },
            Evidence::WriteOrder(order) => EvidenceJson::WriteOrder { write_order: numbers(order) },
            Evidence::ViewOrders(orders) => {
                EvidenceJson::ViewOrders { view_orders: orders.iter().map(|order| numbers(order)).collect() }
            }
            Evidence::ModificationOrders(orders) => EvidenceJson::ModificationOrders {
                modification_orders: orders.iter().map(|order| numbers(order)).collect(),
            },
            Evidence::DecideAgain => EvidenceJson::DecideAgain { decide_again: true },
            Evidence::Linearizations(all) => EvidenceJson::Linearizations {
                linearizations: all.iter().map(|order| LinearizationJson::new(order, history)).collect(),
            },
            Evidence::Pairs(pairs) => EvidenceJson::Pairs { pairs: pairs.iter().map(|&[a, b]| [a.0, b.0]).collect() },
            Evidence::Core(core) => EvidenceJson::Core { core: CoreJson::new(core) },
            Evidence::Sources(sources, witness) => {
                EvidenceJson::Sources { sources: choices(sources), witness: Box::new(Self::new(witness, history)) }
            }
            Evidence::Transactions(evidence) => {
                EvidenceJson::Transactions { transactions: TransactionsJson::new(evidence, history) }
            }
            Evidence::Cases(cases) => EvidenceJson::Cases {
                cases: cases
                    .iter()
                    .map(|case| match &case.because {
                        Because::Violation(evidence) => CaseJson::Violation {
                            choices: choices(&case.choices),
                            violation: Self::new(evidence, history),
                        },
                        Because::NoneLeft { read, cases } => CaseJson::NoneLeft {
                            choices: choices(&case.choices),
                            none_left: read.0,
                            cases: cases.clone(),
                        },
                    })
                    .collect(),
            },
        }
    }
}

impl Certificate {
    /// The certificate as one line of JSON, without a newline.
    pub fn to_json(&self, history: &History) -> String {
        let evidence = EvidenceJson::new(&self.evidence, history);
        let json = CertificateJson {
            certificate: VERSION,
            history: self.history,
            model: self.model.name().to_owned(),
            verdict: self.verdict.name().to_owned(),
            digest: self.digest.clone(),
            evidence,
        };
        serde_json::to_string(&json).expect("these types have a JSON form")
    }

    /// The number of the history that a certificate is about. It can be read without the history.
    pub fn history_number(json: &str) -> Result<u32, JsonError> {
        #[derive(Deserialize)]
        struct Number {
            history: u32,
        }
        Ok(serde_json::from_str::<Number>(json)?.history)
    }

    /// Reads a certificate about `history`, whose names of locations and processes it uses.
    pub fn from_json(json: &str, history: &History) -> Result<Self, JsonError> {
        let json: CertificateJson = serde_json::from_str(json)?;
        if json.certificate != VERSION {
            return Err(JsonError::Version(json.certificate));
        }
        let names = Names { history };
        let evidence = names.evidence(json.evidence)?;
        Ok(Self {
            history: json.history,
            model: Model::from_name(&json.model).ok_or(JsonError::Model(json.model))?,
            verdict: [Verdict::Consistent, Verdict::Violation]
                .into_iter()
                .find(|verdict| verdict.name() == json.verdict)
                .ok_or(JsonError::Verdict(json.verdict))?,
            digest: json.digest,
            evidence,
        })
    }
}

fn location_name(history: &History, location: LocationId) -> String {
    history.keys().get(location.index()).map_or_else(String::new, |&name| history.words().canonical(name))
}

struct Names<'a> {
    history: &'a History,
}

impl Names<'_> {
    fn node(&self, node: NodeJson) -> Result<Node, JsonError> {
        match node {
            NodeJson::Operation(id) => Ok(Node::Operation(OperationId(id))),
            NodeJson::Init { init } => {
                // A history of a single object has no key; its one location has the empty name.
                let count = self.history.keys().len().max(1) as u32;
                (0..count)
                    .map(LocationId)
                    .find(|&location| location_name(self.history, location) == init)
                    .map(Node::Init)
                    .ok_or(JsonError::Name(init))
            }
        }
    }

    fn evidence(&self, evidence: EvidenceJson) -> Result<Evidence, JsonError> {
        Ok(match evidence {
            EvidenceJson::Cycle { steps, cycle } => Evidence::Cycle(self.derivation(steps, cycle)?),
            EvidenceJson::Refutation { lemmas } => Evidence::Refutation(
                lemmas
                    .into_iter()
                    .map(|LemmaJson { steps, cycle }| self.derivation(steps, cycle))
                    .collect::<Result<_, _>>()?,
            ),
            EvidenceJson::Constraints { constraints } => {
                Evidence::Constraints(constraints.into_iter().map(OperationId).collect())
            }
            EvidenceJson::Interleaving { interleaving } => {
                Evidence::Interleaving(interleaving.into_iter().map(OperationId).collect())
            }
            EvidenceJson::MemoryOrder { memory_order } => {
                Evidence::MemoryOrder(memory_order.into_iter().map(OperationId).collect())
            }
            EvidenceJson::ThinAir { thin_air } => Evidence::ThinAir(OperationId(thin_air)),
            EvidenceJson::WriteOrder { write_order } => {
                Evidence::WriteOrder(write_order.into_iter().map(OperationId).collect())
            }
            EvidenceJson::ViewOrders { view_orders } => Evidence::ViewOrders(
                view_orders.into_iter().map(|order| order.into_iter().map(OperationId).collect()).collect(),
            ),
            EvidenceJson::ModificationOrders { modification_orders } => Evidence::ModificationOrders(
                modification_orders.into_iter().map(|order| order.into_iter().map(OperationId).collect()).collect(),
            ),
            EvidenceJson::DecideAgain { decide_again: true } => Evidence::DecideAgain,
            EvidenceJson::DecideAgain { decide_again: false } => return Err(JsonError::NoEvidence),
            EvidenceJson::Linearizations { linearizations } => Evidence::Linearizations(
                linearizations.into_iter().map(|order| order.read(self.history)).collect::<Result<_, _>>()?,
            ),
            EvidenceJson::Pairs { pairs } => {
                Evidence::Pairs(pairs.into_iter().map(|pair| pair.map(OperationId)).collect())
            }
            EvidenceJson::Core { core } => Evidence::Core(core.read()),
            EvidenceJson::Transactions { transactions } => Evidence::of_transactions(transactions.read(self.history)?),
            EvidenceJson::Sources { sources, witness } => {
                Evidence::Sources(self.choices(sources)?, Box::new(self.evidence(*witness)?))
            }
            EvidenceJson::Cases { cases } => {
                Evidence::Cases(cases.into_iter().map(|case| self.case(case)).collect::<Result<_, _>>()?)
            }
        })
    }

    fn case(&self, case: CaseJson) -> Result<Case, JsonError> {
        Ok(match case {
            CaseJson::Violation { choices, violation } => {
                Case { choices: self.choices(choices)?, because: Because::Violation(self.evidence(violation)?) }
            }
            CaseJson::NoneLeft { choices, none_left, cases } => Case {
                choices: self.choices(choices)?,
                because: Because::NoneLeft { read: OperationId(none_left), cases },
            },
        })
    }

    fn choices(&self, choices: Vec<ChoiceJson>) -> Result<Vec<Choice>, JsonError> {
        let choice = |ChoiceJson(read, source)| Ok(Choice { read: OperationId(read), source: self.node(source)? });
        choices.into_iter().map(choice).collect()
    }

    fn path(&self, path: Vec<EdgeJson>) -> Result<Vec<Edge>, JsonError> {
        path.into_iter()
            .map(|edge| {
                Ok(match edge {
                    EdgeJson::Po(from, to) => Edge::Po(self.node(from)?, self.node(to)?),
                    EdgeJson::Rf(from, to) => Edge::Rf(self.node(from)?, self.node(to)?),
                    EdgeJson::Sw(release, write, read, acquire) => Edge::Sw {
                        release: self.node(release)?,
                        write: self.node(write)?,
                        read: self.node(read)?,
                        acquire: self.node(acquire)?,
                    },
                    EdgeJson::Step(step) => Edge::Derived(step),
                })
            })
            .collect()
    }

    fn derivation(&self, steps: Vec<StepJson>, cycle: Vec<EdgeJson>) -> Result<Derivation, JsonError> {
        Ok(Derivation {
            steps: steps.into_iter().map(|step| self.step(step)).collect::<Result<_, _>>()?,
            cycle: self.path(cycle)?,
        })
    }

    fn step(&self, step: StepJson) -> Result<Step, JsonError> {
        let misfit = |what: &str| JsonError::Form(serde::de::Error::custom(what));
        let rule = match (step.rule, step.read, step.view, step.happens, step.lemma) {
            (RuleJson::Cf, Some(read), view, None, None) => {
                Rule::Conflict { read: self.node(read)?, view: self.view(view)? }
            }
            (RuleJson::Cf, ..) => return Err(misfit("a step by the rule cf names its read, and a view or none")),
            (RuleJson::Coherence, None, None, Some([before, after]), None) => {
                Rule::Coherence { before: self.node(before)?, after: self.node(after)? }
            }
            (RuleJson::Coherence, ..) => {
                return Err(misfit("a step by the rule coherence names what happens before what, and nothing else"));
            }
            (RuleJson::Lemma, None, None, None, Some(lemma)) => Rule::Lemma(lemma),
            (RuleJson::Lemma, ..) => {
                return Err(misfit("a step by the rule lemma names its lemma, and nothing else"));
            }
            (RuleJson::Ww, None, None, None, None) => Rule::StoreOrder,
            (RuleJson::Rw, None, None, None, None) => Rule::ReadWrite,
            (RuleJson::Atomicity, None, None, None, None) => Rule::Atomicity,
            (RuleJson::Assumed, None, None, None, None) => Rule::Assumed,
            (RuleJson::Ww | RuleJson::Rw | RuleJson::Atomicity | RuleJson::Assumed, ..) => {
                return Err(misfit("only a step by the rule cf, coherence or lemma names more than its ends"));
            }
        };
        Ok(Step { rule, from: self.node(step.from)?, to: self.node(step.to)?, path: self.path(step.path)? })
    }

    fn view(&self, view: Option<String>) -> Result<Option<ProcessId>, JsonError> {
        view.map(|name| {
            (0..self.history.processes().len() as u32)
                .map(ProcessId)
                .find(|&process| self.history.process_name(process) == name)
                .ok_or(JsonError::Name(name))
        })
        .transpose()
    }
}
