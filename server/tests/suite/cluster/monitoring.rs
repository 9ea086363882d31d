//! What the NATS servers say of themselves.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cluster::servers::Servers;
use crate::process::Connection;

/// How long the servers have to become whole, or to elect a leader.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pause between two questions.
const AGAIN: Duration = Duration::from_millis(50);

/// The stream of the log.
const LOG: &str = "TS_main";

/// The NATS server that leads the log, by what another one than `except` says.
pub(crate) fn leader(servers: &Servers, except: Option<usize>) -> usize {
    let until = Instant::now() + PATIENCE;
    loop {
        for asked in (0..servers.count()).filter(|number| Some(*number) != except) {
            let log = get(servers, asked, "/jsz?streams=1").and_then(|jsz| log_of(&jsz));
            let name = log
                .as_ref()
                .and_then(|log| log["cluster"]["leader"].as_str());
            let is_it = |number: &usize| Some(servers.name(*number)) == name;
            let found = (0..servers.count()).find(is_it);
            if let Some(number) = found.filter(|number| Some(*number) != except) {
                return number;
            }
        }
        assert!(Instant::now() < until, "the log has no leader");
        thread::park_timeout(AGAIN);
    }
}

/// The number of members that are connected to a server.
pub(crate) fn connections(servers: &Servers, number: usize) -> u64 {
    let said = get(servers, number, "/varz").unwrap_or_default();
    said["connections"].as_u64().unwrap_or_default()
}

/// Waits until every server has all that it must have.
pub(crate) fn whole(servers: &Servers) {
    if let Err(lack) = whole_within(servers, PATIENCE) {
        panic!("the NATS servers do not become whole: {lack}");
    }
}

/// Waits for that so long. Returns what is missing then.
pub(crate) fn whole_within(servers: &Servers, patience: Duration) -> Result<(), String> {
    let until = Instant::now() + patience;
    while let Some(lack) = lack(servers) {
        if Instant::now() >= until {
            return Err(lack);
        }
        thread::park_timeout(AGAIN);
    }
    Ok(())
}

/// What a server lacks.
fn lack(servers: &Servers) -> Option<String> {
    for number in 0..servers.count() {
        let health = get(servers, number, "/healthz").unwrap_or_default();
        if health["status"] != "ok" {
            return Some(format!("{}: {health}", servers.name(number)));
        }
    }
    let leader = leader(servers, None);
    let log = get(servers, leader, "/jsz?streams=1").and_then(|jsz| log_of(&jsz));
    let cluster = log.unwrap_or_default()["cluster"].take();
    let replicas = cluster["replicas"].as_array();
    let current = replicas.into_iter().flatten();
    let current = current.filter(|replica| replica["current"] == true);
    let is_whole =
        cluster["leader"] == servers.name(leader) && current.count() + 1 == servers.count();
    (!is_whole).then(|| cluster.to_string())
}

/// The log in what a server says of its streams.
fn log_of(jsz: &Value) -> Option<Value> {
    let streams = jsz["account_details"][0]["stream_detail"].as_array()?;
    streams.iter().find(|stream| stream["name"] == LOG).cloned()
}

/// Reads a page of a server's monitoring; none if it does not answer.
fn get(servers: &Servers, number: usize, page: &str) -> Option<Value> {
    let address: SocketAddr = servers.monitor(number);
    let mut connection = Connection::try_open(address, Duration::from_secs(2))?;
    let answer = connection.exchange(&format!("GET {page}"), &[], "")?;
    let body = match answer.header("Transfer-Encoding") {
        Some(_) => connection.chunks()?,
        None => answer.body,
    };
    serde_json::from_str(&body).ok()
}
