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
        let line = |user: &str, text: String| ObservedLine {
            at,
            user: user.to_owned(),
            text,
            blamed: false,
        };
        if matches!(entry.what, Logged::Received { is_first, .. } if !is_first) {
            continue;
        }
        let is_again = matches!(entry.what, Logged::Answered { is_first, .. } if !is_first);
        let again = if is_again { " (again)" } else { "" };
        if !entry.is_of_client() {
            world.push((order, line("", words.clone())));
        } else if let Some(lane) = users.iter().position(|user| Some(*user) == entry.user) {
            let text = format!("{mark} {words}{again}");
            lanes[lane].push((order, line(&names[lane], text)));
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
    let of_first = |line: &ObservedLine| Some(&line.user) == names.first();
    let shown = kept.iter_mut().map(|(_, line)| line);
    let shown = shown.filter(|line| line.at == until);
    if let Some(line) = shown.max_by_key(|line| of_first(line)) {
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
