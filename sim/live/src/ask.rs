//! Calls of virtual users as tools with arguments.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::names::Names;
use super::target::Protocol;
use sim_model::protocol::{Command, Op, OpKind, Read, Room};

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

/// The largest part of a member list.
const ALL_MEMBERS: usize = 1_000;

impl Ask {
    /// A call without a request key.
    pub(super) const fn new(handle: Option<Arc<str>>, op: Op) -> Self {
        Self {
            handle,
            key: None,
            op,
            room: None,
        }
    }

    /// The operation's arguments. Plain HTTP has the handle in a header, and another name for the
    /// wait.
    pub(super) fn arguments(&self, names: &Names, protocol: Protocol) -> Value {
        let (handle, wait_key) = match protocol == Protocol::Http {
            true => (None, "delay"),
            false => (self.handle.as_deref(), "wait_seconds"),
        };
        let room_text = |room: Option<Room>| json!(room.map(|room| names.room_text(room)));
        let key = self.key.filter(|_| !self.op.is_read());
        let to: Vec<_> = self.op.to().map(|user| names.user_text(user)).collect();
        let to = Some(to).filter(|to| !to.is_empty());
        let usual = [
            ("handle", json!(handle)),
            ("request_key", json!(key.map(|key| names.key(key)))),
            ("room_id", room_text(self.op.room().flatten())),
            ("epoch", json!(self.op.epoch().map(|epoch| epoch.0))),
            (
                "user_id",
                json!(self.op.about().map(|user| names.user_text(user))),
            ),
            ("to", json!(to)),
        ];
        let own = match &self.op {
            Op::Command(Command::EnterQueue(enter)) => {
                let user_id = enter.user_id.as_deref().map(|id| names.of_run(id));
                vec![
                    ("user_id", json!(user_id)),
                    ("display_name", json!(enter.display_name)),
                    ("interests", json!(enter.interests)),
                ]
            }
            Op::Command(Command::Login { username, room }) => vec![
                ("username", json!(username)),
                ("room", json!(names.of_run(room))),
            ],
            Op::Command(Command::SendMessage { room, text, .. }) => vec![
                ("room_id", room_text(room.or(self.room))),
                ("message", json!(text)),
            ],
            Op::Command(Command::Speak { room, text, .. }) => vec![
                ("room_id", room_text(room.or(self.room))),
                ("message", json!(text)),
                ("wait_seconds", json!(0)),
            ],
            Op::Command(Command::Append { text, .. }) => vec![("text", json!(text))],
            Op::Command(Command::ReportUser { reason, .. }) => vec![("reason", json!(reason))],
            Op::Command(Command::TakeBreak { excuse, .. }) => vec![("excuse", json!(excuse))],
            Op::Read { read, .. } => match (*read, wait_key) {
                (Read::Check { after, wait, .. }, key) => vec![
                    ("after", json!(after.map(|after| after.0))),
                    (key, json!(wait.as_secs())),
                ],
                (Read::History { before, limit, .. }, _) => vec![
                    ("before", json!(before.map(|before| before.0))),
                    ("limit", json!(limit)),
                ],
                (Read::Members { .. }, _) => vec![("limit", json!(ALL_MEMBERS))],
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        let all = usual.into_iter().chain(own);
        all.filter(|(_, value)| !value.is_null()).collect()
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
        _ if ask.op.kind() == OpKind::Check => "/check_event".into(),
        _ => format!("/tools/{}", ask.op.tool()).into(),
    }
}

#[cfg(test)]
mod tests {
    use chat_types::Span;

    use super::*;
    use sim_model::protocol::{Addressees, ReadBy};

    fn ask(op: Op) -> Ask {
        Ask {
            room: Some(Room(4)),
            ..Ask::new(Some("h_1".into()), op)
        }
    }

    fn login() -> Ask {
        ask(Op::Command(Command::Login {
            username: "Ann".into(),
            room: "table".into(),
        }))
    }

    #[test]
    fn a_call_has_the_arguments_that_its_tool_takes() {
        let names = Names::new(7);
        let said = ask(Op::Command(Command::SendMessage {
            room: None,
            text: "hi".into(),
            epoch: None,
            to: Addressees::ALL,
        }));
        let of = |ask: &Ask| ask.arguments(&names, Protocol::Http);
        assert_eq!(of(&said), json!({ "room_id": "room_4", "message": "hi" }));
        let check = ask(Op::check(Some(3), Span::millis(2_900), ReadBy::Handle));
        assert_eq!(of(&check), json!({ "after": 3, "delay": 2 }));
        let by_mcp = json!({ "handle": "h_1", "after": 3, "wait_seconds": 2 });
        assert_eq!(check.arguments(&names, Protocol::Mcp20251125), by_mcp);
        let room = format!("table{}", names.suffix());
        assert_eq!(of(&login()), json!({ "username": "Ann", "room": room }));
    }

    #[test]
    fn newcomers_register_and_others_log_in() {
        let mut login = login();
        assert_eq!(route(&login), "/tools/login");
        login.handle = None;
        assert_eq!(route(&login), "/register");
        assert_eq!(
            route(&ask(Op::by_handle(Read::Mood))),
            "/tools/check_stress_status"
        );
    }
}
