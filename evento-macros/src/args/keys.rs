//! Which options each attribute knows.

/// An option an attribute knows.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// What follows "must be".
    pub(super) expects: &'static str,
    pub(super) example: &'static str,
    pub(super) repeats: bool,
    /// Given without a value it is `true`.
    pub(super) flag: bool,
    /// Known only to be refused, with this sentence.
    pub(super) refused: Option<&'static str>,
}

const fn key(name: &'static str, expects: &'static str, example: &'static str) -> Key {
    Key { name, expects, example, repeats: false, flag: false, refused: None }
}

const fn refused(name: &'static str, why: &'static str) -> Key {
    Key { refused: Some(why), ..key(name, "", "") }
}

const CRATE: Key = key("crate", "the path of `evento_runtime` from the root", "crate = ::evento_runtime");

const VERSION: Key = key("version", "a whole number from 1", "version = 1");
const NAME: Key = key("name", "a string", "name = \"order-view\"");
const START: Key = key("start", "\"beginning\" or \"head\"", "start = \"head\"");
const WAIT_FOR_HEAD: Key = key("wait_for_head", "`true` or `false`", "wait_for_head = true");
const CONTEXTS: Key = key("contexts", "a string or a list of strings", "contexts = [\"shop\", \"tenant-*\"]");

const DEAD_LETTER: Key = key("dead_letter", "\"skip\" or \"park\"", "dead_letter = \"park\"");
const REDRIVE_TRANSIENT: Key =
    key("redrive_transient", "a string with a number and a unit", "redrive_transient = \"5m\"");

const RETRY: Key = key("retry", "a whole number, or -1 for ever", "retry = 3");
const RETRY_DELAY: Key = key("retry_delay", "a string with a number and a unit", "retry_delay = \"500ms\"");
const MAX_DELAY: Key = key("max_delay", "a string with a number and a unit", "max_delay = \"30s\"");

const TIMEOUT: Key = key("timeout", "a string with a number and a unit", "timeout = \"30s\"");

const BATCH: Key = key("batch", "a whole number from 1", "batch = 500");
const LINGER: Key = key("linger", "a string with a number and a unit", "linger = \"5ms\"");

const OF_PROJECTOR: Key = key("projector", "the path of a unit struct with `#[projector]`", "projector = OrderTotals");
const OF_SAGA: Key = key("saga", "the path of a unit struct with `#[saga]`", "saga = FulfilOrder");
const OF_OBSERVER: Key = key("observer", "the path of a unit struct with `#[observer]`", "observer = Receipts");

/// Why a saga has no `#[on_reset]`.
pub(crate) const NO_RESET_OF_SAGA: &str =
    "`#[on_reset]` must belong to a projector: a saga applies no event twice, so it has nothing to clear";
/// Why an observer has none.
pub(crate) const NO_RESET_OF_OBSERVER: &str =
    "`#[on_reset]` must belong to a projector: what an observer has done elsewhere cannot be taken back";

/// Options of `#[projector]`.
pub(crate) const PROJECTOR: &[Key] = &[
    VERSION,
    NAME,
    START,
    WAIT_FOR_HEAD,
    CONTEXTS,
    key("checkpoint", "\"on-start\" or \"watermark\"", "checkpoint = \"watermark\""),
    DEAD_LETTER,
    REDRIVE_TRANSIENT,
    CRATE,
];

/// Options of `#[saga]`.
pub(crate) const SAGA: &[Key] = &[
    VERSION,
    NAME,
    START,
    WAIT_FOR_HEAD,
    CONTEXTS,
    refused("checkpoint", "`checkpoint` must be left out: events of a saga are covered only once they are settled"),
    DEAD_LETTER,
    REDRIVE_TRANSIENT,
    CRATE,
];

/// Options of `#[observer]`.
pub(crate) const OBSERVER: &[Key] = &[
    VERSION,
    NAME,
    START,
    WAIT_FOR_HEAD,
    CONTEXTS,
    refused(
        "checkpoint",
        "`checkpoint` must be left out: events of an observer are covered only once they are settled",
    ),
    DEAD_LETTER,
    REDRIVE_TRANSIENT,
    CRATE,
];

/// Options of `#[event_handler]`.
pub(crate) const HANDLER: &[Key] = &[
    key("executor", "a string or the path of a constant", "executor = \"read-model\""),
    key("key", "a field of the event", "key = customer_id"),
    RETRY,
    RETRY_DELAY,
    MAX_DELAY,
    TIMEOUT,
    key("on_timeout", "\"abandon\"", "on_timeout = \"abandon\""),
    BATCH,
    LINGER,
    OF_PROJECTOR,
    OF_OBSERVER,
    refused("saga", "`saga` must be an option of `#[saga_event_handler]`, which handlers of a saga have"),
    CRATE,
];

/// Options of `#[saga_event_handler]`.
pub(crate) const SAGA_HANDLER: &[Key] = &[
    Key { flag: true, ..key("init", "`true` or `false`", "init = true") },
    key("association", "a field of the event", "association = order_id"),
    key("property", "a string", "property = \"order_id\""),
    RETRY,
    RETRY_DELAY,
    MAX_DELAY,
    TIMEOUT,
    refused(
        "on_timeout",
        "`on_timeout` must be left out: the next event of an instance needs the state that this one leaves, so it is \
         waited for",
    ),
    refused(
        "batch",
        "`batch` must be left out: each event of an instance is handled with the state that the one before it left",
    ),
    refused(
        "linger",
        "`linger` must be left out: it belongs to a `batch`, and events of a saga are handled one by one",
    ),
    OF_SAGA,
    refused(
        "key",
        "`key` must be left out: events of a saga are in the order of their instance, which `association` finds",
    ),
    refused(
        "executor",
        "`executor` must be left out: events of a saga change one state in order, so they run one after the other in the \
         consumer's own loop",
    ),
    refused("projector", "`projector` must be an option of `#[event_handler]`, which handlers of a projector have"),
    refused("observer", "`observer` must be an option of `#[event_handler]`, which handlers of an observer have"),
    CRATE,
];

/// Options of `#[on_start]` on a free function.
pub(crate) const ON_START: &[Key] = &[OF_PROJECTOR, OF_SAGA, OF_OBSERVER, CRATE];

/// Options of `#[on_reset]` on a free function.
pub(crate) const ON_RESET: &[Key] =
    &[OF_PROJECTOR, refused("saga", NO_RESET_OF_SAGA), refused("observer", NO_RESET_OF_OBSERVER), CRATE];

/// Options of `#[event]` below `#[derive(Event)]`.
pub(crate) const EVENT: &[Key] = &[
    key("name", "a string", "name = \"OrderPlaced\""),
    Key { repeats: true, ..key("alias", "a string or a list of strings", "alias = \"OrderCreated\"") },
    key("context", "a string", "context = \"shop\""),
    key("key", "the name of a field", "key = order_id"),
    CRATE,
];
