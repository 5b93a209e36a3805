//! The description of the API, made of the list of its routes.

use axum::http::Method;
use axum::{Extension, Json};
use serde_json::{Map, Value, json};

use super::super::page::Base;
use super::super::routes::{Entry, Right, entries};
use super::schemas::{self, POSITION, TIME, refer};

/// OpenAPI 3.1.
pub(crate) async fn description(Extension(base): Extension<Base>) -> Json<Value> {
    let mut paths: Map<String, Value> = Map::new();
    for entry in entries().into_iter().filter(|entry| entry.info.path.starts_with("/api/")) {
        let method = entry.info.method.as_str().to_ascii_lowercase();
        let path = paths.entry(entry.info.path).or_insert_with(|| json!({}));
        path[method] = operation(&entry);
    }
    Json(json!({
        "openapi": "3.1.0",
        "info": { "title": "evento admin", "version": env!("CARGO_PKG_VERSION") },
        // Wherever the router is nested.
        "servers": [{ "url": base.path() }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
            },
            "schemas": schemas::all(),
        },
    }))
}

fn operation(entry: &Entry) -> Value {
    let posted = entry.info.method == Method::POST;
    let in_path = entry.info.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = in_path.map(|name| parameter(name, "path", in_path_schema(name))).collect();
    if !posted {
        parameters.extend(entry.takes.iter().map(|name| parameter(name, "query", said_schema(entry, name))));
    }
    let mut operation = json!({
        "summary": entry.info.about,
        "parameters": parameters,
        "security": [{ "token": [] }],
        "x-right": match entry.info.right {
            Right::Act => "act",
            Right::Reveal => "reveal",
            Right::Read | Right::Open => "read",
        },
        "responses": responses(entry),
    });
    if posted && !entry.takes.is_empty() {
        let fields = entry.takes.iter().map(|name| ((*name).to_owned(), field(said_schema(entry, name))));
        operation["requestBody"] = json!({
            "content": {
                "application/json": { "schema": { "type": "object", "properties": fields.collect::<Map<_, _>>() } },
            },
        });
    }
    operation
}

fn parameter(name: &str, place: &str, schema: Value) -> Value {
    json!({ "name": name, "in": place, "required": place == "path", "schema": schema })
}

fn in_path_schema(name: &str) -> Value {
    match name {
        "version" => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
        "id" => json!({ "type": "string", "format": "uuid" }),
        "position" => json!({ "type": "string", "pattern": format!("^{POSITION}$") }),
        _ => json!({ "type": "string" }),
    }
}

/// Of what a query or a body says. A text that is empty says nothing.
fn said_schema(entry: &Entry, name: &str) -> Value {
    let texts = |pattern: &str| json!({ "type": "string", "pattern": format!("^({pattern})?$") });
    match name {
        "limit" => json!({ "type": "integer", "minimum": 0, "description": "At most 100 count." }),
        "position" => texts(POSITION),
        "to" => texts(&format!("start|head|after:{POSITION}|time:{TIME}")),
        "keep" => texts("true|false|on"),
        "kind" => texts("dead|parked"),
        "class" => texts("ordinary|transient|permanent"),
        "since" => texts(TIME),
        "after" if entry.info.path == "/api/audit" => {
            json!({ "anyOf": [{ "type": "string", "format": "uuid" }, { "type": "string", "maxLength": 0 }] })
        }
        "after" => texts(POSITION),
        // Of events a position, of everything else a time.
        "before" if entry.info.path == "/api/events" => texts(POSITION),
        "before" => texts(TIME),
        _ => json!({ "type": "string" }),
    }
}

/// Of a body: the text, or a number or a flag that is written as one.
fn field(text: Value) -> Value {
    json!({ "anyOf": [text, { "type": ["number", "boolean", "null"] }] })
}

fn responses(entry: &Entry) -> Value {
    let answer = |about: &str, schema: Value| json!({ "description": about, "content": { "application/json": { "schema": schema } } });
    let fault = |about: &str| answer(about, refer("Fault"));
    let mut responses = json!({
        "400": fault("A parameter or the body is not understood."),
        "401": fault("A token is needed."),
        "403": fault("The right is missing, or the request comes from another page."),
        "404": fault("There is no such thing."),
        "503": fault("The store does not answer."),
    });
    responses["200"] = match schemas::of(entry.info.path) {
        Some(schema) => answer(entry.info.about, schema),
        None => {
            let kind = if entry.info.path == "/api/live" { "text/event-stream" } else { "application/octet-stream" };
            json!({ "description": entry.info.about, "content": { kind: {} } })
        }
    };
    if entry.info.right == Right::Act {
        let either = json!({ "anyOf": [refer("Outcome"), refer("Fault")] });
        responses["202"] = answer("It was not carried out within five seconds, and still may be.", either);
        responses["413"] = json!({ "description": "The body is larger than 64 KiB." });
        responses["415"] = fault("The body is no JSON.");
    }
    if entry.info.right == Right::Act || entry.info.path == "/api/log/prunable" {
        responses["409"] = fault("It was refused, for the reason that is told.");
    }
    if entry.info.path == "/api/live" {
        responses["429"] = fault("Too many pages are kept up to date at once.");
    }
    responses
}
