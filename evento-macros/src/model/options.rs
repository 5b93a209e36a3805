//! The options of `#[projector]` and `#[event_handler]`, with their own rules.

use proc_macro2::{Span, TokenStream};
use syn::{Expr, Path};

use super::{CratePath, Executor};
use crate::args::{self, Arg, HANDLER, HOOK, PROJECTOR, check_name};
use crate::errors::{Errors, did_you_mean};
use crate::names::{CONTEXT_RULE, is_context, overlap, prefix};

/// As given; nothing is filled in that was not said.
#[derive(Default)]
pub(crate) struct ProjectorOptions {
    pub(crate) version: u32,
    pub(crate) name: Option<String>,
    pub(crate) wait_for_head: Option<bool>,
    pub(crate) contexts: Vec<String>,
    /// Whether `checkpoint` is "watermark".
    pub(crate) watermark: Option<bool>,
    pub(crate) krate: CratePath,
}

impl ProjectorOptions {
    pub(crate) fn read(tokens: TokenStream, errors: &mut Errors) -> Self {
        let args = args::read("#[projector]", PROJECTOR, tokens, errors);
        let mut options = Self::default();
        if !args.meant("version") {
            errors.at(Span::call_site(), "`#[projector]` must have a version: `#[projector(version = 1)]`");
        }
        for arg in args.list {
            match arg.key.name {
                "version" => match arg.number(errors) {
                    Some(0) => arg.refuse(errors),
                    Some(version) => options.version = version,
                    None => {}
                },
                "name" => options.name = arg.name(errors),
                "wait_for_head" => options.wait_for_head = arg.bool(errors),
                "contexts" => options.contexts = contexts(&arg, errors),
                "checkpoint" => options.watermark = checkpoint(&arg, errors),
                _ => options.krate = arg.crate_path(errors),
            }
        }
        options
    }
}

fn checkpoint(arg: &Arg, errors: &mut Errors) -> Option<bool> {
    let text = arg.string(errors)?;
    let value = text.value();
    match value.as_str() {
        "on-start" => Some(false),
        "watermark" => Some(true),
        _ => {
            let guess = did_you_mean(&value.replace('_', "-"), ["on-start", "watermark"]);
            errors.on(text, format_args!("`checkpoint` must be \"on-start\" or \"watermark\"{guess}"));
            None
        }
    }
}

fn contexts(arg: &Arg, errors: &mut Errors) -> Vec<String> {
    let mut contexts: Vec<String> = Vec::new();
    let before = errors.count();
    for text in arg.strings(errors) {
        let value = text.value();
        if !is_context(&value) {
            errors.on(&text, format_args!("a context must have {CONTEXT_RULE}"));
        } else if prefix(&value).unwrap_or(&value).contains('*') {
            errors.on(&text, "a context pattern must have its only `*` at the end");
        } else if let Some(other) = contexts.iter().find(|other| overlap(other, &value)) {
            // Each pattern is a consumer of its own: an event in both would be handled twice.
            errors.on(&text, format_args!("`{value}` must not overlap `{other}`"));
        } else {
            contexts.push(value);
        }
    }
    if contexts.is_empty() && errors.count() == before {
        errors.on(&arg.value, "`contexts` must name at least one context; leave it out to listen to all");
    }
    contexts
}

/// As given; nothing is filled in that was not said.
#[derive(Default)]
pub(crate) struct HandlerOptions {
    pub(crate) executor: Option<Executor>,
    pub(crate) retry: Option<i32>,
    pub(crate) retry_delay: Option<u64>,
    pub(crate) max_delay: Option<u64>,
}

/// Options that only free functions have.
#[derive(Default)]
pub(crate) struct FreeOptions {
    pub(crate) projector: Option<Path>,
    /// Whether it was given or meant, sound or not.
    pub(crate) says_projector: bool,
    pub(crate) krate: CratePath,
}

/// Options of a method in a `#[projector]` block.
pub(crate) fn of_method(tokens: TokenStream, errors: &mut Errors) -> HandlerOptions {
    let mut options = HandlerOptions::default();
    let args = args::read("#[event_handler]", HANDLER, tokens, errors);
    for arg in read_handler(args.list, &mut options, errors) {
        let why = match arg.key.name {
            "projector" => "`projector` must be left out: the handler belongs to the block it stands in",
            _ => "`crate` must be given on `#[projector]`, for the whole block",
        };
        errors.at(arg.span, why);
    }
    options
}

/// Options of a free function.
pub(crate) fn of_function(tokens: TokenStream, errors: &mut Errors) -> (HandlerOptions, FreeOptions) {
    let mut options = HandlerOptions::default();
    let args = args::read("#[event_handler]", HANDLER, tokens, errors);
    let mut free = FreeOptions { says_projector: args.meant("projector"), ..FreeOptions::default() };
    for arg in read_handler(args.list, &mut options, errors) {
        match arg.key.name {
            "projector" => free.projector = arg.path(errors),
            _ => free.krate = arg.crate_path(errors),
        }
    }
    (options, free)
}

/// Options of a free function that is a hook.
pub(crate) fn of_free_hook(tokens: TokenStream, errors: &mut Errors) -> FreeOptions {
    let args = args::read("#[on_start]", HOOK, tokens, errors);
    let mut free = FreeOptions { says_projector: args.meant("projector"), ..FreeOptions::default() };
    for arg in args.list {
        match arg.key.name {
            "projector" => free.projector = arg.path(errors),
            _ => free.krate = arg.crate_path(errors),
        }
    }
    free
}

/// Fills in what all handlers may say; gives back the rest.
fn read_handler(args: Vec<Arg>, options: &mut HandlerOptions, errors: &mut Errors) -> Vec<Arg> {
    let mut rest = Vec::new();
    let mut delays: [Option<Expr>; 2] = [None, None];
    for arg in args {
        match arg.key.name {
            "executor" => options.executor = executor(&arg, errors),
            "retry" => match arg.number(errors) {
                Some(retry) if retry >= -1 => options.retry = Some(retry),
                Some(_) => arg.refuse(errors),
                None => {}
            },
            "retry_delay" => {
                options.retry_delay = arg.micros(errors);
                delays[0] = Some(arg.value);
            }
            "max_delay" => {
                options.max_delay = arg.micros(errors);
                delays[1] = Some(arg.value);
            }
            _ => rest.push(arg),
        }
    }
    if let (Some(delay), Some(max), [_, Some(value)]) = (options.retry_delay, options.max_delay, &delays)
        && max < delay
    {
        errors.on(value, "`max_delay` must not be shorter than `retry_delay`");
    }
    rest
}

fn executor(arg: &Arg, errors: &mut Errors) -> Option<Executor> {
    let Some(text) = arg.literal() else {
        // A path is emitted as it is, so that an undeclared constant is the compiler's own error there.
        return arg.path(errors).map(Executor::Constant);
    };
    if text.value().is_empty() {
        errors.on(text, "`executor` must not be empty; leave it out to run in line");
        return None;
    }
    check_name("executor", text, errors).map(Executor::Name)
}
