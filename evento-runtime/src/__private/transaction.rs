//! The transaction of an attempt, lent to a handler.

use crate::context::{HandlerContext, MissingDependency};
use crate::error::BoxError;
use crate::store::{Database, Tx};

/// The transaction of this attempt.
///
/// # Errors
/// The engine has begun none of this database; a launched bundle has ruled that out.
pub fn transaction<D: Database>(context: &HandlerContext) -> Result<Tx<D>, BoxError> {
    let open = context.take_transaction().and_then(Tx::of);
    open.ok_or_else(|| MissingDependency(std::any::type_name::<Tx<D>>()).into())
}

/// Back to the engine, which commits it or undoes it.
pub fn give_back<D: Database>(context: &HandlerContext, tx: Tx<D>) {
    context.put_transaction(tx.into_open());
}

#[cfg(test)]
#[cfg(feature = "macros")]
mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "a handler owns its event, whatever it does with it")]

    use std::any::Any;
    use std::sync::Arc;

    use async_trait::async_trait;
    use serde::{Deserialize, Serialize};

    use crate::component::{Component, HandlerDef, Invoke, Registered};
    use crate::context::{Attempt, ConsumerScope, Dep, HandlerContext, SagaSlot, Stop};
    use crate::deps::Deps;
    use crate::error::StoreError;
    use crate::event::{EventId, Position, StoredEvent, Timestamp};
    use crate::identity::{ConsumerId, ContextPattern};
    use crate::outcome::{Flow, HandlerResult};
    use crate::store::{Association, Database, Lease, OpenTransaction, SagaId, SagaInstance, Settlement, Tx};
    use evento_macros::{Event, event_handler, observer, projector, saga};

    /// What was written in it.
    struct Open(Vec<String>);

    #[async_trait]
    impl OpenTransaction for Open {
        fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
            self
        }

        async fn settle(&mut self, _: &Lease, _: Settlement) -> Result<(), StoreError> {
            Ok(())
        }

        async fn commit(self: Box<Self>) -> Result<(), StoreError> {
            Ok(())
        }

        async fn roll_back(self: Box<Self>) {}
    }

    struct Lines;

    impl Database for Lines {
        type Connection = Vec<String>;
        type Transaction = Open;

        fn connection(open: &Open) -> &Vec<String> {
            &open.0
        }

        fn connection_mut(open: &mut Open) -> &mut Vec<String> {
            &mut open.0
        }
    }

    #[derive(Event, Serialize, Deserialize)]
    struct Placed {
        order_id: String,
    }

    #[derive(Default, Serialize, Deserialize)]
    struct Steps {
        taken: u32,
    }

    #[derive(Default)]
    struct View;

    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn placed(&self, event: Placed, tx: &mut Tx<Lines>, attempt: Attempt) -> Result<(), String> {
            tx.push(event.order_id);
            std::future::ready(()).await;
            if attempt.0 == 1 { Ok(()) } else { Err("failed".to_owned()) }
        }
    }

    #[observer(version = 1)]
    struct Receipts;

    #[event_handler(observer = Receipts)]
    async fn sent(_event: Placed, Dep(factor): Dep<u8>, tx: &mut Tx<Lines>) {
        tx.push(factor.to_string());
    }

    #[derive(Default)]
    struct Fulfil;

    #[saga(version = 1)]
    impl Fulfil {
        #[saga_event_handler(init, association = order_id)]
        async fn begun(&self, event: Placed, state: &mut Steps, tx: &mut Tx<Lines>) -> Result<Flow, std::io::Error> {
            state.taken += 1;
            tx.push(event.order_id);
            if state.taken == 1 { Ok(Flow::Continue) } else { Err(std::io::Error::other("failed")) }
        }
    }

    fn context<C: Component>(value: C, payload: &str, attempt: u32) -> HandlerContext {
        providing(value, payload, attempt, Deps::default())
    }

    fn providing<C: Component>(value: C, payload: &str, attempt: u32, deps: Deps) -> HandlerContext {
        let consumer =
            ConsumerId { bundle: "b".into(), component: "View".into(), version: 1, context: ContextPattern::All };
        let stop = Stop::new(tokio::sync::watch::channel(false).1);
        let scope = ConsumerScope::new(consumer.into(), Arc::new(value), deps, stop);
        let event = StoredEvent {
            position: Position::from_u64(1),
            id: EventId::generate(),
            name: "any".into(),
            context: "default".into(),
            key: None,
            version: None,
            recorded_at: Timestamp::from_micros(0),
            content_type: "application/json".into(),
            payload: payload.as_bytes().to_vec().into(),
            metadata: Default::default(),
        };
        HandlerContext::new(Arc::new(scope), Arc::new(event), attempt)
    }

    async fn call(handler: &HandlerDef, context: &HandlerContext) -> HandlerResult {
        match handler.invoke {
            Invoke::Async(invoke) => invoke(context.clone()).await,
            Invoke::Blocking(invoke) => invoke(context.clone()),
        }
    }

    /// What was written in the transaction that is back.
    fn back(context: &HandlerContext) -> Option<Vec<String>> {
        let open = context.take_transaction()?.into_any().downcast::<Open>().ok()?;
        Some(open.0)
    }

    const ORDER: &str = r#"{"order_id":"o-1"}"#;

    #[tokio::test]
    async fn a_transaction_goes_back_with_what_was_written_whatever_was_returned() {
        let [placed] = View::DEF.handlers else { panic!() };
        for attempt in [1, 2] {
            let context = context(View, ORDER, attempt);
            context.put_transaction(Box::new(Open(vec!["before".to_owned()])));
            assert_eq!(call(placed, &context).await.is_ok(), attempt == 1);
            assert_eq!(back(&context).unwrap(), ["before", "o-1"], "attempt {attempt}");
        }
    }

    #[tokio::test]
    async fn a_call_that_does_not_come_to_be_leaves_it_where_it_is() {
        let [placed] = View::DEF.handlers else { panic!() };
        let undecodable = context(View, "{}", 1);
        undecodable.put_transaction(Box::new(Open(Vec::new())));
        assert!(call(placed, &undecodable).await.is_err());
        assert_eq!(back(&undecodable).unwrap(), [""; 0]);
        // A value that nobody provided, before it in the arguments or behind it.
        let sent = inventory::iter::<Registered>
            .into_iter()
            .find_map(|entry| match entry {
                Registered::Handler(free) if free.handler.method == "sent" => Some(&free.handler),
                _ => None,
            })
            .unwrap();
        let poor = context(Receipts, ORDER, 1);
        poor.put_transaction(Box::new(Open(Vec::new())));
        assert!(call(sent, &poor).await.is_err());
        assert_eq!(back(&poor).unwrap(), [""; 0]);
        let mut deps = Deps::default();
        deps.insert(7_u8);
        let rich = providing(Receipts, ORDER, 1, deps);
        rich.put_transaction(Box::new(Open(Vec::new())));
        assert!(call(sent, &rich).await.is_ok());
        assert_eq!(back(&rich).unwrap(), ["7"]);
    }

    #[tokio::test]
    async fn a_call_without_one_is_told_what_is_missing() {
        let [placed] = View::DEF.handlers else { panic!() };
        let error = call(placed, &context(View, ORDER, 1)).await.unwrap_err().to_string();
        assert!(error.contains("Tx<") && error.contains("Lines"), "{error}");
    }

    #[tokio::test]
    async fn a_saga_leaves_its_state_beside_it_only_where_the_event_is_handled() {
        let [begun] = Fulfil::DEF.handlers else { panic!() };
        for stored in [0, 1] {
            let context = context(Fulfil, ORDER, 1);
            let found_by = Association::new("order_id", "o-1").unwrap().unwrap();
            let state = format!("{{\"taken\":{stored}}}");
            let id = SagaId::from_uuid(uuid::Uuid::nil());
            context.bind_saga(SagaSlot::of(SagaInstance::new(
                id,
                state.into_bytes().into(),
                vec![found_by],
                Position::from_u64(1),
            )));
            context.put_transaction(Box::new(Open(Vec::new())));
            assert_eq!(call(begun, &context).await.is_ok(), stored == 0);
            assert_eq!(back(&context).unwrap(), ["o-1"]);
            assert_eq!(context.take_saga().unwrap().left.is_some(), stored == 0);
        }
    }
}
