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
//!
//! # The log, the owner and the fate of an append
//!
//! The server runs alone by default. `chat-cluster` is the part of a cluster that decides: the
//! member, as a state machine without I/O. Two shells drive it: the simulator, and the server with
//! `--cluster`, over the log of `server-nats`.
//!
//! Members share one **log** with *compare-and-append*: a record is appended only if the log's last
//! sequence is the expected one. There is no vote and no lock among members, and no clock decides
//! what the log contains. One member at a time, the **owner**, runs the node. The others follow the
//! log, apply its batches to a hub of their own, and can take over. Any member takes clients'
//! connections; only the owner takes their calls.
//!
//! ```text
//!           calls                                          records in order
//!             │                                                   │
//!             ▼            Publish(expected = s, bytes)           ▼
//!  ┌──────────────────┐ ──────────────────────────► ┌─────┐ ──────────► ┌────────────────┐
//!  │ owner: Node(Hub) │                             │ log │             │ follower: Hub  │ ─► own journal
//!  └──────────────────┘ ◄────────────────────────── └─────┘ ◄────────── └────────────────┘
//!    │        │            acknowledged s + 1          ▲       Claim(expected = s),
//!    │        └─► own journal                          │       after 3 s of silence
//!    ▼                                          Read(s + 1), at the leader
//!  answers, after the acknowledgement           when the fate of an append is unknown
//! ```
//!
//! A **record** of the log is an envelope: magic, format, head (realm, sequence, epoch, author),
//! body, and the link over all records before it, by the code of `chat-journal`. An envelope has at
//! most 8 MiB, and the limits of a batch follow from that. Its body is one of:
//!
//! | body | says |
//! |---|---|
//! | `Claim` | the author is the owner from here on, under the next epoch |
//! | `Batch` | a batch of the owner's node: a record of the journal, whose `owner` is the epoch. The batches of a log are one journal, which every member can keep |
//! | `Heartbeat` | the owner is there, and its state has this digest at this position |
//! | `Resigned` | the log is free |
//! | `Noop` | nothing: it stands in the place of an append of unknown fate, which is thereby absent; or strict answers wait for it |
//!
//! **One owner.** A claim expects the last sequence that the claimant has *applied*. So it proves
//! that the claimant knows the whole log, and from then on every append of the owner before it fails,
//! whatever that one believes. An epoch is the number of one claim.
//!
//! **One append in flight**, of whatever kind, in every role. Its fate is decided by the log alone:
//!
//! | report | fate |
//! |---|---|
//! | acknowledged as s + 1 | the log has it. Acknowledged as another sequence: the log has no comparison, a panic |
//! | refused before it was proposed | the log will never have it, if no earlier attempt is unknown. A batch that is refused because the log has no leader is published again, for as long as calls are tried |
//! | wrong last sequence | the record at s + 1 is read: ours, or another's, which fences us. Found nowhere after six reads: unknown, and the same bytes are published again, because what was in the way may have been lost with its leader |
//! | none within a second | unknown: the same bytes are published again, with the same s |
//! | refused for good, after an unknown attempt | a `Noop` at s: whichever is in the log decides |
//!
//! Only a record at s + 1 proves anything. "Not found" proves nothing: the replica that answers may
//! be behind, or may have lost the record. A record at s + 1 that the member receives while it
//! follows the log decides, too.
//!
//! ```text
//!               silence, or a resignation              the claim is in the log
//!   ┌──────────┐ ──────────────────────► ┌──────────┐ ────────────────────► ┌───────┐ ◄─┐ acknowledged
//!   │ Follower │                         │ Claiming │                       │ Owner │ ──┘
//!   └──────────┘ ◄────────────────────── └──────────┘    ┌──────────┐ ◄──── └───────┘
//!      │  ▲  ▲     another's record, or refused          │ Settling │ no report │ resign
//!      │  │  │                                           └──────────┘ ────►     ▼
//!      │  │  └───────────── another's record ──────────────┘   found     ┌───────────┐
//!      │  └──────────────── `Resigned` is in the log ─────────────────── │ Resigning │
//!      ▼ not readable, or another digest   snapshot                      └───────────┘
//!   ┌──────────┐ ─────────────────────────► Follower
//!   │ Stranded │
//!   └──────────┘
//! ```
//!
//! **Reads** need no append. The owner takes calls only within its *lease*: two seconds from the
//! instant at which the last append *began* that is in the log. A standby claims after three seconds
//! without a record and a margin of its own, counted from the *arrival* of the last record that it
//! has applied. If its claim succeeds, that record was the last one of the log; so the lease of the
//! owner before it is over. Both spans are measured by the clock since the machine's start, which
//! passes during its sleep. After a `Resigned` the claim follows at once: that owner took no more
//! calls when it published it.
//!
//! With `--reads strict` a read, a refusal of a command, and a call whose earlier attempt has no
//! answer yet wait besides for a record that was appended after the call arrived: a batch, a
//! heartbeat, or a `Noop` of its own. One record serves all that waits. Its acknowledgement proves
//! that no other member had claimed the log before it, whatever the clocks show. What waits when the
//! lease ends is given to the next owner.
//!
//! **Calls of an owner that was superseded** are refused as *moved*, with what is known of the
//! request. A call that was not appended, or whose batch the log provably does not have, has done
//! nothing. But if it has a request key, the refusal says `unknown`: its client may have repeated it
//! at the new owner. A break whose answer is delayed is in the log, so it is `unknown` even without a
//! key. Calls whose batch turns out to be in the log are answered. For the same reason an owner
//! without a lease changes `none` to `unknown` in every refusal of its node.
//!
//! **Following** skips nothing. A hole or a record that does not continue the chain is an alarm, and
//! the log is read again from there, from another replica or another member's journal. An owner that
//! receives a record behind the next one departs: it has one append in flight, for the next place, so
//! the later record is another member's. The next record may be purged already. A snapshot that
//! arrives at an owner is ignored: it was requested as a standby. A heartbeat with another digest
//! than the follower's own state, or a record of another version, ends the following: the member
//! refuses calls, never claims, and continues from a stored snapshot that it can read. So a version
//! upgrade is: the old owner finishes its calls, stores a snapshot and resigns; a member of the new
//! version restores the snapshot and claims.
//!
//! The node needs little for this. `Node::depart` takes the hub out again and lists the calls without
//! an answer; `Node::resume` makes a node of a follower's hub, as after a restart.

mod envelope;
mod member;
mod output;
mod place;
mod snapshot;
mod timing;

pub use envelope::{FORMAT, MAX_ENVELOPE_BYTES, MemberId, Unfit};
pub use member::{Due, Member, MemberError, Role, Settings};
pub use output::{Alarm, AppendId, Outcome, Output, ReadId, Source};
pub use place::{Next, Owner, Place};
pub use snapshot::LogSnapshot;
pub use timing::{
    CALL_PATIENCE, FETCH_AGAIN, HEARTBEAT, LEASE, MARGIN, Now, PUBLISH_TIMEOUT, READ_TIMEOUT,
    RETRY, SILENCE,
};
