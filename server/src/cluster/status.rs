//! `talking-stick cluster status`: what each member says of itself.

use std::fmt::Write as _;
use std::time::Duration;

use server_chat::driver::NodeClient;
use server_chat::render_text::{json_line, one_line};
use server_nats::{Calls, Log};
use server_settings::ClusterSettings;

use super::standing::{Standings, role_word};
use super::wire::{MemberStatus, STATUS, decode, encode};
use super::{ClusterError, options};

/// How long the members have to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Answers for this member.
pub(super) async fn serve(
    calls: Calls,
    local: NodeClient,
    (member, standing): (String, Standings),
) {
    let Some(mut serving) = calls.serve(STATUS).await else {
        return;
    };
    while let Some(call) = serving.next().await {
        let known = standing.borrow().clone();
        let state = local.look(|view| (view.hub().position().0, view.hub().digest()));
        let Some((position, digest)) = state.await else {
            continue;
        };
        let status = MemberStatus {
            member: member.clone(),
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
    let log = Log::open(&options(cluster)?).await?;
    let members = members(&log.reader().calls()).await;
    Ok(match is_json {
        true => json(&members),
        false => table(&members),
    })
}

/// What the members say of themselves, in the order of their names.
pub(super) async fn members(calls: &Calls) -> Vec<MemberStatus> {
    let answers = calls.ask_all(STATUS, encode(&()), PATIENCE).await;
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
