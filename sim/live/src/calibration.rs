//! Derives a simulated server from measurements of a live one: from round trips to the `capacity`
//! and the `network` of a scenario. This module has no clock and no socket; `calibrate.rs` takes
//! the samples.
//!
//! # What is derived
//!
//! In the virtual world three things take time. A packet takes its **latency** each way,
//! independently of other packets. A command takes its **service** time, one command at a time, so
//! commands queue under load. A batch of the journal takes its **commit** time, one batch at a
//! time, and commands that arrive meanwhile share the next one. So a read without load takes
//! latency + service + latency, and a journalled command takes one commit more.
//!
//! # How it is derived
//!
//! 1. **service**: its mean is the inverse of the largest throughput of reads, which is limited by
//!    the work that cannot be done for two commands at once. The ratio of its 99th percentile to
//!    its median is that of reads without load. (Taking the mean as the median would lengthen the
//!    mean by the tail, and make the virtual server slower than the live one.)
//! 2. **latency**: the rest of a read without load, half of it each way. So it includes the network
//!    and the concurrent work of client and server, such as parsing JSON. The share of the cheapest
//!    request is reported beside it. (Half the cheapest request alone would omit work that is
//!    neither serial nor in the network, and make reads too fast.)
//! 3. **commit**: the additional time of a journalled command.
//!
//! Medians and tails of sums are not sums of medians and tails. So 2 and 3 search for the
//! distribution with which the whole sum has the measured median and 99th percentile (`fit.rs`). It
//! has the form `{ p50, p99 }` of scenarios.
//!
//! # Limits
//!
//! A driver on the server's machine takes cores from it, and the service time then includes both.
//! If the driver's threads were saturated, it is only an upper bound, and a remark says so. One
//! service time represents all commands. So a command that costs more than a read is too cheap in
//! the virtual world, in particular a message in a large room: there pushes cost nothing and
//! contain the events, while clients of MCP are notified and then read their inboxes.

mod fit;

use sim_model::outcome::{CalibrationBlock, CapacityTimes, NetworkTimes, Spread, Stage};

use chat_types::Span;

use fit::fit;
use sim_judge::metrics::distribution::Distribution;

/// From this share of its threads' time on, the driver may be the bottleneck.
const BUSY_DRIVER: f64 = 0.9;

/// The 99th percentile of the standard normal distribution.
const NORMAL_P99: f64 = 2.326_348;

/// Fewer round trips than this are not enough for a 99th percentile.
const FEW: u64 = 200;

/// The measurements; durations in microseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    /// The cheapest request, one at a time.
    pub(crate) floor: Distribution,
    /// A read, one at a time.
    pub(crate) read: Distribution,
    /// A journalled command, one at a time.
    pub(crate) committed: Distribution,
    /// Reads on more and more connections.
    pub(crate) stages: Vec<Stage>,
}

/// The median and the 99th percentile of samples.
fn spread_of(samples: &Distribution) -> Spread {
    let p50 = whole(samples.percentile(50.0)).max(1);
    let p99 = whole(samples.percentile(99.0)).max(p50);
    Spread {
        p50: Span(p50),
        p99: Span(p99),
    }
}

/// Rounds a duration to whole microseconds.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a rounded float, not negative and far within u64"
)]
fn whole(value: f64) -> u64 {
    value.max(0.0).round() as u64
}

impl Samples {
    /// The stage with the highest throughput; of equal ones, the first.
    fn best(&self) -> Option<&Stage> {
        let stages = self.stages.iter().rev();
        stages.max_by(|one, other| one.per_second.total_cmp(&other.per_second))
    }

    /// The part of a scenario that follows from the measurements.
    pub(crate) fn infer(&self) -> CalibrationBlock {
        let (read, committed) = (spread_of(&self.read), spread_of(&self.committed));
        let service = self.service(read);
        let table = service.quantiles();
        let latency = fit(&[&table], 2, read);
        let away = latency.quantiles();
        let commit = fit(&[&away, &table, &away], 1, committed);
        CalibrationBlock {
            capacity: CapacityTimes { service, commit },
            network: NetworkTimes { latency },
        }
    }

    fn service(&self, read: Spread) -> Spread {
        let each = match self.best() {
            Some(stage) if stage.per_second > 0.0 => whole(1e6 / stage.per_second),
            Some(_) | None => read.p50.0,
        };
        let ratio = read.p99.0 as f64 / read.p50.0 as f64;
        // The mean of a lognormal distribution is its median times exp(σ²/2), and ln(ratio) is σ
        // times `NORMAL_P99`.
        let sigma = ratio.ln() / NORMAL_P99;
        let p50 = whole(each as f64 / (sigma * sigma / 2.0).exp());
        // At least a microsecond is left for each direction.
        let p50 = p50.min(read.p50.0.saturating_sub(2)).max(1);
        Spread {
            p50: Span(p50),
            p99: Span(whole(p50 as f64 * ratio).max(p50)),
        }
    }

    /// Remarks for readers of the figures.
    pub(crate) fn remarks(&self, block: &CalibrationBlock) -> Vec<String> {
        let mut remarks = Vec::new();
        let best = self.best();
        if let Some(stage) = best.filter(|stage| stage.driver_busy >= BUSY_DRIVER) {
            remarks.push(format!(
                "the driver, not the server, was the bottleneck: its threads were busy {:.0}% of \
                 the time, so that service is at most what stands here",
                stage.driver_busy * 100.0
            ));
        }
        if let (Some(best), Some(last)) = (best, self.stages.last())
            && best.connections == last.connections
            && self.stages.len() > 1
        {
            remarks.push(format!(
                "reads were still becoming more at {} connections, so that service is at most \
                 what stands here",
                last.connections
            ));
        }
        if block.capacity.commit.p50 <= Span(1) {
            let [read, journalled] = [&self.read, &self.committed].map(|one| spread_of(one).p50);
            let beyond = Span(journalled.0.saturating_sub(read.0));
            remarks.push(match beyond {
                Span(0) => "a command that is journalled took no longer than a read, so that \
                            commit is as short as it can be written"
                    .to_owned(),
                beyond => format!(
                    "the median of a command that is journalled is {beyond} above a read's, no \
                     more than its tail accounts for: commit is as short as it can be written"
                ),
            });
        }
        let least = self.read.count().min(self.committed.count());
        if least < FEW {
            remarks.push(format!(
                "{least} round trips of a kind say little about a 99th percentile"
            ));
        }
        remarks
    }
}

#[cfg(test)]
mod tests;
