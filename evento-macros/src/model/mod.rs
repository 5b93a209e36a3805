//! What an annotated item means, and every rule about its shape.

mod attributes;
mod block;
mod open;
mod options;
mod signature;

use proc_macro2::{Span, TokenStream};
use syn::{Attribute, Ident, Item, Path, Type};

use crate::errors::Errors;
use crate::expand;

pub(crate) use options::{HandlerOptions, ProjectorOptions};

/// The runtime crate as the user's code can name it.
pub(crate) type CratePath = Option<Path>;

/// A component, sound in every part.
pub(crate) struct Component {
    pub(crate) krate: CratePath,
    pub(crate) ty: Type,
    pub(crate) name: String,
    pub(crate) options: ProjectorOptions,
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
    /// Extractors, after the event.
    pub(crate) args: Vec<Type>,
    /// The returned type as written; none for `()`.
    pub(crate) output: Option<Type>,
    pub(crate) is_async: bool,
    /// Attributes its row needs as well: `#[cfg]` and lint levels.
    pub(crate) carried: Vec<Attribute>,
    pub(crate) docs: String,
}

pub(crate) struct Handler {
    pub(crate) method: Method,
    pub(crate) event: Type,
    pub(crate) options: HandlerOptions,
}

pub(crate) enum Executor {
    Name(String),
    Constant(Path),
}

/// A free function that joins `projector`.
pub(crate) struct FreeHandler {
    pub(crate) krate: CratePath,
    pub(crate) projector: Path,
    pub(crate) handler: Handler,
}

/// A free function that runs before the first event of `projector`.
pub(crate) struct FreeHook {
    pub(crate) krate: CratePath,
    pub(crate) projector: Path,
    pub(crate) hook: Method,
}

/// `#[projector(..)]`.
pub(crate) fn projector(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = ProjectorOptions::read(args, &mut errors);
    match syn::parse2(item.clone()) {
        Ok(Item::Impl(block)) => block::component(options, block, errors),
        Ok(Item::Struct(item)) => open::component(options, &item, errors),
        Ok(_) => {
            errors.at(
                Span::call_site(),
                "`#[projector]` must be on an `impl` block, or on a unit struct that free functions join",
            );
            expand::failed(errors, &item, None)
        }
        Err(error) => {
            errors.push(error);
            expand::failed(errors, &attributes::strip_tokens(item), None)
        }
    }
}

/// `#[event_handler(..)]` that no `#[projector]` block has taken.
pub(crate) fn event_handler(args: TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let function = match syn::parse2(item.clone()) {
        Ok(Item::Fn(function)) => function,
        _ => {
            // A method of a trait or of a block without `#[projector]` need not be a whole item.
            let method = syn::parse2::<syn::ImplItemFn>(item.clone()).is_ok()
                || syn::parse2::<syn::TraitItemFn>(item.clone()).is_ok();
            errors.at(Span::call_site(), if method { STRAY } else { "`#[event_handler]` must be on a function" });
            return expand::failed(errors, item, None);
        }
    };
    match open::handler(args, &function, &mut errors) {
        Some(handler) if errors.is_empty() => expand::free_handler(&handler, item),
        _ => expand::failed(errors, item, None),
    }
}

const STRAY: &str = "`#[event_handler]` on a method must be inside an `impl` block with `#[projector(version = 1)]`\n\n\
                     in such a block it must be written as it is, not behind `cfg_attr` or `macro_rules!`, nor under another name";

/// `#[on_start(..)]` that no `#[projector]` block has taken.
pub(crate) fn on_start(args: TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let function = match syn::parse2(item.clone()) {
        Ok(Item::Fn(function)) if function.sig.receiver().is_none() => function,
        _ => return stray("on_start", item),
    };
    match open::hook(args, &function, &mut errors) {
        Some(hook) if errors.is_empty() => expand::free_hook(&hook, item),
        _ => expand::failed(errors, item, None),
    }
}

/// `#[inject]` or `#[on_start]` that no `#[projector]` block has taken.
pub(crate) fn stray(name: &str, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    errors.at(
        Span::call_site(),
        format_args!("`#[{name}]` must be inside an `impl` block with `#[projector(version = 1)]`"),
    );
    expand::failed(errors, item, None)
}
