//! What the network does to packets, and from which addresses clients call.

use std::sync::Arc;

use chat_types::Span;

use crate::draw::{Quantiles, Ratio};

/// What the network does to one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It arrives after so long.
    After(Span),
    /// It never arrives.
    Lost,
}

/// What the network does, by chance.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Each way, for each packet, in microseconds.
    pub latency: Arc<Quantiles>,
    /// Requests and replies that never arrive.
    pub loss: Ratio,
    /// Requests that arrive twice.
    pub duplicate: Ratio,
    /// Pushes at which the stream breaks instead.
    pub stream_break: Ratio,
    /// How many addresses the clients share; none: each has its own.
    pub addresses: Option<u32>,
}

impl Network {
    /// The address that a client calls from, by the number of its agent.
    #[must_use]
    pub fn address_of(&self, agent: u32) -> u64 {
        let shared = self
            .addresses
            .and_then(|addresses| agent.checked_rem(addresses));
        u64::from(shared.unwrap_or(agent))
    }
}
