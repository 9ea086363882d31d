//! Loads that take turns, so that what else runs on the machine affects all of them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use benches::commands::LENGTH;

use crate::server::{Server, processor_seconds};
use crate::wire::{Connection, Person, modern_call};
use crate::{Outcome, median};

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

/// A load, and what was measured of it.
pub(crate) struct Load {
    pub(crate) name: &'static str,
    /// The address and the request of each connection.
    pub(crate) requests: Vec<(SocketAddr, Vec<u8>)>,
    /// Answers per second at full speed, one for each round.
    pub(crate) rates: Vec<f64>,
    /// Waits at full speed, at most of it, and when it is quiet, in microseconds.
    pub(crate) waits: [Histogram<u64>; 3],
    /// The processes that serve it, by what they are, if their processor time is measured.
    pub(crate) processes: Vec<(&'static str, u32)>,
    /// Processor time for an answer at full speed, in microseconds, one for each round.
    pub(crate) costs: BTreeMap<&'static str, Vec<f64>>,
}

/// The sends per second of the quiet load.
pub(crate) const QUIET: f64 = 50.0;

impl Load {
    pub(crate) fn new(name: &'static str, requests: Vec<(SocketAddr, Vec<u8>)>) -> Outcome<Self> {
        Ok(Self {
            name,
            requests,
            rates: Vec::new(),
            waits: [Histogram::new(3)?, Histogram::new(3)?, Histogram::new(3)?],
            processes: Vec::new(),
            costs: BTreeMap::new(),
        })
    }

    /// The processor time so far, in seconds.
    fn processor(&self) -> Outcome<BTreeMap<&'static str, f64>> {
        let mut sums = BTreeMap::new();
        for (what, id) in &self.processes {
            *sums.entry(*what).or_default() += processor_seconds(*id)?;
        }
        Ok(sums)
    }

    /// Sends at full speed on all connections.
    pub(crate) async fn saturate(&mut self, span: Duration) -> Outcome<()> {
        let before = self.processor()?;
        let senders = open(&self.requests).await?.into_iter();
        let began = Instant::now();
        let tasks = senders.map(|mut sender| {
            tokio::spawn(async move {
                let mut waits = Vec::new();
                while began.elapsed() < span {
                    waits.push(sender.send(Instant::now()).await?);
                }
                Outcome::Ok(waits)
            })
        });
        let tasks: Vec<_> = tasks.collect();
        let mut answers = 0_u32;
        for task in tasks {
            for wait in task.await?? {
                self.waits[0].record(wait)?;
                answers += 1;
            }
        }
        let rate = f64::from(answers) / began.elapsed().as_secs_f64();
        self.rates.push(rate);
        let (round, name) = (self.rates.len(), self.name);
        println!("round {round}  {name:<28} {rate:>9.0} requests/s");
        for (what, seconds) in self.processor()? {
            let cost = (seconds - before[what]) * 1_000_000.0 / f64::from(answers);
            self.costs.entry(what).or_default().push(cost);
        }
        Ok(())
    }

    /// Sends at 80 % of the rate that it has reached.
    pub(crate) async fn pace(&mut self, span: Duration) -> Outcome<()> {
        let senders = open(&self.requests).await?;
        pace(senders, self.rate() * 0.8, span, &mut self.waits[1]).await?;
        Ok(())
    }

    /// Sends on one connection, so seldom that nothing waits.
    pub(crate) async fn quiet(&mut self, span: Duration) -> Outcome<()> {
        let alone = open(&self.requests[..1]).await?;
        pace(alone, QUIET, span, &mut self.waits[2]).await?;
        Ok(())
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

/// A connection, and its requests.
pub(crate) struct Sender {
    connection: Connection,
    /// Makes the request that is due at an instant.
    request: Box<dyn Fn(Instant) -> Arc<[u8]> + Send>,
    /// The time of the last answer.
    answered: Instant,
}

impl Sender {
    pub(crate) fn new(
        connection: Connection,
        request: impl Fn(Instant) -> Arc<[u8]> + Send + 'static,
    ) -> Self {
        Self {
            connection,
            request: Box::new(request),
            answered: Instant::now(),
        }
    }

    /// Sends, and returns the wait for the answer in microseconds.
    pub(crate) async fn send(&mut self, due: Instant) -> Outcome<u64> {
        // A late timer is no delay of the server. If the answer to the previous send was late, the server
        // delayed this one.
        let began = if self.answered > due {
            due
        } else {
            Instant::now()
        };
        self.connection.accepted(&(self.request)(due)).await?;
        self.answered = Instant::now();
        Ok(micros(self.answered - began))
    }
}

/// Opens a connection for each of these requests, which it repeats.
pub(crate) async fn open(requests: &[(SocketAddr, Vec<u8>)]) -> Outcome<Vec<Sender>> {
    let mut senders = Vec::new();
    for (address, request) in requests {
        let connection = Connection::open(*address).await?;
        let request: Arc<[u8]> = request.as_slice().into();
        senders.push(Sender::new(connection, move |_| Arc::clone(&request)));
    }
    Ok(senders)
}

/// Sends at a steady rate, over these connections in turns, and returns them. A wait counts from the planned
/// time if the answer before it was late, else from when it was sent.
pub(crate) async fn pace(
    senders: Vec<Sender>,
    rate: f64,
    span: Duration,
    waits: &mut Histogram<u64>,
) -> Outcome<Vec<Sender>> {
    let (mut dues, mut tasks) = (Vec::new(), Vec::new());
    for mut sender in senders {
        let (due, mut planned) = unbounded_channel::<Instant>();
        dues.push(due);
        tasks.push(tokio::spawn(async move {
            let mut waits = Vec::new();
            while let Some(due) = planned.recv().await {
                waits.push(sender.send(due).await?);
            }
            Outcome::Ok((sender, waits))
        }));
    }
    let planner = plan(dues, rate, span);
    let mut senders = Vec::new();
    for task in tasks {
        let (sender, all) = task.await??;
        for wait in all {
            waits.record(wait)?;
        }
        senders.push(sender);
    }
    planner.join().map_err(|_| "the planner panicked")?;
    Ok(senders)
}

/// Tells each of these senders in turns when to send, at a steady rate.
///
/// A separate thread, because a runtime's timers have a resolution of a millisecond.
fn plan(senders: Vec<UnboundedSender<Instant>>, rate: f64, span: Duration) -> JoinHandle<()> {
    thread::spawn(move || {
        let start = Instant::now() + Duration::from_millis(20);
        let (mut due, mut sends) = (start, 0_u32);
        for sender in senders.iter().cycle() {
            if due >= start + span {
                break;
            }
            thread::sleep(due.saturating_duration_since(Instant::now()));
            // The load learns that a sender has ended when it waits for the sender's end.
            let _ = sender.send(due);
            sends += 1;
            due = start + Duration::from_secs_f64(f64::from(sends) / rate);
        }
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
    modern_call("send_message", speaker.arguments(&"x".repeat(LENGTH)))
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
