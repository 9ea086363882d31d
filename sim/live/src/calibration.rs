//! What a live server would be as a simulated one: from round trips to the `capacity` and the
//! `network` of a scenario. There is no clock and no socket here; `live/calibrate.rs` takes the
//! samples.
//!
//! # What is to be found
//!
//! In the virtual world three things take time. A packet takes its **latency** each way, whatever
//! else is under way. A command takes its **service**, one command at a time: it is what makes
//! lines under load. A batch of the journal takes its **commit**, one batch at a time, and what
//! comes meanwhile shares the next one. So a read that meets nobody takes latency + service +
//! latency there, and a command that is journalled takes a commit more.
//!
//! # How it is found
//!
//! 1. **service**: its mean is a second over the reads that are answered in one, from as many
//!    connections as help, for what those take one after another is all that cannot be done for
//!    two commands at once. Its 99th percentile is as many times its median as among the reads that
//!    met nobody. (A median of that length would make the mean longer by the tail, and the virtual
//!    server slower than the live one.)
//! 2. **latency**: what is left of a read that met nobody, half of it each way. So it holds the
//!    network, and what client and server do for many at once, such as reading JSON; how much of
//!    it is the cheapest request's is told beside it. (Half the cheapest request alone would leave
//!    the work that is neither serial nor the network's without a place, and a read would come out
//!    faster than it is.)
//! 3. **commit**: what a command that is journalled takes beyond such a read.
//!
//! Medians and tails of sums are not sums of medians and tails. So 2 and 3 look for the
//! distribution with which the whole sum has the median and the 99th percentile that were measured
//! (`fit.rs`), of the kind that scenarios write as `{ p50, p99 }`.
//!
//! # What it cannot say
//!
//! A driver on the server's own machine takes cores from it, and then the service time is that of
//! both together. Where the driver's threads had no time left, it is no more than an upper bound,
//! and a remark says so. One service time stands for all commands. So a command that costs more than
//! a read is too cheap in the virtual world, above all one that everybody in a large room is told
//! of: pushes cost nothing there, and bring the events themselves, where clients of MCP are told
//! that an inbox grew and come to read it.

mod fit;

use sim_model::outcome::{Away, Block, Spread, Stage, Takes};

use chat_types::Span;

use fit::fit;
use sim_judge::metrics::distribution::Distribution;

/// From this share of its threads' time on, the driver may be what holds things up.
const BUSY_DRIVER: f64 = 0.9;

/// Where the standard normal distribution has its 99th percentile.
const NORMAL_P99: f64 = 2.326_348;

/// Fewer round trips than this say little about a 99th percentile.
const FEW: u64 = 200;

/// What was measured; durations in microseconds.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    /// Of the cheapest request, one at a time.
    pub(crate) floor: Distribution,
    /// Of a read, one at a time.
    pub(crate) read: Distribution,
    /// Of a command that is journalled, one at a time.
    pub(crate) committed: Distribution,
    /// Reads from more and more connections.
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

/// Figures of at most a day in microseconds.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a rounded float, not negative and far within u64"
)]
fn whole(value: f64) -> u64 {
    value.max(0.0).round() as u64
}

impl Samples {
    pub(crate) fn new() -> Self {
        Self {
            floor: Distribution::new(),
            read: Distribution::new(),
            committed: Distribution::new(),
            stages: Vec::new(),
        }
    }

    /// The stage with the most reads in a second.
    fn best(&self) -> Option<&Stage> {
        let mut stages = self.stages.iter();
        let first = stages.next()?;
        Some(stages.fold(first, |best, stage| {
            if stage.per_second > best.per_second {
                stage
            } else {
                best
            }
        }))
    }

    /// The part of a scenario that they come to.
    pub(crate) fn infer(&self) -> Block {
        let (read, committed) = (spread_of(&self.read), spread_of(&self.committed));
        let service = self.service(read);
        let table = service.quantiles();
        let latency = fit(&[&table], 2, read);
        let away = latency.quantiles();
        let commit = fit(&[&away, &table, &away], 1, committed);
        Block {
            capacity: Takes { service, commit },
            network: Away { latency },
        }
    }

    fn service(&self, read: Spread) -> Spread {
        let each = match self.best() {
            Some(stage) if stage.per_second > 0.0 => whole(1e6 / stage.per_second),
            Some(_) | None => read.p50.0,
        };
        let ratio = read.p99.0 as f64 / read.p50.0 as f64;
        // A lognormal's mean is its median times exp(σ²/2), and ln(ratio) is σ so often.
        let sigma = ratio.ln() / NORMAL_P99;
        let p50 = whole(each as f64 / (sigma * sigma / 2.0).exp());
        // Something of a read is on its way in each direction.
        let p50 = p50.min(read.p50.0.saturating_sub(2)).max(1);
        Spread {
            p50: Span(p50),
            p99: Span(whole(p50 as f64 * ratio).max(p50)),
        }
    }

    /// What a reader of the figures has to know.
    pub(crate) fn remarks(&self, block: &Block) -> Vec<String> {
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
