//! Writes the code; the only folder that does. Everything it writes stands in one `const _`, names everything by a path
//! of the hidden module, and calls generic functions of `evento_runtime::__private`, so that a handler costs one small row.

mod event;
mod row;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Ident, Path, Type};

use crate::errors::Errors;
use crate::model::{Block, Component, FreeHandler, FreeHook, Hook, Inject, Joined, Kind, Shape};
use crate::names::{at, line};
use row::{handler_row, hook_row, local, named};

pub(crate) use event::event;

/// What stands in for a component that has mistakes, so that `.register::<T>()` does not complain as well.
pub(crate) struct Stub<'a> {
    pub(crate) krate: Option<&'a Path>,
    pub(crate) ty: &'a Type,
    /// Its kind, if free functions may join it.
    pub(crate) open: Option<Kind>,
    pub(crate) carried: &'a [Attribute],
}

/// The mistakes, and the user's own item all the same.
pub(crate) fn failed(errors: Errors, item: &TokenStream, stub: Option<Stub<'_>>) -> TokenStream {
    let errors = errors.into_tokens();
    let stub = stub.map(|Stub { krate, ty, open, carried }| {
        let (rt, import) = runtime(krate);
        let open = open.map(|kind| {
            let open = ident(kind.open());
            quote! {
                impl #rt::OpenComponent for #ty {}
                impl #rt::#open for #ty {}
            }
        });
        quote! {
            #(#carried)*
            const _: () = {
                #import
                impl #rt::Component for #ty {
                    const DEF: &'static #rt::ComponentDef = &#rt::ComponentDef::unsound::<Self>();
                }
                #open
            };
        }
    });
    quote!(#item #errors #stub)
}

/// The short name of the hidden module inside of a `const _`, and the `use` that makes it one.
fn runtime(krate: Option<&Path>) -> (TokenStream, TokenStream) {
    let path = krate.map_or_else(|| quote!(::evento_runtime), ToTokens::to_token_stream);
    (quote!(__evento), quote!(use #path::__private as __evento;))
}

/// The user's item and the registration of its component.
pub(crate) fn component(component: &Component, item: &TokenStream) -> TokenStream {
    let Component { kind, krate, ty, name, options, shape, docs, at: place, carried } = component;
    let (rt, import) = &runtime(krate.as_ref());
    let version = options.version;
    let here = here(rt, *place);
    let start = options.head.map(|head| {
        let start = if head { quote!(Head) } else { quote!(Beginning) };
        quote!(.start(#rt::StartFrom::#start))
    });
    let wait_for_head = options.wait_for_head.map(|wait| quote!(.wait_for_head(#wait)));
    let contexts = (!options.contexts.is_empty()).then(|| {
        let contexts = &options.contexts;
        quote!(.contexts(&[#(#contexts),*]))
    });
    let checkpoint = options.watermark.map(|watermark| {
        let mode = if watermark { quote!(Watermark) } else { quote!(OnStart) };
        quote!(.checkpoint(#rt::CheckpointMode::#mode))
    });
    let dead_letter = options.park.map(|park| {
        let policy = if park { quote!(Park) } else { quote!(Skip) };
        quote!(.dead_letter(#rt::DeadLetterPolicy::#policy))
    });
    let redrive = options.redrive_transient.map(|micros| quote!(.redrive_transient(#micros)));
    let docs = (!docs.is_empty()).then(|| quote!(.docs(#docs)));
    let (build, rest, open) = match shape {
        Shape::Open => {
            let open = ident(kind.open());
            let open = quote! {
                #[automatically_derived]
                impl #rt::OpenComponent for #ty {}
                #[automatically_derived]
                impl #rt::#open for #ty {}
            };
            (quote!(#rt::Build::Unit), None, Some(open))
        }
        Shape::Block(block) => {
            let Block { inject, on_start, on_reset, handlers } = &**block;
            let build = match inject {
                Some(inject) => build(rt, inject),
                None => quote!({
                    use #rt::OnlyGiven as _;
                    #rt::Made::<Self>::BUILD
                }),
            };
            let on_start = on_start.as_ref().map(|hook| {
                let hook = hook_row(rt, hook, &quote!(Self::));
                quote!(.on_start(#hook))
            });
            let on_reset = on_reset.as_ref().map(|hook| {
                let hook = hook_row(rt, hook, &quote!(Self::));
                quote!(.on_reset(#hook))
            });
            let rows = handlers.iter().map(|handler| {
                let carried = &handler.method.carried;
                let row = handler_row(rt, handler, &quote!(Self::));
                quote!(#(#carried)* #row)
            });
            (build, Some(quote!(#on_start #on_reset .handlers(&[#(#rows),*]))), None)
        }
    };
    let kind = ident(kind.word());
    quote! {
        #item
        #(#carried)*
        const _: () = {
            #import
            #[automatically_derived]
            impl #rt::Component for #ty {
                const DEF: &'static #rt::ComponentDef =
                    &#rt::#kind::<Self>(#name, #version, #build, #here)
                        #start #wait_for_head #contexts #checkpoint #dead_letter #redrive #docs #rest;
            }
            #open
            #rt::inventory::submit! { #rt::component::<#ty>() }
        };
    }
}

/// The user's function and its registration.
pub(crate) fn free_handler(free: &FreeHandler, item: &TokenStream) -> TokenStream {
    let (rt, import) = &runtime(free.krate.as_ref());
    let carried = &free.handler.method.carried;
    let row = handler_row(rt, &free.handler, &TokenStream::new());
    let component = joined(rt, &free.joined);
    quote! {
        #item
        #(#carried)*
        const _: () = {
            #import
            static HANDLER: #rt::FreeHandler = #rt::FreeHandler { component: #component, handler: #row };
            #rt::inventory::submit! { #rt::Registered::Handler(&HANDLER) }
        };
    }
}

/// The user's function and its registration as a hook.
pub(crate) fn free_hook(free: &FreeHook, item: &TokenStream) -> TokenStream {
    let (rt, import) = &runtime(free.krate.as_ref());
    let carried = &free.hook.carried;
    let row = hook_row(rt, &free.hook, &TokenStream::new());
    let component = joined(rt, &free.joined);
    let registered = match free.which {
        Hook::Start => quote!(Hook),
        Hook::Reset => quote!(Reset),
    };
    quote! {
        #item
        #(#carried)*
        const _: () = {
            #import
            static HOOK: #rt::FreeHook = #rt::FreeHook { component: #component, hook: #row };
            #rt::inventory::submit! { #rt::Registered::#registered(&HOOK) }
        };
    }
}

/// The definition of the component a free function joins, which must be one of the kind it says.
fn joined(rt: &TokenStream, joined: &Joined) -> TokenStream {
    let Joined { kind, path } = joined;
    let function = ident(&format!("joined_{}", kind.word()));
    quote!(#rt::#function::<#path>())
}

fn ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

fn build(rt: &TokenStream, inject: &Inject) -> TokenStream {
    let deps = local("__deps");
    let needs = inject.args.iter().map(|arg| {
        let need = named(rt, arg.span(), "need");
        quote_spanned!(at(arg.span())=> #need::<#arg>())
    });
    let args = inject.args.iter().map(|arg| {
        let provided = named(rt, arg.span(), "provided");
        quote_spanned!(at(arg.span())=> #provided::<#arg>(#deps)?)
    });
    let function = &inject.ident;
    let deps_or_not = if inject.args.is_empty() { quote!(_) } else { quote!(#deps) };
    quote! {
        #rt::Build::With {
            needs: &[#(#needs),*],
            build: |#deps_or_not| #rt::built(Self::#function(#(#args),*)),
        }
    }
}

/// The crate, module, file and line of a token. `line!()` would be the line of the attribute, for every handler.
fn here(rt: &TokenStream, span: Span) -> TokenStream {
    let line = line(span);
    quote!(#rt::here!(#line))
}
