//! The hostile client: a process that starts and pauses its attack on command.
//!
//! It reads `go` and `rest` from its standard input. After each word it prints the number of answers
//! that it received from the server since the word before.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::attack::{Attack, post};
use crate::Outcome;
use crate::wire::{Connection, Person, modern, request};

#[derive(Debug, clap::Args)]
pub(crate) struct AttackArgs {
    /// Address of the server
    address: SocketAddr,
    /// The attack
    attack: Attack,
    /// Number of connections
    connections: usize,
}

/// The attacker's address: a loopback address that no other client uses.
const FROM: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// The room of its participants.
const ROOM: &str = "pit";

/// The number of messages in the history.
const SAID: usize = 60;

/// State that all its connections share.
struct Hostile {
    server: SocketAddr,
    attack: Attack,
    answers: AtomicU64,
    goes: watch::Receiver<bool>,
    requests: Vec<Vec<u8>>,
}

#[expect(clippy::print_stdout, reason = "this is how it speaks")]
pub(crate) async fn run(args: &AttackArgs) -> Outcome<()> {
    let (go, goes) = watch::channel(false);
    let hostile = Arc::new(Hostile {
        server: args.address,
        attack: args.attack,
        answers: AtomicU64::new(0),
        goes,
        requests: args.attack.requests(),
    });
    let mut attacking = JoinSet::new();
    for n in 0..args.connections {
        let member = match args.attack.takes_part() {
            true => Some(Member::join(&hostile, n).await?),
            false => None,
        };
        attacking.spawn(Arc::clone(&hostile).attack(n, member));
    }
    println!("0");
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(word) = lines.next_line().await? {
        go.send_replace(word == "go");
        println!("{}", hostile.answers.swap(0, Ordering::Relaxed));
    }
    Ok(())
}

/// A participant of the hostile client.
#[derive(Clone)]
struct Member {
    name: String,
    person: Person,
}

impl Member {
    async fn join(hostile: &Hostile, n: usize) -> Outcome<Self> {
        let mut connection = hostile.connect().await?;
        let name = format!("hostile {n}");
        let person = connection.register(&name, ROOM).await?;
        let Person { handle, room, .. } = &person;
        if n == 0 && hostile.attack == Attack::LargeAnswers {
            let claim = json!({ "room_id": room });
            connection.post("/talking_stick", handle, &claim).await?;
            for _ in 0..SAID / 2 {
                let said = json!({ "room_id": room, "message": "x".repeat(4_000) });
                connection.post("/send", handle, &said).await?;
            }
        }
        Ok(Self { name, person })
    }
}

impl Hostile {
    async fn connect(&self) -> Outcome<Connection> {
        Connection::open_from(FROM, self.server).await
    }

    /// Waits until the attack is switched on.
    async fn may_go(&self) {
        // The sender lives as long as the process.
        let _ = self.goes.clone().wait_for(|goes| *goes).await;
    }

    async fn exchange(&self, connection: &mut Connection, request: &[u8]) -> Outcome<Vec<u8>> {
        self.may_go().await;
        let answer = connection.exchange(request).await?;
        self.answers.fetch_add(1, Ordering::Relaxed);
        Ok(answer.body)
    }

    /// Attacks until the process ends. Reconnects when a connection is closed.
    async fn attack(self: Arc<Self>, n: usize, member: Option<Member>) {
        loop {
            self.may_go().await;
            let done = match (self.attack, &member) {
                (Attack::SlowReaders, _) => self.read_slowly().await,
                (Attack::SlowBodies, _) => self.send_slowly().await,
                (Attack::WrongTokens, _) => self.guess(n).await,
                (Attack::Registrations, _) => self.register(n).await,
                (Attack::Connections, _) => self.connect_once().await,
                (Attack::Streams, Some(member)) => self.open_streams(member).await,
                (Attack::LargeAnswers, Some(member)) => self.read_much(member).await,
                (Attack::WaitingChecks, Some(member)) => {
                    self.come_and_go(member, ReceivesBy::Check).await
                }
                (Attack::Crowd, Some(member)) => self.come_and_go(member, ReceivesBy::Stream).await,
                _ => self.repeat().await,
            };
            // The result of an attack does not matter.
            drop(done);
            tokio::task::yield_now().await;
        }
    }

    async fn repeat(&self) -> Outcome<()> {
        let mut connection = self.connect().await?;
        loop {
            for request in &self.requests {
                self.exchange(&mut connection, request).await?;
            }
        }
    }

    async fn connect_once(&self) -> Outcome<()> {
        let mut connection = self.connect().await?;
        self.exchange(&mut connection, &self.requests[0]).await?;
        Ok(())
    }

    async fn read_slowly(&self) -> Outcome<()> {
        let mut connection = self.connect().await?;
        connection.trickle(&self.requests.concat()).await
    }

    async fn send_slowly(&self) -> Outcome<()> {
        let mut connection = self.connect().await?;
        let whole = json!({ "username": "x".repeat(15_000) });
        let whole = request("POST /register", &[], &whole);
        connection.dribble(&whole).await
    }

    async fn guess(&self, from: usize) -> Outcome<()> {
        let mut connection = self.connect().await?;
        for n in from.. {
            let token = format!("Bearer {n}");
            let line = ["GET /users", "GET /admin/overview"][n % 2];
            let guess = request(line, &[("Authorization", &token)], &Value::Null);
            self.exchange(&mut connection, &guess).await?;
        }
        Ok(())
    }

    async fn register(&self, n: usize) -> Outcome<()> {
        let mut connection = self.connect().await?;
        for round in 0.. {
            let who = json!({ "username": format!("guest {n} {round}"), "room": ROOM });
            let registered = request("POST /register", &[], &who);
            let answer = self.exchange(&mut connection, &registered).await?;
            let answer: Value = serde_json::from_slice(&answer)?;
            if let Some(handle) = answer["handle"].as_str() {
                let leaves = post("/unregister", handle, &json!({}));
                self.exchange(&mut connection, &leaves).await?;
            }
        }
        Ok(())
    }

    async fn open_streams(&self, member: &Member) -> Outcome<()> {
        self.may_go().await;
        let by_handle = [("Chat-Handle", &*member.person.handle)];
        let own = request("GET /events", &by_handle, &Value::Null);
        let reads = format!("GET /events?reader={}", member.person.reader);
        for request in [own, request(&reads, &[], &Value::Null)] {
            let opened = self.connect().await?.stream(&request).await;
            self.answers.fetch_add(1, Ordering::Relaxed);
            drop(opened);
        }
        Ok(())
    }

    async fn read_much(&self, member: &Member) -> Outcome<()> {
        let mut connection = self.connect().await?;
        let all = json!({ "room_id": member.person.room, "limit": 100 });
        let history = post("/tools/history", &member.person.handle, &all);
        let inbox = format!("chat://inbox/{}?after=0", member.person.reader);
        let inbox = modern("resources/read", &inbox, json!({ "uri": inbox }));
        loop {
            self.exchange(&mut connection, &history).await?;
            self.exchange(&mut connection, &inbox).await?;
        }
    }

    /// Joins and leaves the room, and receives the events of the other members.
    async fn come_and_go(&self, member: &Member, waits: ReceivesBy) -> Outcome<()> {
        let (mut comes, mut hears) = (self.connect().await?, self.connect().await?);
        let moves = async {
            let (joins, room) = (
                json!({ "username": member.name, "room": ROOM }),
                json!({ "room_id": member.person.room }),
            );
            let joins = post("/tools/login", &member.person.handle, &joins);
            let leaves = post("/tools/leave_chat", &member.person.handle, &room);
            let types = post("/tools/typing", &member.person.handle, &room);
            loop {
                for request in [&joins, &types, &leaves] {
                    self.exchange(&mut comes, request).await?;
                }
            }
        };
        let hearing = async {
            match waits {
                ReceivesBy::Check => {
                    let check = json!({ "wait_seconds": 50 });
                    let check = post("/tools/check", &member.person.handle, &check);
                    loop {
                        self.exchange(&mut hears, &check).await?;
                    }
                }
                ReceivesBy::Stream => {
                    let by_handle = [("Chat-Handle", &*member.person.handle)];
                    let opens = request("GET /events", &by_handle, &Value::Null);
                    let mut events = hears.stream(&opens).await?;
                    loop {
                        events.data().await?;
                        self.answers.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        };
        let ended: Outcome<()> = tokio::select! {
            moved = moves => moved,
            heard = hearing => heard,
        };
        ended
    }
}

/// The way in which a member receives events.
#[derive(Clone, Copy)]
enum ReceivesBy {
    Check,
    Stream,
}
