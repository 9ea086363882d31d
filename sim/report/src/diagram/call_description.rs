//! Descriptions of calls, and the position that an answer contains.

use sim_model::history::RequestKey;
use sim_model::protocol::{Op, Read};

/// What a call asks for besides its words, each with a name.
pub(super) fn call_facts(op: &Op, key: RequestKey) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(room) = op.room().flatten() {
        facts.push(("room", format!("room_{}", room.0)));
    }
    if let Some(epoch) = op.epoch() {
        facts.push(("epoch", epoch.to_string()));
    }
    if let Op::Read { read, .. } = op
        && let Read::Check { after, wait, .. } = read
    {
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
    facts
}

/// The first of several items, and the number of the others.
pub(super) fn several(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} +{}", rest.len()),
    }
}
