//! A member's standing: what other tasks of its process must know of it.

use std::sync::Arc;

use chat_cluster::{Member, Role};
use server_nats::{Calls, Incoming};
use tokio::sync::watch;

/// What other tasks see of the member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MemberStanding {
    pub(super) role: Role,
    /// The sequence of the last record that is applied.
    pub(super) sequence: u64,
    pub(super) epoch: u64,
    /// The name of the owner.
    pub(super) owner: Option<Arc<str>>,
}

impl MemberStanding {
    pub(super) fn of(member: &Member) -> Self {
        Self {
            role: member.role(),
            sequence: member.sequence(),
            epoch: member.place().epoch(),
            owner: member.owner().map(|owner| Arc::clone(&owner.address)),
        }
    }

    /// Whether the member runs the node.
    pub(super) const fn has_node(&self) -> bool {
        match self.role {
            Role::Owner | Role::Settling | Role::Resigning => true,
            Role::Follower | Role::Claiming | Role::Stranded => false,
        }
    }
}

/// The word for a role, in metrics and in what members say.
pub(super) const fn role_word(role: Role) -> &'static str {
    match role {
        Role::Follower => "follower",
        Role::Claiming => "claiming",
        Role::Owner => "owner",
        Role::Settling => "settling",
        Role::Resigning => "resigning",
        Role::Stranded => "stranded",
    }
}

/// The standing, as it changes. It ends with the driver.
pub(super) type Standings = watch::Receiver<MemberStanding>;

/// Waits until the log has a claim after this epoch, or the driver has stopped.
pub(super) async fn end_of_epoch(standing: &Standings, epoch: u64) -> EpochEnd {
    let mut standing = standing.clone();
    match standing.wait_for(|standing| standing.epoch > epoch).await {
        Ok(_) => EpochEnd::Superseded,
        Err(_) => EpochEnd::Stopped,
    }
}

/// Why an epoch is over for this member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EpochEnd {
    Superseded,
    Stopped,
}

/// Answers calls of this kind by `answer` for as long as the member has the node, and again when it has it
/// once more. Ends with the connection, or with the member.
pub(super) async fn serve_with_node<F: Future<Output = ()>>(
    calls: Calls,
    kind: &'static str,
    mut standing: Standings,
    mut answer: impl FnMut(Incoming) -> F,
) {
    while standing.wait_for(MemberStanding::has_node).await.is_ok() {
        let Some(mut serving) = calls.serve(kind).await else {
            return;
        };
        let mut changes = standing.clone();
        let answer_all = async {
            while let Some(call) = serving.next().await {
                answer(call).await;
            }
        };
        tokio::select! {
            () = answer_all => return,
            _ = changes.wait_for(|standing| !standing.has_node()) => {}
        }
    }
}
