//! Block style: `#[projector] impl OrderView { .. }`.

use quote::ToTokens;
use syn::{
    Attribute, GenericArgument, ImplItem, ImplItemConst, ImplItemFn, ImplItemMacro, ImplItemType, ItemImpl,
    PathArguments, ReturnType, Type,
};

use super::attributes::{self, Own};
use super::signature::{self, Role, shown};
use super::{Block, Component, Handler, Inject, Method, ProjectorOptions, Shape, options};
use crate::errors::Errors;
use crate::expand::{self, Stub};
use crate::names::{self, NAME_RULE, is_name, last_ident, peel};

#[derive(Default)]
struct Parts {
    inject: Option<Inject>,
    on_start: Option<Method>,
    handlers: Vec<Handler>,
    /// Names of what is there, sound or not, for "given twice".
    injects: Vec<String>,
    hooks: Vec<String>,
    /// Whether a handler was meant, sound or not.
    any_handler: bool,
}

pub(super) fn component(
    options: ProjectorOptions,
    mut block: ItemImpl,
    mut errors: Errors,
) -> proc_macro2::TokenStream {
    let ident = check_header(&block, &mut errors);
    let mut parts = Parts::default();
    let krate = options.krate.clone();
    let ty = (*block.self_ty).clone();
    for item in &mut block.items {
        match item {
            ImplItem::Fn(method) => {
                let own = attributes::take(&mut method.attrs, krate.as_ref());
                read_method(&ty, &own, method, &mut parts, &mut errors);
            }
            ImplItem::Const(ImplItemConst { attrs, .. })
            | ImplItem::Type(ImplItemType { attrs, .. })
            | ImplItem::Macro(ImplItemMacro { attrs, .. }) => {
                for (which, attr) in attributes::take(attrs, krate.as_ref()) {
                    errors.on(attr, format_args!("`{}` must be on a method", which.shown()));
                }
            }
            _ => {}
        }
    }
    check_twice(&parts.handlers, &mut errors);
    let name = component_name(&options, ident.as_ref(), &mut errors);
    if ident.is_some() && block.trait_.is_none() && !parts.any_handler {
        let ty = shown(&ty);
        errors.on(&block.self_ty, format_args!("`{ty}` must have a method with `#[event_handler]` in this block"));
    }
    let item = block.to_token_stream();
    match name {
        Some(name) if errors.is_empty() => {
            let component = Component {
                krate,
                name,
                docs: attributes::docs(&block.attrs),
                at: first_span(&ty),
                carried: attributes::carried(&block.attrs),
                ty,
                options,
                shape: Shape::Block(Box::new(Block {
                    inject: parts.inject,
                    on_start: parts.on_start,
                    handlers: parts.handlers,
                })),
            };
            expand::component(&component, &item)
        }
        _ => {
            let carried = attributes::carried(&block.attrs);
            let stub =
                concrete(&block).then_some(Stub { krate: krate.as_ref(), ty: &ty, open: false, carried: &carried });
            expand::failed(errors, &item, stub)
        }
    }
}

fn first_span(ty: &Type) -> proc_macro2::Span {
    last_ident(ty).map_or_else(proc_macro2::Span::call_site, syn::Ident::span)
}

fn concrete(block: &ItemImpl) -> bool {
    block.generics.params.is_empty() && lifetime_of(&block.self_ty).is_none() && last_ident(&block.self_ty).is_some()
}

/// Rules about `impl .. {`; gives back the type's own name.
fn check_header(block: &ItemImpl, errors: &mut Errors) -> Option<syn::Ident> {
    let ident = last_ident(&block.self_ty).cloned();
    let ty = shown(&block.self_ty);
    if let Some((path, _)) = &block.trait_ {
        errors.on(path, format_args!("`#[projector]` must be on an inherent block: `impl {ty} {{ .. }}`"));
    }
    if ident.is_none() {
        errors.on(&block.self_ty, "`#[projector]` must be on the block of a struct or enum");
    }
    for param in &block.generics.params {
        errors.on(param, concrete_rule(&ty));
    }
    if let Some(clause) = &block.generics.where_clause
        && block.generics.params.is_empty()
    {
        errors.on(clause, format_args!("`{ty}` must not have a `where` clause: it is registered as it is"));
    }
    if let Some(lifetime) = lifetime_of(&block.self_ty)
        && block.generics.params.is_empty()
    {
        errors.on(lifetime, concrete_rule(&ty));
    }
    ident
}

fn concrete_rule(ty: &str) -> String {
    format!("`{ty}` must not be generic: it is registered once, as a concrete type; wrap the one you mean in a struct")
}

/// An elided lifetime in the type is a generic parameter too.
fn lifetime_of(ty: &Type) -> Option<&syn::Lifetime> {
    let Type::Path(path) = peel(ty) else { return None };
    path.path.segments.iter().find_map(|segment| match &segment.arguments {
        PathArguments::AngleBracketed(args) => args.args.iter().find_map(|arg| match arg {
            GenericArgument::Lifetime(lifetime) if lifetime.ident != "static" => Some(lifetime),
            _ => None,
        }),
        _ => None,
    })
}

fn component_name(options: &ProjectorOptions, ident: Option<&syn::Ident>, errors: &mut Errors) -> Option<String> {
    if let Some(name) = &options.name {
        return Some(name.clone());
    }
    default_name(ident?, errors)
}

/// A type's own name, if it can be one in the store as well.
pub(super) fn default_name(ident: &syn::Ident, errors: &mut Errors) -> Option<String> {
    let name = names::plain(ident);
    if is_name(&name) {
        return Some(name);
    }
    errors.on(ident, format_args!("`{name}` must be given a `name = \"..\"` of {NAME_RULE}"));
    None
}

/// Reads a method by its attributes. One that has none of ours is not our business.
fn read_method(ty: &Type, own: &[(Own, Attribute)], method: &ImplItemFn, parts: &mut Parts, errors: &mut Errors) {
    let Some(((which, attr), others)) = own.split_first() else { return };
    let which = *which;
    let name = names::plain(&method.sig.ident);
    parts.any_handler |= own.iter().any(|(which, _)| *which == Own::EventHandler);
    for (other, attr) in others {
        let message = if *other == which {
            format!("`{}` must be given only once", other.shown())
        } else {
            format!("`{name}` must not have both `{}` and `{}`", which.shown(), other.shown())
        };
        errors.on(attr, message);
    }
    if others.iter().any(|(other, _)| *other != which) {
        // Its signature can only be right for one of them.
        return;
    }
    match which {
        Own::EventHandler => {
            if let Some(handler) = read_handler(attr, method, errors) {
                parts.handlers.push(handler);
            }
        }
        Own::Inject => {
            no_options(attr, which, errors);
            once(which, &mut parts.injects, method, errors);
            parts.inject = read_inject(ty, method, errors);
        }
        Own::OnStart => {
            no_options(attr, which, errors);
            once(which, &mut parts.hooks, method, errors);
            let args = signature::check(Role::Hook, &method.sig, errors);
            parts.on_start = args.map(|args| as_method(method, args));
        }
    }
}

fn no_options(attr: &Attribute, which: Own, errors: &mut Errors) {
    if !matches!(attr.meta, syn::Meta::Path(_)) {
        errors.on(attr, format_args!("`{}` must stand without options", which.shown()));
    }
}

fn once(which: Own, names: &mut Vec<String>, method: &ImplItemFn, errors: &mut Errors) {
    if let Some(first) = names.first() {
        let shown = which.shown();
        errors.on(&method.sig.ident, format_args!("`{shown}` must be on one method; it is on `{first}` already"));
    }
    names.push(names::plain(&method.sig.ident));
}

fn read_inject(ty: &Type, method: &ImplItemFn, errors: &mut Errors) -> Option<Inject> {
    let mut sig = method.sig.clone();
    let same = |output: &Type| {
        names::text(peel(output).to_token_stream()) == names::text(peel(ty).to_token_stream())
            || matches!((plain_name(output), plain_name(ty)), (Some(a), Some(b)) if a == b)
    };
    if let ReturnType::Type(_, output) = &mut sig.output
        && same(output)
    {
        **output = syn::parse_quote!(Self);
    }
    let args = signature::check(Role::Constructor, &sig, errors)?;
    Some(Inject { ident: sig.ident, args })
}

/// The last name of a path without arguments: `Deep` and `self::Deep` are most likely one type, and if not, the compiler
/// says so.
fn plain_name(ty: &Type) -> Option<&syn::Ident> {
    match peel(ty) {
        Type::Path(path) if path.path.segments.iter().all(|segment| segment.arguments.is_none()) => last_ident(ty),
        _ => None,
    }
}

fn read_handler(attr: &Attribute, method: &ImplItemFn, errors: &mut Errors) -> Option<Handler> {
    let tokens = attributes::arguments(attr, errors);
    let options = options::of_method(tokens, errors);
    let mut args = signature::check(Role::Method, &method.sig, errors)?;
    let event = args.remove(0);
    Some(Handler { method: as_method(method, args), event, options })
}

fn as_method(method: &ImplItemFn, args: Vec<Type>) -> Method {
    Method {
        ident: method.sig.ident.clone(),
        args,
        output: signature::output(&method.sig).cloned(),
        is_async: method.sig.asyncness.is_some(),
        carried: attributes::carried(&method.attrs),
        docs: attributes::docs(&method.attrs),
    }
}

/// Two handlers for one event, as far as the text of the types tells. The launch compares the names.
fn check_twice(handlers: &[Handler], errors: &mut Errors) {
    let text = |handler: &Handler| names::text(peel(&handler.event).to_token_stream());
    // Of two that exclude each other by `#[cfg]` only one will be there.
    let conditional = |handler: &Handler| handler.method.carried.iter().any(|attr| attr.path().is_ident("cfg"));
    for (index, handler) in handlers.iter().enumerate() {
        let twin = |other: &&Handler| other.method.ident == handler.method.ident;
        if let Some(twin) = handlers[..index].iter().find(twin)
            && !conditional(twin)
            && !conditional(handler)
        {
            // Two methods of one name: the compiler's affair, which would complain of every call of them as well.
            errors.known();
        }
        let first = handlers[..index].iter().find(|other| text(other) == text(handler));
        if let Some(first) = first.filter(|first| !conditional(first) && !conditional(handler)) {
            let (event, method) = (shown(&handler.event), names::plain(&first.method.ident));
            errors.on(&handler.event, format_args!("`{event}` must have one handler; `{method}` takes it already"));
        }
    }
}
