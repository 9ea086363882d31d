//! Answers: from servers' JSON to clients' words.

mod lists;

use std::borrow::Cow;
use std::sync::Arc;

use chat_types::{Span, Time, mix_bytes};
use serde::Deserialize;

use super::clock::{Clock, timestamp};
use lists::{MemberJson, NoticeJson, PastJson};

use super::event::{EventJson, Received};
use super::names::{Names, WhoJson, code};
use sim_model::protocol::{Answer, Command, Earlier, Op, Outcome, Refusal, Room};

/// The union of all tools' results. Each has some of the fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReplyJson<'a> {
    #[serde(borrow)]
    error: Option<ErrorJson<'a>>,
    #[serde(borrow)]
    handle: Option<Cow<'a, str>>,
    #[serde(borrow)]
    inbox_uri: Option<Cow<'a, str>>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
    #[serde(borrow)]
    user_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    room_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    partner: Option<WhoJson<'a>>,
    position: Option<u32>,
    left: Option<bool>,
    room_seq: Option<u64>,
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    turns_left: Option<u32>,
    place: Option<u32>,
    epoch: Option<u64>,
    draft_length: Option<u32>,
    truncated: Option<u32>,
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
    stress_level: Option<u8>,
    boss_alert_level: Option<u8>,
    #[serde(borrow)]
    events: Option<Vec<EventJson<'a>>>,
    cursor: Option<u64>,
    more: Option<bool>,
    unread: Option<u64>,
    estimated_wait_seconds: Option<u64>,
    #[serde(borrow)]
    holder: Option<WhoJson<'a>>,
    lease_expires_in_seconds: Option<u64>,
    #[serde(borrow)]
    draft_suffix: Option<Cow<'a, str>>,
    #[serde(borrow)]
    notices: Option<Vec<NoticeJson<'a>>>,
    #[serde(borrow)]
    messages: Option<Vec<PastJson<'a>>>,
    #[serde(borrow)]
    users: Option<Vec<MemberJson<'a>>>,
}

/// A refusal in JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ErrorJson<'a> {
    #[serde(borrow)]
    code: Cow<'a, str>,
    retry_after_ms: Option<u64>,
    #[serde(borrow)]
    earlier_attempt: Option<Cow<'a, str>>,
}

/// A client's credentials from its registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Credentials {
    pub(super) handle: Arc<str>,
    /// The inbox's address as a resource.
    pub(super) inbox: Option<Arc<str>>,
}

/// A parsed answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) outcome: Outcome,
    /// The events of a check.
    pub(super) events: Vec<Received>,
    pub(super) credentials: Option<Credentials>,
}

/// A page of an inbox, read as a resource.
#[derive(Debug)]
pub(super) struct Page {
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
    /// Parses the answer to a call. None if it is invalid.
    pub(super) fn reply(&self, op: &Op, body: &[u8]) -> Option<Reply> {
        self.reply_of(op, &serde_json::from_slice(body).ok()?)
    }

    /// Converts the answer to a call.
    pub(super) fn reply_of(&self, op: &Op, json: &ReplyJson<'_>) -> Option<Reply> {
        if let Some(error) = &json.error {
            let retry_after = error.retry_after_ms.map(Span::millis);
            let mut reply = refused(code(&error.code), retry_after);
            if let Err(refusal) = &mut reply.outcome {
                refusal.earlier = earlier(error.earlier_attempt.as_deref());
            }
            return Some(reply);
        }
        let answer = self.answer(op, json)?;
        let handle = json.handle.as_deref().filter(|handle| !handle.is_empty());
        Some(Reply {
            outcome: Ok(answer),
            events: self.events(json),
            credentials: handle.map(|handle| Credentials {
                handle: handle.into(),
                inbox: json.inbox_uri.as_deref().map(Into::into),
            }),
        })
    }

    /// Parses a page of an inbox.
    pub(super) fn page(&self, body: &[u8]) -> Option<Page> {
        let json: ReplyJson<'_> = serde_json::from_slice(body).ok()?;
        Some(Page {
            events: self.events(&json),
            cursor: json.cursor?,
            more: json.more.unwrap_or(false),
        })
    }

    /// Parses a pushed event.
    pub(super) fn event(&self, text: &str) -> Option<Received> {
        let json: EventJson<'_> = serde_json::from_str(text).ok()?;
        Received::read(&json, self.names, self.clock)
    }

    fn events(&self, json: &ReplyJson<'_>) -> Vec<Received> {
        let events = json.events.iter().flatten();
        events
            .filter_map(|event| Received::read(event, self.names, self.clock))
            .collect()
    }

    /// The answer of the call's kind; none if a part is missing.
    #[expect(clippy::too_many_lines, reason = "a row for each kind of answer")]
    fn answer(&self, op: &Op, json: &ReplyJson<'_>) -> Option<Answer> {
        let user = || json.user_id.as_deref().map(|id| self.names.user(id));
        let room = || json.room_id.as_deref().map(|id| self.names.room(id));
        Some(match op {
            Op::Command(Command::EnterQueue { .. })
                if json.status.as_deref() == Some("matched") =>
            {
                Answer::Matched {
                    user: user()?,
                    room: room()?,
                    partner: self.names.who(json.partner.as_ref()?),
                }
            }
            Op::Command(Command::EnterQueue { .. }) => Answer::Waiting {
                user: user()?,
                position: json.position?,
                estimated_wait: json.estimated_wait_seconds.map(Span::secs),
            },
            Op::Command(Command::LeaveQueue) => Answer::LeftQueue { left: json.left? },
            Op::Command(Command::Login { .. }) => Answer::LoggedIn {
                user: user()?,
                room: room()?,
            },
            Op::Command(
                Command::SendMessage { room: asked, .. } | Command::Push { room: asked, .. },
            ) => Answer::Sent {
                room: room().or(*asked)?,
                room_seq: json.room_seq?,
                at: self.time(json.timestamp.as_deref()),
                turns_left: json.turns_left,
            },
            Op::Command(Command::LeaveChat { .. }) => Answer::LeftChat,
            Op::Command(Command::TalkingStick { room: asked, .. }) => {
                self.stick(room().or(*asked)?, json)?
            }
            Op::Command(Command::Append { .. } | Command::Undo { .. } | Command::Reset { .. }) => {
                match json.draft_length {
                    Some(length) => Answer::Draft {
                        length,
                        truncated: json.truncated.unwrap_or(0),
                        suffix: json.draft_suffix.as_deref().map(Into::into),
                    },
                    None => Answer::Done,
                }
            }
            Op::Command(Command::TakeBreak { .. }) => Answer::OnBreak {
                // The answer to a registered participant does not contain its id.
                user: user().unwrap_or_default(),
                stress: json.stress_level?,
                boss_alert: json.boss_alert_level?,
                flavour: print(json.message.as_deref().unwrap_or_default()),
            },
            Op::Mood => Answer::Mood {
                stress: json.stress_level?,
                boss_alert: json.boss_alert_level?,
            },
            Op::Check { .. } => Answer::Read {
                cursor: json.cursor?,
                more: json.more?,
                unread: json.unread.unwrap_or_default(),
                notices: self.notices(json),
            },
            Op::History { room: asked, .. } => {
                let room = room().or(*asked)?;
                Answer::History {
                    room,
                    messages: self.messages(room, json),
                    more: json.more.unwrap_or_default(),
                }
            }
            Op::ListUsers { room: asked } => Answer::Members {
                room: room().or(*asked)?,
                members: self.members(json),
            },
            _ => Answer::Done,
        })
    }

    fn stick(&self, room: Room, json: &ReplyJson<'_>) -> Option<Answer> {
        let holder = json.holder.as_ref();
        let lease = json.lease_expires_in_seconds.map(Span::secs);
        Some(Answer::Stick {
            room,
            place: json.place?,
            epoch: json.epoch?,
            holder: holder.map(|who| self.names.user(&who.user_id)),
            lease_until: self.clock.now() + lease.unwrap_or_default(),
        })
    }

    /// A server's timestamp as an instant of the run; without one, the time of parsing.
    pub(super) fn time(&self, text: Option<&str>) -> Time {
        let at = text.and_then(timestamp);
        at.map_or_else(|| self.clock.now(), |at| self.clock.of_server(at))
    }
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
pub(super) fn refused(code: &'static str, retry_after: Option<Span>) -> Reply {
    Reply {
        outcome: Err(Refusal {
            retry_after,
            ..Refusal::named(code)
        }),
        events: Vec::new(),
        credentials: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use sim_model::protocol::{EnterQueue, ReadBy, User};

    fn reply(op: &Op, value: &Value) -> Option<Reply> {
        let (names, clock) = (Names::new(0), Clock::start());
        let reader = Reader {
            names: &names,
            clock: &clock,
        };
        reader.reply(op, value.to_string().as_bytes())
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
        let expected = Answer::Waiting {
            user: User(7),
            position: 2,
            estimated_wait: None,
        };
        assert_eq!(reply.outcome, Ok(expected));
        let credentials = reply.credentials.unwrap();
        assert_eq!(&*credentials.handle, "h_1");
        assert_eq!(credentials.inbox.as_deref(), Some("chat://inbox/r_1"));
    }

    #[test]
    fn a_check_returns_its_events() {
        let op = Op::Check {
            after: None,
            wait: Span::ZERO,
            by: ReadBy::Handle,
        };
        let page = json!({
            "events": [{ "seq": 1, "type": "user.joined", "timestamp": "2026-01-01T00:00:00.000Z",
                "room_id": "room_2", "room_seq": 1, "user": { "user_id": "user_1" } }],
            "notices": [], "cursor": 1, "more": false, "unread": 0
        });
        let reply = reply(&op, &page).unwrap();
        let expected = Answer::Read {
            cursor: 1,
            more: false,
            unread: 0,
            notices: Box::default(),
        };
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
        for odd in [json!({}), json!([]), json!({ "status": "matched" })] {
            assert!(reply(&enter(), &odd).is_none(), "{odd}");
        }
    }
}
