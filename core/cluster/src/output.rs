//! What a member asks of its shell, and what the shell reports back.

use std::sync::Arc;

use chat_core::{Earlier, Ticket};

use crate::envelope::Unfit;
use crate::place::Place;

/// The number of an append. All attempts with the same bytes have the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppendId(pub u64);

/// The number of a read of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadId(pub u64);

/// Where a record is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The log's leader.
    Leader,
    /// Any replica, which may be behind the leader.
    Replica(u64),
}

/// What the shell should do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Append the bytes if the log's last sequence is `expected`, and report the result with
    /// [`crate::Member::published`]. No result need be reported if there is none.
    Publish {
        /// The append.
        id: AppendId,
        /// The sequence that the log must end with.
        expected: u64,
        /// The record.
        bytes: Arc<[u8]>,
    },
    /// Read the record with this sequence, and report it with [`crate::Member::found`].
    Read {
        /// The read.
        id: ReadId,
        /// The record.
        sequence: u64,
        /// Where to read it.
        source: Source,
    },
    /// Follow the log again from this sequence on, from another source for each attempt. A source is
    /// a replica of the log, or the journal of another member.
    Fetch {
        /// The first sequence that is missing.
        from: u64,
        /// The number of the attempt.
        attempt: u64,
    },
    /// A batch is in the log and applied: keep its record of the journal.
    Applied {
        /// The place in the log after the batch.
        place: Box<Place>,
        /// The record of the journal.
        record: Arc<[u8]>,
    },
    /// Carry out an output of the node.
    Node(chat_core::Output),
    /// The node takes this call now, which waited for the log. Its answer, if it has one already, and
    /// what it causes for others follow.
    Admitted(Ticket),
    /// Refuse the call: another member has to take it.
    Moved {
        /// The call.
        ticket: Ticket,
        /// What is known of the request. `Unasked` and `None`: it has not taken effect, and will not.
        /// `Unknown`: it may have taken effect, and a repetition with its key has the outcome.
        earlier: Earlier,
    },
    /// This member is the owner from here on.
    BecameOwner {
        /// Its epoch: the number of its claim.
        epoch: u64,
    },
    /// This member is no longer the owner. The refusals of its calls precede this output.
    LostOwnership {
        /// Its epoch: the number of its claim.
        epoch: u64,
    },
    /// Store a snapshot: see [`crate::Member::snapshot`].
    StoreSnapshot,
    /// Give the newest stored snapshot to [`crate::Member::snapshot_found`]: this member cannot
    /// continue from its own state.
    FetchSnapshot,
    /// Tell an operator.
    Alarm(Alarm),
}

/// A condition that an operator must know of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// A source of the log went on without the records from this one on.
    Hole {
        /// The first missing record.
        sequence: u64,
    },
    /// A source of the log has a changed record.
    Damaged {
        /// The record.
        sequence: u64,
    },
    /// The state differs from the owner's at the same position. This member no longer follows.
    Diverged {
        /// The heartbeat that showed it.
        sequence: u64,
    },
    /// The record is not one that this version can apply. This member no longer follows, and refuses
    /// calls.
    Unreadable {
        /// The record.
        sequence: u64,
        /// The reason.
        why: Unfit,
    },
}

/// The result of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The log acknowledged it under this sequence.
    Acknowledged(u64),
    /// The log's last sequence is another one.
    WrongLast,
    /// The log refused this attempt before it was proposed to the replicas; a later one may succeed.
    Busy,
    /// The log refused this attempt before it was proposed to the replicas, and will refuse the same
    /// bytes again.
    Rejected,
}
