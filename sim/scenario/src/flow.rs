//! Actions of users: verbs, waits, loops and choices.

use std::sync::Arc;

use chat_types::{BreakKind, Config, Span};

use super::error::{Problem, Read};
use super::fields::Fields;
use super::forms::{count, expected, list, listed, name, some_time, span, text, word};
use super::node::{Node, Value};
use super::possible::refuse_impossible;
use super::tables::Tables;
use super::written::{OTHERS, Written, calls, plain, unknown_verb, verbs};
use sim_model::names;
use sim_model::plan::{Alphabet, Choice, Grant, Step, Text, Verb};
use sim_model::protocol::ReadBy;

pub(super) const ENTER_QUEUE_KEYS: [&str; 3] = ["interests", "name", "user_id"];
pub(super) const LOGIN_KEYS: [&str; 3] = ["room", "rooms", "name"];
pub(super) const TEXT_KEYS: [&str; 3] = ["text", "length", "alphabet"];
/// The alphabets of random texts.
pub(super) const ALPHABETS: [(&str, Option<Alphabet>); 3] = [
    ("ascii", None),
    ("words", Some(Alphabet::Words)),
    ("unicode", Some(Alphabet::Unicode)),
];
pub(super) const CHECK_KEYS: [&str; 2] = ["wait", "as"];
pub(super) const HISTORY_KEYS: [&str; 2] = ["before", "limit"];
/// The secrets by which an inbox can be read.
pub(super) const READ_BY: [(&str, ReadBy); 2] =
    [("handle", ReadBy::Handle), ("reader", ReadBy::ReaderId)];
/// The default number of past messages in a `history`.
const HISTORY_LIMIT: u32 = 50;
/// The largest number of past messages in a `history`.
pub(super) const MOST_HISTORY: u32 = 500;
/// The largest position of a room in a `history`.
pub(super) const LAST_PLACE: u32 = 1_000_000_000;
pub(super) const GRANT_KEYS: [&str; 1] = ["epoch"];
/// The grant of the stick that a call names; the call is also valid without one.
pub(super) const GRANTS: [(&str, Grant); 2] = [("none", Grant::Unnamed), ("latest", Grant::Latest)];
pub(super) const REPORT_KEYS: [&str; 1] = ["reason"];
pub(super) const BREAK_KEYS: [&str; 2] = ["kind", "excuse"];
pub(super) const AWAIT_KEYS: [&str; 2] = ["event", "within"];
pub(super) const LOOP_KEYS: [&str; 2] = ["count", "steps"];
pub(super) const CHOICE_KEYS: [&str; 2] = ["weight", "steps"];
pub(super) const DISCONNECT_KEYS: [&str; 1] = ["for"];

/// The only tool of the break tools that is no break.
pub(super) const STATUS: &str = "check_stress_status";
/// The deepest nesting of loops and choices.
const MAX_NESTING: usize = 16;
/// The most steps in one run of a flow.
const MAX_EXPANDED: u64 = 1_000_000;
/// The most rooms of a room pattern.
pub(super) const MAX_ROOMS: u32 = 1_000_000;
/// The largest weight.
pub(super) const MAX_WEIGHT: u32 = 1_000;
/// The longest text or reason, in characters.
const MAX_WORDS: usize = 100_000;

/// Reads steps for a given server configuration.
#[derive(Debug)]
pub(super) struct Flows<'a> {
    server: &'a Config,
    tables: &'a mut Tables,
}

impl<'a> Flows<'a> {
    pub(super) fn new(server: &'a Config, tables: &'a mut Tables) -> Self {
        Self { server, tables }
    }

    /// The flow of a persona: at least one step, a bounded length, and no impossible step.
    pub(super) fn flow(&mut self, node: &Node) -> Read<Arc<[Step]>> {
        let (steps, expanded) = self.steps(node, 0)?;
        if steps.is_empty() {
            return Err(Problem::new(
                node.place,
                "a flow without steps",
                format!("at least one step; {}", verbs()),
            ));
        }
        if expanded > MAX_EXPANDED {
            return Err(Problem::new(
                node.place,
                "with its loops written out, this flow is too long",
                format!("at most {MAX_EXPANDED} steps, the loops' counts multiplied in"),
            ));
        }
        refuse_impossible(node, &steps)?;
        Ok(steps)
    }

    /// Steps, and their number with loops expanded.
    fn steps(&mut self, node: &Node, depth: usize) -> Read<(Arc<[Step]>, u64)> {
        if depth > MAX_NESTING {
            return Err(Problem::new(
                node.place,
                "loops and choices stand too deep in one another",
                format!("at most {MAX_NESTING} deep"),
            ));
        }
        let mut steps = Vec::new();
        let mut expanded = 0_u64;
        for item in list(node, "steps")? {
            let (step, length) = self.step(item, depth)?;
            steps.push(step);
            expanded = expanded.saturating_add(length);
        }
        Ok((steps.into(), expanded))
    }

    fn step(&mut self, node: &Node, depth: usize) -> Read<(Step, u64)> {
        let written = Written::read(node)?;
        let step = match written.verb {
            "await" => awaiting(&written)?,
            "think" => Step::Think(self.tables.drawn_span(written.need("500ms")?)?),
            "loop" => return self.looping(&written, depth),
            "choose" => return self.choosing(&written, depth),
            "disconnect" => disconnecting(&written)?,
            _ => Step::Call(self.call(&written)?),
        };
        Ok((step, 1))
    }

    /// One call, or a disconnection: a step of the steps form.
    pub(super) fn single(&mut self, node: &Node) -> Read<Step> {
        let written = Written::read(node)?;
        if written.verb == "disconnect" {
            return disconnecting(&written);
        }
        if OTHERS.contains(&written.verb) {
            return Err(Problem::new(
                written.place,
                format!("`{}` does not belong into the steps form", written.verb),
                format!(
                    "one call at a time, each with its own `at`: {}, disconnect",
                    calls().collect::<Vec<_>>().join(", ")
                ),
            ));
        }
        self.call(&written).map(Step::Call)
    }

    fn looping(&mut self, written: &Written<'_>, depth: usize) -> Read<(Step, u64)> {
        const EXAMPLE: &str = "loop: { count: 5, steps: […] }";
        let fields = Fields::read(
            written.need("{ count: 5, steps: […] }")?,
            "`loop`",
            &LOOP_KEYS,
        )?;
        let times = count(fields.need("count", EXAMPLE)?, 1..=1_000_000)?;
        let (steps, length) = self.steps(fields.need("steps", EXAMPLE)?, depth + 1)?;
        let expanded = length.saturating_mul(u64::from(times)).saturating_add(1);
        let count = times;
        Ok((Step::Loop { count, steps }, expanded))
    }

    fn choosing(&mut self, written: &Written<'_>, depth: usize) -> Read<(Step, u64)> {
        const EXAMPLE: &str = "{ weight: 1, steps: […] }";
        let node = written.need("[{ weight: 4, steps: […] }, { weight: 1, steps: […] }]")?;
        let mut choices = Vec::new();
        let mut longest = 0;
        for item in list(node, "choices")? {
            let fields = Fields::read(item, "a choice", &CHOICE_KEYS)?;
            let weight = fields.get("weight").map_or(Ok(1), weight)?;
            let (steps, length) = self.steps(fields.need("steps", EXAMPLE)?, depth + 1)?;
            longest = longest.max(length);
            choices.push(Choice { weight, steps });
        }
        if choices.is_empty() {
            return Err(expected(node, "something to choose from", EXAMPLE));
        }
        Ok((Step::Choose(choices.into()), longest.saturating_add(1)))
    }

    fn call(&mut self, written: &Written<'_>) -> Read<Verb> {
        if let Some(plain) = plain(written.verb) {
            written.take_nothing()?;
            return Ok(Verb::Plain(plain));
        }
        Ok(match written.verb {
            "enter_queue" => enter_queue(written)?,
            "login" => login(written)?,
            "send" => Verb::Send(self.words(written, "`send`")?),
            "check" => self.check(written)?,
            "talking_stick" => Verb::TalkingStick(grant(written, "`talking_stick`")?),
            "append" => Verb::Append(self.words(written, "`append`")?),
            "undo" => Verb::Undo(grant(written, "`undo`")?),
            "reset" => Verb::Reset(grant(written, "`reset`")?),
            "report" => report(written)?,
            "break" => resting(written)?,
            "history" => history(written)?,
            // `Written::read` accepts only listed verbs; the callers handle the others.
            other => return Err(unknown_verb(written.place, other)),
        })
    }

    fn words(&mut self, written: &Written<'_>, what: &'static str) -> Read<Text> {
        const EXAMPLE: &str = "{ text: \"hello\" }";
        let fields = Fields::read(written.need(EXAMPLE)?, what, &TEXT_KEYS)?;
        let (key, node) = fields.one_of(&["text", "length"], EXAMPLE)?;
        if key == "text" {
            fields.refuse(&["alphabet"], "a written text has its own letters")?;
            return Ok(Text::Words(bounded_text(node)?));
        }
        let length = self.tables.drawn_length(node)?;
        let alphabet = fields
            .get("alphabet")
            .map_or(Ok(None), |node| word(node, "an alphabet", &ALPHABETS))?;
        Ok(match alphabet {
            None => Text::Length(length),
            Some(alphabet) => Text::Letters(alphabet, length),
        })
    }

    fn check(&self, written: &Written<'_>) -> Read<Verb> {
        let mut wait = Span::ZERO;
        let fields = written.fields("`check`", &CHECK_KEYS)?;
        let get = |key| fields.and_then(|fields| fields.get(key));
        let by = get("as").map_or(Ok(ReadBy::Handle), |node| {
            word(node, "a secret to read by", &READ_BY)
        })?;
        if let Some(node) = get("wait") {
            wait = span(node)?;
            if wait > self.server.max_wait {
                return Err(Problem::new(
                    node.place,
                    format!("a wait of {wait} is more than the server allows"),
                    format!("at most server.max_wait, which is {}", self.server.max_wait),
                ));
            }
        }
        Ok(Verb::Check { wait, by })
    }
}

/// The weight of a choice, relative to the others.
pub(super) fn weight(node: &Node) -> Read<u32> {
    count(node, 1..=MAX_WEIGHT)
}

fn enter_queue(written: &Written<'_>) -> Read<Verb> {
    let fields = written.fields("`enter_queue`", &ENTER_QUEUE_KEYS)?;
    let get = |key| fields.and_then(|fields| fields.get(key));
    let interest = |item: &Node| name(item, "an interest");
    let interests = get("interests").map_or_else(
        || Ok(Arc::default()),
        |node| list(node, "interests")?.iter().map(interest).collect(),
    )?;
    Ok(Verb::EnterQueue {
        name: get("name").map(bounded_text).transpose()?,
        user_id: get("user_id").map(bounded_text).transpose()?,
        interests,
    })
}

fn login(written: &Written<'_>) -> Read<Verb> {
    let fields = written.fields("`login`", &LOGIN_KEYS)?;
    let get = |key| fields.and_then(|fields| fields.get(key));
    let rooms = get("rooms").map_or(Ok(1), |node| count(node, 1..=MAX_ROOMS))?;
    let room = get("room").map_or_else(|| Ok(Arc::from("lobby")), bounded_text)?;
    let name = get("name").map(bounded_text).transpose()?;
    Ok(Verb::Login { room, rooms, name })
}

fn history(written: &Written<'_>) -> Read<Verb> {
    let fields = written.fields("`history`", &HISTORY_KEYS)?;
    let get = |key| fields.and_then(|fields| fields.get(key));
    let before = get("before").map(|node| count(node, 1..=LAST_PLACE));
    let limit = get("limit").map_or(Ok(HISTORY_LIMIT), |node| count(node, 1..=MOST_HISTORY))?;
    Ok(Verb::History {
        before: before.transpose()?.map(u64::from),
        limit,
    })
}

fn grant(written: &Written<'_>, what: &'static str) -> Read<Grant> {
    let fields = written.fields(what, &GRANT_KEYS)?;
    let epoch = fields.and_then(|fields| fields.get("epoch"));
    epoch.map_or(Ok(Grant::Unnamed), |node| {
        word(node, "a grant of the stick", &GRANTS)
    })
}

fn report(written: &Written<'_>) -> Read<Verb> {
    let fields = written.fields("`report`", &REPORT_KEYS)?;
    let reason = match fields.and_then(|fields| fields.get("reason")) {
        Some(node) => bounded_text(node)?,
        None => Arc::from("spam"),
    };
    Ok(Verb::Report { reason })
}

/// The values of `break`: any break by its name, or `check_stress_status`, which is none.
pub(super) fn break_kinds() -> Vec<&'static str> {
    let breaks = BreakKind::ALL.iter().map(|kind| kind.name());
    breaks.chain([STATUS]).collect()
}

fn resting(written: &Written<'_>) -> Read<Verb> {
    let fields = written.fields("`break`", &BREAK_KEYS)?;
    let get = |key| fields.and_then(|fields| fields.get(key));
    let excuse = get("excuse").map(bounded_text).transpose()?;
    let Some(node) = get("kind") else {
        return Ok(Verb::Break { kind: None, excuse });
    };
    let kind = listed(node, "a break", &break_kinds())?;
    if kind != STATUS {
        let kind = BreakKind::parse(kind);
        return Ok(Verb::Break { kind, excuse });
    }
    if excuse.is_some() {
        return Err(Problem::new(
            node.place,
            format!("`{STATUS}` is no break, and needs no excuse"),
            "a break, or no `excuse`",
        ));
    }
    Ok(Verb::Mood)
}

fn bounded_text(node: &Node) -> Read<Arc<str>> {
    let words = text(node, "a text")?;
    if words.chars().count() > MAX_WORDS {
        return Err(Problem::new(
            node.place,
            "a text too long to write out",
            format!("at most {MAX_WORDS} characters"),
        ));
    }
    Ok(Arc::from(words))
}

fn awaiting(written: &Written<'_>) -> Read<Step> {
    const WHAT: &str = "an event type";
    let node = written.need("{ event: chatroom.found, within: 10s }")?;
    let mut within = Span::secs(60);
    let event = if matches!(node.value, Value::Map(_)) {
        let fields = Fields::read(node, "`await`", &AWAIT_KEYS)?;
        if let Some(node) = fields.get("within") {
            within = some_time(node)?;
        }
        listed(
            fields.need("event", "event: chatroom.found")?,
            WHAT,
            &names::EVENTS,
        )?
    } else {
        listed(node, WHAT, &names::EVENTS)?
    };
    Ok(Step::Await { event, within })
}

fn disconnecting(written: &Written<'_>) -> Read<Step> {
    let fields = written.fields("`disconnect`", &DISCONNECT_KEYS)?;
    let node = fields.and_then(|fields| fields.get("for"));
    Ok(Step::Disconnect(node.map(some_time).transpose()?))
}
