//! Removes parts of MCP requests that nothing reads, before the library stores them.
//!
//! The library keeps a parsed request while it is in progress, and a session keeps its first one
//! until it ends, which may take days. So unused parts are removed first: unknown members of
//! `_meta`, and experimental capabilities.

use axum::body::Bytes;
use serde_json::{Map, Value};

/// A request up to this size is cheap, and stays as it is.
const SMALL: usize = 2 * 1_024;

/// The largest size in bytes of a request that opens a session, which keeps it.
pub(super) const MAX_OPENING: usize = 16 * 1_024;

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
    if let Some(Value::Object(capabilities)) = capabilities {
        capabilities.remove("experimental");
    }
}

/// Whether a request without a session is larger than one that may open a session.
pub(super) fn is_too_large_to_open(body: &Bytes) -> bool {
    #[derive(serde::Deserialize)]
    struct Named<'a> {
        method: std::borrow::Cow<'a, str>,
    }
    let opens = |body: &[u8]| {
        serde_json::from_slice::<Named<'_>>(body).is_ok_and(|it| it.method == "initialize")
    };
    body.len() > MAX_OPENING && opens(body)
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
                "capabilities": { "experimental": { "x": junk }, "roots": {} },
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
                "capabilities": { "roots": {} },
                "_meta": { "progressToken": 7, (CAPABILITIES): { "sampling": {} } },
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
    fn only_what_opens_a_session_has_to_be_small() {
        let of = |method: &str, size: usize| {
            let body = json!({ "method": method, "params": "x".repeat(size) });
            is_too_large_to_open(&Bytes::from(body.to_string()))
        };
        assert!(of("initialize", MAX_OPENING));
        assert!(!of("initialize", 100));
        assert!(!of("tools/call", MAX_OPENING));
    }
}
