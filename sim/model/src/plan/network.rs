//! The network's treatment of packets, and the clients' addresses. And the defaults of all of a plan's
//! surroundings.

use std::sync::Arc;

use chat_types::Span;

use super::{Capacity, Client};
use crate::draw::{Quantiles, Ratio, Shape};

/// The network's treatment of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It arrives after this time.
    After(Span),
    /// It never arrives.
    Lost,
}

/// The network's random behaviour.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The latency of each packet in each direction, in microseconds.
    pub latency: Arc<Quantiles>,
    /// The share of requests and replies that are lost.
    pub loss: Ratio,
    /// The share of requests that are duplicated.
    pub duplicate: Ratio,
    /// The share of pushes at which the stream breaks instead.
    pub stream_break: Ratio,
    /// The number of addresses that the clients share: each comes back from the next one after a
    /// disconnection. Without a number, each client has its own.
    pub addresses: Option<u32>,
}

impl Network {
    /// The address that a client calls from, by the numbers of its agent and of its disconnections.
    #[must_use]
    pub fn address_of(&self, agent: u32, moves: u32) -> u64 {
        let shared = self
            .addresses
            .and_then(|addresses| agent.wrapping_add(moves).checked_rem(addresses));
        u64::from(shared.unwrap_or(agent))
    }
}

/// The times of a small machine with a local disk. Snapshots keep the journal small in runs of any
/// length.
#[must_use]
pub fn usual_capacity() -> Capacity {
    Capacity {
        service: lognormal(Span::micros(20), Span::micros(200)),
        commit: lognormal(Span::micros(300), Span::millis(2)),
        queue: 4_096,
        snapshot_every: 20_000,
    }
}

/// The clients' default retries.
pub const USUAL_CLIENT: Client = Client {
    timeout: Span::millis(500),
    backoff: 2,
    max: Span::secs(8),
    attempts: 8,
};

/// The default network: no random faults, and a latency of a millisecond.
#[must_use]
pub fn usual_network() -> Network {
    Network {
        latency: Arc::new(Quantiles::new(Shape::Fixed(Span::millis(1).0))),
        loss: Ratio::NEVER,
        duplicate: Ratio::NEVER,
        stream_break: Ratio::NEVER,
        addresses: None,
    }
}

fn lognormal(p50: Span, p99: Span) -> Arc<Quantiles> {
    let (p50, p99) = (p50.0, p99.0);
    Arc::new(Quantiles::new(Shape::Lognormal { p50, p99 }))
}
