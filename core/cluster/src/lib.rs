//! The member of a cluster of chat servers, as a state machine over a replicated log.
//!
//! Several members share one log. The log appends a record only if its last sequence is the one that
//! the appender expects. That comparison is all that the members rely on: there is no lock and no
//! vote, and no clock decides what the log contains. One member at a time is the *owner*, which runs
//! the [`chat_core::Node`]; the others follow the log and can take over.
//!
//! Sans-IO, like the node: the same code runs in the server and in the simulator. The shell
//!
//! 1. gives each call to [`Member::submit`], and each record of the log to [`Member::record`];
//! 2. carries out each [`Output`], and gives its result back: [`Member::published`],
//!    [`Member::found`], [`Member::snapshot_found`];
//! 3. calls [`Member::handle_timeout`] when [`Member::poll_timeout`] is due, and drains
//!    [`Member::poll_output`] after each of these.
//!
//! The crate guarantees, whatever the network, the log's replicas and the members' schedules do:
//!
//! - every record of the log follows from the one before it, and members agree at equal sequences;
//! - an answer leaves only after its cause is in the log, and a call is refused as not done only if
//!   the log will never contain it;
//! - a read shows all that any owner answered before the read began.
//!
//! The log must keep what it acknowledged. A record that one replica has lost or changed is read
//! from another one; a record that all have lost stops the members behind it, with an alarm.

mod envelope;
mod member;
mod output;
mod place;
mod snapshot;
mod timing;

pub use envelope::{FORMAT, MAX_ENVELOPE_BYTES, MemberId, Unfit};
pub use member::{Due, Member, MemberError, Reads, Role, Settings};
pub use output::{Alarm, AppendId, Outcome, Output, ReadId, Refusal, Source};
pub use place::{Next, Owner, Place};
pub use snapshot::LogSnapshot;
pub use timing::{
    CALL_PATIENCE, FETCH_AGAIN, HEARTBEAT, LEASE, MARGIN, Now, PUBLISH_TIMEOUT, READ_TIMEOUT,
    RETRY, SILENCE,
};
