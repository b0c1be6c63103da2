//! Certificates as JSON, one object each.
//!
//! Operations are named by their place in the history, from zero; an initial write by its location: `{"init":"x"}`.
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
use crate::{Certificate, Derivation, Edge, Evidence, Model, Node, Rule, Step, Verdict};

/// The version of the format.
const VERSION: u32 = 1;

/// Why a text is not a certificate of this history.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JsonError {
    /// Not JSON, or not of the form.
    #[error("not a certificate: {0}")]
    Form(#[from] serde_json::Error),
    /// Written by another version.
    #[error("the certificate is of version {0}, and this program reads version {VERSION}")]
    Version(u32),
    /// A model nobody knows.
    #[error("the certificate is about the unknown model '{0}'")]
    Model(String),
    /// Not a verdict.
    #[error("'{0}' is not a verdict that has a certificate")]
    Verdict(String),
    /// A location or a process that the history does not have.
    #[error("the certificate names '{0}', which the history does not have")]
    Name(String),
    /// It does not even ask to decide again.
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

impl Certificate {
    /// The certificate as one line of JSON, without the line's end.
    pub fn to_json(&self, history: &History) -> String {
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
        let numbers = |order: &[OperationId]| order.iter().map(|id| id.0).collect();
        let evidence = match &self.evidence {
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
        };
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

    /// Which history of a file a certificate is about, so that it can be found before the rest is read.
    pub fn history_number(json: &str) -> Result<u32, JsonError> {
        #[derive(Deserialize)]
        struct Number {
            history: u32,
        }
        Ok(serde_json::from_str::<Number>(json)?.history)
    }

    /// Reads a certificate; names in it are those of `history`.
    pub fn from_json(json: &str, history: &History) -> Result<Self, JsonError> {
        let json: CertificateJson = serde_json::from_str(json)?;
        if json.certificate != VERSION {
            return Err(JsonError::Version(json.certificate));
        }
        let names = Names { history };
        let evidence = match json.evidence {
            EvidenceJson::Cycle { steps, cycle } => Evidence::Cycle(names.derivation(steps, cycle)?),
            EvidenceJson::Refutation { lemmas } => Evidence::Refutation(
                lemmas
                    .into_iter()
                    .map(|LemmaJson { steps, cycle }| names.derivation(steps, cycle))
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
                linearizations.into_iter().map(|order| order.read(history)).collect::<Result<_, _>>()?,
            ),
            EvidenceJson::Pairs { pairs } => {
                Evidence::Pairs(pairs.into_iter().map(|pair| pair.map(OperationId)).collect())
            }
            EvidenceJson::Core { core } => Evidence::Core(core.read()),
        };
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
    history.keys().get(location.index()).map_or_else(String::new, |&name| history.show(name))
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
