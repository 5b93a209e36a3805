//! Writes the code; the only file that does. Everything it writes stands in one `const _`, names everything by a path
//! of the hidden module, and calls generic functions of `evento_runtime::__private`, so that a handler costs one small row.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Ident, Path, Type};

use crate::errors::Errors;
use crate::event::EventType;
use crate::model::{Block, Component, Executor, FreeHandler, FreeHook, Handler, Inject, Method, Shape};
use crate::names::{at, line, plain};

/// What stands in for a component that has mistakes, so that `.register::<T>()` does not complain as well.
pub(crate) struct Stub<'a> {
    pub(crate) krate: Option<&'a Path>,
    pub(crate) ty: &'a Type,
    pub(crate) open: bool,
    pub(crate) carried: &'a [Attribute],
}

/// The mistakes, and the user's own item all the same.
pub(crate) fn failed(errors: Errors, item: &TokenStream, stub: Option<Stub<'_>>) -> TokenStream {
    let errors = errors.into_tokens();
    let stub = stub.map(|Stub { krate, ty, open, carried }| {
        let (rt, import) = runtime(krate);
        let open = open.then(|| quote!(impl #rt::OpenComponent for #ty {}));
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

/// The same name, standing at the user's token.
fn moved(rt: &TokenStream, span: Span) -> TokenStream {
    rt.clone()
        .into_iter()
        .map(|mut tree| {
            tree.set_span(tree.span().located_at(span));
            tree
        })
        .collect()
}

/// The user's item and the registration of its component.
pub(crate) fn component(component: &Component, item: &TokenStream) -> TokenStream {
    let Component { krate, ty, name, options, shape, docs, at: place, carried } = component;
    let (rt, import) = &runtime(krate.as_ref());
    let version = options.version;
    let here = here(rt, *place);
    let wait_for_head = options.wait_for_head.map(|wait| quote!(.wait_for_head(#wait)));
    let contexts = (!options.contexts.is_empty()).then(|| {
        let contexts = &options.contexts;
        quote!(.contexts(&[#(#contexts),*]))
    });
    let checkpoint = options.watermark.map(|watermark| {
        let mode = if watermark { quote!(Watermark) } else { quote!(OnStart) };
        quote!(.checkpoint(#rt::CheckpointMode::#mode))
    });
    let docs = (!docs.is_empty()).then(|| quote!(.docs(#docs)));
    let (build, rest, open) = match shape {
        Shape::Open => {
            let open = quote! {
                #[automatically_derived]
                impl #rt::OpenComponent for #ty {}
            };
            (quote!(#rt::Build::Unit), None, Some(open))
        }
        Shape::Block(block) => {
            let Block { inject, on_start, handlers } = &**block;
            let build = match inject {
                Some(inject) => build(rt, inject),
                None => quote!({
                    use #rt::OnlyGiven as _;
                    #rt::Made::<Self>::BUILD
                }),
            };
            let on_start = on_start.as_ref().map(|hook| {
                let hook = on_start_row(rt, hook, &quote!(Self::));
                quote!(.on_start(#hook))
            });
            let rows = handlers.iter().map(|handler| {
                let carried = &handler.method.carried;
                let row = handler_row(rt, handler, &quote!(Self::));
                quote!(#(#carried)* #row)
            });
            (build, Some(quote!(#on_start .handlers(&[#(#rows),*]))), None)
        }
    };
    quote! {
        #item
        #(#carried)*
        const _: () = {
            #import
            #[automatically_derived]
            impl #rt::Component for #ty {
                const DEF: &'static #rt::ComponentDef =
                    &#rt::projector::<Self>(#name, #version, #build, #here)
                        #wait_for_head #contexts #checkpoint #docs #rest;
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
    let projector = &free.projector;
    quote! {
        #item
        #(#carried)*
        const _: () = {
            #import
            static HANDLER: #rt::FreeHandler = #rt::FreeHandler::new::<#projector>(#row);
            #rt::inventory::submit! { #rt::Registered::Handler(&HANDLER) }
        };
    }
}

/// The user's function and its registration as a hook.
pub(crate) fn free_hook(free: &FreeHook, item: &TokenStream) -> TokenStream {
    let (rt, import) = &runtime(free.krate.as_ref());
    let carried = &free.hook.carried;
    let row = on_start_row(rt, &free.hook, &TokenStream::new());
    let projector = &free.projector;
    quote! {
        #item
        #(#carried)*
        const _: () = {
            #import
            static HOOK: #rt::FreeHook = #rt::FreeHook::new::<#projector>(#row);
            #rt::inventory::submit! { #rt::Registered::Hook(&HOOK) }
        };
    }
}

/// One call: the handler, its settings, and the shim that runs it. `owner` is `Self::`, or nothing.
fn handler_row(rt: &TokenStream, handler: &Handler, owner: &TokenStream) -> TokenStream {
    let Handler { method, event, options } = handler;
    let name = plain(&method.ident);
    let here = here(rt, method.ident.span());
    let shim = shim(rt, handler, owner);
    let executor = options.executor.as_ref().map(|executor| match executor {
        Executor::Name(name) => quote!(.executor(#name)),
        Executor::Constant(path) => quote!(.executor(#path)),
    });
    let retry = options.retry.map(|retry| quote!(.retry(#retry)));
    let retry_delay = options.retry_delay.map(|micros| quote!(.retry_delay(#micros)));
    let max_delay = options.max_delay.map(|micros| quote!(.max_delay(#micros)));
    let needs = needs(rt, "needs", &method.args);
    let docs = (!method.docs.is_empty()).then(|| {
        let docs = &method.docs;
        quote!(.docs(#docs))
    });
    quote! {
        #rt::handler::<#event>(#name, #here, #shim)
            #executor #retry #retry_delay #max_delay #needs #docs
    }
}

/// A closure without captures. Each token stands where a mistake in it belongs: the call at the method's name, each
/// argument at its type, the outcome at the returned type.
fn shim(rt: &TokenStream, handler: &Handler, owner: &TokenStream) -> TokenStream {
    let Handler { method, event, .. } = handler;
    let context = local("__context");
    let mut arguments = Arguments::default();
    if !owner.is_empty() {
        arguments.this(rt, "this", method, &context);
    }
    arguments.take(rt, "event", event, &context);
    for arg in &method.args {
        arguments.take(rt, "extract", arg, &context);
    }
    if method.is_async {
        let run = awaited(rt, method, "outcome", owner, &arguments);
        quote!(#rt::Invoke::Async(|#context| #run))
    } else {
        let call = arguments.call(method, owner);
        let outcome = converted(rt, method, "outcome", &call);
        let lets = &arguments.lets;
        quote!(#rt::Invoke::Blocking(|#context| { #lets #outcome }))
    }
}

/// Named so that nothing of the user's can be meant: a local pattern would also match a constant of its name.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The arguments of a call, each got by a statement of its own.
#[derive(Default)]
struct Arguments {
    lets: TokenStream,
    passed: Vec<TokenStream>,
}

impl Arguments {
    fn this(&mut self, rt: &TokenStream, function: &str, method: &Method, from: &Ident) {
        let this = local("__this");
        let get = argument(rt, method.ident.span(), function, &quote!(Self), from);
        self.lets.extend(quote!(let #this = #get;));
        self.passed.push(quote!(&#this));
    }

    fn take(&mut self, rt: &TokenStream, function: &str, ty: &Type, from: &Ident) {
        let name = local(&format!("__{}", self.passed.len()));
        let get = argument(rt, ty.span(), function, ty, from);
        self.lets.extend(quote!(let #name = #get;));
        self.passed.push(quote!(#name));
    }

    fn call(&self, method: &Method, owner: &TokenStream) -> TokenStream {
        let function = &method.ident;
        let passed = &self.passed;
        quote_spanned!(at(function.span())=> #owner #function(#(#passed),*))
    }
}

/// A function of the hidden module, standing at the user's token.
fn named(rt: &TokenStream, span: Span, function: &str) -> TokenStream {
    let rt = moved(rt, span);
    let function = Ident::new(function, at(span));
    quote_spanned!(at(span)=> #rt::#function)
}

fn argument(rt: &TokenStream, span: Span, function: &str, ty: &impl ToTokens, from: &Ident) -> TokenStream {
    let function = named(rt, span, function);
    quote_spanned!(at(span)=> #function::<#ty>(&#from)?)
}

/// The returned type is written out, so that the compiler has a place for what is wrong with it.
fn converted(rt: &TokenStream, method: &Method, convert: &str, call: &TokenStream) -> TokenStream {
    let place = method.output.as_ref().map_or_else(|| method.ident.span(), Spanned::span);
    let convert = named(rt, place, convert);
    let output = method.output.as_ref().map(|ty| quote_spanned!(at(place)=> ::<#ty>));
    quote_spanned!(at(place)=> #convert #output (#call))
}

/// One boxed future that calls, waits, and converts what came back.
fn awaited(rt: &TokenStream, method: &Method, convert: &str, owner: &TokenStream, from: &Arguments) -> TokenStream {
    let call = from.call(method, owner);
    let call = quote_spanned!(at(method.ident.span())=> #call.await);
    let outcome = converted(rt, method, convert, &call);
    let lets = &from.lets;
    let run = named(rt, method.ident.span(), "run");
    quote_spanned!(at(method.ident.span())=> #run(async move { #lets #outcome }))
}

/// One call, as for a handler. `owner` is `Self::`, or nothing.
fn on_start_row(rt: &TokenStream, hook: &Method, owner: &TokenStream) -> TokenStream {
    let name = plain(&hook.ident);
    let here = here(rt, hook.ident.span());
    let needs = needs(rt, "start_needs", &hook.args);
    let scope = local("__scope");
    let mut arguments = Arguments::default();
    if !owner.is_empty() {
        arguments.this(rt, "start_this", hook, &scope);
    }
    for arg in &hook.args {
        arguments.take(rt, "start_extract", arg, &scope);
    }
    let run = awaited(rt, hook, "started", owner, &arguments);
    // A parameter nobody reads is a warning in the user's crate.
    let scope = if owner.is_empty() && hook.args.is_empty() { quote!(_) } else { quote!(#scope) };
    quote!(#rt::hook(#name, #here, |#scope| #run) #needs)
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

fn needs(rt: &TokenStream, function: &str, args: &[Type]) -> Option<TokenStream> {
    let lists = args.iter().map(|arg| {
        let function = named(rt, arg.span(), function);
        quote_spanned!(at(arg.span())=> #function::<#arg>())
    });
    (!args.is_empty()).then(|| quote!(.needs(&[#(#lists),*])))
}

/// The crate, module, file and line of a token. `line!()` would be the line of the attribute, for every handler.
fn here(rt: &TokenStream, span: Span) -> TokenStream {
    let line = line(span);
    quote!(#rt::here!(#line))
}

/// The derive's `impl`.
pub(crate) fn event(event: &EventType) -> TokenStream {
    let EventType { krate, ident, name, aliases, context, key } = event;
    let (rt, import) = runtime(krate.as_ref());
    let aliases =
        (!aliases.is_empty()).then(|| quote!(const ALIASES: &'static [&'static #rt::str] = &[#(#aliases),*];));
    let context = context.as_ref().map(|context| quote!(const CONTEXT: &'static #rt::str = #context;));
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
                #key
            }
        };
    }
}
