//! The defaults of a plan's surroundings.

use std::sync::Arc;

use chat_types::Span;

use super::{Capacity, Client, Network};
use crate::draw::{Quantiles, Ratio, Shape};

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
