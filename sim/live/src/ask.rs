//! Calls of virtual users as tools with arguments.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;

use super::names::Names;
use sim_model::protocol::{Command, EnterQueue, Op, Read, Room};

/// One attempt of a call to the server.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// The caller's handle; none if the call registers.
    pub(super) handle: Option<Arc<str>>,
    /// The request key, before the run's salt is added.
    pub(super) key: Option<u128>,
    /// The operation.
    pub(super) op: Op,
    /// The client's current room, for protocols that need a room where the operation names none.
    pub(super) room: Option<Room>,
}

/// The union of all tools' arguments. Each tool takes some of them.
#[derive(Debug, Default, Serialize)]
pub(super) struct Arguments<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interests: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    room: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    room_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    excuse: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_seconds: Option<u64>,
    /// The wait, as plain HTTP names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<usize>,
}

impl<'a> Arguments<'a> {
    /// Adds the handle.
    pub(super) fn by(mut self, handle: Option<&'a str>) -> Self {
        self.handle = handle;
        self
    }

    /// Moves the wait to the name that `/check_event` has for it.
    pub(super) fn with_delay(mut self) -> Self {
        self.delay = self.wait_seconds.take();
        self
    }
}

/// The largest part of a member list.
const ALL_MEMBERS: usize = 1_000;

impl Ask {
    /// The operation's arguments without the handle.
    pub(super) fn arguments(&self, names: &Names) -> Arguments<'_> {
        let room_text = |room: Option<Room>| room.map(|room| names.room_text(room));
        let key = self.key.filter(|_| !self.op.is_read());
        let base = Arguments {
            request_key: key.map(|key| names.key(key)),
            room_id: room_text(self.op.room().flatten()),
            epoch: self.op.epoch().map(|epoch| epoch.0),
            user_id: self.op.about().map(|user| names.user_text(user)),
            ..Arguments::default()
        };
        match &self.op {
            Op::Command(Command::EnterQueue(EnterQueue {
                user_id,
                display_name,
                interests,
            })) => Arguments {
                user_id: user_id.as_deref().map(|id| names.of_run(id)),
                display_name: display_name.as_deref(),
                interests: Some(interests.iter().map(|one| &**one).collect()),
                ..base
            },
            Op::Command(Command::Login { username, room }) => Arguments {
                username: Some(username),
                room: Some(names.room_name(room)),
                ..base
            },
            Op::Command(Command::SendMessage { room, text, .. }) => Arguments {
                room_id: room_text(room.or(self.room)),
                message: Some(text),
                ..base
            },
            Op::Command(Command::Append { text, .. }) => Arguments {
                text: Some(text),
                ..base
            },
            Op::Command(Command::ReportUser { reason, .. }) => Arguments {
                reason: Some(reason),
                ..base
            },
            Op::Command(Command::TakeBreak { excuse, .. }) => Arguments {
                excuse: excuse.as_deref(),
                ..base
            },
            Op::Read { read, .. } => match *read {
                Read::Check { after, wait, .. } => Arguments {
                    after: after.map(|after| after.0),
                    wait_seconds: Some(wait.as_secs()),
                    ..base
                },
                Read::History { before, limit, .. } => Arguments {
                    before: before.map(|before| before.0),
                    limit: Some(limit),
                    ..base
                },
                Read::Members { .. } => Arguments {
                    limit: Some(ALL_MEMBERS),
                    ..base
                },
                Read::Mood => base,
            },
            _ => base,
        }
    }
}

/// The route of plain HTTP: some calls have their own, the others that of their tool.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "most calls have the route of their tool"
)]
pub(super) fn route(ask: &Ask) -> Cow<'static, str> {
    match &ask.op {
        Op::Command(Command::Login { .. }) if ask.handle.is_none() => "/register".into(),
        Op::Command(Command::SendMessage { .. }) => "/send".into(),
        Op::Command(Command::TalkingStick { .. }) => "/talking_stick".into(),
        Op::Read {
            read: Read::Check { .. },
            ..
        } => "/check_event".into(),
        _ => format!("/tools/{}", ask.op.tool()).into(),
    }
}

#[cfg(test)]
mod tests {
    use chat_types::Span;
    use serde_json::json;

    use super::*;
    use sim_model::protocol::ReadBy;

    fn ask(op: Op) -> Ask {
        Ask {
            handle: Some("h_1".into()),
            key: None,
            op,
            room: Some(Room(4)),
        }
    }

    #[test]
    fn a_call_has_the_arguments_that_its_tool_takes() {
        let names = Names::new(7);
        let said = ask(Op::Command(Command::SendMessage {
            room: None,
            text: "hi".into(),
            epoch: None,
        }));
        let of = |ask: &Ask| serde_json::to_value(ask.arguments(&names)).unwrap();
        assert_eq!(of(&said), json!({ "room_id": "room_4", "message": "hi" }));
        let check = ask(Op::check(Some(3), Span::millis(2_900), ReadBy::Handle));
        assert_eq!(of(&check), json!({ "after": 3, "wait_seconds": 2 }));
        let renamed = serde_json::to_value(check.arguments(&names).with_delay()).unwrap();
        assert_eq!(renamed, json!({ "after": 3, "delay": 2 }));
        let login = ask(Op::Command(Command::Login {
            username: "Ann".into(),
            room: "table".into(),
        }));
        let room = format!("table{}", names.suffix());
        assert_eq!(of(&login), json!({ "username": "Ann", "room": room }));
    }

    #[test]
    fn newcomers_register_and_others_log_in() {
        let mut login = ask(Op::Command(Command::Login {
            username: "Ann".into(),
            room: "table".into(),
        }));
        assert_eq!(route(&login), "/tools/login");
        login.handle = None;
        assert_eq!(route(&login), "/register");
        assert_eq!(
            route(&ask(Op::by_handle(Read::Mood))),
            "/tools/check_stress_status"
        );
    }
}
