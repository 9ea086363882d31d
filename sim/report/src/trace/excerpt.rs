//! The last actions and observations of some users, for the report of a violation.

use chat_types::Span;

use crate::FailureExcerpt;
use sim_model::outcome::START;
use sim_model::protocol::User;
use sim_model::run_log::{Logged, RunLog};
use sim_model::user_name::UserName;

/// One line of the clients' observations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedLine {
    /// The time since the start of the run.
    pub at: Span,
    /// The lane of its user; none for what affects all, such as a crash.
    pub lane: Option<usize>,
    /// A short description.
    pub text: String,
    /// Whether the violation was found here.
    pub blamed: bool,
}

/// The names of these users, in their order, and the last lines of the run until the violation, in the
/// order they happened: at most `keep` of all users. Every user has a fair share of them, so that a
/// busy user does not displace the others; the world's records in between are added.
#[must_use]
pub fn excerpt(log: &RunLog, until: Span, users: &[User], keep: usize) -> FailureExcerpt {
    let name = |user: &User| {
        let its = log.entries.iter().find(|entry| entry.user == Some(*user));
        let agent = its.and_then(|entry| entry.agent);
        let name = agent.map_or("", |agent| &*log.clients[&agent].name);
        UserName::new(Some(*user), name).to_string()
    };
    let names: Vec<String> = users.iter().map(name).collect();
    let mut lines: Vec<ObservedLine> = Vec::new();
    for entry in &log.entries {
        let at = entry.at.since(START);
        let Some((mark, words)) = entry.said.as_ref().filter(|_| at <= until) else {
            continue;
        };
        if matches!(entry.what, Logged::Received { is_first, .. } if !is_first) {
            continue;
        }
        let is_again = matches!(entry.what, Logged::Answered { is_first, .. } if !is_first);
        let again = if is_again { " (again)" } else { "" };
        let lane = users.iter().position(|user| Some(*user) == entry.user);
        let lane = lane.filter(|_| entry.is_of_client());
        let text = match lane {
            Some(_) => format!("{mark} {words}{again}"),
            None if entry.is_of_client() => continue,
            None => words.clone(),
        };
        lines.push(ObservedLine {
            at,
            lane,
            text,
            blamed: false,
        });
    }
    let count = |lane| lines.iter().filter(|one| one.lane == Some(lane)).count();
    let mut kept: Vec<usize> = (0..users.len()).map(count).collect();
    let mut left_out = vec![0; users.len()];
    while kept.iter().sum::<usize>() > keep
        && let Some(busiest) = (0..users.len()).max_by_key(|lane| kept[*lane])
    {
        kept[busiest] -= 1;
        left_out[busiest] += 1;
    }
    // The world is shown from the first kept line on.
    let mut has_begun = false;
    lines.retain(|line| {
        if let Some(lane) = line.lane {
            if left_out[lane] > 0 {
                left_out[lane] -= 1;
                return false;
            }
            has_begun = true;
        }
        has_begun
    });
    // Of the lines at the time of the violation, marks the first named user's last one; without
    // any, the last of all.
    let shown = lines.iter_mut();
    let shown = shown.filter(|line| line.lane.is_some() && line.at == until);
    if let Some(line) = shown.max_by_key(|line| line.lane == Some(0)) {
        line.blamed = true;
    }
    FailureExcerpt {
        users: names,
        lines,
        other_hash: None,
    }
}
