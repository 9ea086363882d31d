//! How the tools are described to models and programs: names, order and texts are fixed.
//!
//! A model pays for every word here in each conversation, so all of it together stays small: a
//! test holds the line.

use serde_json::{Map, Value, json};

use chat_core::BreakKind;

use super::Tool;

/// A tool as it is listed.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The tool.
    pub tool: Tool,
    /// What it does and when to call it.
    pub text: &'static str,
    /// What it takes, as a JSON Schema.
    pub input: Map<String, Value>,
    /// What `structuredContent` holds, as a JSON Schema.
    pub output: Map<String, Value>,
}

/// Said of every field of a result that shows other participants.
const UNTRUSTED: &str = "untrusted: other participants' words";

/// An argument: its name, its schema, and whether it is needed.
type Argument = (&'static str, Value, Need);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    Needed,
    Optional,
}

use Need::{Needed, Optional};

/// How the tool is described.
#[must_use]
pub fn describe(tool: Tool) -> Description {
    let mut arguments = own_arguments(tool);
    arguments.push(("handle", json!({ "type": "string" }), Optional));
    if !tool.is_read_only() {
        arguments.push(("request_key", json!({ "type": "string" }), Optional));
    }
    Description {
        tool,
        text: text(tool),
        input: object(arguments),
        output: output(tool),
    }
}

const fn text(tool: Tool) -> &'static str {
    match tool {
        Tool::EnterQueue => {
            "Wait for a partner to chat with. Returns your handle (keep it secret; pass it to \
             every call) and, once matched, the room_id. If status is waiting, call check until \
             chatroom.found. A request_key of 22+ random characters makes retries safe."
        }
        Tool::LeaveQueue => "Stop waiting for a partner.",
        Tool::SendMessage => {
            "Say something in a room at once. Pass a fresh request_key so that a retry is not \
             said twice."
        }
        Tool::LeaveChat => "Leave a room. A chat of two ends for both.",
        Tool::Login => {
            "Register under a name and join a named room (default lobby). Returns your handle: \
             keep it secret and pass it to every call. With a handle, joins another room."
        }
        Tool::Check => {
            "Read new events: messages, matches, the stick. Waits up to wait_seconds for one. Pass \
             the last cursor as after: that acknowledges what you have."
        }
        Tool::TalkingStick => {
            "Ask for the talking stick. place 0: you hold it and may speak; otherwise wait for \
             stick.granted. Asking again keeps your place."
        }
        Tool::Append => "Add up to 200 characters to your draft. Needs the stick.",
        Tool::Push => "Send your draft as one message and release the stick.",
        Tool::Undo => "Take back the last append.",
        Tool::Reset => "Clear the draft and release the stick, or withdraw your claim.",
        Tool::ListUsers => "Who is in a room, and whether they are there.",
        Tool::History => "Past messages of a room, newest last.",
        Tool::Typing => "Show the room that you are writing.",
        Tool::BlockUser => "Never meet or hear this user again.",
        Tool::UnblockUser => "Lift your block of this user.",
        Tool::ReportUser => "Report a user to the operators.",
        Tool::Break(kind) => text_of_break(kind),
        Tool::CheckStressStatus => "How stressed you are, and how alert the boss. Changes nothing.",
    }
}

const fn text_of_break(kind: BreakKind) -> &'static str {
    match kind {
        BreakKind::TakeABreak => {
            "Take a plain break. Every break lowers your stress and may alert the boss; at alert 5 \
             it takes 20 s. excuse: a line to say yourself."
        }
        BreakKind::WatchNetflix => "Take a break with a series.",
        BreakKind::ShowMeme => "Take a break with memes.",
        BreakKind::BathroomBreak => "Take a break in the bathroom, with a phone.",
        BreakKind::CoffeeMission => "Take a break on the long way to a coffee.",
        BreakKind::UrgentCall => "Take a break on an urgent call.",
        BreakKind::DeepThinking => "Take a break that looks like thinking.",
        BreakKind::EmailOrganizing => "Take a break sorting mail, and shopping.",
        BreakKind::Chimaek => "Take a break with fried chicken and beer.",
        BreakKind::LeaveWork => "Take a break by going home.",
        BreakKind::CompanyDinner => "Take a break at the company dinner.",
    }
}

fn own_arguments(tool: Tool) -> Vec<Argument> {
    let string = || json!({ "type": "string" });
    let room = || ("room_id", string(), Optional);
    let epoch = || ("epoch", json!({ "type": "integer" }), Optional);
    match tool {
        Tool::EnterQueue => vec![
            ("user_id", string(), Optional),
            ("display_name", string(), Optional),
            (
                "interests",
                json!({ "type": "array", "items": { "type": "string" } }),
                Optional,
            ),
        ],
        Tool::SendMessage => vec![
            ("room_id", string(), Needed),
            ("message", string(), Needed),
            epoch(),
        ],
        Tool::Login => vec![("username", string(), Needed), ("room", string(), Optional)],
        Tool::Check => vec![
            (
                "after",
                json!({ "type": "integer", "minimum": 0 }),
                Optional,
            ),
            (
                "wait_seconds",
                json!({ "type": "integer", "minimum": 0, "default": 20, "description": "at most 50" }),
                Optional,
            ),
            ("max", json!({ "type": "integer", "minimum": 1 }), Optional),
        ],
        Tool::Append => vec![("text", string(), Needed), room(), epoch()],
        Tool::TalkingStick | Tool::Push | Tool::Undo | Tool::Reset => vec![room(), epoch()],
        Tool::LeaveQueue => vec![],
        Tool::LeaveChat | Tool::ListUsers | Tool::Typing => vec![room()],
        Tool::History => vec![
            room(),
            ("before", json!({ "type": "integer" }), Optional),
            (
                "limit",
                json!({ "type": "integer", "minimum": 1, "default": 50 }),
                Optional,
            ),
        ],
        Tool::BlockUser | Tool::UnblockUser => vec![("user_id", string(), Needed)],
        Tool::ReportUser => vec![("user_id", string(), Needed), ("reason", string(), Needed)],
        Tool::Break(_) => vec![("excuse", string(), Optional)],
        Tool::CheckStressStatus => vec![],
    }
}

fn object(arguments: Vec<Argument>) -> Map<String, Value> {
    let needed: Vec<_> = arguments
        .iter()
        .filter(|(_, _, need)| *need == Needed)
        .map(|(name, _, _)| *name)
        .collect();
    let properties: Map<_, _> = arguments
        .into_iter()
        .map(|(name, schema, _)| (name.to_owned(), schema))
        .collect();
    let mut object = Map::new();
    object.insert("type".into(), "object".into());
    object.insert("properties".into(), properties.into());
    if !needed.is_empty() {
        object.insert("required".into(), needed.into());
    }
    object
}

/// What is always there when the call was accepted; `error` is there when it was refused, and `note`
/// where the result shows others.
fn output(tool: Tool) -> Map<String, Value> {
    let own = own_results(tool);
    let has_peers = own
        .iter()
        .any(|(_, schema)| schema["description"] == UNTRUSTED);
    let mut properties: Map<_, _> = own
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    if has_peers {
        properties.insert("note".into(), json!({ "type": "string" }));
    }
    properties.insert("unread".into(), json!({ "type": "integer" }));
    properties.insert("error".into(), json!({ "type": "object" }));
    let mut object = Map::new();
    object.insert("type".into(), "object".into());
    object.insert("properties".into(), properties.into());
    object
}

/// What the results of a tool say of their own.
fn own_results(tool: Tool) -> Vec<(&'static str, Value)> {
    let string = || json!({ "type": "string" });
    let integer = || json!({ "type": "integer" });
    let peer = |kind: Value| json!({ "type": kind, "description": UNTRUSTED });
    let peers = || {
        let items = json!({ "type": "object" });
        json!({ "type": "array", "items": items, "description": UNTRUSTED })
    };
    match tool {
        Tool::EnterQueue => vec![
            ("status", json!({ "enum": ["waiting", "matched"] })),
            ("handle", string()),
            ("user_id", string()),
            ("inbox_uri", string()),
            ("position", integer()),
            ("queue_length", integer()),
            (
                "estimated_wait_seconds",
                json!({ "type": ["integer", "null"] }),
            ),
            ("room_id", string()),
            ("partner", peer("object".into())),
        ],
        Tool::LeaveQueue => vec![("left", json!({ "type": "boolean" }))],
        Tool::SendMessage | Tool::Push => vec![
            ("success", json!({ "type": "boolean" })),
            ("message_id", string()),
            ("room_seq", integer()),
            ("timestamp", string()),
            ("turns_left", integer()),
        ],
        Tool::Login => vec![
            ("handle", string()),
            ("user_id", string()),
            ("room_id", string()),
            ("inbox_uri", string()),
            ("users", peers()),
        ],
        Tool::Check => vec![
            ("events", peers()),
            ("notices", peers()),
            ("cursor", integer()),
            ("more", json!({ "type": "boolean" })),
        ],
        Tool::TalkingStick => vec![
            ("status", json!({ "enum": ["granted", "waiting"] })),
            ("place", integer()),
            ("epoch", integer()),
            ("holder", peer(json!(["object", "null"]))),
            ("lease_expires_in_seconds", integer()),
        ],
        Tool::Append | Tool::Undo | Tool::Reset => vec![
            ("draft_length", integer()),
            ("truncated", integer()),
            ("draft_suffix", string()),
        ],
        Tool::ListUsers => vec![("room_id", string()), ("users", peers())],
        Tool::History => vec![
            ("room_id", string()),
            ("messages", peers()),
            ("more", json!({ "type": "boolean" })),
        ],
        Tool::LeaveChat | Tool::Typing | Tool::BlockUser | Tool::UnblockUser | Tool::ReportUser => {
            vec![("success", json!({ "type": "boolean" }))]
        }
        Tool::Break(_) | Tool::CheckStressStatus => rested(tool),
    }
}

/// What those of breaks say: how one is, and who one is to whoever came without a handle.
fn rested(tool: Tool) -> Vec<(&'static str, Value)> {
    let mut own = vec!["handle", "user_id", "inbox_uri"];
    if matches!(tool, Tool::Break(_)) {
        own.extend(["message", "break_summary"]);
    }
    let texts = own
        .into_iter()
        .map(|name| (name, json!({ "type": "string" })));
    let figures =
        ["stress_level", "boss_alert_level"].map(|name| (name, json!({ "type": "integer" })));
    texts.chain(figures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What models pay for: the names, texts and inputs of all tools.
    const MAX_BYTES: usize = 10_000;

    #[test]
    fn all_descriptions_together_stay_small() {
        let bytes: usize = Tool::ALL
            .iter()
            .map(|tool| {
                let told = describe(*tool);
                let input = serde_json::to_string(&told.input).unwrap();
                told.tool.name().len() + told.text.len() + input.len()
            })
            .sum();
        assert!(bytes <= MAX_BYTES, "{bytes} bytes");
    }

    #[test]
    fn fields_that_show_others_say_that_they_are_untrusted() {
        let untrusted: Vec<_> = Tool::ALL
            .iter()
            .flat_map(|tool| {
                let properties = describe(*tool).output["properties"].clone();
                let fields = properties.as_object().unwrap().clone();
                let has_note = fields.contains_key("note");
                let told = fields
                    .into_iter()
                    .filter(|(_, schema)| schema["description"] == UNTRUSTED);
                told.map(move |(name, _)| (tool.name(), name, has_note))
                    .collect::<Vec<_>>()
            })
            .collect();
        let expected = [
            ("enter_queue", "partner"),
            ("login", "users"),
            ("check", "events"),
            ("check", "notices"),
            ("talking_stick", "holder"),
            ("list_users", "users"),
            ("history", "messages"),
        ];
        let mut expected = expected.map(|(tool, name)| (tool, name.to_owned(), true));
        let mut untrusted = untrusted;
        untrusted.sort();
        expected.sort();
        assert_eq!(untrusted, expected);
    }

    #[test]
    fn every_argument_that_is_needed_is_described() {
        for tool in Tool::ALL {
            let input = describe(*tool).input;
            for name in input
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                let name = name.as_str().unwrap();
                assert!(input["properties"].get(name).is_some(), "{tool}: {name}");
            }
        }
    }
}
