// #[projector] writes:
impl OrderView {
    async fn placed(&self, _event: Placed, tx: &mut Tx<Sqlite>, _meta: Metadata) -> Result<(), std::io::Error> {
        **tx += 1;
        Ok(())
    }
}
const _: () = {
    use ::evento_runtime::__private as __evento;
    #[automatically_derived]
    impl __evento::Component for OrderView {
        const DEF: &'static __evento::ComponentDef = &__evento::projector::<Self>(
            "OrderView",
            1u32,
            {
                use __evento::OnlyGiven as _;
                __evento::Made::<Self>::BUILD
            },
            __evento::here!(48u32),
        )
        .handlers(&[__evento::handler::<Placed>(
            "placed",
            __evento::here!(50u32),
            __evento::Invoke::Async(|__context| {
                __evento::run(async move {
                    let __this = __evento::this::<Self>(&__context)?;
                    let __1 = __evento::event::<Placed>(&__context)?;
                    let __3 = __evento::extract::<Metadata>(&__context)?;
                    let mut __2 = __evento::transaction::<Sqlite>(&__context)?;
                    let __outcome = __evento::outcome::<Result<(), std::io::Error>>(
                        Self::placed(&__this, __1, &mut __2, __3).await,
                    );
                    __evento::give_back::<Sqlite>(&__context, __2);
                    __outcome
                })
            }),
        )
        .executor("read-model")
        .retry(3i32)
        .timeout(30000000u64)
        .abandon()
        .needs(&[__evento::needs::<Metadata>()])
        .transaction::<Sqlite>()]);
    }
    __evento::inventory::submit! { __evento :: component :: < OrderView > () }
};
// end
// #[saga] writes:
impl FulfilOrder {
    async fn placed(&self, _event: Placed, _state: &mut Fulfilment, _tx: &mut Tx<Sqlite>) {}
}
const _: () = {
    use ::evento_runtime::__private as __evento;
    #[automatically_derived]
    impl __evento::Component for FulfilOrder {
        const DEF: &'static __evento::ComponentDef = &__evento::saga::<Self>(
            "FulfilOrder",
            1u32,
            {
                use __evento::OnlyGiven as _;
                __evento::Made::<Self>::BUILD
            },
            __evento::here!(60u32),
        )
        .handlers(&[__evento::handler::<Placed>(
            "placed",
            __evento::here!(62u32),
            __evento::Invoke::Async(|__context| {
                __evento::run(async move {
                    let __this = __evento::this::<Self>(&__context)?;
                    let __1 = __evento::event::<Placed>(&__context)?;
                    let mut __2 = __evento::saga_state::<Fulfilment>(&__context)?;
                    let mut __3 = __evento::transaction::<Sqlite>(&__context)?;
                    let __outcome =
                        __evento::saga_outcome(Self::placed(&__this, __1, &mut __2, &mut __3).await, &__2, &__context);
                    __evento::give_back::<Sqlite>(&__context, __3);
                    __outcome
                })
            }),
        )
        .saga(__evento::saga_row(true, "order_id", |__context| {
            use __evento::{MaybeField as _, SureField as _};
            let __event = __evento::event::<Placed>(__context)?;
            __evento::Result::Ok((&__evento::Field(&__event.order_id)).value())
        }))
        .state::<Fulfilment>()
        .timeout(60000000u64)
        .transaction::<Sqlite>()]);
    }
    __evento::inventory::submit! { __evento :: component :: < FulfilOrder > () }
};
// end
// #[observer] writes:
pub struct Receipts;
const _: () = {
    use ::evento_runtime::__private as __evento;
    #[automatically_derived]
    impl __evento::Component for Receipts {
        const DEF: &'static __evento::ComponentDef =
            &__evento::observer::<Self>("Receipts", 1u32, __evento::Build::Unit, __evento::here!(66u32));
    }
    #[automatically_derived]
    impl __evento::OpenComponent for Receipts {}
    #[automatically_derived]
    impl __evento::OpenObserver for Receipts {}
    __evento::inventory::submit! { __evento :: component :: < Receipts > () }
};
// end
// #[event_handler] writes:
async fn sent(_event: Placed, _tx: &mut Tx<Sqlite>) {}
const _: () = {
    use ::evento_runtime::__private as __evento;
    static HANDLER: __evento::FreeHandler = __evento::FreeHandler {
        component: __evento::joined_observer::<Receipts>(),
        handler: __evento::handler::<Placed>(
            "sent",
            __evento::here!(69u32),
            __evento::Invoke::Async(|__context| {
                __evento::run(async move {
                    let __0 = __evento::event::<Placed>(&__context)?;
                    let mut __1 = __evento::transaction::<Sqlite>(&__context)?;
                    let __outcome = __evento::outcome(sent(__0, &mut __1).await);
                    __evento::give_back::<Sqlite>(&__context, __1);
                    __outcome
                })
            }),
        )
        .transaction::<Sqlite>(),
    };
    __evento::inventory::submit! { __evento :: Registered :: Handler(& HANDLER) }
};
// end
