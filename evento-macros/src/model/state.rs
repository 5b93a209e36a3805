//! The event and the state of a saga's handler: `event: E, state: &mut S`.

use syn::{PatType, Signature, Type};

use super::signature::{Role, argument, is_extractor, shown};
use super::transaction;
use crate::errors::Errors;
use crate::names::{self, peel};

/// Checks the event and the state. Gives back the arguments after them.
pub(super) fn arguments<'a, 'b>(
    role: Role,
    sig: &Signature,
    event: &Type,
    after: &'a [&'b PatType],
    errors: &mut Errors,
) -> &'a [&'b PatType] {
    let (name, usage) = (names::plain(&sig.ident), role.usage());
    if transaction::instead_of_event(event) {
        let tx = shown(event);
        errors.signature(event, usage, format_args!("the event must come first, before `{tx}`"));
        // What it was meant for follows.
        return match after {
            [event, after @ ..] => arguments(role, sig, &event.ty, after, errors),
            [] => after,
        };
    }
    if is_exclusive(event) {
        let state = shown(event);
        errors.signature(event, usage, format_args!("the event must come first, before `{state}`"));
        return after.get(1..).unwrap_or_default();
    }
    if is_raw_event(event) {
        errors.signature(
            event,
            usage,
            format_args!("`{name}` must take an event of its own type: `RawEvent` has no field to find an instance by"),
        );
    } else {
        argument(role, &name, true, event, errors);
    }
    let [second, others @ ..] = after else {
        let message = format!("`{name}` must take the state of its saga right after the event: `state: &mut S`");
        errors.signature(&sig.ident, usage, message);
        return after;
    };
    match peel(&second.ty) {
        tx if transaction::is_meant(tx) && !others.iter().any(|other| is_exclusive(&other.ty)) => {
            let message =
                format!("`{name}` must take the state of its saga right after the event, before `{}`", shown(tx));
            errors.signature(tx, usage, message);
            return after;
        }
        ty @ Type::Reference(reference) if reference.mutability.is_some() && !transaction::is_meant(ty) => {
            check(role, &name, reference, errors);
        }
        ty if others.iter().any(|other| is_exclusive(&other.ty)) => {
            let message =
                format!("`{name}` must take the state of its saga right after the event, before `{}`", shown(ty));
            for other in others.iter().filter(|other| is_exclusive(&other.ty)) {
                errors.signature(&other.ty, usage, &message);
            }
            return &[];
        }
        Type::Reference(reference) => {
            let state = shown(&reference.elem);
            errors.signature(
                reference,
                usage,
                format_args!(
                    "`{name}` must take the state of its saga as `&mut {state}`: it is stored as the handler left it"
                ),
            );
        }
        ty => {
            let state = if is_extractor(ty) { "S".to_owned() } else { shown(ty) };
            errors.signature(
                ty,
                usage,
                format_args!("`{name}` must take the state of its saga right after the event, as `&mut {state}`"),
            );
        }
    }
    others
}

fn check(role: Role, name: &str, reference: &syn::TypeReference, errors: &mut Errors) {
    match peel(&reference.elem) {
        ty @ Type::ImplTrait(_) => {
            errors.on(ty, format_args!("an argument of `{name}` must have a concrete type, not `impl Trait`"));
        }
        Type::Infer(_) => errors.known(),
        _ => {}
    }
    if let Some(lifetime) = reference.lifetime.as_ref().filter(|lifetime| lifetime.ident != "_") {
        errors.signature(lifetime, role.usage(), format_args!("`{name}` must take its state without a lifetime"));
    }
}

/// Whether it may be meant as the state.
fn is_exclusive(ty: &Type) -> bool {
    matches!(peel(ty), Type::Reference(reference) if reference.mutability.is_some()) && !transaction::is_meant(ty)
}

/// By its bare name, or by a path that is likely ours.
fn is_raw_event(ty: &Type) -> bool {
    let Type::Path(path) = peel(ty) else { return false };
    let mut segments = path.path.segments.iter().rev().map(|segment| names::plain(&segment.ident));
    segments.next().is_some_and(|last| last == "RawEvent")
        && segments.next().is_none_or(|parent| ["evento_runtime", "event", "prelude"].contains(&parent.as_str()))
}

/// The `S` of `&mut S`.
pub(super) fn of(ty: &Type) -> Option<&Type> {
    match peel(ty) {
        Type::Reference(reference) => Some(peel(&reference.elem)),
        _ => None,
    }
}
