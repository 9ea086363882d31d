//! What the servers' monitoring says: whether they keep what they acknowledge.

use std::collections::BTreeSet;
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::Context;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;
use serde_json::Value;

use crate::options::{LARGEST_MESSAGE, LogOptions, ServerFault};

/// The oldest version of the servers: older ones have lost acknowledged records.
const LEAST_VERSION: (u64, u64, u64) = (2, 14, 4);

/// The time limit of one request.
const PATIENCE: Duration = Duration::from_secs(3);

/// The longest answer in bytes.
const MAX_ANSWER: usize = 1 << 20;

#[derive(Deserialize)]
struct Varz {
    server_name: String,
    version: String,
    #[serde(default)]
    jetstream: Value,
}

/// Checks the server that this process is connected to.
pub(crate) fn check_connected(client: &Client) -> Result<(), ServerFault> {
    let info = client.server_info();
    check_version(&info.version)?;
    match info.max_payload >= LARGEST_MESSAGE {
        true => Ok(()),
        false => Err(ServerFault::Payload {
            found: info.max_payload,
            needed: LARGEST_MESSAGE,
        }),
    }
}

/// Checks the servers that have a replica of the log. Most must answer. One that is down stores
/// nothing; `faults` checks it once it answers.
pub(crate) async fn check_all(context: &Context, options: &LogOptions) -> Result<(), ServerFault> {
    if options.is_vouched_for {
        return Ok(());
    }
    if options.monitors.is_empty() {
        return Err(ServerFault::Unproven);
    }
    let (mut watched, mut silent) = (BTreeSet::new(), Vec::new());
    for monitor in &options.monitors {
        match asked(monitor).await {
            Ok(name) => {
                watched.insert(name);
            }
            Err(fault @ ServerFault::Silent { .. }) => silent.push(fault),
            Err(fault) => return Err(fault),
        }
    }
    let silences = silent.len();
    for fault in silent {
        if silences * 2 >= options.monitors.len() {
            return Err(fault);
        }
        tracing::warn!(%fault, "most servers of the log answer, and the member starts");
    }
    let replicas = replicas(context, options).await;
    let mut unwatched = replicas.into_iter().filter(|name| !watched.contains(name));
    // A silent server may be the one.
    let unwatched = unwatched.nth(silences);
    unwatched.map_or(Ok(()), |server| Err(ServerFault::Unwatched { server }))
}

/// Returns what is wrong with the servers that answer now: one that was down when the log was opened, or
/// that has started with other settings since.
pub async fn faults(options: &LogOptions) -> Vec<ServerFault> {
    let mut faults = Vec::new();
    if !options.is_vouched_for {
        for monitor in &options.monitors {
            match asked(monitor).await {
                Ok(_) | Err(ServerFault::Silent { .. }) => {}
                Err(fault) => faults.push(fault),
            }
        }
    }
    faults
}

/// Asks the monitoring of a server, and returns the server's name.
async fn asked(monitor: &str) -> Result<String, ServerFault> {
    let varz = tokio::time::timeout(PATIENCE, varz(monitor)).await;
    let varz = varz.unwrap_or_else(|_| Err("it takes too long".into()));
    check_server(varz.map_err(|why| ServerFault::Silent {
        monitor: monitor.into(),
        why,
    })?)
}

/// The names of the servers that have a replica. A server that is alone names none.
async fn replicas(context: &Context, options: &LogOptions) -> Vec<String> {
    let stream = context.get_stream(options.realm.stream()).await;
    let Some(cluster) = stream
        .ok()
        .and_then(|stream| stream.cached_info().cluster.clone())
    else {
        return Vec::new();
    };
    let others = cluster.replicas.into_iter().map(|peer| peer.name);
    cluster.leader.into_iter().chain(others).collect()
}

/// Checks one server, and returns its name.
fn check_server(varz: Varz) -> Result<String, ServerFault> {
    check_version(&varz.version)?;
    let syncs = varz.jetstream.pointer("/config/sync_always");
    match syncs == Some(&Value::Bool(true)) {
        true => Ok(varz.server_name),
        false => Err(ServerFault::Unsynced {
            server: varz.server_name,
        }),
    }
}

fn check_version(found: &str) -> Result<(), ServerFault> {
    let mut numbers = found.split(['.', '-']).map_while(|part| part.parse().ok());
    let mut next = || numbers.next().unwrap_or(0);
    match (next(), next(), next()) >= LEAST_VERSION {
        true => Ok(()),
        false => Err(ServerFault::Old {
            found: found.into(),
        }),
    }
}

async fn varz(monitor: &str) -> Result<Varz, String> {
    let why = |error: &dyn std::error::Error| error.to_string();
    let uri = format!("{}/varz", monitor.trim_end_matches('/'));
    let uri = uri.parse().map_err(|_| "it is no URL".to_owned())?;
    let client = legacy::Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let answer = client.get(uri).await.map_err(|error| why(&error))?;
    let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
    let body = body.map_err(|error| error.to_string())?.to_bytes();
    serde_json::from_slice(&body).map_err(|error| why(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(version: &str, jetstream: &str) -> Result<String, ServerFault> {
        let text =
            format!(r#"{{"server_name":"a","version":"{version}","jetstream":{jetstream}}}"#);
        check_server(serde_json::from_str(&text).expect("it is what a server writes"))
    }

    #[test]
    fn a_server_must_be_new_and_sync_each_record() {
        let synced = r#"{"config":{"sync_interval":120000000000,"sync_always":true}}"#;
        let unsynced = Err(ServerFault::Unsynced { server: "a".into() });
        assert_eq!(server("2.15.1", synced), Ok("a".into()));
        assert_eq!(server("2.14.4", synced), Ok("a".into()));
        assert_eq!(server("3.0.0-RC.1", synced), Ok("a".into()));
        for old in ["2.14.3", "2.9.25", "2", ""] {
            assert_eq!(
                server(old, synced),
                Err(ServerFault::Old { found: old.into() })
            );
        }
        for jetstream in ["{}", "null", r#"{"config":{"sync_interval":1}}"#] {
            assert_eq!(server("2.15.1", jetstream), unsynced, "{jetstream}");
        }
    }
}
