//! Rows: one call for a handler or a hook, with the shim that runs it.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Ident, Member, Type};

use super::here;
use crate::model::{Argument, Executor, Handler, Method, SagaHandler};
use crate::names::{at, plain};

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

/// One call: the handler, its settings, and the shim that runs it. `owner` is `Self::`, or nothing.
pub(super) fn handler_row(rt: &TokenStream, handler: &Handler, owner: &TokenStream) -> TokenStream {
    let Handler { method, event, options, saga } = handler;
    let name = plain(&method.ident);
    let here = here(rt, method.ident.span());
    let shim = shim(rt, handler, owner);
    let saga = saga.as_ref().map(|saga| saga_part(rt, event, saga));
    let executor = options.executor.as_ref().map(|executor| match executor {
        Executor::Name(name) => quote!(.executor(#name)),
        Executor::Constant(path) => quote!(.executor(#path)),
    });
    let key = options.key.as_ref().map(|members| key_part(rt, event, members));
    let retry = options.retry.map(|retry| quote!(.retry(#retry)));
    let retry_delay = options.retry_delay.map(|micros| quote!(.retry_delay(#micros)));
    let max_delay = options.max_delay.map(|micros| quote!(.max_delay(#micros)));
    let timeout = options.timeout.map(|micros| quote!(.timeout(#micros)));
    let abandon = options.abandon.map(|_| quote!(.abandon()));
    let batch = options.batch.map(|most| quote!(.batch(#most)));
    let linger = options.linger.map(|micros| quote!(.linger(#micros)));
    let needs = needs(rt, "needs", &method.args);
    let transaction = method.args.iter().find_map(|arg| match arg {
        Argument::Transaction(database) => Some(quote!(.transaction::<#database>())),
        Argument::Extractor(_) => None,
    });
    let docs = (!method.docs.is_empty()).then(|| {
        let docs = &method.docs;
        quote!(.docs(#docs))
    });
    quote! {
        #rt::handler::<#event>(#name, #here, #shim)
            #saga #executor #key #retry #retry_delay #max_delay #timeout #abandon #batch #linger #needs #transaction #docs
    }
}

/// A closure without captures. Each token stands where a mistake in it belongs: the call at the method's name, each
/// argument at its type, the outcome at the returned type.
fn shim(rt: &TokenStream, handler: &Handler, owner: &TokenStream) -> TokenStream {
    let Handler { method, event, saga, options } = handler;
    let context = local("__context");
    let mut arguments = Arguments::default();
    if !owner.is_empty() {
        arguments.this(rt, "this", method, &context);
    }
    arguments.take(rt, if options.batch.is_some() { "events" } else { "event" }, event, &context);
    let state = saga.as_ref().map(|saga| arguments.lend(rt, "saga_state", &saga.state, &context));
    for arg in &method.args {
        match arg {
            Argument::Extractor(ty) => arguments.take(rt, "extract", ty, &context),
            Argument::Transaction(database) => arguments.borrow(rt, database, &context),
        }
    }
    let convert = Convert {
        function: if saga.is_some() { "saga_outcome" } else { "outcome" },
        state: state.map(|state| quote!(&#state, &#context)),
    };
    if method.is_async {
        let run = awaited(rt, method, &convert, owner, &arguments);
        quote!(#rt::Invoke::Async(|#context| #run))
    } else {
        let call = arguments.call(method, owner);
        let outcome = converted(rt, method, &convert, &call);
        let lets = &arguments.lets;
        quote!(#rt::Invoke::Blocking(|#context| { #lets #outcome }))
    }
}

/// What finds the instance: the field stands at the user's token, so that the compiler says what there is instead.
fn saga_part(rt: &TokenStream, event: &Type, saga: &SagaHandler) -> TokenStream {
    let SagaHandler { state, init, association, property } = saga;
    let value = field_value(rt, event, association);
    quote! {
        .saga(#rt::saga_row(#init, #property, #value))
        .state::<#state>()
    }
}

/// What the events of a handler are ordered by.
fn key_part(rt: &TokenStream, event: &Type, members: &[Member]) -> TokenStream {
    let names = members.iter().map(|member| match member {
        Member::Named(ident) => plain(ident),
        Member::Unnamed(index) => index.index.to_string(),
    });
    let field = names.collect::<Vec<_>>().join(".");
    let value = field_value(rt, event, members);
    quote!(.key(#rt::key_row(#field, #value)))
}

/// A closure that decodes the event and gives the value of a field, or of a field of a field.
fn field_value(rt: &TokenStream, event: &Type, members: &[Member]) -> TokenStream {
    let (context, decoded) = (local("__context"), local("__event"));
    let get = argument(rt, event.span(), "event", event, &quote!(#context));
    let place = members.last().map_or_else(Span::call_site, Spanned::span);
    let rt_here = moved(rt, place);
    let value = quote_spanned!(at(place)=> (&#rt_here::Field(&#decoded #(.#members)*)).value());
    quote! {
        |#context| {
            use #rt::{MaybeField as _, SureField as _};
            let #decoded = #get;
            #rt::Result::Ok(#value)
        }
    }
}

/// Named so that nothing of the user's can be meant: a local pattern would also match a constant of its name.
pub(super) fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The arguments of a call, each got by a statement of its own.
#[derive(Default)]
struct Arguments {
    lets: TokenStream,
    /// What is got once nothing else can fail: it does not come back by itself.
    last: TokenStream,
    passed: Vec<TokenStream>,
    /// What becomes of it after the call.
    after: TokenStream,
}

impl Arguments {
    fn this(&mut self, rt: &TokenStream, function: &str, method: &Method, from: &Ident) {
        let this = local("__this");
        let get = argument(rt, method.ident.span(), function, &quote!(Self), &quote!(&#from));
        self.lets.extend(quote!(let #this = #get;));
        self.passed.push(quote!(&#this));
    }

    fn take(&mut self, rt: &TokenStream, function: &str, ty: &Type, from: &Ident) {
        let name = local(&format!("__{}", self.passed.len()));
        let get = argument(rt, ty.span(), function, ty, &quote!(&#from));
        self.lets.extend(quote!(let #name = #get;));
        self.passed.push(quote!(#name));
    }

    /// One that the method may change, and that is looked at afterwards.
    fn lend(&mut self, rt: &TokenStream, function: &str, ty: &Type, from: &Ident) -> Ident {
        let name = local(&format!("__{}", self.passed.len()));
        let get = argument(rt, ty.span(), function, ty, &quote!(&#from));
        self.lets.extend(quote!(let mut #name = #get;));
        self.passed.push(quote!(&mut #name));
        name
    }

    /// The transaction. It goes back whatever the call returns, so that it is ended by whoever began it.
    fn borrow(&mut self, rt: &TokenStream, database: &Type, from: &Ident) {
        let mut name = local(&format!("__{}", self.passed.len()));
        // What is wrong with the database is said at its name, wherever it turns up.
        name.set_span(name.span().located_at(database.span()));
        let get = argument(rt, database.span(), "transaction", database, &quote!(&#from));
        let give_back = named(rt, database.span(), "give_back");
        self.last.extend(quote_spanned!(at(database.span())=> let mut #name = #get;));
        self.passed.push(quote_spanned!(at(database.span())=> &mut #name));
        self.after.extend(quote_spanned!(at(database.span())=> #give_back::<#database>(&#from, #name);));
    }

    fn call(&self, method: &Method, owner: &TokenStream) -> TokenStream {
        let function = &method.ident;
        let passed = &self.passed;
        quote_spanned!(at(function.span())=> #owner #function(#(#passed),*))
    }
}

/// A function of the hidden module, standing at the user's token.
pub(super) fn named(rt: &TokenStream, span: Span, function: &str) -> TokenStream {
    let rt = moved(rt, span);
    let function = Ident::new(function, at(span));
    quote_spanned!(at(span)=> #rt::#function)
}

fn argument(rt: &TokenStream, span: Span, function: &str, ty: &impl ToTokens, from: &TokenStream) -> TokenStream {
    let function = named(rt, span, function);
    quote_spanned!(at(span)=> #function::<#ty>(#from)?)
}

/// The function that turns what was returned into an outcome.
struct Convert {
    function: &'static str,
    /// What it takes besides, in a saga.
    state: Option<TokenStream>,
}

impl Convert {
    const fn by(function: &'static str) -> Self {
        Self { function, state: None }
    }
}

/// The returned type is written out, so that the compiler has a place for what is wrong with it.
fn converted(rt: &TokenStream, method: &Method, convert: &Convert, call: &TokenStream) -> TokenStream {
    let place = method.output.as_ref().map_or_else(|| method.ident.span(), Spanned::span);
    let function = named(rt, place, convert.function);
    let of_state = convert.state.as_ref().map(|_| quote!(, _));
    let output = method.output.as_ref().map(|ty| quote_spanned!(at(place)=> ::<#ty #of_state>));
    let state = convert.state.as_ref().map(|state| quote!(, #state));
    quote_spanned!(at(place)=> #function #output (#call #state))
}

/// One boxed future that calls, waits, and converts what came back.
fn awaited(rt: &TokenStream, method: &Method, convert: &Convert, owner: &TokenStream, from: &Arguments) -> TokenStream {
    let call = from.call(method, owner);
    let call = quote_spanned!(at(method.ident.span())=> #call.await);
    let mut outcome = converted(rt, method, convert, &call);
    let Arguments { lets, last, after, .. } = from;
    if !after.is_empty() {
        let kept = local("__outcome");
        outcome = quote!(let #kept = #outcome; #after #kept);
    }
    let run = named(rt, method.ident.span(), "run");
    quote_spanned!(at(method.ident.span())=> #run(async move { #lets #last #outcome }))
}

/// One call, as for a handler. `owner` is `Self::`, or nothing.
pub(super) fn hook_row(rt: &TokenStream, hook: &Method, owner: &TokenStream) -> TokenStream {
    let name = plain(&hook.ident);
    let here = here(rt, hook.ident.span());
    let needs = needs(rt, "start_needs", &hook.args);
    let scope = local("__scope");
    let mut arguments = Arguments::default();
    if !owner.is_empty() {
        arguments.this(rt, "start_this", hook, &scope);
    }
    for arg in &hook.args {
        if let Argument::Extractor(ty) = arg {
            arguments.take(rt, "start_extract", ty, &scope);
        }
    }
    let run = awaited(rt, hook, &Convert::by("started"), owner, &arguments);
    // A parameter nobody reads is a warning in the user's crate.
    let scope = if owner.is_empty() && hook.args.is_empty() { quote!(_) } else { quote!(#scope) };
    quote!(#rt::hook(#name, #here, |#scope| #run) #needs)
}

fn needs(rt: &TokenStream, function: &str, args: &[Argument]) -> Option<TokenStream> {
    let lists = args.iter().filter_map(|arg| {
        let Argument::Extractor(ty) = arg else { return None };
        let function = named(rt, ty.span(), function);
        Some(quote_spanned!(at(ty.span())=> #function::<#ty>()))
    });
    let lists: Vec<_> = lists.collect();
    (!lists.is_empty()).then(|| quote!(.needs(&[#(#lists),*])))
}
