// #[derive(Event)] writes:
const _: () = {
    use ::evento_runtime::__private as __evento;
    #[automatically_derived]
    impl __evento::Event for Plain {
        const NAME: &'static __evento::str = "Plain";
    }
};
// end
// #[derive(Event)] writes:
const _: () = {
    use ::evento_runtime::__private as __evento;
    #[automatically_derived]
    impl __evento::Event for Full {
        const NAME: &'static __evento::str = "OrderPlaced";
        const ALIASES: &'static [&'static __evento::str] = &["Placed"];
        const CONTEXT: &'static __evento::str = "shop";
        const SENSITIVE: &'static [&'static __evento::str] = &["email", "mail"];
        const HAS_KEY: __evento::bool = true;
        fn key(&self) -> __evento::Option<__evento::String> {
            __evento::key(&self.order_id)
        }
    }
};
// end
