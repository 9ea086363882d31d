//! Answers: from servers' JSON to clients' words.

use std::sync::Arc;

use chat_types::{RoomSeq, Seq, Span, Time, mix_bytes};
use serde_json::Value;

use super::clock::{Clock, timestamp};
use super::event::{Received, said};
use super::names::{Names, code};
use super::shape::{is_event, is_reply};
use sim_model::protocol::{
    Answer, Attendance, Body, Command, Earlier, Epoch, Event, Member, Notice, NoticeKind, Op,
    Outcome, Page, Read, Refusal, Reply, Response, Room, User, WasWaiting,
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
        if !is_reply(json) {
            return None;
        }
        let error = &json["error"];
        if !error.is_null() {
            let retry_after = error["retry_after_ms"].as_u64().map(Span::millis);
            let mut reply = refused(
                code(error["code"].as_str().unwrap_or_default()),
                retry_after,
            );
            if let Err(refusal) = &mut reply.outcome {
                refusal.earlier = earlier(error["earlier_attempt"].as_str());
            }
            return Some(reply);
        }
        let response = self.response(op, json)?;
        let handle = json["handle"].as_str().filter(|handle| !handle.is_empty());
        Some(ParsedReply {
            outcome: Ok(response),
            events: self.events(json),
            credentials: handle.map(|handle| Credentials {
                handle: handle.into(),
                inbox: json["inbox_uri"].as_str().map(Into::into),
            }),
        })
    }

    /// Parses a page of an inbox.
    pub(super) fn page(&self, body: &[u8]) -> Option<ParsedPage> {
        let json: Value = serde_json::from_slice(body).ok().filter(is_reply)?;
        Some(ParsedPage {
            events: self.events(&json),
            cursor: json["cursor"].as_u64()?,
            more: json["more"].as_bool().unwrap_or(false),
        })
    }

    /// Parses a pushed event.
    pub(super) fn event(&self, text: &str) -> Option<Received> {
        let json: Value = serde_json::from_str(text).ok().filter(is_event)?;
        Received::read(&json, self.names, self.clock)
    }

    fn events(&self, json: &Value) -> Vec<Received> {
        let events = list(json, "events");
        events
            .filter_map(|event| Received::read(event, self.names, self.clock))
            .collect()
    }

    /// The answer of the call's kind; none if a part is missing.
    fn response(&self, op: &Op, json: &Value) -> Option<Response> {
        let read = match op {
            Op::Command(command) => return self.reply_to(command, json).map(Response::Done),
            Op::Read { read, .. } => read,
        };
        let room = || json["room_id"].as_str().map(|id| self.names.room(id));
        Some(Response::Read(match read {
            Read::Mood => Answer::Mood {
                stress: small(json, "stress_level")?,
                boss_alert: small(json, "boss_alert_level")?,
            },
            Read::Check { .. } => {
                let unread = json["unread"].as_u64().unwrap_or_default().max(1);
                // The events of the page are passed on one by one.
                let page = Page {
                    cursor: Seq(json["cursor"].as_u64()?),
                    unread: if json["more"].as_bool()? { unread } else { 0 },
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
                    more: json["more"].as_bool().unwrap_or_default(),
                }
            }
            Read::Members { room: asked } => Answer::Members {
                room: room().or(*asked)?,
                members: self.members(json),
            },
        }))
    }

    fn reply_to(&self, command: &Command, json: &Value) -> Option<Reply> {
        let user = || json["user_id"].as_str().map(|id| self.names.user(id));
        let room = || json["room_id"].as_str().map(|id| self.names.room(id));
        Some(match command {
            Command::EnterQueue { .. } if json["status"] == "matched" => Reply::Matched {
                user: user()?,
                room: room()?,
                partner: self.names.who(&json["partner"])?,
            },
            Command::EnterQueue { .. } => Reply::Waiting {
                user: user()?,
                position: small(json, "position")?,
                estimated_wait: json["estimated_wait_seconds"].as_u64().map(Span::secs),
            },
            Command::LeaveQueue => Reply::LeftQueue {
                left: if json["left"].as_bool()? {
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
                Reply::Sent {
                    room: room().or(*asked)?,
                    room_seq: RoomSeq(json["room_seq"].as_u64()?),
                    at: self.time(json),
                    turns_left: small(json, "turns_left"),
                }
            }
            Command::LeaveChat { .. } => Reply::LeftChat,
            Command::TalkingStick { room: asked, .. } => {
                let holder = self.names.who(&json["holder"]);
                let lease = json["lease_expires_in_seconds"].as_u64().map(Span::secs);
                Reply::Stick {
                    room: room().or(*asked)?,
                    place: small(json, "place")?,
                    epoch: Epoch(json["epoch"].as_u64()?),
                    holder: holder.map_or(User(0), |who| who.id),
                    lease_until: self.clock.now() + lease.unwrap_or_default(),
                }
            }
            Command::Append { .. } | Command::Undo { .. } | Command::Reset { .. } => {
                match small(json, "draft_length") {
                    Some(length) => Reply::Draft {
                        length,
                        cut: small(json, "truncated").unwrap_or(0),
                        suffix: json["draft_suffix"].as_str().map(Into::into),
                    },
                    None => Reply::Done,
                }
            }
            Command::TakeBreak { kind, .. } => Reply::OnBreak {
                // The answer to a registered participant does not contain its id.
                user: user().unwrap_or_default(),
                kind: *kind,
                stress: small(json, "stress_level")?,
                boss_alert: small(json, "boss_alert_level")?,
                flavour: print(json["message"].as_str().unwrap_or_default()),
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
    fn time(&self, json: &Value) -> Time {
        let at = json["timestamp"].as_str().or(json["since"].as_str());
        let at = at.and_then(timestamp);
        at.map_or_else(|| self.clock.now(), |at| self.clock.of_server(at))
    }
}

/// A number of this width.
fn small<T: TryFrom<u64>>(json: &Value, key: &str) -> Option<T> {
    json[key].as_u64().and_then(|n| T::try_from(n).ok())
}

fn list<'j>(json: &'j Value, key: &str) -> impl Iterator<Item = &'j Value> + use<'j> {
    json[key].as_array().into_iter().flatten()
}

/// A hash that represents a text.
#[expect(clippy::cast_possible_truncation, reason = "half of a hash")]
fn print(text: &str) -> u32 {
    mix_bytes(0, text.as_bytes()) as u32
}

fn earlier(attempt: Option<&str>) -> Earlier {
    match attempt {
        Some("none") => Earlier::None,
        Some("unknown") => Earlier::Unknown,
        Some(_) | None => Earlier::Unasked,
    }
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
    fn messages(&self, room: Room, json: &Value) -> Vec<Arc<Event>> {
        let message = |past: &Value| {
            Some(Arc::new(Event {
                room,
                room_seq: RoomSeq(past["room_seq"].as_u64()?),
                at: self.time(past),
                body: Body::Message {
                    sender: self.names.who(&past["sender"])?,
                    text: said(past["message"].as_str().unwrap_or_default()).into(),
                    epoch: past["epoch"].as_u64().map(Epoch),
                },
            }))
        };
        list(json, "messages").filter_map(message).collect()
    }

    /// The members of a room. Members with an unknown presence are skipped.
    fn members(&self, json: &Value) -> Vec<Member> {
        let member = |member: &Value| {
            Some(Member {
                who: self.names.who(member)?,
                since: self.time(member),
                presence: attendance(member["presence"].as_str()?)?,
            })
        };
        list(json, "users").filter_map(member).collect()
    }

    /// The notices. Notices of an unknown kind are skipped.
    fn notices(&self, json: &Value) -> Vec<(Room, Notice)> {
        let notice = |notice: &Value| {
            let room = self.names.room(notice["room_id"].as_str()?);
            let notice = Notice {
                user: self.names.who(&notice["user"])?,
                kind: match notice["type"].as_str()? {
                    "user.typing" => NoticeKind::Typing,
                    "user.waiting" => {
                        NoticeKind::Waiting(Span::secs(notice["waited_seconds"].as_u64()?))
                    }
                    _ => return None,
                },
                at: self.time(notice),
            };
            Some((room, notice))
        };
        list(json, "notices").filter_map(notice).collect()
    }
}

fn attendance(word: &str) -> Option<Attendance> {
    Some(match word {
        "present" => Attendance::Present,
        "reconnecting" => Attendance::Reconnecting,
        "away" => Attendance::Away,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
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
