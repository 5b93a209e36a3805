//! What `#[derive(Event)]` writes.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;

use super::row::named;
use super::runtime;
use crate::event::EventType;
use crate::names::at;

/// The derive's `impl`.
pub(crate) fn event(event: &EventType) -> TokenStream {
    let EventType { krate, ident, name, aliases, context, key, sensitive } = event;
    let (rt, import) = runtime(krate.as_ref());
    let aliases =
        (!aliases.is_empty()).then(|| quote!(const ALIASES: &'static [&'static #rt::str] = &[#(#aliases),*];));
    let context = context.as_ref().map(|context| quote!(const CONTEXT: &'static #rt::str = #context;));
    let sensitive =
        (!sensitive.is_empty()).then(|| quote!(const SENSITIVE: &'static [&'static #rt::str] = &[#(#sensitive),*];));
    let key = key.as_ref().map(|member| {
        // The field keeps the user's span; `&self` must not: it belongs to this method.
        let field = member.to_token_stream();
        let function = named(&rt, member.span(), "key");
        let value = quote_spanned!(at(member.span())=> #function(&self.#field));
        quote! {
            const HAS_KEY: #rt::bool = true;
            fn key(&self) -> #rt::Option<#rt::String> {
                #value
            }
        }
    });
    quote! {
        const _: () = {
            #import
            #[automatically_derived]
            impl #rt::Event for #ident {
                const NAME: &'static #rt::str = #name;
                #aliases
                #context
                #sensitive
                #key
            }
        };
    }
}
