//! Five broken wirings, the whole report of each. `UPDATE_SNAPSHOTS=1 cargo test` writes the files anew.

use std::path::Path;

use evento_runtime::bundle::{Bundle, BundleBuilder, LaunchError};
use evento_runtime::executor::ConsumerExecutors;

use crate::fake::Fake;
use crate::shop::*;

/// Compares with the file, lines of this file told from the beginning of the wiring.
#[track_caller]
fn matches(name: &str, first_line: u32, text: &str) {
    let here = format!("{}:", file!());
    let text: Vec<String> = text
        .lines()
        .map(|line| match line.split_once(&here) {
            Some((before, rest)) => {
                let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                let line: u32 = rest[..digits].parse().unwrap();
                format!("{before}src/main.rs:{}{}", line - first_line + 1, &rest[digits..])
            }
            None => line.to_owned(),
        })
        .collect();
    let text = text.join("\n") + "\n";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(text, kept, "the report `{name}` has changed:\n{text}");
}

#[track_caller]
fn refused(builder: BundleBuilder) -> LaunchError {
    builder.build().expect_err("refused")
}

#[test]
fn a_misspelt_executor() {
    let error = refused(
        Bundle::builder("orders")
            .register::<OrderView>()
            .store(Fake::default())
            .executor(ConsumerExecutors::partitioned("read-modle", 32))
            .executor(ConsumerExecutors::tasks("mail", 8)),
    );
    matches("misspelt-executor", line!() - 6, &format!("Error: {error:?}"));
}

#[test]
fn nothing_is_provided() {
    let error =
        refused(Bundle::builder("receipts").register::<Receipts>().executor(ConsumerExecutors::tasks("mail", 8)));
    matches("nothing-provided", line!() - 1, &error.to_string());
}

#[test]
fn two_crates_with_one_name() {
    let error = refused(
        Bundle::builder("orders")
            .store(Fake::default())
            .executor(ConsumerExecutors::tasks("read-model", 8))
            .executor(ConsumerExecutors::pooled("read-model", 8))
            .register::<OrderView>()
            .register::<OldName>()
            .register::<Greedy>(),
    );
    matches("two-of-a-name", line!() - 8, &error.to_string());
}

#[test]
fn numbers_out_of_range() {
    let error = refused(
        Bundle::builder("order view")
            .store(Fake::default())
            .register::<Impatient>()
            .register::<Tenants>()
            .executor(ConsumerExecutors::tasks("read-model", 0))
            .window(0)
            .checkpoint_every(0)
            .page(0),
    );
    matches("out-of-range", line!() - 9, &format!("{error:80}"));
}

#[test]
fn an_empty_bundle_about_other_components() {
    let error = refused(
        Bundle::builder("orders")
            .discover()
            .module("shop::nowhere")
            .expect::<OrderView>()
            .wait_for_head::<Sequential>(true)
            .provide(1_u8)
            .provide(2_u8)
            .register::<Empty>(),
    );
    matches("about-others", line!() - 9, &format!("{error:#}"));
}

#[test]
fn the_report_as_json() {
    let error = refused(Bundle::builder("orders").register::<OrderView>().store(Fake::default()));
    assert_eq!(
        error.to_json(),
        serde_json::json!({
            "bundle": "orders",
            "problems": [{
                "code": "unknown-executor",
                "message": "`OrderView::placed` runs on executor `read-model`, which is not registered",
                "file": "src/order_view.rs",
                "line": 21,
                "help": "no executor is registered; add `.executor(ConsumerExecutors::tasks(\"read-model\", 8))`",
            }],
        })
    );
}

#[test]
fn the_plan_as_text() {
    let bundle = Bundle::builder("orders")
        .store(Fake { writers: Some(1), ..Fake::default() })
        .executor(ConsumerExecutors::partitioned("read-model", 32))
        .executor(ConsumerExecutors::tasks("mial", 8))
        .register::<OrderView>()
        .register::<Receipts>()
        .provide(Smtp)
        .provide(String::from("secret"))
        .provide(1_u8)
        .window(512)
        .wait_for_head::<OrderView>(true)
        .forget("OrderView", 0)
        .build()
        .unwrap();
    matches("plan", line!() - 14, &bundle.plan().to_string());
    assert!(!bundle.plan().to_string().contains("secret"));
}

#[test]
fn the_plan_of_every_kind_as_text() {
    let bundle = Bundle::builder("orders")
        .store(Fake::default())
        .executor(ConsumerExecutors::tasks("mail", 4))
        .register::<Fulfil>()
        .register::<Mails>()
        .register::<GoesBack>()
        .provide(Smtp)
        .build()
        .unwrap();
    matches("kinds", line!() - 9, &bundle.plan().to_string());
}
