//! The condition of a litmus test: a proposition on the final state, and its quantifier.

use std::fmt;

use history::format::InputError;

use super::lexer::{Kind, Lexer};
use super::{Names, Variable};
use crate::program::Value;

/// Which final states must satisfy the proposition.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// Some state.
    Exists,
    /// No state.
    NotExists,
    /// All states.
    ForAll,
}

impl Quantifier {
    /// The word of the litmus format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exists => "exists",
            Self::NotExists => "~exists",
            Self::ForAll => "forall",
        }
    }

    /// What herd calls a test with this quantifier.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Exists => "Allowed",
            Self::NotExists => "Forbidden",
            Self::ForAll => "Required",
        }
    }

    /// Whether the condition holds if so many states satisfy the proposition, and so many do not.
    pub const fn holds(self, positive: u64, negative: u64) -> bool {
        match self {
            Self::Exists => positive > 0,
            Self::NotExists => positive == 0,
            Self::ForAll => negative == 0,
        }
    }
}

/// A proposition. Variables are numbers in the list of those that are observed.
#[derive(Clone, Debug)]
pub(super) enum Proposition {
    Constant(bool),
    Compare { variable: usize, is_equal: bool, value: Value },
    Not(Box<Self>),
    And(Vec<Self>),
    Or(Vec<Self>),
}

impl Proposition {
    pub(super) fn holds(&self, state: &[Value]) -> bool {
        match self {
            Self::Constant(value) => *value,
            Self::Compare { variable, is_equal, value } => (state[*variable] == *value) == *is_equal,
            Self::Not(one) => !one.holds(state),
            Self::And(all) => all.iter().all(|one| one.holds(state)),
            Self::Or(all) => all.iter().any(|one| one.holds(state)),
        }
    }
}

/// The proposition in herd's form.
pub(super) struct Shown<'a>(pub(super) &'a Proposition, pub(super) &'a [Variable]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(proposition, variables) = *self;
        let inner = |proposition| Shown(proposition, variables);
        match proposition {
            Proposition::Constant(value) => write!(f, "{value}"),
            Proposition::Compare { variable, is_equal, value } => {
                write!(f, "{}{}{value}", variables[*variable], if *is_equal { "=" } else { "!=" })
            }
            Proposition::Not(one) => write!(f, "not ({})", inner(one)),
            Proposition::And(all) | Proposition::Or(all) => {
                let is_and = matches!(proposition, Proposition::And(_));
                for (at, one) in all.iter().enumerate() {
                    if at > 0 {
                        f.write_str(if is_and { " /\\ " } else { " \\/ " })?;
                    }
                    if matches!(one, Proposition::And(_) | Proposition::Or(_))
                        && (is_and || !matches!(one, Proposition::And(_)))
                    {
                        write!(f, "({})", inner(one))?;
                    } else {
                        write!(f, "{}", inner(one))?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// How deep parentheses may nest, in conditions and in programs.
pub(super) const MAX_DEPTH: usize = 200;

/// Reads what follows the threads: `locations [...]`, if there is any, and the condition.
pub(super) fn parse(lexer: &mut Lexer<'_>, names: &mut Names) -> Result<(Quantifier, Proposition), InputError> {
    if lexer.take("locations") {
        lexer.expect("[")?;
        while !lexer.take("]") {
            variable(lexer, names)?;
            if !lexer.take(";") && !lexer.is_next("]") {
                return Err(lexer.unexpected("`;` or `]`"));
            }
        }
    }
    let quantifier = match () {
        () if lexer.peek().kind == Kind::End => return Ok((Quantifier::Exists, Proposition::Constant(true))),
        () if lexer.take("exists") => Quantifier::Exists,
        () if lexer.take("forall") => Quantifier::ForAll,
        () if lexer.take("~") || lexer.take("not") => {
            lexer.expect("exists")?;
            Quantifier::NotExists
        }
        () => return Err(lexer.unexpected("`exists`, `~exists`, `forall`, or the end of the file")),
    };
    let proposition = disjunction(lexer, names, 0)?;
    if lexer.peek().kind != Kind::End {
        return Err(lexer.unexpected("`/\\`, `\\/`, or the end of the file"));
    }
    Ok((quantifier, proposition))
}

fn disjunction(lexer: &mut Lexer<'_>, names: &mut Names, depth: usize) -> Result<Proposition, InputError> {
    let first = conjunction(lexer, names, depth)?;
    if !lexer.is_next("\\/") {
        return Ok(first);
    }
    let mut all = vec![first];
    while lexer.take("\\/") {
        all.push(conjunction(lexer, names, depth)?);
    }
    Ok(Proposition::Or(all))
}

fn conjunction(lexer: &mut Lexer<'_>, names: &mut Names, depth: usize) -> Result<Proposition, InputError> {
    let first = atom(lexer, names, depth)?;
    if !lexer.is_next("/\\") {
        return Ok(first);
    }
    let mut all = vec![first];
    while lexer.take("/\\") {
        all.push(atom(lexer, names, depth)?);
    }
    Ok(Proposition::And(all))
}

fn atom(lexer: &mut Lexer<'_>, names: &mut Names, depth: usize) -> Result<Proposition, InputError> {
    if depth > MAX_DEPTH {
        return Err(lexer.at(lexer.peek(), "this is nested too deeply", None));
    }
    if lexer.take("~") || lexer.take("not") {
        return Ok(Proposition::Not(Box::new(atom(lexer, names, depth + 1)?)));
    }
    if lexer.take("(") {
        let inner = disjunction(lexer, names, depth + 1)?;
        lexer.expect(")")?;
        return Ok(inner);
    }
    if lexer.take("true") {
        return Ok(Proposition::Constant(true));
    }
    if lexer.take("false") {
        return Ok(Proposition::Constant(false));
    }
    let variable = variable(lexer, names)?;
    let is_equal = match () {
        () if lexer.take("=") || lexer.take("==") => true,
        () if lexer.take("!=") => false,
        () => return Err(lexer.unexpected("`=` or `!=`")),
    };
    let value = lexer.number()?;
    Ok(Proposition::Compare { variable, is_equal, value })
}

/// A register (`0:r1`) or a location (`x`, `[x]`, `x[1]`): its number in the list of what is observed.
fn variable(lexer: &mut Lexer<'_>, names: &mut Names) -> Result<usize, InputError> {
    if lexer.peek().kind == Kind::Number {
        let token = lexer.peek();
        let thread = lexer.number()?;
        let Some(thread) = usize::try_from(thread).ok().filter(|&thread| thread < names.threads.len()) else {
            return Err(lexer.at(token, "there is no such thread", Some("the number of a thread")));
        };
        lexer.expect(":")?;
        let name = lexer.name("the name of a register")?;
        return Ok(names.observe(Variable::register(thread as u32, name, names.register(thread, name))));
    }
    let is_bracketed = lexer.take("[");
    let token = lexer.peek();
    let name = lexer.name("a location, `[`, or a register such as `0:r1`")?;
    let index = if lexer.take("[") {
        let index = lexer.number()?;
        lexer.expect("]")?;
        Some(index)
    } else {
        None
    };
    if is_bracketed {
        lexer.expect("]")?;
    }
    match names.element(name, index) {
        Some((name, location)) => Ok(names.observe(Variable::location(name, location))),
        None => Err(lexer.at(token, "there is no such location", Some("a location of the program"))),
    }
}
