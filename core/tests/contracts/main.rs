//! The Hub's contracts on random journals: few participants, few rooms, and limits so small that
//! all of them are reached.

mod coverage;
mod determinism;
mod inbox;
mod journal;
mod lost_life;
mod order;
mod reads;
mod refusals;
mod snapshots;
mod stick;
mod ticks;
mod time;
