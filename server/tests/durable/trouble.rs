//! A disk that is full, read-only, failing or slow: calls are refused or wait, reads go on, nothing
//! accepted is lost, and the server heals with the disk.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::client::{Server, text_of};
use crate::process::PATIENCE;

/// A disk that fails on command: `trouble.c`, loaded before the C library.
pub(crate) struct Disk {
    scratch: tempfile::TempDir,
    trouble: fs::File,
}

impl Disk {
    pub(crate) fn new() -> Self {
        let scratch = tempfile::tempdir().expect("a folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/durable/trouble.c");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let built = Command::new(compiler)
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .arg(scratch.path().join("trouble.so"))
            .arg(source)
            .arg("-ldl")
            .status();
        assert!(built.expect("a C compiler, as SQLite needs").success());
        fs::create_dir(scratch.path().join("data")).expect("a folder");
        fs::write(scratch.path().join("trouble"), "0").expect("a file");
        let file = fs::File::options()
            .write(true)
            .open(scratch.path().join("trouble"));
        Self {
            scratch,
            trouble: file.expect("it was written"),
        }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.scratch.path().join("data")
    }

    pub(crate) fn server(&self) -> Server {
        let path = |name: &str| self.scratch.path().join(name);
        let (library, trouble, folder) = (path("trouble.so"), path("trouble"), self.folder());
        Server::start_in(
            &folder,
            &[
                ("LD_PRELOAD", &library),
                ("TROUBLE", &trouble),
                ("TROUBLE_DIR", &folder),
            ],
        )
    }

    pub(crate) fn set(&self, trouble: Trouble) {
        let byte = match trouble {
            Trouble::Gone => b'0',
            Trouble::Full => b'f',
            Trouble::ReadOnly => b'r',
            Trouble::FailingWrites => b'w',
            Trouble::FailingSyncs => b's',
            Trouble::BlockedSyncs => b'b',
        };
        self.trouble.write_all_at(&[byte], 0).expect("a file");
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Gone,
    Full,
    ReadOnly,
    FailingWrites,
    FailingSyncs,
    BlockedSyncs,
}

fn send(server: &Server, handle: &str, text: &str) -> (u16, Value) {
    let body = json!({ "message": text });
    let answer = server.connect().post("/send", handle, &body);
    answer.expect("it is answered")
}

/// Waits until the server knows of the trouble. A call must be under way.
pub(crate) fn wait_until_known(server: &Server, trouble: Trouble) {
    let began = Instant::now();
    // A full disk fails each append, and its outcome is known.
    while trouble != Trouble::Full && server.get("/readyz").0 == 200 {
        assert!(began.elapsed() < PATIENCE, "it is still ready");
        thread::yield_now();
    }
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
    let began = Instant::now();
    loop {
        let (status, answer) = send(server, handle, text);
        if status == 200 {
            return;
        }
        assert_eq!(answer["error"]["code"], "storage_unavailable", "{answer}");
        assert!(began.elapsed() < PATIENCE, "{answer}");
        thread::yield_now();
    }
}

/// Each read is answered, and shows what was accepted before.
fn reads_go_on(server: &Server, reader: &str) {
    let (heard, _) = server.inbox(reader, Vec::new(), 0);
    assert_eq!(heard, ["before"]);
    server.done("list_users", reader, &json!({}));
    let page = server.done("history", reader, &json!({ "room_id": "room_1" }));
    let texts: Vec<String> = page["messages"]
        .as_array()
        .expect("a page")
        .iter()
        .map(text_of)
        .collect();
    assert_eq!(texts, ["before"]);
}

/// The server's life through this trouble, and the next one after a kill.
fn through(trouble: Trouble) {
    let disk = Disk::new();
    let server = disk.server();
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
    let server = Server::start(&disk.folder(), &[]);
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
