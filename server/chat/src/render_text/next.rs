//! Derives the hint of the last line, `next: …`, from a result or a refusal and the caller's state.
//!
//! A caller that holds the stick is sent to `append` and `push`. A caller in no room and in no queue
//! is sent to `enter_queue` or `login`. Each hint names tools, with their rooms and `after`.

use chat_core::{Answer, Body, Event, Page, Reply, Response, RoomId, Seq};

use crate::driver::{Me, RoomLabel};
use crate::refusal::Refusal;
use crate::service::{CallOutcome, Done};
use crate::tools::Tool;

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
    pub(super) fn after_result(self, outcome: &CallOutcome, done: &Done) -> String {
        match done {
            Done::Answered(response) if let Some(page) = outcome.page() => self.read(page),
            Done::Answered(Response::Done(reply)) => self.after_reply(outcome.tool, reply),
            Done::Answered(Response::Read(Answer::Members { room, members })) => {
                let (_, next) = outcome.part_of(members);
                self.first(next.map(|next| {
                    let call = format!("{{\"room_id\": \"{room}\", \"after\": {next}}}");
                    format!("list_users {call} for more users")
                }))
            }
            Done::Answered(Response::Read(_) | Response::Streaming) => {
                let before = outcome.before();
                self.first(
                    before.map(|before| format!("history {{\"before\": {before}}} for older ones")),
                )
            }
            Done::Found {
                before: Some(before),
                ..
            } => format!("search {{\"before\": \"{before}\"}} for older ones"),
            Done::Found { found, .. } => self.first(found.messages.first().map(|event| {
                let (room, before) = (event.room, event.room_seq);
                let call = format!("{{\"room_id\": \"{room}\", \"before\": {before}}}");
                format!("history {call} for what was said before the first")
            })),
        }
    }

    /// This call, if there is one, or what the caller can do without it.
    fn first(self, call: Option<String>) -> String {
        match call {
            Some(call) => format!("{call}, or {}", self.go_on()),
            None => self.go_on(),
        }
    }

    fn after_reply(self, tool: Tool, reply: &Reply) -> String {
        match reply {
            Reply::Waiting { .. } => format!("{}{}", self.until_found(), self.often()),
            Reply::Matched { room, .. } => self.hello(*room),
            Reply::LoggedIn { room, .. } => {
                let tool = match self.room(*room) {
                    Some(label) if label.floor.needs_stick => "speak",
                    Some(_) | None => "send_message",
                };
                // The first event of a newcomer is that it joined, as this answer says.
                let is_its_own = self
                    .me
                    .is_some_and(|me| (me.cursor, me.unread) == (Seq(0), 1));
                let after = if is_its_own { Some(Seq(1)) } else { self.after };
                let check = Self { after, ..self }.check();
                let (first, often) = (of_room(tool, *room), self.often());
                format!("{first} to say something, or {check} to listen{often}")
            }
            Reply::Sent { room, .. } => match self.room(*room) {
                Some(label) if tool == Tool::SendMessage && label.floor.place == Some(0) => {
                    of_room("reset", *room)
                        + " to give the stick back, or append and push to say more"
                }
                Some(_) | None => self.go_on(),
            },
            Reply::Stick { room, place: 0, .. } => {
                self.room(*room).map_or_else(|| speak(*room), turn)
            }
            Reply::Stick { .. } if tool == Tool::Speak => self.check(),
            Reply::Stick { .. } => self.until_granted(),
            Reply::Draft { length, cut, .. } => self.drafted(*length, *cut),
            Reply::LeftQueue { .. }
            | Reply::LeftChat
            | Reply::Done
            | Reply::Lifted { .. }
            | Reply::OnBreak { .. } => self.go_on(),
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
                false => {
                    let speak = self.in_only("speak", |room| room.floor.needs_stick);
                    format!("{speak}, which waits for its turn")
                }
            },
            "no_stick" => {
                let send = self.in_only("send_message", |room| !room.floor.needs_stick);
                format!("{send}: both may speak in a pair's room")
            }
            "already_waiting" => self.until_found(),
            "already_chatting" => format!("{}, or leave_chat first", self.check()),
            "invalid_cursor" => "check without after".into(),
            "user_not_found" => format!("list_users for those who are there, then {tool} again"),
            "draft_empty" => "append first".into(),
            "draft_full" => "push, or undo".into(),
            "rate_limited" | "overloaded" | "storage_unavailable" | "shutting_down" => {
                let when = match refusal.retry_after_ms {
                    Some(ms) => format!("in {} s", ms.div_ceil(1_000)),
                    None => "later".into(),
                };
                let with_key = match refusal.earlier_attempt {
                    Some(_) => " with the same request_key",
                    None => "",
                };
                format!("{tool} again, the same{with_key}, {when}")
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
    fn hello(self, room: RoomId) -> String {
        let send = of_room("send_message", room);
        let (check, often) = (self.check(), self.often());
        format!("{send} to say hello, then {check}{often}, or the chat ends")
    }

    /// How often to call at least.
    fn often(self) -> String {
        match self.me.map(|me| me.silence.as_secs()) {
            Some(seconds @ 0..120) => format!(", at least every {seconds} s"),
            Some(seconds) => format!(", at least every {} min", seconds / 60),
            None => String::new(),
        }
    }

    fn until_found(self) -> String {
        format!("{}, until chatroom.found", self.check())
    }

    fn until_granted(self) -> String {
        format!("{}, until stick.granted names you", self.check())
    }

    fn rooms(self) -> impl Iterator<Item = &'a RoomLabel> {
        self.me.into_iter().flat_map(|me| &me.rooms)
    }

    /// The caller's room with this id.
    fn room(self, id: RoomId) -> Option<&'a RoomLabel> {
        self.rooms().find(|room| room.id == id)
    }

    /// The call of a tool, in the caller's only room of a kind, if it has just one.
    fn in_only(self, tool: &str, kind: impl Fn(&RoomLabel) -> bool) -> String {
        let mut rooms = self.rooms().filter(|room| kind(room));
        match (rooms.next(), rooms.next()) {
            (Some(room), None) => of_room(tool, room.id),
            (Some(_) | None, _) => format!("{tool} with the room_id"),
        }
    }

    /// The room whose stick the caller holds.
    fn held(self) -> Option<&'a RoomLabel> {
        self.rooms().find(|room| room.floor.place == Some(0))
    }

    /// Whether the caller waits for a stick.
    fn in_line(self) -> bool {
        self.rooms().any(|room| room.floor.place > Some(0))
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
    fn read(self, page: &Page) -> String {
        let (cursor, more) = (page.cursor, page.unread > 0);
        let read = Self {
            after: Some(cursor),
            ..self
        };
        let missed: Vec<_> = page.gaps.iter().flat_map(|gap| &gap.rooms).collect();
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
        let mut events = page.events.iter().rev();
        let wanted = events.find_map(|(_, event)| read.wanted(event));
        wanted.unwrap_or_else(|| read.go_on())
    }

    /// What an event wants of the reader.
    fn wanted(self, event: &Event) -> Option<String> {
        let room = event.room;
        // Someone who has left no longer waits for an answer.
        if let Body::PartnerDisconnected(_) | Body::Closed { .. } = event.body {
            return Some(self.go_on());
        }
        let label = self.room(room)?;
        if let Body::Found(_) = event.body {
            return Some(self.hello(room));
        }
        let (sender, _) = event.body.message()?;
        if self
            .me
            .is_some_and(|me| me.who.id == sender || event.body.is_to_others(me.who.id))
        {
            return None;
        }
        let check = self.check();
        Some(match (label.floor.needs_stick, label.floor.place) {
            (false, _) => format!("{} to answer, then {check}", of_room("send_message", room)),
            (true, Some(_)) => self.until_granted(),
            (true, None) => {
                let speak = of_room("speak", room);
                format!("{speak} to answer, or {check} to listen")
            }
        })
    }
}

/// The call of a tool in a room.
pub(super) fn of_room(tool: &str, room: RoomId) -> String {
    format!("{tool} {{\"room_id\": \"{room}\"}}")
}

/// The calls of a holder with an empty draft.
fn speak(room: RoomId) -> String {
    let (append, push) = (of_room("append", room), of_room("push", room));
    format!("{append} your words, then {push}")
}

/// The calls of a holder.
fn turn(room: &RoomLabel) -> String {
    match room.floor.has_draft {
        true => of_room("push", room.id) + " to send your draft, or append more",
        false => speak(room.id),
    }
}
