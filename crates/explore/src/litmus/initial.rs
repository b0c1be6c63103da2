//! The initial state of a litmus test: the values of locations and registers.

use history::format::InputError;

use super::Names;
use super::lexer::{Kind, Lexer, Token};
use crate::program::Value;

/// Reads the initial state.
pub(super) fn parse<'a>(
    lexer: &mut Lexer<'a>,
    names: &mut Names,
    registers: &mut Vec<(Token, usize, &'a str, Value)>,
) -> Result<(), InputError> {
    lexer.expect("{")?;
    while !lexer.take("}") {
        if lexer.take(";") {
            continue;
        }
        let first = lexer.peek();
        if first.kind == Kind::Number {
            let thread = lexer.number()?;
            lexer.expect(":")?;
            let register = lexer.name("the name of a register")?;
            lexer.expect("=")?;
            let value = lexer.number()?;
            registers.push((first, usize::try_from(thread).unwrap_or(usize::MAX), register, value));
        } else {
            parse_location(lexer, names)?;
        }
        if !lexer.take(";") && !lexer.is_next("}") {
            return Err(lexer.unexpected("`;` or `}`"));
        }
    }
    Ok(())
}

/// Reads a location of the initial state: `[x] = 1`, `int x = 1`, `int x[2] = { 1, 2 }`.
fn parse_location(lexer: &mut Lexer<'_>, names: &mut Names) -> Result<(), InputError> {
    let is_bracketed = lexer.take("[");
    let mut token = lexer.peek();
    let mut name = lexer.name("a location, a type, a register such as `0:r1`, or `}`")?;
    while !is_bracketed && (lexer.peek().kind == Kind::Name || lexer.is_next("*")) {
        // What came before was a word of the type.
        if lexer.take("*") {
            return Err(lexer.at(token, "a location cannot be a pointer", Some("a number")));
        }
        token = lexer.peek();
        name = lexer.name("a location")?;
    }
    if is_bracketed {
        lexer.expect("]")?;
    }
    let full = |lexer: &Lexer<'_>| lexer.at(token, "there are too many locations", Some("at most 4096"));
    if names.locations.contains_key(name) {
        return Err(lexer.at(token, "this location stands here twice", None));
    }
    if !is_bracketed && lexer.take("[") {
        let length = lexer.number()?;
        lexer.expect("]")?;
        let length = u32::try_from(length).ok().filter(|&length| length > 0).ok_or_else(|| full(lexer))?;
        let (base, _) = names.add(name, Some(length)).ok_or_else(|| full(lexer))?;
        if lexer.take("=") {
            lexer.expect("{")?;
            for at in 0.. {
                if lexer.take("}") {
                    break;
                }
                if at >= length {
                    return Err(lexer.unexpected("`}`: the array has no more elements"));
                }
                names.initial[(base + at) as usize] = lexer.number()?;
                if !lexer.take(",") && !lexer.is_next("}") {
                    return Err(lexer.unexpected("`,` or `}`"));
                }
            }
        }
        return Ok(());
    }
    let (base, _) = names.location(name).ok_or_else(|| full(lexer))?;
    if lexer.take("=") {
        let is_wrapped = lexer.take("ATOMIC_VAR_INIT") || lexer.is_next("(");
        if is_wrapped {
            lexer.expect("(")?;
        }
        names.initial[base as usize] = lexer.number()?;
        if is_wrapped {
            lexer.expect(")")?;
        }
    }
    // `int x = 1, y = 2`
    if lexer.take(",") { parse_location(lexer, names) } else { Ok(()) }
}
