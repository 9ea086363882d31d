//! Drives virtual users by hand: the test replaces server, network and clock.
#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "all of this is a test, and a surprise should fail it"
)]

mod awaiting;
mod calls;
mod draining;
mod harness;
mod leaving;
mod profiles;
mod random_inputs;
mod reading;
mod registering;
mod speaking;
