//! `sqlite:orders.db`.

use super::{Fault, Kind, Said};
use crate::store::{Sqlite, StoreConfig};

pub(super) const KIND: Kind = Kind { schemes: &["sqlite"], config };

fn config(said: &Said<'_>) -> Result<Box<dyn StoreConfig>, Fault> {
    said.only(false, false)?;
    let file = said.rest.strip_prefix("//").unwrap_or(said.rest);
    if file.is_empty() {
        return Err(Fault::usage("a SQLite database is `sqlite:FILE`"));
    }
    Ok(Box::new(Sqlite::file(file).readers(1)))
}
