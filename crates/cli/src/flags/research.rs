//! The flags that choose an algorithm, and their parsers.

use std::ffi::OsStr;

use certificate::Model;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args};
use memory::Strategy;

/// The heading of the flags that are for research.
pub(super) const RESEARCH: &str = "To compare algorithms";

/// Which algorithms decide.
#[derive(Args)]
pub(crate) struct Research {
    /// How to decide whether a history is linearizable
    #[arg(
        long,
        value_name = "ALGORITHM",
        default_value = "auto",
        value_parser = AlgorithmParser,
        help_heading = RESEARCH
    )]
    pub(crate) algorithm: object::Algorithm,

    /// Forget values that were inserted and removed, and writes that were overwritten. For `--algorithm saturate`,
    /// and for `--algorithm symbolic`. A step of `saturate` then takes time and memory that depend only
    /// on the values inside the object and on the operations that overlap
    #[arg(long, help_heading = RESEARCH)]
    pub(crate) remove_matches: bool,

    /// How to decide the memory models: `auto`, or one tactic alone. Every verdict of a tactic is exact. If the tactic
    /// reaches none, the verdict is `unknown`. A model that the tactic is not meant for is decided by `auto`. With
    /// --json, the field `strategy` names the tactic that decided
    #[arg(long, value_name = "STRATEGY", default_value = "auto", value_parser = strategies(), help_heading = RESEARCH)]
    pub(crate) strategy: Strategy,
}

/// Accepts the name of an algorithm, with any number k in `counting(k)`.
#[derive(Clone)]
struct AlgorithmParser;

impl TypedValueParser for AlgorithmParser {
    type Value = object::Algorithm;

    fn parse_ref(
        &self,
        command: &clap::Command,
        flag: Option<&Arg>,
        name: &OsStr,
    ) -> Result<object::Algorithm, clap::Error> {
        if let Some(algorithm) = name.to_str().and_then(baseline::algorithm) {
            return Ok(algorithm);
        }
        let listed = PossibleValuesParser::new(self.possible_values().into_iter().flatten());
        listed.try_map(|_| Err("k is a number, as in counting(4)")).parse_ref(command, flag, name)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = [
            ("auto", "The fast algorithm of the object where it applies, else the search"),
            (
                "fast",
                "The fast algorithm only: `unknown` where it does not apply (a value inserted twice, strings, \
                 compare-and-swap)",
            ),
            ("search", "The search only: exact for every object, exponential time at worst"),
            ("lockstep", "The search of queues"),
            ("levels", "The search of stacks"),
            (
                "fast+search",
                "The fast algorithm where it applies, else the search; so are `fast+lockstep` and `fast+levels`",
            ),
            ("enumerate", "Tries all linearizations, one after the other: exact, exponential time"),
            ("symbolic", "A SAT solver on the first-order theory of the object: exact, exponential time at worst"),
            ("saturate", "Unit propagation in the theory of the object: finds only violations, else `unknown`"),
            ("counting(k)", "Compares the order of the last k intervals: finds only violations, else `unknown`"),
        ];
        Some(Box::new(values.into_iter().map(|(name, help)| PossibleValue::new(name).help(help))))
    }
}

fn strategies() -> impl TypedValueParser<Value = Strategy> {
    let value = |strategy: Strategy| {
        let help = match strategy.tactic() {
            None => "tries the tactics that `seriatim models --long` lists for the model, until one decides".to_owned(),
            Some(tactic) => {
                let models: Vec<&str> = tactic.models().map(Model::name).collect();
                let models = if models.len() > 8 { "most models".to_owned() } else { models.join(", ") };
                format!("{models}: {}", tactic.help())
            }
        };
        PossibleValue::new(strategy.name()).help(help)
    };
    PossibleValuesParser::new(baseline::strategies().map(value))
        .try_map(|name| baseline::strategy(&name).ok_or("no such strategy"))
}
