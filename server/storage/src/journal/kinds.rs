//! The kinds of a batch's entries, for the eyes of people with ordinary tools.

use chat_core::{Entry, Implied, Operate};

/// The kinds as a JSON list, in the order of the entries.
pub(super) fn kinds(entries: &[Entry]) -> String {
    let kinds: Vec<_> = entries.iter().map(kind).collect();
    format!("[\"{}\"]", kinds.join("\",\""))
}

const fn kind(entry: &Entry) -> &'static str {
    match entry {
        Entry::Call { command, .. } => command.tool(),
        Entry::Implied { implied, .. } => match implied {
            Implied::OpenStream => "stream.opened",
            Implied::CloseStream => "stream.closed",
            Implied::Seen { .. } => "seen",
            Implied::Read { .. } => "read",
        },
        Entry::Operate { act, .. } => of_act(act),
        Entry::Tick => "tick",
        Entry::Started { .. } => "started",
        Entry::Resumed { .. } => "resumed",
        Entry::Stepped => "stepped",
    }
}

const fn of_act(act: &Operate) -> &'static str {
    match act {
        Operate::Mute { .. } => "operator.mute",
        Operate::Unmute { .. } => "operator.unmute",
        Operate::Kick { .. } => "operator.kick",
        Operate::Close { .. } => "operator.close",
        Operate::BanUser { .. } => "operator.ban",
        Operate::MuteAddress { .. } => "operator.mute_address",
        Operate::BanAddress { .. } => "operator.ban_address",
        Operate::Unban { .. } => "operator.unban",
        Operate::UnbanAddress { .. } => "operator.unban_address",
    }
}
