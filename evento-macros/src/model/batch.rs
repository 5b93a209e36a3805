//! Handlers that take many events at once: `batch = 500` and `events: Vec<E>`, which need each other.

use syn::{GenericArgument, PathArguments, Signature, Type};

use super::signature::{Role, shown};
use super::{HandlerOptions, Kind, transaction};
use crate::errors::Errors;
use crate::names::{self, last_ident, peel};

/// Extractors that name one event.
const OF_ONE: [&str; 3] = ["Metadata", "Position", "EventId"];

/// The `E` of `Vec<E>`.
fn of_many(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = peel(ty) else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Vec")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match (arguments.args.first()?, arguments.args.len()) {
        (GenericArgument::Type(event), 1) => Some(event),
        _ => None,
    }
}

/// The type of one event, and what else a batch asks of the arguments after it.
pub(super) fn event(
    role: Role,
    sig: &Signature,
    event: Type,
    after: &[Type],
    options: &HandlerOptions,
    errors: &mut Errors,
) -> Option<Type> {
    let before = errors.count();
    let (name, usage) = (names::plain(&sig.ident), role.usage());
    let one = of_many(&event).cloned();
    match (one, options.says_batch) {
        (None, false) => Some(event),
        (Some(one), false) => {
            let (many, one) = (shown(&event), shown(&one));
            errors.signature(
                &event,
                usage,
                format_args!(
                    "`{name}` must say `batch` to take `{many}`, as in `#[event_handler(batch = 500)]`, or take `{one}`"
                ),
            );
            None
        }
        (None, true) => {
            let one = shown(&event);
            errors.signature(
                &event,
                usage,
                format_args!("`{name}` must take `Vec<{one}>`: with `batch` it is called for many events at once"),
            );
            None
        }
        (Some(one), true) => {
            check_extractors(&name, usage, after, errors);
            (errors.count() == before).then_some(one)
        }
    }
}

fn check_extractors(name: &str, usage: &str, after: &[Type], errors: &mut Errors) {
    let named = |ty: &Type, names: &[&str]| match peel(ty) {
        Type::Path(path) => path.path.get_ident().is_some_and(|ident| names.iter().any(|name| ident == name)),
        _ => false,
    };
    for ty in after.iter().filter(|ty| named(ty, &OF_ONE)) {
        let extractor = shown(ty);
        errors.signature(
            ty,
            usage,
            format_args!(
                "`{name}` must do without `{extractor}`: it is one event's, and a batch has many; `Vec<RawEvent>` has those \
                 of each"
            ),
        );
    }
    let within = after.iter().any(|ty| transaction::database(ty).is_some());
    for ty in after.iter().filter(|ty| !within && last_ident(ty).is_some_and(|ident| ident == "Outbox")) {
        errors.signature(
            ty,
            usage,
            format_args!(
                "`{name}` must take `&mut Tx<..>` beside `Outbox`: what a batch emits is stored in the transaction that \
                 handles all of its events"
            ),
        );
    }
}

impl HandlerOptions {
    /// An observer claims each event before its handler runs.
    pub(super) fn check_kind(&mut self, kind: Kind, errors: &mut Errors) {
        if let (Kind::Observer, Some(span)) = (kind, self.batch_at) {
            errors.at(
                span,
                "`batch` must be left out: an observer claims each event before it is handled; a projector takes many at \
                 once",
            );
        }
    }
}
