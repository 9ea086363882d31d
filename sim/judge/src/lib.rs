//! Judges what clients saw by a reference model of the protocol. It cannot see the chat core.
//!
//! The [`Judge`] observes a run. Its auditor feeds the reference model with what the server
//! committed, and compares what is owed with what the server decided and with what crossed its
//! border. A difference belongs to the property whose rule it breaks. Of a live server without a
//! journal, a witness judges what the clients' histories alone make certain.
//!
//! The [`Jury`] is a judge with [`Metrics`](metrics::Metrics) beside it: what both find is the run's
//! [`SeedOutcome`].

mod auditor;
mod compared;
mod counts;
mod difference;
mod fact;
mod findings;
mod judge;
mod jury;
pub mod metrics;
pub mod model;
pub mod properties;
mod sentence;
mod stuck;
mod witness;

pub use difference::Difference;
pub use fact::Fact;
pub use findings::{Finding, Findings, Property};
pub use judge::{Judge, Judgement};
pub use jury::{Jury, SeedOutcome};
pub use witness::Witness;
