// #[observer] writes:
impl Receipts {
    async fn sent(&self, _event: RawEvent, _id: EventId) {}
}
const _: () = {
    use ::evento_runtime::__private as __evento;
    #[automatically_derived]
    impl __evento::Component for Receipts {
        const DEF: &'static __evento::ComponentDef = &__evento::observer::<Self>(
            "Receipts",
            1u32,
            {
                use __evento::OnlyGiven as _;
                __evento::Made::<Self>::BUILD
            },
            __evento::here!(8u32),
        )
        .handlers(&[__evento::handler::<RawEvent>(
            "sent",
            __evento::here!(10u32),
            __evento::Invoke::Async(|__context| {
                __evento::run(async move {
                    let __this = __evento::this::<Self>(&__context)?;
                    let __1 = __evento::event::<RawEvent>(&__context)?;
                    let __2 = __evento::extract::<EventId>(&__context)?;
                    __evento::outcome(Self::sent(&__this, __1, __2).await)
                })
            }),
        )
        .executor("mail")
        .retry(5i32)
        .needs(&[__evento::needs::<EventId>()])]);
    }
    __evento::inventory::submit! { __evento :: component :: < Receipts > () }
};
// end
// #[observer] writes:
pub struct Open;
const _: () = {
    use ::evento_runtime::__private as __evento;
    #[automatically_derived]
    impl __evento::Component for Open {
        const DEF: &'static __evento::ComponentDef =
            &__evento::observer::<Self>("Open", 1u32, __evento::Build::Unit, __evento::here!(14u32));
    }
    #[automatically_derived]
    impl __evento::OpenComponent for Open {}
    #[automatically_derived]
    impl __evento::OpenObserver for Open {}
    __evento::inventory::submit! { __evento :: component :: < Open > () }
};
// end
// #[event_handler] writes:
fn rest(_event: RawEvent) {}
const _: () = {
    use ::evento_runtime::__private as __evento;
    static HANDLER: __evento::FreeHandler = __evento::FreeHandler {
        component: __evento::joined_observer::<Open>(),
        handler: __evento::handler::<RawEvent>(
            "rest",
            __evento::here!(17u32),
            __evento::Invoke::Blocking(|__context| {
                let __0 = __evento::event::<RawEvent>(&__context)?;
                __evento::outcome(rest(__0))
            }),
        ),
    };
    __evento::inventory::submit! { __evento :: Registered :: Handler(& HANDLER) }
};
// end
// #[projector] writes:
impl View {
    async fn clear(&self, _text: Dep<String>) {}
    async fn rest(&self, _event: RawEvent) {}
}
const _: () = {
    use ::evento_runtime::__private as __evento;
    #[automatically_derived]
    impl __evento::Component for View {
        const DEF: &'static __evento::ComponentDef = &__evento::projector::<Self>(
            "View",
            1u32,
            {
                use __evento::OnlyGiven as _;
                __evento::Made::<Self>::BUILD
            },
            __evento::here!(23u32),
        )
        .on_reset(
            __evento::hook("clear", __evento::here!(25u32), |__scope| {
                __evento::run(async move {
                    let __this = __evento::start_this::<Self>(&__scope)?;
                    let __1 = __evento::start_extract::<Dep<String>>(&__scope)?;
                    __evento::started(Self::clear(&__this, __1).await)
                })
            })
            .needs(&[__evento::start_needs::<Dep<String>>()]),
        )
        .handlers(&[__evento::handler::<RawEvent>(
            "rest",
            __evento::here!(28u32),
            __evento::Invoke::Async(|__context| {
                __evento::run(async move {
                    let __this = __evento::this::<Self>(&__context)?;
                    let __1 = __evento::event::<RawEvent>(&__context)?;
                    __evento::outcome(Self::rest(&__this, __1).await)
                })
            }),
        )]);
    }
    __evento::inventory::submit! { __evento :: component :: < View > () }
};
// end
// #[projector] writes:
pub struct Totals;
const _: () = {
    use ::evento_runtime::__private as __evento;
    #[automatically_derived]
    impl __evento::Component for Totals {
        const DEF: &'static __evento::ComponentDef =
            &__evento::projector::<Self>("Totals", 1u32, __evento::Build::Unit, __evento::here!(32u32));
    }
    #[automatically_derived]
    impl __evento::OpenComponent for Totals {}
    #[automatically_derived]
    impl __evento::OpenProjector for Totals {}
    __evento::inventory::submit! { __evento :: component :: < Totals > () }
};
// end
// #[on_reset] writes:
async fn clear_totals() {}
const _: () = {
    use ::evento_runtime::__private as __evento;
    static HOOK: __evento::FreeHook = __evento::FreeHook {
        component: __evento::joined_projector::<Totals>(),
        hook: __evento::hook("clear_totals", __evento::here!(35u32), |_| {
            __evento::run(async move { __evento::started(clear_totals().await) })
        }),
    };
    __evento::inventory::submit! { __evento :: Registered :: Reset(& HOOK) }
};
// end
