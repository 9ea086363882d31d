//! The other clients, which send messages during the attack.

use std::net::SocketAddr;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::Outcome;
use crate::wire::{Connection, modern_call};

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
            let mut pair = Vec::new();
            for side in ["a", "b"] {
                let mut connection = Connection::open(address).await?;
                // Only participants whose handles are in use are matched.
                let who = connection
                    .post("/tools/take_a_break", "", &json!({}))
                    .await?;
                let named =
                    json!({ "handle": who["handle"], "display_name": format!("other{n}{side}") });
                let mut answer = connection.post("/tools/enter_queue", "", &named).await?;
                answer["handle"] = who["handle"].clone();
                pair.push((connection, answer));
            }
            let room = pair[1].1["room_id"].clone();
            if !room.is_string() {
                return Err("two who wait are not paired".into());
            }
            for (connection, answer) in pair {
                let arguments = json!({
                    "handle": answer["handle"], "room_id": room, "message": "x".repeat(154)
                });
                all.push(OtherClient {
                    connection,
                    request: modern_call("send_message", arguments),
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
            let answer = self.connection.exchange(&self.request).await?;
            if answer.status != 200 || answer.is_tool_error() {
                let text = String::from_utf8_lossy(&answer.body).into_owned();
                return Err(format!("a send was answered with {}: {text}", answer.status).into());
            }
            answered = Instant::now();
            let wait = answered.duration_since(began);
            waits.record(u64::try_from(wait.as_micros())?)?;
        }
    }
}
