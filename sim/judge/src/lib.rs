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
//!
//! # How a run is judged
//!
//! In the virtual world nothing has to be inferred. The world reports what the server did, as records
//! of `sim/model/src/server.rs`: each entry of the journal when it takes effect, and each call,
//! answer, page and stream when it crosses the border. The **reference model**
//! (`sim/judge/src/model.rs`) is written from `docs/protocol.md` alone. For each entry it predicts
//! the outcome and the events of each inbox. The **auditor** compares:
//!
//! - the server's decisions with the model's, which also makes the draws (a random partner, the
//!   relief of a break);
//! - each answer and each page, at the instant at which it leaves, with the committed state;
//! - each batch, when it is formed, with all that waits for the journal: calls in their order, the
//!   server's own entries, consequences of reads; and each entry with its call;
//! - instants: a due answer leaves before time advances; a waiting check is answered when its inbox
//!   grows or its wait is over; an open stream carries new events at once; a batch is formed as soon
//!   as an entry waits and none is in flight. The duration of an append depends on the disk.
//!
//! Nothing is inferred, and there are no tolerances: random choices are read from the entry, and the
//! rest follows from the protocol.
//!
//! A **difference** holds both facts. It belongs to the first property, in the order of
//! `sim/judge/src/properties.rs`, whose rule it breaks. The auditor stops there, so that consequences
//! of one bug are not reported under other rules. A property's checks are the comparisons of the
//! kinds that its rule names.
//!
//! A live run is judged by the **witness** (`sim/judge/src/witness.rs`) from clients' histories, and
//! only in what is certain: what a client cannot know is counted as *not judged*. With the server's
//! journal the **reconciler** (`sim/judge/src/reconciler.rs`) judges the decisions and what clients
//! received. Only the instants of reads are in neither.

mod auditor;
pub mod cluster;
mod comparison;
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
mod woken;

pub use judge::{Judge, Judgement};
pub use run_judge::{RunJudge, SeedOutcome};
pub use series::SeriesRecorder;
