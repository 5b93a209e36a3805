// #[projector] writes:
#[doc = " Keeps a text."]
impl View {
    fn new(text: String) -> Self {
        Self { text }
    }
    async fn prepare(&self, _text: Dep<String>) -> Result<(), std::io::Error> {
        Ok(())
    }
    #[doc = " As most handlers are."]
    async fn paid(&self, _event: Paid, _meta: Metadata) -> Result<(), std::io::Error> {
        Ok(())
    }
    #[doc = " With everything there is."]
    async fn placed(&self, _event: Placed, _meta: Metadata, Dep(_text): Dep<String>) -> Result<(), std::io::Error> {
        Ok(())
    }
    #[cfg(not(any()))]
    fn rest(&self, _event: RawEvent) {}
    pub fn helper(&self) {}
}
const _: () = {
    use ::evento_runtime::__private as __evento;
    #[automatically_derived]
    impl __evento::Component for View {
        const DEF: &'static __evento::ComponentDef = &__evento::projector::<Self>(
            "view",
            2u32,
            __evento::Build::With {
                needs: &[__evento::need::<String>()],
                build: |__deps| __evento::built(Self::new(__evento::provided::<String>(__deps)?)),
            },
            __evento::here!(27u32),
        )
        .wait_for_head(true)
        .contexts(&["shop"])
        .checkpoint(__evento::CheckpointMode::OnStart)
        .docs("Keeps a text.")
        .on_start(
            __evento::hook("prepare", __evento::here!(34u32), |__scope| {
                __evento::run(async move {
                    let __this = __evento::start_this::<Self>(&__scope)?;
                    let __1 = __evento::start_extract::<Dep<String>>(&__scope)?;
                    __evento::started::<Result<(), std::io::Error>>(Self::prepare(&__this, __1).await)
                })
            })
            .needs(&[__evento::start_needs::<Dep<String>>()]),
        )
        .handlers(&[
            __evento::handler::<Paid>(
                "paid",
                __evento::here!(40u32),
                __evento::Invoke::Async(|__context| {
                    __evento::run(async move {
                        let __this = __evento::this::<Self>(&__context)?;
                        let __1 = __evento::event::<Paid>(&__context)?;
                        let __2 = __evento::extract::<Metadata>(&__context)?;
                        __evento::outcome::<Result<(), std::io::Error>>(Self::paid(&__this, __1, __2).await)
                    })
                }),
            )
            .executor("read-model")
            .retry(3i32)
            .needs(&[__evento::needs::<Metadata>()])
            .docs("As most handlers are."),
            __evento::handler::<Placed>(
                "placed",
                __evento::here!(46u32),
                __evento::Invoke::Async(|__context| {
                    __evento::run(async move {
                        let __this = __evento::this::<Self>(&__context)?;
                        let __1 = __evento::event::<Placed>(&__context)?;
                        let __2 = __evento::extract::<Metadata>(&__context)?;
                        let __3 = __evento::extract::<Dep<String>>(&__context)?;
                        __evento::outcome::<Result<(), std::io::Error>>(Self::placed(&__this, __1, __2, __3).await)
                    })
                }),
            )
            .executor(READ_MODEL)
            .key(__evento::key_row("customer", |__context| {
                use __evento::{MaybeField as _, SureField as _};
                let __event = __evento::event::<Placed>(__context)?;
                __evento::Result::Ok((&__evento::Field(&__event.customer)).value())
            }))
            .retry(3i32)
            .retry_delay(500000u64)
            .max_delay(30000000u64)
            .needs(&[__evento::needs::<Metadata>(), __evento::needs::<Dep<String>>()])
            .docs("With everything there is."),
            #[cfg(not(any()))]
            __evento::handler::<RawEvent>(
                "rest",
                __evento::here!(52u32),
                __evento::Invoke::Blocking(|__context| {
                    let __this = __evento::this::<Self>(&__context)?;
                    let __1 = __evento::event::<RawEvent>(&__context)?;
                    __evento::outcome(Self::rest(&__this, __1))
                }),
            ),
        ]);
    }
    __evento::inventory::submit! { __evento :: component :: < View > () }
};
// end
