// #[projector] writes:
impl View {
    async fn rest(&self, _event: RawEvent) {}
}
::core::compile_error! {
    "`retyr` is not an option of `#[event_handler]`; did you mean `retry`?\n\nan option must be `executor`, `key`, `retry`, `retry_delay`, `max_delay`, `timeout`, `on_timeout`, `batch`, `linger`, `projector`, `observer` or `crate`"
}
const _: () = {
    use ::evento_runtime::__private as __evento;
    impl __evento::Component for View {
        const DEF: &'static __evento::ComponentDef = &__evento::ComponentDef::unsound::<Self>();
    }
};
// end
