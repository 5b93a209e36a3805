//! A URL as the configuration of a store: one file for each kind.

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

use super::fault::Fault;
use crate::store::StoreConfig;

/// What is said of a database.
#[allow(dead_code, reason = "which kinds there are depends on features")]
struct Said<'a> {
    url: &'a str,
    /// Behind the scheme and its colon.
    rest: &'a str,
    schema: Option<&'a str>,
    prefix: Option<&'a str>,
}

/// A kind of database that this program can open.
struct Kind {
    schemes: &'static [&'static str],
    config: fn(&Said<'_>) -> Result<Box<dyn StoreConfig>, Fault>,
}

const KINDS: &[Kind] = &[
    #[cfg(feature = "sqlite")]
    sqlite::KIND,
    #[cfg(feature = "postgres")]
    postgres::KIND,
    #[cfg(feature = "mysql")]
    mysql::KIND,
];

/// Every scheme there is, and the feature that brings it.
const FEATURES: [(&str, &str); 5] = [
    ("sqlite", "sqlite"),
    ("postgres", "postgres"),
    ("postgresql", "postgres"),
    ("mysql", "mysql"),
    ("mariadb", "mysql"),
];

/// The store at `url`, not opened yet. What is wrong with it is told without what stands in it: that may be a password.
pub(super) fn config(url: &str, schema: Option<&str>, prefix: Option<&str>) -> Result<Box<dyn StoreConfig>, Fault> {
    const FORM: &str = "a database is `sqlite:FILE`, `postgres://user@host/database` or `mysql://user@host/database`";
    let Some((scheme, rest)) = url.split_once(':') else { return Err(Fault::usage(FORM)) };
    if let Some(kind) = KINDS.iter().find(|kind| kind.schemes.contains(&scheme)) {
        return (kind.config)(&Said { url, rest, schema, prefix });
    }
    Err(Fault::usage(match FEATURES.iter().find(|(known, _)| *known == scheme) {
        Some((_, feature)) => {
            format!("this program was built without `{scheme}`: build it with the feature `{feature}`")
        }
        None => FORM.to_owned(),
    }))
}

impl Said<'_> {
    /// Refuses what is said of another kind of database.
    #[allow(dead_code, reason = "which kinds there are depends on features")]
    fn only(&self, schema: bool, prefix: bool) -> Result<(), Fault> {
        match (self.schema, self.prefix) {
            (Some(_), _) if !schema => Err(Fault::usage("`--schema` is for PostgreSQL")),
            (_, Some(_)) if !prefix => Err(Fault::usage("`--prefix` is for MySQL")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_url_is_told_without_it() {
        for wrong in ["", "orders.db", "redis://u:secret@h", "secret:secret", "://secret", "sqlite:"] {
            let Err(fault) = config(wrong, None, None) else { panic!("{wrong}") };
            assert!(!fault.message.contains("secret"), "{}", fault.message);
        }
    }
}
