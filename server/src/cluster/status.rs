//! `talking-stick cluster status`: what each member says of itself; and `talking-stick cluster resign`: the
//! owner hands the log over, and goes on as a follower.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::StreamExt as _;
use server_chat::driver::Wake;
use server_chat::render_text::{json_line, one_line};
use server_nats::{CallError, Incoming, Log, LogReader};
use server_settings::ClusterSettings;
use tokio::time::Instant;

use super::ClusterError;
use super::standing::{Membership, role_word};
use super::wire::{MemberStatus, RESIGN, STATUS, decode, encode};

/// How long the members have to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long the owner has to answer that it resigns.
const ANSWER: Duration = Duration::from_secs(2);

/// How long a member has to take over. One that is alone claims the log again after seven seconds.
const TAKING_OVER: Duration = Duration::from_secs(15);

/// Answers for this member.
pub(super) async fn serve(member: Membership) {
    let Some(mut serving) = member.log.serve(STATUS).await else {
        return;
    };
    while let Some(call) = serving.next().await {
        let known = member.standing.borrow().clone();
        let state = member
            .local
            .look(|view| (view.hub.position().0, view.hub.digest()));
        let Ok((position, digest)) = state.await else {
            continue;
        };
        let status = MemberStatus {
            member: member.name.clone(),
            role: role_word(known.role).into(),
            sequence: known.sequence,
            epoch: known.epoch,
            owner: known.owner.map(|owner| owner.to_string()),
            position,
            digest,
            version: env!("CARGO_PKG_VERSION").into(),
        };
        call.answer(encode(&status)).await;
    }
}

/// Asks all members, and returns a table of their answers, or one JSON array.
///
/// # Errors
/// The log cannot be opened.
pub(crate) async fn status(
    cluster: &ClusterSettings,
    is_json: bool,
) -> Result<String, ClusterError> {
    let log = Log::open(cluster).await?;
    let members = members(log.reader()).await;
    Ok(match is_json {
        true => json(&members),
        false => table(&members),
    })
}

/// What the members say of themselves, in the order of their names.
async fn members(log: &LogReader) -> Vec<MemberStatus> {
    let answers = log.ask_all(STATUS, encode(&()), PATIENCE).await;
    let mut members: Vec<MemberStatus> = answers.iter().filter_map(|bytes| decode(bytes)).collect();
    members.sort_by(|a, b| a.member.cmp(&b.member));
    members
}

fn json(members: &[MemberStatus]) -> String {
    let object = |member: &MemberStatus| {
        let mut object = serde_json::json!(member);
        object["digest"] = format!("{:016x}", member.digest).into();
        object
    };
    let list: Vec<_> = members.iter().map(object).collect();
    format!("{}\n", json_line(&list.into()))
}

fn table(members: &[MemberStatus]) -> String {
    if members.is_empty() {
        return "no member answers\n".into();
    }
    let last = members.iter().map(|member| member.sequence).max();
    let last = last.unwrap_or_default();
    // They come from the network.
    let names = members.iter().map(|member| one_line(&member.member));
    let names: Vec<String> = names.collect();
    let width = names.iter().map(String::len).max();
    let width = width.unwrap_or_default().max("member".len());
    let mut text = format!(
        "{:width$}  {:9}  {:>5}  {:>10}  {:>6}  {:>10}  {:16}  version\n",
        "member", "role", "epoch", "sequence", "behind", "position", "digest"
    );
    for (member, name) in members.iter().zip(names) {
        let behind = last - member.sequence;
        // A text takes everything.
        let _ = writeln!(
            text,
            "{name:width$}  {:9}  {:>5}  {:>10}  {behind:>6}  {:>10}  {:016x}  {}",
            one_line(&member.role),
            member.epoch,
            member.sequence,
            member.position,
            member.digest,
            one_line(&member.version)
        );
    }
    text
}

/// The request to resign, from the connection of the log to the driver.
#[derive(Default)]
pub(super) struct Resignation {
    is_asked: AtomicBool,
    /// What wakes the driver, once there is one.
    pub(super) wake: OnceLock<Wake>,
}

impl Resignation {
    /// Whether the owner was asked since the last time.
    pub(super) fn take(&self) -> bool {
        self.is_asked.swap(false, Ordering::Acquire)
    }
}

/// Takes requests to resign while this member has the node.
pub(super) async fn serve_resignations(member: Membership, resignation: Arc<Resignation>) {
    let (name, standing) = (member.name.clone(), member.standing.clone());
    let answer = move |call: Incoming| {
        let answer = encode(&(&name, standing.borrow().epoch));
        tracing::info!("this member is asked to resign");
        resignation.is_asked.store(true, Ordering::Release);
        if let Some(wake) = resignation.wake.get() {
            wake();
        }
        call.answer(answer)
    };
    member.serve_with_node(RESIGN, answer).await;
}

/// Asks the owner to resign, waits until a member owns the log under a later epoch, and returns a
/// sentence about both.
///
/// # Errors
/// The log cannot be opened, there is no owner, or no member takes over.
pub(crate) async fn resign(cluster: &ClusterSettings) -> Result<String, ClusterError> {
    let silent =
        "the owner does not answer: `talking-stick cluster status` shows whether it resigned";
    let log = Log::open(cluster).await?;
    let answer = log.reader().ask(RESIGN, encode(&()), ANSWER).await;
    let answer = answer.map_err(|error| match error {
        CallError::NoOwner => "no member of the realm is the owner now",
        CallError::Unanswered => silent,
    })?;
    let (member, epoch): (String, u64) = decode(&answer).ok_or(silent)?;
    let until = Instant::now() + TAKING_OVER;
    while Instant::now() < until {
        let members = members(log.reader()).await;
        let mut owners = members.iter().filter(|found| found.role == "owner");
        if let Some(owner) = owners.find(|owner| owner.epoch > epoch) {
            return Ok(format!(
                "{member} resigned in epoch {epoch}\n{} is the owner in epoch {}\n",
                owner.member, owner.epoch
            ));
        }
    }
    Err(format!("{member} resigned, and no member took over within 15 seconds").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_members_say_moves_no_cursor_and_makes_no_line() {
        let hostile = "a\x1b[2J\nb\u{9b}c\u{202e}";
        let member = MemberStatus {
            member: hostile.into(),
            role: hostile.into(),
            sequence: 1,
            epoch: 1,
            owner: None,
            position: 1,
            digest: 1,
            version: hostile.into(),
        };
        let table = table(std::slice::from_ref(&member));
        assert_eq!(table.lines().count(), 2, "{table}");
        let json = json(&[member]);
        for text in [table, json] {
            assert!(
                text.trim_end()
                    .chars()
                    .all(|c| c == '\n' || c.is_ascii_graphic() || c == ' '),
                "{text:?}"
            );
        }
    }
}
