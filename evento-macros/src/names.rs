//! Names that become identity, the path of the runtime crate, and where generated code stands.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::{Ident, Path, Type};

/// What a component, event or executor may be called.
pub(crate) const NAME_RULE: &str = "1 to 100 characters out of A-Z a-z 0-9 . _ -";

pub(crate) fn is_name(name: &str) -> bool {
    (1..=100).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

/// What a context may be.
pub(crate) const CONTEXT_RULE: &str = "1 to 255 bytes";

pub(crate) fn is_context(context: &str) -> bool {
    (1..=255).contains(&context.len())
}

/// An identifier as it is stored: without `r#`.
pub(crate) fn plain(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// `Some("a/b-*")` without its `*`, if the pattern is one.
pub(crate) fn prefix(pattern: &str) -> Option<&str> {
    pattern.strip_suffix('*')
}

/// Whether one context could belong to both patterns.
pub(crate) fn overlap(a: &str, b: &str) -> bool {
    match (prefix(a), prefix(b)) {
        (Some(a), Some(b)) => a.starts_with(b) || b.starts_with(a),
        (Some(p), None) => b.starts_with(p),
        (None, Some(p)) => a.starts_with(p),
        (None, None) => a == b,
    }
}

/// Names resolve as in the macro's own call, messages point at the user's token. (A user span alone would bring the
/// user's hygiene along, and break inside `macro_rules!`.)
pub(crate) fn at(span: Span) -> Span {
    Span::call_site().located_at(span)
}

/// The line of a token, from 1.
pub(crate) fn line(span: Span) -> u32 {
    u32::try_from(span.start().line).unwrap_or(0)
}

/// A `crate = path` that means the same at every place.
pub(crate) fn is_rooted(path: &Path) -> bool {
    let first = path.segments.first().map(|segment| segment.ident.to_string());
    path.leading_colon.is_some() || matches!(first.as_deref(), Some("crate" | "$crate"))
}

/// A type without the invisible groups of `macro_rules!` and without parentheses.
pub(crate) fn peel(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            _ => return ty,
        };
    }
}

/// Tokens as text for comparison: invisible groups opened, `r#` kept.
pub(crate) fn text(tokens: TokenStream) -> String {
    let mut out = String::new();
    for tree in tokens {
        match tree {
            TokenTree::Group(group) if group.delimiter() == proc_macro2::Delimiter::None => {
                out.push_str(&text(group.stream()));
            }
            TokenTree::Group(group) => {
                out.push('(');
                out.push_str(&text(group.stream()));
                out.push(')');
            }
            other => {
                out.push_str(&other.to_string());
                out.push(' ');
            }
        }
    }
    out
}

/// The last name of a path type: `OrderView` of `views::OrderView`.
pub(crate) fn last_ident(ty: &Type) -> Option<&Ident> {
    match peel(ty) {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last().map(|segment| &segment.ident),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_are_seen_by_bytes() {
        assert!(overlap("*", "a"));
        assert!(overlap("tenant-*", "tenant-1"));
        assert!(overlap("a*", "ab*"));
        assert!(!overlap("a*", "b*"));
        assert!(!overlap("a", "b"));
    }

    #[test]
    fn a_crate_path_must_not_depend_on_its_place() {
        assert!(is_rooted(&syn::parse_quote!(::ev)));
        assert!(is_rooted(&syn::parse_quote!(crate::facade::evento)));
        assert!(!is_rooted(&syn::parse_quote!(ev)));
        assert!(!is_rooted(&syn::parse_quote!(super::ev)));
    }

    #[test]
    fn types_are_compared_without_invisible_groups() {
        let inner = proc_macro2::Group::new(proc_macro2::Delimiter::None, "A".parse().unwrap());
        assert_eq!(text(TokenTree::from(inner).into()), text("A".parse().unwrap()));
    }
}
