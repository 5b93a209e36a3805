//! The options of components and handlers, with their own rules.

use proc_macro2::{Span, TokenStream};
use syn::{Expr, Member, Signature, Type};

use super::{CratePath, Executor, Hook, Joined, Kind, SagaHandler, state};
use crate::args::{self, Arg, Args, HANDLER, SAGA_HANDLER, check_name};
use crate::errors::{Errors, did_you_mean};
use crate::names::{self, CONTEXT_RULE, is_context, overlap, prefix};

/// As given; nothing is filled in that was not said.
#[derive(Default)]
pub(crate) struct ComponentOptions {
    pub(crate) version: u32,
    pub(crate) name: Option<String>,
    /// Whether `start` is "head".
    pub(crate) head: Option<bool>,
    pub(crate) wait_for_head: Option<bool>,
    pub(crate) contexts: Vec<String>,
    /// Whether `checkpoint` is "watermark".
    pub(crate) watermark: Option<bool>,
    /// Whether `dead_letter` is "park".
    pub(crate) park: Option<bool>,
    pub(crate) redrive_transient: Option<u64>,
    pub(crate) krate: CratePath,
}

impl ComponentOptions {
    pub(crate) fn read(kind: Kind, tokens: TokenStream, errors: &mut Errors) -> Self {
        let args = args::read(kind.attribute(), kind.keys(), tokens, errors);
        let mut options = Self::default();
        if !args.meant("version") {
            let word = kind.word();
            errors.at(Span::call_site(), format_args!("`#[{word}]` must have a version: `#[{word}(version = 1)]`"));
        }
        for arg in args.list {
            match arg.key.name {
                "version" => match arg.number(errors) {
                    Some(0) => arg.refuse(errors),
                    Some(version) => options.version = version,
                    None => {}
                },
                "name" => options.name = arg.name(errors),
                "start" => options.head = one_of_two(&arg, ["beginning", "head"], errors),
                "wait_for_head" => options.wait_for_head = arg.bool(errors),
                "contexts" => options.contexts = contexts(&arg, errors),
                "checkpoint" => options.watermark = one_of_two(&arg, ["on-start", "watermark"], errors),
                "dead_letter" => options.park = one_of_two(&arg, ["skip", "park"], errors),
                "redrive_transient" => options.redrive_transient = arg.micros(errors),
                _ => options.krate = arg.crate_path(errors),
            }
        }
        options
    }
}

/// Whether it is the second of the two words.
fn one_of_two(arg: &Arg, words: [&'static str; 2], errors: &mut Errors) -> Option<bool> {
    let text = arg.string(errors)?;
    let value = text.value();
    let found = words.iter().position(|word| *word == value);
    if found.is_none() {
        let guess = did_you_mean(&value.replace('_', "-"), words);
        let (name, [first, second]) = (arg.key.name, words);
        errors.on(text, format_args!("`{name}` must be \"{first}\" or \"{second}\"{guess}"));
    }
    found.map(|index| index == 1)
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
    /// The way to the field that its events are ordered by.
    pub(crate) key: Option<Vec<Member>>,
    pub(crate) retry: Option<i32>,
    pub(crate) retry_delay: Option<u64>,
    pub(crate) max_delay: Option<u64>,
    pub(crate) timeout: Option<u64>,
    /// Where `on_timeout = "abandon"` stands.
    pub(crate) abandon: Option<Span>,
    pub(crate) batch: Option<u32>,
    pub(crate) linger: Option<u64>,
    /// Whether `batch` was given or meant, sound or not, and where it was given.
    pub(super) says_batch: bool,
    pub(super) batch_at: Option<Span>,
}

impl HandlerOptions {
    /// What a plain `fn` cannot have.
    pub(super) fn check_async(&self, sig: &Signature, errors: &mut Errors) {
        if let (Some(span), None) = (self.abandon, sig.asyncness) {
            let name = names::plain(&sig.ident);
            errors.at(
                span,
                format_args!(
                    "`on_timeout` must be left out: `{name}` is a plain `fn`, and a running thread cannot be ended"
                ),
            );
        }
    }
}

/// Options that only handlers of sagas have.
#[derive(Default)]
pub(super) struct SagaOptions {
    pub(super) init: bool,
    /// Whether `init` was given or meant, and not as `false`.
    pub(super) says_init: bool,
    /// Whether `association` was given or meant, sound or not.
    pub(super) says_association: bool,
    /// The way to the field, and what instances are found by.
    pub(super) association: Option<(Vec<Member>, String)>,
}

/// What a handler of a saga without one is told.
pub(super) const NO_ASSOCIATION: &str = "`#[saga_event_handler]` must have an association, the field of the event that \
                                         instances are found by: `#[saga_event_handler(association = order_id)]`";

impl SagaOptions {
    /// `state` is the `&mut S` of the signature.
    pub(super) fn with_state(self, state: &Type) -> Option<SagaHandler> {
        let (association, property) = self.association?;
        Some(SagaHandler { state: state::of(state)?.clone(), init: self.init, association, property })
    }
}

/// Options that only free functions have.
#[derive(Default)]
pub(super) struct FreeOptions {
    pub(super) joined: Option<Joined>,
    /// Whether a component was given or meant, sound or not.
    pub(super) says_component: bool,
    pub(super) krate: CratePath,
}

/// Options of a method with `#[event_handler]`.
pub(super) fn of_method(kind: Kind, tokens: TokenStream, errors: &mut Errors) -> HandlerOptions {
    let mut options = HandlerOptions::default();
    let mut args = args::read("#[event_handler]", HANDLER, tokens, errors);
    let rest = read_handler(&mut args, &mut options, errors);
    options.check_kind(kind, errors);
    belongs_to_the_block(kind, rest, errors);
    options
}

/// Options of a method with `#[saga_event_handler]`.
pub(super) fn of_saga_method(tokens: TokenStream, errors: &mut Errors) -> (HandlerOptions, SagaOptions) {
    let mut options = HandlerOptions::default();
    let mut args = args::read("#[saga_event_handler]", SAGA_HANDLER, tokens, errors);
    let rest = read_handler(&mut args, &mut options, errors);
    let (saga, rest) = read_saga(&args, rest, errors);
    belongs_to_the_block(Kind::Saga, rest, errors);
    (options, saga)
}

fn belongs_to_the_block(kind: Kind, rest: Vec<Arg>, errors: &mut Errors) {
    for arg in rest {
        let name = arg.key.name;
        if name == "crate" {
            let attribute = kind.attribute();
            errors.at(arg.span, format_args!("`crate` must be given on `{attribute}`, for the whole block"));
        } else {
            errors
                .at(arg.span, format_args!("`{name}` must be left out: the handler belongs to the block it stands in"));
        }
    }
}

/// Options of a free function with `#[event_handler]`.
pub(super) fn of_function(tokens: TokenStream, errors: &mut Errors) -> (HandlerOptions, FreeOptions) {
    let mut options = HandlerOptions::default();
    let mut args = args::read("#[event_handler]", HANDLER, tokens, errors);
    let rest = read_handler(&mut args, &mut options, errors);
    let free = read_free(&args, rest, errors);
    if let Some(joined) = &free.joined {
        options.check_kind(joined.kind, errors);
    }
    (options, free)
}

/// Options of a free function with `#[saga_event_handler]`.
pub(super) fn of_saga_function(tokens: TokenStream, errors: &mut Errors) -> (HandlerOptions, SagaOptions, FreeOptions) {
    let mut options = HandlerOptions::default();
    let mut args = args::read("#[saga_event_handler]", SAGA_HANDLER, tokens, errors);
    let rest = read_handler(&mut args, &mut options, errors);
    let (saga, rest) = read_saga(&args, rest, errors);
    (options, saga, read_free(&args, rest, errors))
}

/// Options of a free function that is a hook.
pub(super) fn of_free_hook(which: Hook, tokens: TokenStream, errors: &mut Errors) -> FreeOptions {
    let keys = match which {
        Hook::Start => args::ON_START,
        Hook::Reset => args::ON_RESET,
    };
    let mut args = args::read(which.shown(), keys, tokens, errors);
    let list = std::mem::take(&mut args.list);
    read_free(&args, list, errors)
}

fn read_free(args: &Args, rest: Vec<Arg>, errors: &mut Errors) -> FreeOptions {
    let says_component = ["projector", "saga", "observer"].iter().any(|word| args.meant(word));
    let mut free = FreeOptions { says_component, ..FreeOptions::default() };
    let mut first: Option<&str> = None;
    for arg in rest {
        let name = arg.key.name;
        let kind = match name {
            "projector" => Kind::Projector,
            "saga" => Kind::Saga,
            "observer" => Kind::Observer,
            _ => {
                free.krate = arg.crate_path(errors);
                continue;
            }
        };
        if let Some(first) = first.replace(name) {
            errors
                .at(arg.span, format_args!("`{name}` must not stand beside `{first}`: a function joins one component"));
        }
        free.joined = arg.path(errors).map(|path| Joined { kind, path });
    }
    free
}

/// What only handlers of sagas say; gives back the rest.
fn read_saga(args: &Args, list: Vec<Arg>, errors: &mut Errors) -> (SagaOptions, Vec<Arg>) {
    let mut saga = SagaOptions {
        says_init: args.meant("init"),
        says_association: args.meant("association"),
        ..SagaOptions::default()
    };
    let mut rest = Vec::new();
    let (mut field, mut property, mut says_property) = (None, None, args.meant("property"));
    for arg in list {
        match arg.key.name {
            "init" => {
                let value = arg.bool(errors);
                saga.init = value == Some(true);
                saga.says_init = value != Some(false);
            }
            "association" => field = arg.members(errors).map(|members| (members, arg)),
            "property" => {
                says_property = true;
                property = arg.string(errors).and_then(|text| {
                    let value = text.value();
                    let sound = is_context(&value) && !value.contains('\0');
                    if !sound {
                        errors.on(text, format_args!("`property` must have {CONTEXT_RULE}, and no NUL"));
                    }
                    sound.then_some(value)
                });
            }
            _ => rest.push(arg),
        }
    }
    if let Some((members, arg)) = field {
        let own = match members.last() {
            Some(Member::Named(ident)) => Some(names::plain(ident)),
            _ => None,
        };
        if own.is_none() && !says_property {
            errors.on(
                &arg.value,
                "`association` must have a `property` beside it where the field has no name: `property = \"order_id\"`",
            );
        }
        saga.association = property.or(own).map(|property| (members, property));
    }
    (saga, rest)
}

/// Fills in what all handlers may say; gives back the rest.
fn read_handler(args: &mut Args, options: &mut HandlerOptions, errors: &mut Errors) -> Vec<Arg> {
    let (says_timeout, says_executor) = (args.meant("timeout"), args.meant("executor"));
    options.says_batch = args.meant("batch");
    let mut timed: Option<Span> = None;
    let mut rest = Vec::new();
    let mut delays: [Option<Expr>; 2] = [None, None];
    for arg in std::mem::take(&mut args.list) {
        match arg.key.name {
            "executor" => options.executor = executor(&arg, errors),
            "key" => {
                options.key = arg.members(errors);
                if !says_executor {
                    errors.at(
                        arg.span,
                        "`key` must have an `executor` beside it: without one the handler runs after all that was before",
                    );
                }
            }
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
            "timeout" => {
                options.timeout = arg.micros(errors);
                timed = Some(arg.span);
            }
            "batch" => {
                options.batch_at = Some(arg.span);
                match arg.number(errors) {
                    Some(0) => arg.refuse(errors),
                    batch => options.batch = batch,
                }
            }
            "linger" => {
                options.linger = arg.micros(errors);
                if !options.says_batch {
                    errors.at(arg.span, "`linger` must have a `batch` beside it: `batch = 500`");
                }
            }
            "on_timeout" => {
                options.abandon = on_timeout(&arg, says_timeout, errors).then_some(arg.span);
            }
            _ => rest.push(arg),
        }
    }
    if let (Some(span), Some(_)) = (timed, options.batch_at) {
        errors.at(span, "`timeout` must not stand beside `batch`: the time of an attempt is limited for one event");
    }
    if let (Some(delay), Some(max), [_, Some(value)]) = (options.retry_delay, options.max_delay, &delays)
        && max < delay
    {
        errors.on(value, "`max_delay` must not be shorter than `retry_delay`");
    }
    rest
}

/// Whether it is "abandon".
fn on_timeout(arg: &Arg, says_timeout: bool, errors: &mut Errors) -> bool {
    let text = arg.string(errors);
    let sound = text.as_ref().is_some_and(|text| text.value() == "abandon");
    if let (Some(text), false) = (text, sound) {
        let guess = did_you_mean(&text.value(), ["abandon"]);
        errors.on(text, format_args!("`on_timeout` must be \"abandon\"{guess}"));
    }
    if !says_timeout {
        errors.at(arg.span, "`on_timeout` must have a `timeout` beside it: `timeout = \"30s\"`");
    }
    sound
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
