//! The text of each result.

use std::sync::Arc;

use chat_core::{
    Answer, Body, Epoch, Event, Floor, Item, MemberView, MessageId, NoticeKind, Reply, Response,
    RoomId, Time, UserId, WasWaiting, Who,
};
use server_storage::history::QueryWords;

use super::shown::one_line;
use super::{Renderer, credentials, gaps};
use crate::driver::AnswerFacts;
use crate::service::Done;
use crate::tools::Tool;
use crate::wire::User;

impl Renderer<'_> {
    /// Writes a result.
    pub(super) fn done(&mut self, done: &Done) {
        match done {
            Done::Answered(Response::Done(reply)) => {
                self.reply(reply);
                if let Some(heard) = &self.outcome.heard {
                    self.read(heard);
                }
            }
            Done::Answered(Response::Read(answer)) => self.read(answer),
            Done::Answered(Response::Streaming) => self.say("Done."),
            Done::Found { found, query, .. } => {
                if let Some(words) = QueryWords::left_of(query) {
                    // The caller gave the words, so that they need no fence.
                    let words = one_line(&words);
                    self.say(format!("Only letters and digits are searched: {words}"));
                }
                self.head(found.messages.len(), "message", "found (since you joined)");
                for event in &found.messages {
                    self.past(&format!("{} {}", event.room, event.room_seq), event);
                }
            }
        }
    }

    fn reply(&mut self, reply: &Reply) {
        let tool = self.outcome.tool;
        match reply {
            Reply::Waiting {
                position,
                estimated_wait,
                ..
            } => {
                self.lines.extend(credentials(self.outcome));
                let seconds = estimated_wait.map(|wait| wait.as_secs_ceil());
                let took = seconds.map(|seconds| format!("; recent waits took about {seconds} s"));
                let took = took.unwrap_or_default();
                self.say(format!("You wait for a partner, place {position}{took}."));
            }
            Reply::Matched { room, partner, .. } => {
                self.lines.extend(credentials(self.outcome));
                let partner = self.user(&User::from(&**partner));
                self.say(format!("Matched with {partner} in {room}."));
            }
            Reply::LeftQueue { left } => self.say(match left {
                WasWaiting::Yes => "You no longer wait.",
                WasWaiting::No => "You were not waiting.",
            }),
            Reply::LoggedIn { room, .. } => {
                self.lines.extend(credentials(self.outcome));
                // The caller gave the name, so that it needs no fence.
                let name = one_line(self.outcome.room_name(*room));
                let (members, messages) = self.outcome.joined();
                self.members(&format!("{room} ({name})"), members);
                if !messages.is_empty() {
                    self.head(
                        messages.len(),
                        "message",
                        "said last (history has the others)",
                    );
                }
                for event in messages {
                    self.past(&event.room_seq.to_string(), event);
                }
            }
            Reply::Sent {
                room,
                room_seq,
                turns_left,
                ..
            } => {
                self.sent(MessageId(*room, *room_seq), *turns_left);
                if tool == Tool::SendMessage {
                    self.still_holds(*room);
                }
            }
            Reply::Stick {
                room,
                place,
                epoch,
                lease_until,
                ..
            } => self.stick(*room, *place, *epoch, *lease_until),
            Reply::Draft {
                length,
                cut,
                suffix,
            } => {
                self.draft(*length, *cut, suffix.as_deref());
                if tool == Tool::Reset {
                    self.say("You hold no stick, and wait for none, in that room.");
                }
            }
            Reply::LeftChat | Reply::Done | Reply::Lifted { .. } => self.say("Done."),
            // Its text has a fixed form, and is built elsewhere.
            Reply::OnBreak { .. } => {}
        }
    }

    fn read(&mut self, answer: &Answer) {
        match answer {
            Answer::Page { page, notices } => {
                let items: Vec<_> = page.items().collect();
                self.page(&items);
                for (room, notice) in notices {
                    let user = self.user(&User::from(&*notice.user));
                    self.say(match notice.kind {
                        NoticeKind::Waiting(span) => {
                            let seconds = span.as_secs();
                            format!("{user} has been waiting for {seconds} s in {room}.")
                        }
                        NoticeKind::Typing => format!("{user} is typing in {room}."),
                    });
                }
            }
            Answer::Members { room, members } => self.members(&room.to_string(), members),
            Answer::History { room, messages, .. } => {
                self.head(messages.len(), "message", &format!("of {room}"));
                for event in messages {
                    self.past(&event.room_seq.to_string(), event);
                }
            }
            // Its text has a fixed form, and is built elsewhere.
            Answer::Mood { .. } => {}
        }
    }

    fn stick(&mut self, room: RoomId, place: u32, epoch: Epoch, lease_until: Time) {
        let outcome = self.outcome;
        let (holder, draft) = outcome.stick();
        let seconds = outcome.seconds_until(lease_until);
        if outcome.has_spoken(room, epoch) {
            return self.say(format!(
                "Your turn came, and your message is sent in {room}."
            ));
        }
        if place == 0 {
            let held = format!("for {seconds} s more (epoch {epoch})");
            self.say(format!("You hold the stick of {room} {held}."));
        } else {
            let holder = holder.map_or_else(|| "a participant".into(), |who| self.who(who));
            self.say(format!(
                "You are number {place} in line for the stick of {room}; {holder} holds it for at \
                 most {seconds} s more."
            ));
            if outcome.tool == Tool::Speak {
                return self.say("Your message is sent when your turn comes.");
            }
        }
        if let Some(draft) = draft {
            self.say(format!(
                "Your draft there still has {}, and ends: {}",
                count(draft.length as usize, "character"),
                one_line(&draft.suffix)
            ));
        }
    }

    fn sent(&mut self, message_id: MessageId, turns_left: Option<u32>) {
        self.say(format!("Sent as {message_id}."));
        if let Some(turns) = turns_left {
            let left = count(turns as usize, "message");
            self.say(format!("{left} left in this chat."));
        }
        if self.outcome.context.more == AnswerFacts::Alone {
            self.say("Nobody else is there now; who joins later reads it.");
        }
    }

    /// Says that a message sent directly has not given the stick back.
    fn still_holds(&mut self, room: RoomId) {
        let floor = self.outcome.room(room).map(|label| label.floor);
        if let Some(Floor {
            place: Some(0),
            epoch,
            ..
        }) = floor
        {
            self.say(format!(
                "You still hold the stick of {room} (epoch {epoch})."
            ));
        }
    }

    /// A participant as the caller sees it.
    fn who(&mut self, who: &Who) -> String {
        self.user(&User::seen_by(who, self.outcome.reads()))
    }

    /// A participant by name and id, and by the id alone after the first time; the addressed one is
    /// "you".
    pub(super) fn user(&mut self, user: &User) -> String {
        if user.you {
            return "you".into();
        }
        let is_new = self.named.insert(user.user_id.clone());
        let name = is_new.then(|| self.fence.enclose(&user.display_name));
        let id = match is_given(&user.user_id) {
            true => user.user_id.clone(),
            false => self.fence.enclose(&user.user_id),
        };
        match name {
            Some(name) => format!("{name} ({id})"),
            None => id,
        }
    }

    fn members(&mut self, room: &str, all: &[MemberView]) {
        let (shown, next) = self.outcome.part_of(all);
        let more = next.map_or("", |_| " (there are more)");
        self.head(shown.len(), "user", &format!("in {room}{more}"));
        for member in shown {
            let user = self.who(&member.who);
            let mut line = format!("- {user}, {}", member.presence.name());
            // A newcomer has said nothing that others could have read.
            let is_newcomer = self.outcome.tool == Tool::Login;
            if !is_newcomer && member.who.id != self.outcome.reads() {
                line += &format!(", has read up to {}", member.read_to);
            }
            self.say(line);
        }
    }

    fn draft(&mut self, length: u32, truncated: u32, suffix: Option<&str>) {
        let has = count(length as usize, "character");
        self.say(format!("Your draft has {has}."));
        if truncated > 0 {
            let many = count(truncated as usize, "character");
            let end = one_line(suffix.unwrap_or_default());
            self.say(format!("{many} too many were cut; the draft ends: {end}"));
        }
    }

    fn page(&mut self, items: &[Item<'_>]) {
        if items.is_empty() {
            self.say("Nothing new.");
        }
        let is_run = |one: &Item<'_>, next: &Item<'_>| matches!((stick_of(one), stick_of(next)), (Some(one), Some(next)) if one.0 == next.0);
        for run in items.chunk_by(is_run) {
            self.run(run);
        }
    }

    /// Writes a run of events. Of consecutive changes of one stick, it writes those about the reader
    /// and the last one that is not a claim, and counts the others.
    fn run(&mut self, items: &[Item<'_>]) {
        let is_claim = |item: &Item<'_>| matches!(item, Item::Event(_, event) if matches!(event.body, Body::StickClaimed { .. }));
        let last = items.iter().rposition(|item| !is_claim(item));
        let last = last.unwrap_or(items.len() - 1);
        let reader = self.outcome.reads();
        let is_mine = |item: &Item<'_>| stick_of(item).is_some_and(|(_, user)| user == reader);
        let is_written = |at: usize| at == last || is_mine(&items[at]);
        let left_out = (0..items.len()).filter(|at| !is_written(*at)).count();
        for (at, item) in items.iter().enumerate() {
            if is_written(at) || left_out < 2 {
                let line = self.item(item);
                self.say(line);
            }
        }
        if let (2.., Some((room, _))) = (left_out, stick_of(&items[last])) {
            self.say(format!("{left_out} more changes of the stick of {room}."));
        }
    }

    fn item(&mut self, item: &Item<'_>) -> String {
        let (seq, event) = match item {
            Item::Gap(gap) => return gaps::told(gap),
            Item::Event(seq, event) => (seq, event),
        };
        let at = format!("[{seq}] {}", event.room);
        let about = event.about(self.outcome.reads());
        let user = about.map(|who| self.who(who)).unwrap_or_default();
        let what = match &event.body {
            Body::Message { text, to, .. } => {
                let to = self.addressees(to);
                return format!("{at} {user}{to}: {}", self.fence.enclose(text));
            }
            Body::PartnerDisconnected(reason) => reason.name().into(),
            Body::Closed { reason } => self.fence.enclose(reason),
            Body::Muted { reason, .. } | Body::Kicked { reason, .. } => {
                format!("{user}, {}", self.fence.enclose(reason))
            }
            Body::StickClaimed { place, .. } => format!("{user}, number {place} in line"),
            Body::StickGranted { epoch, lease, .. } => {
                let seconds = lease.as_secs_ceil();
                format!("{user} for {seconds} s (epoch {epoch})")
            }
            Body::StickReleased { epoch, .. } | Body::StickExpired { epoch, .. } => {
                format!("{user} (epoch {epoch})")
            }
            Body::Found(_)
            | Body::PartnerAway(_)
            | Body::PartnerReconnected(_)
            | Body::Joined(_)
            | Body::Left(_)
            | Body::Away(_)
            | Body::Back(_) => user,
        };
        format!("{at} {}: {what}", event.kind())
    }

    /// Whom a message is addressed to, behind its sender; empty if it is for all.
    fn addressees(&mut self, to: &[Arc<Who>]) -> String {
        let to: Vec<_> = to.iter().map(|who| self.who(who)).collect();
        match to.is_empty() {
            true => String::new(),
            false => format!(" to {}", to.join(", ")),
        }
    }

    /// Writes what is listed below, and how many there are.
    fn head(&mut self, n: usize, thing: &str, which: &str) {
        let end = if n == 0 { '.' } else { ':' };
        self.say(format!("{} {which}{end}", count(n, thing)));
    }

    /// Writes a past message with its place.
    fn past(&mut self, place: &str, event: &Event) {
        if let Body::Message {
            sender, text, to, ..
        } = &event.body
        {
            let user = self.who(sender);
            let to = self.addressees(to);
            let words = self.fence.enclose(text);
            self.say(format!("[{place}] {user}{to}: {words}"));
        }
    }
}

/// The room of the stick that an event changes, and the participant whose stick or claim it is.
fn stick_of(item: &Item<'_>) -> Option<(RoomId, UserId)> {
    let Item::Event(_, event) = item else {
        return None;
    };
    if let Body::StickClaimed { user, .. }
    | Body::StickGranted { user, .. }
    | Body::StickReleased { user, .. }
    | Body::StickExpired { user, .. } = &event.body
    {
        return Some((event.room, user.id));
    }
    None
}

/// Whether the server assigned this id: no chosen id looks like that.
fn is_given(id: &str) -> bool {
    id.strip_prefix("user_")
        .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

pub(super) fn count(n: usize, thing: &str) -> String {
    match n {
        1 => format!("1 {thing}"),
        n => format!("{n} {thing}s"),
    }
}
