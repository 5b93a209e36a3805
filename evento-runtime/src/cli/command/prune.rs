//! What of the log nobody needs any more.

use serde_json::Value;

use super::super::fault::Fault;
use super::super::target::Target;
use super::{Answer, field};

pub(super) async fn prune(target: &dyn Target, before: &str, dry: bool) -> Result<Answer, Fault> {
    let mut events = 0;
    let mut document = loop {
        let part = target.prune(before, dry).await?;
        events += part["events"].as_u64().unwrap_or_default();
        // What is only counted stays, and would be counted again.
        if dry || part["more"] != true {
            break part;
        }
    };
    document["events"] = events.into();
    let (least, verb) = (if document["more"] == true { "at least " } else { "" }, if dry { "can be" } else { "were" });
    let mut text = format!("{least}{events} events {verb} taken out\n");
    if let Some(slowest) = document["slowest"].as_object().cloned().map(Value::Object) {
        let settled = field(&slowest, "last_settled");
        let settled = if settled.is_empty() { "nothing".to_owned() } else { format!("up to {settled}") };
        text.push_str(&format!(
            "the slowest consumer is {}, which has settled {settled}\n",
            field(&slowest, "consumer")
        ));
    }
    Ok(Answer::done(document, text))
}
