//! Components in the framework's transaction: what they write and that they have handled the event are one commit.

/// A transaction has the type of its database, and a component is not generic: the same three for each.
macro_rules! transacted {
    ($module:ident, $database:ident, $session:ident) => {
        pub(crate) mod $module {
            use evento_runtime::prelude::*;
            use evento_runtime::store::$database;
            use evento_runtime::{BundleBuilder, DeadLetterPolicy};

            use crate::effects::{Effects, Session};

            struct Loop(Effects);

            #[projector(version = 1)]
            impl Loop {
                #[event_handler(retry_delay = "1ms")]
                async fn any(&self, event: RawEvent, tx: &mut Tx<$database>, attempt: Attempt) -> Result<(), BoxError> {
                    self.0.handle_in(Session::$session(&mut **tx), "loop-tx", &event, attempt).await
                }
            }

            struct Pool(Effects);

            #[projector(version = 1)]
            impl Pool {
                #[event_handler(executor = "pool", retry = 1, retry_delay = "1ms")]
                async fn any(&self, event: RawEvent, tx: &mut Tx<$database>, attempt: Attempt) -> Result<(), BoxError> {
                    self.0.handle_in(Session::$session(&mut **tx), "pool-tx", &event, attempt).await
                }
            }

            struct Batch(Effects);

            #[projector(version = 1)]
            impl Batch {
                #[event_handler(executor = "pool", batch = 40, linger = "1ms", retry = 1, retry_delay = "1ms")]
                async fn any(
                    &self,
                    events: Vec<RawEvent>,
                    tx: &mut Tx<$database>,
                    attempt: Attempt,
                ) -> Result<(), BoxError> {
                    for event in &events {
                        self.0.handle_in(Session::$session(&mut **tx), "batch-tx", event, attempt).await?;
                    }
                    Ok(())
                }
            }

            pub(crate) fn join(
                builder: BundleBuilder,
                component: &str,
                effects: Effects,
                parks: bool,
            ) -> BundleBuilder {
                let builder = match component {
                    "loop" => builder.component(Loop(effects)),
                    "pool" => builder.component(Pool(effects)),
                    "batch" => builder.component(Batch(effects)),
                    other => unreachable!("no component {other}-tx"),
                };
                match component {
                    "loop" if parks => builder.dead_letter::<Loop>(DeadLetterPolicy::Park),
                    "pool" if parks => builder.dead_letter::<Pool>(DeadLetterPolicy::Park),
                    _ => builder,
                }
            }
        }
    };
}

transacted!(sqlite, Sqlite, Sqlite);
#[cfg(feature = "postgres")]
transacted!(postgres, Postgres, Postgres);
