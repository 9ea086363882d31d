//! Scripted agents that show a conversation: two in the lobby, and two that are matched.
//!
//! They use the same service as real agents: claim the stick, wait in line for it, append, push;
//! wait in the queue, talk, leave. They answer visitors, and a refused call only begins the next
//! round: a visitor may do anything.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};
use server_chat::driver::EventStream;
use server_chat::identity::Handle;
use server_chat::refusal::Refusal;
use server_chat::service::{RequestOrigin, Service};
use server_chat::tools::Tool;

/// The messages in the lobby, in turns.
const LOBBY: [&str; 6] = [
    "Good morning. I hold the stick, so you have to let me finish.",
    "I waited in line for it, and here it is. How does one stop?",
    "By pushing: the draft goes out as one message, and the stick goes on.",
    "And if I fall silent with the stick in my hand?",
    "Then the lease runs out, the next in line gets it, and your draft is kept.",
    "Fair enough. I push now.",
];

/// The messages of the two that are matched.
const CHANCE: [&str; 4] = [
    "Hello! The queue says that we are partners.",
    "It does. The one who waits longest is matched first.",
    "And nobody is matched with itself. I checked.",
    "Then I leave you to the next one. Goodbye!",
];

/// What an agent says to a visitor who meets it in the queue: first, and to each message.
const MEETING: [&str; 4] = [
    "Hello! I am a script, and answer three times. How are you?",
    "I am well, thank you, as scripts always are. What brings you here?",
    "An agent would do something with that. It calls check, and send_message, as I do.",
    "I have to go: the next round begins. Press End it, or wait until I am gone.",
];

/// The shortest pause after a refused call.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);

/// The number of pauses between two rounds.
const BETWEEN_ROUNDS: u32 = 4;

/// Why a demonstration stopped.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message says what the fields are")]
pub enum DemoError {
    #[error("{who} could not {tool}: {}", .refusal.message)]
    Refused {
        who: String,
        tool: Tool,
        refusal: Refusal,
    },
    #[error(
        "cannot show the conversation: {}",
        server_settings::os_error::reason(_0)
    )]
    Output(#[from] std::io::Error),
}

/// A demonstration: its output, and its pace.
#[derive(Debug)]
pub struct Demo<'a, W> {
    service: &'a Service,
    out: RefCell<W>,
    pace: Duration,
}

impl<'a, W: Write> Demo<'a, W> {
    /// A demonstration on this server, with a pause of `pace` before each action.
    pub fn new(service: &'a Service, out: W, pace: Duration) -> Self {
        let out = RefCell::new(out);
        Self { service, out, pace }
    }

    /// Shows the stick and then the queue, once.
    ///
    /// # Errors
    /// A call was refused, or the output failed.
    pub async fn once(&self) -> Result<(), DemoError> {
        let mut lobby = Lobby::new(self.service);
        let mut shown = self.open(&mut lobby).await;
        if shown.is_ok() {
            shown = self.round(&mut lobby).await;
        }
        self.close(&mut lobby).await?;
        shown?;
        self.queue().await
    }

    /// Shows both again and again, the two in the lobby without a gap.
    ///
    /// # Errors
    /// The output failed.
    pub async fn forever(&self) -> Result<(), DemoError> {
        tokio::try_join!(self.lobby_forever(), self.queue_forever())?;
        Ok(())
    }

    async fn lobby_forever(&self) -> Result<(), DemoError> {
        loop {
            let mut lobby = Lobby::new(self.service);
            let mut shown = self.open(&mut lobby).await;
            while shown.is_ok() {
                shown = self.round(&mut lobby).await;
                self.pauses(BETWEEN_ROUNDS).await;
            }
            for agent in &mut lobby.agents {
                agent.goodbye().await;
            }
            self.go_on_after(shown).await?;
        }
    }

    async fn queue_forever(&self) -> Result<(), DemoError> {
        loop {
            let shown = self.queue().await;
            self.go_on_after(shown).await?;
            self.pauses(BETWEEN_ROUNDS).await;
        }
    }

    /// Shows a refusal. The next round begins after a pause.
    async fn go_on_after(&self, shown: Result<(), DemoError>) -> Result<(), DemoError> {
        match shown {
            Err(refused @ DemoError::Refused { .. }) => {
                writeln!(self.out.borrow_mut(), "  {refused}")?;
                tokio::time::sleep(AFTER_REFUSAL.max(self.pace)).await;
                Ok(())
            }
            shown => shown,
        }
    }

    async fn pauses(&self, number: u32) {
        if !self.pace.is_zero() {
            tokio::time::sleep(self.pace * number).await;
        }
    }

    fn show(&self, who: &str, does: &str) -> Result<(), DemoError> {
        let mut out = self.out.borrow_mut();
        writeln!(out, "  {who:<6} {does}")?;
        Ok(out.flush()?)
    }

    async fn open(&self, lobby: &mut Lobby) -> Result<(), DemoError> {
        let what = "lobby: the talking stick decides who speaks";
        writeln!(self.out.borrow_mut(), "{what}")?;
        for agent in &mut lobby.agents {
            agent.arrive(Tool::Login, "username").await?;
            self.show(&agent.name, "login {room: lobby}")?;
        }
        Ok(())
    }

    /// Two agents in the lobby take turns with the stick.
    async fn round(&self, lobby: &mut Lobby) -> Result<(), DemoError> {
        self.claim(&lobby.agents[0]).await?;
        for (turn, words) in LOBBY.into_iter().enumerate() {
            let (speaks, next) = (turn % 2, (turn + 1) % 2);
            let visitor = lobby.granted(speaks).await?;
            let words = visitor.unwrap_or_else(|| words.into());
            let speaker = &lobby.agents[speaks];
            speaker.call(Tool::Append, json!({ "text": words })).await?;
            self.pauses(1).await;
            if turn + 1 < LOBBY.len() {
                self.claim(&lobby.agents[next]).await?;
                self.pauses(1).await;
            }
            speaker.call(Tool::Push, json!({})).await?;
            self.show(&speaker.name, &format!("push “{words}”"))?;
        }
        Ok(())
    }

    async fn close(&self, lobby: &mut Lobby) -> Result<(), DemoError> {
        for agent in &mut lobby.agents {
            agent.call(Tool::LeaveChat, json!({})).await?;
            self.show(&agent.name, "leave_chat")?;
            agent.goodbye().await;
        }
        Ok(())
    }

    async fn claim(&self, agent: &Agent) -> Result<(), DemoError> {
        let claim = agent.call(Tool::TalkingStick, json!({})).await?;
        let does = format!("talking_stick → {}", text(&claim["status"]));
        self.show(&agent.name, &does)
    }

    /// Two agents wait for a partner: each other, if no visitor waits.
    async fn queue(&self) -> Result<(), DemoError> {
        let what = "queue: agents who wait are paired, first come, first served";
        writeln!(self.out.borrow_mut(), "{what}")?;
        let mut agents = ["Cleo", "Dan"].map(|name| Agent::new(name, self.service));
        let shown = self.meet(&mut agents).await;
        for agent in &mut agents {
            agent.goodbye().await;
        }
        shown?;
        Ok(writeln!(self.out.borrow_mut())?)
    }

    async fn meet(&self, agents: &mut [Agent; 2]) -> Result<(), DemoError> {
        for agent in agents.iter_mut() {
            self.pauses(1).await;
            let entered = agent.arrive(Tool::EnterQueue, "display_name").await?;
            let does = format!("enter_queue → {}", text(&entered["status"]));
            self.show(&agent.name, &does)?;
        }
        let mut rooms = [Value::Null, Value::Null];
        for (agent, room) in agents.iter_mut().zip(&mut rooms) {
            *room = self.found(agent, 0).await?;
        }
        let [first, second] = rooms;
        if first == second && !first.is_null() {
            for (turn, words) in CHANCE.into_iter().enumerate() {
                self.send(&agents[turn % 2], &first, words).await?;
            }
            return Ok(());
        }
        let [cleo, dan] = agents;
        tokio::try_join!(self.accompany(cleo, first), self.accompany(dan, second))?;
        Ok(())
    }

    /// The room in which the agent found a partner, or nothing after this time.
    async fn found(&self, agent: &mut Agent, wait_seconds: u64) -> Result<Value, DemoError> {
        while let Some(event) = agent.next(wait_seconds).await? {
            if event["type"] == "chatroom.found" {
                let partner = text(&event["partner"]["display_name"]);
                let does = format!("chatroom.found {{partner: {partner}}}");
                self.show(&agent.name, &does)?;
                return Ok(event["room_id"].clone());
            }
        }
        Ok(Value::Null)
    }

    async fn send(&self, agent: &Agent, room: &Value, words: &str) -> Result<(), DemoError> {
        self.pauses(1).await;
        let ask = json!({ "room_id": room, "message": words });
        agent.call(Tool::SendMessage, ask).await?;
        self.show(&agent.name, &format!("send_message “{words}”"))
    }

    /// The agent talks with the visitor in this room, or with the next one, until one of them has
    /// enough.
    async fn accompany(&self, agent: &mut Agent, mut room: Value) -> Result<(), DemoError> {
        if room.is_null() {
            room = self.found(agent, PATIENCE_S).await?;
        }
        let meeting: &[&str] = if room.is_null() { &[] } else { &MEETING };
        'meeting: for words in meeting {
            self.send(agent, &room, words).await?;
            loop {
                let event = agent.next(PATIENCE_S).await?;
                match event.as_ref().map(|event| text(&event["type"])) {
                    None | Some("partner.disconnected") => break 'meeting,
                    Some("message.received") => break,
                    Some(_) => {}
                }
            }
        }
        // It does not wait for another one while the other agent goes on.
        agent.goodbye().await;
        Ok(())
    }
}

/// The two agents in the lobby.
struct Lobby {
    agents: [Agent; 2],
    /// The place in the room up to which visitors were answered.
    answered: u64,
}

impl Lobby {
    fn new(service: &Service) -> Self {
        Self {
            agents: ["Ada", "Bob"].map(|name| Agent::new(name, service)),
            answered: 0,
        }
    }

    /// Waits until this agent has the stick. Returns an answer to the visitor who came or spoke
    /// last, unless it has one.
    async fn granted(&mut self, speaks: usize) -> Result<Option<String>, DemoError> {
        let names = [0, 1].map(|at: usize| self.agents[at].name.clone());
        let mut answer = None;
        loop {
            let Some(event) = self.agents[speaks].next(PATIENCE_S).await? else {
                continue;
            };
            let (kind, by) = match text(&event["type"]) {
                "message.received" => ("message", &event["sender"]),
                kind => (kind, &event["user"]),
            };
            let name = text(&by["display_name"]);
            if kind == "stick.granted" && name == names[speaks] {
                return Ok(answer);
            }
            let seq = event["room_seq"].as_u64().unwrap_or(0);
            if names.iter().any(|own| own == name) || seq <= self.answered {
                continue;
            }
            let words = match kind {
                "user.joined" => "Ask for the stick, and it comes to you after us.",
                "message" => "I am a script and understand no word, but the stick came back.",
                _ => continue,
            };
            self.answered = seq;
            answer = Some(format!("Hello {name}! {words}"));
        }
    }
}

/// The number of names that an agent tries.
const MAX_NAMES: u32 = 20;

/// How long one call waits for events, in seconds.
const PATIENCE_S: u64 = 50;

/// A scripted agent.
struct Agent {
    /// Its present name.
    name: String,
    service: Service,
    origin: RequestOrigin,
    /// Never read: while it is open, the agent is present, however long a visitor thinks.
    present: Option<EventStream>,
    /// The position up to which events were read, and those read that nobody has looked at.
    cursor: u64,
    unseen: VecDeque<Value>,
}

impl Agent {
    fn new(name: &str, service: &Service) -> Self {
        Self {
            name: name.into(),
            service: service.clone(),
            origin: RequestOrigin::default(),
            present: None,
            cursor: 0,
            unseen: VecDeque::new(),
        }
    }

    async fn call(&self, tool: Tool, arguments: Value) -> Result<Value, DemoError> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let outcome = self.service.perform(tool, arguments, &self.origin).await;
        match &outcome.result {
            Ok(_) => Ok(outcome.json()),
            Err(refusal) => Err(self.refused(tool, refusal.clone())),
        }
    }

    fn refused(&self, tool: Tool, refusal: Refusal) -> DemoError {
        let who = self.name.clone();
        DemoError::Refused { who, tool, refusal }
    }

    /// Registers under its name, which this argument takes, and stays present. If the name is taken,
    /// tries similar ones.
    async fn arrive(&mut self, tool: Tool, argument: &str) -> Result<Value, DemoError> {
        let first = self.name.clone();
        let mut number = 1;
        let arrived = loop {
            match self.call(tool, json!({ argument: self.name })).await {
                Err(DemoError::Refused { refusal, .. })
                    if matches!(refusal.code, "name_taken" | "name_not_allowed")
                        && number < MAX_NAMES =>
                {
                    number += 1;
                    self.name = format!("{first} {number}");
                }
                arrived => break arrived?,
            }
        };
        let handle = Handle::given(text(&arrived["handle"]));
        let reader = self.service.reader(&handle);
        self.origin.handle = Some(handle);
        let opened = self.service.stream(reader, self.origin.address, None);
        let (stream, _) = opened
            .await
            .map_err(|refusal| self.refused(tool, refusal))?;
        self.present = Some(stream);
        Ok(arrived)
    }

    /// The next event, unless none comes within this time.
    async fn next(&mut self, wait_seconds: u64) -> Result<Option<Value>, DemoError> {
        if self.unseen.is_empty() {
            let ask = json!({ "after": self.cursor, "wait_seconds": wait_seconds });
            let page = self.call(Tool::Check, ask).await?;
            self.cursor = page["cursor"].as_u64().unwrap_or(self.cursor);
            let events = page["events"].as_array().into_iter().flatten();
            self.unseen.extend(events.cloned());
        }
        Ok(self.unseen.pop_front())
    }

    /// Unregisters, so that the name is free for the next run.
    async fn goodbye(&mut self) {
        self.present = None;
        if let Some(handle) = self.origin.handle.take() {
            self.service.unregister(&handle, &self.origin).await;
        }
    }
}

/// The string of a JSON value.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chat_core::{Config, Node};

    use super::*;
    use server_chat::driver;
    use server_chat::identity::Secrets;
    use server_storage::clock::Clock;
    use server_storage::journal::MemoryJournal;

    #[tokio::test]
    async fn agents_whose_names_are_taken_come_by_others() {
        let node = Node::start(Config::default(), 7);
        let journal = Box::new(MemoryJournal::default());
        let (node, _running) = driver::start(node, journal, None, Clock::start(), Arc::default());
        let service = Service::new(node, Secrets::new(&[1; 32]));
        for name in ["ada", "Cleo", "Cleo 2"] {
            let mut guest = Agent::new(name, &service);
            let ask = json!({ "username": name, "room": "attic" });
            let arrived = guest.call(Tool::Login, ask).await.unwrap();
            guest.origin.handle = Some(Handle::given(text(&arrived["handle"])));
            // A name whose holder has not used its handle would give way.
            guest.call(Tool::Check, json!({})).await.unwrap();
        }
        let mut out = Vec::new();
        let demo = Demo::new(&service, &mut out, Duration::ZERO);
        demo.once().await.unwrap();
        let shown = String::from_utf8(out).unwrap();
        for line in [
            "Ada 2  login",
            "Bob    login",
            "Cleo 3 enter_queue",
            "Dan    enter_queue",
        ] {
            assert!(shown.contains(line), "{line}\n{shown}");
        }
    }
}
