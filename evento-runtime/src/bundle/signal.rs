//! The signals that ask a process to end.

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::task::Tasks;

/// Ends with the first Ctrl-C or SIGTERM. A second one ends the process at once, with exit code 130 or 143.
///
/// Signals are caught from the call on, not only from the first poll. Once the returned future is dropped, the next
/// signal ends the process, as if nobody caught it.
///
/// ```no_run
/// # async fn f(bundle: evento_runtime::bundle::Bundle) -> evento_runtime::Result {
/// bundle.run_until(evento_runtime::bundle::shutdown_signal()).await?;
/// # Ok(()) }
/// ```
pub fn shutdown_signal() -> impl Future<Output = ()> + Send + 'static {
    let early = Handle::try_current().is_ok().then(watch);
    async move {
        // Called outside of a runtime: from the first poll on.
        let first = match early {
            Some(first) => first,
            None => watch(),
        };
        if first.await.is_err() {
            // Signals cannot be caught here; the default action is all there is, and nobody asked for a stop.
            std::future::pending::<()>().await;
        }
    }
}

/// Follows signals until the process or the runtime ends: the one task nobody waits for, as it has no end of its own.
fn watch() -> oneshot::Receiver<()> {
    let (tell, told) = oneshot::channel();
    let mut signals = match Signals::catch() {
        Ok(signals) => signals,
        Err(error) => {
            tracing::error!(%error, "Ctrl-C and SIGTERM cannot be caught; they will end the process at once");
            return told;
        }
    };
    Tasks::default().spawn(async move {
        let mut code = signals.next().await;
        if tell.send(()).is_ok() {
            tracing::info!("stopping; a second signal ends the process at once");
            code = signals.next().await;
        }
        std::process::exit(code);
    });
    told
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn catch() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// The exit code a shell expects of a process that this signal ended.
    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
    fn catch() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> i32 {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        130
    }
}
