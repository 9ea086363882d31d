//! Descriptions of calls, and the position that an answer contains.

use sim_model::history::RequestKey;
use sim_model::protocol::Op;
use sim_model::words;

/// A call at its first attempt.
#[derive(Debug)]
pub(super) struct CallDescription {
    pub(super) words: String,
    pub(super) verb: &'static str,
    pub(super) facts: Vec<(&'static str, String)>,
}

/// The description of a call.
pub(super) fn describe_call(op: &Op, key: RequestKey) -> CallDescription {
    let mut facts = Vec::new();
    if let Some(room) = op.room().flatten() {
        facts.push(("room", format!("room_{}", room.0)));
    }
    if let Some(epoch) = op.epoch() {
        facts.push(("epoch", epoch.to_string()));
    }
    if let Op::Check { after, wait, .. } = op {
        let after = after.map_or_else(
            || "the server's own cursor".to_owned(),
            |after| after.to_string(),
        );
        facts.push(("after", after));
        facts.push(("wait", wait.to_string()));
    }
    match key {
        RequestKey::None if !op.is_read() => facts.push(("request key", "none".to_owned())),
        RequestKey::Previous => facts.push(("request key", "that of the previous call".to_owned())),
        RequestKey::None | RequestKey::Own => {}
    }
    CallDescription {
        words: words::called(op),
        verb: op.verb(),
        facts,
    }
}

/// The first of several items, and the number of the others.
pub(super) fn several(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} +{}", rest.len()),
    }
}
