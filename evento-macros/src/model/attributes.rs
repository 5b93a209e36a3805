//! Which attributes are ours, and which ones generated code has to carry as well.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::{Attribute, Expr, ExprLit, Lit, Meta, Path};

use crate::errors::Errors;
use crate::names;

/// An attribute of ours inside a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    EventHandler,
    SagaEventHandler,
    Inject,
    OnStart,
    OnReset,
}

impl Own {
    pub(super) const fn shown(self) -> &'static str {
        match self {
            Self::EventHandler => "#[event_handler]",
            Self::SagaEventHandler => "#[saga_event_handler]",
            Self::Inject => "#[inject]",
            Self::OnStart => "#[on_start]",
            Self::OnReset => "#[on_reset]",
        }
    }

    pub(super) const fn is_handler(self) -> bool {
        matches!(self, Self::EventHandler | Self::SagaEventHandler)
    }

    fn named(name: &str) -> Option<Self> {
        match name {
            "event_handler" => Some(Self::EventHandler),
            "saga_event_handler" => Some(Self::SagaEventHandler),
            "inject" => Some(Self::Inject),
            "on_start" => Some(Self::OnStart),
            "on_reset" => Some(Self::OnReset),
            _ => None,
        }
    }

    /// Alone or by a path (`evento_runtime::event_handler`). Of the words that other crates use as well only the bare
    /// one is ours, or one below the runtime crate's own path.
    fn of(path: &Path, krate: Option<&Path>) -> Option<Self> {
        let last = path.segments.last()?;
        let own = Self::named(&names::plain(&last.ident))?;
        let Some(parent) = path.segments.iter().nth_back(1) else { return Some(own) };
        let parent = names::plain(&parent.ident);
        let renamed = krate.and_then(|krate| krate.segments.last()).is_some_and(|last| last.ident == parent);
        (own.is_handler() || renamed || parent == "evento_runtime").then_some(own)
    }
}

/// Takes our attributes out of `attrs`; the others stay as they are.
pub(super) fn take(attrs: &mut Vec<Attribute>, krate: Option<&Path>) -> Vec<(Own, Attribute)> {
    let mut own = Vec::new();
    attrs.retain(|attr| match Own::of(attr.path(), krate) {
        Some(which) => {
            own.push((which, attr.clone()));
            false
        }
        None => true,
    });
    own
}

/// What stands between the attribute's parentheses.
pub(super) fn arguments(attr: &Attribute, example: &str, errors: &mut Errors) -> TokenStream {
    match &attr.meta {
        Meta::Path(_) => TokenStream::new(),
        Meta::List(list) => list.tokens.clone(),
        Meta::NameValue(pair) => {
            errors.on(pair, format_args!("options must stand in parentheses: `{example}`"));
            TokenStream::new()
        }
    }
}

/// Attributes that generated code needs too: `#[cfg]`, and lint levels, since it names the user's types once more.
pub(super) fn carried(attrs: &[Attribute]) -> Vec<Attribute> {
    let mut carried = Vec::new();
    for attr in attrs {
        let path = attr.path();
        if path.is_ident("cfg") || path.is_ident("allow") {
            carried.push(attr.clone());
        } else if path.is_ident("expect") {
            // The user's own item fulfils the expectation; a second copy might not.
            let mut allow = attr.clone();
            if let Meta::List(list) = &mut allow.meta {
                list.path = syn::parse_quote!(allow);
            }
            carried.push(allow);
        } else if path.is_ident("deprecated") {
            carried.push(syn::parse_quote!(#[allow(deprecated)]));
        }
    }
    carried
}

/// The text of the doc comments.
pub(super) fn docs(attrs: &[Attribute]) -> String {
    let lines: Vec<String> = attrs
        .iter()
        .filter(|attr| attr.path().is_ident("doc"))
        .filter_map(|attr| match &attr.meta {
            Meta::NameValue(pair) => match &pair.value {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    let lines = lines.join("\n");
    let lines: Vec<_> = lines.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end()).collect();
    lines.join("\n").trim().to_owned()
}

/// Our attributes taken out of an item that could not be parsed, so that they do not complain as well.
pub(super) fn strip_tokens(tokens: TokenStream) -> TokenStream {
    let mut out: Vec<TokenTree> = Vec::new();
    for tree in tokens {
        let TokenTree::Group(group) = &tree else {
            out.push(tree);
            continue;
        };
        let is_attribute = matches!(out.last(), Some(TokenTree::Punct(punct)) if punct.as_char() == '#');
        if is_attribute && group.delimiter() == Delimiter::Bracket && is_own(group) {
            out.pop();
        } else if group.delimiter() == Delimiter::Brace {
            let mut inner = Group::new(Delimiter::Brace, strip_tokens(group.stream()));
            inner.set_span(group.span());
            out.push(inner.into());
        } else {
            out.push(tree);
        }
    }
    out.into_iter().collect()
}

fn is_own(attribute: &Group) -> bool {
    match attribute.stream().into_iter().next() {
        Some(TokenTree::Ident(ident)) => Own::named(&ident.to_string()).is_some(),
        _ => false,
    }
}
