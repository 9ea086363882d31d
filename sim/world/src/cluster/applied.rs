//! What a member has applied, for the judge of the servers.

use chat_cluster::Member;
use sim_model::cluster::{ClusterFact, LogOwner};

/// The records between two digests of the members' states, which cost time.
const DIGEST_EVERY: u64 = 16;

/// What the member has applied since it had applied the record `before`, if anything.
#[must_use]
pub fn applied(site: usize, member: &Member, before: u64) -> Option<ClusterFact> {
    let (sequence, hub) = (member.sequence(), member.hub());
    if sequence == before {
        return None;
    }
    let state = match hub.position().0 {
        // Before the first entry the state is the member's own configuration.
        0 => (0, 0),
        position if sequence.is_multiple_of(DIGEST_EVERY) => (position, hub.digest()),
        position => (position, 0),
    };
    let owner = member.owner().map(|owner| LogOwner {
        epoch: owner.epoch,
        author: (owner.member.number, owner.member.incarnation),
    });
    Some(ClusterFact::Applied {
        member: site as u64,
        sequence,
        state,
        owner,
    })
}
