//! Derives the hint of the last line, `next: …`, from a result or a refusal and the caller's state.
//!
//! A caller that holds the stick is sent to `append` and `push`. A caller in no room and in no queue
//! is sent to `enter_queue` or `login`. Each hint names tools, with their rooms and `after`.

use chat_core::Seq;

use crate::driver::{Me, RoomLabel};
use crate::refusal::Refusal;
use crate::tools::Tool;
use crate::wire::{Event, FoundMessage, Lost, Members, Payload, Said};

use super::gaps;

/// The state of the caller, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing<'a> {
    me: Option<&'a Me>,
    /// The place after which the next check reads.
    after: Option<Seq>,
}

impl<'a> Standing<'a> {
    pub(super) fn of(me: Option<&'a Me>) -> Self {
        let after = me.map(|me| me.cursor);
        Self { me, after }
    }

    /// The next call after a result.
    pub(super) fn after_result(self, tool: Tool, said: &Said) -> String {
        match said {
            Said::Waiting { .. } => format!("{}{}", self.until_found(), self.often()),
            Said::Matched { room_id, .. } => self.hello(room_id),
            Said::LoggedIn { room_id, .. } => match self.room(room_id) {
                Some(room) if room.floor.needs_stick => format!(
                    "{} to ask for the word, or {} to listen{}",
                    of_room("talking_stick", room_id),
                    self.check(),
                    self.often()
                ),
                Some(_) | None => format!(
                    "{} to speak, or {} to listen{}",
                    of_room("send_message", room_id),
                    self.check(),
                    self.often()
                ),
            },
            Said::Sent { room_id, .. } => match self.room(room_id) {
                Some(room) if tool == Tool::SendMessage && room.floor.place == Some(0) => format!(
                    "{} to give the stick back, or append and push to say more",
                    of_room("reset", room_id)
                ),
                Some(_) | None => self.go_on(),
            },
            Said::Stick {
                room_id, place: 0, ..
            } => self.room(room_id).map_or_else(|| speak(room_id), turn),
            Said::Stick { .. } => self.until_granted(),
            Said::Draft {
                draft_length,
                truncated,
                ..
            } => self.drafted(*draft_length, *truncated),
            Said::Page {
                events,
                cursor,
                more,
                ..
            } => self.read(events, *cursor, *more),
            Said::History {
                before: Some(before),
                ..
            } => format!(
                "history {{\"before\": {before}}} for older ones, or {}",
                self.go_on()
            ),
            Said::Found {
                messages, before, ..
            } => self.found(messages, before.as_deref()),
            Said::Users {
                room_id,
                members: Members {
                    next: Some(next), ..
                },
            } => format!(
                "list_users {{\"room_id\": \"{room_id}\", \"after\": {next}}} for more users, or {}",
                self.go_on()
            ),
            Said::LeftQueue { .. }
            | Said::Success { .. }
            | Said::Users { .. }
            | Said::History { .. }
            | Said::OnBreak { .. }
            | Said::Mood { .. } => self.go_on(),
        }
    }

    /// The next call after a refusal.
    pub(super) fn after_refusal(self, tool: Tool, refusal: &Refusal) -> String {
        // Nothing is answered any more.
        let facts = refusal.facts.as_ref();
        if refusal.code == "blocked" || facts.is_some_and(|facts| facts.reason.is_some()) {
            return "nothing here: tell who runs you, who can ask the operator".into();
        }
        match refusal.code {
            "handle_required" => {
                format!("{tool} again with your handle, or after login, enter_queue or a break")
            }
            "unknown_handle" => "login or enter_queue without a handle, for a new one".into(),
            "room_not_found" | "not_in_room" | "room_ambiguous" => match self.me {
                Some(me) if me.rooms.is_empty() => self.go_on(),
                Some(_) => format!("{tool} with the room_id of one of your rooms"),
                None => format!("{tool} with another room_id; check names your rooms"),
            },
            "chat_ended" => self.go_on(),
            "stick_required" => match self.in_line() {
                true => self.until_granted(),
                false => format!(
                    "{}, then {} until stick.granted names you",
                    self.in_only("talking_stick", |room| room.floor.needs_stick),
                    self.check()
                ),
            },
            "no_stick" => {
                let send = self.in_only("send_message", |room| !room.floor.needs_stick);
                format!("{send}: both may speak in a pair's room")
            }
            "already_waiting" => self.until_found(),
            "already_chatting" => format!("{}, or leave_chat first", self.check()),
            "invalid_cursor" => "check without after".into(),
            "draft_empty" => "append first".into(),
            "draft_full" => "push, or undo".into(),
            "rate_limited" | "overloaded" | "storage_unavailable" | "shutting_down" => {
                let when = match refusal.retry_after_ms {
                    Some(ms) => format!("in {} s", ms.div_ceil(1_000)),
                    None => "later".into(),
                };
                match refusal.earlier_attempt {
                    Some(_) => format!("{tool} again, the same with the same request_key, {when}"),
                    None => format!("{tool} again, the same, {when}"),
                }
            }
            // The same key would return this refusal again.
            "queue_full" | "server_full" | "room_full" => {
                format!("{tool} again later, with a fresh request_key or none")
            }
            "name_taken" => format!("{tool} with your handle, or with another name"),
            "address_full" => {
                "no new registration: pass the handle that you have, or ask who runs you".into()
            }
            "muted" if tool == Tool::Login => "login to a room that others have opened".into(),
            "muted" => format!("{}; you may read, not speak", self.check()),
            _ => format!("{tool} again, corrected"),
        }
    }

    /// What the caller can do without any news: speak if it holds a stick, listen if it is in a
    /// room or waits for a partner, and otherwise look for others.
    fn go_on(self) -> String {
        let Some(me) = self.me else {
            return self.check();
        };
        if let Some(room) = self.held() {
            return turn(room);
        }
        if self.in_line() {
            return self.until_granted();
        }
        match (me.is_waiting, me.rooms.is_empty()) {
            (true, _) => self.until_found(),
            (false, false) => self.check(),
            (false, true) => "enter_queue for a partner, or login to a room".into(),
        }
    }

    fn check(self) -> String {
        match self.after {
            Some(after) => format!("check {{\"after\": {}}}", after.0),
            None => "check".into(),
        }
    }

    /// After a match.
    fn hello(self, room: &str) -> String {
        let send = of_room("send_message", room);
        let (check, often) = (self.check(), self.often());
        format!("{send} to say hello, then {check}{often}, or the chat ends")
    }

    /// How often to call at least.
    fn often(self) -> String {
        let Some(me) = self.me else {
            return String::new();
        };
        let seconds = me.silence.as_secs();
        match seconds / 60 {
            0 | 1 => format!(", at least every {seconds} s"),
            minutes => format!(", at least every {minutes} min"),
        }
    }

    fn until_found(self) -> String {
        format!("{}, until chatroom.found", self.check())
    }

    fn until_granted(self) -> String {
        format!("{}, until stick.granted names you", self.check())
    }

    /// The caller's room with this id.
    fn room(self, id: &str) -> Option<&'a RoomLabel> {
        let mut rooms = self.me?.rooms.iter();
        rooms.find(|room| room.id.to_string() == id)
    }

    /// The call of a tool, in the caller's only room of a kind, if it has just one.
    fn in_only(self, tool: &str, kind: impl Fn(&RoomLabel) -> bool) -> String {
        let rooms = self.me.into_iter().flat_map(|me| &me.rooms);
        let mut rooms = rooms.filter(|room| kind(room));
        match (rooms.next(), rooms.next()) {
            (Some(room), None) => of_room(tool, &room.id.to_string()),
            (Some(_) | None, _) => format!("{tool} with the room_id"),
        }
    }

    /// The room whose stick the caller holds.
    fn held(self) -> Option<&'a RoomLabel> {
        let mut rooms = self.me?.rooms.iter();
        rooms.find(|room| room.floor.place == Some(0))
    }

    /// Whether the caller waits for a stick.
    fn in_line(self) -> bool {
        let mut rooms = self.me.into_iter().flat_map(|me| &me.rooms);
        rooms.any(|room| room.floor.place.is_some_and(|place| place > 0))
    }

    /// After `append`, `undo` or `reset`.
    fn drafted(self, length: u32, truncated: u32) -> String {
        if truncated > 0 {
            return "append the rest, then push".into();
        }
        match (length, self.held()) {
            (0, _) => self.go_on(),
            (_, Some(room)) => turn(room),
            (_, None) => "push to send it, or append more".into(),
        }
    }

    /// After a page: the last event that wants something of the reader decides.
    fn read(self, events: &[Event], cursor: u64, more: bool) -> String {
        let read = Self {
            after: Some(Seq(cursor)),
            ..self
        };
        let missed: Vec<_> = events.iter().flat_map(lost).collect();
        let check = match more {
            true => format!("check {{\"after\": {cursor}, \"wait_seconds\": 0}}"),
            false => read.check(),
        };
        if let Some(calls) = gaps::remedy(&missed) {
            return format!("{calls}, then {check}");
        }
        if more {
            return check;
        }
        if let Some(room) = read.held() {
            return turn(room);
        }
        let wanted = events.iter().rev().find_map(|event| read.wanted(event));
        wanted.unwrap_or_else(|| read.go_on())
    }

    /// What an event wants of the reader.
    fn wanted(self, event: &Event) -> Option<String> {
        let room = event.room_id.as_deref()?;
        match &event.payload {
            Payload::Message { sender, .. } if !sender.you => {
                let floor = self.room(room)?.floor;
                Some(match (floor.needs_stick, floor.place) {
                    (false, _) => {
                        let send = of_room("send_message", room);
                        format!("{send} to answer, then {}", self.check())
                    }
                    (true, Some(_)) => self.until_granted(),
                    (true, None) => {
                        let claim = of_room("talking_stick", room);
                        format!("{claim} to answer, or {} to listen", self.check())
                    }
                })
            }
            Payload::Partner { .. } if event.kind == "chatroom.found" => {
                self.room(room)?;
                Some(self.hello(room))
            }
            // Someone who has left no longer waits for an answer.
            Payload::Reason { .. } => Some(self.go_on()),
            Payload::Message { .. }
            | Payload::Partner { .. }
            | Payload::User { .. }
            | Payload::Claimed { .. }
            | Payload::Granted { .. }
            | Payload::Ended { .. }
            | Payload::Moderated { .. }
            | Payload::Gap { .. } => None,
        }
    }

    fn found(self, messages: &[FoundMessage], before: Option<&str>) -> String {
        match (before, messages.first()) {
            (Some(before), _) => format!("search {{\"before\": \"{before}\"}} for older ones"),
            (None, Some(FoundMessage { room_id, past })) => format!(
                "history {{\"room_id\": \"{room_id}\", \"before\": {}}} for what was said \
                 before the first, or {}",
                past.room_seq,
                self.go_on()
            ),
            (None, None) => self.go_on(),
        }
    }
}

/// The call of a tool in a room.
fn of_room(tool: &str, room: &str) -> String {
    format!("{tool} {{\"room_id\": \"{room}\"}}")
}

/// The calls of a holder with an empty draft.
fn speak(room: &str) -> String {
    format!(
        "{} your words, then {}",
        of_room("append", room),
        of_room("push", room)
    )
}

/// The calls of a holder.
fn turn(room: &RoomLabel) -> String {
    let id = room.id.to_string();
    match room.floor.has_draft {
        true => format!(
            "{} to send your draft, or append more",
            of_room("push", &id)
        ),
        false => speak(&id),
    }
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
