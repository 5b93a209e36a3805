//! What an annotated item means, and every rule about its shape.

mod attributes;
mod batch;
mod block;
mod kind;
mod open;
mod options;
mod signature;
mod state;
mod transaction;

use proc_macro2::{Span, TokenStream};
use syn::{Attribute, Ident, Item, Member, Path, Type};

use crate::errors::Errors;
use crate::expand;

pub(crate) use kind::Kind;
pub(crate) use options::{ComponentOptions, HandlerOptions};

/// The runtime crate as the user's code can name it.
pub(crate) type CratePath = Option<Path>;

/// A component, sound in every part.
pub(crate) struct Component {
    pub(crate) kind: Kind,
    pub(crate) krate: CratePath,
    pub(crate) ty: Type,
    pub(crate) name: String,
    pub(crate) options: ComponentOptions,
    pub(crate) shape: Shape,
    pub(crate) docs: String,
    pub(crate) at: Span,
    pub(crate) carried: Vec<Attribute>,
}

pub(crate) enum Shape {
    /// A unit struct that free functions may join.
    Open,
    Block(Box<Block>),
}

/// The annotated methods of an `impl` block.
pub(crate) struct Block {
    pub(crate) inject: Option<Inject>,
    pub(crate) on_start: Option<Method>,
    pub(crate) on_reset: Option<Method>,
    pub(crate) handlers: Vec<Handler>,
}

/// The constructor and the provided types it takes.
pub(crate) struct Inject {
    pub(crate) ident: Ident,
    pub(crate) args: Vec<Type>,
}

/// What handlers and hooks have in common.
pub(crate) struct Method {
    pub(crate) ident: Ident,
    /// What comes after the event and the state of a saga.
    pub(crate) args: Vec<Argument>,
    /// The returned type as written; none for `()`.
    pub(crate) output: Option<Type>,
    pub(crate) is_async: bool,
    /// Attributes its row needs as well: `#[cfg]` and lint levels.
    pub(crate) carried: Vec<Attribute>,
    pub(crate) docs: String,
}

/// What a handler or a hook may ask for.
pub(crate) enum Argument {
    Extractor(Type),
    /// The `D` of `&mut Tx<D>`.
    Transaction(Type),
}

impl Argument {
    fn of(ty: Type) -> Self {
        match transaction::database(&ty) {
            Some(database) => Self::Transaction(database.clone()),
            None => Self::Extractor(ty),
        }
    }
}

pub(crate) struct Handler {
    pub(crate) method: Method,
    pub(crate) event: Type,
    pub(crate) options: HandlerOptions,
    /// For sagas only.
    pub(crate) saga: Option<SagaHandler>,
}

/// What only handlers of sagas have.
pub(crate) struct SagaHandler {
    /// The `S` of `state: &mut S`.
    pub(crate) state: Type,
    pub(crate) init: bool,
    /// The way to the field of the event.
    pub(crate) association: Vec<Member>,
    pub(crate) property: String,
}

pub(crate) enum Executor {
    Name(String),
    Constant(Path),
}

/// A component of some kind that a free function joins.
pub(crate) struct Joined {
    pub(crate) kind: Kind,
    pub(crate) path: Path,
}

/// A free function that handles events.
pub(crate) struct FreeHandler {
    pub(crate) krate: CratePath,
    pub(crate) joined: Joined,
    pub(crate) handler: Handler,
}

/// A free function that is a hook.
pub(crate) struct FreeHook {
    pub(crate) krate: CratePath,
    pub(crate) which: Hook,
    pub(crate) joined: Joined,
    pub(crate) hook: Method,
}

/// When a hook runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hook {
    /// Before the first event.
    Start,
    /// Before the first event is handled again.
    Reset,
}

impl Hook {
    const fn shown(self) -> &'static str {
        match self {
            Self::Start => "#[on_start]",
            Self::Reset => "#[on_reset]",
        }
    }
}

/// `#[projector(..)]`, `#[saga(..)]` or `#[observer(..)]`.
pub(crate) fn component(kind: Kind, args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = ComponentOptions::read(kind, args, &mut errors);
    match syn::parse2(item.clone()) {
        Ok(Item::Impl(block)) => block::component(kind, options, block, errors),
        Ok(Item::Struct(item)) => open::component(kind, options, &item, errors),
        Ok(_) => {
            let attribute = kind.attribute();
            errors.at(
                Span::call_site(),
                format_args!("`{attribute}` must be on an `impl` block, or on a unit struct that free functions join"),
            );
            expand::failed(errors, &item, None)
        }
        Err(error) => {
            errors.push(error);
            expand::failed(errors, &attributes::strip_tokens(item), None)
        }
    }
}

/// `#[event_handler(..)]` that no block has taken.
pub(crate) fn event_handler(args: TokenStream, item: &TokenStream) -> TokenStream {
    handler("#[event_handler]", STRAY, item, |function, errors| open::event_handler(args, function, errors))
}

/// `#[saga_event_handler(..)]` that no block has taken.
pub(crate) fn saga_event_handler(args: TokenStream, item: &TokenStream) -> TokenStream {
    handler("#[saga_event_handler]", SAGA_STRAY, item, |function, errors| {
        open::saga_event_handler(args, function, errors)
    })
}

fn handler(
    attribute: &str,
    stray: &str,
    item: &TokenStream,
    read: impl FnOnce(&syn::ItemFn, &mut Errors) -> Option<FreeHandler>,
) -> TokenStream {
    let mut errors = Errors::default();
    let function = match syn::parse2(item.clone()) {
        Ok(Item::Fn(function)) if function.sig.receiver().is_none() => function,
        _ => {
            // A method of a trait or of a block without our attribute need not be a whole item.
            let method = syn::parse2::<syn::ImplItemFn>(item.clone()).is_ok()
                || syn::parse2::<syn::TraitItemFn>(item.clone()).is_ok();
            let nothing = format!("`{attribute}` must be on a function");
            errors.at(Span::call_site(), if method { stray } else { &nothing });
            return expand::failed(errors, item, None);
        }
    };
    match read(&function, &mut errors) {
        Some(handler) if errors.is_empty() => expand::free_handler(&handler, item),
        _ => expand::failed(errors, item, None),
    }
}

const STRAY: &str = "`#[event_handler]` on a method must be inside an `impl` block with `#[projector(version = 1)]` or \
                     `#[observer(version = 1)]`\n\n\
                     in such a block it must be written as it is, not behind `cfg_attr` or `macro_rules!`, nor under another name";

const SAGA_STRAY: &str = "`#[saga_event_handler]` on a method must be inside an `impl` block with `#[saga(version = 1)]`\n\n\
                          in such a block it must be written as it is, not behind `cfg_attr` or `macro_rules!`, nor under another name";

/// `#[on_start(..)]` or `#[on_reset(..)]` that no block has taken.
pub(crate) fn hook(which: Hook, args: TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let function = match syn::parse2(item.clone()) {
        Ok(Item::Fn(function)) if function.sig.receiver().is_none() => function,
        _ => return stray(which.shown(), item),
    };
    match open::hook(which, args, &function, &mut errors) {
        Some(hook) if errors.is_empty() => expand::free_hook(&hook, item),
        _ => expand::failed(errors, item, None),
    }
}

/// `#[inject]` or a hook that no block has taken.
pub(crate) fn stray(attribute: &str, item: &TokenStream) -> TokenStream {
    let blocks = match attribute {
        "#[on_reset]" => "`#[projector(version = 1)]`",
        _ => "`#[projector(version = 1)]`, `#[saga(version = 1)]` or `#[observer(version = 1)]`",
    };
    let mut errors = Errors::default();
    errors.at(Span::call_site(), format_args!("`{attribute}` must be inside an `impl` block with {blocks}"));
    expand::failed(errors, item, None)
}
