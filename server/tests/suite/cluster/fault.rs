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

/// All kinds in the order of their declaration, with their names.
const ALL: [(Fault, &str); 25] = [
    (Fault::KillOwner, "owner killed"),
    (Fault::KillOwnerLate, "owner killed while all is late"),
    (Fault::KillLeader, "leader of the log killed"),
    (Fault::StopOwner, "owner stopped"),
    (Fault::PauseOwner, "owner paused"),
    (Fault::PauseLeader, "leader of the log paused"),
    (Fault::KillFollower, "follower killed"),
    (Fault::KillMajority, "two NATS servers killed"),
    (Fault::KillAll, "all killed"),
    (Fault::CutOwner, "owner cut off"),
    (Fault::DeafOwner, "owner receives nothing"),
    (Fault::MuteOwner, "owner sends nothing"),
    (Fault::CutLeader, "leader of the log cut off"),
    (Fault::DeafLeader, "leader receives nothing"),
    (Fault::MuteLeader, "leader sends nothing"),
    (Fault::CutReplica, "another NATS server cut off"),
    (Fault::CutServers, "all NATS servers cut off"),
    (Fault::CutDoor, "member cut off from clients"),
    (Fault::Delay, "everything late"),
    (Fault::WipeStore, "store of a NATS server lost"),
    (Fault::FlipBit, "bit flipped in a store"),
    (Fault::FillLeader, "disk of the log's leader full"),
    (Fault::FillMember, "disk of a member full"),
    (Fault::UpgradeServers, "NATS servers upgraded"),
    (Fault::UpgradeMembers, "members upgraded"),
];

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name) = ALL[*self as usize];
        f.pad(name)
    }
}

/// The faults of a run: each kind once, in any order, then any. `CLUSTER_FAULTS` names the kinds, if
/// not all are wanted.
pub(crate) fn plan(rounds: usize, draw: &mut Draw) -> Vec<Fault> {
    let kinds = match std::env::var("CLUSTER_FAULTS") {
        Ok(names) => names.split(',').map(|name| named(name.trim())).collect(),
        Err(_) => ALL.map(|(fault, _)| fault).to_vec(),
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
    let found = ALL.into_iter().find(|(_, known)| *known == name);
    let Some((fault, _)) = found else {
        let all = ALL.map(|(_, name)| name);
        panic!("no fault is called `{name}`: they are {}", all.join(", "))
    };
    fault
}
