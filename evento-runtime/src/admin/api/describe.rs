//! The description of the API, made of the list of its routes.

use axum::Json;
use axum::http::Method;
use serde_json::{Map, Value, json};

use super::super::routes::{Entry, Right, entries};

/// OpenAPI 3.1.
pub(crate) async fn description() -> Json<Value> {
    let mut paths: Map<String, Value> = Map::new();
    for entry in entries().into_iter().filter(|entry| entry.info.path.starts_with("/api/")) {
        let method = entry.info.method.as_str().to_ascii_lowercase();
        let path = paths.entry(entry.info.path).or_insert_with(|| json!({}));
        path[method] = operation(&entry);
    }
    Json(json!({
        "openapi": "3.1.0",
        "info": { "title": "evento admin", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
            },
            "schemas": {
                "Fault": {
                    "type": "object",
                    "required": ["error", "message"],
                    "properties": { "error": { "type": "string" }, "message": { "type": "string" } },
                },
                "Outcome": {
                    "type": "object",
                    "required": ["audit", "result"],
                    "properties": {
                        "audit": { "type": "string", "format": "uuid" },
                        "result": { "type": "string" },
                        "letters": { "type": ["integer", "null"] },
                        "command": { "type": ["string", "null"], "format": "uuid" },
                    },
                },
            },
        },
    }))
}

fn operation(entry: &Entry) -> Value {
    let acts = entry.info.method == Method::POST;
    let in_path = entry.info.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = in_path.map(|name| parameter(name, "path")).collect();
    if !acts {
        parameters.extend(entry.takes.iter().map(|name| parameter(name, "query")));
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
        "responses": responses(entry, acts),
    });
    if acts && !entry.takes.is_empty() {
        let fields =
            entry.takes.iter().map(|name| ((*name).to_owned(), json!({ "type": ["string", "number", "boolean"] })));
        operation["requestBody"] = json!({
            "content": {
                "application/json": { "schema": { "type": "object", "properties": fields.collect::<Map<_, _>>() } },
            },
        });
    }
    operation
}

fn parameter(name: &str, place: &str) -> Value {
    let schema = match name {
        "limit" => json!({ "type": "integer", "minimum": 1, "maximum": super::MAX_PAGE }),
        "version" => json!({ "type": "integer", "minimum": 0 }),
        "id" => json!({ "type": "string", "format": "uuid" }),
        _ => json!({ "type": "string" }),
    };
    json!({ "name": name, "in": place, "required": place == "path", "schema": schema })
}

fn responses(entry: &Entry, acts: bool) -> Value {
    let fault = |about: &str| {
        json!({
            "description": about,
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Fault" } } },
        })
    };
    let outcome = |about: &str| {
        json!({
            "description": about,
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Outcome" } } },
        })
    };
    let mut responses = json!({
        "400": fault("A parameter or the body is not understood."),
        "401": fault("A token is needed."),
        "403": fault("The right is missing, or the request comes from another page."),
        "404": fault("There is no such thing."),
        "503": fault("The store does not answer."),
    });
    if acts {
        responses["200"] = outcome("It is done.");
        responses["202"] = outcome("It was not carried out within five seconds, and still may be.");
        responses["409"] = fault("It was refused, for the reason that is told.");
        responses["413"] = json!({ "description": "The body is larger than 64 KiB." });
        responses["415"] = fault("The body is no JSON.");
    } else {
        let kind = match entry.info.path {
            path if path.ends_with("/payload") => "application/octet-stream",
            "/api/live" => "text/event-stream",
            _ => "application/json",
        };
        responses["200"] = json!({ "description": entry.info.about, "content": { kind: {} } });
    }
    responses
}
