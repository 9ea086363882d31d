//! Measures the delay from a send to its arrival at the partner, at a steady rate.
//!
//! The load is an open loop: sends start at planned times, whatever the server does, and delays
//! count from then. A second figure counts from when the request was written, and so shows this
//! program's own delay.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::Outcome;
use crate::server::Server;
use crate::wire::{Connection, Events, request};

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

/// Delays of arrivals, in microseconds: from the planned time, and from when the request was
/// written.
struct Delays {
    planned: Histogram<u64>,
    written: Histogram<u64>,
}

#[expect(clippy::print_stdout, reason = "this is where the program speaks")]
pub(crate) async fn run(args: &RelayArgs) -> Outcome<()> {
    for (name, transport) in [
        ("HTTP and SSE", Transport::Http),
        ("MCP, 2025-11-25", Transport::Mcp),
    ] {
        let delays = measure(args, transport).await?;
        let ms = |delays: &Histogram<u64>, share| delays.value_at_quantile(share) as f64 / 1_000.0;
        println!(
            "{name}: {} messages at {}/s",
            delays.planned.len(),
            args.rate
        );
        for (from, delays) in [("planned", &delays.planned), ("written", &delays.written)] {
            println!(
                "  from {from}  p50 {:.3} ms  p90 {:.3}  p99 {:.3}  p99.9 {:.3}  max {:.3}",
                ms(delays, 0.5),
                ms(delays, 0.9),
                ms(delays, 0.99),
                ms(delays, 0.999),
                ms(delays, 1.0)
            );
        }
    }
    Ok(())
}

async fn measure(args: &RelayArgs, transport: Transport) -> Outcome<Delays> {
    let server = Server::start().await?;
    let began = Instant::now();
    let delays = Arc::new(Mutex::new(Delays {
        planned: Histogram::new(3)?,
        written: Histogram::new(3)?,
    }));
    let (arrived, mut arrivals) = mpsc::unbounded_channel();
    let mut speakers = Vec::new();
    for n in 0..args.pairs {
        let (speaker, listener) = pair(server.address, transport, n).await?;
        speakers.push(speak(speaker, began));
        tokio::spawn(listen(
            listener,
            began,
            Arc::clone(&delays),
            arrived.clone(),
        ));
    }
    let (rate, sends) = (args.rate, args.rate * args.seconds);
    // A separate thread, because a runtime's timers have a resolution of a millisecond.
    thread::spawn(move || {
        let start = began.elapsed() + Duration::from_millis(200);
        for n in 0..sends {
            let due = start + Duration::from_secs(1) * n / rate;
            if let Some(wait) = due.checked_sub(began.elapsed()) {
                thread::sleep(wait);
            }
            let speaker = &speakers[n as usize % speakers.len()];
            // A sender that has ended is noticed below.
            let _ = speaker.send(due);
        }
    });
    let all = async {
        for _ in 0..sends {
            arrivals.recv().await.ok_or("every listener has ended")?;
        }
        Outcome::Ok(())
    };
    let within = Duration::from_secs(u64::from(args.seconds) + 30);
    tokio::time::timeout(within, all)
        .await
        .map_err(|_| "not every message arrived")??;
    let delays = delays.lock().map_err(|_| "a listener panicked")?;
    Ok(Delays {
        planned: delays.planned.clone(),
        written: delays.written.clone(),
    })
}

/// A sender: its connection, and its request for each message.
struct Speaker {
    connection: Connection,
    transport: Transport,
    session: String,
    handle: String,
    room: Value,
}

/// Two participants in a room: a sender, and a listener with an open stream.
async fn pair(address: SocketAddr, transport: Transport, n: u32) -> Outcome<(Speaker, Events)> {
    let room = format!("room {n}");
    let mut both = Vec::new();
    for name in ["speaker", "listener"] {
        let mut connection = Connection::open(address).await?;
        let username = format!("{name} {n}");
        let (session, answer) = match transport {
            Transport::Http => {
                let body = json!({ "username": username, "room": room });
                (
                    String::new(),
                    connection.post("/register", "", &body).await?,
                )
            }
            Transport::Mcp => {
                let session = initialize(&mut connection).await?;
                let arguments = json!({ "username": username, "room": room });
                let call = call(&session, "login", &arguments);
                let answer = connection.exchange(&call).await?.json()?;
                (session, answer["result"]["structuredContent"].clone())
            }
        };
        let handle = answer["handle"].as_str().ok_or("no handle")?.to_owned();
        both.push(Speaker {
            connection,
            transport,
            session,
            handle,
            room: answer["room_id"].clone(),
        });
    }
    let listener = both.pop().ok_or("two were made")?;
    let open = match transport {
        Transport::Http => request(
            "GET /events",
            &[("Chat-Handle", &listener.handle)],
            &Value::Null,
        ),
        Transport::Mcp => {
            let headers = [
                ("Accept", "text/event-stream"),
                ("Mcp-Session-Id", &*listener.session),
                ("MCP-Protocol-Version", "2025-11-25"),
            ];
            request("GET /mcp", &headers, &Value::Null)
        }
    };
    let stream = Connection::open(address).await?.stream(&open).await?;
    Ok((both.pop().ok_or("two were made")?, stream))
}

async fn initialize(connection: &mut Connection) -> Outcome<String> {
    let accept = ("Accept", "application/json, text/event-stream");
    let hello = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "load", "version": "1" }
        }
    });
    let answer = connection
        .exchange(&request("POST /mcp", &[accept], &hello))
        .await?;
    let session = answer.session.ok_or("no session")?;
    let headers = [accept, ("Mcp-Session-Id", &*session)];
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    connection
        .exchange(&request("POST /mcp", &headers, &ready))
        .await?;
    Ok(session)
}

fn call(session: &str, tool: &str, arguments: &Value) -> Vec<u8> {
    let headers = [
        ("Accept", "application/json, text/event-stream"),
        ("Mcp-Session-Id", session),
        ("MCP-Protocol-Version", "2025-11-25"),
    ];
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments }
    });
    request("POST /mcp", &headers, &body)
}

/// Sends a message at each received time. The message contains its planned and its actual time.
fn speak(mut speaker: Speaker, began: Instant) -> mpsc::UnboundedSender<Duration> {
    let (due, mut dues) = mpsc::unbounded_channel::<Duration>();
    tokio::spawn(async move {
        while let Some(due) = dues.recv().await {
            let (due, now) = (due.as_micros(), began.elapsed().as_micros());
            let message = format!("{due} {now}");
            let request = match speaker.transport {
                Transport::Http => {
                    let body = json!({ "message": message, "room_id": speaker.room });
                    request("POST /send", &[("Chat-Handle", &speaker.handle)], &body)
                }
                Transport::Mcp => {
                    let arguments = json!({
                        "handle": speaker.handle, "message": message, "room_id": speaker.room
                    });
                    call(&speaker.session, "send_message", &arguments)
                }
            };
            speaker.connection.exchange(&request).await?.json()?;
        }
        Outcome::Ok(())
    });
    due
}

/// Records the delay of every message that arrives.
async fn listen(
    mut events: Events,
    began: Instant,
    delays: Arc<Mutex<Delays>>,
    arrived: mpsc::UnboundedSender<()>,
) -> Outcome<()> {
    loop {
        let data = events.data().await?;
        let now = began.elapsed().as_micros();
        let Some((_, message)) = data.split_once("\"message\":\"") else {
            continue;
        };
        let mut times = message.split(['"', ' ']).map(str::parse::<u128>);
        let (Some(Ok(due)), Some(Ok(written))) = (times.next(), times.next()) else {
            continue;
        };
        let since = |then: u128| u64::try_from(now.saturating_sub(then)).unwrap_or(u64::MAX);
        if let Ok(mut delays) = delays.lock() {
            delays.planned.record(since(due))?;
            delays.written.record(since(written))?;
        }
        arrived.send(())?;
    }
}
