//! Function style: a unit struct, and free functions that join it.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::{Fields, ItemFn, ItemStruct, Type, TypePath};

use super::block::default_name;
use super::signature::{self, Role};
use super::{Component, FreeHandler, FreeHook, Handler, Method, ProjectorOptions, Shape, attributes, options};
use crate::errors::Errors;
use crate::expand::{self, Stub};
use crate::names;

/// `#[projector] struct OrderTotals;`.
pub(super) fn component(options: ProjectorOptions, item: &ItemStruct, mut errors: Errors) -> TokenStream {
    let shown = names::plain(&item.ident);
    if !item.generics.params.is_empty() {
        errors.on(
            &item.generics,
            format_args!("`{shown}` must not be generic: it is registered once, as a concrete type"),
        );
    } else if !matches!(item.fields, Fields::Unit) {
        errors.on(
            &item.fields,
            format_args!("`{shown}` must be a unit struct; for one with data put `#[projector]` on `impl {shown}`"),
        );
    }
    let name = match &options.name {
        Some(name) => Some(name.clone()),
        None => default_name(&item.ident, &mut errors),
    };
    let ty = Type::Path(TypePath { attrs: Vec::new(), qself: None, path: item.ident.clone().into() });
    let tokens = item.to_token_stream();
    let carried = attributes::carried(&item.attrs);
    match name {
        Some(name) if errors.is_empty() => {
            let component = Component {
                krate: options.krate.clone(),
                ty,
                name,
                options,
                shape: Shape::Open,
                docs: attributes::docs(&item.attrs),
                at: item.ident.span(),
                carried,
            };
            expand::component(&component, &tokens)
        }
        _ => {
            let concrete = item.generics.params.is_empty();
            let stub = Stub { krate: options.krate.as_ref(), ty: &ty, open: true, carried: &carried };
            expand::failed(errors, &tokens, concrete.then_some(stub))
        }
    }
}

/// `#[event_handler(projector = OrderTotals)]` on a free function.
pub(super) fn handler(args: TokenStream, function: &ItemFn, errors: &mut Errors) -> Option<FreeHandler> {
    let (options, free) = options::of_function(args, errors);
    if function.sig.receiver().is_some() {
        // Whatever else is wrong, it is the missing block that has to be told.
        *errors = Errors::default();
        errors.at(Span::call_site(), super::STRAY);
        return None;
    }
    if !free.says_projector {
        errors.at(
            Span::call_site(),
            "`#[event_handler]` on a free function must name the component it joins: `projector = OrderTotals`",
        );
    }
    let mut args = signature::check(Role::Function, &function.sig, errors)?;
    let event = args.remove(0);
    let method = method(function, args);
    Some(FreeHandler { krate: free.krate, projector: free.projector?, handler: Handler { method, event, options } })
}

/// `#[on_start(projector = OrderTotals)]` on a free function.
pub(super) fn hook(args: TokenStream, function: &ItemFn, errors: &mut Errors) -> Option<FreeHook> {
    let free = options::of_free_hook(args, errors);
    if !free.says_projector {
        errors.at(
            Span::call_site(),
            "`#[on_start]` on a free function must name the component it joins: `projector = OrderTotals`",
        );
    }
    let args = signature::check(Role::FreeHook, &function.sig, errors)?;
    let hook = method(function, args);
    Some(FreeHook { krate: free.krate, projector: free.projector?, hook })
}

fn method(function: &ItemFn, args: Vec<Type>) -> Method {
    Method {
        ident: function.sig.ident.clone(),
        args,
        output: signature::output(&function.sig).cloned(),
        is_async: function.sig.asyncness.is_some(),
        carried: attributes::carried(&function.attrs),
        docs: attributes::docs(&function.attrs),
    }
}
