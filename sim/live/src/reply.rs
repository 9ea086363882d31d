//! Answers: from servers' JSON to clients' words.

use std::sync::Arc;

use chat_types::{Span, Time, Who, mix_bytes};
use serde::Deserialize as _;
use serde_json::Value;

use super::clock::{Clock, timestamp};
use super::event::{Received, addressees, said};
use super::names::{Names, code};
use super::shape::{EventJson, MemberJson, ReplyJson, WhoJson};
use sim_model::protocol::{
    Answer, Attendance, Body, Command, Earlier, Event, Member, Notice, NoticeKind, Op, Outcome,
    Page, Read, Refusal, Reply, Response, Room, User, WasWaiting,
};

/// A client's credentials from its registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Credentials {
    pub(super) handle: Arc<str>,
    /// The inbox's address as a resource.
    pub(super) inbox: Option<Arc<str>>,
}

/// A parsed answer.
#[derive(Debug)]
pub(super) struct ParsedReply {
    pub(super) outcome: Outcome,
    /// The events of a check.
    pub(super) events: Vec<Received>,
    pub(super) credentials: Option<Credentials>,
}

/// A page of an inbox, read as a resource.
#[derive(Debug)]
pub(super) struct ParsedPage {
    pub(super) events: Vec<Received>,
    pub(super) cursor: u64,
    pub(super) more: bool,
}

/// The context for parsing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    pub(super) names: &'a Names,
    pub(super) clock: &'a Clock,
}

impl Reader<'_> {
    /// Converts the answer to a call. None if it is invalid.
    pub(super) fn reply(&self, op: &Op, json: &Value) -> Option<ParsedReply> {
        let json = ReplyJson::deserialize(json).ok()?;
        if let Some(error) = json.error {
            let retry_after = error.retry_after_ms.map(Span::millis);
            let mut reply = refused(code(&error.code.unwrap_or_default()), retry_after);
            if let Err(refusal) = &mut reply.outcome {
                let attempt = error.earlier_attempt.as_deref();
                let mut known = [Earlier::None, Earlier::Unknown].into_iter();
                let known = known.find(|earlier| earlier.as_str() == attempt);
                refusal.earlier = known.unwrap_or_default();
            }
            return Some(reply);
        }
        Some(ParsedReply {
            outcome: Ok(self.response(op, &json)?),
            events: self.events(&json),
            credentials: json
                .handle
                .filter(|handle| !handle.is_empty())
                .map(|handle| {
                    let inbox = json.inbox_uri;
                    Credentials { handle, inbox }
                }),
        })
    }

    /// Parses a page of an inbox.
    pub(super) fn page(&self, body: &[u8]) -> Option<ParsedPage> {
        let json: ReplyJson = serde_json::from_slice(body).ok()?;
        Some(ParsedPage {
            events: self.events(&json),
            cursor: json.cursor?.0,
            more: json.more.unwrap_or(false),
        })
    }

    /// Parses a pushed event.
    pub(super) fn event(&self, text: &str) -> Option<Received> {
        let json: EventJson = serde_json::from_str(text).ok()?;
        Received::read(&json, self.names, self.clock)
    }

    fn events(&self, json: &ReplyJson) -> Vec<Received> {
        let events = json.events.iter().flatten();
        let events = events.filter_map(|event| Received::read(event, self.names, self.clock));
        events.collect()
    }

    fn who(&self, who: &Option<WhoJson>) -> Option<Arc<Who>> {
        who.as_ref().map(|who| self.names.who(who))
    }

    /// The answer of the call's kind; none if a part is missing.
    fn response(&self, op: &Op, json: &ReplyJson) -> Option<Response> {
        let read = match op {
            Op::Command(command) => return self.reply_to(command, json).map(Response::Done),
            Op::Read { read, .. } => read,
        };
        let room = || json.room_id.as_deref().map(|id| self.names.room(id));
        Some(Response::Read(match read {
            Read::Mood => Answer::Mood {
                stress: json.stress_level?,
                boss_alert: json.boss_alert_level?,
            },
            Read::Check { .. } => {
                let unread = json.unread.unwrap_or_default().max(1);
                // The events of the page are passed on one by one.
                let page = Page {
                    cursor: json.cursor?,
                    unread: if json.more? { unread } else { 0 },
                    ..Page::default()
                };
                let notices = self.notices(json);
                Answer::Page { page, notices }
            }
            Read::History { room: asked, .. } => {
                let room = room().or(*asked)?;
                Answer::History {
                    room,
                    messages: self.messages(room, json),
                    more: json.more.unwrap_or_default(),
                }
            }
            Read::Members { room: asked } => Answer::Members {
                room: room().or(*asked)?,
                members: self.members(json),
            },
        }))
    }

    /// The message in the room of the answer, or in the one of its call.
    fn sent(&self, asked: Option<Room>, json: &ReplyJson) -> Option<Reply> {
        let room = json.room_id.as_deref().map(|id| self.names.room(id));
        Some(Reply::Sent {
            room: room.or(asked)?,
            room_seq: json.room_seq?,
            at: self.time(&json.timestamp),
            turns_left: json.turns_left,
        })
    }

    fn reply_to(&self, command: &Command, json: &ReplyJson) -> Option<Reply> {
        let user = || json.user_id.as_deref().map(|id| self.names.user(id));
        let is_matched = json.status.as_deref() == Some("matched");
        let room = || json.room_id.as_deref().map(|id| self.names.room(id));
        Some(match command {
            Command::EnterQueue { .. } if is_matched => Reply::Matched {
                user: user()?,
                room: room()?,
                partner: self.who(&json.partner)?,
            },
            Command::EnterQueue { .. } => Reply::Waiting {
                user: user()?,
                position: json.position?,
                estimated_wait: json.estimated_wait_seconds.map(Span::secs),
            },
            Command::LeaveQueue => Reply::LeftQueue {
                left: if json.left? {
                    WasWaiting::Yes
                } else {
                    WasWaiting::No
                },
            },
            Command::Login { .. } => Reply::LoggedIn {
                user: user()?,
                room: room()?,
            },
            Command::SendMessage { room: asked, .. } | Command::Push { room: asked, .. } => {
                self.sent(*asked, json)?
            }
            Command::Speak { room: asked, .. } if json.place.is_none() => {
                self.sent(*asked, json)?
            }
            Command::LeaveChat { .. } => Reply::LeftChat,
            Command::TalkingStick { room: asked, .. } | Command::Speak { room: asked, .. } => {
                let holder = self.who(&json.holder);
                let lease = json.lease_expires_in_seconds.map(Span::secs);
                Reply::Stick {
                    room: room().or(*asked)?,
                    place: json.place?,
                    epoch: json.epoch?,
                    holder: holder.map_or(User(0), |who| who.id),
                    lease_until: self.clock.now() + lease.unwrap_or_default(),
                }
            }
            Command::Append { .. } | Command::Undo { .. } | Command::Reset { .. } => {
                match json.draft_length {
                    Some(length) => Reply::Draft {
                        length,
                        cut: json.truncated.unwrap_or(0),
                        suffix: json.draft_suffix.clone(),
                    },
                    None => Reply::Done,
                }
            }
            Command::TakeBreak { kind, .. } => Reply::OnBreak {
                // The answer to a registered participant does not contain its id.
                user: user().unwrap_or_default(),
                kind: *kind,
                stress: json.stress_level?,
                boss_alert: json.boss_alert_level?,
                flavour: print(json.message.as_deref().unwrap_or_default()),
                answer_at: self.clock.now(),
            },
            Command::Typing { .. }
            | Command::BlockUser { .. }
            | Command::UnblockUser { .. }
            | Command::ReportUser { .. }
            | Command::Unregister => Reply::Done,
        })
    }

    /// A server's timestamp as an instant of the run; without one, the time of parsing.
    fn time(&self, at: &Option<String>) -> Time {
        let at = at.as_deref().and_then(timestamp);
        at.map_or_else(|| self.clock.now(), |at| self.clock.of_server(at))
    }
}

/// A hash that represents a text.
#[expect(clippy::cast_possible_truncation, reason = "half of a hash")]
fn print(text: &str) -> u32 {
    mix_bytes(0, text.as_bytes()) as u32
}

/// A refusal.
pub(super) fn refused(code: &'static str, retry_after: Option<Span>) -> ParsedReply {
    ParsedReply {
        outcome: Err(Refusal {
            retry_after,
            ..Refusal::named(code)
        }),
        events: Vec::new(),
        credentials: None,
    }
}

impl Reader<'_> {
    /// The messages of a history. Messages without a place or a sender are skipped.
    fn messages(&self, room: Room, json: &ReplyJson) -> Vec<Arc<Event>> {
        let message = |past: &EventJson| {
            Some(Arc::new(Event {
                room,
                room_seq: past.room_seq?,
                at: self.time(&past.timestamp),
                body: Body::Message {
                    sender: self.who(&past.sender)?,
                    text: said(past.message.as_deref().unwrap_or_default()).into(),
                    epoch: past.epoch,
                    to: addressees(past, self.names),
                },
            }))
        };
        let messages = json.messages.iter().flatten();
        messages.filter_map(message).collect()
    }

    /// The members of a room. Members with an unknown presence are skipped. An older server does not say
    /// what they have read.
    fn members(&self, json: &ReplyJson) -> Vec<Member> {
        let member = |member: &MemberJson| {
            Some(Member {
                who: self.names.who(&member.who),
                since: self.time(&member.since),
                presence: Attendance::named(member.presence.as_deref()?)?,
                read_to: member.read_to.unwrap_or_default(),
            })
        };
        json.users.iter().flatten().filter_map(member).collect()
    }

    /// The notices. Notices of an unknown kind are skipped.
    fn notices(&self, json: &ReplyJson) -> Vec<(Room, Notice)> {
        let notice = |notice: &EventJson| {
            let room = self.names.room(notice.room_id.as_deref()?);
            let notice = Notice {
                user: self.who(&notice.user)?,
                kind: match notice.kind.as_deref()? {
                    "user.typing" => NoticeKind::Typing,
                    "user.waiting" => NoticeKind::Waiting(Span::secs(notice.waited_seconds?)),
                    _ => return None,
                },
                at: self.time(&notice.timestamp),
            };
            Some((room, notice))
        };
        json.notices.iter().flatten().filter_map(notice).collect()
    }
}

#[cfg(test)]
mod tests {
    use chat_types::Seq;
    use serde_json::json;

    use super::*;
    use sim_model::protocol::{EnterQueue, ReadBy, Room};

    fn reply(op: &Op, value: &Value) -> Option<ParsedReply> {
        let (names, clock) = (Names::new(0), Clock::start());
        let reader = Reader {
            names: &names,
            clock: &clock,
        };
        reader.reply(op, value)
    }

    fn enter() -> Op {
        Op::Command(Command::EnterQueue(EnterQueue {
            user_id: None,
            display_name: Some("Ann".into()),
            interests: [].into(),
        }))
    }

    #[test]
    fn an_answer_is_parsed_by_its_call() {
        let waiting = json!({
            "status": "waiting", "handle": "h_1", "user_id": "user_7", "display_name": "Ann",
            "inbox_uri": "chat://inbox/r_1", "position": 2, "queue_length": 2, "unread": 0,
            "estimated_wait_seconds": null
        });
        let reply = reply(&enter(), &waiting).unwrap();
        let expected = Response::Done(Reply::Waiting {
            user: User(7),
            position: 2,
            estimated_wait: None,
        });
        assert_eq!(reply.outcome, Ok(expected));
        let credentials = reply.credentials.unwrap();
        assert_eq!(&*credentials.handle, "h_1");
        assert_eq!(credentials.inbox.as_deref(), Some("chat://inbox/r_1"));
    }

    #[test]
    fn a_check_returns_its_events() {
        let op = Op::check(None, Span::ZERO, ReadBy::Handle);
        let page = json!({
            "events": [{ "seq": 1, "type": "user.joined", "timestamp": "2026-01-01T00:00:00.000Z",
                "room_id": "room_2", "room_seq": 1, "user": { "user_id": "user_1" } }],
            "notices": [], "cursor": 1, "more": false, "unread": 0
        });
        let reply = reply(&op, &page).unwrap();
        let page = Page {
            cursor: Seq(1),
            ..Page::default()
        };
        let notices = Vec::new();
        let expected = Response::Read(Answer::Page { page, notices });
        assert_eq!(reply.outcome, Ok(expected));
        assert_eq!(reply.events.len(), 1);
        assert_eq!(reply.events[0].inbox_event().place(), Some((Room(2), 1)));
    }

    #[test]
    fn a_refusal_is_parsed_and_a_malformed_answer_is_not() {
        let error = json!({ "error": {
            "code": "rate_limited", "message": "too fast", "retry_after_ms": 50,
            "earlier_attempt": "unknown"
        } });
        let refusal = reply(&enter(), &error).unwrap().outcome.unwrap_err();
        assert!(refusal.is_retryable());
        assert_eq!(refusal.retry_after, Some(Span::millis(50)));
        assert_eq!(refusal.earlier, Earlier::Unknown);
        let mistyped = json!({ "user_id": "user_7", "position": 2, "handle": 1 });
        let matched = json!({ "status": "matched" });
        for odd in [json!({}), json!([]), matched, mistyped] {
            assert!(reply(&enter(), &odd).is_none(), "{odd}");
        }
    }
}
