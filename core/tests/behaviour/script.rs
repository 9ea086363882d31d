//! The language of the scripts: each line is an entry for the Hub, or a read.
//!
//! ```text
//! config stick_lease=4s             limits, before anything else; or: seed 7
//! 0s  ann login lobby               a name that was not seen before registers
//!     ben login lobby as='Ben B'    without a time: at that of the last line
//! 1s  ann send 'hi' key=1 epoch=2 room=room_1 to=ben,cat
//! 2s  ann new login lobby key=9     `new`: without a handle (a retried registration)
//!     cat login lobby from=3        a registration from this address; without it, from 0
//! 3s  operator mute ann 'noise'
//! 4s  tick
//!     reports                       operators read: reports, bans
//! 5s  ann read after=3 max=2        reads change nothing: read, users, history, notices, mood
//! 6s  resume stick_lease=8s         back after downtime, under another configuration
//! 7s  resume lost                   back after the loss of a life
//!     given ann,ben login; ann send 'hi'   a set-up: all is accepted, and no result is shown
//!     given ann,ben pair            each enters the queue by its name, and uses its handle
//!     each ann push; ann undo       all are refused alike, which is shown once
//! ```

use std::sync::Arc;

use chat_core::{
    Address, Addressees, BreakKind, Caller, Command, Config, Continuity, EnterQueue, Entry, Epoch,
    Implied, Operate, RequestKey, RoomId, SecretHash, Seq, Span, UserId, mix_bytes,
};

use crate::words::Words;

/// The handle of a script's participant.
pub(crate) fn handle(name: &str) -> SecretHash {
    secret(name, 1)
}

/// The reader id of a script's participant.
pub(crate) fn reader(name: &str) -> SecretHash {
    secret(name, 2)
}

fn secret(name: &str, salt: u64) -> SecretHash {
    let halves = [mix_bytes(salt, name.as_bytes()), salt].map(u64::to_le_bytes);
    let mut hash = [0; 16];
    hash.copy_from_slice(halves.as_flattened());
    SecretHash(hash)
}

/// The configuration with these keys changed, in the form of scenarios.
pub(crate) fn configured(config: &Config, words: &mut Words) -> Config {
    let mut value = serde_json::to_value(config).expect("a configuration serialises");
    for (key, text) in words.take_named() {
        value[&key] = match text.parse::<u64>() {
            Ok(number) => number.into(),
            Err(_) => text.into(),
        };
    }
    let config: Config = serde_json::from_value(value).expect("a configuration");
    config.check().expect("a configuration that can be kept to");
    config
}

/// Finds the participant with this name in the script; `user_9` is the one with that id.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<UserId>;

/// The lines that one with several steps stands for.
pub(crate) fn steps(line: &str) -> Vec<String> {
    let keyword = ["given ", "each "]
        .iter()
        .find_map(|word| line.split_once(word));
    let (_, steps) = keyword.expect("a keyword before the steps");
    let mut lines = Vec::new();
    for step in steps.split("; ") {
        let (actors, act) = step.split_once(' ').expect("who does what");
        for actor in actors.split(',') {
            if act == "pair" {
                lines.push(format!("{actor} enter_queue as={actor}"));
                lines.push(format!("{actor} seen"));
            } else {
                lines.push(format!("{actor} {act}"));
            }
        }
    }
    lines
}

/// Parses what an actor does.
pub(crate) fn entry(actor: &str, words: &mut Words, config: &Config, lookup: Lookup<'_>) -> Entry {
    match actor {
        "tick" => Entry::Tick,
        "step" => Entry::Stepped,
        "resume" => Entry::Resumed {
            continuity: match words.take("lost") {
                Some(_) => Continuity::Broken,
                None => Continuity::Whole,
            },
            config: Box::new(configured(config, words)),
            version: "test".into(),
        },
        "operator" => Entry::Operate {
            operator: "olga".into(),
            act: act(words, lookup),
        },
        name => of_participant(name, words, lookup),
    }
}

fn of_participant(name: &str, words: &mut Words, lookup: Lookup<'_>) -> Entry {
    if let Some(implied) = implied(words) {
        let user = participant(name, lookup);
        return Entry::Implied { user, implied };
    }
    let mints = matches!(words.peek(), "login" | "enter_queue" | "break") && lookup(name).is_none();
    let caller = if words.take("new").is_some() || mints {
        Caller::New {
            handle: handle(name),
            reader: reader(name),
            from: Address(words.number("from").unwrap_or_default()),
        }
    } else {
        Caller::Handle(handle(name))
    };
    Entry::Call {
        caller,
        key: words.number("key").map(RequestKey),
        command: command(name, words, lookup),
    }
}

pub(crate) fn participant(name: &str, lookup: Lookup<'_>) -> UserId {
    lookup(name).unwrap_or_else(|| {
        let number = name.strip_prefix("user_").and_then(|n| n.parse().ok());
        UserId(number.unwrap_or_else(|| panic!("nobody is called {name}")))
    })
}

fn implied(words: &mut Words) -> Option<Implied> {
    let implied = match words.peek() {
        "open_stream" => Implied::OpenStream,
        "close_stream" => Implied::CloseStream,
        "seen" => Implied::Seen {
            waiting: words
                .text("waiting")
                .map(|text| Span::parse(&text).expect("a length of time")),
        },
        "ack" | "deliver" => return Some(marks(words)),
        _ => return None,
    };
    words.next();
    Some(implied)
}

fn marks(words: &mut Words) -> Implied {
    let kind = words.next();
    let seq = words.next();
    let seq = Seq(words.parse(&seq));
    let acknowledged = if kind == "ack" { seq } else { Seq(0) };
    Implied::Read {
        acknowledged,
        delivered: seq,
    }
}

fn command(name: &str, words: &mut Words, lookup: Lookup<'_>) -> Command {
    let verb = words.next();
    let room = words.number("room").map(RoomId);
    let epoch = words.number("epoch").map(Epoch);
    let to = words.text("to").unwrap_or_default();
    let to = to.split(',').filter(|name| !name.is_empty());
    let to: Addressees = to.map(|name| participant(name, lookup)).collect();
    match verb.as_str() {
        "enter_queue" => Command::EnterQueue(enter(words)),
        "leave_queue" => Command::LeaveQueue,
        "login" => Command::Login {
            username: words.text("as").unwrap_or_else(|| name.into()).into(),
            room: words.maybe().unwrap_or_else(|| "lobby".into()).into(),
        },
        "send" => Command::SendMessage {
            room,
            text: words.next().into(),
            epoch,
            to,
        },
        "speak" => Command::Speak {
            room,
            text: words.next().into(),
            to,
        },
        "leave_chat" => Command::LeaveChat { room },
        "talking_stick" => Command::TalkingStick { room, epoch },
        "append" => Command::Append {
            room,
            text: words.next().into(),
            epoch,
        },
        "push" => Command::Push { room, epoch, to },
        "undo" => Command::Undo { room, epoch },
        "reset" => Command::Reset { room, epoch },
        "typing" => Command::Typing { room },
        "block" => Command::BlockUser {
            user: participant(&words.next(), lookup),
        },
        "unblock" => Command::UnblockUser {
            user: participant(&words.next(), lookup),
        },
        "report" => Command::ReportUser {
            user: participant(&words.next(), lookup),
            reason: words.next().into(),
        },
        "break" => Command::TakeBreak {
            kind: BreakKind::named(&words.next()).expect("a break"),
            excuse: words.text("excuse").map(Arc::from),
        },
        "unregister" => Command::Unregister,
        other => panic!("there is no `{other}`"),
    }
}

fn enter(words: &mut Words) -> EnterQueue {
    let interests = words.text("interests").unwrap_or_default();
    let interests = interests.split(',').filter(|one| !one.is_empty());
    EnterQueue {
        user_id: words.text("id").map(Arc::from),
        display_name: words.text("as").map(Arc::from),
        interests: interests.map(Arc::from).collect(),
    }
}

fn act(words: &mut Words, lookup: Lookup<'_>) -> Operate {
    let verb = words.next();
    let whom = words.next();
    let user = || participant(&whom, lookup);
    match verb.as_str() {
        "mute" => Operate::Mute {
            user: user(),
            reason: words.next().into(),
        },
        "unmute" => Operate::Unmute { user: user() },
        "kick" => Operate::Kick {
            user: user(),
            room: RoomId(words.number("room").expect("out of which room")),
            reason: words.next().into(),
        },
        "close" => Operate::Close {
            room: RoomId(words.parse(&whom)),
            reason: words.next().into(),
        },
        "ban" => Operate::BanUser {
            user: user(),
            reason: words.next().into(),
        },
        "unban" => Operate::Unban { name: whom.into() },
        "mute_address" => Operate::MuteAddress {
            address: Address(words.parse(&whom)),
            reason: words.next().into(),
        },
        "ban_address" => Operate::BanAddress {
            address: Address(words.parse(&whom)),
            reason: words.next().into(),
        },
        "unban_address" => Operate::UnbanAddress {
            address: Address(words.parse(&whom)),
        },
        other => panic!("operators do not `{other}`"),
    }
}
