//! The attributes of evento. Their documentation is in `evento_runtime`, which re-exports them.
//!
//! Every macro goes the same way: `args` reads the options, `model` reads the item and knows every rule of it,
//! `expand` writes the code. Mistakes are collected on the way and told together, each on the user's own token.

mod args;
mod debug;
mod errors;
mod event;
mod expand;
mod model;
mod names;

use model::{Hook, Kind};
use proc_macro::TokenStream;

#[allow(missing_docs, reason = "documented where it is re-exported")]
#[proc_macro_attribute]
pub fn projector(args: TokenStream, item: TokenStream) -> TokenStream {
    debug::shown("#[projector]", model::component(Kind::Projector, args.into(), item.into())).into()
}

#[allow(missing_docs, reason = "documented where it is re-exported")]
#[proc_macro_attribute]
pub fn saga(args: TokenStream, item: TokenStream) -> TokenStream {
    debug::shown("#[saga]", model::component(Kind::Saga, args.into(), item.into())).into()
}

#[allow(missing_docs, reason = "documented where it is re-exported")]
#[proc_macro_attribute]
pub fn observer(args: TokenStream, item: TokenStream) -> TokenStream {
    debug::shown("#[observer]", model::component(Kind::Observer, args.into(), item.into())).into()
}

#[allow(missing_docs, reason = "documented where it is re-exported")]
#[proc_macro_attribute]
pub fn event_handler(args: TokenStream, item: TokenStream) -> TokenStream {
    debug::shown("#[event_handler]", model::event_handler(args.into(), &item.into())).into()
}

#[allow(missing_docs, reason = "documented where it is re-exported")]
#[proc_macro_attribute]
pub fn saga_event_handler(args: TokenStream, item: TokenStream) -> TokenStream {
    debug::shown("#[saga_event_handler]", model::saga_event_handler(args.into(), &item.into())).into()
}

#[allow(missing_docs, reason = "documented where it is re-exported")]
#[proc_macro_attribute]
pub fn inject(_args: TokenStream, item: TokenStream) -> TokenStream {
    model::stray("#[inject]", &item.into()).into()
}

#[allow(missing_docs, reason = "documented where it is re-exported")]
#[proc_macro_attribute]
pub fn on_start(args: TokenStream, item: TokenStream) -> TokenStream {
    debug::shown("#[on_start]", model::hook(Hook::Start, args.into(), &item.into())).into()
}

#[allow(missing_docs, reason = "documented where it is re-exported")]
#[proc_macro_attribute]
pub fn on_reset(args: TokenStream, item: TokenStream) -> TokenStream {
    debug::shown("#[on_reset]", model::hook(Hook::Reset, args.into(), &item.into())).into()
}

#[allow(missing_docs, reason = "documented where it is re-exported")]
#[proc_macro_derive(Event, attributes(event))]
pub fn event(item: TokenStream) -> TokenStream {
    debug::shown("#[derive(Event)]", event::derive(item.into())).into()
}
