//! Scripted agents that show a conversation: two in the lobby, and two that are matched.
//!
//! They use the same service as real agents: claim the stick, wait in line for it, append, push;
//! wait in the queue, talk, leave.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use chat_core::Address;
use serde_json::{Map, Value, json};
use server_chat::capacity::Source;
use server_chat::scope::CallerScope;
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

/// The number of names that an agent tries.
const MAX_NAMES: u32 = 20;

/// Why a demonstration stopped.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message says what the fields are")]
pub enum DemoError {
    #[error("{who} could not {tool}: {message}")]
    HttpError {
        who: String,
        tool: Tool,
        code: &'static str,
        message: String,
    },
    #[error(
        "cannot show the conversation: {}",
        server_settings::os_error::reason(_0)
    )]
    Output(#[from] std::io::Error),
}

/// One scripted agent.
struct Agent {
    name: String,
    service: Service,
    origin: RequestOrigin,
    /// The position up to which everything was read.
    cursor: u64,
}

impl Agent {
    fn new(name: &str, service: &Service) -> Self {
        Self {
            name: name.into(),
            service: service.clone(),
            origin: RequestOrigin {
                address: Address(0),
                source: Source::default(),
                scope: Some(Arc::new(CallerScope::default())),
                handle: None,
            },
            cursor: 0,
        }
    }

    async fn call(&self, tool: Tool, arguments: Value) -> Result<Value, DemoError> {
        let arguments = match arguments {
            Value::Object(map) => map,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        };
        let outcome = self.service.perform(tool, arguments, &self.origin).await;
        match &outcome.result {
            Ok(_) => Ok(outcome.json()),
            Err(refusal) => Err(DemoError::HttpError {
                who: self.name.clone(),
                tool,
                code: refusal.code,
                message: refusal.message.clone(),
            }),
        }
    }

    /// Registers under its name, which this argument takes. If it is taken, tries similar names.
    async fn arrive(&mut self, tool: Tool, argument: &str) -> Result<Value, DemoError> {
        let first = self.name.clone();
        let mut number = 1;
        loop {
            let mut ask = Map::new();
            ask.insert(argument.into(), self.name.as_str().into());
            match self.call(tool, Value::Object(ask)).await {
                Err(DemoError::HttpError {
                    code: "name_taken", ..
                }) if number < MAX_NAMES => {
                    number += 1;
                    self.name = format!("{first} {number}");
                }
                arrived => return arrived,
            }
        }
    }

    /// Reads until an event of this type that `wanted` accepts.
    async fn until(
        &mut self,
        kind: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Value, DemoError> {
        loop {
            let ask = json!({ "after": self.cursor, "wait_seconds": 50, "max": 1 });
            let page = self.call(Tool::Check, ask).await?;
            self.cursor = page["cursor"].as_u64().unwrap_or(self.cursor);
            let events = page["events"].as_array().into_iter().flatten();
            for event in events {
                if event["type"] == kind && wanted(event) {
                    return Ok(event.clone());
                }
            }
        }
    }
}

/// A demonstration: its output, and its pace.
#[derive(Debug)]
pub struct Demo<'a, W> {
    service: &'a Service,
    out: W,
    pace: Duration,
}

impl<'a, W: Write> Demo<'a, W> {
    /// A demonstration on this server, with a pause of `pace` before each action.
    pub fn new(service: &'a Service, out: W, pace: Duration) -> Self {
        Self { service, out, pace }
    }

    /// Shows the stick and then the queue, once.
    ///
    /// # Errors
    /// A call was refused, or the output failed.
    pub async fn run(&mut self) -> Result<(), DemoError> {
        self.lobby().await?;
        self.chance().await
    }

    async fn pause(&self) {
        if !self.pace.is_zero() {
            tokio::time::sleep(self.pace).await;
        }
    }

    fn show(&mut self, who: &str, does: &str) -> Result<(), DemoError> {
        writeln!(self.out, "  {who:<6} {does}")?;
        Ok(self.out.flush()?)
    }

    /// Two agents in the lobby take turns with the stick.
    async fn lobby(&mut self) -> Result<(), DemoError> {
        writeln!(self.out, "lobby: the talking stick decides who speaks")?;
        let mut agents = [
            Agent::new("Ada", self.service),
            Agent::new("Bob", self.service),
        ];
        for agent in &mut agents {
            agent.arrive(Tool::Login, "username").await?;
            self.show(&agent.name, "login {room: lobby}")?;
        }
        self.claim(&agents[0]).await?;
        for (turn, words) in LOBBY.into_iter().enumerate() {
            let (speaks, next) = (turn % 2, (turn + 1) % 2);
            let name = agents[speaks].name.clone();
            let mine = |event: &Value| event["user"]["display_name"] == name;
            agents[speaks].until("stick.granted", mine).await?;
            let speaker = &agents[speaks];
            speaker.call(Tool::Append, json!({ "text": words })).await?;
            self.pause().await;
            if turn + 1 < LOBBY.len() {
                self.claim(&agents[next]).await?;
                self.pause().await;
            }
            agents[speaks].call(Tool::Push, json!({})).await?;
            self.show(&name, &format!("push “{words}”"))?;
        }
        for agent in &agents {
            agent.call(Tool::LeaveChat, json!({})).await?;
            self.show(&agent.name, "leave_chat")?;
            self.goodbye(agent).await;
        }
        Ok(())
    }

    async fn claim(&mut self, agent: &Agent) -> Result<(), DemoError> {
        let claim = agent.call(Tool::TalkingStick, json!({})).await?;
        self.show(
            &agent.name,
            &format!("talking_stick → {}", text(&claim["status"])),
        )
    }

    /// Two agents wait for a partner, and are matched if no other participant waits.
    async fn chance(&mut self) -> Result<(), DemoError> {
        writeln!(
            self.out,
            "queue: agents who wait are paired, first come, first served"
        )?;
        let mut agents = [
            Agent::new("Cleo", self.service),
            Agent::new("Dan", self.service),
        ];
        for agent in &mut agents {
            self.pause().await;
            let entered = agent.arrive(Tool::EnterQueue, "display_name").await?;
            self.show(
                &agent.name,
                &format!("enter_queue → {}", text(&entered["status"])),
            )?;
        }
        let mut rooms = Vec::new();
        for agent in &mut agents {
            let found = agent.until("chatroom.found", |_| true).await?;
            let partner = found["partner"]["display_name"].as_str().unwrap_or("?");
            self.show(
                &agent.name,
                &format!("chatroom.found {{partner: {partner}}}"),
            )?;
            rooms.push(found["room_id"].clone());
        }
        for (turn, words) in CHANCE.into_iter().enumerate() {
            self.pause().await;
            let (agent, room) = (&agents[turn % 2], &rooms[turn % 2]);
            let ask = json!({ "room_id": room, "message": words });
            agent.call(Tool::SendMessage, ask).await?;
            self.show(&agent.name, &format!("send_message “{words}”"))?;
        }
        for agent in &agents {
            self.goodbye(agent).await;
        }
        writeln!(self.out)?;
        Ok(())
    }

    /// Unregisters an agent, so that its name is free for the next run.
    async fn goodbye(&self, agent: &Agent) {
        let scope = agent.origin.scope.iter().flat_map(|scope| scope.handles());
        for handle in scope {
            self.service.unregister(&handle, &agent.origin).await;
        }
    }
}

/// The string of a JSON value.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
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
        let (node, _running) = driver::start(node, journal, Clock::start(), Arc::default());
        let service = Service::new(node, Secrets::new(&[1; 32]));
        for name in ["ada", "Cleo", "Cleo 2"] {
            let guest = Agent::new(name, &service);
            let ask = json!({ "username": name, "room": "attic" });
            guest.call(Tool::Login, ask).await.unwrap();
        }
        let mut out = Vec::new();
        let mut demo = Demo::new(&service, &mut out, Duration::ZERO);
        demo.run().await.unwrap();
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
