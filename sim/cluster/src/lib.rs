//! A cluster of chat servers in virtual time.
//!
//! Three members run the code of `chat-cluster` over a simulated log with three replicas. Clients
//! write and read at whichever member they believe to be the owner. The seed draws all that goes
//! wrong: lost and doubled reports, appends that land late, leaders that change, replicas that are
//! behind or have lost a record, members that pause, crash, resign, or hear one way only. Then all is
//! well again, and the cluster must serve.
//!
//! The history goes to [`sim_judge::cluster`], which shares no code with the members.

mod clients;
mod exhaust;
mod faults;
mod site;
mod world;

pub use exhaust::{Searched, Step, exhaust};
pub use world::{Ended, run_seed};
