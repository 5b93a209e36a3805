//! The description of the API, made of the list of its routes.

use axum::extract::State;
use axum::http::Method;
use axum::{Extension, Json};
use serde_json::{Map, Value, json};

use super::super::page::Base;
use super::super::routes::{Entry, Right, entries};
use super::super::shared::Shared;
use super::schemas::{self, POSITION, TIME, refer};
use crate::identity::ConsumerId;

/// OpenAPI 3.1.
pub(crate) async fn description(State(shared): State<Shared>, Extension(base): Extension<Base>) -> Json<Value> {
    let example = shared.consumers.first().map(|consumer| consumer.id());
    let mut paths: Map<String, Value> = Map::new();
    for entry in entries().into_iter().filter(|entry| entry.info.path.starts_with("/api/")) {
        let method = entry.info.method.as_str().to_ascii_lowercase();
        let path = paths.entry(entry.info.path).or_insert_with(|| json!({}));
        path[method] = operation(&entry, example);
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

fn operation(entry: &Entry, example: Option<&ConsumerId>) -> Value {
    let posted = entry.info.method == Method::POST;
    let in_path = entry.info.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = in_path
        .map(|name| {
            let mut parameter = parameter(name, "path", true, &in_path_schema(name));
            match (name, example) {
                ("component", Some(id)) => parameter["example"] = (*id.component).into(),
                ("version", Some(id)) => parameter["example"] = id.version.into(),
                ("context", Some(id)) => parameter["example"] = id.context.to_string().into(),
                _ => {}
            }
            parameter
        })
        .collect();
    if !posted {
        let in_query =
            |name: &&'static str| parameter(name, "query", is_needed(entry, name), &said_schema(entry, name));
        parameters.extend(entry.takes.iter().map(in_query));
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
        let field = |name: &&'static str| ((*name).to_owned(), field(entry, name));
        let fields: Map<_, _> = entry.takes.iter().map(field).collect();
        let needed: Vec<_> = entry.takes.iter().filter(|name| is_needed(entry, name)).collect();
        let schema = json!({ "type": "object", "properties": fields, "required": needed });
        operation["requestBody"] =
            json!({ "required": !needed.is_empty(), "content": { "application/json": { "schema": schema } } });
    }
    operation
}

fn parameter(name: &str, place: &str, required: bool, schema: &Value) -> Value {
    json!({ "name": name, "in": place, "required": required, "schema": schema })
}

/// Whether a route does nothing without it.
fn is_needed(entry: &Entry, name: &str) -> bool {
    let last = entry.info.path.rsplit('/').next().unwrap_or_default();
    matches!((last, name), ("seek", "to") | ("skip", "position") | ("purge" | "prune" | "prunable", "before"))
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
    let empty = if is_needed(entry, name) { "" } else { "?" };
    let texts = |pattern: &str| json!({ "type": "string", "pattern": format!("^({pattern}){empty}$") });
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
fn field(entry: &Entry, name: &str) -> Value {
    let text = said_schema(entry, name);
    match name {
        "to" => text,
        "position" if is_needed(entry, name) => json!({ "anyOf": [text, { "type": "integer", "minimum": 0 }] }),
        // Microseconds since 1970, or before.
        _ if is_needed(entry, name) => json!({ "anyOf": [text, { "type": "integer" }] }),
        _ => json!({ "anyOf": [text, { "type": ["number", "boolean", "null"] }] }),
    }
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
