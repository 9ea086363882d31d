//! The network's treatment of packets, and the clients' addresses.

use std::sync::Arc;

use chat_types::Span;

use crate::draw::{Quantiles, Ratio};

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
