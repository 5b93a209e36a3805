//! From what was said to what commands work on.

use super::api::Api;
use super::arguments::{Place, Reach, said};
use super::database;
use super::direct::{Direct, Knowledge};
use super::fault::Fault;
use super::target::Target;
use crate::bundle::Operated;
use crate::identity::{NAME_RULE, host_name, is_name};

/// A running API, or a database.
pub(super) fn of_arguments(reach: &Reach, place: &Place) -> Result<Box<dyn Target>, Fault> {
    if let Some(api) = api(reach, place.database.is_none())? {
        return Ok(api);
    }
    let Some(url) = &place.database else {
        return Err(Fault::usage("say where the bundle is: `--url` of a running API, or `--database` and `--bundle`"));
    };
    let Some(bundle) = &place.bundle else {
        return Err(Fault::usage("say which bundle of the database: `--bundle NAME`"));
    };
    if !is_name(bundle) {
        return Err(Fault::usage(format!("a bundle is called by {NAME_RULE}")));
    }
    let config = database::config(url, place.schema.as_deref(), place.prefix.as_deref())?;
    Ok(Box::new(Direct::new(bundle, Some(config), None, who(reach))))
}

/// The bundle's own store, or what `--url` names.
pub(super) fn of_bundle(reach: &Reach, bundle: Operated) -> Result<Box<dyn Target>, Fault> {
    if let Some(api) = api(reach, false)? {
        return Ok(api);
    }
    let Operated { name, store, plan, redaction, consumers } = bundle;
    Ok(Box::new(Direct::new(&name, store, Some(Knowledge::new(plan, redaction, consumers)), who(reach))))
}

/// The API that is named: in the arguments, or in the environment where that is looked at.
fn api(reach: &Reach, environment: bool) -> Result<Option<Box<dyn Target>>, Fault> {
    let named = reach.url.clone().or_else(|| environment.then(|| said("EVENTO_URL")).flatten());
    let Some(url) = named else {
        return match &reach.token_file {
            Some(_) => Err(Fault::usage("a token is for an API: name it by `--url`")),
            None => Ok(None),
        };
    };
    if reach.by.is_some() {
        return Err(Fault::usage("an API knows by itself who asks: `--by` is for the database"));
    }
    Ok(Some(Box::new(Api::new(&url, reach.token_file.as_deref())?)))
}

/// Who asks, and from where: for the audit.
pub(super) struct Who {
    pub(super) name: String,
    pub(super) origin: String,
}

fn who(reach: &Reach) -> Who {
    let names = ["EVENTO_BY", "USER", "LOGNAME", "USERNAME"];
    let name = reach.by.clone().or_else(|| names.into_iter().find_map(said));
    Who { name: name.unwrap_or_else(|| "unknown".to_owned()), origin: format!("cli@{}", host_name()) }
}
