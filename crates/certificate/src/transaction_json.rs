//! The evidence about transactions as JSON. A transaction is named by its place in the history, counted from zero; the
//! initial transaction is `null`. Operations are named by their places, too, and keys by their names.

use std::collections::HashMap;

use history::{History, KeyId, OperationId, TransactionId};
use serde::{Deserialize, Serialize};

use crate::JsonError;
use crate::transaction::{Anomaly, Bad, Derivation, Edge, Evidence, Node, Rule, Step};

type NodeJson = Option<u32>;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum TransactionsJson {
    CommitOrder(Vec<u32>),
    EventOrder(Vec<u32>),
    BadRead {
        anomaly: String,
        read: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        other: Option<u32>,
    },
    Unrepeatable([u32; 2]),
    LostUpdate([u32; 2]),
    Cycle(DerivationJson),
    Lemmas(Vec<DerivationJson>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DerivationJson {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    steps: Vec<StepJson>,
    cycle: Vec<EdgeJson>,
}

#[derive(Serialize, Deserialize)]
enum EdgeJson {
    #[serde(rename = "so")]
    Session(NodeJson, NodeJson),
    #[serde(rename = "rt")]
    RealTime(NodeJson, NodeJson),
    #[serde(rename = "wr")]
    Reads(NodeJson, NodeJson, u32),
    #[serde(rename = "ww")]
    Version(NodeJson, NodeJson, String),
    #[serde(rename = "step")]
    Step(u32),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RuleJson {
    Overwritten { read: u32 },
    ReadBefore { earlier: u32, read: u32 },
    AntiDependency { read: u32 },
    Conflict { key: String },
    Assumed,
    Lemma(u32),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepJson {
    rule: RuleJson,
    from: NodeJson,
    to: NodeJson,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    path: Vec<EdgeJson>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<Vec<EdgeJson>>,
}

impl TransactionsJson {
    pub(crate) fn new(evidence: &Evidence, history: &History) -> Self {
        let ids = |ids: &[TransactionId]| ids.iter().map(|id| id.0).collect();
        match evidence {
            Evidence::CommitOrder(order) => Self::CommitOrder(ids(order)),
            Evidence::EventOrder(order) => Self::EventOrder(ids(order)),
            Evidence::Bad(bad) => Self::BadRead {
                anomaly: bad.anomaly.name().to_owned(),
                read: bad.read.0,
                other: bad.other.map(|other| other.0),
            },
            Evidence::Unrepeatable(reads) => Self::Unrepeatable(reads.map(|read| read.0)),
            Evidence::LostUpdate(reads) => Self::LostUpdate(reads.map(|read| read.0)),
            Evidence::Cycle(derivation) => Self::Cycle(DerivationJson::new(derivation, history)),
            Evidence::Refutation(lemmas) => {
                Self::Lemmas(lemmas.iter().map(|lemma| DerivationJson::new(lemma, history)).collect())
            }
        }
    }

    pub(crate) fn read(self, history: &History) -> Result<Evidence, JsonError> {
        let ids = |ids: Vec<u32>| ids.into_iter().map(TransactionId).collect();
        let reader = Reader::new(history);
        Ok(match self {
            Self::CommitOrder(order) => Evidence::CommitOrder(ids(order)),
            Self::EventOrder(order) => Evidence::EventOrder(ids(order)),
            Self::BadRead { anomaly, read, other } => Evidence::Bad(Bad {
                anomaly: Anomaly::from_name(&anomaly).ok_or(JsonError::Name(anomaly))?,
                read: OperationId(read),
                other: other.map(OperationId),
            }),
            Self::Unrepeatable(reads) => Evidence::Unrepeatable(reads.map(OperationId)),
            Self::LostUpdate(reads) => Evidence::LostUpdate(reads.map(OperationId)),
            Self::Cycle(derivation) => Evidence::Cycle(reader.derivation(derivation)?),
            Self::Lemmas(lemmas) => {
                let lemmas = lemmas.into_iter().map(|lemma| reader.derivation(lemma));
                Evidence::Refutation(lemmas.collect::<Result<_, _>>()?)
            }
        })
    }
}

impl DerivationJson {
    fn new(derivation: &Derivation, history: &History) -> Self {
        let node = |node: Node| node.transaction().map(|id| id.0);
        let edge = |edge: &Edge| match *edge {
            Edge::Session(from, to) => EdgeJson::Session(node(from), node(to)),
            Edge::RealTime(from, to) => EdgeJson::RealTime(node(from), node(to)),
            Edge::Reads(from, to, read) => EdgeJson::Reads(node(from), node(to), read.0),
            Edge::Version(from, to, key) => EdgeJson::Version(node(from), node(to), history.key_name(key)),
            Edge::Derived(step) => EdgeJson::Step(step),
        };
        let path = |edges: &Vec<Edge>| edges.iter().map(edge).collect();
        let step = |step: &Step| StepJson {
            rule: match step.rule {
                Rule::Overwritten { read } => RuleJson::Overwritten { read: read.0 },
                Rule::ReadBefore { earlier, read } => RuleJson::ReadBefore { earlier: earlier.0, read: read.0 },
                Rule::AntiDependency { read } => RuleJson::AntiDependency { read: read.0 },
                Rule::Conflict { key } => RuleJson::Conflict { key: history.key_name(key) },
                Rule::Assumed => RuleJson::Assumed,
                Rule::Lemma(lemma) => RuleJson::Lemma(lemma),
            },
            from: node(step.from),
            to: node(step.to),
            path: path(&step.path),
            others: step.others.iter().map(path).collect(),
        };
        Self { steps: derivation.steps.iter().map(step).collect(), cycle: path(&derivation.cycle) }
    }
}

/// The keys of a history by their names.
struct Reader {
    keys: HashMap<String, KeyId>,
}

impl Reader {
    fn new(history: &History) -> Self {
        let keys = (0..history.keys().len() as u32).map(KeyId);
        Self { keys: keys.map(|key| (history.key_name(key), key)).collect() }
    }

    fn key(&self, name: String) -> Result<KeyId, JsonError> {
        self.keys.get(&name).copied().ok_or(JsonError::Name(name))
    }

    fn path(&self, path: Vec<EdgeJson>) -> Result<Vec<Edge>, JsonError> {
        path.into_iter()
            .map(|edge| {
                Ok(match edge {
                    EdgeJson::Session(from, to) => Edge::Session(node(from), node(to)),
                    EdgeJson::RealTime(from, to) => Edge::RealTime(node(from), node(to)),
                    EdgeJson::Reads(from, to, read) => Edge::Reads(node(from), node(to), OperationId(read)),
                    EdgeJson::Version(from, to, key) => Edge::Version(node(from), node(to), self.key(key)?),
                    EdgeJson::Step(step) => Edge::Derived(step),
                })
            })
            .collect()
    }

    fn derivation(&self, json: DerivationJson) -> Result<Derivation, JsonError> {
        let step = |json: StepJson| {
            Ok(Step {
                rule: match json.rule {
                    RuleJson::Overwritten { read } => Rule::Overwritten { read: OperationId(read) },
                    RuleJson::ReadBefore { earlier, read } => {
                        Rule::ReadBefore { earlier: OperationId(earlier), read: OperationId(read) }
                    }
                    RuleJson::AntiDependency { read } => Rule::AntiDependency { read: OperationId(read) },
                    RuleJson::Conflict { key } => Rule::Conflict { key: self.key(key)? },
                    RuleJson::Assumed => Rule::Assumed,
                    RuleJson::Lemma(lemma) => Rule::Lemma(lemma),
                },
                from: node(json.from),
                to: node(json.to),
                path: self.path(json.path)?,
                others: json.others.into_iter().map(|path| self.path(path)).collect::<Result<_, _>>()?,
            })
        };
        let steps: Result<_, JsonError> = json.steps.into_iter().map(step).collect();
        Ok(Derivation { steps: steps?, cycle: self.path(json.cycle)? })
    }
}

fn node(node: NodeJson) -> Node {
    node.map_or(Node::Init, |id| Node::Transaction(TransactionId(id)))
}
