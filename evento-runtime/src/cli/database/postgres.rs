//! `postgres://user@host/database`.

use super::{Fault, Kind, Said};
use crate::store::{Postgres, StoreConfig};

pub(super) const KIND: Kind = Kind { schemes: &["postgres", "postgresql"], config };

fn config(said: &Said<'_>) -> Result<Box<dyn StoreConfig>, Fault> {
    said.only(true, false)?;
    let config = Postgres::url(said.url).writers(1).readers(1).transactions(1);
    Ok(Box::new(match said.schema {
        Some(schema) => config.schema(schema),
        None => config,
    }))
}
