//! Measures idle event streams: the cost of each, and the time until a message reaches all, with
//! some streams among them that are never read.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::Outcome;
use crate::server::Server;
use crate::wire::{Connection, Events, Person};

#[derive(Debug, clap::Args)]
pub(crate) struct StreamsArgs {
    /// Streams, each of its own participant
    #[arg(long, default_value_t = 5_000)]
    streams: usize,
    /// Participants of a room, one of whom sends
    #[arg(long, default_value_t = 50)]
    members: usize,
    /// Additional streams that are never read
    #[arg(long, default_value_t = 10)]
    slow: usize,
    /// Rounds, in each of which one participant of every room sends
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

pub(crate) async fn run(args: &StreamsArgs) -> Outcome<()> {
    let server = Server::start(&[]).await?;
    let mut connection = Connection::open(server.address).await?;
    let empty = server.resident_kib()?;
    let mut people = Vec::new();
    for n in 0..args.streams + args.slow {
        // Streams that are never read belong to members of the first rooms.
        let room = match n.checked_sub(args.streams) {
            None => n / args.members,
            Some(slow) => slow,
        };
        let (name, room) = (format!("agent {n}"), format!("room {room}"));
        people.push(connection.register(&name, &room).await?);
    }
    let registered = server.resident_kib()?;
    println!(
        "{} participants in {} rooms: {:.2} KiB each",
        people.len(),
        args.streams.div_ceil(args.members),
        per(registered - empty, people.len())
    );

    let (arrived, mut arrivals) = mpsc::unbounded_channel();
    let mut unread = Vec::new();
    for (n, person) in people.iter().enumerate() {
        let connection = Connection::open(server.address).await?;
        let stream = connection.stream(&person.listens()).await?;
        if n < args.streams {
            tokio::spawn(listen(stream, arrived.clone()));
        } else {
            unread.push(stream);
        }
    }
    let open = server.resident_kib()?;
    println!(
        "{} open streams: {:.2} KiB each, {} MiB in all",
        people.len(),
        per(open.saturating_sub(registered), people.len()),
        open / 1_024
    );

    speak(args, (&mut connection, &people), &mut arrivals).await?;
    println!("{} MiB in the end", server.resident_kib()? / 1_024);
    drop(unread);
    Ok(())
}

/// In each round one participant of each room sends, and all others receive it.
async fn speak(
    args: &StreamsArgs,
    (connection, people): (&mut Connection, &[Person]),
    arrivals: &mut mpsc::UnboundedReceiver<u64>,
) -> Outcome<()> {
    for round in 1..=args.rounds {
        let began = Instant::now();
        let speakers = people[..args.streams].iter().step_by(args.members);
        let mut owed = args.streams;
        for speaker in speakers {
            let said = speaker.posts("POST /send", &format!("round {round}"));
            connection.accepted(&said).await?;
            owed -= 1;
        }
        let sent = began.elapsed();
        let all = async {
            for _ in 0..owed {
                let heard: Option<u64> = arrivals.recv().await;
                if heard != Some(round as u64) {
                    return Err(format!("round {round}: {heard:?} came").into());
                }
            }
            Outcome::Ok(())
        };
        tokio::time::timeout(Duration::from_secs(60), all)
            .await
            .map_err(|_| "not every stream got the message")??;
        println!(
            "round {round}: {owed} streams had the message {:.0} ms after the first send ({:.0} ms to send)",
            began.elapsed().as_secs_f64() * 1_000.0,
            sent.as_secs_f64() * 1_000.0
        );
    }
    Ok(())
}

fn per(kib: u64, count: usize) -> f64 {
    kib as f64 / count as f64
}

/// Reports the round of each message that arrives.
async fn listen(mut events: Events, arrived: mpsc::UnboundedSender<u64>) -> Outcome<()> {
    loop {
        if let Some(round) = events.message().await?.strip_prefix("round ") {
            arrived.send(round.parse()?)?;
        }
    }
}
