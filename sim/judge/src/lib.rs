//! Judges what clients saw by a reference model of the protocol. It cannot see the chat core.

pub mod model;
