//! The command line: a bundle looked at and steered from a terminal or a script, as the pages do it.
//!
//! ```text
//! evento --url http://127.0.0.1:8080/admin status
//! evento --database sqlite:orders.db --bundle orders dead list
//! orders dead redrive OrderTotals --name OrderPlaced
//! ```
//!
//! `evento` is a binary of this crate (`cargo install evento-runtime --features cli-tls,postgres`), which asks a running
//! [router](crate::admin) or works straight at the database. [`run`] and [`Operations`] give an application's own binary
//! the same commands, with what only the application knows: its plan, and which fields of its events are not shown.
//!
//! # Where to
//!
//! | option | environment | what |
//! |---|---|---|
//! | `--url` | `EVENTO_URL` | a running API: `http://host:port` and the path it is nested at |
//! | `--token-file` | `EVENTO_TOKEN` | its token: in a file or in the environment, never an argument, never in the URL |
//! | `--database` | `EVENTO_DATABASE` | `sqlite:FILE`, `postgres://…` or `mysql://…`; a password belongs into the environment |
//! | `--bundle` | `EVENTO_BUNDLE` | which bundle of the database |
//! | `--schema`, `--prefix` | | where PostgreSQL, MySQL have the tables |
//!
//! Straight at the database nothing is made: a store that is not there, or older than this version, is refused. What
//! changes something is written to the audit first, then stored and carried out by whichever instance owns the consumer;
//! for five seconds it is waited for.
//!
//! # Exit codes
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | refused, or it failed |
//! | 2 | the arguments cannot be meant |
//! | 3 | the API or the database cannot be reached or used |
//! | 4 | accepted, and not carried out within five seconds; it still may be |
//!
//! # Output
//!
//! Tables for people; with `--json` one JSON document, the same as the API answers, and faults as JSON on the standard
//! error. No colours. All stored text is hostile: control characters and what turns the direction of text around are
//! written as escapes, in JSON as well.
//!
//! # Payloads
//!
//! As on the pages, sensitive fields are dots. Where the types are not known (`evento --database`), payloads are not shown
//! at all. `dead show --raw` shows the payload as it is stored, once that is in
//! the audit; through an API it needs the right to reveal.

mod api;
mod arguments;
mod command;
mod database;
mod direct;
mod fault;
mod place;
mod screen;
mod table;
mod target;

use std::process::ExitCode;

use clap::Parser as _;

pub use self::arguments::Operations;
use self::arguments::{Evento, Operated};
use self::fault::{Exit, Fault};
use self::screen::Screen;
use self::target::Target;
use crate::bundle::{Bundle, Result, shutdown_signal};

/// The whole of `evento`: reads the arguments of the process, and answers how it ends.
pub async fn main() -> ExitCode {
    let Evento { place, operations } = match Evento::try_parse() {
        Ok(evento) => evento,
        Err(error) => return screen::parse_failed(&error),
    };
    let screen = operations.screen();
    let place = place.or_environment();
    finish(screen, async move { operations.perform(place::of_arguments(&operations.reach, &place)?).await }).await
}

/// The `main` of an application that has no arguments of its own: without a command the bundle runs until the process is
/// asked to [stop](shutdown_signal); with one it is looked at or steered, and nothing of it runs.
///
/// ```no_run
/// # fn bundle() -> evento_runtime::Result<evento_runtime::Bundle> { unimplemented!() }
/// #[tokio::main]
/// async fn main() -> evento_runtime::Result<std::process::ExitCode> {
///     // `orders`, `orders status`, `orders dead list`, `orders plan --json`, …
///     evento_runtime::cli::run(bundle()?).await
/// }
/// ```
///
/// # Errors
/// Those of [`Bundle::run_until`]. What a command has to say is printed, and is in the exit code.
pub async fn run(bundle: Bundle) -> Result<ExitCode> {
    let operations = match Operated::try_parse_from(std::env::args_os()) {
        Ok(Operated { operations }) => operations,
        Err(error) => return Ok(screen::parse_failed(&error)),
    };
    if operations.is_asked() {
        return Ok(operations.run(bundle).await);
    }
    bundle.run_until(shutdown_signal()).await?;
    Ok(Exit::Done.into())
}

impl Operations {
    /// Whether a command was given. Without one there is nothing to do here.
    #[must_use]
    pub const fn is_asked(&self) -> bool {
        self.command.is_some()
    }

    /// Carries out the command on the bundle's own store, or on what `--url` names, prints what there is to say, and
    /// answers how the process should end. Nothing of the bundle runs.
    ///
    /// ```no_run
    /// use clap::Parser;
    /// use evento_runtime::cli::Operations;
    ///
    /// #[derive(Parser)]
    /// struct Arguments {
    ///     /// The database file.
    ///     #[arg(long)]
    ///     db: std::path::PathBuf,
    ///     #[command(flatten)]
    ///     operations: Operations,
    /// }
    ///
    /// # fn bundle(db: &std::path::Path) -> evento_runtime::Result<evento_runtime::Bundle> { unimplemented!() }
    /// # async fn f() -> evento_runtime::Result<std::process::ExitCode> {
    /// let arguments = Arguments::parse();
    /// let bundle = bundle(&arguments.db)?;
    /// if arguments.operations.is_asked() {
    ///     return Ok(arguments.operations.run(bundle).await);
    /// }
    /// # Ok(std::process::ExitCode::SUCCESS) }
    /// ```
    pub async fn run(self, bundle: Bundle) -> ExitCode {
        let screen = self.screen();
        finish(screen, async move { self.perform(place::of_bundle(&self.reach, bundle.operated())?).await }).await
    }

    fn screen(&self) -> Screen {
        Screen { json: self.json }
    }

    /// Has the command carried out, and closes what it was carried out on.
    async fn perform(&self, target: Box<dyn Target>) -> std::result::Result<command::Answer, Fault> {
        let done = match &self.command {
            Some(command) => command.perform(&*target).await,
            None => Err(Fault::usage("say what to do; `--help` tells what there is")),
        };
        target.close().await;
        done
    }
}

async fn finish(screen: Screen, done: impl Future<Output = std::result::Result<command::Answer, Fault>>) -> ExitCode {
    match done.await {
        Ok(answer) => screen.answer(&answer),
        Err(fault) => screen.fault(&fault),
    }
}
