//! Settings from outside: environment variables and TOML files, laid over what the code says.

use std::fmt;
#[cfg(feature = "toml")]
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use super::BundleBuilder;
use crate::component::Location;
use crate::executor::ConsumerExecutor;
use crate::policy::{CheckpointMode, DeadLetterPolicy, StartFrom};

/// Settings that a deployment gives a bundle, for [`BundleBuilder::config`](super::BundleBuilder::config).
///
/// | setting | in TOML | as a variable, with the prefix `EVENTO_CFG_` |
/// |---|---|---|
/// | of the bundle | `window = 512` | `EVENTO_CFG_WINDOW=512` |
/// | of an executor | `[executor.read-model]` `capacity = 16` | `EVENTO_CFG_EXECUTOR__READ_MODEL__CAPACITY=16` |
/// | of a component | `[component.OrderView]` `checkpoint = "watermark"` | `EVENTO_CFG_COMPONENT__ORDERVIEW__CHECKPOINT=watermark` |
/// | of a handler | `[component.OrderView.handler.placed]` `retry = 5` | `EVENTO_CFG_COMPONENT__ORDERVIEW__HANDLER__PLACED__RETRY=5` |
///
/// The settings of a bundle are those of its builder: `window`, `checkpoint`, `checkpoint_every`, `checkpoint_interval`,
/// `page`, `parked_queue`, `parked_events`, `look_ahead`, `look_ahead_bytes`, `unclean_ends`, `admission_wait`,
/// `claim_expiry`, `dedupe_window`, `retry_delay`, `max_delay`, `poll_min`, `poll_max`, `keep_events`, `keep_resolved`, `keep_audit`,
/// `stop_deadline`. A component has `enabled` (`false`: this instance does not run it), `checkpoint`, `contexts`,
/// `dead_letter` (`skip`, `park`), `redrive_transient`, `start` (`beginning`, `head`; heeded when it begins),
/// `wait_for_head`; a handler `retry`, `retry_delay`, `max_delay`, `timeout`, and, if it takes many events at once,
/// `batch` and `linger`. Times are texts such as `250ms`, `5s`, `2m`, `1h`, `7d`.
///
/// What names a component, a handler or an executor wins over everything that the code says of it; a setting of the
/// bundle takes the place of the builder's setting for all. [`Bundle::plan`](super::Bundle::plan) shows where each
/// value comes from. A name that does not exist stops the launch, as does a value of another kind.
#[derive(Debug, Clone, Default)]
pub struct Config {
    pub(super) entries: Vec<Entry>,
}

/// One setting, as it was found.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) path: Vec<String>,
    pub(super) value: Raw,
    pub(super) at: Location,
    /// Names of the environment have no case and no `-`: every name means what it fits.
    loose: bool,
}

/// A value before anybody knows what it is for.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(not(feature = "toml"), expect(dead_code, reason = "the environment has texts only"))]
pub(super) enum Raw {
    /// A text; of the environment, whatever it means.
    Text(String),
    Number(i64),
    Flag(bool),
    Texts(Vec<String>),
    /// Nothing that any setting is.
    Other,
}

/// A configuration that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A variable of the environment holds what is no text.
    #[error("the environment variable `{variable}` is not UTF-8")]
    NotText {
        /// Its name.
        variable: String,
    },
    /// A file cannot be read.
    #[error("the configuration file `{}` cannot be read", .file.display())]
    Unreadable {
        /// Its path.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not TOML.
    #[error("`{file}` is not TOML: {reason}")]
    NotToml {
        /// Its path.
        file: String,
        /// What the parser says, with the place.
        reason: String,
    },
}

impl Config {
    /// The variables whose names begin with `prefix`, such as `EVENTO_CFG_`. The rest of a name is the setting, in any
    /// case, with `__` between its parts; `-` and `.` of a name are written `_` or left out.
    ///
    /// # Errors
    /// [`ConfigError::NotText`].
    pub fn from_env(prefix: &str) -> Result<Self, ConfigError> {
        let mut found: Vec<(String, String)> = Vec::new();
        for (name, value) in std::env::vars_os() {
            let Some(name) = name.to_str().filter(|name| name.starts_with(prefix)) else { continue };
            let value = value.into_string().map_err(|_| ConfigError::NotText { variable: name.to_owned() })?;
            found.push((name.to_owned(), value));
        }
        found.sort();
        Ok(Self::from_variables(prefix, found))
    }

    fn from_variables(prefix: &str, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let entry = |(name, value): (String, String)| {
            let setting = name.strip_prefix(prefix).unwrap_or_default().to_lowercase();
            let path = setting.split("__").map(str::to_owned).collect();
            // Told with every problem and in the plan, as a place in the source is: once for each variable of a process.
            let at = Location { file: Box::leak(name.into_boxed_str()), line: 0 };
            Entry { path, value: Raw::Text(value), at, loose: true }
        };
        Self { entries: variables.into_iter().map(entry).collect() }
    }

    /// A TOML file.
    ///
    /// # Errors
    /// [`ConfigError::Unreadable`], [`ConfigError::NotToml`].
    #[cfg(feature = "toml")]
    pub fn from_toml_file(file: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let file = file.as_ref();
        let text = std::fs::read_to_string(file)
            .map_err(|source| ConfigError::Unreadable { file: file.to_owned(), source })?;
        Self::from_toml(&file.display().to_string(), &text)
    }

    /// TOML at hand; `name` is what problems call it.
    ///
    /// # Errors
    /// [`ConfigError::NotToml`].
    #[cfg(feature = "toml")]
    pub fn from_toml(name: &str, text: &str) -> Result<Self, ConfigError> {
        let table = toml::de::DeTable::parse(text)
            .map_err(|error| ConfigError::NotToml { file: name.to_owned(), reason: error.to_string() })?;
        let mut config = Self::default();
        let at = Places { file: Box::leak(name.to_owned().into_boxed_str()), text };
        config.take(&at, &[], table.get_ref());
        Ok(config)
    }

    /// `other` is laid over this.
    pub(super) fn extend(&mut self, other: Self) {
        self.entries.extend(other.entries);
    }

    /// What is said of a setting, and where; said twice, the later one counts.
    pub(super) fn get(&self, path: &[&str]) -> Option<(&Raw, Location)> {
        let entry = self.entries.iter().rev().find(|entry| entry.is(path))?;
        Some((&entry.value, entry.at))
    }

    pub(super) fn size(&self, path: &[&str]) -> Option<(usize, Location)> {
        self.get(path).and_then(|(value, at)| Some((value.size()?, at)))
    }

    pub(super) fn time(&self, path: &[&str]) -> Option<(Duration, Location)> {
        self.get(path).and_then(|(value, at)| Some((value.time()?, at)))
    }

    pub(super) fn mode(&self, path: &[&str]) -> Option<(CheckpointMode, Location)> {
        self.get(path).and_then(|(value, at)| Some((value.mode()?, at)))
    }

    pub(super) fn flag(&self, path: &[&str]) -> Option<(bool, Location)> {
        self.get(path).and_then(|(value, at)| Some((value.flag()?, at)))
    }

    pub(super) fn start(&self, path: &[&str]) -> Option<(StartFrom, Location)> {
        self.get(path).and_then(|(value, at)| Some((value.start()?, at)))
    }

    pub(super) fn dead_letter(&self, path: &[&str]) -> Option<(DeadLetterPolicy, Location)> {
        self.get(path).and_then(|(value, at)| Some((value.dead_letter()?, at)))
    }

    pub(super) fn count(&self, path: &[&str]) -> Option<(u32, Location)> {
        self.get(path).and_then(|(value, at)| Some((value.count()?, at)))
    }

    pub(super) fn texts(&self, path: &[&str]) -> Option<(Vec<String>, Location)> {
        self.get(path).and_then(|(value, at)| Some((value.texts()?, at)))
    }

    pub(super) fn retry(&self, path: &[&str]) -> Option<(i32, Location)> {
        self.get(path).and_then(|(value, at)| Some((value.retry()?, at)))
    }
}

impl Entry {
    fn is(&self, path: &[&str]) -> bool {
        self.path.len() == path.len() && self.path.iter().zip(path).all(|(own, name)| self.means(own, name))
    }

    /// Whether a part of the path is this name.
    pub(super) fn means(&self, part: &str, name: &str) -> bool {
        if self.loose { simplified(part).eq(simplified(name)) } else { part == name }
    }
}

fn simplified(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// `component.OrderView.checkpoint`.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path.join("."))
    }
}

impl Raw {
    fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub(super) fn size(&self) -> Option<usize> {
        self.number().and_then(|number| usize::try_from(number).ok())
    }

    pub(super) fn count(&self) -> Option<u32> {
        self.number().and_then(|number| u32::try_from(number).ok())
    }

    pub(super) fn retry(&self) -> Option<i32> {
        self.number().and_then(|number| i32::try_from(number).ok())
    }

    pub(super) fn time(&self) -> Option<Duration> {
        let Self::Text(text) = self else { return None };
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = text[..digits].parse().ok()?;
        let millis = match &text[digits..] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        number.checked_mul(millis).map(Duration::from_millis)
    }

    /// The one of a few that prints as it is written.
    fn one_of<T: fmt::Display, const N: usize>(&self, choices: [T; N]) -> Option<T> {
        let Self::Text(text) = self else { return None };
        choices.into_iter().find(|choice| choice.to_string() == text.trim())
    }

    pub(super) fn mode(&self) -> Option<CheckpointMode> {
        self.one_of([CheckpointMode::OnStart, CheckpointMode::Watermark])
    }

    pub(super) fn start(&self) -> Option<StartFrom> {
        self.one_of([StartFrom::Beginning, StartFrom::Head])
    }

    pub(super) fn dead_letter(&self) -> Option<DeadLetterPolicy> {
        self.one_of([DeadLetterPolicy::Skip, DeadLetterPolicy::Park])
    }

    pub(super) fn flag(&self) -> Option<bool> {
        match self {
            Self::Flag(flag) => Some(*flag),
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub(super) fn texts(&self) -> Option<Vec<String>> {
        match self {
            Self::Texts(texts) => Some(texts.clone()),
            Self::Text(text) => Some(text.split(',').map(|part| part.trim().to_owned()).collect()),
            _ => None,
        }
    }
}

/// Lays what concerns the whole bundle over what the builder was told; components and handlers ask for themselves.
pub(super) fn apply(builder: &mut BundleBuilder) {
    let config = &builder.config;
    builder.defaults.take(config);
    if let Some((deadline, _)) = config.time(&["stop_deadline"]) {
        builder.stop_deadline = deadline;
    }
    for (executor, _) in &mut builder.executors {
        let capacity = config.size(&["executor", executor.name(), "capacity"]);
        // One that cannot is found by the rule `bad-value`.
        if let Some(resized) = capacity.and_then(|(capacity, _)| executor.with_capacity(capacity)) {
            *executor = resized;
        }
    }
}

/// Where in a file something stands.
#[cfg(feature = "toml")]
struct Places<'a> {
    file: &'static str,
    text: &'a str,
}

#[cfg(feature = "toml")]
impl Places<'_> {
    fn at(&self, span: &std::ops::Range<usize>) -> Location {
        let before = self.text.as_bytes().iter().take(span.start);
        let lines = before.filter(|byte| **byte == b'\n').count();
        Location { file: self.file, line: u32::try_from(lines).unwrap_or(u32::MAX).saturating_add(1) }
    }
}

#[cfg(feature = "toml")]
impl Config {
    fn take(&mut self, places: &Places<'_>, path: &[String], table: &toml::de::DeTable<'_>) {
        for (name, value) in table {
            let mut path = path.to_vec();
            path.push(name.get_ref().to_string());
            match value.get_ref() {
                toml::de::DeValue::Table(table) => self.take(places, &path, table),
                value => {
                    let at = places.at(&name.span());
                    self.entries.push(Entry { path, value: raw(value), at, loose: false });
                }
            }
        }
    }
}

#[cfg(feature = "toml")]
fn raw(value: &toml::de::DeValue<'_>) -> Raw {
    use toml::de::DeValue;
    match value {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Raw::Other, Raw::Number)
        }
        DeValue::Boolean(flag) => Raw::Flag(*flag),
        DeValue::Array(items) => {
            let texts = items.iter().map(|item| item.get_ref().as_str().map(str::to_owned));
            texts.collect::<Option<_>>().map_or(Raw::Other, Raw::Texts)
        }
        _ => Raw::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Config {
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Config::from_variables("X_", owned)
    }

    #[test]
    fn a_variable_means_every_name_it_fits() {
        let config = of(&[("X_EXECUTOR__READ_MODEL__CAPACITY", "16"), ("X_COMPONENT__ORDERVIEW__ENABLED", "false")]);
        for name in ["read-model", "read.model", "ReadModel"] {
            assert_eq!(config.size(&["executor", name, "capacity"]).map(|(size, _)| size), Some(16), "{name}");
        }
        assert_eq!(config.size(&["executor", "read-models", "capacity"]), None);
        assert_eq!(config.flag(&["component", "OrderView", "enabled"]).map(|(flag, _)| flag), Some(false));
    }

    #[test]
    fn times_have_a_unit_and_never_overflow() {
        let time = |text: &str| Raw::Text(text.to_owned()).time();
        assert_eq!(time("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(time(" 7d "), Some(Duration::from_secs(7 * 86_400)));
        assert_eq!(time("18446744073709551615ms"), Some(Duration::from_millis(u64::MAX)));
        for text in ["", "5", "s", "-1s", "1 s", "1.5s", "18446744073709551615s", "1w"] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn of_two_the_later_one_counts() {
        let mut config = of(&[("X_WINDOW", "1"), ("X_PAGE", "7")]);
        config.extend(of(&[("X_WINDOW", "2")]));
        assert_eq!(config.size(&["window"]).map(|(size, _)| size), Some(2));
        assert_eq!(config.size(&["page"]).map(|(size, _)| size), Some(7));
    }

    #[cfg(feature = "toml")]
    #[test]
    fn a_file_knows_its_lines() {
        let text = "window = 512\n\n[executor.read-model]\ncapacity = 0x10\n\n[component.OrderView]\ncontexts = [\"a\", \"b\"]\nenabled = false\n";
        let config = Config::from_toml("bundle.toml", text).unwrap();
        assert_eq!(
            config.size(&["executor", "read-model", "capacity"]).map(|(size, at)| (size, at.line)),
            Some((16, 4))
        );
        assert_eq!(
            config.size(&["executor", "Read-Model", "capacity"]),
            None,
            "names in a file are written as they are"
        );
        let (contexts, at) = config.texts(&["component", "OrderView", "contexts"]).unwrap();
        assert_eq!((contexts, at.to_string()), (vec!["a".to_owned(), "b".to_owned()], "bundle.toml:7".to_owned()));
        let error = Config::from_toml("bundle.toml", "window = ").unwrap_err();
        assert!(error.to_string().contains("bundle.toml"), "{error}");
    }
}
