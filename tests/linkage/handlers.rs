//! Seven components and a free function, in every kind of place a linker may look at.

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
pub struct Happened {}

macro_rules! component {
    ($name:ident) => {
        #[derive(Default)]
        pub struct $name;
        #[projector(version = 1)]
        impl $name {
            #[event_handler]
            async fn happened(&self, _event: Happened) {}
        }
    };
}

component!(AtTheRoot);

pub mod public {
    use super::*;
    component!(InAPublicModule);
    pub const READ_BY_SOMEBODY: u32 = 1;
}

pub mod other {
    use super::*;
    component!(InAnotherModule);

    #[event_handler(projector = super::Joined)]
    async fn happened(_event: Happened) {}
}

mod private {
    use super::*;
    component!(InAPrivateModule);
}

#[projector(version = 1)]
pub struct Joined;

pub fn never_called() {
    component!(InAFunction);
}

pub fn never_instantiated<T>(_: T) {
    component!(InAGenericFunction);
}
