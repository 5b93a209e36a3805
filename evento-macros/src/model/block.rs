//! Block style: `#[projector] impl OrderView { .. }`, and the same of a saga or an observer.

use quote::ToTokens;
use syn::{
    Attribute, GenericArgument, ImplItem, ImplItemConst, ImplItemFn, ImplItemMacro, ImplItemType, ItemImpl,
    PathArguments, ReturnType, Type,
};

use super::attributes::{self, Own};
use super::batch;
use super::signature::{self, Role, shown};
use super::{Argument, Block, Component, ComponentOptions, Handler, Inject, Kind, Method, Shape, options};
use crate::errors::Errors;
use crate::expand::{self, Stub};
use crate::names::{self, NAME_RULE, is_name, last_ident, peel};

#[derive(Default)]
struct Parts {
    inject: Option<Inject>,
    on_start: Option<Method>,
    on_reset: Option<Method>,
    handlers: Vec<Handler>,
    /// Names of what is there, sound or not, for "given twice".
    injects: Vec<String>,
    starts: Vec<String>,
    resets: Vec<String>,
    /// Whether a handler was meant, sound or not.
    any_handler: bool,
    /// Whether one may have been meant to begin instances.
    any_init: bool,
}

pub(super) fn component(
    kind: Kind,
    options: ComponentOptions,
    mut block: ItemImpl,
    mut errors: Errors,
) -> proc_macro2::TokenStream {
    let ident = check_header(kind, &block, &mut errors);
    let mut parts = Parts::default();
    let krate = options.krate.clone();
    let ty = (*block.self_ty).clone();
    for item in &mut block.items {
        match item {
            ImplItem::Fn(method) => {
                let own = attributes::take(&mut method.attrs, krate.as_ref());
                read_method(kind, &ty, &own, method, &mut parts, &mut errors);
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
    check_states(&parts.handlers, &mut errors);
    let name = component_name(&options, ident.as_ref(), &mut errors);
    if ident.is_some() && block.trait_.is_none() {
        let (ty, handler) = (shown(&ty), kind.handler());
        if !parts.any_handler {
            errors.on(&block.self_ty, format_args!("`{ty}` must have a method with `{handler}` in this block"));
        } else if kind == Kind::Saga && !parts.any_init {
            let message = format!("`{ty}` must have a handler with `init`: without one no instance would ever begin");
            errors.on(&block.self_ty, message);
        }
    }
    let item = block.to_token_stream();
    match name {
        Some(name) if errors.is_empty() => {
            let component = Component {
                kind,
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
                    on_reset: parts.on_reset,
                    handlers: parts.handlers,
                })),
            };
            expand::component(&component, &item)
        }
        _ => {
            let carried = attributes::carried(&block.attrs);
            let stub =
                concrete(&block).then_some(Stub { krate: krate.as_ref(), ty: &ty, open: None, carried: &carried });
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
fn check_header(kind: Kind, block: &ItemImpl, errors: &mut Errors) -> Option<syn::Ident> {
    let attribute = kind.attribute();
    let ident = last_ident(&block.self_ty).cloned();
    let ty = shown(&block.self_ty);
    if let Some((path, _)) = &block.trait_ {
        errors.on(path, format_args!("`{attribute}` must be on an inherent block: `impl {ty} {{ .. }}`"));
    }
    if ident.is_none() {
        errors.on(&block.self_ty, format_args!("`{attribute}` must be on the block of a struct or enum"));
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

fn component_name(options: &ComponentOptions, ident: Option<&syn::Ident>, errors: &mut Errors) -> Option<String> {
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
fn read_method(
    kind: Kind,
    ty: &Type,
    own: &[(Own, Attribute)],
    method: &ImplItemFn,
    parts: &mut Parts,
    errors: &mut Errors,
) {
    let Some(((which, attr), others)) = own.split_first() else { return };
    let which = *which;
    let name = names::plain(&method.sig.ident);
    parts.any_handler |= own.iter().any(|(which, _)| which.is_handler());
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
        parts.any_init = true;
        return;
    }
    match (which, kind) {
        (Own::EventHandler, Kind::Saga) => {
            parts.any_init = true;
            errors.on(
                attr,
                "`#[event_handler]` must be `#[saga_event_handler]` in a `#[saga]` block: an event finds its instance by \
                 an association",
            );
        }
        (Own::SagaEventHandler, Kind::Projector | Kind::Observer) => {
            let attribute = kind.attribute();
            errors.on(
                attr,
                format_args!(
                    "`#[saga_event_handler]` must be `#[event_handler]` in a `{attribute}` block: only sagas have instances"
                ),
            );
        }
        (Own::EventHandler, Kind::Projector | Kind::Observer) => {
            parts.handlers.extend(read_handler(kind, attr, method, errors));
        }
        (Own::SagaEventHandler, Kind::Saga) => {
            let handler = read_saga_handler(attr, method, parts, errors);
            parts.handlers.extend(handler);
        }
        (Own::Inject, _) => {
            no_options(attr, which, errors);
            once(which, &mut parts.injects, method, errors);
            parts.inject = read_inject(ty, method, errors);
        }
        (Own::OnStart, _) => parts.on_start = read_hook(attr, which, &mut parts.starts, method, errors),
        (Own::OnReset, _) => match kind.no_reset() {
            Some(why) => errors.on(attr, why),
            None => parts.on_reset = read_hook(attr, which, &mut parts.resets, method, errors),
        },
    }
}

fn read_hook(
    attr: &Attribute,
    which: Own,
    names: &mut Vec<String>,
    method: &ImplItemFn,
    errors: &mut Errors,
) -> Option<Method> {
    no_options(attr, which, errors);
    once(which, names, method, errors);
    let args = signature::check(Role::Hook, &method.sig, errors)?;
    Some(as_method(method, args))
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
    if let ReturnType::Type(_, output) = &mut sig.output
        && same_type(output, ty)
    {
        **output = syn::parse_quote!(Self);
    }
    let args = signature::check(Role::Constructor, &sig, errors)?;
    Some(Inject { ident: sig.ident, args })
}

fn same_type(a: &Type, b: &Type) -> bool {
    names::text(peel(a).to_token_stream()) == names::text(peel(b).to_token_stream())
        || matches!((plain_name(a), plain_name(b)), (Some(a), Some(b)) if a == b)
}

/// The last name of a path without arguments: `Deep` and `self::Deep` are most likely one type, and if not, the compiler
/// says so.
fn plain_name(ty: &Type) -> Option<&syn::Ident> {
    match peel(ty) {
        Type::Path(path) if path.path.segments.iter().all(|segment| segment.arguments.is_none()) => last_ident(ty),
        _ => None,
    }
}

fn read_handler(kind: Kind, attr: &Attribute, method: &ImplItemFn, errors: &mut Errors) -> Option<Handler> {
    let tokens = attributes::arguments(attr, "#[event_handler(retry = 3)]", errors);
    let options = options::of_method(kind, tokens, errors);
    options.check_async(&method.sig, errors);
    let mut args = signature::check(Role::Method, &method.sig, errors)?;
    let event = batch::event(Role::Method, &method.sig, args.remove(0), &args, &options, errors)?;
    Some(Handler { method: as_method(method, args), event, options, saga: None })
}

fn read_saga_handler(attr: &Attribute, method: &ImplItemFn, parts: &mut Parts, errors: &mut Errors) -> Option<Handler> {
    let tokens = attributes::arguments(attr, "#[saga_event_handler(association = order_id)]", errors);
    let (options, saga) = options::of_saga_method(tokens, errors);
    // What stands outside of the parentheses is told already, and may have been one.
    if !saga.says_association && !matches!(attr.meta, syn::Meta::NameValue(_)) {
        errors.on(attr, options::NO_ASSOCIATION);
    }
    parts.any_init |= saga.says_init;
    let mut args = signature::check(Role::SagaMethod, &method.sig, errors)?;
    let event = args.remove(0);
    let saga = saga.with_state(&args.remove(0))?;
    Some(Handler { method: as_method(method, args), event, options, saga: Some(saga) })
}

fn as_method(method: &ImplItemFn, args: Vec<Type>) -> Method {
    Method {
        ident: method.sig.ident.clone(),
        args: args.into_iter().map(Argument::of).collect(),
        output: signature::output(&method.sig).cloned(),
        is_async: method.sig.asyncness.is_some(),
        carried: attributes::carried(&method.attrs),
        docs: attributes::docs(&method.attrs),
    }
}

/// Of two that exclude each other by `#[cfg]` only one will be there.
fn conditional(handler: &Handler) -> bool {
    handler.method.carried.iter().any(|attr| attr.path().is_ident("cfg"))
}

/// Two handlers for one event, as far as the text of the types tells. The launch compares the names.
fn check_twice(handlers: &[Handler], errors: &mut Errors) {
    let text = |handler: &Handler| names::text(peel(&handler.event).to_token_stream());
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

/// One saga has one state, as far as the text of the types tells. The launch compares the types.
fn check_states(handlers: &[Handler], errors: &mut Errors) {
    let certain = handlers.iter().filter(|handler| !conditional(handler));
    let mut states = certain.filter_map(|handler| Some((handler, &handler.saga.as_ref()?.state)));
    let Some((first, state)) = states.next() else { return };
    for (handler, other) in states {
        if !same_type(other, state) {
            let (method, first) = (names::plain(&handler.method.ident), names::plain(&first.method.ident));
            let state = shown(state);
            errors.on(
                other,
                format_args!("`{method}` must take `&mut {state}`, as `{first}` does: a saga has one state"),
            );
        }
    }
}
