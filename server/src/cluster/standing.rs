//! A member's standing: what other tasks of its process must know of it, and which calls of other members
//! it takes.
//!
//! The network may hold a call back, and carry it after its client has given it up, repeated it at another
//! door, and used more request keys since than are remembered. So one that was long on its way must have no
//! effect. No two clocks are compared: a question names the last record that its door had applied, and the
//! owner knows when it applied the next one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use chat_cluster::{Member, Role};
use futures_util::StreamExt as _;
use server_chat::driver::NodeClient;
use server_chat::task;
use server_nats::{Incoming, LogReader};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// How far a door may be behind: longer than one attempt of a call takes, and a healthy door is.
const LATE: Duration = Duration::from_secs(3);

/// The pause between two looks at the log's end.
const LOOK: Duration = Duration::from_millis(250);

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

/// What the tasks of a member have. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Membership {
    /// The name of the member.
    pub(super) name: String,
    pub(super) log: LogReader,
    pub(super) local: NodeClient,
    pub(super) standing: Standings,
}

impl Membership {
    /// Keeps a task going until the server stops.
    pub(super) fn keep<F: Future<Output = ()> + Send + 'static>(
        &self,
        name: &'static str,
        begin: impl Fn(Self) -> F + Send + 'static,
    ) {
        let member = self.clone();
        task::keep(name, move || begin(member.clone()));
    }

    /// The last record that is applied.
    pub(super) fn sequence(&self) -> u64 {
        self.standing.borrow().sequence
    }

    /// Whether the driver has stopped.
    pub(super) fn has_stopped(&self) -> bool {
        self.standing.has_changed().is_err()
    }

    /// Waits until the log has a claim after this epoch, or the driver has stopped. Returns whether it has
    /// such a claim.
    pub(super) async fn end_of_epoch(&self, epoch: u64) -> bool {
        let mut standing = self.standing.clone();
        let claimed = standing.wait_for(|standing| standing.epoch > epoch);
        claimed.await.is_ok()
    }

    /// Answers calls of this kind by `answer` for as long as the member has the node, and again when it has
    /// it once more. Ends with the connection, or with the member.
    pub(super) async fn serve_with_node<F: Future<Output = ()>>(
        mut self,
        kind: &'static str,
        mut answer: impl FnMut(Incoming) -> F,
    ) {
        let has_node = MemberStanding::has_node;
        while self.standing.wait_for(has_node).await.is_ok() {
            let Some(mut serving) = self.log.serve(kind).await else {
                return;
            };
            let answer_all = async {
                while let Some(call) = serving.next().await {
                    answer(call).await;
                }
            };
            tokio::select! {
                () = answer_all => return,
                _ = self.standing.wait_for(|standing| !standing.has_node()) => {}
            }
        }
    }

    /// The sequence below which questions are late, as it changes until the driver stops.
    pub(super) fn late_below(&self) -> watch::Receiver<u64> {
        let (set, late_below) = watch::channel(0);
        let member = self.clone();
        task::spawn(async move {
            let (mut past, mut looks) = (Past::default(), interval(LOOK));
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            while !member.has_stopped() {
                let now = looks.tick().await;
                set.send_replace(past.look(now, member.sequence()));
            }
        });
        late_below
    }
}

/// The sequence that was applied at some instants, the oldest first.
#[derive(Debug, Default)]
struct Past(VecDeque<(Instant, u64)>);

impl Past {
    /// Adds what is applied now. Returns the sequence that was applied `LATE` ago, or 0.
    fn look(&mut self, now: Instant, sequence: u64) -> u64 {
        self.0.push_back((now, sequence));
        let is_old = |at: &Instant| now.duration_since(*at) >= LATE;
        while self.0.get(1).is_some_and(|(at, _)| is_old(at)) {
            self.0.pop_front();
        }
        let oldest = self.0.front().filter(|(at, _)| is_old(at));
        oldest.map_or(0, |(_, sequence)| *sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_late_if_the_record_after_its_own_is_old() {
        let began = Instant::now();
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        let mut past = Past::default();
        assert_eq!(past.look(at(0), 10), 0, "nothing is known of before");
        assert_eq!(past.look(at(2), 20), 0);
        assert_eq!(past.look(at(3), 30), 10);
        assert_eq!(past.look(at(4), 30), 10);
        assert_eq!(past.look(at(5), 31), 20);
        assert_eq!(past.look(at(60), 31), 31, "no record came meanwhile");
    }
}
