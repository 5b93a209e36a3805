//! The rules about signatures.

use quote::ToTokens;
use syn::{FnArg, GenericParam, Generics, PatType, Receiver, ReceiverKind, ReturnType, Signature, Type};

use super::{state, transaction};
use crate::errors::Errors;
use crate::names::{self, last_ident, peel};

/// What is annotated; decides about `self`, the event, and the wording.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Method,
    Function,
    SagaMethod,
    SagaFunction,
    Hook,
    FreeHook,
    Constructor,
}

impl Role {
    pub(super) const fn usage(self) -> &'static str {
        match self {
            Self::Method => "async fn name(&self, event: E, extractors..) -> Result<(), Error>",
            Self::Function => "async fn name(event: E, extractors..) -> Result<(), Error>",
            Self::SagaMethod => "async fn name(&self, event: E, state: &mut S, extractors..) -> Result<(), Error>",
            Self::SagaFunction => "async fn name(event: E, state: &mut S, extractors..) -> Result<(), Error>",
            Self::Hook => "async fn name(&self, dependency: Dep<T>, ..) -> Result<(), Error>",
            Self::FreeHook => "async fn name(dependency: Dep<T>, ..) -> Result<(), Error>",
            Self::Constructor => "fn new(dependency: T, ..) -> Self",
        }
    }

    const fn takes_self(self) -> bool {
        matches!(self, Self::Method | Self::SagaMethod | Self::Hook)
    }

    pub(super) const fn takes_event(self) -> bool {
        matches!(self, Self::Method | Self::Function | Self::SagaMethod | Self::SagaFunction)
    }

    const fn takes_state(self) -> bool {
        matches!(self, Self::SagaMethod | Self::SagaFunction)
    }

    /// Who may ask for what, after `self`, the event and the state.
    const fn possible(self) -> (&'static str, &'static str) {
        match self {
            Self::Hook | Self::FreeHook => ("the hook", "`Dep<T>`, `ContextPattern` or `ConsumerId`"),
            Self::SagaMethod | Self::SagaFunction => (
                "a handler",
                "`Metadata`, `Attempt`, `Position`, `EventId`, `Outbox`, `Progress`, `Associations`, `Stop`, `Dep<T>` or \
                 `Local<T>`",
            ),
            _ => (
                "a handler",
                "`Metadata`, `Attempt`, `Position`, `EventId`, `Outbox`, `Progress`, `Stop`, `Dep<T>` or `Local<T>`",
            ),
        }
    }
}

/// Bare names that are ours; a user's own type of that name can be written with its path.
const EXTRACTORS: [&str; 8] =
    ["Metadata", "Attempt", "Position", "EventId", "Outbox", "Progress", "Associations", "Stop"];

/// Types of the arguments after `self`. `None` if something was wrong.
pub(super) fn check(role: Role, sig: &Signature, errors: &mut Errors) -> Option<Vec<Type>> {
    let before = errors.count();
    let name = names::plain(&sig.ident);
    let usage = role.usage();
    qualifiers(role, sig, errors);
    generics(&name, &sig.generics, errors);
    receiver(role, sig, errors);
    let typed: Vec<&PatType> = sig
        .inputs
        .iter()
        .filter_map(|arg| match arg {
            FnArg::Typed(typed) => Some(typed),
            FnArg::Receiver(_) => None,
        })
        .collect();
    for arg in sig.inputs.iter() {
        let attrs = match arg {
            FnArg::Typed(typed) => &typed.attrs,
            FnArg::Receiver(receiver) => &receiver.attrs,
        };
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr")) {
            errors
                .on(attr, format_args!("an argument of `{name}` must not have `#[cfg]`; put it on the whole function"));
        }
    }
    let takes_event = role.takes_event();
    if takes_event && typed.is_empty() {
        let state = if role.takes_state() { ", and the state of its saga after it" } else { "" };
        errors.signature(&sig.ident, usage, format_args!("`{name}` must take its event{state}"));
    }
    let mut rest: &[&PatType] = &typed;
    if let (true, [event, after @ ..]) = (takes_event, rest) {
        rest = after;
        if role.takes_state() {
            rest = state::arguments(role, sig, &event.ty, after, errors);
        } else if transaction::instead_of_event(&event.ty) {
            let tx = shown(&event.ty);
            errors.signature(&event.ty, usage, format_args!("the event must come first, before `{tx}`"));
            // What it was meant for follows.
            if let [event, after @ ..] = after {
                rest = after;
                argument(role, &name, true, &event.ty, errors);
            }
        } else {
            argument(role, &name, true, &event.ty, errors);
        }
    }
    for arg in transaction::arguments(role, sig, rest, errors) {
        argument(role, &name, false, &arg.ty, errors);
    }
    if let ([first, second, ..], true) = (typed.as_slice(), takes_event)
        && is_extractor(&first.ty)
        && !is_extractor(&second.ty)
        && errors.count() == before
    {
        let extractor = shown(&first.ty);
        errors.signature(&first.ty, usage, format_args!("the event must come first, before `{extractor}`"));
    }
    returned(role, &name, sig, errors);
    (errors.count() == before).then(|| typed.iter().map(|arg| (*arg.ty).clone()).collect())
}

/// The returned type, if it is written.
pub(super) fn output(sig: &Signature) -> Option<&Type> {
    match &sig.output {
        ReturnType::Default => None,
        ReturnType::Type(_, ty) => Some(ty),
    }
}

fn qualifiers(role: Role, sig: &Signature, errors: &mut Errors) {
    let name = names::plain(&sig.ident);
    if !matches!(sig.safety, syn::Safety::Default) {
        errors.on(&sig.safety, format_args!("`{name}` must not be `unsafe`"));
    }
    if sig.variadic.is_some() || (sig.constness.is_some() && sig.asyncness.is_some()) {
        errors.known();
    }
    if let Some(abi) = &sig.abi {
        errors.on(abi, format_args!("`{name}` must not be `extern`"));
    }
    match (role, &sig.asyncness) {
        (Role::Hook | Role::FreeHook, None) => {
            errors.signature(sig.fn_token, role.usage(), format_args!("`{name}` must be an `async fn`"));
        }
        (Role::Constructor, Some(token)) => errors.signature(
            token,
            role.usage(),
            format_args!("`{name}` must not be `async`; connect first and `.provide(..)` what it needs"),
        ),
        _ => {}
    }
}

fn generics(name: &str, generics: &Generics, errors: &mut Errors) {
    for param in &generics.params {
        let what = match param {
            GenericParam::Lifetime(_) => "lifetimes of its own",
            GenericParam::Type(_) => "generic types",
            GenericParam::Const(_) => "const generics",
        };
        errors.on(param, format_args!("`{name}` must not have {what}: it is registered once, as a concrete function"));
    }
    if let Some(clause) = &generics.where_clause
        && generics.params.is_empty()
    {
        errors.on(clause, format_args!("`{name}` must not have a `where` clause: it is registered as it is"));
    }
}

fn receiver(role: Role, sig: &Signature, errors: &mut Errors) {
    let name = names::plain(&sig.ident);
    let usage = role.usage();
    match (role, sig.receiver()) {
        (role, None) if role.takes_self() => {
            errors.signature(&sig.ident, usage, format_args!("`{name}` must take `&self`"));
        }
        (role, Some(receiver)) if role.takes_self() => {
            if let Some(why) = wrong_receiver(receiver) {
                errors.signature(receiver, usage, format_args!("`{name}` must take `&self`{why}"));
            }
        }
        (Role::Constructor, Some(receiver)) => {
            errors.signature(receiver, usage, format_args!("`{name}` must not take `self`: it makes the value"));
        }
        // A free function with `self` is told so before.
        (_, Some(_)) => errors.known(),
        (_, None) => {}
    }
}

/// Why it is wrong, to follow "must take `&self`".
fn wrong_receiver(receiver: &Receiver) -> Option<&'static str> {
    match &receiver.kind {
        ReceiverKind::Reference(_, _, Some(_)) => {
            Some(", not `&mut self`: one value is shared by all events that run at the same time")
        }
        ReceiverKind::Reference(_, Some(lifetime), None) if lifetime.ident != "_" => Some(" without a lifetime"),
        ReceiverKind::Reference(..) => None,
        ReceiverKind::Value => Some(", not `self`: one value serves all events"),
        ReceiverKind::Typed(_, ty) => match peel(ty) {
            Type::Reference(reference)
                if reference.mutability.is_none()
                    && reference.lifetime.is_none()
                    && last_ident(&reference.elem).is_some_and(|ident| ident == "Self") =>
            {
                None
            }
            _ => Some(""),
        },
        _ => Some(""),
    }
}

pub(super) fn argument(role: Role, name: &str, is_event: bool, ty: &Type, errors: &mut Errors) {
    let usage = role.usage();
    // A group of `macro_rules!` has its place in the macro, what is inside of it in the user's call.
    let ty = peel(ty);
    match ty {
        Type::ImplTrait(_) => {
            errors.on(ty, format_args!("an argument of `{name}` must have a concrete type, not `impl Trait`"));
        }
        Type::Infer(_) => errors.known(),
        Type::Reference(reference) if is_event => {
            let owned = match peel(&reference.elem) {
                Type::Slice(slice) => format!("Vec<{}>", shown(&slice.elem)),
                other => shown(other),
            };
            errors.signature(ty, usage, format_args!("`{name}` must take its event by value: `{owned}`"));
        }
        Type::Reference(reference) if role != Role::Constructor => {
            let owned = shown(&reference.elem);
            let (ask, possible) = role.possible();
            errors.signature(
                ty,
                usage,
                format_args!("`{name}` must take `{owned}` by value: {ask} may ask for {possible}"),
            );
        }
        Type::Reference(reference) if is_not_static(reference) => {
            let owned = shown(&reference.elem);
            errors.signature(ty, usage, format_args!("`{name}` must take provided values by value: `{owned}`"));
        }
        peeled if role == Role::Constructor && generic_dep(peeled) => {
            errors.signature(
                ty,
                usage,
                format_args!("`{name}` must take provided values as they are, without the `Dep` of handlers"),
            );
        }
        peeled if is_event && generic_dep(peeled) => {
            errors.signature(ty, usage, format_args!("`{name}` must take its event first, and `Dep<T>` after it"));
        }
        _ => {
            if let Some(object) = dep_of_object(ty) {
                let inner = shown(object);
                errors.on(
                    object,
                    format_args!("`{name}` must take `Dep<Arc<{inner}>>`: a provided value is cloned, and has a size"),
                );
            }
        }
    }
}

/// The trait object in `Dep<dyn Repo>`.
fn dep_of_object(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = peel(ty) else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Dep")?;
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        syn::GenericArgument::Type(object) if matches!(peel(object), Type::TraitObject(_)) => Some(object),
        _ => None,
    }
}

fn is_not_static(reference: &syn::TypeReference) -> bool {
    reference.mutability.is_some() || reference.lifetime.as_ref().is_none_or(|lifetime| lifetime.ident != "static")
}

fn generic_dep(ty: &Type) -> bool {
    wraps(ty, "Dep")
}

/// Whether `ty` is a `name<..>`.
fn wraps(ty: &Type, name: &str) -> bool {
    match ty {
        Type::Path(path) => {
            path.path.segments.last().is_some_and(|last| {
                last.ident == name && matches!(last.arguments, syn::PathArguments::AngleBracketed(_))
            })
        }
        _ => false,
    }
}

pub(super) fn is_extractor(ty: &Type) -> bool {
    match peel(ty) {
        peeled if generic_dep(peeled) || wraps(peeled, "Local") => true,
        Type::Path(path) => path.path.get_ident().is_some_and(|ident| EXTRACTORS.iter().any(|name| ident == name)),
        _ => false,
    }
}

fn returned(role: Role, name: &str, sig: &Signature, errors: &mut Errors) {
    let ty = output(sig);
    if role == Role::Constructor {
        // The block's own type is as good; `block` has replaced it by `Self` for this check.
        if !ty.is_some_and(|ty| matches!(last_ident(ty), Some(ident) if ident == "Self")) {
            let message = format!("`{name}` must return `Self`");
            match ty {
                Some(ty) => errors.signature(ty, role.usage(), message),
                None => errors.signature(&sig.ident, role.usage(), message),
            }
        }
    } else if let Some(ty) = ty
        && matches!(peel(ty), Type::ImplTrait(_))
    {
        let message = if sig.asyncness.is_none() && shown(ty).contains("Future") {
            format!("`{name}` must be an `async fn` instead of returning a future")
        } else {
            format!("`{name}` must return `()`, `Flow` or a `Result` of either, not `impl Trait`")
        };
        errors.signature(ty, role.usage(), message);
    }
}

/// A type the way people write it.
pub(super) fn shown(ty: &Type) -> String {
    let mut text = peel(ty).to_token_stream().to_string();
    for (from, to) in [(" :: ", "::"), (" < ", "<"), (" >", ">"), (" ,", ","), ("& ", "&"), (":: ", "::")] {
        text = text.replace(from, to);
    }
    text
}
