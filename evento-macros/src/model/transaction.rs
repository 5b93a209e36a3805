//! The framework's transaction: `tx: &mut Tx<Sqlite>`. It is known by its name, so that every other form of it is told
//! what the right one is.

use syn::{GenericArgument, PatType, PathArguments, Signature, Type, TypeReference};

use super::signature::{Role, shown};
use crate::errors::Errors;
use crate::names::{self, peel};

/// Something that was meant as the framework's transaction.
struct Tx<'a> {
    /// The reference around it; none if it is taken by value.
    reference: Option<&'a TypeReference>,
    arguments: &'a PathArguments,
}

impl<'a> Tx<'a> {
    fn of(ty: &'a Type) -> Option<Self> {
        let (reference, named) = match peel(ty) {
            Type::Reference(reference) => (Some(reference), peel(&reference.elem)),
            other => (None, other),
        };
        let Type::Path(path) = named else { return None };
        let mut segments = path.path.segments.iter().rev();
        let last = segments.next().filter(|last| last.ident == "Tx")?;
        // By value it may be a type of the user's own, if its path leads elsewhere.
        let parent = segments.next().map(|parent| names::plain(&parent.ident));
        let ours = parent.is_none_or(|parent| ["evento_runtime", "store", "prelude"].contains(&parent.as_str()));
        (reference.is_some() || ours).then_some(Self { reference, arguments: &last.arguments })
    }

    fn is_exclusive(&self) -> bool {
        self.reference.is_some_and(|reference| reference.mutability.is_some())
    }

    fn parameters(&self) -> impl Iterator<Item = &'a GenericArgument> {
        let arguments = match self.arguments {
            PathArguments::AngleBracketed(arguments) => Some(&arguments.args),
            _ => None,
        };
        arguments.into_iter().flatten()
    }

    /// The `D` of `Tx<D>`.
    fn database(&self) -> Option<&'a Type> {
        let mut parameters = self.parameters();
        match (parameters.next(), parameters.next()) {
            (Some(GenericArgument::Type(database)), None) => Some(database),
            _ => None,
        }
    }
}

/// The `D` of `&mut Tx<D>`.
pub(super) fn database(ty: &Type) -> Option<&Type> {
    Tx::of(ty).filter(Tx::is_exclusive)?.database()
}

/// Whether a transaction stands where the event must. `Tx` alone may be the name of an event.
pub(super) fn instead_of_event(ty: &Type) -> bool {
    Tx::of(ty).is_some_and(|tx| tx.is_exclusive() || !tx.arguments.is_none())
}

/// Whether it was meant as one, in whatever form.
pub(super) fn is_meant(ty: &Type) -> bool {
    Tx::of(ty).is_some()
}

/// Checks what was meant as a transaction; gives back the other arguments.
pub(super) fn arguments<'a>(
    role: Role,
    sig: &Signature,
    arguments: &[&'a PatType],
    errors: &mut Errors,
) -> Vec<&'a PatType> {
    let (name, usage) = (names::plain(&sig.ident), role.usage());
    // A provided value may have the name: the sender of a channel often has.
    let meant = |ty: &Type| Tx::of(ty).is_some_and(|tx| tx.reference.is_some() || role != Role::Constructor);
    let (transactions, others): (Vec<_>, Vec<_>) = arguments.iter().copied().partition(|arg| meant(&arg.ty));
    for (index, arg) in transactions.iter().enumerate() {
        let ty = peel(&arg.ty);
        let Some(tx) = Tx::of(ty) else { continue };
        if !role.takes_event() {
            errors.signature(
                ty,
                usage,
                format_args!("`{name}` must do without `{}`: only a handler has a transaction", shown(ty)),
            );
        } else if index > 0 {
            errors.signature(ty, usage, format_args!("`{name}` must take one transaction; an event is handled in one"));
        } else {
            check(role, &name, ty, &tx, errors);
        }
    }
    if let (true, false, None) = (role.takes_event(), transactions.is_empty(), &sig.asyncness) {
        errors.signature(
            sig.fn_token,
            usage,
            format_args!("`{name}` must be an `async fn`: a plain `fn` cannot await what it does in its transaction"),
        );
    }
    others
}

fn check(role: Role, name: &str, ty: &Type, tx: &Tx<'_>, errors: &mut Errors) {
    let usage = role.usage();
    let Some(database) = tx.database() else {
        // An alias may stand for one: the compiler is content with it, and its name says nothing.
        let message = format!(
            "`{name}` must say whose transaction it takes: `&mut Tx<Sqlite>`, `&mut Tx<Postgres>` or `&mut Tx<MySql>`"
        );
        errors.signature(ty, usage, message);
        return;
    };
    let lifetime = tx.reference.and_then(|reference| reference.lifetime.as_ref());
    match peel(database) {
        Type::ImplTrait(_) => {
            errors.on(database, format_args!("an argument of `{name}` must have a concrete type, not `impl Trait`"));
        }
        Type::Infer(_) => errors.known(),
        database if !tx.is_exclusive() => errors.signature(
            ty,
            usage,
            format_args!(
                "`{name}` must take its transaction as `&mut Tx<{}>`: it is lent, and committed once the handler has \
                 succeeded",
                shown(database)
            ),
        ),
        _ => {}
    }
    if let Some(lifetime) = lifetime.filter(|lifetime| lifetime.ident != "_") {
        errors.signature(lifetime, usage, format_args!("`{name}` must take its transaction without a lifetime"));
    }
}
