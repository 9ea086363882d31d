//! From a tool and its arguments to what the core is asked.

use std::sync::Arc;

use chat_core::{BreakKind, Command, EnterQueue, Read, RoomSeq, Span};

use super::{Arguments, Tool};
use crate::identity::{Handle, MAX_KEY_CHARS};
use crate::wire::Refusal;

/// How long a `check` waits when it does not say.
const DEFAULT_WAIT: Span = Span::secs(20);

/// The room that a login without one joins.
const DEFAULT_ROOM: &str = "lobby";

/// How many messages `history` shows when it is not told.
const DEFAULT_HISTORY: u64 = 50;

/// The most that `max` and `limit` may say; the configuration may allow less.
const MAX_PAGE: u64 = 1_000;

/// A call, read and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Who calls, if it said so.
    pub handle: Option<Handle>,
    /// The request key, if there is one.
    pub key: Option<Arc<str>>,
    /// What it asks.
    pub ask: Ask,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// A command.
    Command(Command),
    /// A command by which one may register.
    Minting(Command, Mint),
    /// Neither meet nor hear the participant with this public id.
    Block(Box<str>),
    /// To lift a block of this public id.
    Unblock(Box<str>),
    /// Report the participant with this public id, for this reason.
    Report(Box<str>, Arc<str>),
    /// A read.
    Read(Read),
    /// A read by one who may register by it: a newcomer has a mood, too.
    Mood,
}

impl Ask {
    /// The text that is kept of it.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Command(Command::SendMessage { text, .. } | Command::Append { text, .. }) => {
                Some(text)
            }
            Self::Report(_, reason) => Some(reason),
            Self::Minting(..)
            | Self::Command(_)
            | Self::Block(_)
            | Self::Unblock(_)
            | Self::Read(_)
            | Self::Mood => None,
        }
    }

    /// What the caller says itself of its break.
    #[must_use]
    pub fn excuse(&self) -> Option<Arc<str>> {
        match self {
            Self::Minting(Command::TakeBreak { excuse, .. }, _) => excuse.clone(),
            Self::Minting(..)
            | Self::Command(_)
            | Self::Block(_)
            | Self::Unblock(_)
            | Self::Report(..)
            | Self::Read(_)
            | Self::Mood => None,
        }
    }
}

/// By what one who calls without a handle may be known to be there already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mint {
    /// It wants this name.
    Named(Arc<str>),
    /// It does not mind its name.
    Unnamed,
}

/// Reads the arguments of a tool.
///
/// # Errors
/// The first argument that is missing, wrong, or none of the tool's.
pub fn parse(tool: Tool, arguments: Arguments) -> Result<Asked, Refusal> {
    parse_with(tool, arguments, ask)
}

/// Reads the arguments of `send_message` where the room may be left out, as the core allows.
///
/// # Errors
/// As for the tool.
pub fn parse_send(arguments: Arguments) -> Result<Asked, Refusal> {
    parse_with(Tool::SendMessage, arguments, |_, arguments| {
        Ok(Ask::Command(Command::SendMessage {
            room: arguments.room()?,
            text: arguments.needed_text("message")?,
            epoch: arguments.epoch()?,
        }))
    })
}

/// Reads the arguments of `check` where the wait is called `delay`.
///
/// # Errors
/// As for the tool.
pub fn parse_check_event(arguments: Arguments) -> Result<Asked, Refusal> {
    parse_with(Tool::Check, arguments, |_, arguments| {
        check(arguments, "delay")
    })
}

fn parse_with(
    tool: Tool,
    mut arguments: Arguments,
    read: impl FnOnce(Tool, &mut Arguments) -> Result<Ask, Refusal>,
) -> Result<Asked, Refusal> {
    let ask = read(tool, &mut arguments)?;
    let handle = arguments.text("handle")?;
    let key = match tool.is_read_only() {
        true => None,
        false => arguments.text("request_key")?,
    };
    if let Some(key) = &key
        && !(1..=MAX_KEY_CHARS).contains(&key.chars().count())
    {
        return Err(Refusal::invalid(format!(
            "`request_key` must be 1 to {MAX_KEY_CHARS} characters"
        )));
    }
    arguments.finish()?;
    Ok(Asked {
        handle: handle.as_deref().map(Handle::given),
        key,
        ask,
    })
}

fn ask(tool: Tool, arguments: &mut Arguments) -> Result<Ask, Refusal> {
    Ok(match tool {
        Tool::EnterQueue => enter_queue(arguments)?,
        Tool::Login => login(arguments)?,
        Tool::LeaveQueue => Ask::Command(Command::LeaveQueue),
        Tool::SendMessage => Ask::Command(Command::SendMessage {
            room: Some(arguments.needed_room()?),
            text: arguments.needed_text("message")?,
            epoch: arguments.epoch()?,
        }),
        Tool::Append => Ask::Command(Command::Append {
            text: arguments.needed_text("text")?,
            room: arguments.room()?,
            epoch: arguments.epoch()?,
        }),
        Tool::TalkingStick => Ask::Command(Command::TalkingStick {
            room: arguments.room()?,
            epoch: arguments.epoch()?,
        }),
        Tool::Push => Ask::Command(Command::Push {
            room: arguments.room()?,
            epoch: arguments.epoch()?,
        }),
        Tool::Undo => Ask::Command(Command::Undo {
            room: arguments.room()?,
            epoch: arguments.epoch()?,
        }),
        Tool::Reset => Ask::Command(Command::Reset {
            room: arguments.room()?,
            epoch: arguments.epoch()?,
        }),
        Tool::LeaveChat => Ask::Command(Command::LeaveChat {
            room: arguments.room()?,
        }),
        Tool::Typing => Ask::Command(Command::Typing {
            room: arguments.room()?,
        }),
        Tool::BlockUser => Ask::Block(arguments.needed_text("user_id")?.as_ref().into()),
        Tool::UnblockUser => Ask::Unblock(arguments.needed_text("user_id")?.as_ref().into()),
        Tool::ReportUser => {
            let user = arguments.needed_text("user_id")?.as_ref().into();
            Ask::Report(user, arguments.needed_text("reason")?)
        }
        Tool::Check => check(arguments, "wait_seconds")?,
        Tool::ListUsers => Ask::Read(Read::Members {
            room: arguments.room()?,
        }),
        Tool::History => history(arguments)?,
        Tool::Break(kind) => take_break(kind, arguments)?,
        Tool::CheckStressStatus => Ask::Mood,
    })
}

fn enter_queue(arguments: &mut Arguments) -> Result<Ask, Refusal> {
    let user_id = arguments.text("user_id")?;
    let display_name = arguments.text("display_name")?;
    let interests = arguments.texts("interests")?;
    let mint = display_name.clone().map_or(Mint::Unnamed, Mint::Named);
    let enter = EnterQueue {
        user_id,
        display_name,
        interests: interests.into(),
    };
    Ok(Ask::Minting(Command::EnterQueue(enter), mint))
}

fn login(arguments: &mut Arguments) -> Result<Ask, Refusal> {
    let username = arguments.needed_text("username")?;
    let room = arguments
        .text("room")?
        .unwrap_or_else(|| DEFAULT_ROOM.into());
    let mint = Mint::Named(Arc::clone(&username));
    Ok(Ask::Minting(Command::Login { username, room }, mint))
}

/// By these labels a break's text is read; an excuse that has one would be read in their place.
const LABELS: [&str; 3] = ["Break Summary:", "Stress Level:", "Boss Alert Level:"];

fn take_break(kind: BreakKind, arguments: &mut Arguments) -> Result<Ask, Refusal> {
    let excuse = arguments.text("excuse")?;
    let label = excuse
        .as_deref()
        .and_then(|text| LABELS.iter().find(|label| text.contains(**label)));
    if let Some(label) = label {
        let told = format!("`excuse` must not contain `{label}`, which the answer is read by");
        return Err(Refusal::invalid(told));
    }
    let command = Command::TakeBreak { kind, excuse };
    Ok(Ask::Minting(command, Mint::Unnamed))
}

fn check(arguments: &mut Arguments, wait: &'static str) -> Result<Ask, Refusal> {
    let after = arguments.seq("after")?;
    // The core caps the wait; here it only has to be a number of seconds.
    let wait = arguments.integer(wait, (0, 86_400))?;
    let max = arguments.integer("max", (1, MAX_PAGE))?.unwrap_or(MAX_PAGE);
    Ok(Ask::Read(Read::Check {
        after,
        wait: wait.map_or(DEFAULT_WAIT, Span::secs),
        max: usize::try_from(max).unwrap_or(usize::MAX),
    }))
}

fn history(arguments: &mut Arguments) -> Result<Ask, Refusal> {
    let room = arguments.room()?;
    let before = arguments.seq("before")?.map(|seq| RoomSeq(seq.0));
    let limit = arguments.integer("limit", (1, MAX_PAGE))?;
    Ok(Ask::Read(Read::History {
        room,
        before,
        limit: usize::try_from(limit.unwrap_or(DEFAULT_HISTORY)).unwrap_or(usize::MAX),
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn asked(tool: Tool, values: Value) -> Result<Asked, String> {
        let Value::Object(values) = values else {
            panic!("arguments are an object")
        };
        parse(tool, Arguments::new(tool, values)).map_err(|refusal| refusal.message)
    }

    #[test]
    fn a_login_without_a_room_joins_the_lobby() {
        let login = asked(Tool::Login, json!({ "username": "Ann" })).unwrap();
        let Ask::Minting(Command::Login { username, room }, Mint::Named(name)) = login.ask else {
            panic!("a login may mint")
        };
        assert_eq!((&*username, &*room, &*name), ("Ann", "lobby", "Ann"));
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
        for tool in Tool::ALL {
            let mut values = json!({ "handle": "h_x", "request_key": "k" });
            for (name, value) in [
                ("username", "Ann"),
                ("room_id", "room_1"),
                ("message", "hi"),
                ("text", "hi"),
                ("user_id", "user_1"),
                ("reason", "spam"),
                ("excuse", "the cat"),
            ] {
                values[name] = value.into();
            }
            // What a tool does not take is complained of, and taken out, until nothing is left.
            loop {
                match asked(*tool, values.clone()) {
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

    #[test]
    fn a_room_that_cannot_be_is_not_found() {
        let why = asked(Tool::Push, json!({ "room_id": "lobby" })).unwrap_err();
        assert_eq!(why, "Room not found");
    }
}
