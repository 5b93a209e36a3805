// #[projector] writes:
pub struct Totals;
const _: () = {
    use ::evento_runtime::__private as __evento;
    #[automatically_derived]
    impl __evento::Component for Totals {
        const DEF: &'static __evento::ComponentDef =
            &__evento::projector::<Self>("Totals", 1u32, __evento::Build::Unit, __evento::here!(5u32));
    }
    #[automatically_derived]
    impl __evento::OpenComponent for Totals {}
    #[automatically_derived]
    impl __evento::OpenProjector for Totals {}
    __evento::inventory::submit! { __evento :: component :: < Totals > () }
};
// end
// #[event_handler] writes:
async fn rest(_event: RawEvent, _id: EventId) {}
const _: () = {
    use ::evento_runtime::__private as __evento;
    static HANDLER: __evento::FreeHandler = __evento::FreeHandler {
        component: __evento::joined_projector::<Totals>(),
        handler: __evento::handler::<RawEvent>(
            "rest",
            __evento::here!(8u32),
            __evento::Invoke::Async(|__context| {
                __evento::run(async move {
                    let __0 = __evento::event::<RawEvent>(&__context)?;
                    let __1 = __evento::extract::<EventId>(&__context)?;
                    __evento::outcome(rest(__0, __1).await)
                })
            }),
        )
        .executor("read-model")
        .needs(&[__evento::needs::<EventId>()]),
    };
    __evento::inventory::submit! { __evento :: Registered :: Handler(& HANDLER) }
};
// end
// #[on_start] writes:
async fn prepare(_text: Dep<String>) {}
const _: () = {
    use ::evento_runtime::__private as __evento;
    static HOOK: __evento::FreeHook = __evento::FreeHook {
        component: __evento::joined_projector::<Totals>(),
        hook: __evento::hook("prepare", __evento::here!(11u32), |__scope| {
            __evento::run(async move {
                let __0 = __evento::start_extract::<Dep<String>>(&__scope)?;
                __evento::started(prepare(__0).await)
            })
        })
        .needs(&[__evento::start_needs::<Dep<String>>()]),
    };
    __evento::inventory::submit! { __evento :: Registered :: Hook(& HOOK) }
};
// end
