//! The instants and the spans of a member.

use chat_core::{Span, Time};

/// The two clocks of the machine, read at one instant: after the input arrived that they go with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The time of day, for the entries of the journal. It may be set.
    pub wall: Time,
    /// The time since the machine started, with the time that it slept. It is never set, and the
    /// lease and the silence are measured by it.
    pub boot: Time,
}

/// The pause after which an idle owner appends a heartbeat.
pub const HEARTBEAT: Span = Span::secs(1);

/// How long an owner takes calls after the beginning of its last acknowledged append. It is shorter
/// than `SILENCE` by more than two clocks can differ in that time.
pub const LEASE: Span = Span::secs(2);

/// The silence of the log after which a standby claims it, before the margin.
pub const SILENCE: Span = Span::secs(3);

const _: () = assert!(
    LEASE.0 * 11 < SILENCE.0 * 9,
    "the lease ends before the silence does, also by clocks that are a tenth too slow and too fast"
);

/// The margin is below this span. Each standby has its own, so that one of them is first.
pub const MARGIN: Span = Span::secs(1);

/// How long an append waits for its acknowledgement, until its outcome counts as unknown.
pub const PUBLISH_TIMEOUT: Span = Span::secs(1);

/// How long a call is tried: longer than the log takes to elect a leader, and a member to claim.
pub const CALL_PATIENCE: Span = Span::secs(15);

/// How long a read of one record waits for its result.
pub const READ_TIMEOUT: Span = Span::secs(1);

/// The pause before an attempt that follows a refusal of the log.
pub const RETRY: Span = Span::millis(250);

/// The pause before missing records are requested from the next source.
pub const FETCH_AGAIN: Span = Span::secs(2);
