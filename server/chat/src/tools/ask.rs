//! From a tool and its arguments to a request to the core.

use std::sync::Arc;

use chat_core::{BreakKind, Command, EnterQueue, Read, RoomId, Seq, Span, UserId};

use super::arguments::{AFTER, MAX, MAX_PAGE, WAIT, room_id};
use super::{Arguments, Tool};
use crate::identity::{Handle, MAX_KEY_CHARS};
use crate::refusal::Refusal;

/// The default wait of a `check`.
const DEFAULT_WAIT: Span = Span::secs(20);

/// The default room of a login.
const DEFAULT_ROOM: &str = "lobby";

/// The default number of messages of `history`.
pub(super) const DEFAULT_HISTORY: u64 = 50;

/// The default number of messages of `search`.
pub(super) const DEFAULT_FOUND: u64 = 20;

/// The default number of members of `list_users`, and that of `login`.
const DEFAULT_MEMBERS: u64 = 50;

/// The most characters of a search's query.
const MAX_QUERY: usize = 200;

/// A parsed call.
#[derive(Clone, Debug)]
pub struct ParsedCall {
    /// The handle, if the call has one.
    pub handle: Option<Handle>,
    /// The request key, if there is one.
    pub key: Option<Arc<str>>,
    /// The request.
    pub ask: Ask,
}

/// The request of a call.
#[derive(Clone, Debug)]
pub enum Ask {
    /// A command.
    Command(Command),
    /// A message to the participants with these ids or names, and the check that follows if it is accepted.
    Say(Command, Vec<Arc<str>>, Option<Read>),
    /// A command that may register its caller, as the existing participant of this name, or of any.
    Minting(Command, Option<Arc<str>>),
    /// A command about the participant with this public id; a report has a reason.
    About(Arc<str>, Option<Arc<str>>, AboutUser),
    /// A read.
    Read(Read),
    /// A read of a part of a room's members.
    Members(Option<RoomId>, MemberPart),
    /// A search of past messages.
    Search(Search),
}

/// Builds a command when the number of its participant is known.
type AboutUser = fn(UserId, Option<Arc<str>>) -> Command;

/// The part of a member list that a result has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberPart {
    /// The number of the last member of the part before, as that one's `next`.
    pub after: Option<u64>,
    /// The largest number of members.
    pub limit: usize,
}

impl Default for MemberPart {
    fn default() -> Self {
        Self {
            after: None,
            limit: page(DEFAULT_MEMBERS),
        }
    }
}

/// A search of past messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// The words.
    pub query: Arc<str>,
    /// The room, if not all of the caller's.
    pub room: Option<RoomId>,
    /// The place before which to search, sealed, from an earlier answer.
    pub before: Option<Arc<str>>,
    /// The largest number of messages.
    pub limit: usize,
}

impl Ask {
    /// Whether the core stores its text, for others to read.
    pub(crate) const fn adds_text(&self) -> bool {
        matches!(
            self,
            Self::Command(Command::Append { .. })
                | Self::Say(Command::SendMessage { .. } | Command::Speak { .. }, ..)
                | Self::About(_, Some(_), _)
        )
    }

    /// The size of the texts of the command, which the journal keeps, also if the command is refused;
    /// none for a read.
    pub(crate) fn entry_bytes(&self) -> Option<u64> {
        match self {
            Self::Command(command) | Self::Say(command, ..) | Self::Minting(command, _) => {
                Some(texts_of(command))
            }
            Self::About(_, said, _) => Some(length(said.as_ref())),
            Self::Read(_) | Self::Members(..) | Self::Search(_) => None,
        }
    }

    /// The part of a member list that the result has.
    pub(crate) fn part(&self) -> MemberPart {
        if let Self::Members(_, part) = self {
            return *part;
        }
        MemberPart::default()
    }

    /// The caller's own words that the result repeats: the text of its break.
    pub(crate) fn own_words(&self) -> Option<Arc<str>> {
        if let Self::Minting(Command::TakeBreak { excuse, .. }, _) = self {
            return excuse.clone();
        }
        None
    }
}

fn length(text: Option<&Arc<str>>) -> u64 {
    text.map_or(0, |text| text.len() as u64)
}

/// The size of all texts of a command.
fn texts_of(command: &Command) -> u64 {
    match command {
        Command::EnterQueue(EnterQueue {
            user_id,
            display_name,
            interests,
        }) => {
            let texts = [user_id.as_ref(), display_name.as_ref()].into_iter();
            texts.chain(interests.iter().map(Some)).map(length).sum()
        }
        Command::Login { username, room } => length(Some(username)) + length(Some(room)),
        Command::SendMessage { text, .. }
        | Command::Speak { text, .. }
        | Command::Append { text, .. } => length(Some(text)),
        Command::ReportUser { reason, .. } => length(Some(reason)),
        Command::TakeBreak { excuse, .. } => length(excuse.as_ref()),
        Command::LeaveQueue
        | Command::LeaveChat { .. }
        | Command::TalkingStick { .. }
        | Command::Push { .. }
        | Command::Undo { .. }
        | Command::Reset { .. }
        | Command::Typing { .. }
        | Command::BlockUser { .. }
        | Command::UnblockUser { .. }
        | Command::Unregister => 0,
    }
}

/// Parses the arguments of a tool.
///
/// # Errors
/// An argument is missing, invalid or unknown.
pub fn parse(tool: Tool, arguments: Arguments) -> Result<ParsedCall, Refusal> {
    parse_with(tool, arguments, |arguments| tool.ask(arguments))
}

/// Parses the arguments of `check` with the wait under the name `delay`.
///
/// # Errors
/// As for the tool.
pub fn parse_check_event(arguments: Arguments) -> Result<ParsedCall, Refusal> {
    parse_with(Tool::Check, arguments, |arguments| {
        let after = AFTER.read(arguments)?;
        let wait = WAIT.named("delay").read(arguments)?;
        Ok(check(after, wait, MAX.read(arguments)?))
    })
}

fn parse_with(
    tool: Tool,
    mut arguments: Arguments,
    read: impl FnOnce(&mut Arguments) -> Result<Ask, Refusal>,
) -> Result<ParsedCall, Refusal> {
    let ask = read(&mut arguments)?;
    let handle = arguments.token("handle")?;
    let key = match tool.is_read_only() {
        true => None,
        false => arguments.token("request_key")?,
    };
    if let Some(key) = &key
        && key.chars().count() > MAX_KEY_CHARS
    {
        return Err(Refusal::invalid(format!(
            "`request_key` must be 1 to {MAX_KEY_CHARS} characters, or left out"
        )));
    }
    arguments.finish()?;
    Ok(ParsedCall {
        handle: handle.as_deref().map(Handle::given),
        key,
        ask,
    })
}

pub(super) fn enter_queue(
    user_id: Option<Arc<str>>,
    display_name: Option<Arc<str>>,
    interests: Vec<Arc<str>>,
) -> Ask {
    let name = display_name.clone();
    let enter = EnterQueue {
        user_id,
        display_name,
        interests: interests.into(),
    };
    Ask::Minting(Command::EnterQueue(enter), name)
}

pub(super) fn login(username: Arc<str>, room: Option<Arc<str>>) -> Result<Ask, Refusal> {
    let room = room.unwrap_or_else(|| DEFAULT_ROOM.into());
    // Otherwise who is asked to come to `room_3` would open a room of that name, with another id.
    if room_id(&room).is_some() {
        let told =
            format!("`room` takes a room's name, and {room} is the id of one: ask for its name");
        return Err(Refusal::invalid(told));
    }
    let name = Some(Arc::clone(&username));
    Ok(Ask::Minting(Command::Login { username, room }, name))
}

/// The labels in a break's text. An excuse with one of them would be parsed in their place.
const LABELS: [&str; 3] = ["Break Summary:", "Stress Level:", "Boss Alert Level:"];

pub(super) fn take_break(kind: BreakKind, excuse: Option<Arc<str>>) -> Result<Ask, Refusal> {
    let text = excuse.as_deref().unwrap_or_default();
    if let Some(label) = LABELS.iter().find(|label| text.contains(**label)) {
        let told = format!("`excuse` must not contain `{label}`, which the answer is read by");
        return Err(Refusal::invalid(told));
    }
    let command = Command::TakeBreak { kind, excuse };
    Ok(Ask::Minting(command, None))
}

pub(super) fn check(after: Option<Seq>, wait: Option<u64>, max: Option<u64>) -> Ask {
    Ask::Read(check_of(after, wait, max))
}

fn check_of(after: Option<Seq>, wait: Option<u64>, max: Option<u64>) -> Read {
    Read::Check {
        after,
        wait: wait.map_or(DEFAULT_WAIT, Span::secs),
        max: page(max.unwrap_or(MAX_PAGE)),
    }
}

/// Without a wait, nothing is read.
pub(super) fn speak(
    speak: Command,
    to: Vec<Arc<str>>,
    after: Option<Seq>,
    wait: Option<u64>,
) -> Ask {
    let listens = wait != Some(0);
    Ask::Say(speak, to, listens.then(|| check_of(after, wait, None)))
}

pub(super) fn search(
    query: Arc<str>,
    room: Option<RoomId>,
    before: Option<Arc<str>>,
    limit: Option<u64>,
) -> Result<Ask, Refusal> {
    if query.chars().count() > MAX_QUERY {
        let told = format!("`query` may have at most {MAX_QUERY} characters");
        return Err(Refusal::invalid(told));
    }
    Ok(Ask::Search(Search {
        query,
        room,
        before,
        limit: page(limit.unwrap_or(DEFAULT_FOUND)),
    }))
}

/// A page size.
pub(super) fn page(most: u64) -> usize {
    usize::try_from(most).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn asked(tool: Tool, values: Value) -> Result<ParsedCall, String> {
        let Value::Object(values) = values else {
            panic!("arguments are an object")
        };
        parse(tool, Arguments::new(tool, values)).map_err(|refusal| refusal.message)
    }

    #[test]
    fn a_login_without_a_room_joins_the_lobby() {
        let login = asked(Tool::Login, json!({ "username": "Ann" })).unwrap();
        let Ask::Minting(Command::Login { username, room }, Some(name)) = login.ask else {
            panic!("a login may mint")
        };
        assert_eq!((&*username, &*room, &*name), ("Ann", "lobby", "Ann"));
    }

    #[test]
    fn a_login_takes_no_id_for_the_name_of_a_room() {
        let login = |room: &str| asked(Tool::Login, json!({ "username": "Ann", "room": room }));
        let refused = login("room_3").map(|_| ()).unwrap_err();
        assert!(refused.contains("room_3 is the id"), "{refused}");
        for room in ["room_x", "room_03", "my room_3", "Room_3"] {
            assert!(login(room).is_ok(), "{room}");
        }
    }

    #[test]
    fn a_check_says_how_long_it_waits() {
        let wait = |values| {
            let Ask::Read(Read::Check { wait, .. }) = asked(Tool::Check, values).unwrap().ask
            else {
                panic!("a check is a read")
            };
            wait
        };
        assert_eq!(wait(json!({})), Span::secs(20));
        assert_eq!(wait(json!({ "wait_seconds": 0 })), Span::ZERO);
    }

    #[test]
    fn every_tool_takes_a_handle_and_those_that_change_something_a_key() {
        for tool in Tool::all() {
            let mut values = json!({ "handle": "h_x", "request_key": "k" });
            for (name, value) in [
                ("username", "Ann"),
                ("room_id", "room_1"),
                ("message", "hi"),
                ("text", "hi"),
                ("user_id", "user_1"),
                ("reason", "spam"),
                ("excuse", "the cat"),
                ("query", "tea"),
            ] {
                values[name] = value.into();
            }
            // An argument that a tool does not take is refused, and removed, until none is left.
            loop {
                match asked(tool, values.clone()) {
                    Ok(asked) => {
                        assert_eq!(asked.handle, Some(Handle::given("h_x")));
                        assert_eq!(asked.key.is_some(), !tool.is_read_only(), "{tool}");
                        break;
                    }
                    Err(why) => {
                        let name = why.split('`').nth(1).unwrap();
                        assert!(why.contains("is no argument of"), "{tool}: {why}");
                        values.as_object_mut().unwrap().remove(name).unwrap();
                    }
                }
            }
        }
    }

    /// Models and proxies fill in what a schema names.
    #[test]
    fn an_optional_argument_that_is_empty_counts_as_left_out() {
        for tool in Tool::all() {
            let described = tool.input();
            let names = described["properties"].as_object().unwrap().keys();
            let needed = described.get("required").cloned().unwrap_or(json!([]));
            let is_needed = |name: &str| needed.as_array().unwrap().contains(&json!(name));
            let mut bare = json!({});
            for name in names.clone().filter(|name| is_needed(name)) {
                bare[name] = json!("room_1");
            }
            let left_out = asked(tool, bare.clone()).unwrap();
            for name in names.filter(|name| !is_needed(name)) {
                let is_free = ["display_name", "excuse", "room", "user_id"].contains(&&**name);
                for nothing in [json!(null), json!(""), json!("null"), json!("undefined")] {
                    if is_free && nothing.as_str().is_some_and(|text| !text.is_empty()) {
                        continue;
                    }
                    let mut filled = bare.clone();
                    filled[name] = nothing.clone();
                    let filled = asked(tool, filled).unwrap();
                    let shown = format!("{tool} {name} {nothing}");
                    assert_eq!(format!("{filled:?}"), format!("{left_out:?}"), "{shown}");
                }
            }
        }
    }

    #[test]
    fn what_no_optional_argument_can_be_may_be_left_out() {
        for (tool, name, value) in [
            (Tool::Push, "epoch", json!(0)),
            (Tool::Check, "max", json!(0)),
            (Tool::Check, "after", json!("0")),
            (Tool::EnterQueue, "interests", json!("[\"rust\"]")),
            (Tool::Push, "request_key", json!("k".repeat(200))),
        ] {
            let why = asked(tool, json!({ name: value })).unwrap_err();
            assert!(why.contains(", or left out"), "{why}");
        }
    }

    #[test]
    fn a_room_that_cannot_be_is_not_found() {
        let why = asked(Tool::Push, json!({ "room_id": "lobby" })).unwrap_err();
        assert_eq!(why, "Room not found");
    }
}
