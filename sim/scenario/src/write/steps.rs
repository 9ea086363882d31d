//! Steps of flows, and their calls, in the notation of scenario files.

use std::sync::Arc;

use chat_types::Span;

use super::{in_quotes, lengths, map, part, quoted, spans, text_part, word_of};
use crate::flow::{ALPHABETS, GRANTS, STATUS};
use sim_model::plan::{Grant, Step, Text, Verb};
use sim_model::protocol::ReadBy;

/// One step of a flow, on one line.
pub(super) fn flow_step(step: &Step) -> String {
    let several = |steps: &[Step]| {
        let steps: Vec<String> = steps.iter().map(flow_step).collect();
        format!("[{}]", steps.join(", "))
    };
    match step {
        Step::Call(verb) => call(verb),
        Step::Await { event, within } => {
            format!("{{ await: {{ event: {event}, within: {within} }} }}")
        }
        Step::Think(length) => format!("{{ think: {} }}", spans(length)),
        Step::Loop { count, steps } => {
            format!(
                "{{ loop: {{ count: {count}, steps: {} }} }}",
                several(steps)
            )
        }
        Step::Choose(choices) => {
            let choices: Vec<String> = choices
                .iter()
                .map(|c| format!("{{ weight: {}, steps: {} }}", c.weight, several(&c.steps)))
                .collect();
            format!("{{ choose: [{}] }}", choices.join(", "))
        }
        Step::Disconnect(None) => "disconnect".to_owned(),
        Step::Disconnect(Some(length)) => format!("{{ disconnect: {{ for: {length} }} }}"),
    }
}

fn enter_queue(interests: &[Arc<str>], (name, user_id): (Option<&str>, Option<&str>)) -> String {
    let all: Vec<String> = interests.iter().map(|one| quoted(one)).collect();
    let keys = [
        (!all.is_empty()).then(|| format!("interests: [{}]", all.join(", "))),
        text_part("name", name),
        text_part("user_id", user_id),
    ];
    map(&keys).map_or_else(
        || "enter_queue".to_owned(),
        |keys| format!("{{ enter_queue: {keys} }}"),
    )
}

/// A call that may name a grant of the stick.
fn naming(verb: &str, grant: Grant) -> String {
    match grant {
        Grant::Unnamed => verb.to_owned(),
        Grant::Latest => format!("{{ {verb}: {{ epoch: {} }} }}", word_of(&GRANTS, grant)),
    }
}

pub(super) fn call(verb: &Verb) -> String {
    let with = |name: &str, text: &Text| match text {
        Text::Words(words) => format!("{{ {name}: {{ text: {} }} }}", in_quotes(words)),
        Text::Length(length) => format!("{{ {name}: {{ length: {} }} }}", lengths(length)),
        Text::Letters(alphabet, length) => {
            let alphabet = word_of(&ALPHABETS, Some(*alphabet));
            let length = lengths(length);
            format!("{{ {name}: {{ length: {length}, alphabet: {alphabet} }} }}")
        }
    };
    match verb {
        Verb::EnterQueue {
            name,
            user_id,
            interests,
        } => enter_queue(interests, (name.as_deref(), user_id.as_deref())),
        Verb::Login { room, rooms, name } => {
            let rooms = (*rooms > 1).then(|| format!("rooms: {rooms}"));
            let room = text_part("room", Some(room));
            let keys = map(&[room, rooms, text_part("name", name.as_deref())]);
            format!("{{ login: {} }}", keys.unwrap_or_default())
        }
        Verb::Send(text) => with("send", text),
        Verb::Check { wait, by } => {
            let keys = [
                (*wait > Span::ZERO).then(|| format!("wait: {wait}")),
                (*by == ReadBy::ReaderId).then(|| "as: reader".to_owned()),
            ];
            map(&keys).map_or_else(|| "check".to_owned(), |keys| format!("{{ check: {keys} }}"))
        }
        Verb::History { before, limit } => {
            let keys = [
                before.map(|before| format!("before: {before}")),
                Some(format!("limit: {limit}")),
            ];
            format!("{{ history: {} }}", map(&keys).unwrap_or_default())
        }
        Verb::TalkingStick(grant) => naming("talking_stick", *grant),
        Verb::Append(text) => with("append", text),
        Verb::Undo(grant) => naming("undo", *grant),
        Verb::Reset(grant) => naming("reset", *grant),
        Verb::Report { reason } => {
            format!("{{ report: {{ reason: {} }} }}", in_quotes(reason))
        }
        Verb::Break { kind, excuse } => {
            let excuse = excuse.as_ref().map(|text| in_quotes(text));
            let keys = [
                kind.and_then(|kind| part("kind", kind.name().to_owned())),
                excuse.and_then(|text| part("excuse", text)),
            ];
            map(&keys).map_or_else(|| "break".to_owned(), |keys| format!("{{ break: {keys} }}"))
        }
        Verb::Mood => format!("{{ break: {{ kind: {STATUS} }} }}"),
        Verb::Plain(plain) => plain.kind().verb().to_owned(),
    }
}
