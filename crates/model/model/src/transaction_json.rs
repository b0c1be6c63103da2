//! The evidence about transactions as JSON. A transaction is named by its place in the history, counted from zero; the
//! initial transaction is `null`. Operations are named by their places, too, and keys by their names.

use std::collections::HashMap;

use history::{History, KeyId, OperationId, TransactionId};
use serde::{Deserialize, Serialize};

use crate::JsonError;
use crate::transaction::{
    Anomaly, Bad, TransactionDerivation, TransactionEdge, TransactionEvidence, TransactionNode, TransactionRule,
    TransactionStep,
};

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
    pub(crate) fn new(evidence: &TransactionEvidence, history: &History) -> Self {
        let ids = |ids: &[TransactionId]| ids.iter().map(|id| id.0).collect();
        match evidence {
            TransactionEvidence::CommitOrder(order) => Self::CommitOrder(ids(order)),
            TransactionEvidence::EventOrder(order) => Self::EventOrder(ids(order)),
            TransactionEvidence::Bad(bad) => Self::BadRead {
                anomaly: bad.anomaly.name().to_owned(),
                read: bad.read.0,
                other: bad.other.map(|other| other.0),
            },
            TransactionEvidence::Unrepeatable(reads) => Self::Unrepeatable(reads.map(|read| read.0)),
            TransactionEvidence::LostUpdate(reads) => Self::LostUpdate(reads.map(|read| read.0)),
            TransactionEvidence::Cycle(derivation) => Self::Cycle(DerivationJson::new(derivation, history)),
            TransactionEvidence::Refutation(lemmas) => {
                Self::Lemmas(lemmas.iter().map(|lemma| DerivationJson::new(lemma, history)).collect())
            }
        }
    }

    pub(crate) fn read(self, history: &History) -> Result<TransactionEvidence, JsonError> {
        let ids = |ids: Vec<u32>| ids.into_iter().map(TransactionId).collect();
        let reader = Reader::new(history);
        Ok(match self {
            Self::CommitOrder(order) => TransactionEvidence::CommitOrder(ids(order)),
            Self::EventOrder(order) => TransactionEvidence::EventOrder(ids(order)),
            Self::BadRead { anomaly, read, other } => TransactionEvidence::Bad(Bad {
                anomaly: Anomaly::from_name(&anomaly).ok_or(JsonError::Name(anomaly))?,
                read: OperationId(read),
                other: other.map(OperationId),
            }),
            Self::Unrepeatable(reads) => TransactionEvidence::Unrepeatable(reads.map(OperationId)),
            Self::LostUpdate(reads) => TransactionEvidence::LostUpdate(reads.map(OperationId)),
            Self::Cycle(derivation) => TransactionEvidence::Cycle(reader.derivation(derivation)?),
            Self::Lemmas(lemmas) => {
                let lemmas = lemmas.into_iter().map(|lemma| reader.derivation(lemma));
                TransactionEvidence::Refutation(lemmas.collect::<Result<_, _>>()?)
            }
        })
    }
}

impl DerivationJson {
    fn new(derivation: &TransactionDerivation, history: &History) -> Self {
        let node = |node: TransactionNode| node.transaction().map(|id| id.0);
        let name = |key| key_name(history, key);
        let edge = |edge: &TransactionEdge| match *edge {
            TransactionEdge::Session(from, to) => EdgeJson::Session(node(from), node(to)),
            TransactionEdge::RealTime(from, to) => EdgeJson::RealTime(node(from), node(to)),
            TransactionEdge::Reads(from, to, read) => EdgeJson::Reads(node(from), node(to), read.0),
            TransactionEdge::Version(from, to, key) => EdgeJson::Version(node(from), node(to), name(key)),
            TransactionEdge::Derived(step) => EdgeJson::Step(step),
        };
        let path = |edges: &Vec<TransactionEdge>| edges.iter().map(edge).collect();
        let step = |step: &TransactionStep| StepJson {
            rule: match step.rule {
                TransactionRule::Overwritten { read } => RuleJson::Overwritten { read: read.0 },
                TransactionRule::ReadBefore { earlier, read } => {
                    RuleJson::ReadBefore { earlier: earlier.0, read: read.0 }
                }
                TransactionRule::AntiDependency { read } => RuleJson::AntiDependency { read: read.0 },
                TransactionRule::Conflict { key } => RuleJson::Conflict { key: name(key) },
                TransactionRule::Assumed => RuleJson::Assumed,
                TransactionRule::Lemma(lemma) => RuleJson::Lemma(lemma),
            },
            from: node(step.from),
            to: node(step.to),
            path: path(&step.path),
            others: step.others.iter().map(path).collect(),
        };
        Self { steps: derivation.steps.iter().map(step).collect(), cycle: path(&derivation.cycle) }
    }
}

/// The name of a key, however its number is spelled.
fn key_name(history: &History, key: KeyId) -> String {
    history.keys().get(key.index()).map_or_else(String::new, |&name| history.words().canonical(name))
}

/// The keys of a history by their names.
struct Reader {
    keys: HashMap<String, KeyId>,
}

impl Reader {
    fn new(history: &History) -> Self {
        let keys = (0..history.keys().len() as u32).map(KeyId);
        Self { keys: keys.map(|key| (key_name(history, key), key)).collect() }
    }

    fn key(&self, name: String) -> Result<KeyId, JsonError> {
        self.keys.get(&name).copied().ok_or(JsonError::Name(name))
    }

    fn path(&self, path: Vec<EdgeJson>) -> Result<Vec<TransactionEdge>, JsonError> {
        path.into_iter()
            .map(|edge| {
                Ok(match edge {
                    EdgeJson::Session(from, to) => TransactionEdge::Session(node(from), node(to)),
                    EdgeJson::RealTime(from, to) => TransactionEdge::RealTime(node(from), node(to)),
                    EdgeJson::Reads(from, to, read) => TransactionEdge::Reads(node(from), node(to), OperationId(read)),
                    EdgeJson::Version(from, to, key) => TransactionEdge::Version(node(from), node(to), self.key(key)?),
                    EdgeJson::Step(step) => TransactionEdge::Derived(step),
                })
            })
            .collect()
    }

    fn derivation(&self, json: DerivationJson) -> Result<TransactionDerivation, JsonError> {
        let step = |json: StepJson| {
            Ok(TransactionStep {
                rule: match json.rule {
                    RuleJson::Overwritten { read } => TransactionRule::Overwritten { read: OperationId(read) },
                    RuleJson::ReadBefore { earlier, read } => {
                        TransactionRule::ReadBefore { earlier: OperationId(earlier), read: OperationId(read) }
                    }
                    RuleJson::AntiDependency { read } => TransactionRule::AntiDependency { read: OperationId(read) },
                    RuleJson::Conflict { key } => TransactionRule::Conflict { key: self.key(key)? },
                    RuleJson::Assumed => TransactionRule::Assumed,
                    RuleJson::Lemma(lemma) => TransactionRule::Lemma(lemma),
                },
                from: node(json.from),
                to: node(json.to),
                path: self.path(json.path)?,
                others: json.others.into_iter().map(|path| self.path(path)).collect::<Result<_, _>>()?,
            })
        };
        let steps: Result<_, JsonError> = json.steps.into_iter().map(step).collect();
        Ok(TransactionDerivation { steps: steps?, cycle: self.path(json.cycle)? })
    }
}

fn node(node: NodeJson) -> TransactionNode {
    node.map_or(TransactionNode::Init, |id| TransactionNode::Transaction(TransactionId(id)))
}
