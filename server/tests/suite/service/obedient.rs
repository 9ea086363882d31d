//! Agents that read only the texts of results, and make the call that each suggests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value, json};
use server_chat::render_text;
use server_chat::service::Service;
use server_chat::tools::Tool;

use super::{Seat, start};

/// More calls than any of these flows needs.
const MOST_CALLS: usize = 60;

/// An agent without a will of its own: it says something wherever it is asked to.
struct Agent {
    seat: Seat,
    name: &'static str,
    words: usize,
    calls: usize,
    /// The calls so far.
    made: Vec<Tool>,
}

impl Agent {
    fn new(service: &Service, name: &'static str) -> Self {
        Self {
            seat: Seat::at(service),
            name,
            words: 0,
            calls: 0,
            made: Vec::new(),
        }
    }

    /// Makes a call, and returns its text.
    async fn makes(&mut self, tool: Tool, values: Value) -> String {
        self.calls += 1;
        assert!(self.calls < MOST_CALLS, "{}: {:?}", self.name, self.made);
        let values = self.fill(tool, values);
        let outcome = self.seat.call(tool, values).await;
        self.made.push(tool);
        let (text, data) = (
            render_text::text(&outcome, &outcome.json()),
            render_text::structured(&outcome, &outcome.json()),
        );
        // Some clients show their model the JSON alone.
        let place = data.get("error").unwrap_or(&data);
        let last = text
            .lines()
            .last()
            .and_then(|last| last.strip_prefix("next: "));
        assert_eq!(place["next_call"].as_str(), last, "{data}");
        text
    }

    /// Makes the call that a text suggests.
    async fn obeys(&mut self, text: &str) -> String {
        let (tool, values) = suggested(text);
        self.makes(tool, values).await
    }

    /// Adds what only the agent can know: its name, and its words.
    fn fill(&mut self, tool: Tool, values: Value) -> Value {
        let Value::Object(mut values) = values else {
            panic!("arguments are an object")
        };
        let mut set = |key: &str, value: Value| {
            values.entry(key).or_insert(value);
        };
        if tool == Tool::EnterQueue {
            set("display_name", json!(self.name));
        } else if tool == Tool::Login {
            set("username", json!(self.name));
            set("room", json!("table"));
        } else if let Tool::Check | Tool::Speak = tool {
            set("wait_seconds", json!(2));
        }
        if let Tool::SendMessage | Tool::Speak | Tool::Append = tool {
            self.words += 1;
            let key = match tool == Tool::Append {
                true => "text",
                false => "message",
            };
            set(key, json!(format!("{} {}", self.name, self.words)));
        }
        Value::Object(values)
    }

    fn count(&self, tool: Tool) -> usize {
        self.made.iter().filter(|made| **made == tool).count()
    }
}

/// The first call of the last line, with the arguments that follow its name.
fn suggested(text: &str) -> (Tool, Value) {
    let last = text.lines().last().unwrap_or_default();
    let hint = last
        .strip_prefix("next: ")
        .expect("the last line is the next call");
    let word = |c: char| c.is_ascii_lowercase() || c == '_';
    for (at, _) in hint.char_indices() {
        let is_start = at == 0 || !hint[..at].ends_with(word);
        let end = hint[at..]
            .find(|c| !word(c))
            .map_or(hint.len(), |end| at + end);
        let tool = Tool::all().find(|tool| tool.name() == &hint[at..end]);
        if let Some(tool) = tool.filter(|_| is_start) {
            let rest = hint[end..].trim_start();
            let mut parsed =
                serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
            let values = match rest.starts_with('{') {
                true => parsed.next().expect("an object").expect("valid arguments"),
                false => Map::new(),
            };
            return (tool, Value::Object(values));
        }
    }
    panic!("no tool is named: {text}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pair_meets_talks_and_looks_for_others() {
    let (service, _running) = start();
    let (mut ann, mut ben) = (Agent::new(&service, "Ann"), Agent::new(&service, "Ben"));
    let waits = ann.makes(Tool::EnterQueue, json!({})).await;
    assert_eq!(suggested(&waits).0, Tool::Check, "{waits}");
    let ann = tokio::spawn(async move {
        let mut text = waits;
        // Its only wish: to leave after its third message.
        while ann.count(Tool::SendMessage) < 3 {
            text = ann.obeys(&text).await;
        }
        let left = ann.makes(Tool::LeaveChat, json!({})).await;
        assert_eq!(suggested(&left).0, Tool::EnterQueue, "{left}");
    });
    let waits = ben.makes(Tool::EnterQueue, json!({})).await;
    let mut text = ben.obeys(&waits).await;
    assert_eq!(suggested(&text).0, Tool::SendMessage, "{text}");
    // Until the partner has gone.
    while ben.count(Tool::EnterQueue) < 2 {
        text = ben.obeys(&text).await;
    }
    ann.await.unwrap();
    assert!(ben.count(Tool::SendMessage) >= 2, "{:?}", ben.made);
    assert!(text.contains("You wait for a partner"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn everyone_at_a_table_speaks_in_turn() {
    let (service, _running) = start();
    let spoken = Arc::new([const { AtomicUsize::new(0) }; 3]);
    let mut agents = Vec::new();
    for (of, name) in ["Ann", "Ben", "Cat"].into_iter().enumerate() {
        let (mut agent, spoken) = (Agent::new(&service, name), Arc::clone(&spoken));
        agents.push(tokio::spawn(async move {
            let mut text = agent.makes(Tool::Login, json!({})).await;
            let counts = || spoken.each_ref().map(|of| of.load(Ordering::SeqCst));
            while counts().contains(&0) || counts().iter().sum::<usize>() < 9 {
                text = agent.obeys(&text).await;
                assert!(!text.contains("Refused"), "{text}");
                // It claims nothing, and drafts nothing.
                if agent.made.last() != Some(&Tool::Check) {
                    assert_eq!(agent.made.last(), Some(&Tool::Speak), "{text}");
                    spoken[of].fetch_add(1, Ordering::SeqCst);
                }
            }
            agent
        }));
    }
    for agent in agents {
        let mut agent = agent.await.unwrap();
        let said = agent.makes(Tool::History, json!({})).await;
        for words in 1..=agent.words {
            let words = format!(">{} {words}</", agent.name);
            assert_eq!(said.matches(&words).count(), 1, "{words} {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everyone_at_a_table_who_claims_and_drafts_passes_the_stick_on() {
    let (service, _running) = start();
    let pushes = Arc::new([const { AtomicUsize::new(0) }; 3]);
    let mut agents = Vec::new();
    for (of, name) in ["Ann", "Ben", "Cat"].into_iter().enumerate() {
        let (mut agent, pushes) = (Agent::new(&service, name), Arc::clone(&pushes));
        agents.push(tokio::spawn(async move {
            let mut text = agent.makes(Tool::Login, json!({})).await;
            // All stop together: one that stopped alone could take the stick along.
            let counts = || pushes.each_ref().map(|of| of.load(Ordering::SeqCst));
            while counts().contains(&0) || counts().iter().sum::<usize>() < 6 {
                let last = |event: &str| text.rfind(event);
                let is_granted = last("stick.granted: you") > last("stick.released: you");
                let is_holder = text.contains("You hold") || is_granted;
                text = match suggested(&text) {
                    (Tool::Speak, room) => agent.makes(Tool::TalkingStick, room).await,
                    (tool, values) => agent.makes(tool, values).await,
                };
                if is_holder {
                    assert_eq!(agent.made.last(), Some(&Tool::Append), "{text}");
                }
                if agent.made.last() == Some(&Tool::Push) {
                    pushes[of].fetch_add(1, Ordering::SeqCst);
                    assert!(!text.contains("Refused"), "{text}");
                }
            }
        }));
    }
    for agent in agents {
        agent.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_sends_directly_gives_the_stick_back() {
    let (service, _running) = start();
    let mut ann = Agent::new(&service, "Ann");
    ann.makes(Tool::Login, json!({})).await;
    let granted = ann.makes(Tool::TalkingStick, json!({})).await;
    assert!(granted.contains("You hold the stick"), "{granted}");
    let room = json!({ "room_id": "room_1" });
    let sent = ann.makes(Tool::SendMessage, room).await;
    assert!(
        sent.contains("You still hold the stick of room_1 (epoch 1)"),
        "{sent}"
    );
    // A check in between does not hide it.
    let checked = ann.makes(Tool::Check, json!({ "wait_seconds": 0 })).await;
    assert_eq!(suggested(&checked).0, Tool::Append, "{checked}");
    let reset = ann.obeys(&sent).await;
    assert_eq!(ann.made.last(), Some(&Tool::Reset));
    assert!(reset.contains("You hold no stick"), "{reset}");
    assert_eq!(suggested(&reset).0, Tool::Check, "{reset}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_leads_to_the_call_that_works() {
    let (service, _running) = start();
    let mut ann = Agent::new(&service, "Ann");
    ann.makes(Tool::Login, json!({})).await;
    let room = json!({ "room_id": "room_1" });
    let refused = ann.makes(Tool::SendMessage, room).await;
    assert!(refused.starts_with("Refused (stick_required)"), "{refused}");
    let spoken = ann.obeys(&refused).await;
    assert!(spoken.contains("Sent as"), "{spoken}");
    let (mut ben, mut cat) = (Agent::new(&service, "Ben"), Agent::new(&service, "Cat"));
    ben.makes(Tool::EnterQueue, json!({})).await;
    cat.makes(Tool::EnterQueue, json!({})).await;
    // From the first use of both handles on they are a pair.
    ben.makes(Tool::LeaveQueue, json!({})).await;
    ben.makes(Tool::EnterQueue, json!({})).await;
    cat.makes(Tool::Check, json!({})).await;
    let refused = cat.makes(Tool::TalkingStick, json!({})).await;
    assert!(refused.starts_with("Refused (no_stick)"), "{refused}");
    let sent = cat.obeys(&refused).await;
    assert!(sent.contains("Sent as"), "{sent}");
    ben.makes(Tool::LeaveChat, json!({})).await;
    let refused = cat
        .makes(Tool::SendMessage, json!({ "room_id": "room_2" }))
        .await;
    assert!(refused.starts_with("Refused (chat_ended)"), "{refused}");
    let again = cat.obeys(&refused).await;
    assert!(again.contains("You wait for a partner"), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_with_a_draft_from_before_is_told_of_it() {
    let (service, _running) = start();
    let (mut ann, mut ben) = (Agent::new(&service, "Ann"), Agent::new(&service, "Ben"));
    ann.makes(Tool::Login, json!({})).await;
    let granted = ann.makes(Tool::TalkingStick, json!({})).await;
    assert!(!granted.contains("draft"), "{granted}");
    ann.makes(Tool::Append, json!({ "text": "the parser is mine" }))
        .await;
    let room = json!({ "room_id": "room_1" });
    ann.makes(Tool::SendMessage, room.clone()).await;
    let again = ann.seat.call(Tool::TalkingStick, json!({})).await;
    let json = again.json();
    assert_eq!(json["draft_length"], 18, "{json}");
    assert_eq!(json["draft_suffix"], "the parser is mine");
    let text = render_text::text(&again, &json);
    let told = "Your draft there still has 18 characters, and ends: the parser is mine";
    assert!(text.contains(told), "{text}");
    assert_eq!(suggested(&text), (Tool::Push, room), "{text}");
    ann.obeys(&text).await;
    // One who waits hears of its draft, too, and of nobody else's.
    ben.makes(Tool::Login, json!({})).await;
    let granted = ben.makes(Tool::TalkingStick, json!({})).await;
    assert!(!granted.contains("draft"), "{granted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_to_say_which_room_is_told_its_rooms() {
    let (service, _running) = start();
    let mut ann = Agent::new(&service, "Ann");
    ann.makes(Tool::Login, json!({})).await;
    let said = json!({ "message": "hi" });
    // In one room there is only one that it can mean.
    ann.makes(Tool::TalkingStick, json!({})).await;
    let sent = ann.makes(Tool::SendMessage, said.clone()).await;
    assert!(sent.contains("Sent as msg_1_"), "{sent}");
    ann.makes(Tool::Login, json!({ "room": "attic" })).await;
    for (tool, values) in [
        (Tool::SendMessage, said),
        (Tool::Push, json!({})),
        (
            Tool::SendMessage,
            json!({ "room_id": "room_9", "message": "hi" }),
        ),
    ] {
        let refused = ann.seat.call(tool, values).await;
        let json = refused.json();
        let rooms = json!([
            { "room_id": "room_1", "room": "table" }, { "room_id": "room_2", "room": "attic" }
        ]);
        assert_eq!(json["error"]["rooms"], rooms, "{json}");
        let data = render_text::structured(&refused, &json);
        assert!(data["note"].is_string(), "{data}");
        let text = render_text::text(&refused, &json);
        assert!(text.contains("- room_2 (<"), "{text}");
    }
    let checked = ann
        .seat
        .call(Tool::Check, json!({ "wait_seconds": 0 }))
        .await;
    assert_eq!(checked.json()["rooms"], json!(["room_1", "room_2"]));
    for room in ["room_1", "room_2"] {
        ann.makes(Tool::LeaveChat, json!({ "room_id": room })).await;
    }
    let nowhere = ann.makes(Tool::Push, json!({})).await;
    assert!(nowhere.contains("You are in no room"), "{nowhere}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_a_name_says_what_was_wrong_and_what_is_so() {
    let (service, _running) = start();
    let mut ann = Agent::new(&service, "Ann");
    ann.makes(Tool::Login, json!({})).await;
    for (room, fault) in [
        (&*"x".repeat(65), "it is longer"),
        ("a\tb", "shows nothing"),
        ("two  spaces", "two in a row"),
        (" first", "at its beginning"),
    ] {
        let login = json!({ "username": "Ann", "room": room });
        let told = ann.makes(Tool::Login, login).await;
        let accepted = "room must be 1 to 64 visible characters on one line";
        assert!(told.contains(accepted) && told.contains(fault), "{told}");
    }
    let told = ann.makes(Tool::Login, json!({ "username": "ANN" })).await;
    assert!(told.contains("which cannot be changed: Ann\n"), "{told}");
    let taken = json!({ "username": "Ann" });
    let refused = Seat::at(&service).call(Tool::Login, taken).await.json();
    let free_at = refused["error"]["free_at"].as_str().expect("an instant");
    assert!(free_at.ends_with('Z'), "{refused}");
}
