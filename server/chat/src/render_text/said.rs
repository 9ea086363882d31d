//! The text of each result.

use super::shown::one_line;
use super::{Renderer, gaps, secret};
use crate::service::HandleUse;
use crate::tools::Tool;
use crate::wire::{Event, FoundMessage, Members, Notice, PastMessage, Payload, Said, User};

impl Renderer<'_> {
    /// Writes a result.
    pub(super) fn said(&mut self, tool: Tool, said: &Said, pass: HandleUse) {
        match said {
            Said::Waiting {
                me,
                position,
                estimated_wait_seconds,
                ..
            } => {
                self.secret(&me.handle, pass);
                self.waiting(*position, *estimated_wait_seconds);
            }
            Said::Matched {
                me,
                room_id,
                partner,
                ..
            } => {
                self.secret(&me.handle, pass);
                let partner = self.user(partner);
                self.say(format!("Matched with {partner} in {room_id}."));
            }
            Said::LeftQueue { left: true } => self.say("You no longer wait."),
            Said::LeftQueue { left: false } => self.say("You were not waiting."),
            Said::LoggedIn {
                me,
                room_id,
                room,
                members,
            } => {
                self.secret(&me.handle, pass);
                // The caller gave the name, so that it needs no fence.
                let room = format!("{room_id} ({})", one_line(room));
                self.members(&room, members);
            }
            Said::Sent {
                message_id,
                room_id,
                turns_left,
                ..
            } => {
                self.sent(message_id, *turns_left);
                if tool == Tool::SendMessage {
                    self.still_holds(room_id);
                }
            }
            Said::Stick { .. } => self.stick(said),
            Said::Draft {
                draft_length,
                truncated,
                draft_suffix,
            } => {
                self.draft(*draft_length, *truncated, draft_suffix.as_deref());
                if tool == Tool::Reset {
                    self.say("You hold no stick, and wait for none, in that room.");
                }
            }
            Said::Success { .. } => self.say("Done."),
            Said::Page {
                events, notices, ..
            } => self.page(events, notices),
            Said::Users { room_id, members } => self.members(room_id, members),
            Said::History {
                room_id, messages, ..
            } => self.history(room_id, messages),
            Said::Found {
                messages, searched, ..
            } => self.found(messages, searched.as_deref()),
            // Their texts have a fixed form, and are built elsewhere.
            Said::OnBreak { .. } | Said::Mood { .. } => {}
        }
    }

    fn stick(&mut self, said: &Said) {
        if let Said::Stick {
            room_id,
            place,
            epoch,
            holder,
            lease_expires_in_seconds: seconds,
            draft_length,
            draft_suffix,
            ..
        } = said
        {
            match place {
                0 => self.holds(room_id, *epoch, *seconds),
                place => self.in_line(room_id, *place, holder.as_ref(), *seconds),
            }
            if let (Some(length), Some(suffix)) = (draft_length, draft_suffix) {
                self.say(format!(
                    "Your draft there still has {}, and ends: {}",
                    count(*length as usize, "character"),
                    one_line(suffix)
                ));
            }
        }
    }

    fn waiting(&mut self, position: u32, estimated_wait: Option<u64>) {
        let wait = match estimated_wait {
            Some(seconds) => format!("; recent waits took about {seconds} s"),
            None => String::new(),
        };
        self.say(format!("You wait for a partner, place {position}{wait}."));
    }

    fn sent(&mut self, message_id: &str, turns_left: Option<u32>) {
        self.say(format!("Sent as {message_id}."));
        if let Some(turns) = turns_left {
            let left = count(turns as usize, "message");
            self.say(format!("{left} left in this chat."));
        }
    }

    /// Says that a message sent directly has not given the stick back.
    fn still_holds(&mut self, room_id: &str) {
        let mut rooms = self.standing.into_iter().flat_map(|me| &me.rooms);
        let held = rooms.find(|room| room.id.to_string() == room_id && room.floor.place == Some(0));
        if let Some(room) = held {
            let epoch = room.floor.epoch.0;
            self.say(format!(
                "You still hold the stick of {room_id} (epoch {epoch})."
            ));
        }
    }

    fn holds(&mut self, room_id: &str, epoch: u64, seconds: u64) {
        self.say(format!(
            "You hold the stick of {room_id} for {seconds} s more (epoch {epoch})."
        ));
    }

    fn in_line(&mut self, room_id: &str, place: u32, holder: Option<&User>, seconds: u64) {
        let holder = match holder {
            Some(user) => self.user(user),
            None => "a participant".into(),
        };
        self.say(format!(
            "You are number {place} in line for the stick of {room_id}; {holder} holds it for at \
             most {seconds} s more."
        ));
    }

    fn secret(&mut self, handle: &str, pass: HandleUse) {
        if let Some(line) = secret(handle, pass) {
            self.say(line);
        }
    }

    /// A participant by name and id, and by the id alone after the first time; the addressed one is
    /// "you".
    pub(super) fn user(&mut self, user: &User) -> String {
        if user.you {
            return "you".into();
        }
        let name = self
            .named
            .insert(user.user_id.clone())
            .then(|| self.fence.enclose(&user.display_name));
        let id = match is_given(&user.user_id) {
            true => user.user_id.clone(),
            false => self.fence.enclose(&user.user_id),
        };
        match name {
            Some(name) => format!("{name} ({id})"),
            None => id,
        }
    }

    fn members(&mut self, room: &str, members: &Members) {
        let Members { users, next } = members;
        let more = if next.is_some() {
            " (there are more)"
        } else {
            ""
        };
        self.head(users.len(), "user", &format!("in {room}{more}"));
        for member in users {
            let user = self.user(&member.user);
            self.say(format!("- {user}, {}", member.presence));
        }
    }

    fn draft(&mut self, length: u32, truncated: u32, suffix: Option<&str>) {
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
        }
    }

    fn page(&mut self, events: &[Event], notices: &[Notice]) {
        if events.is_empty() {
            self.say("Nothing new.");
        }
        let is_run = |one: &Event, next: &Event| {
            stick_user(one).is_some() && stick_user(next).is_some() && one.room_id == next.room_id
        };
        for run in events.chunk_by(is_run) {
            self.run(run);
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
    }

    /// Writes a run of events. Of consecutive changes of one stick, it writes those about the reader
    /// and the last one that is not a claim, and counts the others.
    fn run(&mut self, events: &[Event]) {
        let is_claim = |event: &Event| matches!(event.payload, Payload::Claimed { .. });
        let last = events.iter().rposition(|event| !is_claim(event));
        let last = last.unwrap_or(events.len() - 1);
        let is_mine = |event: &Event| stick_user(event).is_some_and(|user| user.you);
        let is_written: Vec<_> = events
            .iter()
            .enumerate()
            .map(|(at, event)| at == last || is_mine(event))
            .collect();
        let left_out = is_written.iter().filter(|written| !**written).count();
        for (event, is_written) in events.iter().zip(is_written) {
            if is_written || left_out < 2 {
                let line = self.event(event);
                self.say(line);
            }
        }
        if left_out >= 2 {
            let room = events[last].room_id.as_deref().unwrap_or_default();
            self.say(format!("{left_out} more changes of the stick of {room}."));
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

    fn history(&mut self, room_id: &str, messages: &[PastMessage]) {
        self.head(messages.len(), "message", &format!("of {room_id}"));
        for past in messages {
            self.past(&past.room_seq.to_string(), past);
        }
    }

    /// Writes what is listed below, and how many there are.
    fn head(&mut self, n: usize, thing: &str, which: &str) {
        let end = if n == 0 { '.' } else { ':' };
        self.say(format!("{} {which}{end}", count(n, thing)));
    }

    fn found(&mut self, messages: &[FoundMessage], searched: Option<&str>) {
        if let Some(words) = searched {
            // The caller gave the words, so that they need no fence.
            let words = one_line(words);
            self.say(format!("Only letters and digits are searched: {words}"));
        }
        self.head(messages.len(), "message", "found (since you joined)");
        for FoundMessage { room_id, past } in messages {
            self.past(&format!("{room_id} {}", past.room_seq), past);
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

/// The participant whose stick or claim an event changes.
fn stick_user(event: &Event) -> Option<&User> {
    match &event.payload {
        Payload::Claimed { user, .. }
        | Payload::Granted { user, .. }
        | Payload::Ended { user, .. } => Some(user),
        Payload::Partner { .. }
        | Payload::Message { .. }
        | Payload::Reason { .. }
        | Payload::User { .. }
        | Payload::Moderated { .. }
        | Payload::Gap { .. } => None,
    }
}

/// Whether the server assigned this id: no chosen id looks like that.
fn is_given(id: &str) -> bool {
    id.strip_prefix("user_")
        .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn count(n: usize, thing: &str) -> String {
    match n {
        1 => format!("1 {thing}"),
        n => format!("{n} {thing}s"),
    }
}
