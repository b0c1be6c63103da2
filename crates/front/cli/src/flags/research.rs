//! The flags that choose an algorithm, and their parsers.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Args, Command};
use memory::Strategy;
use model::Model;

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
        value_parser = algorithms(),
        help_heading = RESEARCH,
        hide_short_help = true
    )]
    pub(crate) algorithm: object::Algorithm,

    /// How to decide the memory models: `auto`, or one tactic alone. Every verdict of a tactic is exact. If the tactic
    /// reaches none, the verdict is `unknown`. A model that the tactic is not meant for is decided by `auto`. With
    /// --json, the field `strategy` names the tactic that decided
    #[arg(
        long,
        value_name = "STRATEGY",
        default_value = "auto",
        value_parser = strategies(),
        help_heading = RESEARCH,
        hide_short_help = true
    )]
    pub(crate) strategy: Strategy,
}

fn algorithms() -> impl TypedValueParser<Value = object::Algorithm> {
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
        ("fast+search", "The fast algorithm where it applies, else the search"),
        ("fast+lockstep", "The fast algorithm where it applies, else the search of queues"),
        ("fast+levels", "The fast algorithm where it applies, else the search of stacks"),
    ];
    PossibleValuesParser::new(values.map(|(name, help)| PossibleValue::new(name).help(help)))
        .try_map(|name| object::Algorithm::from_name(&name).ok_or("no such algorithm"))
}

/// The papers' strategies, which only the command of the research workspace has.
const OF_PAPERS: [&str; 18] = [
    "dbcop",
    "machine",
    "sat",
    "wsc+dbcop",
    "wsc+enum",
    "ccm+enum",
    "wccm+enum",
    "wsc+sat",
    "wtso+sat",
    "wpso+sat",
    "ccm+sat",
    "wccm+sat",
    "sc-sat",
    "tso-sat",
    "sc-ccm+enum",
    "sc-ccm+sat",
    "tso-ccm+enum",
    "tso-ccm+sat",
];

/// Takes the names of strategies. For a paper's strategy, the error says who has it.
#[derive(Clone)]
struct Strategies(PossibleValuesParser);

fn strategies() -> Strategies {
    let value = |strategy: Strategy| match strategy.tactic() {
        None => PossibleValue::new(strategy.name())
            .help("tries the tactics that `seriatim models --long` lists for the model, until one decides"),
        Some(tactic) => {
            let models: Vec<&str> = tactic.models().map(Model::name).collect();
            let models = if models.len() > 8 { "most models".to_owned() } else { models.join(", ") };
            PossibleValue::new(strategy.name()).help(format!("{models}: {}", tactic.help())).aliases(tactic.aliases())
        }
    };
    Strategies(PossibleValuesParser::new(Strategy::all().map(value)))
}

impl TypedValueParser for Strategies {
    type Value = Strategy;

    fn parse_ref(&self, command: &Command, flag: Option<&Arg>, value: &OsStr) -> Result<Strategy, clap::Error> {
        if let Some(name) = value.to_str().filter(|name| OF_PAPERS.contains(name)) {
            let message =
                format!("the research command has this strategy: `lab check --strategy {name}` (research/)\n");
            return Err(clap::Error::raw(ErrorKind::InvalidValue, message).with_cmd(command));
        }
        let name = self.0.parse_ref(command, flag, value)?;
        Ok(Strategy::from_name(&name).expect("every possible value is a strategy"))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}
