//! The options of an attribute: `key = value`, separated by commas. Each key keeps its span beside its value.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Expr, ExprLit, Ident, Lit, LitStr, Path, UnOp};

use crate::errors::{Errors, did_you_mean, nearest, one_of};
use crate::names::{NAME_RULE, is_name, is_rooted};

/// An option an attribute knows.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// What follows "must be".
    expects: &'static str,
    example: &'static str,
    repeats: bool,
}

const fn key(name: &'static str, expects: &'static str, example: &'static str) -> Key {
    Key { name, expects, example, repeats: false }
}

const CRATE: Key = key("crate", "the path of `evento_runtime` from the root", "crate = ::evento_runtime");

const PROJECTOR_OF: Key = key("projector", "the path of a unit struct with `#[projector]`", "projector = OrderTotals");

/// Options of `#[projector]`.
pub(crate) const PROJECTOR: &[Key] = &[
    key("version", "a whole number from 1", "version = 1"),
    key("name", "a string", "name = \"order-view\""),
    key("wait_for_head", "`true` or `false`", "wait_for_head = true"),
    key("contexts", "a string or a list of strings", "contexts = [\"shop\", \"tenant-*\"]"),
    key("checkpoint", "\"on-start\" or \"watermark\"", "checkpoint = \"watermark\""),
    CRATE,
];

/// Options of `#[event_handler]`.
pub(crate) const HANDLER: &[Key] = &[
    key("executor", "a string or the path of a constant", "executor = \"read-model\""),
    key("retry", "a whole number, or -1 for ever", "retry = 3"),
    key("retry_delay", "a string with a number and a unit", "retry_delay = \"500ms\""),
    key("max_delay", "a string with a number and a unit", "max_delay = \"30s\""),
    PROJECTOR_OF,
    CRATE,
];

/// Options of `#[on_start]` on a free function.
pub(crate) const HOOK: &[Key] = &[PROJECTOR_OF, CRATE];

/// Options of `#[event]` below `#[derive(Event)]`.
pub(crate) const EVENT: &[Key] = &[
    key("name", "a string", "name = \"OrderPlaced\""),
    Key { name: "alias", expects: "a string or a list of strings", example: "alias = \"OrderCreated\"", repeats: true },
    key("context", "a string", "context = \"shop\""),
    key("key", "the name of a field", "key = order_id"),
    CRATE,
];

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
    match piece.next() {
        Some(TokenTree::Punct(punct)) if punct.as_char() == '=' => {}
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
    let names: Vec<_> = keys.iter().map(|key| key.name).collect();
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

/// Without the invisible groups and parentheses around it.
fn peel(mut value: &Expr) -> &Expr {
    loop {
        value = match value {
            Expr::Group(group) => &group.expr,
            Expr::Paren(paren) => &paren.expr,
            _ => return value,
        };
    }
}

fn lit(value: &Expr) -> Option<&Lit> {
    match peel(value) {
        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
        _ => None,
    }
}

fn string(value: &Expr) -> Option<&LitStr> {
    match lit(value)? {
        Lit::Str(text) => Some(text),
        _ => None,
    }
}

impl Arg {
    /// Notes that the value is not what the key expects.
    pub(crate) fn refuse(&self, errors: &mut Errors) {
        // What came through a `macro_rules!` stands in a group whose place is in the macro.
        errors.on(peel(&self.value), must(self.key));
    }

    fn or_refuse<T>(&self, value: Option<T>, errors: &mut Errors) -> Option<T> {
        if value.is_none() {
            self.refuse(errors);
        }
        value
    }

    pub(crate) fn string(&self, errors: &mut Errors) -> Option<LitStr> {
        self.or_refuse(string(&self.value).cloned(), errors)
    }

    /// Its value, if that is a string.
    pub(crate) fn literal(&self) -> Option<&LitStr> {
        string(&self.value)
    }

    /// A string that can be a name.
    pub(crate) fn name(&self, errors: &mut Errors) -> Option<String> {
        let text = self.string(errors)?;
        check_name(self.key.name, &text, errors)
    }

    pub(crate) fn bool(&self, errors: &mut Errors) -> Option<bool> {
        let value = match lit(&self.value) {
            Some(Lit::Bool(value)) => Some(value.value),
            _ => None,
        };
        self.or_refuse(value, errors)
    }

    /// A whole number that fits `T`, with its sign.
    pub(crate) fn number<T: std::str::FromStr>(&self, errors: &mut Errors) -> Option<T> {
        let (minus, value) = match peel(&self.value) {
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => ("-", &*unary.expr),
            other => ("", other),
        };
        let digits = match lit(value) {
            Some(Lit::Int(int)) if int.suffix().is_empty() => Some(int.base10_digits()),
            _ => None,
        };
        self.or_refuse(digits.and_then(|digits| format!("{minus}{digits}").parse().ok()), errors)
    }

    /// A list of strings, or one.
    pub(crate) fn strings(&self, errors: &mut Errors) -> Vec<LitStr> {
        if let Expr::Array(array) = peel(&self.value) {
            return array
                .elems
                .iter()
                .filter_map(|element| {
                    let text = string(element).cloned();
                    if text.is_none() {
                        errors.on(element, format_args!("an entry of `{}` must be a string", self.key.name));
                    }
                    text
                })
                .collect();
        }
        self.string(errors).into_iter().collect()
    }

    pub(crate) fn path(&self, errors: &mut Errors) -> Option<Path> {
        let path = match peel(&self.value) {
            Expr::Path(path) if path.qself.is_none() => Some(path.path.clone()),
            _ => None,
        };
        self.or_refuse(path, errors)
    }

    /// The path of the runtime crate.
    pub(crate) fn crate_path(&self, errors: &mut Errors) -> Option<Path> {
        let path = self.path(errors)?;
        if is_rooted(&path) {
            return Some(path);
        }
        let shown = path.to_token_stream().to_string().replace(' ', "");
        let rooted = format!("::{}", shown.trim_start_matches("super::").trim_start_matches("self::"));
        errors.on(
            &self.value,
            format_args!("`crate` must be a path from the root, such as `{rooted}` or `crate::{}`", &rooted[2..]),
        );
        None
    }

    /// A duration in microseconds.
    pub(crate) fn micros(&self, errors: &mut Errors) -> Option<u64> {
        let text = self.string(errors)?;
        match micros(&text.value()) {
            Ok(micros) => Some(micros),
            Err(why) => {
                let Key { name, example, .. } = self.key;
                errors.on(text, format_args!("`{name}` must {why}: `{example}`"));
                None
            }
        }
    }
}

/// `text` as a name, or a mistake on it.
pub(crate) fn check_name(key: &str, text: &LitStr, errors: &mut Errors) -> Option<String> {
    let name = text.value();
    if is_name(&name) {
        return Some(name);
    }
    errors.on(text, format_args!("`{key}` must have {NAME_RULE}"));
    None
}

const UNITS: [(&str, u64); 5] = [("us", 1), ("ms", 1_000), ("s", 1_000_000), ("m", 60_000_000), ("h", 3_600_000_000)];

/// Half a sentence after "must" on failure.
fn micros(text: &str) -> Result<u64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let units = UNITS.map(|(unit, _)| unit);
    if digits.is_empty() {
        return Err(format!("be a whole number and one of the units {}", one_of(&units)));
    }
    let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit.trim()) else {
        return Err(match unit.trim() {
            "" => format!("have one of the units {}", one_of(&units)),
            "ns" | "µs" | "μs" => "not be finer than a microsecond, `us`".to_owned(),
            _ => format!("be a whole number and one of the units {}", one_of(&units)),
        });
    };
    match digits.parse::<u64>().ok().and_then(|number| number.checked_mul(*factor)) {
        Some(0) => Err("be longer than zero".to_owned()),
        // i64 microseconds are what time stamps are made of.
        Some(micros) if i64::try_from(micros).is_ok() => Ok(micros),
        _ => Err("be shorter than 290,000 years".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        assert_eq!(micros("500ms"), Ok(500_000));
        assert_eq!(micros("2 h"), Ok(7_200_000_000));
        for wrong in ["", "500", "ms", "1.5s", "-1s", "0s", "10 minutes", "99999999999h", "5ns"] {
            assert!(micros(wrong).is_err(), "{wrong}");
        }
    }

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
}
