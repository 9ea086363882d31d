//! Measures the delay from a send to its arrival at the partner, over HTTP and at a steady rate.
//!
//! The load is an open loop: sends start at planned times, whatever the server does, and delays
//! count from then. A second figure counts from when the request was written, and so shows this
//! program's own delay.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::Outcome;
use crate::server::Server;
use crate::turns::{Sender, ms, pace};
use crate::wire::{Connection, Events};

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

/// The delays of an arrival, in microseconds: from the planned time, and from when the request was
/// written.
type Delays = [u64; 2];

pub(crate) async fn run(args: &RelayArgs) -> Outcome<()> {
    let [planned, written] = measure(args).await?;
    println!("{} messages at {}/s", planned.len(), args.rate);
    for (from, delays) in [("planned", planned), ("written", written)] {
        let [p50, p90, p99, p999, max] =
            [0.5, 0.9, 0.99, 0.999, 1.0].map(|quantile| ms(&delays, quantile));
        println!(
            "  from {from}  p50 {p50:.3} ms  p90 {p90:.3}  p99 {p99:.3}  p99.9 {p999:.3}  max {max:.3}"
        );
    }
    Ok(())
}

async fn measure(args: &RelayArgs) -> Outcome<[Histogram<u64>; 2]> {
    let server = Server::start(&[]).await?;
    let began = Instant::now();
    let mut delays = [Histogram::new(3)?, Histogram::new(3)?];
    let (arrived, mut arrivals) = unbounded_channel();
    let mut speakers = Vec::new();
    for n in 0..args.pairs {
        let room = format!("room {n}");
        let mut connection = Connection::open(server.address).await?;
        let speaker = connection.register(&format!("speaker {n}"), &room).await?;
        let listener = connection.register(&format!("listener {n}"), &room).await?;
        let stream = Connection::open(server.address).await?;
        let stream = stream.stream(&listener.listens()).await?;
        // A message contains its planned and its actual time.
        let request = move |due: Instant| {
            let (due, now) = ((due - began).as_micros(), began.elapsed().as_micros());
            speaker.posts("POST /send", &format!("{due} {now}")).into()
        };
        speakers.push(Sender::new(connection, request));
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
