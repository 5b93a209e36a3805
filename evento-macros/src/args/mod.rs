//! The options of an attribute: `key = value`, separated by commas. Each key keeps its span beside its value.

mod keys;
mod value;

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Expr, ExprLit, Ident, Lit, LitBool};

use crate::errors::{Errors, did_you_mean, nearest, one_of};

pub(crate) use keys::{
    EVENT, HANDLER, Key, NO_RESET_OF_OBSERVER, NO_RESET_OF_SAGA, OBSERVER, ON_RESET, ON_START, PROJECTOR, SAGA,
    SAGA_HANDLER,
};
pub(crate) use value::check_name;

/// One option that is known and has a value.
pub(crate) struct Arg {
    pub(crate) key: &'static Key,
    pub(crate) span: Span,
    pub(crate) value: Expr,
}

/// What an attribute says.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) list: Vec<Arg>,
    /// Keys that were given, or meant by a misspelt one: to miss them as well would be a second error for one mistake.
    meant: Vec<&'static str>,
}

impl Args {
    pub(crate) fn meant(&self, key: &str) -> bool {
        self.meant.contains(&key)
    }
}

/// Reads what is between the parentheses of `attribute`. Whatever is wrong is noted, and reading goes on.
pub(crate) fn read(attribute: &str, keys: &'static [Key], tokens: TokenStream, errors: &mut Errors) -> Args {
    let mut args: Vec<Arg> = Vec::new();
    let mut meant = Vec::new();
    let mut listed = false;
    for piece in split(attribute, tokens, errors) {
        if let Some(TokenTree::Ident(ident)) = piece.first() {
            meant.extend(nearest(&ident.unraw().to_string(), keys.iter().map(|key| key.name)));
        }
        let Some(arg) = read_one(attribute, keys, piece, &mut listed, errors) else { continue };
        if !arg.key.repeats && args.iter().any(|other| other.key.name == arg.key.name) {
            errors.at(arg.span, format_args!("`{}` must be given only once", arg.key.name));
        } else {
            args.push(arg);
        }
    }
    Args { list: args, meant }
}

/// At top-level commas; a trailing one is fine.
fn split(attribute: &str, tokens: TokenStream, errors: &mut Errors) -> Vec<Vec<TokenTree>> {
    let mut pieces = vec![Vec::new()];
    for tree in tokens {
        match (&tree, pieces.last_mut()) {
            (TokenTree::Punct(punct), last) if punct.as_char() == ',' => {
                if last.is_none_or(|last| last.is_empty()) {
                    errors.at(punct.span(), format_args!("an option of `{attribute}` must stand before this comma"));
                }
                pieces.push(Vec::new());
            }
            (_, Some(piece)) => piece.push(tree),
            (_, None) => {}
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

fn read_one(
    attribute: &str,
    keys: &'static [Key],
    piece: Vec<TokenTree>,
    listed: &mut bool,
    errors: &mut Errors,
) -> Option<Arg> {
    let mut piece = piece.into_iter();
    let first = piece.next()?;
    let TokenTree::Ident(ident) = &first else {
        let example = keys.first().map_or("", |key| key.example);
        errors.at(
            first.span(),
            format_args!("an option of `{attribute}` must be written `key = value`, such as `{example}`"),
        );
        return None;
    };
    let Some(key) = keys.iter().find(|key| ident.unraw() == key.name) else {
        errors.at(ident.span(), unknown(attribute, keys, ident, listed));
        return None;
    };
    if let Some(why) = key.refused {
        errors.at(ident.span(), why);
        return None;
    }
    match piece.next() {
        Some(TokenTree::Punct(punct)) if punct.as_char() == '=' => {}
        None if key.flag => {
            let lit = Lit::Bool(LitBool::new(true, ident.span()));
            let value = Expr::Lit(ExprLit { attrs: Vec::new(), lit });
            return Some(Arg { key, span: ident.span(), value });
        }
        _ => {
            errors.at(ident.span(), format_args!("`{}` must have a value: `{}`", key.name, key.example));
            return None;
        }
    }
    let value = piece.collect::<TokenStream>();
    let parser = |input: ParseStream<'_>| Ok((input.parse::<Expr>()?, input.parse::<TokenStream>()?));
    match parser.parse2(value.clone()) {
        Ok((value, rest)) => {
            if let Some(tree) = rest.into_iter().next() {
                match &tree {
                    TokenTree::Punct(punct) if punct.as_char() == ';' => {
                        errors.at(tree.span(), "options must be separated by commas");
                    }
                    _ => errors.at(tree.span(), format_args!("a comma must stand before `{tree}`")),
                }
            }
            Some(Arg { key, span: ident.span(), value })
        }
        Err(_) if value.is_empty() => {
            errors.at(ident.span(), format_args!("`{}` must have a value: `{}`", key.name, key.example));
            None
        }
        Err(_) => {
            errors.on(value, must(key));
            None
        }
    }
}

fn unknown(attribute: &str, keys: &[Key], ident: &Ident, listed: &mut bool) -> String {
    let names: Vec<_> = keys.iter().filter(|key| key.refused.is_none()).map(|key| key.name).collect();
    let word = ident.unraw().to_string();
    let guess = did_you_mean(&word, names.iter().copied());
    let mut message = format!("`{word}` is not an option of `{attribute}`{guess}");
    // Once is enough: the next unknown key of the same attribute gets only its guess.
    if !std::mem::replace(listed, true) {
        message.push_str(&format!("\n\nan option must be {}", one_of(&names)));
    }
    message
}

fn must(key: &Key) -> String {
    format!("`{}` must be {}: `{}`", key.name, key.expects, key.example)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_of_one_list_is_noted() {
        let mut errors = Errors::default();
        let tokens = "exector = \"a\", retry, retry = , 3, retry_delay = 5, retry_delay = \"5s\" max_delay = \"6s\"";
        let args = read("#[event_handler]", HANDLER, tokens.parse().unwrap(), &mut errors);
        assert_eq!(args.list.len(), 1);
        assert!(args.meant("executor") && args.meant("retry") && !args.meant("max_delay"));
        let count = errors.into_tokens().to_string().matches("compile_error").count();
        assert_eq!(count, 6);
    }

    #[test]
    fn a_flag_needs_no_value_and_what_is_refused_is_told_why() {
        let mut errors = Errors::default();
        let tokens = "init, association = order_id, executor = \"mail\", retyr = 1";
        let args = read("#[saga_event_handler]", SAGA_HANDLER, tokens.parse().unwrap(), &mut errors);
        let names: Vec<_> = args.list.iter().map(|arg| arg.key.name).collect();
        assert_eq!(names, ["init", "association"]);
        assert_eq!(args.list[0].bool(&mut errors), Some(true));
        let told = errors.into_tokens().to_string();
        assert!(told.contains("`executor` must be left out") && !told.contains("or `executor`"), "{told}");
    }
}
