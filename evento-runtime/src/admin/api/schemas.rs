//! What answers look like, for the description: all of it, so that a field which is not told is found out.

use serde_json::{Map, Value, json};

/// A digit string, or bytes.
pub(super) const POSITION: &str = "(0x([0-9a-fA-F]{2}){1,255}|[0-9]{1,18})";
/// As RFC 3339 has it, in UTC and with what may be left out; or microseconds since 1970.
pub(super) const TIME: &str = "([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|\
                               02-(0[1-9]|1[0-9]|2[0-8]))(T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?Z?)?|-?[0-9]{1,18})";

/// The schema of what a route answers, if that is JSON.
pub(super) fn of(path: &str) -> Option<Value> {
    let list = |name: &str, of: &str, next: Value| object(&[(name, array(&refer(of))), ("next", next)]);
    Some(match path.strip_prefix("/api/")? {
        "overview" => refer("Overview"),
        "bundle" => object(&[
            ("bundle", text()),
            ("head", or_null("string")),
            ("store", text()),
            ("owner", text()),
            ("consumers", number()),
            ("instances", number()),
            ("dead_letters", number()),
        ]),
        "instances" => object(&[("instances", array(&refer("Instance")))]),
        "components" => object(&[("components", array(&json!({ "type": "object" })))]),
        "executors" => object(&[("executors", array(&refer("Executor")))]),
        "consumers" => object(&[("consumers", array(&refer("Consumer")))]),
        "events" => list("events", "Event", json!({ "type": ["object", "null"] })),
        "audit" => list("audit", "Audit", or_null("string")),
        "log/prunable" => refer("Pruned"),
        "commands/{id}" => refer("Command"),
        "openapi.json" => json!({ "type": "object" }),
        path if path.ends_with("/payload") || path == "live" => return None,
        path if path.ends_with("/letters") => list("letters", "Letter", or_null("string")),
        path if path.contains("/letters/") => refer("Letter"),
        path if path.starts_with("events/") => refer("Event"),
        "log/prune" => refer("PruneOutcome"),
        "consumers/{component}/{version}/{context}" => refer("Consumer"),
        path if path.starts_with("consumers/") => refer("Outcome"),
        _ => return None,
    })
}

/// Everything that is referred to.
pub(super) fn all() -> Value {
    let figures: Vec<(&str, Value)> = [
        ("component", text()),
        ("version", number()),
        ("context", text()),
        ("epoch", number()),
        ("reason", or_null("string")),
        ("watermark", or_null("string")),
        ("reach", or_null("string")),
    ]
    .into_iter()
    .chain(COUNTS.iter().map(|name| (*name, number())))
    .collect();
    let pruned = [("events", number()), ("to", or_null("string")), ("more", flag()), ("slowest", nullable("Slowest"))];
    let done = [("audit", uuid()), ("result", text())];
    json!({
        "Fault": object(&[("error", text()), ("message", text())]),
        "Outcome": object(&[&done[..], &[
            ("letters", or_null("integer")),
            ("command", json!({ "type": ["string", "null"], "format": "uuid" })),
        ]].concat()),
        "Pruned": object(&pruned),
        "PruneOutcome": object(&[&done[..], &pruned].concat()),
        "Slowest": object(&[("consumer", text()), ("last_settled", or_null("string"))]),
        "Overview": object(&[
            ("bundle", text()),
            ("head", or_null("string")),
            ("consumers", array(&refer("Consumer"))),
            ("instances", array(&refer("Instance"))),
            ("executors", array(&refer("Executor"))),
        ]),
        "Consumer": object(&[
            ("consumer", text()),
            ("component", text()),
            ("version", number()),
            ("context", text()),
            ("kind", or_null("string")),
            ("status", json!({ "enum": ["moving", "caught up", "standing", "paused", "unowned"] })),
            ("reason", or_null("string")),
            ("enabled", flag()),
            ("epoch", number()),
            ("owner", or_null("string")),
            ("instance", or_null("string")),
            ("here", flag()),
            ("last_settled", or_null("string")),
            ("last_started", or_null("string")),
            ("lag", object(&[("events", number()), ("more", flag()), ("seconds", real())])),
            ("rate", or_null("number")),
            ("error_streak", number()),
            ("errors", array(&refer("Failure"))),
            ("dead_letters", number()),
            ("handler_times", array(&refer("HandlerTimes"))),
            ("parallel", nullable("Parallel")),
            ("live", nullable("Figures")),
        ]),
        "Parallel": object(&[
            ("executors", array(&text())),
            ("in_flight", number()),
            ("saturated", number()),
            ("transient_failures", number()),
        ]),
        "Figures": object(&figures),
        "HandlerTimes": object(&[
            ("handler", text()),
            ("attempts", number()),
            ("failed", number()),
            ("seconds", real()),
            ("counts", array(&number())),
            ("bounds", array(&real())),
            ("within", array(&or_null("number"))),
        ]),
        "Failure": object(&[
            ("position", text()),
            ("handler", text()),
            ("class", class()),
            ("attempt", number()),
            ("error", text()),
            ("at", time()),
        ]),
        "Instance": object(&[
            ("owner", text()),
            ("name", or_null("string")),
            ("started_at", or_null("string")),
            ("seen", or_null("number")),
            ("here", flag()),
            ("consumers", array(&text())),
        ]),
        "Executor": object(&[
            ("instance", text()),
            ("here", flag()),
            ("name", text()),
            ("capacity", or_null("integer")),
            ("keeps_key_order", flag()),
            ("in_flight", number()),
            ("admitted", number()),
            ("rejected", number()),
            ("completed", number()),
            ("peak", number()),
            ("handlers", array(&text())),
        ]),
        "Event": object(&[
            ("position", text()),
            ("id", uuid()),
            ("name", text()),
            ("context", text()),
            ("key", or_null("string")),
            ("version", or_null("integer")),
            ("recorded_at", time()),
            ("content_type", text()),
            ("metadata", nullable("Preview")),
            ("payload", refer("Preview")),
            ("hidden", flag()),
        ]),
        "Preview": object(&[
            ("kind", json!({ "enum": ["json", "text", "binary"] })),
            ("text", text()),
            ("bytes", number()),
            ("cut", flag()),
        ]),
        "Letter": object(&[
            ("event", refer("Event")),
            ("kind", json!({ "enum": ["dead", "parked"] })),
            ("parks", or_null("string")),
            ("handler", text()),
            ("class", class()),
            ("error", text()),
            ("attempts", number()),
            ("first_failed_at", time()),
            ("last_failed_at", time()),
            ("requested", flag()),
        ]),
        "Audit": object(&[
            ("id", uuid()),
            ("at", time()),
            ("who", text()),
            ("origin", text()),
            ("action", text()),
            ("target", text()),
            ("detail", text()),
            ("result", text()),
        ]),
        "Command": object(&[
            ("id", uuid()),
            ("consumer", text()),
            ("command", json!({})),
            ("asked_at", time()),
            ("status", json!({ "enum": ["waiting", "done", "refused"] })),
            ("message", or_null("string")),
            ("answered_at", or_null("string")),
        ]),
    })
}

/// The counts among the live figures.
const COUNTS: [&str; 13] = [
    "in_flight",
    "open",
    "exposure",
    "parked_keys",
    "parked_events",
    "started",
    "settled",
    "skipped",
    "dead_lettered",
    "failed",
    "transient",
    "rejected",
    "checkpoints",
];

fn object(fields: &[(&str, Value)]) -> Value {
    let properties: Map<_, _> = fields.iter().map(|(name, of)| ((*name).to_owned(), of.clone())).collect();
    let required: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn array(of: &Value) -> Value {
    json!({ "type": "array", "items": of })
}

pub(super) fn refer(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn nullable(name: &str) -> Value {
    json!({ "anyOf": [refer(name), { "type": "null" }] })
}

fn or_null(kind: &str) -> Value {
    json!({ "type": [kind, "null"] })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn number() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn real() -> Value {
    json!({ "type": "number", "minimum": 0 })
}

fn flag() -> Value {
    json!({ "type": "boolean" })
}

fn uuid() -> Value {
    json!({ "type": "string", "format": "uuid" })
}

fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

fn class() -> Value {
    json!({ "enum": ["ordinary", "transient", "permanent"] })
}
