//! Measures the delay from a send to its arrival at the partner, at a steady rate.
//!
//! The load is an open loop: sends start at planned times, whatever the server does, and delays
//! count from then. A second figure counts from when the request was written, and so shows this
//! program's own delay.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::Outcome;
use crate::server::Server;
use crate::turns::{Sender, ms, pace};
use crate::wire::{ACCEPT, Connection, Events, Person, hello, request};

#[derive(Debug, clap::Args)]
pub(crate) struct RelayArgs {
    /// Sends per second, over all pairs
    #[arg(long, default_value_t = 1_000)]
    rate: u32,
    /// Pairs, in each of which one sends and one listens
    #[arg(long, default_value_t = 50)]
    pairs: u32,
    /// Duration in seconds
    #[arg(long, default_value_t = 10)]
    seconds: u32,
}

/// The transport of messages.
#[derive(Clone, Copy, Debug)]
enum Transport {
    /// `POST /send`, and `GET /events`.
    Http,
    /// `send_message` in a session, and the stream of another session.
    Mcp,
}

/// The delays of an arrival, in microseconds: from the planned time, and from when the request was
/// written.
type Delays = [u64; 2];

pub(crate) async fn run(args: &RelayArgs) -> Outcome<()> {
    for (name, transport) in [
        ("HTTP and SSE", Transport::Http),
        ("MCP, 2025-11-25", Transport::Mcp),
    ] {
        let [planned, written] = measure(args, transport).await?;
        println!("{name}: {} messages at {}/s", planned.len(), args.rate);
        for (from, delays) in [("planned", planned), ("written", written)] {
            let [p50, p90, p99, p999, max] =
                [0.5, 0.9, 0.99, 0.999, 1.0].map(|quantile| ms(&delays, quantile));
            println!(
                "  from {from}  p50 {p50:.3} ms  p90 {p90:.3}  p99 {p99:.3}  p99.9 {p999:.3}  max {max:.3}"
            );
        }
    }
    Ok(())
}

async fn measure(args: &RelayArgs, transport: Transport) -> Outcome<[Histogram<u64>; 2]> {
    let server = Server::start(&[]).await?;
    let began = Instant::now();
    let mut delays = [Histogram::new(3)?, Histogram::new(3)?];
    let (arrived, mut arrivals) = unbounded_channel();
    let mut speakers = Vec::new();
    for n in 0..args.pairs {
        let room = format!("room {n}");
        let speaker = join(server.address, transport, &format!("speaker {n}"), &room).await?;
        let listener = join(server.address, transport, &format!("listener {n}"), &room).await?;
        let stream = Connection::open(server.address).await?;
        let stream = stream.stream(&listener.listens).await?;
        // A message contains its planned and its actual time.
        let request = move |due: Instant| {
            let (due, now) = ((due - began).as_micros(), began.elapsed().as_micros());
            (speaker.says)(format!("{due} {now}")).into()
        };
        speakers.push(Sender::new(speaker.connection, request));
        tokio::spawn(listen(stream, began, arrived.clone()));
    }
    let span = Duration::from_secs(u64::from(args.seconds));
    let mut waits = Histogram::new(3)?;
    pace(speakers, f64::from(args.rate), span, &mut waits).await?;
    let all = async {
        for _ in 0..waits.len() {
            let arrival: Delays = arrivals.recv().await.ok_or("every listener has ended")?;
            for (all, delay) in delays.iter_mut().zip(arrival) {
                all.record(delay)?;
            }
        }
        Outcome::Ok(())
    };
    tokio::time::timeout(Duration::from_secs(30), all)
        .await
        .map_err(|_| "not every message arrived")??;
    Ok(delays)
}

/// A participant: its connection, the request that opens its stream, and how it makes one of a message.
struct Participant {
    connection: Connection,
    listens: Vec<u8>,
    says: Box<dyn Fn(String) -> Vec<u8> + Send>,
}

/// A participant of this room.
async fn join(
    address: SocketAddr,
    transport: Transport,
    name: &str,
    room: &str,
) -> Outcome<Participant> {
    let mut connection = Connection::open(address).await?;
    Ok(match transport {
        Transport::Http => {
            let person = connection.register(name, room).await?;
            Participant {
                connection,
                listens: person.listens(),
                says: Box::new(move |message| person.posts("POST /send", &message)),
            }
        }
        Transport::Mcp => {
            let session = initialize(&mut connection).await?;
            let arguments = json!({ "username": name, "room": room });
            let login = call(&session, "login", &arguments);
            let answer = connection.exchange(&login).await?.json()?;
            let person = Person::of(&answer["result"]["structuredContent"])?;
            let headers = in_session(("Accept", "text/event-stream"), &session);
            Participant {
                connection,
                listens: request("GET /mcp", &headers, &Value::Null),
                says: Box::new(move |message| {
                    call(&session, "send_message", &person.arguments(&message))
                }),
            }
        }
    })
}

async fn initialize(connection: &mut Connection) -> Outcome<String> {
    let events = json!({ "experimental": { "org.talking-stick/events": {} } });
    let answer = connection.exchange(&hello(&events)).await?;
    let session = answer.session.ok_or("no session")?;
    let headers = [ACCEPT, ("Mcp-Session-Id", &*session)];
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    connection
        .exchange(&request("POST /mcp", &headers, &ready))
        .await?;
    Ok(session)
}

fn in_session<'a>(accept: (&'a str, &'a str), session: &'a str) -> [(&'a str, &'a str); 3] {
    let version = ("MCP-Protocol-Version", "2025-11-25");
    [accept, ("Mcp-Session-Id", session), version]
}

fn call(session: &str, tool: &str, arguments: &Value) -> Vec<u8> {
    let params = json!({ "name": tool, "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    request("POST /mcp", &in_session(ACCEPT, session), &body)
}

/// Reports the delays of every message that arrives.
async fn listen(
    mut events: Events,
    began: Instant,
    arrived: UnboundedSender<Delays>,
) -> Outcome<()> {
    loop {
        let message = events.message().await?;
        let now = began.elapsed().as_micros();
        let times = message.split(' ').map_while(|time| time.parse().ok());
        let [due, written] = times.collect::<Vec<u128>>()[..] else {
            continue;
        };
        let since = |then: u128| u64::try_from(now.saturating_sub(then)).unwrap_or(u64::MAX);
        arrived.send([since(due), since(written)])?;
    }
}
