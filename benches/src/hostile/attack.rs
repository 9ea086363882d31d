//! The attacks of the hostile client, each repeated without pause.

use serde_json::{Value, json};

use crate::wire::{modern_call, request};

macro_rules! attacks {
    ($($(#[$doc:meta])* $variant:ident $name:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
        pub(crate) enum Attack {
            $($(#[$doc])* #[value(name = $name)] $variant,)*
        }

        impl Attack {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

attacks! {
    /// Requests of the largest allowed size, and larger ones.
    Bodies "large-bodies";
    /// Small requests with the largest allowed number of values.
    Values "many-values";
    /// Request bodies that never end.
    SlowBodies "slow-bodies";
    /// Sessions that are never used.
    Sessions "idle-sessions";
    /// Answers that are read one byte at a time.
    SlowReaders "slow-readers";
    /// Invalid tokens.
    WrongTokens "wrong-tokens";
    /// Small requests without a participant.
    Calls "small-calls";
    /// Connections for one request each.
    Connections "connections";
    /// Participants that register and leave.
    Registrations "registrations";
    /// Streams that are opened and closed.
    Streams "streams";
    /// Pages of history, and inboxes read as resources.
    Answers "large-answers";
    /// Waiting checks in one room whose members join and leave without pause, so that each check wakes.
    Checks "waiting-checks";
    /// Open streams in one room whose members join and leave without pause, so that each stream writes.
    Crowd "crowd";
}

const ACCEPT: (&str, &str) = ("Accept", "application/json, text/event-stream");

/// A request that opens a session, with these experimental capabilities.
fn hello(experimental: &Value) -> Vec<u8> {
    let body = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": { "experimental": experimental },
            "clientInfo": { "name": "hostile", "version": "1" }
        }
    });
    request("POST /mcp", &[ACCEPT], &body)
}

/// A call over plain HTTP.
pub(super) fn post(path: &str, handle: &str, body: &Value) -> Vec<u8> {
    request(&format!("POST {path}"), &[("Chat-Handle", handle)], body)
}

impl Attack {
    /// Whether the attack needs participants with handles.
    pub(super) const fn takes_part(self) -> bool {
        matches!(
            self,
            Self::Streams | Self::Answers | Self::Checks | Self::Crowd
        )
    }

    /// The requests that a connection repeats; empty if the attack does more than that.
    pub(super) fn requests(self) -> Vec<Vec<u8>> {
        let values = |count: usize| Value::Array(vec![json!([]); count]);
        let get = |path: &str| request(&format!("GET {path}"), &[], &Value::Null);
        match self {
            Self::Bodies => {
                let list = vec![json!({ "": [] }); 480];
                let largest = hello(&json!({ "x": list, "y": "x".repeat(110_000) }));
                vec![largest, hello(&values(300_000))]
            }
            Self::Values => {
                // Each element counts as two of the values that a body may have. A body with more
                // would not be parsed.
                let wide = json!({ "handle": "h_nobody", "x": values(980) });
                vec![modern_call("check", wide)]
            }
            Self::Sessions => vec![hello(&json!({}))],
            Self::SlowReaders => vec![get("/openapi.json").repeat(64)],
            Self::Calls => {
                let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
                vec![
                    get("/users"),
                    get("/metrics"),
                    get("/overview"),
                    post("/send", "h_nobody", &json!({ "message": "x" })),
                    modern_call("check", json!({ "handle": "h_nobody" })),
                    request("POST /mcp", &[ACCEPT], &list),
                ]
            }
            Self::Connections => vec![get("/healthz")],
            Self::SlowBodies
            | Self::WrongTokens
            | Self::Registrations
            | Self::Streams
            | Self::Answers
            | Self::Checks
            | Self::Crowd => Vec::new(),
        }
    }
}
