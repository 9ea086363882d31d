//! Probes the capabilities of a server before users arrive.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::time::Duration;

use hyper::StatusCode;
use serde_json::{Value, json};

use chat_types::Span;

use super::LiveError;
use super::ask::Ask;
use super::caller::{CallerContext, Session, read};
use super::pool::Pool;
use super::request::Written;
use super::target::{Protocol, Target};
use super::wire::{HttpAnswer, Wire, json as body_json};
use sim_model::protocol::{Code, Op, ReadBy};

/// The time limit for each request.
const PATIENCE: Duration = Duration::from_secs(10);

/// A handle that no server has given.
const NOBODY: &str = "h_preflight";

/// The refusal of a server whose operators have banned this address.
const BARRED: &str = "refuses all calls from this address: an operator has banned it";

/// The refusal of a proxy that speaks TLS on this port.
const SECURE: &str = "speaks TLS: write https://";

/// The largest number of pages of a list that are read.
const MOST_PAGES: usize = 100;

/// The route of event streams.
const EVENTS: &str = "/events";

/// The capabilities of a server: its tools, and the route of event streams. None if it does not list
/// them; then all are assumed to exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Capabilities(pub(super) Option<BTreeSet<String>>);

impl Capabilities {
    pub(super) fn has(&self, tool: &str) -> bool {
        self.0.as_ref().is_none_or(|names| names.contains(tool))
    }

    pub(super) fn has_streams(&self) -> bool {
        self.has(EVENTS)
    }
}

/// A server that is probed, with its name in errors.
struct Probed<'a> {
    net: &'a CallerContext,
    door: usize,
    name: String,
}

/// Probes each server of the target, and returns the capabilities of the first. An error names the server.
pub(super) fn probe_all(pool: &Pool, target: &Target) -> Result<Capabilities, LiveError> {
    let mut first = Capabilities::default();
    for (door, at) in target.doors().iter().enumerate().rev() {
        let name = match target.doors() {
            [_] => target.to_string(),
            _ => at.address.clone(),
        };
        let net = &pool.net;
        first = pool.wait(Probed { net, door, name }.probe())?;
    }
    Ok(first)
}

impl Probed<'_> {
    async fn probe(&self) -> Result<Capabilities, LiveError> {
        tokio::time::timeout(PATIENCE, self.ask_all())
            .await
            .unwrap_or_else(|_| {
                let seconds = PATIENCE.as_secs();
                Err(self.unreachable(&format!("no answer within {seconds}s")))
            })
    }

    async fn ask_all(&self) -> Result<Capabilities, LiveError> {
        let (net, mut wire) = (self.net, Wire::default());
        let connected = net.connector.connect(self.door).await;
        connected.map_err(|why| match why.kind() == ErrorKind::InvalidData {
            true => LiveError::Target(format!("no TLS with {}: {why}", self.name)),
            false => self.unreachable(&why.to_string()),
        })?;
        let request = net.writer.probe_request();
        let reply = wire.exchange(&net.connector, self.door, request);
        let reply = reply.await.map_err(|why| {
            let what = "something listens there, and does not answer HTTP";
            self.is_no_server(&format!("{what}: {why}"))
        })?;
        match reply.status() {
            StatusCode::UNAUTHORIZED => return Err(self.locked()),
            StatusCode::FORBIDDEN => return Err(self.refuses(BARRED)),
            StatusCode::BAD_REQUEST if asks_for_tls(reply.body()) => {
                return Err(self.refuses(SECURE));
            }
            _ => {}
        }
        match net.writer.protocol {
            Protocol::Http => {
                let tools = self.of_http().await?;
                self.try_check(None, &tools).await?;
                Ok(tools)
            }
            Protocol::Mcp20260728 => self.of_mcp(None).await,
            Protocol::Mcp20251125 => {
                let (session, mut wire) = (Session::default(), Wire::default());
                let id = session.id(net, &mut wire).await;
                let (_, id) = id.map_err(|why| self.is_strange(&why))?;
                let tools = self.of_mcp(Some(&id)).await;
                // A session that stays open on the server does no harm.
                let _ = self.exchange(&mut wire, net.writer.end_session(&id)).await;
                tools
            }
        }
    }

    async fn exchange(&self, wire: &mut Wire, request: Written) -> Result<HttpAnswer, LiveError> {
        let answer = wire.exchange(&self.net.connector, self.door, request);
        answer.await.map_err(|why| self.unreachable(&why))
    }

    fn unreachable(&self, why: &str) -> LiveError {
        let name = &self.name;
        LiveError::Target(format!(
            "cannot reach {name}: {why}\n  start a server there, such as `talking-stick --listen \
             ADDRESS`, or name another with --target"
        ))
    }

    fn is_no_server(&self, why: &str) -> LiveError {
        let name = &self.name;
        LiveError::Target(format!(
            "{name} is no server to run this against: {why}\n  try another --protocol, or give the \
             path of its MCP endpoint in --target"
        ))
    }

    fn is_strange(&self, why: &str) -> LiveError {
        let protocol = self.net.writer.protocol.name();
        self.is_no_server(&format!("it does not speak {protocol} as it should: {why}"))
    }

    fn refuses(&self, what: &str) -> LiveError {
        LiveError::Target(format!("{} {what}", self.name))
    }

    /// The error of a server that requires authentication and does not accept the given token, if any.
    fn locked(&self) -> LiveError {
        self.refuses(match self.net.writer.target.authorization() {
            None => "asks for a token: put it in SIM_TOKEN",
            Some(_) => "does not know the token in SIM_TOKEN",
        })
    }

    /// Makes the check of a participant that is not registered. A chat server refuses it, and says
    /// whether it refuses everything from this address.
    async fn try_check(
        &self,
        session: Option<&str>,
        tools: &Capabilities,
    ) -> Result<(), LiveError> {
        let net = self.net;
        if !tools.has("check") {
            return Ok(());
        }
        let check = Op::check(None, Span::ZERO, ReadBy::Handle);
        let ask = Ask::new(Some(NOBODY.into()), check);
        let request = net.writer.call(1, &ask, session);
        let answer = self.exchange(&mut Wire::default(), request).await?;
        let reply = read(net, &ask, &answer).map_err(|why| self.is_strange(&why))?;
        match reply.outcome {
            Err(refusal) if refusal.is(Code::Blocked) => Err(self.refuses(BARRED)),
            Err(refusal) if refusal.code == "not_found" || refusal.code.starts_with("http_") => {
                let why = format!("a check is answered {}", answer.status());
                Err(self.is_strange(&why))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Reads the tools from the description of HTTP routes, if there is one.
    async fn of_http(&self) -> Result<Capabilities, LiveError> {
        let request = self.net.writer.get("/openapi.json");
        let reply = self.exchange(&mut Wire::default(), request).await?;
        let document = match reply.status() {
            StatusCode::OK => serde_json::from_slice::<Value>(reply.body()).unwrap_or_default(),
            _ => Value::Null,
        };
        let Some(paths) = document["paths"].as_object() else {
            return Ok(Capabilities::default());
        };
        if !paths.keys().any(|path| path == "/check_event") {
            let why = "its /openapi.json has no /check_event, so it is another program";
            return Err(self.is_strange(why));
        }
        let name = |path: &'_ String| match path.as_str() {
            "/register" => Some("login".to_owned()),
            "/send" => Some("send_message".to_owned()),
            "/check_event" => Some("check".to_owned()),
            "/talking_stick" => Some("talking_stick".to_owned()),
            EVENTS => Some(EVENTS.to_owned()),
            path => path.strip_prefix("/tools/").map(str::to_owned),
        };
        Ok(Capabilities(Some(paths.keys().filter_map(name).collect())))
    }

    /// Reads the tools from `tools/list`, page by page.
    async fn of_mcp(&self, session: Option<&str>) -> Result<Capabilities, LiveError> {
        let net = self.net;
        let (mut wire, mut names) = (Wire::default(), BTreeSet::from([EVENTS.to_owned()]));
        let mut params = json!({});
        for _ in 0..MOST_PAGES {
            let request = net.writer.ask((1, "tools/list"), None, session, params);
            let reply = self.exchange(&mut wire, request).await?;
            let answer: Option<Value> =
                body_json(&reply).and_then(|j| serde_json::from_slice(j).ok());
            let answer = answer.unwrap_or_default();
            let Some(tools) = answer["result"]["tools"].as_array() else {
                let (path, status) = (net.writer.target.mcp_path(), reply.status());
                let usual = format!("POST {path} is answered {status}");
                let why = answer["error"]["message"].as_str().unwrap_or(&usual);
                return Err(self.is_strange(why));
            };
            let named = tools.iter().filter_map(|tool| tool["name"].as_str());
            names.extend(named.map(str::to_owned));
            let Some(cursor) = answer["result"]["nextCursor"].as_str() else {
                break;
            };
            params = json!({ "cursor": cursor });
        }
        let tools = Capabilities(Some(names));
        self.try_check(session, &tools).await?;
        Ok(tools)
    }
}

/// Whether the answer is that of nginx or Caddy to plain HTTP on a port for TLS.
fn asks_for_tls(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body).to_lowercase();
    text.contains("http request") && text.contains("https")
}
