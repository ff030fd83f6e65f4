//! The endpoint. In: messages; out: the text of an answer, or why there is none.
//! Invariants: the key is sent over TLS or to this machine only, follows no redirection, and is part of no message, error or display; an
//! answer is read up to a bound, in bounded time.

use crate::ask::args::AskArgs;
use crate::context::{Failure, reason};
use serde_json::{Value, json};
use std::time::Duration;

/// Bytes of an answer.
const MOST_BYTES: u64 = 1 << 20;
/// Tokens an answer is asked to have at most.
const MOST_TOKENS: u32 = 4096;

/// What an endpoint understands.
#[derive(Clone, Copy, PartialEq, Debug, clap::ValueEnum)]
pub(crate) enum Style {
    /// URL/chat/completions
    Openai,
    /// URL/v1/messages
    Anthropic,
}

/// A message of a dialogue.
pub(crate) struct Message {
    role: &'static str,
    pub(crate) text: String,
}

impl Message {
    pub(crate) fn user(text: String) -> Message {
        Message { role: "user", text }
    }

    pub(crate) fn assistant(text: String) -> Message {
        Message { role: "assistant", text }
    }

    pub(crate) fn json(&self) -> Value {
        json!({"role": self.role, "content": self.text})
    }
}

/// Where answers come from.
pub(crate) struct Endpoint {
    url: String,
    model: String,
    style: Style,
    key: Option<String>,
    timeout: Duration,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (model `{}`)", self.url, self.model)
    }
}

fn wrong(code: &'static str, message: String, help: &str) -> Failure {
    Failure::plain(code, message, Some(help.into()))
}

/// The file with what is not said otherwise.
fn config(args: &AskArgs) -> Result<Value, Failure> {
    let usual = dirs::config_dir().map(|d| d.join("neuralc").join("ask.json")).filter(|p| p.is_file());
    let Some(path) = args.config.clone().or(usual) else { return Ok(Value::Null) };
    let text = std::fs::read_to_string(&path).map_err(|e| wrong("cannot-read", format!("`{}`: {}", path.display(), reason(&e)), ""))?;
    // What is wrong with it could quote the key: only where it is wrong is said.
    let bad = |e: serde_json::Error| format!("`{}` is no JSON (line {})", path.display(), e.line());
    serde_json::from_str(&text).map_err(|e| wrong("bad-config", bad(e), "write {\"url\": …, \"model\": …, \"key\": …}"))
}

impl Endpoint {
    /// From the options, the environment, the file.
    pub(crate) fn find(args: &AskArgs) -> Result<Endpoint, Failure> {
        let file = config(args)?;
        let variable = |name: &str| std::env::var(format!("NEURALC_ASK_{name}")).ok().filter(|v| !v.is_empty());
        let text = |name: &str| file[name].as_str().map(String::from);
        let missing = |what: &str| {
            let help = format!("--{what}, NEURALC_ASK_{}, or `{what}` in ask.json", what.to_uppercase());
            wrong("no-endpoint", format!("no {what} is known for the language model"), &help)
        };
        let base = args.url.clone().or_else(|| variable("URL")).or_else(|| text("url")).ok_or_else(|| missing("url"))?;
        let model = args.model.clone().or_else(|| variable("MODEL")).or_else(|| text("model")).ok_or_else(|| missing("model"))?;
        let of_file = match text("style").as_deref() {
            Some("anthropic") => Some(Style::Anthropic),
            Some("openai") => Some(Style::Openai),
            _ => None,
        };
        let looks = if base.contains("anthropic") || base.ends_with("/v1/messages") { Style::Anthropic } else { Style::Openai };
        let style = args.style.or(of_file).unwrap_or(looks);
        let end = if style == Style::Anthropic { "/v1/messages" } else { "/chat/completions" };
        let base = base.trim_end_matches('/');
        let url = match () {
            () if base.ends_with(end) => base.to_string(),
            () if style == Style::Anthropic && base.ends_with("/v1") => format!("{base}/messages"),
            () => format!("{base}{end}"),
        };
        if !(args.timeout > 0.0 && args.timeout < 1e6) {
            return Err(Failure::Usage("--timeout is a positive number of seconds".into()));
        }
        let endpoint =
            Endpoint { url, model, style, key: variable("KEY").or_else(|| text("key")), timeout: Duration::from_secs_f64(args.timeout) };
        endpoint.check()?;
        Ok(endpoint)
    }

    fn check(&self) -> Result<(), Failure> {
        let rest = self.url.strip_prefix("http://");
        let host = |rest: &str| rest.split(['/', '?', '#']).next().unwrap_or("").to_string();
        // The whole of it is a name of this machine and a port: what can be read in two ways is neither.
        let near = |rest: &str| {
            let host = host(rest);
            let after = ["localhost", "127.0.0.1", "[::1]"].iter().find_map(|name| host.strip_prefix(name));
            let port = |p: &str| p.bytes().all(|b| b.is_ascii_digit()) && p.parse::<u16>().is_ok();
            after.is_some_and(|rest| rest.is_empty() || rest.strip_prefix(':').is_some_and(port))
        };
        let fine = self.url.strip_prefix("https://").is_some_and(|rest| !host(rest).contains('@')) || rest.is_some_and(near);
        if fine {
            return Ok(());
        }
        Err(wrong(
            "insecure-url",
            "the endpoint is neither https:// nor on this machine".into(),
            "name an https:// URL, without a user in it",
        ))
    }

    fn body(&self, system: &str, messages: &[Message]) -> Value {
        let all = messages.iter().map(Message::json);
        match self.style {
            Style::Anthropic => {
                json!({"model": self.model, "max_tokens": MOST_TOKENS, "system": system, "messages": all.collect::<Vec<_>>()})
            }
            Style::Openai => {
                let first = json!({"role": "system", "content": system});
                json!({"model": self.model, "max_tokens": MOST_TOKENS, "messages": std::iter::once(first).chain(all).collect::<Vec<_>>()})
            }
        }
    }

    /// The text of the next answer.
    pub(crate) fn ask(&self, system: &str, messages: &[Message]) -> Result<String, Failure> {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(self.timeout))
            .max_redirects(0)
            // What is not encrypted stays on this machine: no proxy gets it.
            .proxy(if self.url.starts_with("http://") { None } else { ureq::Proxy::try_from_env() })
            .http_status_as_error(false)
            .user_agent(concat!("neuralc/", env!("CARGO_PKG_VERSION")));
        let agent: ureq::Agent = config.build().into();
        let mut request = agent.post(&self.url).header("Content-Type", "application/json");
        request = match (self.style, &self.key) {
            (Style::Anthropic, Some(key)) => request.header("x-api-key", key).header("anthropic-version", "2023-06-01"),
            (Style::Anthropic, None) => request.header("anthropic-version", "2023-06-01"),
            (Style::Openai, Some(key)) => request.header("Authorization", format!("Bearer {key}")),
            (Style::Openai, None) => request,
        };
        let failed =
            |what: &str| wrong("ask-failed", format!("{self}: {}", self.without_key(what)), "is the endpoint there, and the key right?");
        let mut response = request.send(self.body(system, messages).to_string()).map_err(|e| failed(&e.to_string()))?;
        let status = response.status().as_u16();
        let text = response.body_mut().with_config().limit(MOST_BYTES).read_to_string().map_err(|e| failed(&e.to_string()))?;
        let found: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        if status != 200 {
            let said = found["error"]["message"].as_str().unwrap_or("").chars().take(300).collect::<String>();
            return Err(failed(&format!("status {status} {said}")));
        }
        let answer = match self.style {
            Style::Anthropic => {
                found["content"].as_array().map(|parts| parts.iter().filter_map(|p| p["text"].as_str()).collect::<String>())
            }
            Style::Openai => found["choices"][0]["message"]["content"].as_str().map(String::from),
        };
        answer.map(|text| self.without_key(&text)).ok_or_else(|| failed("the answer is not what such an endpoint answers"))
    }

    /// A text in which the key, should an endpoint repeat it, is not.
    fn without_key(&self, text: &str) -> String {
        match self.key.as_deref().filter(|k| !k.is_empty()) {
            Some(key) => text.replace(key, "…"),
            None => text.to_string(),
        }
    }
}
