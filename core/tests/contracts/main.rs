//! The Hub's contracts, on random journals: a few participants, few rooms, and limits so small
//! that every one of them is hit.

mod coverage;
mod damage;
mod determinism;
mod inbox;
mod journal;
mod order;
mod reads;
mod refusals;
mod snapshots;
mod stick;
mod ticks;
mod time;
