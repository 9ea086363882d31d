//! Loads that take turns, so that what else runs on the machine affects all of them.

use std::net::SocketAddr;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::Outcome;
use crate::server::Server;
use crate::wire::{Connection, Person, modern_call};

/// How often, and for how long.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Turns {
    /// Duration of each load in a round, in seconds
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Rounds, in each of which every load has its turn
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: usize,
}

impl Turns {
    pub(crate) const fn span(self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

/// The length of messages: the usual `append` of a model.
pub(crate) const LENGTH: usize = 154;

/// A load, and what was measured of it.
pub(crate) struct Load {
    pub(crate) name: &'static str,
    /// The address and the request of each connection.
    pub(crate) requests: Vec<(SocketAddr, Vec<u8>)>,
    /// Answers per second at full speed, one for each round.
    pub(crate) rates: Vec<f64>,
    /// Waits at full speed, in microseconds.
    pub(crate) waits: Histogram<u64>,
}

impl Load {
    pub(crate) fn new(name: &'static str, requests: Vec<(SocketAddr, Vec<u8>)>) -> Outcome<Self> {
        Ok(Self {
            name,
            requests,
            rates: Vec::new(),
            waits: Histogram::new(3)?,
        })
    }

    /// Sends at full speed on all connections, and returns the number of answers.
    #[expect(clippy::print_stdout, reason = "this is where the program speaks")]
    pub(crate) async fn saturate(&mut self, span: Duration) -> Outcome<u32> {
        let (mut tasks, began) = (Vec::new(), Instant::now());
        for (address, request) in &self.requests {
            let mut connection = Connection::open(*address).await?;
            let request = request.clone();
            tasks.push(tokio::spawn(async move {
                let mut waits = Vec::new();
                while began.elapsed() < span {
                    let sent = Instant::now();
                    connection.accepted(&request).await?;
                    waits.push(micros(sent.elapsed()));
                }
                Outcome::Ok(waits)
            }));
        }
        let mut answers = 0;
        for task in tasks {
            for wait in task.await?? {
                self.waits.record(wait)?;
                answers += 1;
            }
        }
        let rate = f64::from(answers) / began.elapsed().as_secs_f64();
        self.rates.push(rate);
        let (round, name) = (self.rates.len(), self.name);
        println!("round {round}  {name:<28} {rate:>9.0} requests/s");
        Ok(answers)
    }

    /// The median of the answers per second.
    pub(crate) fn rate(&self) -> f64 {
        median(self.rates.clone())
    }

    /// The median of the rounds' rates, in percent of those of another load.
    pub(crate) fn percent_of(&self, other: &Self) -> f64 {
        let both = self.rates.iter().zip(&other.rates);
        median(both.map(|(a, b)| a / b * 100.0).collect())
    }
}

/// Sends at a steady rate, over the connections of these requests in turns. Waits count from the planned times.
pub(crate) async fn pace(
    requests: &[(SocketAddr, Vec<u8>)],
    rate: f64,
    span: Duration,
    waits: &mut Histogram<u64>,
) -> Outcome<()> {
    let (mut dues, mut tasks) = (Vec::new(), Vec::new());
    for (address, request) in requests {
        let mut connection = Connection::open(*address).await?;
        let (due, mut planned) = unbounded_channel::<Instant>();
        let request = request.clone();
        dues.push(due);
        tasks.push(tokio::spawn(async move {
            let mut waits = Vec::new();
            while let Some(due) = planned.recv().await {
                connection.accepted(&request).await?;
                waits.push(micros(due.elapsed()));
            }
            Outcome::Ok(waits)
        }));
    }
    let planner = plan(dues, rate, span);
    for task in tasks {
        for wait in task.await?? {
            waits.record(wait)?;
        }
    }
    planner.join().map_err(|_| "the planner panicked")?;
    Ok(())
}

/// Tells each of these senders in turns when to send, at a steady rate. Returns how often it did.
///
/// A separate thread, because a runtime's timers have a resolution of a millisecond.
pub(crate) fn plan(
    senders: Vec<UnboundedSender<Instant>>,
    rate: f64,
    span: Duration,
) -> JoinHandle<u32> {
    thread::spawn(move || {
        let start = Instant::now() + Duration::from_millis(20);
        let (mut due, mut sends) = (start, 0);
        for sender in senders.iter().cycle() {
            if due >= start + span {
                break;
            }
            thread::sleep(due.saturating_duration_since(Instant::now()));
            // A sender that has ended is noticed by whoever waits for it.
            let _ = sender.send(due);
            sends += 1;
            due = start + Duration::from_secs_f64(f64::from(sends) / rate);
        }
        sends
    })
}

/// This many participants, two in each room.
pub(crate) async fn speakers(server: &Server, number: usize) -> Outcome<Vec<Person>> {
    let mut connection = Connection::open(server.address).await?;
    let mut speakers = Vec::new();
    for n in 0..number {
        let (name, room) = (format!("agent {n}"), format!("room {}", n / 2));
        speakers.push(connection.register(&name, &room).await?);
    }
    Ok(speakers)
}

/// A `send_message` for each connection. The senders sit in rooms of two, and have no streams.
pub(crate) async fn senders(
    server: &Server,
    connections: usize,
) -> Outcome<Vec<(SocketAddr, Vec<u8>)>> {
    let speakers = speakers(server, connections).await?.into_iter();
    let requests = speakers.map(|speaker| (server.address, says(&speaker)));
    Ok(requests.collect())
}

/// A `send_message` of this participant.
pub(crate) fn says(speaker: &Person) -> Vec<u8> {
    let (text, Person { handle, room, .. }) = ("x".repeat(LENGTH), speaker);
    let arguments = json!({ "handle": handle, "message": text, "room_id": room });
    modern_call("send_message", arguments)
}

/// The median and the 99th percentile, in milliseconds.
pub(crate) fn both(waits: &Histogram<u64>) -> String {
    format!("{:.2}, {:.2} ms", ms(waits, 0.5), ms(waits, 0.99))
}

/// A quantile in milliseconds.
pub(crate) fn ms(waits: &Histogram<u64>, quantile: f64) -> f64 {
    waits.value_at_quantile(quantile) as f64 / 1_000.0
}

pub(crate) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// The median, or the mean of the two in the middle; not a number if there is none.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let at = |place: usize| figures.get(place).copied().unwrap_or(f64::NAN);
    f64::midpoint(
        at(figures.len().saturating_sub(1) / 2),
        at(figures.len() / 2),
    )
}
