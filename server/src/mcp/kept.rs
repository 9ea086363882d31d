//! Removes parts of MCP requests that nothing reads, before the library stores them.
//!
//! The library keeps a parsed request while it is in progress, and a session keeps its first one
//! until it ends, which may take days. So unused parts are removed first: unknown members of
//! `_meta`, and experimental capabilities other than this server's.

use axum::body::Bytes;
use serde_json::{Map, Value};

use super::listing::EVENTS;
use crate::guard::{SMALL_BODY, cost};

/// A request up to this size is cheap, and stays unchanged.
const SMALL: usize = 2 * 1_024;

/// The most bytes of the opening request that a session or a stream keeps, including its parsed
/// values. They count as a part of the session or the stream: if they were held in the pool of
/// request bytes for as long as these last, a few sources would use up the pool.
pub(super) const MAX_OPENING: usize = 48 * 1_024;

/// The methods that open a session or a stream.
const OPENING: [&str; 2] = ["initialize", "subscriptions/listen"];

/// The members of `_meta` in the protocol's revisions.
const KNOWN: [&str; 9] = [
    "progressToken",
    "traceparent",
    "tracestate",
    "baggage",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    CAPABILITIES,
    "io.modelcontextprotocol/logLevel",
    "io.modelcontextprotocol/subscriptionId",
];

/// The member with the client's capabilities, in the protocol version without sessions.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The request without unused parts. Data that is not a JSON object stays as it is: the library
/// reports the error.
pub(super) fn kept(body: Bytes) -> Bytes {
    if body.len() <= SMALL {
        return body;
    }
    let Ok(Value::Object(mut message)) = serde_json::from_slice(&body) else {
        return body;
    };
    if let Some(Value::Object(params)) = message.get_mut("params") {
        strip(params);
    }
    serde_json::to_vec(&message).map_or(body, Bytes::from)
}

fn strip(params: &mut Map<String, Value>) {
    if let Some(Value::Object(meta)) = params.get_mut("_meta") {
        meta.retain(|name, _| KNOWN.contains(&&**name));
        forget_experiments(meta.get_mut(CAPABILITIES));
    }
    forget_experiments(params.get_mut("capabilities"));
}

fn forget_experiments(capabilities: Option<&mut Value>) {
    if let Some(Value::Object(capabilities)) = capabilities
        && let Some(Value::Object(experiments)) = capabilities.get_mut("experimental")
    {
        experiments.retain(|name, _| name == EVENTS);
        if let Some(events) = experiments.get_mut(EVENTS) {
            *events = Value::Object(Map::new());
        }
    }
}

/// The part of this request that counts while it is served; none if it opens a session or a stream,
/// and is too large to be kept until that ends.
pub(super) fn counted(body: &[u8]) -> Option<&[u8]> {
    #[derive(serde::Deserialize)]
    struct Named<'a> {
        method: std::borrow::Cow<'a, str>,
    }
    let cost = cost(body);
    // Small requests count as a whole, whatever they open.
    if cost.as_ref().is_ok_and(|cost| *cost <= SMALL_BODY) {
        return Some(body);
    }
    let named = serde_json::from_slice::<Named<'_>>(body);
    if !named.is_ok_and(|it| OPENING.contains(&&*it.method)) {
        return Some(body);
    }
    cost.is_ok_and(|cost| cost <= MAX_OPENING).then_some(&[])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kept_of(message: &Value) -> Value {
        let body = kept(Bytes::from(message.to_string()));
        serde_json::from_slice(&body).unwrap()
    }

    #[test]
    fn what_nobody_reads_is_left_out() {
        let junk = "x".repeat(SMALL);
        let request = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "check",
                "arguments": { "_meta": { "mine": 1 } },
                "capabilities": { "experimental": { "x": junk, (EVENTS): { "x": 1 } }, "roots": {} },
                "_meta": {
                    "progressToken": 7, "junk": junk,
                    (CAPABILITIES): { "experimental": { "x": 1 }, "sampling": {} },
                },
            }
        });
        let expected = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "check",
                "arguments": { "_meta": { "mine": 1 } },
                "capabilities": { "experimental": { (EVENTS): {} }, "roots": {} },
                "_meta": {
                    "progressToken": 7,
                    (CAPABILITIES): { "experimental": {}, "sampling": {} },
                },
            }
        });
        assert_eq!(kept_of(&request), expected);
    }

    #[test]
    fn what_is_small_or_no_request_stays_as_it_is() {
        for body in [
            r#"{"params":{"_meta":{"mine":1}}}"#.to_owned(),
            format!("[{}]", " ".repeat(SMALL)),
            "{".repeat(SMALL + 1),
        ] {
            assert_eq!(kept(Bytes::from(body.clone())), body.as_bytes());
        }
    }

    #[test]
    fn only_what_opens_a_session_or_a_stream_has_to_be_small() {
        let of = |method: &str, params: Value| {
            let request = json!({ "method": method, "params": params }).to_string();
            counted(request.as_bytes()).map(|counted| counted.len() == request.len())
        };
        let values = || json!(vec![0; 200]);
        let few = || json!(vec![0; 80]);
        for method in OPENING {
            assert_eq!(of(method, "x".repeat(MAX_OPENING).into()), None);
            assert_eq!(of(method, values()), None);
            assert_eq!(of(method, few()), Some(false));
            assert_eq!(of(method, json!({})), Some(true), "it is small");
        }
        assert_eq!(of("tools/call", values()), Some(true));
    }
}
