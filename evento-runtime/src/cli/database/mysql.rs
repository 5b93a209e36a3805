//! `mysql://user@host/database`.

use super::{Fault, Kind, Said};
use crate::store::{MySql, StoreConfig};

pub(super) const KIND: Kind = Kind { schemes: &["mysql", "mariadb"], config };

fn config(said: &Said<'_>) -> Result<Box<dyn StoreConfig>, Fault> {
    said.only(false, true)?;
    // One driver for both.
    let config = MySql::url(&format!("mysql:{}", said.rest)).writers(1).readers(1).transactions(1);
    Ok(Box::new(match said.prefix {
        Some(prefix) => config.prefix(prefix),
        None => config,
    }))
}
