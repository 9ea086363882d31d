//! The hostile client: a process that starts and pauses its attack on command.
//!
//! It reads `go` and `rest` from its standard input. After each word it prints the number of answers
//! that it received from the server since the word before.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::ValueEnum as _;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::Outcome;
use crate::wire::{ACCEPT, Connection, Person, hello, modern, modern_call, request};

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
}

pub(crate) async fn run(args: &AttackArgs) -> Outcome<()> {
    let (go, goes) = watch::channel(false);
    let hostile = Arc::new(Hostile {
        server: args.address,
        attack: args.attack,
        answers: AtomicU64::new(0),
        goes,
    });
    // Those of connections without a participant are alike, and may be large.
    let alike: Arc<[Vec<u8>]> = args.attack.requests(None).into();
    let mut attacking = JoinSet::new();
    for n in 0..args.connections {
        let (member, requests) = match args.attack.takes_part() {
            true => {
                let member = Member::join(&hostile, n).await?;
                let own = args.attack.requests(Some(&member));
                (Some(member), own.into())
            }
            false => (None, Arc::clone(&alike)),
        };
        attacking.spawn(Arc::clone(&hostile).attack(n, member, requests));
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
            let claim = post("/talking_stick", handle, &claim);
            connection.accepted(&claim).await?;
            for _ in 0..SAID / 2 {
                let said = json!({ "room_id": room, "message": "x".repeat(4_000) });
                connection.accepted(&post("/send", handle, &said)).await?;
            }
        }
        Ok(Self { name, person })
    }

    fn calls(&self, tool: &str, arguments: &Value) -> Vec<u8> {
        post(&format!("/tools/{tool}"), &self.person.handle, arguments)
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
    async fn attack(self: Arc<Self>, n: usize, member: Option<Member>, requests: Arc<[Vec<u8>]>) {
        loop {
            self.may_go().await;
            // The result of an attack does not matter.
            let _ = self.attack_once(n, member.as_ref(), &requests).await;
            tokio::task::yield_now().await;
        }
    }

    /// Attacks on one connection until it is closed.
    async fn attack_once(
        &self,
        n: usize,
        member: Option<&Member>,
        requests: &[Vec<u8>],
    ) -> Outcome<()> {
        let mut connection = self.connect().await?;
        match (self.attack, member) {
            (Attack::SlowReaders, _) => connection.trickle(&requests.concat()).await,
            (Attack::SlowBodies, _) => connection.dribble(&requests[0]).await,
            (Attack::WrongTokens, _) => self.guess(connection, n).await,
            (Attack::Registrations, _) => self.register(connection, n).await,
            (Attack::Connections, _) => {
                self.exchange(&mut connection, &requests[0]).await?;
                Ok(())
            }
            (Attack::Streams, _) => {
                let opened = connection.stream(&requests[n % 2]).await;
                self.answers.fetch_add(1, Ordering::Relaxed);
                opened.map(drop)
            }
            (Attack::WaitingChecks, Some(member)) => {
                let checks = self.repeat(connection, requests);
                self.come_and_go(member, checks).await
            }
            (Attack::Crowd, Some(member)) => {
                let listens = self.listen(connection, &requests[0]);
                self.come_and_go(member, listens).await
            }
            _ => self.repeat(connection, requests).await,
        }
    }

    async fn repeat(&self, mut connection: Connection, requests: &[Vec<u8>]) -> Outcome<()> {
        loop {
            for request in requests {
                self.exchange(&mut connection, request).await?;
            }
        }
    }

    async fn guess(&self, mut connection: Connection, from: usize) -> Outcome<()> {
        for n in from.. {
            let token = format!("Bearer {n}");
            let line = ["GET /users", "GET /admin/overview"][n % 2];
            let guess = request(line, &[("Authorization", &token)], &Value::Null);
            self.exchange(&mut connection, &guess).await?;
        }
        Ok(())
    }

    async fn register(&self, mut connection: Connection, n: usize) -> Outcome<()> {
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

    async fn listen(&self, connection: Connection, opens: &[u8]) -> Outcome<()> {
        let mut events = connection.stream(opens).await?;
        loop {
            events.data().await?;
            self.answers.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Joins and leaves the room, while the member receives the events of the others.
    async fn come_and_go(
        &self,
        member: &Member,
        receives: impl Future<Output = Outcome<()>>,
    ) -> Outcome<()> {
        let room = json!({ "room_id": member.person.room });
        let moves = [
            member.calls("login", &json!({ "username": member.name, "room": ROOM })),
            member.calls("typing", &room),
            member.calls("leave_chat", &room),
        ];
        let connection = self.connect().await?;
        tokio::select! {
            moved = self.repeat(connection, &moves) => moved,
            received = receives => received,
        }
    }
}

/// The attacks, each repeated without pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Attack {
    /// Requests of the largest allowed size, and larger ones.
    LargeBodies,
    /// Small requests with the largest allowed number of values.
    ManyValues,
    /// Request bodies that never end.
    SlowBodies,
    /// Sessions that are never used.
    IdleSessions,
    /// Answers that are read one byte at a time.
    SlowReaders,
    /// Invalid tokens.
    WrongTokens,
    /// Small requests without a participant.
    SmallCalls,
    /// Connections for one request each.
    Connections,
    /// Participants that register and leave.
    Registrations,
    /// Streams that are opened and closed.
    Streams,
    /// Pages of history, and inboxes read as resources.
    LargeAnswers,
    /// Waiting checks in one room whose members join and leave without pause, so that each check wakes.
    WaitingChecks,
    /// Open streams in one room whose members join and leave without pause, so that each stream writes.
    Crowd,
}

/// A call over plain HTTP.
fn post(path: &str, handle: &str, body: &Value) -> Vec<u8> {
    request(&format!("POST {path}"), &[("Chat-Handle", handle)], body)
}

impl Attack {
    /// Its name on the command line.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value().expect("no attack is skipped");
        value.get_name().to_owned()
    }

    /// Whether the attack needs participants with handles.
    const fn takes_part(self) -> bool {
        matches!(
            self,
            Self::Streams | Self::LargeAnswers | Self::WaitingChecks | Self::Crowd
        )
    }

    /// The requests that a connection makes, of this participant if the attack needs one; none if each of them
    /// is another.
    fn requests(self, member: Option<&Member>) -> Vec<Vec<u8>> {
        let values = |count: usize| Value::Array(vec![json!([]); count]);
        let get = |path: &str| request(&format!("GET {path}"), &[], &Value::Null);
        match (self, member) {
            (Self::LargeBodies, _) => {
                let list = vec![json!({ "": [] }); 480];
                let largest = json!({ "x": list, "y": "x".repeat(110_000) });
                let experimental = |all: Value| hello(&json!({ "experimental": all }));
                vec![experimental(largest), experimental(values(300_000))]
            }
            (Self::ManyValues, _) => {
                // Each element counts as two of the values that a body may have. A body with more
                // would not be parsed.
                let wide = json!({ "handle": "h_nobody", "x": values(980) });
                vec![modern_call("check", wide)]
            }
            (Self::SlowBodies, _) => {
                let whole = json!({ "username": "x".repeat(15_000) });
                vec![request("POST /register", &[], &whole)]
            }
            (Self::IdleSessions, _) => vec![hello(&json!({ "experimental": {} }))],
            (Self::SlowReaders, _) => vec![get("/openapi.json").repeat(64)],
            (Self::SmallCalls, _) => {
                let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
                vec![
                    get("/users"),
                    get("/metrics"),
                    get("/overview"),
                    post("/send", "h_nobody", &json!({ "message": "x" })),
                    modern_call("check", json!({ "handle": "h_nobody" })),
                    request("POST /mcp", &[ACCEPT], &list),
                ]
            }
            (Self::Connections, _) => vec![get("/healthz")],
            (Self::Streams | Self::Crowd, Some(Member { person, .. })) => {
                let by_reader = get(&format!("/events?reader={}", person.reader));
                vec![person.listens(), by_reader]
            }
            (Self::LargeAnswers, Some(member)) => {
                let all = json!({ "room_id": member.person.room, "limit": 100 });
                let inbox = format!("chat://inbox/{}?after=0", member.person.reader);
                let inbox = modern("resources/read", &inbox, json!({ "uri": inbox }));
                vec![member.calls("history", &all), inbox]
            }
            (Self::WaitingChecks, Some(member)) => {
                vec![member.calls("check", &json!({ "wait_seconds": 50 }))]
            }
            _ => Vec::new(),
        }
    }
}
