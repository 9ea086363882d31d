//! What happens in a cluster, as its judge needs it.

/// The owner of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOwner {
    /// Its epoch: the number of its claim.
    pub epoch: u64,
    /// The number of the member, and that of its life.
    pub author: (u64, u64),
}

/// Something that happened in a cluster. Instants are in microseconds of real time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterFact {
    /// The log contains a record.
    Appended {
        /// Its sequence.
        sequence: u64,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// A member applied all records up to this one.
    Applied {
        /// The member.
        member: u64,
        /// The record.
        sequence: u64,
        /// The position and the digest of its state.
        state: (u64, u64),
        /// The owner that it names.
        owner: Option<LogOwner>,
    },
    /// A member says what its state is at a position of the journal.
    State {
        /// The member.
        member: u64,
        /// The position.
        position: u64,
        /// The digest of its state there.
        digest: u64,
    },
    /// These members would take calls at this instant.
    Leases(Vec<u64>),
    /// A client's call arrived at a member that takes calls.
    Asked {
        /// The member.
        member: u64,
        /// The call.
        call: u64,
    },
    /// The member answered a call.
    Answered {
        /// The member.
        member: u64,
        /// The call.
        call: u64,
    },
    /// The member gave a call back, to be repeated at the next owner.
    GivenBack(u64),
    /// The caller of a call disconnected.
    CallerGone(u64),
    /// The member does not own the log any more, and has answered or given back all its calls.
    Departed(u64),
    /// The member's process ended, and all its calls with it.
    ProcessEnded(u64),
    /// A member has an append in flight from here on.
    AppendBegan(u64),
    /// The member knows the fate of that append, or its process ended.
    AppendEnded(u64),
    /// Something is wrong with the log, with the member, or between them.
    Hindered(u64),
    /// Nothing is wrong with the log, with the member, and between them.
    Unhindered(u64),
    /// A replica of the log has lost or changed a record.
    Harmed,
    /// A client's write was accepted.
    Accepted(u64),
    /// A client's write was refused as not done, for good: the client will not repeat it.
    NotDone(u64),
    /// A client's write was refused as not done so far.
    NotYet(u64),
    /// A client's call was refused in a way that no client's act explains.
    Odd {
        /// The member.
        member: u64,
        /// The code.
        code: &'static str,
    },
    /// A read begins.
    ReadBegan(u64),
    /// A read shows these writes.
    Read {
        /// The read.
        read: u64,
        /// The member.
        member: u64,
        /// The writes, in their order: the newest ones.
        shown: Vec<u64>,
        /// Whether there are older ones.
        more: bool,
    },
    /// A member found that it cannot follow any more. All members run one version of one code.
    Stranded(u64),
    /// From here on, nothing goes wrong any more.
    Healed,
    /// The history ends.
    Ended {
        /// The members that nothing hindered: the last record that each has applied.
        members: Vec<(u64, u64)>,
        /// The last record that is old enough for each of these members to have applied it.
        due: u64,
        /// Whether nothing has hindered any member since then, so that one of them owns the log.
        is_calm: bool,
        /// The clients that have had no write accepted for a long time.
        starved: Vec<u64>,
        /// The calls that members had long enough to answer, and did not.
        unanswered: Vec<u64>,
    },
}
