//! A running API, asked over HTTP.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use ureq::Agent;

use super::arguments::said;
use super::fault::{Exit, Fault, with_causes};
use super::target::{Action, Name, Target};
use crate::task::Tasks;
use crate::view::words::{Which, segment};

/// How long an answer is waited for: the API itself waits five seconds for what others carry out.
const PATIENCE: Duration = Duration::from_secs(20);
/// Larger answers are none of the API's.
const LARGEST: u64 = 64 * 1_024 * 1_024;

pub(super) struct Api {
    agent: Agent,
    /// Without a slash at its end.
    base: String,
    token: Option<String>,
    tasks: Tasks,
}

impl Api {
    pub(super) fn new(url: &str, token_file: Option<&Path>) -> Result<Self, Fault> {
        let base = base(url)?;
        let token = token(token_file)?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            // A token goes to the address it was meant for, and nowhere else.
            .max_redirects(0)
            .proxy(None)
            .build();
        Ok(Self { agent: config.new_agent(), base, token, tasks: Tasks::default() })
    }

    async fn get(&self, path: String) -> Result<Value, Fault> {
        self.send(path, None).await
    }

    async fn send(&self, path: String, body: Option<Value>) -> Result<Value, Fault> {
        let (agent, token, url) = (self.agent.clone(), self.token.clone(), format!("{}{path}", self.base));
        // In a thread of its own, which is left to its end.
        let asked = self.tasks.spawn_blocking(move || ask(&agent, &url, token.as_deref(), body.as_ref()));
        let (status, text) = asked.await.map_err(|error| Fault::unreachable(error.to_string()))??;
        judge(&self.base, status, &text)
    }
}

/// Where the router is nested.
fn base(url: &str) -> Result<String, Fault> {
    let wrong = |why: &str| Err(Fault::usage(format!("the URL of the API {why}; its form is `http://host:port/path`")));
    let Some(rest) = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")) else {
        return wrong("begins with `http://` or `https://`");
    };
    let authority = rest.split('/').next().unwrap_or_default();
    if rest.contains('@') {
        return wrong("has no user and no password: a token comes from EVENTO_TOKEN or `--token-file`");
    }
    if authority.is_empty() || rest.contains(['?', '#']) || rest.contains(|c: char| c.is_whitespace() || c.is_control())
    {
        return wrong("has a host, and no `?` and no `#`");
    }
    Ok(url.trim_end_matches('/').to_owned())
}

fn token(file: Option<&Path>) -> Result<Option<String>, Fault> {
    let token = match file {
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .map_err(|error| Fault::usage(format!("the token file {}: {error}", file.display())))?;
            Some(text.trim().to_owned())
        }
        None => said("EVENTO_TOKEN"),
    };
    match token {
        Some(token) if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err(Fault::usage("a token has visible ASCII characters only, on one line"))
        }
        token => Ok(token),
    }
}

fn ask(agent: &Agent, url: &str, token: Option<&str>, body: Option<&Value>) -> Result<(u16, String), Fault> {
    let failed = |error: ureq::Error| match error {
        ureq::Error::TlsRequired => {
            Fault::usage("this program was built without TLS: build it with the feature `cli-tls` for `https://`")
        }
        error => Fault::unreachable(format!("{url} cannot be reached: {}", with_causes(&error))),
    };
    let bearer = token.map(|token| format!("Bearer {token}"));
    let answer = match body {
        None => {
            let mut request = agent.get(url);
            if let Some(bearer) = &bearer {
                request = request.header("authorization", bearer);
            }
            request.call()
        }
        Some(body) => {
            let mut request = agent.post(url).header("content-type", "application/json");
            if let Some(bearer) = &bearer {
                request = request.header("authorization", bearer);
            }
            request.send(body.to_string())
        }
    };
    let mut answer = answer.map_err(failed)?;
    let text = answer.body_mut().with_config().limit(LARGEST).read_to_string().map_err(failed)?;
    Ok((answer.status().as_u16(), text))
}

/// What the API has answered, or why not.
fn judge(base: &str, status: u16, text: &str) -> Result<Value, Fault> {
    let document: Option<Value> = serde_json::from_str(text).ok();
    // What was accepted and is not answered is told as a fault; a dead letter has an error of its own.
    let is_fault = |document: &Value| status == 202 && document.get("error").is_some();
    if matches!(status, 200..=299)
        && let Some(document) = document.as_ref().filter(|document| !is_fault(document))
    {
        return Ok(document.clone());
    }
    let told = |name: &str| document.as_ref().and_then(|document| document[name].as_str());
    let (Some(code), Some(message)) = (told("error"), told("message")) else {
        return Err(Fault::unreachable(format!(
            "{base} answers with status {status}, and not as the API does: is it the path that the router is nested at?"
        )));
    };
    let exit = match (status, code) {
        (202, _) => Exit::Waiting,
        (400, _) => Exit::Usage,
        (503, "store") => Exit::Unreachable,
        _ => Exit::Refused,
    };
    let hint = if status == 401 { "; it is taken from EVENTO_TOKEN or `--token-file`" } else { "" };
    Err(Fault::new(exit, code, format!("{message}{hint}")))
}

fn consumer(name: &Name) -> String {
    format!("/api/consumers/{}/{}/{}", segment(&name.component), name.version, segment(&name.context))
}

#[async_trait]
impl Target for Api {
    async fn overview(&self) -> Result<Value, Fault> {
        self.get("/api/overview".to_owned()).await
    }

    async fn letters(&self, name: &Name, which: &Which) -> Result<Value, Fault> {
        let mut path = format!("{}/letters?limit={}", consumer(name), which.limit.unwrap_or(50));
        let said = which.fields().into_iter().chain([("after", &*which.after)]).filter(|(_, value)| !value.is_empty());
        for (field, value) in said {
            path.push_str(&format!("&{field}={}", segment(value)));
        }
        self.get(path).await
    }

    async fn letter(&self, name: &Name, position: &str, raw: bool) -> Result<Value, Fault> {
        let path = format!("{}/letters/{}", consumer(name), segment(position));
        if raw { self.send(format!("{path}/reveal"), Some(json!({}))).await } else { self.get(path).await }
    }

    async fn act(&self, name: &Name, action: &Action) -> Result<Value, Fault> {
        self.send(format!("{}/{}", consumer(name), action.name()), Some(action.said())).await
    }

    async fn prune(&self, before: &str, dry: bool) -> Result<Value, Fault> {
        if dry {
            return self.get(format!("/api/log/prunable?before={}", segment(before))).await;
        }
        self.send("/api/log/prune".to_owned(), Some(json!({ "before": before }))).await
    }

    async fn plan(&self) -> Result<(Value, Option<String>), Fault> {
        let mut document = self.get("/api/components".to_owned()).await?;
        let executors = self.get("/api/executors".to_owned()).await?;
        document["executors"] = executors["executors"].clone();
        Ok((document, None))
    }

    async fn audit(&self, after: &str, limit: u16) -> Result<Value, Fault> {
        let after = if after.is_empty() { String::new() } else { format!("&after={}", segment(after)) };
        self.get(format!("/api/audit?limit={limit}{after}")).await
    }

    async fn command(&self, id: &str) -> Result<Value, Fault> {
        self.get(format!("/api/commands/{}", segment(id))).await
    }

    async fn close(&self) {
        self.tasks.join().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_where_and_nothing_else() {
        assert_eq!(base("http://127.0.0.1:80/admin/").unwrap(), "http://127.0.0.1:80/admin");
        for wrong in
            ["", "127.0.0.1", "http://", "http://u:p@h", "http://h/?token=x", "http://h/#x", "ftp://h", "http://a b"]
        {
            let fault = base(wrong).unwrap_err();
            assert_eq!(fault.exit, Exit::Usage, "{wrong}");
            assert!(!fault.message.contains("u:p"));
        }
    }

    #[test]
    fn answers_are_told_apart() {
        let exit = |status, text: &str| judge("http://h", status, text).map_err(|fault| fault.exit).err();
        assert_eq!(exit(200, r#"{"error":"of a dead letter"}"#), None);
        assert_eq!(exit(202, r#"{"command":"id"}"#), None);
        for (status, code, expected) in [
            (202, "no-answer", Exit::Waiting),
            (400, "invalid", Exit::Usage),
            (401, "unauthorized", Exit::Refused),
            (409, "refused", Exit::Refused),
            (503, "store", Exit::Unreachable),
            (503, "loop-died", Exit::Refused),
        ] {
            assert_eq!(exit(status, &format!(r#"{{"error":"{code}","message":"m"}}"#)), Some(expected), "{status}");
        }
        for other in ["<html>", "", "[]", r#"{"error":1}"#] {
            assert_eq!(exit(500, other), Some(Exit::Unreachable));
        }
        assert_eq!(exit(302, ""), Some(Exit::Unreachable));
        assert_eq!(exit(200, "<html>"), Some(Exit::Unreachable));
    }
}
