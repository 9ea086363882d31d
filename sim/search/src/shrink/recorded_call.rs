//! A recorded call, as a step writes it.

use std::sync::Arc;

use super::attempts::fixed;
use sim_model::plan::{Argument, Grant, Text, Verb};
use sim_model::protocol::{Command, EnterQueue, Op, OpKind, Read};

/// Returns the operation as a step. The step omits the client's own name; without `own_name`, it
/// contains the name of the call.
pub(crate) fn verb(op: &Op, own_name: Option<&str>) -> Verb {
    let drawn = |text: &Arc<str>| {
        if !text.is_ascii() {
            return Text::Words(text.clone());
        }
        Text::Length(fixed(text.chars().count().max(1) as u64))
    };
    let grant = match op.epoch() {
        None => Grant::Unnamed,
        Some(_) => Grant::Latest,
    };
    let plain = || Verb::Plain(op.kind().plain().expect("all others are below"));
    match op {
        Op::Command(Command::EnterQueue(EnterQueue {
            user_id,
            display_name,
            interests,
        })) => Verb::EnterQueue {
            name: display_name
                .as_ref()
                .and_then(|name| telling(name, own_name)),
            user_id: user_id.clone(),
            interests: interests.clone(),
        },
        Op::Command(Command::Login { room, username }) => Verb::Login {
            room: room.clone(),
            rooms: 1,
            name: telling(username, own_name),
        },
        Op::Command(Command::SendMessage { text, .. }) => Verb::Send(drawn(text)),
        Op::Command(Command::Speak { text, .. }) => Verb::Speak(drawn(text)),
        Op::Command(Command::TalkingStick { .. }) => Verb::TalkingStick(grant),
        Op::Command(Command::Append { text, .. }) => Verb::Append(drawn(text)),
        Op::Command(Command::Undo { .. }) => Verb::Undo(grant),
        Op::Command(Command::Reset { .. }) => Verb::Reset(grant),
        Op::Command(Command::ReportUser { reason, .. }) => Verb::Report {
            reason: reason.clone(),
        },
        Op::Command(Command::TakeBreak { kind, excuse }) => Verb::Break {
            kind: Some(*kind),
            excuse: excuse.clone(),
        },
        Op::Read { read, by } => match (*read, *by) {
            (Read::Mood, _) => Verb::Mood,
            (Read::Check { wait, .. }, by) => Verb::Check { wait, by },
            (Read::History { before, limit, .. }, _) => Verb::History {
                before: before.map(|before| before.0),
                limit: u32::try_from(limit).unwrap_or(u32::MAX),
            },
            _ => plain(),
        },
        _ => plain(),
    }
}

/// The name, if it may matter: neither the client's own, nor, if that is empty, a plain word, as
/// users of the steps form have.
fn telling(name: &Arc<str>, own: Option<&str>) -> Option<Arc<str>> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'#' | b'-' | b'_');
    let given = match own {
        None => false,
        Some("") => !name.is_empty() && name.bytes().all(plain),
        Some(own) => **name == *own,
    };
    (!given).then(|| name.clone())
}

/// The arguments that the call left out. A claim without a grant is a verb of its own.
pub(super) fn left_out(op: &Op) -> Vec<Argument> {
    let speaks = (op.text().is_some() && op.kind() != OpKind::Speak) || op.kind() == OpKind::Push;
    let is_bare = |read: &Read| matches!(read, Read::Check { after: None, .. });
    let without = [
        (op.room() == Some(None)).then_some(Argument::Room),
        (speaks && op.epoch().is_none()).then_some(Argument::Epoch),
        matches!(op, Op::Read { read, .. } if is_bare(read)).then_some(Argument::After),
    ];
    without.into_iter().flatten().collect()
}
