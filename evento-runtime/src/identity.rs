//! Names and identities: bundle, component, consumer, owner, epoch.

use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

/// What a bundle, component, executor or event may be called.
pub const NAME_RULE: &str = "1 to 100 characters out of A-Z a-z 0-9 . _ -";

/// Whether `name` keeps [`NAME_RULE`].
#[must_use]
pub const fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes.len() > 100 {
        return false;
    }
    let mut i = 0;
    while i < bytes.len() {
        if !(bytes[i].is_ascii_alphanumeric() || matches!(bytes[i], b'.' | b'_' | b'-')) {
            return false;
        }
        i += 1;
    }
    true
}

/// What this instance is called where nobody says so: `EVENTO_INSTANCE`, else the name of the host with `-` for what
/// [`NAME_RULE`] does not allow, else `unknown`.
#[must_use]
pub fn instance_name() -> String {
    let said = std::env::var("EVENTO_INSTANCE").ok().filter(|name| !name.is_empty());
    said.unwrap_or_else(host_name)
}

/// The name of the host with `-` for what [`NAME_RULE`] does not allow, else `unknown`.
pub(crate) fn host_name() -> String {
    let variable = |name: &str| std::env::var(name).ok();
    let file = |path: &str| std::fs::read_to_string(path).ok();
    let names = [variable("HOSTNAME"), file("/proc/sys/kernel/hostname"), file("/etc/hostname")];
    let host = names.into_iter().chain([variable("COMPUTERNAME"), variable("HOST")]).flatten();
    let name = host.map(|name| name.trim().to_owned()).find(|name| !name.is_empty());
    let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    name.map_or_else(|| "unknown".to_owned(), |name| name.chars().take(100).map(fits).collect())
}

/// What a key or a context may be.
pub const KEY_RULE: &str = "1 to 255 bytes of UTF-8 without NUL";

/// Whether `key` keeps [`KEY_RULE`].
#[must_use]
pub const fn is_key(key: &str) -> bool {
    let bytes = key.as_bytes();
    let mut i = 0;
    // Not every store can keep a NUL in a text.
    while i < bytes.len() && bytes[i] != 0 {
        i += 1;
    }
    !bytes.is_empty() && bytes.len() <= 255 && i == bytes.len()
}

/// Which contexts a component listens to. One consumer per pattern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ContextPattern {
    /// Every context: `*`.
    All,
    /// Exactly this one.
    Exact(Arc<str>),
    /// Every one that begins so: `tenant-*`.
    Prefix(Arc<str>),
}

impl ContextPattern {
    /// Reads `*`, `tenant-*` or a whole context. Only a final `*` is special; `%` and `_` mean themselves.
    ///
    /// # Errors
    /// The reason, as half a sentence.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text == "*" {
            return Ok(Self::All);
        }
        if !is_key(text) {
            return Err("a context has 1 to 255 bytes of UTF-8 without NUL");
        }
        match text.strip_suffix('*') {
            Some(prefix) if prefix.contains('*') => Err("only one `*`, at the end, is understood"),
            Some(prefix) => Ok(Self::Prefix(prefix.into())),
            None if text.contains('*') => Err("`*` is understood only at the end"),
            None => Ok(Self::Exact(text.into())),
        }
    }

    /// Whether an event of `context` belongs to it.
    #[must_use]
    pub fn matches(&self, context: &str) -> bool {
        match self {
            Self::All => true,
            Self::Exact(exact) => &**exact == context,
            Self::Prefix(prefix) => context.starts_with(&**prefix),
        }
    }

    /// Whether one context could belong to both.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) | (_, Self::All) => true,
            (Self::Exact(a), b) | (b, Self::Exact(a)) => b.matches(a),
            (Self::Prefix(a), Self::Prefix(b)) => a.starts_with(&**b) || b.starts_with(&**a),
        }
    }
}

impl fmt::Display for ContextPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Exact(exact) => f.write_str(exact),
            Self::Prefix(prefix) => write!(f, "{prefix}*"),
        }
    }
}

/// Who reads: component × version × context pattern of a bundle. Structured; never parsed back from text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConsumerId {
    /// Bundle name.
    pub bundle: Arc<str>,
    /// Component name.
    pub component: Arc<str>,
    /// Component version.
    pub version: u32,
    /// Contexts it reads.
    pub context: ContextPattern,
}

/// For people: `orders/OrderView v1`, with the context pattern where it is not `*`.
impl fmt::Display for ConsumerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} v{}", self.bundle, self.component, self.version)?;
        match &self.context {
            ContextPattern::All => Ok(()),
            context => write!(f, " [{context}]"),
        }
    }
}

/// One running process (more exactly: one opened store in it). Random, never derived from host or pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OwnerId(Uuid);

impl OwnerId {
    /// A new one.
    #[must_use]
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }

    /// From its bytes.
    #[must_use]
    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid)
    }

    /// Its bytes.
    #[must_use]
    pub const fn as_uuid(&self) -> &Uuid {
        &self.0
    }
}

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The number of one ownership of one consumer; grows with every acquisition. 0 means: never owned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_by_bytes_and_know_their_overlaps() {
        let p = |text: &str| ContextPattern::parse(text).unwrap();
        assert!(p("tenant-*").matches("tenant-%"));
        assert!(!p("a_c").matches("abc"));
        assert!(p("*").overlaps(&p("x")));
        assert!(p("a*").overlaps(&p("ab*")));
        assert!(!p("a*").overlaps(&p("b")));
        assert!(p("ab").overlaps(&p("a*")));
        assert!(ContextPattern::parse("a*b").is_err());
        assert!(ContextPattern::parse("").is_err());
    }

    #[test]
    fn names_are_plain() {
        assert!(is_name("read-model.v2_x"));
        assert!(!is_name(""));
        assert!(!is_name("read model"));
        assert!(!is_name(&"x".repeat(101)));
    }
}
