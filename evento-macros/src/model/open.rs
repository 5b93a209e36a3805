//! Function style: a unit struct, and free functions that join it.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::{Fields, ItemFn, ItemStruct, Type, TypePath};

use super::batch;
use super::block::default_name;
use super::options::{self, FreeOptions};
use super::signature::{self, Role};
use super::{
    Argument, Component, ComponentOptions, FreeHandler, FreeHook, Handler, Hook, Kind, Method, Shape, attributes,
};
use crate::errors::Errors;
use crate::expand::{self, Stub};
use crate::names;

/// `#[projector] struct OrderTotals;`.
pub(super) fn component(kind: Kind, options: ComponentOptions, item: &ItemStruct, mut errors: Errors) -> TokenStream {
    let shown = names::plain(&item.ident);
    if !item.generics.params.is_empty() {
        errors.on(
            &item.generics,
            format_args!("`{shown}` must not be generic: it is registered once, as a concrete type"),
        );
    } else if !matches!(item.fields, Fields::Unit) {
        errors.on(
            &item.fields,
            format_args!(
                "`{shown}` must be a unit struct; for one with data put `{}` on `impl {shown}`",
                kind.attribute()
            ),
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
                kind,
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
            let stub = Stub { krate: options.krate.as_ref(), ty: &ty, open: Some(kind), carried: &carried };
            expand::failed(errors, &tokens, concrete.then_some(stub))
        }
    }
}

/// `#[event_handler(projector = OrderTotals)]` on a free function.
pub(super) fn event_handler(args: TokenStream, function: &ItemFn, errors: &mut Errors) -> Option<FreeHandler> {
    let (options, free) = options::of_function(args, errors);
    must_join("#[event_handler]", "`projector = OrderTotals` or `observer = Receipts`", &free, errors);
    options.check_async(&function.sig, errors);
    let mut args = signature::check(Role::Function, &function.sig, errors)?;
    let event = batch::event(Role::Function, &function.sig, args.remove(0), &args, &options, errors)?;
    let handler = Handler { method: method(function, args), event, options, saga: None };
    Some(FreeHandler { krate: free.krate, joined: free.joined?, handler })
}

/// `#[saga_event_handler(saga = FulfilOrder, association = order_id)]` on a free function.
pub(super) fn saga_event_handler(args: TokenStream, function: &ItemFn, errors: &mut Errors) -> Option<FreeHandler> {
    let (options, saga, free) = options::of_saga_function(args, errors);
    must_join("#[saga_event_handler]", "`saga = FulfilOrder`", &free, errors);
    if !saga.says_association {
        errors.at(Span::call_site(), options::NO_ASSOCIATION);
    }
    let mut args = signature::check(Role::SagaFunction, &function.sig, errors)?;
    let event = args.remove(0);
    let saga = saga.with_state(&args.remove(0))?;
    let handler = Handler { method: method(function, args), event, options, saga: Some(saga) };
    Some(FreeHandler { krate: free.krate, joined: free.joined?, handler })
}

/// `#[on_start(projector = OrderTotals)]` on a free function.
pub(super) fn hook(which: Hook, args: TokenStream, function: &ItemFn, errors: &mut Errors) -> Option<FreeHook> {
    let free = options::of_free_hook(which, args, errors);
    let possible = match which {
        Hook::Start => "`projector = OrderTotals`, `saga = FulfilOrder` or `observer = Receipts`",
        Hook::Reset => "`projector = OrderTotals`",
    };
    must_join(which.shown(), possible, &free, errors);
    let args = signature::check(Role::FreeHook, &function.sig, errors)?;
    Some(FreeHook { krate: free.krate, which, joined: free.joined?, hook: method(function, args) })
}

fn must_join(attribute: &str, possible: &str, free: &FreeOptions, errors: &mut Errors) {
    if !free.says_component {
        errors.at(
            Span::call_site(),
            format_args!("`{attribute}` on a free function must name the component it joins: {possible}"),
        );
    }
}

fn method(function: &ItemFn, args: Vec<Type>) -> Method {
    Method {
        ident: function.sig.ident.clone(),
        args: args.into_iter().map(Argument::of).collect(),
        output: signature::output(&function.sig).cloned(),
        is_async: function.sig.asyncness.is_some(),
        carried: attributes::carried(&function.attrs),
        docs: attributes::docs(&function.attrs),
    }
}
