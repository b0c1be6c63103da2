//! The condition of a litmus test: a proposition on the final state, and its quantifier.

use std::fmt;

use format::InputError;

use super::lexer::{Kind, Lexer};
use super::{Architecture, Names, Variable};
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
                let (variable, sign) = (&variables[*variable], if *is_equal { "=" } else { "!=" });
                write!(f, "{variable}{sign}{}", variable.number(*value))
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
pub(super) fn parse(
    lexer: &mut Lexer<'_>,
    names: &mut Names,
    architecture: Architecture,
) -> Result<(Quantifier, Proposition), InputError> {
    let mut reader = Reader { lexer, names, architecture };
    reader.condition()
}

struct Reader<'r, 'a> {
    lexer: &'r mut Lexer<'a>,
    names: &'r mut Names,
    architecture: Architecture,
}

impl Reader<'_, '_> {
    fn condition(&mut self) -> Result<(Quantifier, Proposition), InputError> {
        if self.lexer.take("locations") {
            self.lexer.expect("[")?;
            while !self.lexer.take("]") {
                self.variable()?;
                if !self.lexer.take(";") && !self.lexer.is_next("]") {
                    return Err(self.lexer.unexpected("`;` or `]`"));
                }
            }
        }
        let quantifier = match () {
            () if self.lexer.peek().kind == Kind::End => return Ok((Quantifier::Exists, Proposition::Constant(true))),
            () if self.lexer.take("exists") || self.lexer.take("final") => Quantifier::Exists,
            // A proposition alone.
            () if self.lexer.is_next("(") => Quantifier::Exists,
            () if self.lexer.take("forall") => Quantifier::ForAll,
            () if self.lexer.take("~") || self.lexer.take("not") => {
                self.lexer.expect("exists")?;
                Quantifier::NotExists
            }
            () => return Err(self.lexer.unexpected("`exists`, `~exists`, `forall`, or the end of the file")),
        };
        let proposition = self.implication(0)?;
        self.lexer.take(";");
        if self.lexer.peek().kind != Kind::End {
            return Err(self.lexer.unexpected("`/\\`, `\\/`, or the end of the file"));
        }
        Ok((quantifier, proposition))
    }

    /// `a => b`, which binds the weakest and to the right.
    fn implication(&mut self, depth: usize) -> Result<Proposition, InputError> {
        if depth > MAX_DEPTH {
            return Err(self.lexer.at(self.lexer.peek(), "this is nested too deeply", None));
        }
        let first = self.disjunction(depth)?;
        if !self.lexer.take("=>") {
            return Ok(first);
        }
        let second = self.implication(depth + 1)?;
        Ok(Proposition::Or(vec![Proposition::Not(Box::new(first)), second]))
    }

    fn disjunction(&mut self, depth: usize) -> Result<Proposition, InputError> {
        let first = self.conjunction(depth)?;
        if !self.lexer.is_next("\\/") {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.lexer.take("\\/") {
            all.push(self.conjunction(depth)?);
        }
        Ok(Proposition::Or(all))
    }

    fn conjunction(&mut self, depth: usize) -> Result<Proposition, InputError> {
        let first = self.atom(depth)?;
        if !self.lexer.is_next("/\\") {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.lexer.take("/\\") {
            all.push(self.atom(depth)?);
        }
        Ok(Proposition::And(all))
    }

    fn atom(&mut self, depth: usize) -> Result<Proposition, InputError> {
        if depth > MAX_DEPTH {
            return Err(self.lexer.at(self.lexer.peek(), "this is nested too deeply", None));
        }
        if self.lexer.take("~") || self.lexer.take("not") {
            return Ok(Proposition::Not(Box::new(self.atom(depth + 1)?)));
        }
        if self.lexer.take("(") {
            let inner = self.implication(depth + 1)?;
            self.lexer.expect(")")?;
            return Ok(inner);
        }
        if self.lexer.take("true") {
            return Ok(Proposition::Constant(true));
        }
        if self.lexer.take("false") {
            return Ok(Proposition::Constant(false));
        }
        let variable = self.variable()?;
        let is_equal = match () {
            () if self.lexer.take("=") || self.lexer.take("==") => true,
            () if self.lexer.take("!=") => false,
            () => return Err(self.lexer.unexpected("`=` or `!=`")),
        };
        let value = self.lexer.number()?;
        Ok(Proposition::Compare { variable, is_equal, value })
    }

    /// A register (`0:r1`) or a location (`x`, `[x]`, `x[1]`): its number in the list of what is observed.
    fn variable(&mut self) -> Result<usize, InputError> {
        let token = self.lexer.peek();
        let named = self.lexer.take_thread();
        if named.is_some() || token.kind == Kind::Number {
            let thread = named.map_or_else(|| self.lexer.number().map(|n| usize::try_from(n).ok()), |n| Ok(Some(n)))?;
            let Some(thread) = thread.filter(|&thread| thread < self.names.threads.len()) else {
                return Err(self.lexer.at(token, "there is no such thread", Some("the number of a thread")));
            };
            self.lexer.expect(":")?;
            let name = self.lexer.name("the name of a register")?;
            let name = self.architecture.register(name);
            let number = self.names.register(thread, &name);
            let integer = self.names.integer_of_register(thread, number.unwrap_or(u32::MAX));
            return Ok(self.names.observe(Variable::register(thread as u32, &name, number, integer)));
        }
        let is_bracketed = self.lexer.take("[");
        let token = self.lexer.peek();
        let name = self.lexer.name("a location, `[`, or a register such as `0:r1`")?;
        let index = if self.lexer.take("[") {
            let index = self.lexer.number()?;
            self.lexer.expect("]")?;
            Some(index)
        } else {
            None
        };
        if is_bracketed {
            self.lexer.expect("]")?;
        }
        match self.names.element(name, index) {
            Some(variable) => Ok(self.names.observe(variable)),
            None => Err(self.lexer.at(token, "there is no such location", Some("a location of the program"))),
        }
    }
}
