// #[saga] writes:
impl FulfilOrder {
    async fn placed(&self, _event: Placed, _state: &mut Fulfilment, _meta: Metadata) -> Result<(), std::io::Error> {
        Ok(())
    }
    fn paid(&self, _event: Paid, _state: &mut Fulfilment) -> Flow {
        Flow::Complete
    }
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
            __evento::here!(28u32),
        )
        .start(__evento::StartFrom::Beginning)
        .handlers(&[
            __evento::handler::<Placed>(
                "placed",
                __evento::here!(30u32),
                __evento::Invoke::Async(|__context| {
                    __evento::run(async move {
                        let __this = __evento::this::<Self>(&__context)?;
                        let __1 = __evento::event::<Placed>(&__context)?;
                        let mut __2 = __evento::saga_state::<Fulfilment>(&__context)?;
                        let __3 = __evento::extract::<Metadata>(&__context)?;
                        __evento::saga_outcome::<Result<(), std::io::Error>, _>(
                            Self::placed(&__this, __1, &mut __2, __3).await,
                            &__2,
                            &__context,
                        )
                    })
                }),
            )
            .saga(__evento::saga_row(true, "order_id", |__context| {
                use __evento::{MaybeField as _, SureField as _};
                let __event = __evento::event::<Placed>(__context)?;
                __evento::Result::Ok((&__evento::Field(&__event.order_id)).value())
            }))
            .state::<Fulfilment>()
            .retry(3i32)
            .needs(&[__evento::needs::<Metadata>()]),
            __evento::handler::<Paid>(
                "paid",
                __evento::here!(35u32),
                __evento::Invoke::Blocking(|__context| {
                    let __this = __evento::this::<Self>(&__context)?;
                    let __1 = __evento::event::<Paid>(&__context)?;
                    let mut __2 = __evento::saga_state::<Fulfilment>(&__context)?;
                    __evento::saga_outcome::<Flow, _>(Self::paid(&__this, __1, &mut __2), &__2, &__context)
                }),
            )
            .saga(__evento::saga_row(false, "order_id", |__context| {
                use __evento::{MaybeField as _, SureField as _};
                let __event = __evento::event::<Paid>(__context)?;
                __evento::Result::Ok((&__evento::Field(&__event.order)).value())
            }))
            .state::<Fulfilment>(),
        ]);
    }
    __evento::inventory::submit! { __evento :: component :: < FulfilOrder > () }
};
// end
// #[saga] writes:
pub struct Open;
const _: () = {
    use ::evento_runtime::__private as __evento;
    #[automatically_derived]
    impl __evento::Component for Open {
        const DEF: &'static __evento::ComponentDef =
            &__evento::saga::<Self>("Open", 1u32, __evento::Build::Unit, __evento::here!(41u32));
    }
    #[automatically_derived]
    impl __evento::OpenComponent for Open {}
    #[automatically_derived]
    impl __evento::OpenSaga for Open {}
    __evento::inventory::submit! { __evento :: component :: < Open > () }
};
// end
// #[saga_event_handler] writes:
async fn begins(_event: Placed, _state: &mut Fulfilment) {}
const _: () = {
    use ::evento_runtime::__private as __evento;
    static HANDLER: __evento::FreeHandler = __evento::FreeHandler {
        component: __evento::joined_saga::<Open>(),
        handler: __evento::handler::<Placed>(
            "begins",
            __evento::here!(44u32),
            __evento::Invoke::Async(|__context| {
                __evento::run(async move {
                    let __0 = __evento::event::<Placed>(&__context)?;
                    let mut __1 = __evento::saga_state::<Fulfilment>(&__context)?;
                    __evento::saga_outcome(begins(__0, &mut __1).await, &__1, &__context)
                })
            }),
        )
        .saga(__evento::saga_row(true, "order_id", |__context| {
            use __evento::{MaybeField as _, SureField as _};
            let __event = __evento::event::<Placed>(__context)?;
            __evento::Result::Ok((&__evento::Field(&__event.order_id)).value())
        }))
        .state::<Fulfilment>(),
    };
    __evento::inventory::submit! { __evento :: Registered :: Handler(& HANDLER) }
};
// end
