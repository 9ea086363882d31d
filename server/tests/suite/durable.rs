//! A server that is killed and restarted on its journal keeps everything it accepted.

pub(crate) mod client;
#[cfg(feature = "postgres")]
mod copy;
mod damage;
mod folder;
mod identity;
mod kills;
mod lost_life;
mod past;
mod people;
mod private;
mod rot;
mod space;
#[cfg(target_os = "linux")]
mod trouble;
mod upkeep;

use std::fs;
use std::path::Path;

use crate::process::Server;
use client::Refused;
use serde_json::json;

#[test]
fn a_clean_stop_leaves_a_snapshot_and_the_next_start_replays_nothing() {
    let (folder, server) = Server::fresh(&[]);
    let ann = server.register("ann", "lobby");
    let sent = server
        .connect()
        .post("/send", &ann, &json!({ "message": "hello" }));
    assert_eq!(sent.map(|(status, _)| status), Some(200));
    assert_eq!(server.stop(), Some(0));
    assert_eq!(snapshots(folder.path()), 1);
    let server = Server::on(folder.path(), &[]);
    let (status, _) = server
        .connect()
        .post("/send", &ann, &json!({ "message": "again" }))
        .expect("it is answered");
    assert_eq!(status, 200);
    assert!(server.log().contains("replayed=0"));
}

fn snapshots(folder: &Path) -> usize {
    let names = fs::read_dir(folder).expect("the folder");
    let names = names.map(|entry| entry.expect("an entry").file_name());
    names
        .filter(|name| name.to_string_lossy().starts_with("snapshot-"))
        .count()
}

#[test]
fn a_second_server_is_refused_the_folder() {
    let (folder, server) = Server::fresh(&[]);
    let Refused { code, why } = Server::refused(folder.path(), &[]);
    assert_eq!(code, Some(1));
    assert!(
        why.contains("is in use by process") && why.contains("--data"),
        "{why}"
    );
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_lost_end_is_refused_and_an_accepted_loss_starts() {
    let (folder, server) = Server::fresh(&[]);
    let ann = server.register("ann", "lobby");
    server.kill();
    // The WAL is missing, as after a disk that reported a write that it had not done.
    fs::remove_file(folder.path().join("journal.db-wal")).expect("there is one");
    let Refused { code, why } = Server::refused(folder.path(), &[]);
    assert_eq!(code, Some(1));
    assert!(
        why.contains("lost") && why.contains("--accept-loss"),
        "{why}"
    );
    let server = Server::on(folder.path(), &["--accept-loss"]);
    let (status, _) = server
        .connect()
        .post("/send", &ann, &json!({ "message": "hello" }))
        .expect("it is answered");
    assert_eq!(status, 401, "nobody has this handle any more");
    assert_eq!(server.stop(), Some(0));
    assert_eq!(Server::on(folder.path(), &[]).stop(), Some(0));
}
