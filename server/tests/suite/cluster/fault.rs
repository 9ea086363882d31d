//! What goes wrong on purpose.

use std::fmt;

use crate::cluster::draw::Draw;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// The owner is killed, and starts again.
    KillOwner,
    /// The owner is killed while all arrives late, so that others claim the log beside each other.
    KillOwnerLate,
    /// The NATS server that leads the log is killed, and starts again.
    KillLeader,
    /// The owner is asked to stop, and starts again.
    StopOwner,
    /// The owner is paused.
    PauseOwner,
    /// The NATS server that leads the log is paused.
    PauseLeader,
    /// A member that is not the owner is killed, and starts again.
    KillFollower,
    /// Two NATS servers are killed, so that nothing can be appended, and start again.
    KillMajority,
    /// All NATS servers and all members are killed, and start again.
    KillAll,
    /// Nothing passes between the owner and the NATS servers.
    CutOwner,
    /// The owner receives nothing from the NATS servers, which receive what it sends.
    DeafOwner,
    /// The NATS servers receive nothing from the owner, which receives what they send.
    MuteOwner,
    /// Nothing passes between the log's leader and the other NATS servers.
    CutLeader,
    /// The log's leader receives nothing from the others.
    DeafLeader,
    /// The others receive nothing from the log's leader.
    MuteLeader,
    /// Nothing passes between a NATS server that does not lead the log and the others.
    CutReplica,
    /// Nothing passes between NATS servers.
    CutServers,
    /// Nothing passes between clients and a member.
    CutDoor,
    /// All that members and NATS servers send arrives late.
    Delay,
    /// A NATS server is killed, and starts again with an empty folder.
    WipeStore,
    /// A bit changes in the folder of a NATS server that is down.
    FlipBit,
    /// The disk of the NATS server that leads the log is full, until it starts again.
    FillLeader,
    /// The disk of the member that keeps a journal is full.
    FillMember,
    /// Each NATS server in turn is replaced as in an upgrade.
    UpgradeServers,
    /// Each member in turn is replaced as in an upgrade.
    UpgradeMembers,
}

impl Fault {
    /// All kinds.
    pub(crate) const ALL: [Self; 25] = [
        Self::KillOwner,
        Self::KillOwnerLate,
        Self::KillLeader,
        Self::StopOwner,
        Self::PauseOwner,
        Self::PauseLeader,
        Self::KillFollower,
        Self::KillMajority,
        Self::KillAll,
        Self::CutOwner,
        Self::DeafOwner,
        Self::MuteOwner,
        Self::CutLeader,
        Self::DeafLeader,
        Self::MuteLeader,
        Self::CutReplica,
        Self::CutServers,
        Self::CutDoor,
        Self::Delay,
        Self::WipeStore,
        Self::FlipBit,
        Self::FillLeader,
        Self::FillMember,
        Self::UpgradeServers,
        Self::UpgradeMembers,
    ];
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::KillOwner => "owner killed",
            Self::KillOwnerLate => "owner killed while all is late",
            Self::KillLeader => "leader of the log killed",
            Self::StopOwner => "owner stopped",
            Self::PauseOwner => "owner paused",
            Self::PauseLeader => "leader of the log paused",
            Self::KillFollower => "follower killed",
            Self::KillMajority => "two NATS servers killed",
            Self::KillAll => "all killed",
            Self::CutOwner => "owner cut off",
            Self::DeafOwner => "owner receives nothing",
            Self::MuteOwner => "owner sends nothing",
            Self::CutLeader => "leader of the log cut off",
            Self::DeafLeader => "leader receives nothing",
            Self::MuteLeader => "leader sends nothing",
            Self::CutReplica => "another NATS server cut off",
            Self::CutServers => "all NATS servers cut off",
            Self::CutDoor => "member cut off from clients",
            Self::Delay => "everything late",
            Self::WipeStore => "store of a NATS server lost",
            Self::FlipBit => "bit flipped in a store",
            Self::FillLeader => "disk of the log's leader full",
            Self::FillMember => "disk of a member full",
            Self::UpgradeServers => "NATS servers upgraded",
            Self::UpgradeMembers => "members upgraded",
        })
    }
}

/// The faults of a run: each kind once, in any order, then any. `CLUSTER_FAULTS` names the kinds, if
/// not all are wanted.
pub(crate) fn plan(rounds: usize, draw: &mut Draw) -> Vec<Fault> {
    let kinds = match std::env::var("CLUSTER_FAULTS") {
        Ok(names) => names.split(',').map(|name| named(name.trim())).collect(),
        Err(_) => Fault::ALL.to_vec(),
    };
    let mut plan = kinds.clone();
    draw.shuffle(&mut plan);
    while plan.len() < rounds {
        plan.push(draw.one_of(&kinds));
    }
    plan.truncate(rounds);
    plan
}

fn named(name: &str) -> Fault {
    let all = Fault::ALL.into_iter();
    let mut named = all.filter(|fault| fault.to_string() == name);
    named.next().unwrap_or_else(|| {
        let all = Fault::ALL.map(|fault| fault.to_string());
        panic!("no fault is called `{name}`: they are {}", all.join(", "))
    })
}
