//! Block style.
use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub struct Placed {
    pub customer: u64,
}
impl Event for Placed {
    const NAME: &'static str = "Placed";
}

#[derive(Serialize, Deserialize)]
pub struct Paid {}
impl Event for Paid {
    const NAME: &'static str = "Paid";
}

pub const READ_MODEL: &str = "read-model";

pub struct View {
    pub text: String,
}

/// Keeps a text.
#[projector(version = 2, name = "view", wait_for_head = true, contexts = "shop", checkpoint = "on-start")]
impl View {
    #[inject]
    fn new(text: String) -> Self {
        Self { text }
    }

    #[on_start]
    async fn prepare(&self, _text: Dep<String>) -> Result<(), std::io::Error> {
        Ok(())
    }

    /// As most handlers are.
    #[event_handler(executor = "read-model", retry = 3)]
    async fn paid(&self, _event: Paid, _meta: Metadata) -> Result<(), std::io::Error> {
        Ok(())
    }

    /// With everything there is.
    #[event_handler(executor = READ_MODEL, key = customer, retry = 3, retry_delay = "500ms", max_delay = "30s")]
    async fn placed(&self, _event: Placed, _meta: Metadata, Dep(_text): Dep<String>) -> Result<(), std::io::Error> {
        Ok(())
    }

    #[cfg(not(any()))]
    #[event_handler]
    fn rest(&self, _event: RawEvent) {}

    pub fn helper(&self) {}
}
