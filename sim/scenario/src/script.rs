//! The steps form: users by name, and the time, action and network effects of each step.

use chat_types::Config;

use super::closest::did_you_mean;
use super::ends::End;
use super::error::{Problem, Read};
use super::fields::Fields;
use super::flow::Flows;
use super::forms::{expected, list, name, span, text, word};
use super::node::{Entry, Node, Place, Value, shortened};
use super::tables::Tables;
use super::workload::stream;
use sim_model::plan::{Argument, Delivery, Net, ScriptStep, ScriptUser, Step};
use sim_model::protocol::ReadBy;

pub(super) const USER_KEYS: [&str; 3] = ["name", "stream", "opens"];
pub(super) const STEP_KEYS: [&str; 5] = ["at", "user", "do", "leave_out", "net"];
pub(super) const NET_KEYS: [&str; 5] = ["request", "duplicate", "reply", "push", "retries"];
/// The keys of one of the `retries`.
pub(super) const RETRY_KEYS: [&str; 3] = ["request", "duplicate", "reply"];
/// The keys of one of the `opens`.
pub(super) const OPENING_KEYS: [&str; 2] = ["request", "reply"];
/// The arguments that a call can omit.
pub(super) const ARGUMENTS: [(&str, Argument); 6] = [
    ("room", Argument::Room),
    ("epoch", Argument::Epoch),
    ("key", Argument::Key),
    ("fresh_key", Argument::FreshKey),
    ("after", Argument::After),
    ("retries", Argument::Retries),
];
/// The most users of a steps form.
const MAX_USERS: usize = 10_000;

/// The names of the users of a steps form; none in the phases form.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Users<'a>(pub(super) &'a [ScriptUser]);

impl Users<'_> {
    /// The index of the user with this name.
    pub(super) fn index(self, node: &Node) -> Read<u32> {
        self.find(node.place, text(node, "the name of a user")?)
    }

    fn find(self, place: Place, name: &str) -> Read<u32> {
        let index = self.0.iter().position(|known| known.name == name);
        index.and_then(|i| u32::try_from(i).ok()).ok_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|user| user.name.as_str()).collect();
            let shown = names
                .iter()
                .take(20)
                .copied()
                .collect::<Vec<_>>()
                .join(", ");
            let more = if names.len() > 20 { ", …" } else { "" };
            Problem::new(
                place,
                format!("there is no user `{}`", shortened(name)),
                format!("accepted here, as listed under `users`: {shown}{more}"),
            )
            .labelled(format!("not among `users`{}", did_you_mean(name, &names)))
        })
    }
}

/// The users: names, or `{ name: b, stream: none }`.
pub(super) fn users(node: &Node) -> Read<Vec<ScriptUser>> {
    let mut users: Vec<ScriptUser> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    let items = list(node, "names of users")?;
    if items.is_empty() || items.len() > MAX_USERS {
        return Err(expected(
            node,
            "users",
            &format!("1 to {MAX_USERS} names, such as [a, b]"),
        ));
    }
    for item in items {
        let user = user(item)?;
        if !seen.insert(user.name.clone()) {
            return Err(Problem::new(
                item.place,
                format!("a second user named `{}`", user.name),
                "a name of its own for each user",
            ));
        }
        users.push(user);
    }
    Ok(users)
}

fn user(node: &Node) -> Read<ScriptUser> {
    const WHAT: &str = "the name of a user";
    if !matches!(node.value, Value::Map(_)) {
        let name = name(node, WHAT)?.to_string();
        return Ok(ScriptUser {
            name,
            stream: true,
            stream_by: ReadBy::Handle,
            opens: Vec::new(),
        });
    }
    let fields = Fields::read(node, "a user", &USER_KEYS)?;
    let stream = stream(fields.get("stream"))?;
    Ok(ScriptUser {
        name: name(fields.need("name", "name: a")?, WHAT)?.to_string(),
        stream: stream.is_some(),
        stream_by: stream.unwrap_or_default(),
        opens: fields.get("opens").map_or(Ok(Vec::new()), openings)?,
    })
}

fn openings(node: &Node) -> Read<Vec<Net>> {
    let opening = |item| {
        let fields = Fields::read(item, "an opening", &OPENING_KEYS)?;
        Ok(Net {
            request: fields.get("request").map(delivery).transpose()?,
            // Only a duration: a lost reply would equal a very late one, since the client then gives
            // up the stream.
            reply: fields
                .get("reply")
                .map(span)
                .transpose()?
                .map(Delivery::After),
            ..Net::default()
        })
    };
    let items = list(node, "what happens to each opening of the stream")?;
    items.iter().map(opening).collect()
}

/// The steps ordered by time, and the place and time of each.
pub(super) fn steps(
    node: &Node,
    users: Users<'_>,
    server: &Config,
    tables: &mut Tables,
) -> Read<(Vec<ScriptStep>, Vec<End>)> {
    let mut flows = Flows::new(server, tables);
    let mut steps = Vec::new();
    let mut ends = Vec::new();
    for item in list(node, "steps")? {
        let step = step(item, users, &mut flows)?;
        ends.push(End {
            place: item.place,
            at: step.at,
        });
        steps.push(step);
    }
    if steps.is_empty() {
        return Err(Problem::new(
            node.place,
            "no steps",
            "at least one step, such as { at: 10ms, user: a, do: enter_queue }",
        ));
    }
    // A stable sort: steps at the same time keep the order of the file.
    steps.sort_by_key(|step| step.at);
    Ok((steps, ends))
}

fn step(node: &Node, users: Users<'_>, flows: &mut Flows<'_>) -> Read<ScriptStep> {
    const EXAMPLE: &str = "{ at: 10ms, user: a, do: enter_queue }";
    let fields = Fields::read(node, "a step", &STEP_KEYS)?;
    let at = span(fields.need("at", EXAMPLE)?)?;
    let user = users.index(fields.need("user", EXAMPLE)?)?;
    let what = flows.single(fields.need("do", EXAMPLE)?)?;
    if matches!(what, Step::Disconnect(_)) {
        fields.refuse(&["leave_out", "net"], "a disconnection sends nothing")?;
    }
    let mut leave_out = Vec::new();
    if let Some(node) = fields.get("leave_out") {
        for item in list(node, "arguments to go without")? {
            leave_out.push(word(item, "something to leave out", &ARGUMENTS)?);
        }
    }
    let net = fields
        .get("net")
        .map_or_else(|| Ok(Net::default()), |node| net(node, users))?;
    Ok(ScriptStep {
        at,
        user,
        what,
        leave_out,
        net,
    })
}

fn net(node: &Node, users: Users<'_>) -> Read<Net> {
    let fields = Fields::read(node, "`net`", &NET_KEYS)?;
    let mut push = Vec::new();
    if let Some(node) = fields.get("push") {
        for entry in pushes(node)? {
            let user = users.find(entry.place, &entry.key)?;
            if push.iter().any(|(other, _)| *other == user) {
                return Err(Problem::new(
                    entry.place,
                    format!("the user `{}` is there twice", entry.key),
                    "each user at most once",
                ));
            }
            push.push((user, delivery(&entry.node)?));
        }
    }
    let mut retries = Vec::new();
    if let Some(node) = fields.get("retries") {
        for item in list(node, "what happens to each later attempt")? {
            retries.push(attempt(&Fields::read(item, "an attempt", &RETRY_KEYS)?)?);
        }
    }
    Ok(Net {
        push,
        retries,
        ..attempt(&fields)?
    })
}

/// The network's effects on one attempt.
fn attempt(fields: &Fields<'_>) -> Read<Net> {
    let delivered = |key| fields.get(key).map(delivery).transpose();
    Ok(Net {
        request: delivered("request")?,
        duplicate: delivered("duplicate")?,
        reply: delivered("reply")?,
        ..Net::default()
    })
}

fn pushes(node: &Node) -> Read<&[Entry]> {
    let Value::Map(entries) = &node.value else {
        return Err(expected(
            node,
            "what happens to the pushes to each user",
            "a map from users to a duration or `lost`, such as { b: 400ms, c: lost }",
        ));
    };
    Ok(entries)
}

fn delivery(node: &Node) -> Read<Delivery> {
    if matches!(&node.value, Value::Text(text) if text == "lost") {
        return Ok(Delivery::Lost);
    }
    span(node).map(Delivery::After).map_err(|mut problem| {
        problem.accepted = "accepted here: `lost`, or a duration such as 20ms".into();
        problem
    })
}
