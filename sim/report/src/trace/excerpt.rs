//! The last actions and observations of some users, for the report of a violation.

use chat_types::Span;

use sim_model::outcome::START;
use sim_model::protocol::User;
use sim_model::run_log::{Logged, RunLog};
use sim_model::user_name::UserName;

/// One line of the clients' observations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedLine {
    /// The time since the start of the run.
    pub at: Span,
    /// The user, such as `user_7 (penpal#12)`; empty for what affects all, such as a crash.
    pub user: String,
    /// A short description.
    pub text: String,
    /// Whether the violation was found here.
    pub blamed: bool,
}

/// The names of these users, in their order, and the last lines of the run until the violation, in the
/// order they happened: at most `keep` of all users. Every user has a fair share of them, so that a
/// busy user does not displace the others; the world's records in between are added.
#[must_use]
pub fn excerpt(
    log: &RunLog,
    until: Span,
    users: &[User],
    keep: usize,
) -> (Vec<String>, Vec<ObservedLine>) {
    let name = |user: &User| {
        let its = log.entries.iter().find(|entry| entry.user == Some(*user));
        let agent = its.and_then(|entry| entry.agent);
        let name = agent.map_or("", |agent| &*log.clients[&agent].name);
        UserName::new(Some(*user), name).to_string()
    };
    let names: Vec<String> = users.iter().map(name).collect();
    let mut lanes = vec![Vec::new(); users.len()];
    let mut world = Vec::new();
    for (order, entry) in log.entries.iter().enumerate() {
        let at = entry.at.since(START);
        let Some((mark, words)) = entry.said.as_ref().filter(|_| at <= until) else {
            continue;
        };
        let mut line = ObservedLine {
            at,
            user: String::new(),
            text: words.clone(),
            blamed: false,
        };
        if let Logged::Received {
            is_first: false, ..
        } = entry.what
        {
            continue;
        }
        if !entry.is_of_client() {
            world.push((order, line));
        } else if let Some(lane) = users.iter().position(|user| Some(*user) == entry.user) {
            let is_again = matches!(
                entry.what,
                Logged::Answered {
                    is_first: false,
                    ..
                }
            );
            let again = if is_again { " (again)" } else { "" };
            line.text = format!("{mark} {words}{again}");
            line.user.clone_from(&names[lane]);
            lanes[lane].push((order, line));
        }
    }
    let shares = shares(keep, &lanes);
    let mut kept: Vec<(usize, ObservedLine)> = Vec::new();
    for (lane, share) in lanes.into_iter().zip(shares) {
        let skip = lane.len() - share;
        kept.extend(lane.into_iter().skip(skip));
    }
    kept.sort_by_key(|(order, _)| *order);
    // Of the lines at the time of the violation, marks the first named user's last one; without
    // any, the last of all.
    let shows = |entry: &&mut (usize, ObservedLine)| entry.1.at == until;
    let mine = |entry: &&mut (usize, ObservedLine)| Some(&entry.1.user) == names.first();
    if let Some((_, line)) = kept.iter_mut().rev().filter(shows).find(mine) {
        line.blamed = true;
    } else if let Some((_, line)) = kept.iter_mut().rev().find(shows) {
        line.blamed = true;
    }
    if let Some(first) = kept.first().map(|(order, _)| *order) {
        kept.extend(world.into_iter().filter(|(order, _)| *order > first));
        kept.sort_by_key(|(order, _)| *order);
    }
    (names, kept.into_iter().map(|(_, line)| line).collect())
}

/// The number of lines of each lane: as equal as possible.
fn shares(keep: usize, lanes: &[Vec<(usize, ObservedLine)>]) -> Vec<usize> {
    let mut shares = vec![0; lanes.len()];
    let mut left = keep;
    while left > 0 {
        let mut grew = false;
        for (share, lane) in shares.iter_mut().zip(lanes) {
            if left > 0 && *share < lane.len() {
                *share += 1;
                left -= 1;
                grew = true;
            }
        }
        if !grew {
            break;
        }
    }
    shares
}
