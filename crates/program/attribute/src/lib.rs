//! The attribute `#[seriatim::test]`. `seriatim::programs::Trial` has the arguments and runs the test.
//!
//! The function becomes a test with the same name and the same other attributes. Its body is a function inside, which
//! the test hands to a `Trial`.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// What is done with the value of an argument.
#[derive(Copy, Clone)]
enum Value {
    /// It is a value.
    Plain,
    /// It may be left out.
    Optional,
}

/// The arguments: the fields of a `Trial`.
const ARGUMENTS: [(&str, Value); 13] = [
    ("model", Value::Plain),
    ("mode", Value::Plain),
    ("seeds", Value::Plain),
    ("depth", Value::Plain),
    ("history", Value::Plain),
    ("max_steps", Value::Plain),
    ("max_executions", Value::Optional),
    ("max_spins", Value::Plain),
    ("spurious_failures", Value::Plain),
    ("symmetry", Value::Plain),
    ("leaks", Value::Plain),
    ("seconds", Value::Optional),
    ("replay", Value::Optional),
];

/// A test that is run in every way that a memory model allows. It fails if one of them shows a panic, a data race, a
/// deadlock or another finding, and then prints the line to paste that repeats it.
///
/// ```ignore
/// #[seriatim::test]
/// fn counts() { /* … with the types of `seriatim::programs` */ }
///
/// #[seriatim::test(model = "tso", max_executions = 10_000)]
/// fn counts_on_x86() {}
///
/// #[seriatim::test(mode = "pct", seeds = 0..1000, depth = 3)]
/// fn counts_at_random() {}
/// ```
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(arguments, item).unwrap_or_else(|(span, message)| error(span, &message))
}

type Failed = (Span, String);

fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream, Failed> {
    let fields = fields(arguments)?;
    let tokens: Vec<TokenTree> = item.into_iter().collect();
    let is_fn = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn");
    let (Some(at), Some(TokenTree::Group(body))) = (tokens.iter().position(is_fn), tokens.last()) else {
        return Err((Span::call_site(), "a test is a function".to_owned()));
    };
    let name = match (&tokens.get(at + 1), &tokens.get(at + 2)) {
        (Some(TokenTree::Ident(name)), Some(TokenTree::Group(parameters)))
            if parameters.delimiter() == Delimiter::Parenthesis && parameters.stream().is_empty() =>
        {
            name.clone()
        }
        _ => return Err((tokens[at].span(), "a test has no parameters".to_owned())),
    };
    if let Some(word) =
        tokens[..at].iter().find(|token| matches!(token, TokenTree::Ident(word) if word.to_string() == "async"))
    {
        return Err((word.span(), "a test is no async function; `future::block_on` runs a future".to_owned()));
    }
    // The function, without its attributes and its visibility, stands inside of the test.
    let mut inside: Vec<TokenTree> = tokens[at..].to_vec();
    inside.extend(path(&["seriatim", "programs", "Trial"]));
    let mut given = fields;
    given.extend([punct('.', Spacing::Joint), punct('.', Spacing::Alone)]);
    given.extend(path(&["seriatim", "programs", "Trial", "default"]));
    given.push(group(Delimiter::Parenthesis, Vec::new()));
    inside.push(group(Delimiter::Brace, given));
    inside.extend([punct('.', Spacing::Alone), word("run"), group(Delimiter::Parenthesis, vec![name.into()])]);
    let mut outside = vec![punct('#', Spacing::Alone)];
    outside.push(group(Delimiter::Bracket, path(&["core", "prelude", "v1", "test"])));
    outside.extend(tokens[..at + 3].iter().cloned());
    let mut group = Group::new(Delimiter::Brace, inside.into_iter().collect());
    group.set_span(body.span());
    outside.push(group.into());
    Ok(outside.into_iter().collect())
}

/// The fields of a `Trial` that the arguments say.
fn fields(arguments: TokenStream) -> Result<Vec<TokenTree>, Failed> {
    let mut fields = Vec::new();
    let tokens: Vec<TokenTree> = arguments.into_iter().collect();
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',');
    for argument in tokens.split(is_comma).filter(|argument| !argument.is_empty()) {
        let [TokenTree::Ident(name), TokenTree::Punct(mark), value @ ..] = argument else {
            return Err((argument[0].span(), "an argument is `name = value`".to_owned()));
        };
        if mark.as_char() != '=' || value.is_empty() {
            return Err((name.span(), "an argument is `name = value`".to_owned()));
        }
        let Some((_, kind)) = ARGUMENTS.into_iter().find(|(known, _)| *known == name.to_string()) else {
            let known: Vec<String> = ARGUMENTS.iter().map(|(known, _)| format!("`{known}`")).collect();
            return Err((name.span(), format!("there is no such argument; there are {}", known.join(", "))));
        };
        fields.extend([name.clone().into(), punct(':', Spacing::Alone)]);
        match kind {
            Value::Plain => fields.extend(value.iter().cloned()),
            Value::Optional => {
                fields.extend(path(&["core", "option", "Option", "Some"]));
                fields.push(group(Delimiter::Parenthesis, value.to_vec()));
            }
        }
        fields.push(punct(',', Spacing::Alone));
    }
    Ok(fields)
}

fn word(name: &str) -> TokenTree {
    Ident::new(name, Span::call_site()).into()
}

fn punct(mark: char, spacing: Spacing) -> TokenTree {
    Punct::new(mark, spacing).into()
}

fn group(delimiter: Delimiter, inside: Vec<TokenTree>) -> TokenTree {
    Group::new(delimiter, inside.into_iter().collect()).into()
}

/// A path from the root: `::seriatim::programs`.
fn path(words: &[&str]) -> Vec<TokenTree> {
    words.iter().flat_map(|name| [punct(':', Spacing::Joint), punct(':', Spacing::Alone), word(name)]).collect()
}

fn error(span: Span, message: &str) -> TokenStream {
    let mut tokens = path(&["core", "compile_error"]);
    tokens.push(punct('!', Spacing::Alone));
    tokens.push(group(Delimiter::Brace, vec![Literal::string(message).into()]));
    tokens
        .into_iter()
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect()
}
