// #[projector] writes:
impl OrderView {
    async fn placed(&self, _events: Vec<Placed>, _attempt: Attempt) -> Result<(), std::io::Error> {
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
            __evento::here!(17u32),
        )
        .handlers(&[__evento::handler::<Placed>(
            "placed",
            __evento::here!(19u32),
            __evento::Invoke::Async(|__context| {
                __evento::run(async move {
                    let __this = __evento::this::<Self>(&__context)?;
                    let __1 = __evento::events::<Placed>(&__context)?;
                    let __2 = __evento::extract::<Attempt>(&__context)?;
                    __evento::outcome::<Result<(), std::io::Error>>(Self::placed(&__this, __1, __2).await)
                })
            }),
        )
        .executor("read-model")
        .retry(3i32)
        .batch(500u32)
        .linger(5000u64)
        .needs(&[__evento::needs::<Attempt>()])]);
    }
    __evento::inventory::submit! { __evento :: component :: < OrderView > () }
};
// end
// #[projector] writes:
pub struct Totals;
const _: () = {
    use ::evento_runtime::__private as __evento;
    #[automatically_derived]
    impl __evento::Component for Totals {
        const DEF: &'static __evento::ComponentDef =
            &__evento::projector::<Self>("Totals", 1u32, __evento::Build::Unit, __evento::here!(25u32));
    }
    #[automatically_derived]
    impl __evento::OpenComponent for Totals {}
    #[automatically_derived]
    impl __evento::OpenProjector for Totals {}
    __evento::inventory::submit! { __evento :: component :: < Totals > () }
};
// end
// #[event_handler] writes:
fn any(_events: Vec<RawEvent>) {}
const _: () = {
    use ::evento_runtime::__private as __evento;
    static HANDLER: __evento::FreeHandler = __evento::FreeHandler {
        component: __evento::joined_projector::<Totals>(),
        handler: __evento::handler::<RawEvent>(
            "any",
            __evento::here!(28u32),
            __evento::Invoke::Blocking(|__context| {
                let __0 = __evento::events::<RawEvent>(&__context)?;
                __evento::outcome(any(__0))
            }),
        )
        .batch(10u32),
    };
    __evento::inventory::submit! { __evento :: Registered :: Handler(& HANDLER) }
};
// end
