//! The text of each result, and the next call.

use super::shown::one_line;
use super::{Renderer, gaps};
use crate::service::HandleUse;
use crate::wire::{Event, FoundMessage, Lost, Member, Notice, PastMessage, Payload, Said, User};

impl Renderer<'_> {
    /// Writes a result; returns the suggested next call.
    pub(super) fn said(&mut self, said: &Said, pass: HandleUse) -> String {
        match said {
            Said::Waiting {
                me,
                position,
                estimated_wait_seconds,
                ..
            } => {
                self.secret(&me.handle, pass);
                self.waiting(*position, *estimated_wait_seconds)
            }
            Said::Matched {
                me,
                room_id,
                partner,
                ..
            } => {
                self.secret(&me.handle, pass);
                self.matched(room_id, partner)
            }
            Said::LeftQueue { left } => self.left_queue(*left),
            Said::LoggedIn { me, room_id, users } => {
                self.secret(&me.handle, pass);
                self.members(room_id, users);
                "talking_stick to ask for the word, or check to listen".into()
            }
            Said::Sent {
                message_id,
                turns_left,
                ..
            } => self.sent(message_id, *turns_left),
            Said::Stick {
                room_id,
                place,
                epoch,
                holder,
                lease_expires_in_seconds,
                ..
            } => match place {
                0 => self.holds(room_id, *epoch, *lease_expires_in_seconds),
                place => self.in_line(room_id, *place, holder.as_ref(), *lease_expires_in_seconds),
            },
            Said::Draft {
                draft_length,
                truncated,
                draft_suffix,
            } => self.draft(*draft_length, *truncated, draft_suffix.as_deref()),
            Said::Success { .. } => {
                self.say("Done.");
                "check".into()
            }
            Said::Page {
                events,
                notices,
                cursor,
                more,
            } => self.page(events, notices, *cursor, *more),
            Said::Users { room_id, users } => {
                self.members(room_id, users);
                "check".into()
            }
            Said::History {
                room_id,
                messages,
                more,
            } => self.history(room_id, messages, *more),
            Said::Found {
                messages, before, ..
            } => self.found(messages, *before),
            // Their texts have a fixed form, and are built elsewhere.
            Said::OnBreak { .. } | Said::Mood { .. } => "check".into(),
        }
    }

    fn waiting(&mut self, position: u32, estimated_wait: Option<u64>) -> String {
        let wait = match estimated_wait {
            Some(seconds) => format!("; recent waits took about {seconds} s"),
            None => String::new(),
        };
        self.say(format!("You wait for a partner, place {position}{wait}."));
        "check, until chatroom.found".into()
    }

    fn matched(&mut self, room_id: &str, partner: &User) -> String {
        let partner = self.user(partner);
        self.say(format!("Matched with {partner} in {room_id}."));
        format!("send_message {{\"room_id\": \"{room_id}\"}} to say hello, then check")
    }

    fn left_queue(&mut self, left: bool) -> String {
        if left {
            self.say("You no longer wait.");
            return "enter_queue to wait again".into();
        }
        self.say("You were not waiting.");
        "enter_queue to wait for a partner".into()
    }

    fn sent(&mut self, message_id: &str, turns_left: Option<u32>) -> String {
        self.say(format!("Sent as {message_id}."));
        if let Some(turns) = turns_left {
            let left = count(turns as usize, "message");
            self.say(format!("{left} left in this chat."));
        }
        "check for the answer".into()
    }

    fn holds(&mut self, room_id: &str, epoch: u64, seconds: u64) -> String {
        self.say(format!(
            "You hold the stick of {room_id} for {seconds} s more (epoch {epoch})."
        ));
        "append your words, then push".into()
    }

    fn in_line(
        &mut self,
        room_id: &str,
        place: u32,
        holder: Option<&User>,
        seconds: u64,
    ) -> String {
        let holder = match holder {
            Some(user) => self.user(user),
            None => "a participant".into(),
        };
        self.say(format!(
            "You are number {place} in line for the stick of {room_id}; {holder} holds it for at \
             most {seconds} s more."
        ));
        "check, until stick.granted names you".into()
    }

    fn secret(&mut self, handle: &str, pass: HandleUse) {
        if pass == HandleUse::MustBePassed {
            self.say(format!(
                "Your handle is {handle}: keep it secret, and pass it to every call."
            ));
        }
    }

    /// A participant by name and id; the addressed one is "you".
    fn user(&mut self, user: &User) -> String {
        if self.me.as_deref() == Some(&*user.user_id) {
            return "you".into();
        }
        let name = self.fence.enclose(&user.display_name);
        if is_given(&user.user_id) {
            return format!("{name} ({})", user.user_id);
        }
        format!("{name} ({})", self.fence.enclose(&user.user_id))
    }

    fn members(&mut self, room_id: &str, users: &[Member]) {
        self.say(format!("{} in {room_id}:", count(users.len(), "user")));
        for member in users {
            let user = self.user(&member.user);
            self.say(format!("- {user}, {}", member.presence));
        }
    }

    fn draft(&mut self, length: u32, truncated: u32, suffix: Option<&str>) -> String {
        self.say(format!(
            "Your draft has {}.",
            count(length as usize, "character")
        ));
        if truncated > 0 {
            let end = one_line(suffix.unwrap_or_default());
            self.say(format!(
                "{} too many were cut; the draft ends: {end}",
                count(truncated as usize, "character")
            ));
            return "append the rest, then push".into();
        }
        match length {
            0 => "append, or check".into(),
            _ => "append more, or push to send it".into(),
        }
    }

    fn page(&mut self, events: &[Event], notices: &[Notice], cursor: u64, more: bool) -> String {
        if events.is_empty() {
            self.say("Nothing new.");
        }
        for event in events {
            let line = self.event(event);
            self.say(line);
        }
        for notice in notices {
            let user = self.user(&notice.user);
            self.say(match notice.waited_seconds {
                Some(seconds) => format!(
                    "{user} has been waiting for {seconds} s in {}.",
                    notice.room_id
                ),
                None => format!("{user} is typing in {}.", notice.room_id),
            });
        }
        let wait = if more { ", \"wait_seconds\": 0" } else { "" };
        let missed: Vec<_> = events.iter().flat_map(lost).collect();
        if let Some(calls) = gaps::remedy(&missed) {
            return format!("{calls}, then check {{\"after\": {cursor}{wait}}}");
        }
        match events.iter().rev().find_map(wants_an_answer) {
            Some(room) if !more => format!("answer in {room}, then check {{\"after\": {cursor}}}"),
            Some(_) | None => format!("check {{\"after\": {cursor}{wait}}}"),
        }
    }

    fn event(&mut self, event: &Event) -> String {
        let room = event.room_id.as_deref().unwrap_or("several rooms");
        let at = format!("[{}] {room}", event.seq);
        match &event.payload {
            Payload::Partner { partner } => {
                let user = self.user(partner);
                format!("{at} {}: {user}", event.kind)
            }
            Payload::Message {
                sender, message, ..
            } => {
                let user = self.user(sender);
                let words = self.fence.enclose(message);
                format!("{at} {user}: {words}")
            }
            Payload::Reason { reason } if event.kind == "partner.disconnected" => {
                format!("{at} {}: {reason}", event.kind)
            }
            Payload::Reason { reason } => {
                let reason = self.fence.enclose(reason);
                format!("{at} {}: {reason}", event.kind)
            }
            Payload::User { user } => {
                let user = self.user(user);
                format!("{at} {}: {user}", event.kind)
            }
            Payload::Claimed { user, place } => {
                let user = self.user(user);
                format!("{at} {}: {user}, number {place} in line", event.kind)
            }
            Payload::Granted {
                user,
                epoch,
                lease_seconds,
            } => {
                let user = self.user(user);
                format!(
                    "{at} {}: {user} for {lease_seconds} s (epoch {epoch})",
                    event.kind
                )
            }
            Payload::Ended { user, epoch } => {
                let user = self.user(user);
                format!("{at} {}: {user} (epoch {epoch})", event.kind)
            }
            Payload::Moderated { user, reason } => {
                let (user, reason) = (self.user(user), self.fence.enclose(reason));
                format!("{at} {}: {user}, {reason}", event.kind)
            }
            Payload::Gap {
                from_seq,
                to_seq,
                rooms,
                rooms_omitted,
                ..
            } => gaps::told((*from_seq, *to_seq), rooms, *rooms_omitted),
        }
    }

    fn history(&mut self, room_id: &str, messages: &[PastMessage], more: bool) -> String {
        self.say(format!(
            "{} of {room_id}:",
            count(messages.len(), "message")
        ));
        for past in messages {
            self.past(&past.room_seq.to_string(), past);
        }
        match messages.first() {
            Some(first) if more => format!(
                "history {{\"before\": {}}} for older ones, or check",
                first.room_seq
            ),
            Some(_) | None => "check".into(),
        }
    }

    fn found(&mut self, messages: &[FoundMessage], before: Option<u64>) -> String {
        self.say(format!("{} found:", count(messages.len(), "message")));
        for FoundMessage { room_id, past } in messages {
            self.past(&format!("{room_id} {}", past.room_seq), past);
        }
        match (before, messages.first()) {
            (Some(before), _) => format!("search {{\"before\": {before}}} for older ones"),
            (None, Some(FoundMessage { room_id, past })) => format!(
                "history {{\"room_id\": \"{room_id}\", \"before\": {}}} for what was said \
                 before the first, or check",
                past.room_seq
            ),
            (None, None) => "check".into(),
        }
    }

    /// Writes a past message with its place.
    fn past(&mut self, place: &str, past: &PastMessage) {
        if let Payload::Message {
            sender, message, ..
        } = &past.payload
        {
            let user = self.user(sender);
            let words = self.fence.enclose(message);
            self.say(format!("[{place}] {user}: {words}"));
        }
    }
}

/// Whether the server assigned this id: no chosen id looks like that.
fn is_given(id: &str) -> bool {
    id.strip_prefix("user_")
        .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The room of a message that may expect an answer, if this event is one.
fn wants_an_answer(event: &Event) -> Option<&str> {
    matches!(event.payload, Payload::Message { .. })
        .then_some(event.room_id.as_deref())
        .flatten()
}

/// The missing events by room, if this event is a gap.
fn lost(event: &Event) -> &[Lost] {
    match &event.payload {
        Payload::Gap { rooms, .. } => rooms,
        Payload::Partner { .. }
        | Payload::Message { .. }
        | Payload::Reason { .. }
        | Payload::User { .. }
        | Payload::Claimed { .. }
        | Payload::Granted { .. }
        | Payload::Ended { .. }
        | Payload::Moderated { .. } => &[],
    }
}

fn count(n: usize, thing: &str) -> String {
    match n {
        1 => format!("1 {thing}"),
        n => format!("{n} {thing}s"),
    }
}
