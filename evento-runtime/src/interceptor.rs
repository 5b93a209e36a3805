//! Around every attempt of every handler: authentication, tenant scopes, transactions of your own, logging.
//!
//! With two interceptors `A`, `B`, registered in this order, one attempt is
//!
//! ```text
//! A.around( A.before  B.around( B.before  handler  B.after | B.on_error )  A.after | A.on_error )
//! ```
//!
//! all in the task of the handler. A handler that takes a batch is called once for all of its events. Each attempt has its own chain; a dead letter is written after the chain of the
//! last one.
//!
//! # Where the hooks of the reference system went
//!
//! | reference | here |
//! |---|---|
//! | before / after / on-exception of projector, saga, observer event handlers | [`before`](Interceptor::before), [`after`](Interceptor::after), [`on_error`](Interceptor::on_error), for the kinds that [`applies_to`](Interceptor::applies_to) names |
//! | a value bound to the thread by `before`, unbound by `after` and on-exception | [`around`](Interceptor::around) holds it; [`Invocation::put`] hands it to the handler as `Local<T>` |
//! | hooks of commands and queries | none: there are no such handlers here |

use async_trait::async_trait;

use crate::component::Kind;
use crate::context::HandlerContext;
use crate::deps::Need;
use crate::error::BoxError;
use crate::event::Metadata;
use crate::identity::ConsumerId;
use crate::outcome::HandlerResult;

/// One attempt, as interceptors see it.
pub struct Invocation {
    context: HandlerContext,
    kind: Kind,
    handler: String,
}

impl Invocation {
    pub(crate) const fn new(context: HandlerContext, kind: Kind, handler: String) -> Self {
        Self { context, kind, handler }
    }

    /// Projector, saga or observer.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// `OrderView::placed`.
    #[must_use]
    pub fn handler(&self) -> &str {
        &self.handler
    }

    /// The consumer that is called.
    #[must_use]
    pub fn consumer(&self) -> &ConsumerId {
        self.context.consumer()
    }

    /// What is recorded about the event; of a batch, about the first.
    #[must_use]
    pub fn metadata(&self) -> Metadata {
        Metadata::new(std::sync::Arc::clone(self.context.event()))
    }

    /// The number of this attempt, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.context.attempt()
    }

    /// A provided value.
    #[must_use]
    pub fn dependency<T: Clone + Send + Sync + 'static>(&self) -> Option<T> {
        self.context.deps().get()
    }

    /// Gives a value to the handler, which takes it as `Local<T>`; dropped with the attempt. Name its type in
    /// [`Interceptor::puts`].
    pub fn put<T: Clone + Send + Sync + 'static>(&self, value: T) {
        self.context.put_local(value);
    }
}

/// Sees every attempt of every handler. All methods have defaults that do nothing.
///
/// ```
/// use evento_runtime::interceptor::{Interceptor, Invocation};
/// use evento_runtime::{BoxError, async_trait};
///
/// struct Slow;
///
/// #[async_trait]
/// impl Interceptor for Slow {
///     async fn on_error(&self, call: &Invocation, error: BoxError) -> BoxError {
///         format!("{} failed at attempt {}: {error}", call.handler(), call.attempt()).into()
///     }
/// }
/// ```
#[async_trait]
pub trait Interceptor: Send + Sync + 'static {
    /// Whether it is asked for components of this kind. Default: all.
    fn applies_to(&self, kind: Kind) -> bool {
        let _ = kind;
        true
    }

    /// Types it [`put`](Invocation::put)s, as `Need::of::<T>()`. A handler that takes a `Local<T>` which no
    /// interceptor puts stops the launch.
    fn puts(&self) -> Vec<Need> {
        Vec::new()
    }

    /// Before the handler.
    ///
    /// # Errors
    /// The handler does not run, [`on_error`](Self::on_error) does, and the attempt has failed.
    async fn before(&self, call: &Invocation) -> Result<(), BoxError> {
        let _ = call;
        Ok(())
    }

    /// After a handler that has succeeded.
    ///
    /// # Errors
    /// [`on_error`](Self::on_error) runs, and the attempt has failed. What the handler did by itself stands; what was to
    /// be stored with its success (its `Tx`, outbox, saga state) is not.
    async fn after(&self, call: &Invocation) -> Result<(), BoxError> {
        let _ = call;
        Ok(())
    }

    /// After a failure further in. Answers the error to go on with; it cannot become a success.
    async fn on_error(&self, call: &Invocation, error: BoxError) -> BoxError {
        let _ = call;
        error
    }

    /// Around all of it, for values that must live from before to after.
    ///
    /// # Errors
    /// Those of `next`, or one of its own.
    async fn around(&self, call: &Invocation, next: Next<'_>) -> HandlerResult {
        let _ = call;
        next.run().await
    }
}

/// What is left of a chain.
pub struct Next<'a> {
    pub(crate) rest: futures_util::future::BoxFuture<'a, HandlerResult>,
}

impl Next<'_> {
    /// Runs it, once.
    ///
    /// # Errors
    /// Those of the interceptors further in and of the handler.
    pub async fn run(self) -> HandlerResult {
        self.rest.await
    }
}
