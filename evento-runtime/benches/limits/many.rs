//! `many`: a hundred consumers over one log, against one consumer a hundred times.

use std::time::{Duration, Instant};

use evento_runtime::prelude::*;
use evento_runtime::{Bundle, BundleBuilder};

use crate::Options;
use crate::places::{Kind, new_name, settled};
use crate::reading::{Tally, last, read_untyped};
use crate::report::Report;
use crate::turns::{Check, Run, alternate};

const CONSUMERS: u64 = 100;

/// A component each.
macro_rules! consumers {
    ($($name:ident)*) => {
        $(
            struct $name(Tally);

            #[projector(version = 1)]
            impl $name {
                #[event_handler]
                async fn any(&self, event: RawEvent) {
                    self.0.add(event.payload.len() as u64);
                }

                #[inject]
                fn new(tally: Tally) -> Self {
                    Self(tally)
                }
            }
        )*

        fn all(builder: BundleBuilder, tally: &Tally) -> BundleBuilder {
            builder$(.component($name(tally.clone())))*
        }
    };
}

consumers! {
    C00 C01 C02 C03 C04 C05 C06 C07 C08 C09 C10 C11 C12 C13 C14 C15 C16 C17 C18 C19
    C20 C21 C22 C23 C24 C25 C26 C27 C28 C29 C30 C31 C32 C33 C34 C35 C36 C37 C38 C39
    C40 C41 C42 C43 C44 C45 C46 C47 C48 C49 C50 C51 C52 C53 C54 C55 C56 C57 C58 C59
    C60 C61 C62 C63 C64 C65 C66 C67 C68 C69 C70 C71 C72 C73 C74 C75 C76 C77 C78 C79
    C80 C81 C82 C83 C84 C85 C86 C87 C88 C89 C90 C91 C92 C93 C94 C95 C96 C97 C98 C99
}

pub(crate) async fn run(options: &Options, report: &mut Report) {
    let events = options.events(100_000, 4_000);
    for kind in Kind::READ {
        let Some(place) = kind.open().await else { continue };
        place.fill(1, events).await;
        let ours = async || {
            let tally = Tally::new(events * CONSUMERS);
            let builder = all(place.config(Bundle::builder(new_name())), &tally);
            let bundle = builder.build().unwrap();
            let began = Instant::now();
            let running = bundle.start().await.unwrap();
            tally.all().await;
            settled(&running, &last(events)).await;
            let took = began.elapsed();
            running.stop(Duration::from_secs(30)).await.unwrap();
            Run::new(took, events * CONSUMERS, tally.check())
        };
        // What a hundred runs would give is what one gives.
        let limit = async || {
            let run = read_untyped(&place, events).await;
            let check = Check::new(run.check.count * CONSUMERS, run.check.sum * CONSUMERS);
            run.with(|| check)
        };
        alternate(report, "many", place.name(), 2.0, ours, limit).await;
        place.close().await;
    }
}
