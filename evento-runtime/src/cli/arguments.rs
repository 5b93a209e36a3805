//! What may be said on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::view::words::Which;

const EXITS: &str = "\
Exit codes:
  0  done
  1  refused, or it failed
  2  the arguments cannot be meant
  3  the API or the database cannot be reached or used
  4  accepted, and not carried out within five seconds; it still may be

Environment: EVENTO_URL, EVENTO_TOKEN, EVENTO_DATABASE, EVENTO_BUNDLE, EVENTO_BY.
A token is never an argument, and a password should not be one: others on the machine can read arguments.";

/// Looks at a bundle and steers it, through a running API or straight at the database
#[derive(Debug, Parser)]
#[command(name = "evento", version, after_help = EXITS, subcommand_required = true, arg_required_else_help = true)]
pub(super) struct Evento {
    #[command(flatten)]
    pub(super) place: Place,
    #[command(flatten)]
    pub(super) operations: Operations,
}

/// Runs the bundle, or looks at it and steers it
#[derive(Debug, Parser)]
#[command(after_help = EXITS)]
pub(super) struct Operated {
    #[command(flatten)]
    pub(super) operations: Operations,
}

/// Where a bundle is stored.
#[derive(Debug, Default, Args)]
pub(super) struct Place {
    /// The database: sqlite:FILE, postgres://user@host/database or mysql://user@host/database
    #[arg(long, global = true, value_name = "URL", conflicts_with = "url")]
    pub(super) database: Option<String>,
    /// Which bundle of the database
    #[arg(long, global = true, value_name = "NAME")]
    pub(super) bundle: Option<String>,
    /// The schema that PostgreSQL has the tables in
    #[arg(long, global = true, value_name = "NAME")]
    pub(super) schema: Option<String>,
    /// What the names of the tables begin with in MySQL, before `evento_`
    #[arg(long, global = true, value_name = "PREFIX")]
    pub(super) prefix: Option<String>,
}

impl Place {
    /// What the arguments leave out, out of the environment. An API that is named there stands back behind a database
    /// that is named here.
    pub(super) fn or_environment(self) -> Self {
        Self {
            database: self.database.or_else(|| said("EVENTO_DATABASE")),
            bundle: self.bundle.or_else(|| said("EVENTO_BUNDLE")),
            ..self
        }
    }
}

/// A variable that says something.
pub(super) fn said(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The commands that look at a bundle and steer it, for the arguments of an application's own binary.
///
/// As `#[command(flatten)]` in a parser of your own it adds the commands `status`, `dead`, `pause`, `resume`, `seek`,
/// `skip`, `prune`, `plan`, `audit` and `command`, and the options `--json`, `--url`, `--token-file` and `--by`. See
/// [`run`](Self::run).
#[derive(Debug, Args)]
pub struct Operations {
    #[command(flatten)]
    pub(super) reach: Reach,
    /// One JSON document instead of tables
    #[arg(long, global = true)]
    pub(super) json: bool,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

/// What is asked, and by whom.
#[derive(Debug, Default, Args)]
pub(super) struct Reach {
    /// A running API: http://host:port, and the path it is nested at
    #[arg(long, global = true, value_name = "URL")]
    pub(super) url: Option<String>,
    /// A file with the token of the API; else it is taken from EVENTO_TOKEN
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
    /// Who asks, for the audit of the database; else EVENTO_BY, else the system's user
    #[arg(long, global = true, value_name = "NAME")]
    pub(super) by: Option<String>,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// How far every consumer is, and why it stands; or one of them with its errors
    Status {
        /// As `status` shows it: NAME, NAME/VERSION or NAME/VERSION/CONTEXT
        consumer: Option<String>,
    },
    /// Dead letters: list, show, redrive, discard, purge
    #[command(subcommand)]
    Dead(Box<Dead>),
    /// Has a consumer begin nothing more, also after a restart
    Pause {
        /// As `status` shows it
        consumer: String,
    },
    /// Has a consumer go on
    Resume {
        /// As `status` shows it
        consumer: String,
    },
    /// Has a consumer go on elsewhere in the log
    Seek {
        /// As `status` shows it
        consumer: String,
        /// start, head, after:POSITION or time:TIME
        to: String,
        /// Also back and without the `#[on_reset]` hook: handlers see events again beside what they have written
        #[arg(long)]
        keep: bool,
    },
    /// Settles one open event without handling it
    Skip {
        /// As `status` shows it
        consumer: String,
        /// Of the event
        position: String,
    },
    /// Takes events out of the log that every consumer has settled
    Prune {
        /// Recorded before this time: 2026-11-30T18:44:00Z, in UTC
        #[arg(long, value_name = "TIME")]
        before: String,
        /// Counts them, and takes nothing out
        #[arg(long)]
        dry_run: bool,
    },
    /// Components, handlers and executors
    Plan,
    /// Who did what, latest first
    Audit {
        /// Before this row
        #[arg(long, value_name = "ID", default_value = "")]
        after: String,
        /// Rows at most
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=100))]
        limit: u16,
    },
    /// What became of something that was accepted
    #[command(name = "command")]
    Asked {
        /// As it was printed
        id: String,
    },
}

/// What is to be done about dead letters.
#[derive(Debug, Subcommand)]
pub(super) enum Dead {
    /// Unresolved ones, oldest first
    List {
        /// As `status` shows it; all that have some, where it is left out
        consumer: Option<String>,
        #[command(flatten)]
        letters: Letters,
        /// Behind this position
        #[arg(long, value_name = "POSITION", default_value = "")]
        after: String,
        /// Rows at most, of each consumer
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=100))]
        limit: u16,
    },
    /// One of them, with its error and its payload
    Show {
        /// As `status` shows it
        consumer: String,
        /// Of the event
        position: String,
        /// The payload as it is stored, with what is sensitive; written to the audit
        #[arg(long)]
        raw: bool,
    },
    /// Has them tried again
    Redrive {
        /// As `status` shows it
        consumer: String,
        #[command(flatten)]
        letters: Letters,
        /// All of them
        #[arg(long)]
        all: bool,
    },
    /// Resolves them without handling them
    Discard {
        /// As `status` shows it
        consumer: String,
        #[command(flatten)]
        letters: Letters,
        /// All of them
        #[arg(long)]
        all: bool,
    },
    /// Deletes the rows of those that were resolved
    Purge {
        /// As `status` shows it
        consumer: String,
        /// Before this time: 2026-11-30T18:44:00Z, in UTC
        #[arg(long, value_name = "TIME")]
        before: String,
    },
}

/// Which dead letters.
#[derive(Debug, Default, Args)]
pub(super) struct Letters {
    /// The one at this position
    #[arg(long, default_value = "", hide_default_value = true)]
    position: String,
    /// Events of this name
    #[arg(long, default_value = "", hide_default_value = true)]
    name: String,
    /// Of this key
    #[arg(long, default_value = "", hide_default_value = true)]
    key: String,
    /// dead, or parked behind a dead one
    #[arg(long, default_value = "", hide_default_value = true)]
    kind: String,
    /// That this method gave up
    #[arg(long, default_value = "", hide_default_value = true)]
    handler: String,
    /// ordinary, transient or permanent
    #[arg(long, default_value = "", hide_default_value = true)]
    class: String,
    /// With this in the error
    #[arg(long, default_value = "", hide_default_value = true)]
    error: String,
    /// That failed last at this time or later
    #[arg(long, value_name = "TIME", default_value = "", hide_default_value = true)]
    since: String,
    /// That failed last before this time
    #[arg(long, value_name = "TIME", default_value = "", hide_default_value = true)]
    before: String,
}

impl Letters {
    pub(super) fn which(&self) -> Which {
        Which {
            position: self.position.clone(),
            name: self.name.clone(),
            key: self.key.clone(),
            kind: self.kind.clone(),
            handler: self.handler.clone(),
            class: self.class.clone(),
            error: self.error.clone(),
            since: self.since.clone(),
            before: self.before.clone(),
            ..Which::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_parser_is_sound() {
        Evento::command().debug_assert();
        Operated::command().debug_assert();
    }
}
