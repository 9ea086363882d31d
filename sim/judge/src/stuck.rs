//! Users that are unfinished when a run ends: users whose `await` timed out, and users that have
//! not finished their flow and read their whole inbox.
//!
//! Two kinds of users are not stuck: users that disconnected permanently, and the odd one out,
//! which waited for a match while no other user was in the queue for as long as a match takes.

use crate::metrics::{Metrics, OpenClaim, OpenWait};
use sim_model::outcome::{DisconnectedHolder, START, Stuck, UserOutcome, Waiting, WorldOutcome};
use sim_model::user_name::UserName;

/// The event that ends a wait for a partner, and the one that ends a wait for the stick.
const FOUND: &str = "chatroom.found";
const GRANTED: &str = "stick.granted";

/// The stuck users of a finished run, and the number of those that were the odd one out; its metrics
/// must be finished too.
pub(crate) fn stuck(ran: &WorldOutcome, metrics: &Metrics) -> (Vec<Stuck>, u64) {
    let mut alone = 0;
    let of = |(index, user): (usize, &UserOutcome)| {
        let waiting = user.waiting.clone()?;
        if waiting.waiting_for == FOUND && metrics.is_odd_one_out(index) {
            alone += 1;
            return None;
        }
        let open = metrics.open_wait(index);
        let holder = match open {
            Some(OpenWait::Stick(claim)) if waiting.waiting_for == GRANTED => claim.holder,
            Some(OpenWait::Stick(_) | OpenWait::Partner(_)) | None => None,
        };
        let holder = holder.map(|holder| {
            let user = &ran.users[holder.agent];
            DisconnectedHolder {
                who: UserName::new(holder.user.or(user.user), &user.name),
                since_ms: holder.since.since(START).as_millis(),
            }
        });
        let waiting = in_words_of_the_protocol(waiting, open);
        Some(Stuck {
            who: user.shown(),
            at: waiting.at,
            waiting_for: waiting.waiting_for,
            since_ms: waiting.since.since(START).as_millis(),
            holder,
            seed: ran.seed,
        })
    };
    let stuck = ran.users.iter().enumerate().filter_map(of).collect();
    (stuck, alone)
}

/// The event that the user waits for, and since when it waits for its content: longer than its
/// `await`.
fn in_words_of_the_protocol(waiting: Waiting, open: Option<OpenWait>) -> Waiting {
    let (waiting_for, since) = match (waiting.waiting_for.as_str(), open) {
        (FOUND, Some(OpenWait::Partner(since))) => ("a partner in the queue".to_owned(), since),
        (FOUND, _) => ("a partner".to_owned(), waiting.since),
        (GRANTED, Some(OpenWait::Stick(OpenClaim { room, since, .. }))) => {
            (format!("the stick of room_{}", room.0), since)
        }
        (GRANTED, _) => ("the stick, without a claim".to_owned(), waiting.since),
        _ => return waiting,
    };
    Waiting {
        waiting_for,
        since,
        ..waiting
    }
}
