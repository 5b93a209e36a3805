//! Which setting counts, and who said so: configuration for the component, builder for it, attribute, configuration for
//! all, builder for all, built in.

use std::fmt;
use std::time::Duration;

use super::config::Config;
use crate::component::{ComponentDef, HandlerDef, Kind, Location};
use crate::policy::{
    Batching, CheckpointMode, DEFAULT_MAX_DELAY, DEFAULT_RETRY_DELAY, DeadLetterPolicy, HandlerTimeout, LoopSettings,
    Retention, RetryPolicy, StartFrom,
};

/// Who said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// Nobody: it is the default of this crate.
    BuiltIn,
    /// A call on the builder that concerns all components.
    Builder(Location),
    /// The attribute of the component or handler.
    Attribute(Location),
    /// A call on the builder that names the component.
    Component(Location),
    /// The configuration from outside.
    Config(Location),
}

impl Origin {
    pub(super) const fn location(self) -> Option<Location> {
        match self {
            Self::BuiltIn => None,
            Self::Builder(at) | Self::Attribute(at) | Self::Component(at) | Self::Config(at) => Some(at),
        }
    }
}

impl Origin {
    pub(super) fn to_json(self) -> serde_json::Value {
        let by = match self {
            Self::BuiltIn => "built-in",
            Self::Builder(_) => "bundle",
            Self::Attribute(_) => "attribute",
            Self::Component(_) => "bundle-for-component",
            Self::Config(_) => "config",
        };
        let at = self.location();
        serde_json::json!({ "by": by, "file": at.map(|at| at.file), "line": at.map(|at| at.line) })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::Builder(at) | Self::Component(at) => write!(f, "{at}"),
            Self::Config(at) => write!(f, "config, {at}"),
            // Of what it is said of, whose place is printed beside it.
            Self::Attribute(_) => f.write_str("attribute"),
        }
    }
}

/// A value and who gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting<T> {
    pub(super) value: T,
    pub(super) origin: Origin,
}

impl<T> Setting<T> {
    pub(super) const fn built_in(value: T) -> Self {
        Self { value, origin: Origin::BuiltIn }
    }

    pub(super) const fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }
}

/// Something a builder call said, or the configuration in its place.
pub(super) type Said<T> = Option<(T, Origin)>;

/// What the builder says for all components.
#[derive(Debug, Clone, Default)]
pub(super) struct Defaults {
    pub(super) mode: Said<CheckpointMode>,
    pub(super) page: Said<usize>,
    pub(super) look_ahead: Said<usize>,
    pub(super) look_ahead_bytes: Said<usize>,
    pub(super) window: Said<usize>,
    pub(super) checkpoint_every: Said<usize>,
    pub(super) checkpoint_interval: Said<Duration>,
    pub(super) unclean_ends: Said<u32>,
    pub(super) admission_wait: Said<Duration>,
    pub(super) parked_queue: Said<usize>,
    pub(super) parked_events: Said<usize>,
    pub(super) claim_expiry: Said<Duration>,
    pub(super) dedupe_window: Said<Duration>,
    pub(super) poll_min: Said<Duration>,
    pub(super) poll_max: Said<Duration>,
    pub(super) keep_resolved: Said<Duration>,
    pub(super) keep_audit: Said<Duration>,
    pub(super) keep_events: Said<Duration>,
    pub(super) retry_delay: Said<Duration>,
    pub(super) max_delay: Said<Duration>,
}

/// Sizes and times with their origins.
#[derive(Debug, Clone)]
pub(super) struct Sizes {
    pub(super) page: Setting<usize>,
    pub(super) look_ahead: Setting<usize>,
    pub(super) look_ahead_bytes: Setting<usize>,
    pub(super) window: Setting<usize>,
    pub(super) checkpoint_every: Setting<usize>,
    pub(super) checkpoint_interval: Setting<Duration>,
    pub(super) unclean_ends: Setting<u32>,
    pub(super) admission_wait: Setting<Duration>,
    pub(super) parked_queue: Setting<usize>,
    pub(super) parked_events: Setting<usize>,
    pub(super) claim_expiry: Setting<Duration>,
    pub(super) dedupe_window: Setting<Duration>,
    pub(super) poll_min: Setting<Duration>,
    pub(super) poll_max: Setting<Duration>,
}

/// What the configuration says of one thing wins over everything else.
fn over<T>(setting: &mut Setting<T>, said: Option<(T, Location)>) {
    if let Some((value, at)) = said {
        *setting = Setting::new(value, Origin::Config(at));
    }
}

fn over_or_new<T>(setting: &mut Option<Setting<T>>, said: Option<(T, Location)>) {
    if let Some((value, at)) = said {
        *setting = Some(Setting::new(value, Origin::Config(at)));
    }
}

fn or_built_in<T: Copy>(said: Said<T>, built_in: T) -> Setting<T> {
    said.map_or(Setting::built_in(built_in), |(value, origin)| Setting::new(value, origin))
}

impl Defaults {
    /// The configuration's settings for all take the place of the builder's.
    pub(super) fn take(&mut self, config: &Config) {
        fn put<T>(said: &mut Said<T>, found: Option<(T, Location)>) {
            if let Some((value, at)) = found {
                *said = Some((value, Origin::Config(at)));
            }
        }
        put(&mut self.mode, config.mode(&["checkpoint"]));
        put(&mut self.page, config.size(&["page"]));
        put(&mut self.look_ahead, config.size(&["look_ahead"]));
        put(&mut self.look_ahead_bytes, config.size(&["look_ahead_bytes"]));
        put(&mut self.window, config.size(&["window"]));
        put(&mut self.checkpoint_every, config.size(&["checkpoint_every"]));
        put(&mut self.unclean_ends, config.count(&["unclean_ends"]));
        put(&mut self.checkpoint_interval, config.time(&["checkpoint_interval"]));
        put(&mut self.admission_wait, config.time(&["admission_wait"]));
        put(&mut self.parked_queue, config.size(&["parked_queue"]));
        put(&mut self.parked_events, config.size(&["parked_events"]));
        put(&mut self.claim_expiry, config.time(&["claim_expiry"]));
        put(&mut self.dedupe_window, config.time(&["dedupe_window"]));
        put(&mut self.poll_min, config.time(&["poll_min"]));
        put(&mut self.poll_max, config.time(&["poll_max"]));
        put(&mut self.keep_resolved, config.time(&["keep_resolved"]));
        put(&mut self.keep_audit, config.time(&["keep_audit"]));
        put(&mut self.keep_events, config.time(&["keep_events"]));
        put(&mut self.retry_delay, config.time(&["retry_delay"]));
        put(&mut self.max_delay, config.time(&["max_delay"]));
    }

    /// How long history is kept, and who said so.
    pub(super) fn kept(&self) -> [(&'static str, Option<Setting<Duration>>); 3] {
        let said = |said: Said<Duration>| said.map(|(value, origin)| Setting::new(value, origin));
        [
            ("keep_events", said(self.keep_events)),
            ("keep_resolved", said(self.keep_resolved)),
            ("keep_audit", said(self.keep_audit)),
        ]
    }

    /// As the engine takes it.
    pub(super) fn retention(&self) -> Retention {
        let time = |said: Said<Duration>| said.map(|(time, _)| time);
        Retention { resolved: time(self.keep_resolved), audit: time(self.keep_audit), events: time(self.keep_events) }
    }

    pub(super) fn sizes(&self) -> Sizes {
        let built_in = LoopSettings::default();
        let window = or_built_in(self.window, built_in.window);
        // A small window must not fill up before a checkpoint is due.
        let every = built_in.checkpoint_every.min((window.value / 4).max(1));
        Sizes {
            page: or_built_in(self.page, built_in.page),
            look_ahead: or_built_in(self.look_ahead, built_in.look_ahead),
            look_ahead_bytes: or_built_in(self.look_ahead_bytes, built_in.look_ahead_bytes),
            checkpoint_every: or_built_in(self.checkpoint_every, every),
            checkpoint_interval: or_built_in(self.checkpoint_interval, built_in.checkpoint_interval),
            unclean_ends: or_built_in(self.unclean_ends, built_in.unclean_ends),
            admission_wait: or_built_in(self.admission_wait, built_in.admission_wait),
            parked_queue: or_built_in(self.parked_queue, built_in.parked_queue),
            parked_events: or_built_in(self.parked_events, built_in.parked_events),
            claim_expiry: or_built_in(self.claim_expiry, built_in.claim_expiry),
            dedupe_window: or_built_in(self.dedupe_window, built_in.dedupe_window),
            poll_min: or_built_in(self.poll_min, built_in.poll_min),
            poll_max: or_built_in(self.poll_max, built_in.poll_max),
            window,
        }
    }
}

impl Sizes {
    /// As the engine takes them.
    pub(super) fn for_loop(&self) -> LoopSettings {
        LoopSettings {
            page: self.page.value,
            look_ahead: self.look_ahead.value,
            look_ahead_bytes: self.look_ahead_bytes.value,
            window: self.window.value,
            checkpoint_every: self.checkpoint_every.value,
            checkpoint_interval: self.checkpoint_interval.value,
            unclean_ends: self.unclean_ends.value,
            admission_wait: self.admission_wait.value,
            parked_queue: self.parked_queue.value,
            parked_events: self.parked_events.value,
            claim_expiry: self.claim_expiry.value,
            dedupe_window: self.dedupe_window.value,
            poll_min: self.poll_min.value,
            poll_max: self.poll_max.value,
        }
    }
}

/// What the builder says about one component.
#[derive(Debug, Clone)]
pub(super) struct ForComponent {
    pub(super) def: &'static ComponentDef,
    /// The builder's method, for messages.
    pub(super) call: &'static str,
    pub(super) what: What,
    pub(super) at: Location,
}

#[derive(Debug, Clone)]
pub(super) enum What {
    Mode(CheckpointMode),
    Contexts(Vec<String>),
    WaitForHead(bool),
    DeadLetter(DeadLetterPolicy),
    RedriveTransient(Duration),
}

/// The settings of one component.
#[derive(Debug, Clone)]
pub(super) struct ComponentSettings {
    /// Always [`Watermark`](CheckpointMode::Watermark) for sagas and observers, and where a handler takes the framework's
    /// transaction or many events at once, unless its own attribute or a call that names it says otherwise (rule `no-on-start`).
    pub(super) mode: Setting<CheckpointMode>,
    pub(super) start: Setting<StartFrom>,
    pub(super) contexts: Setting<Vec<String>>,
    pub(super) wait_for_head: Setting<bool>,
    pub(super) dead_letter: Setting<DeadLetterPolicy>,
    /// Only where it is said.
    pub(super) redrive_transient: Option<Setting<Duration>>,
    /// Whether this instance runs it. Only where it is said.
    pub(super) enabled: Option<Setting<bool>>,
}

impl ComponentSettings {
    /// `settling`: a handler takes the framework's transaction, or many events at once.
    pub(super) fn of(
        def: &'static ComponentDef,
        settling: bool,
        defaults: &Defaults,
        said: &[ForComponent],
        config: &Config,
    ) -> Self {
        let attribute = Origin::Attribute(def.location);
        let mut settings = Self {
            mode: match (def.kind, def.checkpoint, defaults.mode) {
                (Kind::Saga | Kind::Observer, ..) => Setting::built_in(CheckpointMode::Watermark),
                (Kind::Projector, Some(mode), _) => Setting::new(mode, attribute),
                (Kind::Projector, None, _) if settling => Setting::built_in(CheckpointMode::Watermark),
                (Kind::Projector, None, said) => or_built_in(said, CheckpointMode::default()),
            },
            start: match (def.start, def.kind) {
                (Some(start), _) => Setting::new(start, attribute),
                (None, Kind::Projector) => Setting::built_in(StartFrom::Beginning),
                (None, Kind::Saga | Kind::Observer) => Setting::built_in(StartFrom::Head),
            },
            contexts: match def.contexts {
                [] => Setting::built_in(vec!["*".to_owned()]),
                contexts => Setting::new(contexts.iter().map(|&context| context.to_owned()).collect(), attribute),
            },
            wait_for_head: def.wait_for_head.map_or(Setting::built_in(false), |wait| Setting::new(wait, attribute)),
            dead_letter: def
                .dead_letter
                .map_or(Setting::built_in(DeadLetterPolicy::default()), |policy| Setting::new(policy, attribute)),
            redrive_transient: def.redrive_transient.map(|every| Setting::new(every, attribute)),
            enabled: None,
        };
        for said in said.iter().filter(|said| said.def.type_id == def.type_id) {
            let origin = Origin::Component(said.at);
            match &said.what {
                What::Mode(mode) if def.kind == Kind::Projector => settings.mode = Setting::new(*mode, origin),
                // Rule `no-checkpoint-mode`.
                What::Mode(_) => {}
                What::Contexts(contexts) => settings.contexts = Setting::new(contexts.clone(), origin),
                What::WaitForHead(wait) => settings.wait_for_head = Setting::new(*wait, origin),
                What::DeadLetter(policy) => settings.dead_letter = Setting::new(*policy, origin),
                What::RedriveTransient(every) => settings.redrive_transient = Some(Setting::new(*every, origin)),
            }
        }
        let path = |setting| ["component", def.name, setting];
        over(&mut settings.mode, config.mode(&path("checkpoint")).filter(|_| def.kind == Kind::Projector));
        over(&mut settings.contexts, config.texts(&path("contexts")));
        over(&mut settings.wait_for_head, config.flag(&path("wait_for_head")));
        over(&mut settings.start, config.start(&path("start")));
        over(&mut settings.dead_letter, config.dead_letter(&path("dead_letter")));
        over_or_new(&mut settings.redrive_transient, config.time(&path("redrive_transient")));
        settings.enabled = config.flag(&path("enabled")).map(|(value, at)| Setting::new(value, Origin::Config(at)));
        settings
    }

    /// Whether this instance runs it.
    pub(super) fn is_enabled(&self) -> bool {
        self.enabled.as_ref().is_none_or(|enabled| enabled.value)
    }
}

/// The settings of one handler.
#[derive(Debug, Clone)]
pub(super) struct HandlerSettings {
    pub(super) retry: Setting<i32>,
    pub(super) retry_delay: Setting<Duration>,
    pub(super) max_delay: Setting<Duration>,
    /// Only where it is said.
    pub(super) timeout: Option<Setting<Duration>>,
    /// Only where it is said.
    pub(super) abandon: Option<Setting<bool>>,
    /// Only where it is said.
    pub(super) batch: Option<Setting<u32>>,
    /// Only where it is said.
    pub(super) linger: Option<Setting<Duration>>,
}

impl HandlerSettings {
    pub(super) fn of(component: &ComponentDef, def: &HandlerDef, defaults: &Defaults, config: &Config) -> Self {
        let attribute = Origin::Attribute(def.location);
        let delay = |own: Option<Duration>, said, built_in| match own {
            Some(own) => Setting::new(own, attribute),
            None => or_built_in(said, built_in),
        };
        let mut settings = Self {
            retry: def.retry.map_or(Setting::built_in(-1), |retry| Setting::new(retry, attribute)),
            retry_delay: delay(def.retry_delay, defaults.retry_delay, DEFAULT_RETRY_DELAY),
            max_delay: delay(def.max_delay, defaults.max_delay, DEFAULT_MAX_DELAY),
            timeout: def.timeout.map(|timeout| Setting::new(timeout, attribute)),
            abandon: def.abandon.then_some(Setting::new(true, attribute)),
            batch: def.batch.map(|batch| Setting::new(batch, attribute)),
            linger: def.linger.map(|linger| Setting::new(linger, attribute)),
        };
        let path = |setting| ["component", component.name, "handler", def.method, setting];
        over(&mut settings.retry, config.retry(&path("retry")));
        over(&mut settings.retry_delay, config.time(&path("retry_delay")));
        over(&mut settings.max_delay, config.time(&path("max_delay")));
        over_or_new(&mut settings.timeout, config.time(&path("timeout")));
        // Whether a handler takes many events is a matter of its type; how many is not (rule `bad-value`).
        if settings.batch.is_some() {
            over_or_new(&mut settings.batch, config.count(&path("batch")));
            over_or_new(&mut settings.linger, config.time(&path("linger")));
        }
        settings
    }

    /// As the engine takes it; what -1 means under an executor is the engine's to know.
    pub(super) fn policy(&self) -> RetryPolicy {
        RetryPolicy {
            retries: u32::try_from(self.retry.value).ok(),
            delay: self.retry_delay.value,
            max_delay: self.max_delay.value,
        }
    }

    pub(super) fn timeout(&self) -> Option<HandlerTimeout> {
        let after = self.timeout.as_ref()?.value;
        Some(HandlerTimeout { after, abandons: self.abandon.as_ref().is_some_and(|abandons| abandons.value) })
    }

    pub(super) fn batching(&self) -> Option<Batching> {
        let most = usize::try_from(self.batch.as_ref()?.value).unwrap_or(usize::MAX);
        Some(Batching { most, linger: self.linger.as_ref().map_or(Duration::ZERO, |linger| linger.value) })
    }
}
