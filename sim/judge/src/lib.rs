//! Judges what a server decides and sends, or what clients observe of it, with a reference model of the
//! protocol. This crate does not depend on the chat core.
//!
//! The [`Judge`] observes a run. Its auditor feeds the reference model with the committed entries,
//! and compares the expected with the server's decisions and with everything that left the server.
//! A difference is a violation of the property whose rule it breaks. For a live server, a witness
//! judges what the clients' histories prove; with the server's journal, a reconciler compares them
//! with the reference model.
//!
//! The [`RunJudge`] combines a judge with [`Metrics`](metrics::Metrics): their results are the
//! run's [`SeedOutcome`].

mod auditor;
pub mod cluster;
mod comparison;
mod counts;
mod difference;
mod findings;
mod judge;
pub mod metrics;
mod model;
mod properties;
mod reconciler;
mod run_judge;
mod sentence;
mod series;
mod witness;

pub use judge::{Judge, Judgement};
pub use run_judge::{RunJudge, SeedOutcome};
pub use series::SeriesRecorder;
