//! The initial state of a litmus test: the values of locations and registers.

use format::InputError;

use super::Names;
use super::c::integer_of;
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
        // `uint64_t 1:rax`: the width of a register is that of the machine.
        while lexer.peek().kind == Kind::Name && lexer.peek_second().kind == Kind::Number && lexer.is_ahead(2, &[":"]) {
            lexer.next();
        }
        let first = lexer.peek();
        let named = lexer.take_thread().and_then(|thread| i64::try_from(thread).ok());
        if named.is_some() || first.kind == Kind::Number {
            let thread = named.map_or_else(|| lexer.number(), Ok)?;
            lexer.expect(":")?;
            let register = lexer.name("the name of a register")?;
            if lexer.is_next(";") || lexer.is_next("}") {
                continue;
            }
            lexer.expect("=")?;
            let value = lexer.number()?;
            registers.push((first, usize::try_from(thread).unwrap_or(usize::MAX), register, value));
        } else {
            parse_location(lexer, names, &mut Vec::new())?;
        }
        if !lexer.take(";") && !lexer.is_next("}") {
            return Err(lexer.unexpected("`;` or `}`"));
        }
    }
    Ok(())
}

/// Reads a location of the initial state: `[x] = 1`, `int x = 1`, `int x[2] = { 1, 2 }`.
fn parse_location<'a>(lexer: &mut Lexer<'a>, names: &mut Names, words: &mut Vec<&'a str>) -> Result<(), InputError> {
    let is_bracketed = lexer.take("[");
    let mut token = lexer.peek();
    let mut name = lexer.name("a location, a type, a register such as `0:r1`, or `}`")?;
    if name == "_Atomic" && lexer.take("(") {
        while lexer.peek().kind == Kind::Name {
            let word = lexer.next();
            words.push(lexer.text_of(word));
        }
        lexer.expect(")")?;
    }
    while !is_bracketed && (lexer.peek().kind == Kind::Name || lexer.is_next("*")) {
        // What came before was a word of the type.
        if lexer.take("*") {
            return Err(lexer.at(token, "a location cannot be a pointer", Some("a number")));
        }
        words.push(name);
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
        if let Some(integer) = integer_of(words) {
            names.declare(base, Some(length), integer);
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
    if let Some(integer) = integer_of(words) {
        names.declare(base, None, integer);
    }
    // `int x = 1, y = 2`
    if lexer.take(",") { parse_location(lexer, names, words) } else { Ok(()) }
}
