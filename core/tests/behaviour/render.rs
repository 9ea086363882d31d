//! Renders replies, refusals, events and reads for people.

use std::fmt::Write as _;

use chat_core::{
    Body, Event, Gap, Hub, Item, MemberView, Notice, NoticeKind, Page, Reject, Reply, Span, Time,
    UserId, WasWaiting, Who,
};

/// An instant as the script writes it: the span since its beginning.
pub(crate) fn time(at: Time) -> Span {
    at.since(Time(0))
}

/// A participant's name, or its id if its registration ended.
pub(crate) fn name(hub: &Hub, user: UserId) -> String {
    hub.who_is(user)
        .map_or_else(|| user.to_string(), |who| who.name.to_string())
}

fn shown(who: &Who) -> String {
    match &who.chosen_id {
        Some(id) => format!("{} ({id})", who.name),
        None => who.name.to_string(),
    }
}

pub(crate) fn outcome(hub: &Hub, outcome: &Result<Reply, Reject>) -> String {
    match outcome {
        Ok(reply) => accepted(hub, reply),
        Err(reject) => format!("refused, {}: {reject}", reject.code()),
    }
}

fn accepted(hub: &Hub, reply: &Reply) -> String {
    match reply {
        Reply::Waiting {
            user,
            position,
            estimated_wait,
        } => {
            let wait = estimated_wait.map_or("unknown".to_owned(), |wait| wait.to_string());
            format!("{user} waits at {position}, estimated wait {wait}")
        }
        Reply::Matched {
            user,
            room,
            partner,
        } => format!("{user} matched with {} in {room}", shown(partner)),
        Reply::LeftQueue {
            left: WasWaiting::Yes,
        } => "left the queue".into(),
        Reply::LeftQueue {
            left: WasWaiting::No,
        } => "was not waiting".into(),
        Reply::LoggedIn { user, room } => format!("{user} in {room}"),
        Reply::Sent {
            room,
            room_seq,
            at,
            turns_left,
        } => {
            let left = turns_left.map_or(String::new(), |left| format!(", turns left {left}"));
            format!("sent {room}/{room_seq} at {}{left}", time(*at))
        }
        Reply::LeftChat => "left".into(),
        Reply::Stick {
            room,
            place,
            epoch,
            holder,
            lease_until,
        } => format!(
            "place {place} in {room}; {} holds epoch {epoch} until {}",
            name(hub, *holder),
            time(*lease_until)
        ),
        Reply::Draft {
            length,
            cut,
            suffix,
        } => match suffix {
            Some(suffix) => format!("draft of {length}, {cut} cut, ends {suffix:?}"),
            None => format!("draft of {length}, {cut} cut"),
        },
        Reply::OnBreak {
            user,
            kind,
            stress,
            boss_alert,
            flavour: _,
            answer_at,
        } => format!(
            "{user} on {}, stress {stress}, boss {boss_alert}, told at {}",
            kind.name(),
            time(*answer_at)
        ),
        Reply::Done | Reply::Lifted { found: true } => "done".into(),
        Reply::Lifted { found: false } => "nothing to lift".into(),
    }
}

pub(crate) fn event(event: &Event) -> String {
    format!(
        "{}/{} {}{}",
        event.room,
        event.room_seq,
        event.kind(),
        body(&event.body)
    )
}

fn body(body: &Body) -> String {
    match body {
        Body::Found([a, b]) => format!(" {} and {}", shown(a), shown(b)),
        Body::Message {
            sender,
            text,
            epoch,
            to,
        } => {
            let epoch = epoch.map_or(String::new(), |epoch| format!(" under epoch {epoch}"));
            let to: Vec<_> = to.iter().map(|who| shown(who)).collect();
            let to = match to.is_empty() {
                true => String::new(),
                false => format!(" to {}", to.join(", ")),
            };
            format!(" {}{to}: {text:?}{epoch}", shown(sender))
        }
        Body::PartnerDisconnected(reason) => format!(" {}", reason.name()),
        Body::PartnerAway(who)
        | Body::PartnerReconnected(who)
        | Body::Joined(who)
        | Body::Left(who)
        | Body::Away(who)
        | Body::Back(who) => format!(" {}", shown(who)),
        Body::StickClaimed { user, place } => format!(" {} place {place}", shown(user)),
        Body::StickGranted { user, epoch, lease } => {
            format!(" {} epoch {epoch} for {lease}", shown(user))
        }
        Body::StickReleased { user, epoch } | Body::StickExpired { user, epoch } => {
            format!(" {} epoch {epoch}", shown(user))
        }
        Body::Muted { user, reason } | Body::Kicked { user, reason } => {
            format!(" {} {reason:?}", shown(user))
        }
        Body::Closed { reason } => format!(" {reason:?}"),
    }
}

pub(crate) fn notice(notice: &Notice) -> String {
    match notice.kind {
        NoticeKind::Typing => format!("{} types", shown(&notice.user)),
        NoticeKind::Waiting(span) => format!("{} has waited {span}", shown(&notice.user)),
    }
}

pub(crate) fn gap(gap: &Gap) -> String {
    let mut text = format!("gap {} to {}", gap.from, gap.to);
    for range in &gap.rooms {
        let _ = write!(text, ", {}/{} to {}", range.room, range.from, range.to);
        let counted = (range.messages > 0).then(|| format!("{} said", range.messages));
        let you = range.you.map(|change| format!("you {}", change.name()));
        let members = range.members_changed.then(|| "members changed".to_owned());
        let stick = range
            .stick
            .map(|loss| format!("your stick {} epoch {}", loss.name(), loss.epoch()));
        let moved = range.stick_changed.then(|| "stick changed".to_owned());
        let ended = range.ended.map(|why| format!("ended {}", why.name()));
        let said = [counted, you, members, stick, moved, ended];
        let said: Vec<_> = said.into_iter().flatten().collect();
        if !said.is_empty() {
            let _ = write!(text, " ({})", said.join(", "));
        }
    }
    if gap.rooms_omitted {
        text.push_str(", and more rooms");
    }
    text
}

pub(crate) fn page(page: &Page) -> String {
    let mut text = format!("cursor {}, {} unread", page.cursor, page.unread);
    for item in page.items() {
        let _ = match item {
            Item::Gap(lost) => write!(text, "\n    {}", gap(lost)),
            Item::Event(seq, one) => write!(text, "\n    #{seq} {}", event(one)),
        };
    }
    text
}

pub(crate) fn members(members: &[MemberView]) -> String {
    let one = |member: &MemberView| {
        let presence = member.presence.name();
        format!(
            "{} {presence} since {} read to {}",
            shown(&member.who),
            time(member.since),
            member.read_to
        )
    };
    members.iter().map(one).collect::<Vec<_>>().join(", ")
}
