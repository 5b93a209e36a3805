//! The interceptors of one attempt, outermost first.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::interceptor::{Interceptor, Invocation, Next};
use crate::outcome::{Flow, HandlerResult};

/// `handler` with everything around it. Nothing runs before it is polled.
pub(crate) fn chain<'a>(
    interceptors: &'a [Arc<dyn Interceptor>],
    call: &'a Invocation,
    handler: BoxFuture<'a, HandlerResult>,
) -> BoxFuture<'a, HandlerResult> {
    let Some((first, further)) = interceptors.split_first() else { return handler };
    Box::pin(async move {
        let rest = Box::pin(async move {
            let result = async {
                first.before(call).await?;
                let flow = chain(further, call, handler).await?;
                // What the handler itself calls a failure is none that an interceptor could have prevented.
                if matches!(flow, Flow::Continue | Flow::Skip | Flow::Complete) {
                    first.after(call).await?;
                }
                Ok(flow)
            };
            match result.await {
                Err(error) => Err(first.on_error(call, error).await),
                flow => flow,
            }
        });
        first.around(call, Next { rest }).await
    })
}
