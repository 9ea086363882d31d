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
#[derive(Clone, Debug)]
pub struct Network {
    /// Each way, for each packet, in microseconds.
    pub latency: Arc<Quantiles>,
    /// Requests and replies that never arrive.
    pub loss: Ratio,
    /// Requests that arrive twice.
    pub duplicate: Ratio,
    /// Pushes at which the stream breaks instead.
    pub stream_break: Ratio,
    /// How many addresses the clients share; 0: each has its own.
    pub addresses: u32,
}

impl Network {
    /// The address that a client calls from, by the number of its agent.
    #[must_use]
    pub fn address_of(&self, agent: u32) -> u64 {
        u64::from(agent.checked_rem(self.addresses).unwrap_or(agent))
    }
}
