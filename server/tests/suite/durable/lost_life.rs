//! After the loss of a life of the server no number is given again, and each reader sees a gap.

use std::fs;
use std::io::BufRead as _;

use serde_json::{Value, json};

use crate::durable::client::{backup, restore};
use crate::process::Server;

/// A listener, with the cursor that it has read up to.
struct Listener {
    handle: String,
    reader: String,
    cursor: u64,
}

impl Listener {
    fn register(server: &Server, name: &str) -> Self {
        let body = json!({ "username": name, "room": "lobby" });
        let answer = server.connect().post("/register", "", &body);
        let (_, answer) = answer.expect("it is answered");
        let text = |key: &str| answer[key].as_str().expect("a text").to_owned();
        Self {
            handle: text("handle"),
            reader: text("reader_id"),
            cursor: 0,
        }
    }

    fn read(&mut self, server: &Server) {
        let check = json!({ "after": self.cursor, "wait_seconds": 0 });
        let page = server.done("check", &self.handle, &check);
        self.cursor = page["cursor"].as_u64().expect("a cursor");
    }

    /// The event with which an EventSource goes on behind its last one.
    fn reopen(&self, server: &Server) -> Value {
        let mut connection = server.connect();
        let line = format!("GET /events?reader={}", self.reader);
        let last = self.cursor.to_string();
        assert!(connection.send(&line, &[("Last-Event-ID", &last)], ""));
        let head = connection.head().expect("an answer");
        assert!(head[0].contains("200"), "{head:?}");
        let lines = connection
            .stream
            .lines()
            .map(|line| line.expect("a stream"));
        let mut data = lines.filter_map(|line| Some(line.strip_prefix("data: ")?.to_owned()));
        serde_json::from_str(&data.next().expect("an event")).expect("JSON")
    }

    /// Checks that the reader finds a gap behind its cursor, and then what is said now.
    fn goes_on(&mut self, server: &Server, speaker: &str) {
        let gap = self.reopen(server);
        assert_eq!(gap["type"], "gap", "{gap}");
        // One that comes before the first entry is committed counts as the restored end.
        let place = |key: &str| gap[key].as_u64().expect("a place");
        assert!(place("from_seq") <= self.cursor + 1, "{gap}");
        assert!(place("to_seq") > self.cursor, "{gap}");
        assert_eq!(gap["rooms_omitted"], true, "{gap}");
        server.say(speaker, ["once more".into()]);
        let check = json!({ "after": self.cursor, "wait_seconds": 0 });
        let page = server.done("check", &self.handle, &check);
        let [gap, said] = &page["events"].as_array().expect("a page")[..] else {
            panic!("{page}");
        };
        assert_eq!(
            (&gap["type"], &said["message"]),
            (&json!("gap"), &json!("once more"))
        );
        assert_eq!(gap["from_seq"], self.cursor + 1, "{gap}");
    }
}

fn said(number: u64) -> String {
    format!("word {number}")
}

#[test]
fn what_is_said_after_a_restore_has_numbers_that_no_lost_message_had() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    let server = Server::on(&at("data"), &[]);
    let speaker = server.register("speaker", "lobby");
    let send = |server: &Server| {
        let message = json!({ "message": "x", "room_id": "room_1" });
        server.done("send_message", &speaker, &message)
    };
    let join = |server: &Server, name: &str| {
        let login = json!({ "username": name, "room": "another" });
        server.done("login", "", &login)
    };
    let mut listener = Listener::register(&server, "listener");
    server.say(&speaker, (0..20).map(said));
    assert_eq!(backup(&at("data"), &at("backup")).code, Some(0));
    server.say(&speaker, (20..50).map(said));
    listener.read(&server);
    let lost = send(&server);
    let last = join(&server, "lost");
    server.kill();

    assert_eq!(restore(&at("backup"), &at("restored")).code, Some(0));
    let server = Server::on(&at("restored"), &[]);
    listener.goes_on(&server, &speaker);
    let sent = send(&server);
    let seqs = [&lost, &sent].map(|sent| sent["room_seq"].as_u64().expect("a place"));
    assert!(seqs[0] < seqs[1], "{seqs:?}");
    let next = join(&server, "newcomer");
    for key in ["user_id", "room_id"] {
        let number = |answer: &Value| {
            let id = answer[key].as_str().expect("an id");
            id.rsplit('_')
                .next()
                .and_then(|n| n.parse::<u64>().ok())
                .expect("a number")
        };
        assert!(number(&last) < number(&next), "{last} {next}");
    }
    // Once passed, numbers go on as they are.
    assert_eq!(server.stop(), Some(0));
    let server = Server::on(&at("restored"), &[]);
    let again = send(&server);
    assert_eq!(again["room_seq"], seqs[1] + 1);
}

#[test]
fn what_is_said_after_an_accepted_loss_has_numbers_that_no_lost_message_had() {
    let (folder, server) = Server::fresh(&[]);
    let speaker = server.register("speaker", "lobby");
    let mut listener = Listener::register(&server, "listener");
    server.say(&speaker, (0..20).map(said));
    assert_eq!(server.stop(), Some(0));
    let server = Server::on(folder.path(), &[]);
    server.say(&speaker, (20..50).map(said));
    listener.read(&server);
    server.kill();
    // The WAL is missing, as after a disk that reported a write that it had not done.
    fs::remove_file(folder.path().join("journal.db-wal")).expect("there is one");
    let server = Server::on(folder.path(), &["--accept-loss"]);
    listener.goes_on(&server, &speaker);
}
