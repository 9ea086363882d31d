//! Each judge over histories made by hand: those that break what is promised, and those that come
//! close.

mod breaks;
mod explored;
mod hunt;
mod line;
mod messages;
mod overlaps;
mod progress;
mod requests;
mod stick_progress;
mod story;
mod turns;
