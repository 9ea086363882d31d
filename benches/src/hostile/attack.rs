//! The attacks of the hostile client, each repeated without pause.

use clap::ValueEnum as _;
use serde_json::{Value, json};

use crate::wire::{ACCEPT, hello, modern_call, request};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Attack {
    /// Requests of the largest allowed size, and larger ones.
    LargeBodies,
    /// Small requests with the largest allowed number of values.
    ManyValues,
    /// Request bodies that never end.
    SlowBodies,
    /// Sessions that are never used.
    IdleSessions,
    /// Answers that are read one byte at a time.
    SlowReaders,
    /// Invalid tokens.
    WrongTokens,
    /// Small requests without a participant.
    SmallCalls,
    /// Connections for one request each.
    Connections,
    /// Participants that register and leave.
    Registrations,
    /// Streams that are opened and closed.
    Streams,
    /// Pages of history, and inboxes read as resources.
    LargeAnswers,
    /// Waiting checks in one room whose members join and leave without pause, so that each check wakes.
    WaitingChecks,
    /// Open streams in one room whose members join and leave without pause, so that each stream writes.
    Crowd,
}

/// A call over plain HTTP.
pub(super) fn post(path: &str, handle: &str, body: &Value) -> Vec<u8> {
    request(&format!("POST {path}"), &[("Chat-Handle", handle)], body)
}

impl Attack {
    /// Its name on the command line.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value().expect("no attack is skipped");
        value.get_name().to_owned()
    }

    /// Whether the attack needs participants with handles.
    pub(super) const fn takes_part(self) -> bool {
        matches!(
            self,
            Self::Streams | Self::LargeAnswers | Self::WaitingChecks | Self::Crowd
        )
    }

    /// The requests that a connection repeats; empty if the attack does more than that.
    pub(super) fn requests(self) -> Vec<Vec<u8>> {
        let values = |count: usize| Value::Array(vec![json!([]); count]);
        let get = |path: &str| request(&format!("GET {path}"), &[], &Value::Null);
        match self {
            Self::LargeBodies => {
                let list = vec![json!({ "": [] }); 480];
                let largest = json!({ "x": list, "y": "x".repeat(110_000) });
                let experimental = |all: Value| hello(&json!({ "experimental": all }));
                vec![experimental(largest), experimental(values(300_000))]
            }
            Self::ManyValues => {
                // Each element counts as two of the values that a body may have. A body with more
                // would not be parsed.
                let wide = json!({ "handle": "h_nobody", "x": values(980) });
                vec![modern_call("check", wide)]
            }
            Self::IdleSessions => vec![hello(&json!({ "experimental": {} }))],
            Self::SlowReaders => vec![get("/openapi.json").repeat(64)],
            Self::SmallCalls => {
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
            | Self::LargeAnswers
            | Self::WaitingChecks
            | Self::Crowd => Vec::new(),
        }
    }
}
