//! The other clients, which send messages during the attack.

use std::net::SocketAddr;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::Outcome;
use crate::turns::{micros, says};
use crate::wire::{Connection, Person};

/// Clients in pairs, each of which sends at a given rate.
pub(super) struct OtherClients {
    all: Vec<OtherClient>,
    rate: u32,
}

struct OtherClient {
    connection: Connection,
    request: Vec<u8>,
}

impl OtherClients {
    /// Joins `count` clients, each pair in a room of its own, to send at `rate` per second.
    pub(super) async fn join(address: SocketAddr, count: usize, rate: u32) -> Outcome<Self> {
        let mut all = Vec::new();
        for n in 0..count / 2 {
            let (mut pair, mut room) = (Vec::new(), Value::Null);
            for side in ["a", "b"] {
                let mut connection = Connection::open(address).await?;
                // Only participants whose handles are in use are matched.
                let who = connection
                    .post("/tools/take_a_break", "", &json!({}))
                    .await?;
                let name = format!("other{n}{side}");
                let named = json!({ "handle": who["handle"], "display_name": name });
                let matched = connection.post("/tools/enter_queue", "", &named).await?;
                room = matched["room_id"].clone();
                pair.push((connection, who));
            }
            let room = room
                .as_str()
                .ok_or("two who wait are not paired")?
                .to_owned();
            for (connection, who) in pair {
                let mut speaker = Person::of(&who)?;
                speaker.room.clone_from(&room);
                let request = says(&speaker);
                all.push(OtherClient {
                    connection,
                    request,
                });
            }
        }
        Ok(Self { all, rate })
    }

    /// All clients send for this long. Returns the delays of their sends from when they were due,
    /// in microseconds.
    pub(super) async fn send(&mut self, span: Duration) -> Outcome<Histogram<u64>> {
        let mut sending = JoinSet::new();
        let count = u32::try_from(self.all.len())?.max(1);
        let each = Duration::from_secs(1) / self.rate;
        for (n, other) in (0..).zip(self.all.drain(..)) {
            // Starts are spread evenly, so that no two clients send at the same instant.
            let first = Instant::now() + each * n / count;
            sending.spawn(other.send(first, each, span));
        }
        let mut waits = Histogram::new(3)?;
        while let Some(sent) = sending.join_next().await {
            let (of_one, other) = sent??;
            waits.add(of_one)?;
            self.all.push(other);
        }
        Ok(waits)
    }
}

impl OtherClient {
    /// Sends at the rate, and returns the delay of each send from when it was due.
    async fn send(
        mut self,
        first: Instant,
        each: Duration,
        span: Duration,
    ) -> Outcome<(Histogram<u64>, Self)> {
        let mut waits = Histogram::new(3)?;
        let mut ticks = interval_at(first, each);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let ends = first + span;
        let mut answered = first;
        loop {
            let due = ticks.tick().await;
            if due >= ends {
                return Ok((waits, self));
            }
            // A timer can fire up to a millisecond late, which is not a delay of the server. If the
            // answer to the previous send was late, the server delayed this one.
            let began = if answered > due { due } else { Instant::now() };
            self.connection.accepted(&self.request).await?;
            answered = Instant::now();
            waits.record(micros(answered.duration_since(began)))?;
        }
    }
}
