//! `#[derive(Event)]`.

use proc_macro2::{Ident, Punct, Spacing, TokenStream, TokenTree};
use syn::{Attribute, Data, DeriveInput, Expr, ExprLit, Fields, Index, Lit, LitStr, Member, Meta, Path};

use crate::args::{self, Arg, EVENT};
use crate::errors::{Errors, did_you_mean};
use crate::names::{CONTEXT_RULE, NAME_RULE, is_context, is_name, plain};
use crate::{args::check_name, expand};

/// An event type, sound in every part.
pub(crate) struct EventType {
    pub(crate) krate: Option<Path>,
    pub(crate) ident: Ident,
    pub(crate) name: String,
    pub(crate) aliases: Vec<String>,
    pub(crate) context: Option<String>,
    pub(crate) key: Option<Member>,
    /// Recorded names of fields that are not shown.
    pub(crate) sensitive: Vec<String>,
}

pub(crate) fn derive(item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    let event = read(&input, &mut errors);
    if errors.is_empty() {
        return expand::event(&event);
    }
    // An `impl` all the same where there can be one, so that handlers of this event do not complain as well.
    let sound = input.generics.params.is_empty() && !matches!(input.data, Data::Union(_));
    let stub = sound.then(|| expand::event(&EventType { key: None, ..event }));
    let mut tokens = errors.into_tokens();
    tokens.extend(stub);
    tokens
}

fn read(input: &DeriveInput, errors: &mut Errors) -> EventType {
    let shown = plain(&input.ident);
    if !input.generics.params.is_empty() {
        errors.on(
            &input.generics,
            format_args!("`{shown}` must not be generic: what is recorded under one name has one type"),
        );
    }
    if let Data::Union(union) = &input.data {
        errors.on(union.union_token, format_args!("`{shown}` must be a struct or an enum"));
    }
    let mut event = EventType {
        krate: None,
        ident: input.ident.clone(),
        name: shown.clone(),
        aliases: Vec::new(),
        context: None,
        key: None,
        sensitive: Vec::new(),
    };
    let mut tokens = TokenStream::new();
    for attr in input.attrs.iter().filter(|attr| attr.path().is_ident("event")) {
        match &attr.meta {
            Meta::List(list) => {
                let open = list.tokens.clone().into_iter().last().is_some_and(|last| last.to_string() != ",");
                tokens.extend(list.tokens.clone());
                tokens.extend(open.then(|| TokenTree::from(Punct::new(',', Spacing::Alone))));
            }
            _ => errors.on(attr, "options must stand in parentheses: `#[event(name = \"OrderPlaced\")]`"),
        }
    }
    event.sensitive = on_fields(&input.data, errors);
    let mut named = false;
    for arg in args::read("#[event]", EVENT, tokens, errors).list {
        match arg.key.name {
            "name" => {
                named = true;
                event.name = arg.name(errors).unwrap_or(event.name);
            }
            "alias" => aliases(&arg, &mut event.aliases, errors),
            "context" => event.context = context(&arg, errors),
            "key" => event.key = key(&arg, input, errors),
            _ => event.krate = arg.crate_path(errors),
        }
    }
    if !named && !is_name(&shown) {
        errors
            .on(&input.ident, format_args!("`{shown}` must be given a name of {NAME_RULE}: `#[event(name = \"..\")]`"));
    }
    if event.aliases.contains(&event.name) {
        errors.at(input.ident.span(), format_args!("`{}` must not be an alias of itself", event.name));
    }
    event
}

/// `#[event(sensitive)]`, and `#[event]` where the derive has to allow it and it means nothing.
fn on_fields(data: &Data, errors: &mut Errors) -> Vec<String> {
    let mut sensitive = Vec::new();
    let refuse = |attr: &Attribute, instead: &str, errors: &mut Errors| {
        errors.on(attr, format_args!("`#[event]` must be on the type{instead}"));
    };
    let mut fields = |fields: &Fields, is_struct: bool| {
        for (member, field) in fields.members().zip(fields) {
            for attr in field.attrs.iter().filter(|attr| attr.path().is_ident("event")) {
                if is_sensitive(attr) {
                    hide(attr, &member, &field.attrs, &mut sensitive, errors);
                    continue;
                }
                let instead = if is_struct { format!(": `#[event(key = {})]`", text(&member)) } else { String::new() };
                refuse(attr, &instead, errors);
            }
        }
    };
    match data {
        Data::Struct(data) => fields(&data.fields, true),
        Data::Enum(data) => {
            for variant in &data.variants {
                fields(&variant.fields, false);
            }
            for variant in &data.variants {
                for attr in variant.attrs.iter().filter(|attr| attr.path().is_ident("event")) {
                    refuse(attr, ": all variants are recorded under its one name", errors);
                }
            }
        }
        Data::Union(_) => {}
    }
    sensitive
}

fn is_sensitive(attr: &Attribute) -> bool {
    matches!(&attr.meta, Meta::List(list) if list.tokens.to_string() == "sensitive")
}

/// The names under which a field is recorded: its own, whose spelling `rename_all` may change, and those of `rename`.
fn hide(attr: &Attribute, member: &Member, attrs: &[Attribute], names: &mut Vec<String>, errors: &mut Errors) {
    let Member::Named(ident) = member else {
        return errors.on(attr, "`sensitive` must be on a field with a name, by which its value is found");
    };
    let mut flattened = false;
    names.push(plain(ident));
    for serde in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
        // What serde does not understand is serde's to say.
        let _ = serde.parse_nested_meta(|meta| {
            flattened |= meta.path.is_ident("flatten");
            if meta.path.is_ident("rename") && meta.input.peek(syn::token::Paren) {
                meta.parse_nested_meta(|inner| {
                    names.push(inner.value()?.parse::<LitStr>()?.value());
                    Ok(())
                })?;
            } else if meta.input.peek(syn::Token![=]) {
                let value: Expr = meta.value()?.parse()?;
                if let (true, Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) = (meta.path.is_ident("rename"), value) {
                    names.push(text.value());
                }
            } else if meta.input.peek(syn::token::Paren) {
                let _: TokenTree = meta.input.parse()?;
            }
            Ok(())
        });
    }
    if flattened {
        errors.on(attr, "`sensitive` must not be on a flattened field: it is recorded under the names inside of it");
    }
}

fn aliases(arg: &Arg, aliases: &mut Vec<String>, errors: &mut Errors) {
    for text in arg.strings(errors) {
        let Some(alias) = check_name("alias", &text, errors) else { continue };
        if aliases.contains(&alias) {
            errors.on(&text, format_args!("`{alias}` must be given only once"));
        } else {
            aliases.push(alias);
        }
    }
}

fn context(arg: &Arg, errors: &mut Errors) -> Option<String> {
    let text = arg.string(errors)?;
    let context = text.value();
    if is_context(&context) {
        return Some(context);
    }
    errors.on(text, format_args!("`context` must have {CONTEXT_RULE}"));
    None
}

/// The field is looked up here, so that a wrong name is one sentence.
fn key(arg: &Arg, input: &DeriveInput, errors: &mut Errors) -> Option<Member> {
    let shown = plain(&input.ident);
    let Data::Struct(data) = &input.data else {
        errors.on(&arg.value, format_args!("`key` must be left out: `{shown}` has no field that is always there"));
        return None;
    };
    let wanted = member(&arg.value);
    let Some(wanted) = wanted else {
        arg.refuse(errors);
        return None;
    };
    let fields: Vec<Member> = match &data.fields {
        Fields::Unit => Vec::new(),
        fields => fields.members().collect(),
    };
    if fields.contains(&wanted) {
        return Some(wanted);
    }
    let names: Vec<String> = fields.iter().map(text).collect();
    let guess = did_you_mean(&text(&wanted), names.iter().map(String::as_str));
    errors.on(&arg.value, format_args!("`key` must name a field of `{shown}`{guess}"));
    None
}

fn member(value: &Expr) -> Option<Member> {
    match value {
        Expr::Group(group) => member(&group.expr),
        Expr::Path(path) => path.path.get_ident().cloned().map(Member::Named),
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => {
            Some(Member::Unnamed(Index { index: int.base10_parse().ok()?, span: int.span() }))
        }
        _ => None,
    }
}

fn text(member: &Member) -> String {
    match member {
        Member::Named(ident) => plain(ident),
        Member::Unnamed(index) => index.index.to_string(),
    }
}
