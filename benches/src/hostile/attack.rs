//! What one hostile client may do, over and over.

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
    /// Requests as large as they may be, and larger.
    Bodies "large-bodies";
    /// Small requests with as many values as there may be.
    Values "many-values";
    /// Bodies that never end.
    SlowBodies "slow-bodies";
    /// Sessions that it never uses.
    Sessions "idle-sessions";
    /// Answers that it takes a byte at a time.
    SlowReaders "slow-readers";
    /// Tokens that belong to no user.
    WrongTokens "wrong-tokens";
    /// Small requests for whatever costs no participant.
    Calls "small-calls";
    /// Connections, each for one request.
    Connections "connections";
    /// Participants that register and leave.
    Registrations "registrations";
    /// Streams that are opened and closed.
    Streams "streams";
    /// Pages of what was said, and inboxes by their addresses.
    Answers "large-answers";
    /// Waiting checks in one room whose members join and leave without pause, so that each check wakes.
    Checks "waiting-checks";
    /// Open streams in one room whose members join and leave without pause, so that each stream writes.
    Crowd "crowd";
}

const ACCEPT: (&str, &str) = ("Accept", "application/json, text/event-stream");

/// What opens a session, with these experimental capabilities.
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

/// A call by plain HTTP.
pub(super) fn post(path: &str, handle: &str, body: &Value) -> Vec<u8> {
    request(&format!("POST {path}"), &[("Chat-Handle", handle)], body)
}

impl Attack {
    /// Whether those who attack are participants, each with a handle.
    pub(super) const fn takes_part(self) -> bool {
        matches!(
            self,
            Self::Streams | Self::Answers | Self::Checks | Self::Crowd
        )
    }

    /// What a connection sends over and over, where that is all.
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
                // Each is two of the values that a body may have: with more it would not be parsed.
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
