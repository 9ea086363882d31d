//! Visitors of the demonstration, who may do anything.

use std::io::{self, LineWriter, Write};
use std::time::Duration;

use chat_core::config::RateLimit;
use chat_core::{Config, Span};
use serde_json::{Value, json};
use server::demo::Demo;
use server_chat::service::Service;
use server_chat::tools::Tool;
use tokio::sync::mpsc;

use super::{Seat, start};
use crate::stage;

/// What a demonstration shows, line by line.
struct Lines(mpsc::UnboundedSender<String>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.0.send(text).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A visitor of a demonstration.
struct Visitor {
    seat: Seat,
    cursor: Value,
}

impl Visitor {
    fn new(service: &Service) -> Self {
        Self {
            seat: Seat::at(service),
            cursor: json!(0),
        }
    }

    async fn does(&self, tool: Tool, values: Value) -> Value {
        self.seat.ok(tool, values).await
    }

    /// Reads until an event in which the fields at these pointers have these texts in them.
    async fn hears(&mut self, wanted: &[(&str, &str)]) -> Value {
        loop {
            let ask = json!({ "after": self.cursor, "wait_seconds": 50, "max": 1 });
            let page = self.does(Tool::Check, ask).await;
            self.cursor = page["cursor"].clone();
            let events = page["events"].as_array().into_iter().flatten();
            for event in events {
                let is = |(field, part): &(&str, &str)| {
                    let text = event.pointer(field).and_then(Value::as_str);
                    text.is_some_and(|text| text.contains(part))
                };
                if wanted.iter().all(is) {
                    return event.clone();
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demonstration_outlasts_a_visitor_who_holds_the_stick_in_silence() {
    let (service, _running) = stage::service(Config {
        unused_timeout: Span::secs(2),
        stick_lease: Span::secs(4),
        ..Config::default()
    });
    let mut guest = Visitor::new(&service);
    guest
        .does(Tool::Login, json!({ "username": "Guest" }))
        .await;
    guest.does(Tool::TalkingStick, json!({})).await;
    let demo = Demo::new(&service, io::sink(), Duration::ZERO);
    let visit = async {
        guest.hears(&[("/type", "stick.expired")]).await;
        for name in ["Ada", "Bob", "Ada", "Bob"] {
            guest.hears(&[("/sender/display_name", name)]).await;
        }
    };
    tokio::select! {
        ended = demo.forever() => panic!("the demonstration ended: {ended:?}"),
        () = visit => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demonstration_answers_visitors() {
    let (service, _running) = start();
    let mut alone = Visitor::new(&service);
    let waits = json!({ "display_name": "Alone" });
    alone.does(Tool::EnterQueue, waits).await;
    let (to, mut from) = mpsc::unbounded_channel();
    let demo = Demo::new(
        &service,
        LineWriter::new(Lines(to)),
        Duration::from_millis(1),
    );
    let visits = async {
        while !from.recv().await.unwrap().contains("push") {}
        let mut guest = Visitor::new(&service);
        let login = json!({ "username": "Guest" });
        let lobby = guest.does(Tool::Login, login).await["room_id"].clone();
        guest.hears(&[("/message", "Hello Guest! Ask")]).await;
        guest.does(Tool::TalkingStick, json!({})).await;
        guest
            .hears(&[("/type", "stick.granted"), ("/user/display_name", "Guest")])
            .await;
        let says = json!({ "room_id": lobby, "message": "Hello?" });
        guest.does(Tool::SendMessage, says).await;
        guest.does(Tool::Reset, json!({})).await;
        guest
            .hears(&[("/message", "Hello Guest! I am a script")])
            .await;

        let found = alone.hears(&[("/type", "chatroom.found")]).await;
        let room = &found["room_id"];
        alone.hears(&[("/message", "How are you?")]).await;
        // The other agent has a visitor of its own.
        let mut second = Visitor::new(&service);
        let waits = json!({ "display_name": "Second" });
        second.does(Tool::EnterQueue, waits).await;
        second.hears(&[("/message", "How are you?")]).await;
        second.does(Tool::LeaveChat, json!({})).await;
        let says = json!({ "room_id": room, "message": "Well. And you?" });
        alone.does(Tool::SendMessage, says).await;
        alone.hears(&[("/message", "I am well")]).await;
        alone
            .does(Tool::LeaveChat, json!({ "room_id": room }))
            .await;
        // The next ones to wait are Cleo and Dan again.
        while !from.recv().await.unwrap().contains("{partner: Dan}") {}
    };
    tokio::select! {
        ended = demo.forever() => panic!("the demonstration ended: {ended:?}"),
        () = visits => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_call_only_begins_the_next_round_of_the_demonstration() {
    let (service, _running) = stage::service(Config {
        max_members: 2,
        // Rounds without a pause, which are refused until the guests leave, are many calls.
        rate_limit: RateLimit::None,
        registration_rate_limit: RateLimit::None,
        ..Config::default()
    });
    let guests = ["First", "Second"].map(|name| (name, Visitor::new(&service)));
    for (name, guest) in &guests {
        guest.does(Tool::Login, json!({ "username": name })).await;
    }
    let (to, mut from) = mpsc::unbounded_channel();
    let demo = Demo::new(&service, LineWriter::new(Lines(to)), Duration::ZERO);
    let visit = async {
        while !from.recv().await.unwrap().contains("Ada could not login") {}
        for (_, guest) in &guests {
            guest.does(Tool::LeaveChat, json!({})).await;
        }
        while !from.recv().await.unwrap().contains("Good morning") {}
    };
    tokio::select! {
        ended = demo.forever() => panic!("the demonstration ended: {ended:?}"),
        () = visit => {}
    }
}
