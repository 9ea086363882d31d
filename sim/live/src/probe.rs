//! Probes the capabilities of a server before users arrive.

use std::collections::BTreeSet;
use std::time::Duration;

use hyper::StatusCode;
use serde_json::{Value, json};

use chat_types::Span;

use super::LiveError;
use super::ask::Ask;
use super::caller::{CallerContext, Session, read};
use super::connector::ConnectError;
use super::pool::Pool;
use super::target::{Protocol, Target};
use super::wire::{Wire, WireError};
use sim_model::protocol::{Code, Op, ReadBy};

/// The time limit for each request.
const PATIENCE: Duration = Duration::from_secs(10);

/// A handle that no server has given.
const NOBODY: &str = "h_preflight";

/// The refusal of a server whose operators have barred this address.
const BARRED: &str = "refuses all calls from this address: an operator has barred it";

/// The refusal of a proxy that speaks TLS on this port.
const SECURE: &str = "speaks TLS: write https://";

/// The largest number of pages of a list that are read.
const MOST_PAGES: usize = 100;

/// The capabilities of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Capabilities {
    /// None if the server does not list its tools.
    names: Option<BTreeSet<String>>,
    streams: Streams,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Streams {
    There,
    Lacking,
}

impl Capabilities {
    /// Unknown capabilities: every tool is assumed to exist.
    pub(super) const fn unknown() -> Self {
        Self {
            names: None,
            streams: Streams::There,
        }
    }

    /// These tools, and streams.
    #[cfg(test)]
    pub(super) fn these<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            names: Some(names.into_iter().map(str::to_owned).collect()),
            streams: Streams::There,
        }
    }

    pub(super) fn has(&self, tool: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.contains(tool))
    }

    pub(super) fn has_streams(&self) -> bool {
        self.streams == Streams::There
    }

    /// Whether the server listed its tools.
    pub(super) const fn are_known(&self) -> bool {
        self.names.is_some()
    }
}

/// Why a live run against a server is impossible.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProbeError {
    #[error("nothing answers there: {0}")]
    NoAnswer(String),
    #[error("{0}")]
    NoTls(String),
    #[error("{0}")]
    ProtocolMismatch(String),
    #[error("{0}")]
    Refused(&'static str),
}

impl ProbeError {
    /// The error for the server at this address.
    pub(super) fn at(self, target: String) -> LiveError {
        match self {
            Self::NoAnswer(why) => LiveError::Unreachable { target, why },
            Self::NoTls(why) => LiveError::NoTls { target, why },
            Self::ProtocolMismatch(why) => LiveError::ProtocolMismatch { target, why },
            Self::Refused(why) => LiveError::Refused { target, why },
        }
    }
}

impl From<WireError> for ProbeError {
    fn from(broken: WireError) -> Self {
        Self::NoAnswer(broken.0)
    }
}

impl From<ConnectError> for ProbeError {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Tcp(why) => Self::NoAnswer(why.to_string()),
            ConnectError::Tls(why) => Self::NoTls(why),
        }
    }
}

/// Probes each server of the target, and returns the capabilities of the first. An error names the server.
pub(super) fn probe_all(pool: &Pool, target: &Target) -> Result<Capabilities, LiveError> {
    let mut first = Capabilities::unknown();
    for (index, door) in target.doors().iter().enumerate().rev() {
        let name = match target.doors() {
            [_] => target.to_string(),
            _ => door.address.clone(),
        };
        let probed = pool.wait(probe(&pool.net, index));
        first = probed.map_err(|unfit| unfit.at(name))?;
    }
    Ok(first)
}

/// Probes the capabilities of the target's server of this index.
async fn probe(net: &CallerContext, door: usize) -> Result<Capabilities, ProbeError> {
    let asked = async {
        net.connector.connect(door).await?;
        let probe_request = net.writer.probe_request();
        let mut wire = Wire::new();
        let reply = wire.exchange(&net.connector, door, probe_request);
        let reply = reply.await.map_err(no_http)?;
        match reply.status() {
            StatusCode::UNAUTHORIZED => return Err(locked(net)),
            StatusCode::FORBIDDEN => return Err(ProbeError::Refused(BARRED)),
            StatusCode::BAD_REQUEST if asks_for_tls(&reply.body) => {
                return Err(ProbeError::Refused(SECURE));
            }
            _ => {}
        }
        match net.writer.protocol {
            Protocol::Http => {
                let tools = of_http(net, door).await?;
                try_check((net, door), None, &tools).await?;
                Ok(tools)
            }
            Protocol::Mcp20260728 => of_mcp((net, door), None).await,
            Protocol::Mcp20251125 => {
                let (session, mut wire) = (Session::default(), Wire::new());
                let id = session.id(net, &mut wire).await;
                let (_, id) = id.map_err(|why| strange(net, &why.0))?;
                let tools = of_mcp((net, door), Some(&id)).await;
                let request = net.writer.end_session(&id);
                // A session that stays open on the server does no harm.
                let _ = wire.exchange(&net.connector, door, request).await;
                tools
            }
        }
    };
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(tools) => tools,
        Err(_) => Err(ProbeError::NoAnswer(format!(
            "no answer within {}s",
            PATIENCE.as_secs()
        ))),
    }
}

/// Whether the answer is that of nginx or Caddy to plain HTTP on a port for TLS.
fn asks_for_tls(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body).to_lowercase();
    text.contains("http request") && text.contains("https")
}

/// The error of a program that accepts connections, and does not speak HTTP on them.
fn no_http(why: WireError) -> ProbeError {
    ProbeError::ProtocolMismatch(format!(
        "something listens there, and does not answer HTTP: {}",
        why.0
    ))
}

/// Makes the check of a participant that is not registered. A chat server refuses it, and says
/// whether it refuses everything from this address.
async fn try_check(
    (net, door): (&CallerContext, usize),
    session: Option<&str>,
    tools: &Capabilities,
) -> Result<(), ProbeError> {
    if !tools.has("check") {
        return Ok(());
    }
    let ask = Ask {
        handle: Some(NOBODY.into()),
        key: None,
        op: Op::check(None, Span::ZERO, ReadBy::Handle),
        room: None,
    };
    let request = net.writer.call(1, &ask, session);
    let answer = Wire::new().exchange(&net.connector, door, request).await?;
    let reply = read(net, &ask, &answer).map_err(|why| strange(net, &why.0))?;
    match reply.outcome {
        Err(refusal) if refusal.is(Code::Blocked) => Err(ProbeError::Refused(BARRED)),
        Err(refusal) if refusal.code == "not_found" || refusal.code.starts_with("http_") => {
            let why = format!("a check is answered {}", answer.status());
            Err(strange(net, &why))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

fn strange(net: &CallerContext, why: &str) -> ProbeError {
    let protocol = net.writer.protocol.name();
    ProbeError::ProtocolMismatch(format!("it does not speak {protocol} as it should: {why}"))
}

/// The error of a server that requires authentication and does not accept the given token, if any.
fn locked(net: &CallerContext) -> ProbeError {
    ProbeError::Refused(match net.writer.target.authorization() {
        None => "asks for a token: put it in SIM_TOKEN",
        Some(_) => "does not know the token in SIM_TOKEN",
    })
}

/// Reads the tools from the description of HTTP routes, if there is one.
async fn of_http(net: &CallerContext, door: usize) -> Result<Capabilities, ProbeError> {
    let mut wire = Wire::new();
    let request = net.writer.get("/openapi.json");
    let reply = wire.exchange(&net.connector, door, request).await?;
    if reply.status() != StatusCode::OK {
        return Ok(Capabilities::unknown());
    }
    let Ok(document) = serde_json::from_slice::<Value>(&reply.body) else {
        return Ok(Capabilities::unknown());
    };
    let Some(paths) = document["paths"].as_object() else {
        return Ok(Capabilities::unknown());
    };
    if !paths.keys().any(|path| path == "/check_event") {
        let why = "its /openapi.json has no /check_event, so it is another program";
        return Err(strange(net, why));
    }
    let mut names = BTreeSet::new();
    for path in paths.keys() {
        let name = match path.as_str() {
            "/register" => "login",
            "/send" => "send_message",
            "/check_event" => "check",
            "/talking_stick" => "talking_stick",
            path => match path.strip_prefix("/tools/") {
                Some(name) => name,
                None => continue,
            },
        };
        names.insert(name.to_owned());
    }
    Ok(Capabilities {
        names: Some(names),
        streams: match paths.contains_key("/events") {
            true => Streams::There,
            false => Streams::Lacking,
        },
    })
}

/// Reads the tools from `tools/list`, page by page.
async fn of_mcp(
    (net, door): (&CallerContext, usize),
    session: Option<&str>,
) -> Result<Capabilities, ProbeError> {
    let (mut wire, mut names, mut cursor) = (Wire::new(), BTreeSet::new(), None::<String>);
    for _ in 0..MOST_PAGES {
        let params = match &cursor {
            None => json!({}),
            Some(cursor) => json!({ "cursor": cursor }),
        };
        let request = net.writer.ask((1, "tools/list"), None, session, params);
        let reply = wire.exchange(&net.connector, door, request).await?;
        let answer: Option<Value> = reply.json().and_then(|j| serde_json::from_slice(j).ok());
        let answer = answer.unwrap_or_default();
        let Some(tools) = answer["result"]["tools"].as_array() else {
            let why = match answer["error"]["message"].as_str() {
                Some(why) => why.to_owned(),
                None => {
                    let (path, status) = (net.writer.target.mcp_path(), reply.status());
                    format!("POST {path} is answered {status}")
                }
            };
            return Err(strange(net, &why));
        };
        let named = tools.iter().filter_map(|tool| tool["name"].as_str());
        names.extend(named.map(str::to_owned));
        cursor = answer["result"]["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    let tools = Capabilities {
        names: Some(names),
        streams: Streams::There,
    };
    try_check((net, door), session, &tools).await?;
    Ok(tools)
}
