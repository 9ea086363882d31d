//! What the servers' monitoring says: whether they keep what they acknowledge.

use std::collections::BTreeSet;
use std::time::Duration;

use async_nats::Client;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;
use serde_json::Value;
use server_settings::ClusterSettings;

use crate::connection::LogReader;
use crate::streams::LARGEST_MESSAGE;

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
pub(crate) fn check_connected(client: &Client) -> Result<(), String> {
    let info = client.server_info();
    check_version(&info.version)?;
    let (found, needed) = (info.max_payload, LARGEST_MESSAGE);
    if found < needed {
        return Err(format!(
            "the servers take messages of {found} bytes, and a record of the log may have {needed}: \
             set `max_payload: 9MB` in their configuration"
        ));
    }
    Ok(())
}

/// Checks the servers that have a replica of the log. Most must answer. One that is down stores
/// nothing; `faults` checks it once it answers.
pub(crate) async fn check_all(reader: &LogReader, options: &ClusterSettings) -> Result<(), String> {
    if options.trust_servers {
        return Ok(());
    }
    if options.monitors.is_empty() {
        let why = "whether the servers sync each record to their disks is not known: name their \
                   monitoring with --cluster-monitor http://HOST:8222,… or vouch for it with \
                   --cluster-trust-servers";
        return Err(why.into());
    }
    let (mut watched, mut silent) = (BTreeSet::new(), Vec::new());
    for monitor in &options.monitors {
        match asked(monitor).await {
            Ok(varz) => {
                watched.insert(check_server(varz)?);
            }
            Err(fault) => silent.push(fault),
        }
    }
    let silences = silent.len();
    for fault in silent {
        if silences * 2 >= options.monitors.len() {
            return Err(fault);
        }
        tracing::warn!(%fault, "most servers of the log answer, and the member starts");
    }
    let replicas = replicas(reader).await;
    let mut unwatched = replicas.into_iter().filter(|name| !watched.contains(name));
    // A silent server may be the one.
    match unwatched.nth(silences) {
        Some(server) => Err(format!(
            "--cluster-monitor names no monitoring of {server}, which has a replica of the log"
        )),
        None => Ok(()),
    }
}

/// Returns what is wrong with the servers that answer now: one that was down when the log was opened, or
/// that has started with other settings since.
pub async fn faults(options: &ClusterSettings) -> Vec<String> {
    let mut faults = Vec::new();
    if !options.trust_servers {
        for monitor in &options.monitors {
            let answer = asked(monitor).await.ok();
            faults.extend(answer.and_then(|varz| check_server(varz).err()));
        }
    }
    faults
}

/// Asks the monitoring of a server. Its silence is an error.
async fn asked(monitor: &str) -> Result<Varz, String> {
    let varz = tokio::time::timeout(PATIENCE, varz(monitor)).await;
    let varz = varz.unwrap_or_else(|_| Err("it takes too long".into()));
    varz.map_err(|why| format!("the monitoring at {monitor} does not answer: {why}"))
}

/// The names of the servers that have a replica. A server that is alone names none.
async fn replicas(reader: &LogReader) -> Vec<String> {
    let stream = reader.context.get_stream(reader.stream()).await;
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
fn check_server(varz: Varz) -> Result<String, String> {
    check_version(&varz.version)?;
    let server = varz.server_name;
    if varz.jetstream.pointer("/config/sync_always") != Some(&Value::Bool(true)) {
        return Err(format!(
            "the server {server} acknowledges records before they are on its disk: set \
             `sync_interval: always` in the `jetstream` block of its configuration"
        ));
    }
    Ok(server)
}

fn check_version(found: &str) -> Result<(), String> {
    let mut numbers = found.split(['.', '-']).map_while(|part| part.parse().ok());
    let mut next = || numbers.next().unwrap_or(0);
    if (next(), next(), next()) < LEAST_VERSION {
        let least = "2.14.4 is the oldest that keeps what it acknowledges";
        return Err(format!("nats-server {found} is too old: {least}"));
    }
    Ok(())
}

async fn varz(monitor: &str) -> Result<Varz, async_nats::Error> {
    let uri = format!("{}/varz", monitor.trim_end_matches('/'));
    let uri = uri.parse().map_err(|_| "it is no URL")?;
    let client = legacy::Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let answer = client.get(uri).await?;
    let body = Limited::new(answer.into_body(), MAX_ANSWER)
        .collect()
        .await?;
    Ok(serde_json::from_slice(&body.to_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(version: &str, jetstream: &str) -> Result<String, String> {
        let text =
            format!(r#"{{"server_name":"a","version":"{version}","jetstream":{jetstream}}}"#);
        check_server(serde_json::from_str(&text).expect("it is what a server writes"))
    }

    #[test]
    fn a_server_must_be_new_and_sync_each_record() {
        let synced = r#"{"config":{"sync_interval":120000000000,"sync_always":true}}"#;
        for new in ["2.15.1", "2.14.4", "3.0.0-RC.1"] {
            assert_eq!(server(new, synced), Ok("a".into()));
        }
        for old in ["2.14.3", "2.9.25", "2", ""] {
            let why = server(old, synced).unwrap_err();
            assert!(
                why.starts_with(&format!("nats-server {old} is too old")),
                "{why}"
            );
        }
        for jetstream in ["{}", "null", r#"{"config":{"sync_interval":1}}"#] {
            let why = server("2.15.1", jetstream).unwrap_err();
            assert!(
                why.starts_with("the server a acknowledges records before"),
                "{jetstream}"
            );
        }
    }
}
