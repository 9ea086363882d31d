//! A disk that is full, read-only, failing or slow: calls are refused or wait, reads go on, nothing
//! accepted is lost, and the server heals with the disk.

use std::thread;

use serde_json::{Value, json};

use crate::disk::{Disk, Trouble};
use crate::durable::client::texts_of;
use crate::process::{Server, wait_until};

/// A disk with a folder for a server.
pub(crate) fn new_disk() -> (tempfile::TempDir, Disk) {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = Disk::of(folder.path().to_owned());
    (folder, disk)
}

/// A server on this disk.
pub(crate) fn server_on(disk: &Disk) -> Server {
    let variables = disk.variables();
    let variables = variables.each_ref().map(|(name, is)| (*name, &**is));
    Server::start_in(disk.folder(), &variables)
}

fn send(server: &Server, handle: &str, text: &str) -> (u16, Value) {
    let body = json!({ "message": text });
    let answer = server.connect().post("/send", handle, &body);
    answer.expect("it is answered")
}

/// Waits until the server knows of the trouble. A call must be under way.
pub(crate) fn wait_until_known(server: &Server, trouble: Trouble) {
    // A full disk fails each append, and its outcome is known.
    wait_until("it is still ready", || {
        trouble == Trouble::Full || server.get("/readyz").0 != 200
    });
}

/// Sends a message once the server knows of the trouble, which refuses it.
fn send_to_be_refused(server: &Server, handle: &str, trouble: Trouble) {
    wait_until_known(server, trouble);
    let (status, answer) = send(server, handle, "refused");
    let error = &answer["error"];
    assert_eq!(
        (status, &error["code"]),
        (503, &json!("storage_unavailable")),
        "{answer}"
    );
    assert!(error["retry_after_ms"].as_u64() > Some(0), "{answer}");
}

/// Sends until it is accepted. Refusals for the disk have no effect.
fn send_until_accepted(server: &Server, handle: &str, text: &str) {
    wait_until("it is refused", || {
        let (status, answer) = send(server, handle, text);
        if status != 200 {
            assert_eq!(answer["error"]["code"], "storage_unavailable", "{answer}");
        }
        status == 200
    });
}

/// Each read is answered, and shows what was accepted before.
fn reads_go_on(server: &Server, reader: &str) {
    let (heard, _) = server.inbox(reader, Vec::new(), 0);
    assert_eq!(heard, ["before"]);
    server.done("list_users", reader, &json!({}));
    let page = server.done("history", reader, &json!({ "room_id": "room_1" }));
    assert_eq!(texts_of(&page), ["before"]);
}

/// The server's life through this trouble, and the next one after a kill.
fn through(trouble: Trouble) {
    let (_folder, disk) = new_disk();
    let server = server_on(&disk);
    let ann = server.register("ann", "lobby");
    let ben = server.register("ben", "lobby");
    server.say(&ann, ["before".into()]);
    disk.set(trouble);
    // The first call may wait for an append whose outcome is unknown; others are refused.
    let first = thread::scope(|scope| {
        let first = scope.spawn(|| send(&server, &ann, "first"));
        match trouble {
            Trouble::Gone | Trouble::BlockedSyncs => {}
            Trouble::Full | Trouble::ReadOnly | Trouble::FailingWrites | Trouble::FailingSyncs => {
                send_to_be_refused(&server, &ben, trouble)
            }
        }
        reads_go_on(&server, &ben);
        disk.set(Trouble::Gone);
        first.join().expect("it is answered")
    });
    let mut owed = vec!["before"];
    match (trouble, first.0) {
        (_, 200) => owed.push("first"),
        (Trouble::BlockedSyncs, _) => panic!("{}", first.1),
        (_, 503) => assert_eq!(first.1["error"]["code"], "storage_unavailable"),
        _ => panic!("{}", first.1),
    }
    send_until_accepted(&server, &ann, "after");
    owed.push("after");
    server.kill();
    let server = Server::on(disk.folder(), &[]);
    assert_eq!(server.history(&ben, "room_1", 90), owed, "{trouble:?}");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_full_disk_refuses_calls_until_there_is_room() {
    through(Trouble::Full);
}

#[test]
fn a_read_only_disk_refuses_calls_until_it_can_be_written() {
    through(Trouble::ReadOnly);
}

#[test]
fn failing_writes_refuse_calls_until_they_succeed() {
    through(Trouble::FailingWrites);
}

#[test]
fn failing_syncs_refuse_calls_until_they_succeed() {
    through(Trouble::FailingSyncs);
}

#[test]
fn calls_wait_for_a_slow_sync_and_reads_do_not() {
    through(Trouble::BlockedSyncs);
}
