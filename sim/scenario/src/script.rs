//! The steps form: users by name, and the time, action and network effects of each step.

use chat_types::Span;
use serde_json::{Value as Json, json};

use super::closest::did_you_mean;
use super::context::Context;
use super::error::{Place, Problems, Read};
use super::fields::Fields;
use super::flow::CallStep;
use super::form::{Form, Keyed as _, form};
use super::forms::{
    Distinct, List, Name, Whole, Word, distinct_names, expected, items, narrowed, text, words,
};
use super::node::{Node, Value, shortened};
use super::schemas::Schemas;
use super::text::Text;
use super::workload::{OpenedBy, Stream};
use sim_model::plan::{self, Argument, Delivery, Net, ScriptStep, ScriptUser, Step};
use sim_model::protocol::ReadBy;

/// The most users of a steps form.
const MAX_USERS: usize = 10_000;

words! { ArgumentOf("something to leave out") => Argument }

/// A user by its name; parsed into an index.
pub(crate) enum User {}

impl User {
    fn find(place: Place, name: &str, context: &Context) -> Read<u32> {
        let Some(users) = &context.users else {
            return Ok(0);
        };
        let index = users.iter().position(|known| known.name == name);
        index.and_then(|i| u32::try_from(i).ok()).ok_or_else(|| {
            let names: Vec<&str> = users.iter().map(|user| user.name.as_str()).collect();
            let shown = names[..names.len().min(20)].join(", ");
            let more = if names.len() > 20 { ", …" } else { "" };
            let accepted = format!("accepted here, as listed under `users`: {shown}{more}");
            let what = format!("there is no user `{}`", shortened(name));
            let label = format!("not among `users`{}", did_you_mean(name, &names));
            place.wrong(what, accepted).labelled(label)
        })
    }
}

impl Form for User {
    type Of = u32;
    const WHAT: &'static str = "the name of a user";
    const EXAMPLE: &'static str = "a";

    fn read(node: &Node, context: &mut Context) -> Read<u32> {
        if context.users.as_ref().is_some_and(Vec::is_empty) {
            return node.place.refuse(
                "only the steps form has users with names",
                "no names: chance draws from the users present",
            );
        }
        Self::find(node.place, text(node, Self::WHAT)?, context)
    }

    fn write(index: &u32, context: &Context) -> Option<Text> {
        let user = context.users.as_ref()?.get(*index as usize);
        user.map(|user| Text::quoted(&user.name))
    }

    fn schema(schemas: &mut Schemas) -> Json {
        schemas.of::<Name>()
    }
}

form! {
    /// One opening of a stream.
    Opening("an opening", "{ reply: 90ms }") => plan::Opening = plan::Opening {
        /// Which stream it is, if not the usual one of the user: by its handle (events), or by its
        /// reader id.
        by as "stream": Option<Word<OpenedBy>>,
        /// Whether it leaves out the cursor, so that the stream begins at the end of the inbox.
        bare: bool = false,
        /// A second stream, opened as soon as the one before is open: how long that one stays open
        /// beside it.
        beside: Option<Span>,
        /// The delivery of the request.
        request: Option<Delivery>,
        /// The delivery of the reply that it is open.
        reply: Option<Span>,
    }
}

form! {
    /// A user: its name, and the stream that it opens.
    UserKeys("a user", "{ name: b, stream: none }") => ScriptUser = ScriptUser {
        /// Its name.
        name: Name,
        /// The event stream that it opens: none, one by its handle (events), or one by its reader
        /// id.
        stream: Stream = Some(ReadBy::Handle),
        /// Each opening of its streams, in turn: how it is opened, and the network's effects on it.
        opens: List<Opening> = Vec::new(),
        /// Whether it registers again under its old handle, once that has ended: after `unregister`,
        /// or when the server has forgotten it.
        keeps_handle: bool = false,
    }
}

/// A user: a name, or `{ name: b, stream: none }`.
impl Form for ScriptUser {
    type Of = Self;
    const WHAT: &'static str = User::WHAT;
    const EXAMPLE: &'static str = User::EXAMPLE;

    fn read(node: &Node, context: &mut Context) -> Read<Self> {
        if matches!(node.value, Value::Map(_)) {
            return UserKeys::read(node, context);
        }
        Ok(Self {
            name: Name::<String>::read(node, context)?,
            stream: Some(ReadBy::Handle),
            ..Self::default()
        })
    }

    fn write(user: &Self, context: &Context) -> Option<Text> {
        let text = UserKeys::write(user, context)?;
        let alone = matches!(&text, Text::Map(keys) if keys.len() == 1);
        Some(if alone {
            Text::quoted(&user.name)
        } else {
            text
        })
    }

    fn schema(schemas: &mut Schemas) -> Json {
        json!({ "anyOf": [schemas.of::<Name>(), schemas.of::<UserKeys>()] })
    }
}

narrowed! {
    /// `users`: the users of the steps form.
    Users, Distinct<ScriptUser, 1>, ScriptUser::WHAT, |users, node, context| {
        if users.len() > MAX_USERS {
            return Err(expected(node, "users", &format!("1 to {MAX_USERS} names")));
        }
        distinct_names::<ScriptUser>(node, users.iter().map(|user| user.name.as_str()))?;
        context.users = Some(users.clone());
        Ok(())
    }
}

form! {
    /// The delivery of a later attempt of the call.
    Retry("an attempt", "{ request: lost }") => Net = Net {
        /// The delivery of the request.
        request: Option<Delivery>,
        /// The delivery of a second copy of the request.
        duplicate: Option<Delivery>,
        /// The delivery of its reply.
        reply: Option<Delivery>,
        /// The delivery of the reply to the second copy.
        duplicate_reply: Option<Delivery>,
    } ..Net::default()
}

form! {
    /// The network's effects on this call.
    NetForm("`net`", "{ request: lost }") => Net = Net {
        /// The delivery of the request.
        request: Option<Delivery>,
        /// The delivery of a second copy of the request.
        duplicate: Option<Delivery>,
        /// The delivery of its reply.
        reply: Option<Delivery>,
        /// The delivery of the reply to the second copy.
        duplicate_reply: Option<Delivery>,
        /// The delivery of the pushes that it causes, by user.
        push: Pushes = Vec::new(),
        /// The delivery of later attempts of the call.
        retries: List<Retry> = Vec::new(),
    }
}

form! {
    StepForm("a step", "{ at: 10ms, user: a, do: enter_queue }", "ScriptStep") => ScriptStep = ScriptStep {
        /// The time from the start.
        at: Span,
        /// A name from `users`.
        user: User,
        what as "do": CallStep,
        /// The arguments that the call omits.
        leave_out: List<Word<ArgumentOf>> = Vec::new(),
        /// The number of the participant that `report`, `block` or `unblock` names, by the order of
        /// registrations. Without it, the one that the user met last.
        whom: Option<Whole<1, 9_007_199_254_740_991>>,
        /// The network's effects on this call.
        net: NetForm = Net::default(),
    }
}

narrowed! {
    /// `steps`: ordered by time.
    Steps, List<StepForm, 1>, StepForm::WHAT, |steps, node, context| {
        for (item, step) in items::<StepForm>(node)?.iter().zip(&*steps) {
            if matches!(step.what, Step::Disconnect(_)) {
                let (fields, problems) = Fields::read(item, StepForm::WHAT, StepForm::KEYS)?;
                problems.finish(Some(()))?;
                fields.refuse(&["leave_out", "whom", "net"], "a disconnection sends nothing")?;
            }
            context.ends.push((item.place, step.at));
        }
        // A stable sort: steps at the same time keep the order of the file.
        steps.sort_by_key(|step| step.at);
        Ok(())
    }
}

/// The delivery of pushes, by user.
pub(crate) enum Pushes {}

impl Form for Pushes {
    type Of = Vec<(u32, Delivery)>;
    const WHAT: &'static str = "what happens to the pushes to each user";
    const EXAMPLE: &'static str = "{ b: 400ms, c: lost }";

    fn read(node: &Node, context: &mut Context) -> Read<Self::Of> {
        let Value::Map(entries) = &node.value else {
            let accepted =
                "a map from users to a duration or `lost`, such as { b: 400ms, c: lost }";
            return Err(expected(node, Self::WHAT, accepted));
        };
        let (mut pushes, mut problems) = (Vec::new(), Problems::default());
        for (index, entry) in entries.iter().enumerate() {
            let user = User::find(entry.place, &entry.key, context);
            let again = entries[..index].iter().any(|other| other.key == entry.key);
            let user = problems.keep(user.and_then(|user| match again {
                false => Ok(user),
                true => entry.place.refuse(
                    format!("the user `{}` occurs twice", entry.key),
                    "each user at most once",
                ),
            }));
            let delivery = problems.keep(Delivery::read(&entry.node, context));
            pushes.extend(user.zip(delivery));
        }
        problems.finish(Some(pushes))
    }

    fn write(pushes: &Self::Of, context: &Context) -> Option<Text> {
        Some(Text::map(pushes.iter().filter_map(|(user, delivery)| {
            Some((
                User::write(user, context)?,
                Delivery::write(delivery, context),
            ))
        })))
    }

    fn schema(schemas: &mut Schemas) -> Json {
        json!({ "type": "object", "additionalProperties": schemas.of::<Delivery>() })
    }
}

/// The delivery of one packet: a duration, or `lost`.
impl Form for Delivery {
    type Of = Self;
    const WHAT: &'static str = Span::WHAT;
    const EXAMPLE: &'static str = "lost";
    const NAME: Option<&'static str> = Some("Delivery");

    fn read(node: &Node, context: &mut Context) -> Read<Self> {
        if matches!(&node.value, Value::Text(text) if text == "lost") {
            return Ok(Self::Lost);
        }
        Span::read(node, context)
            .map(Self::After)
            .map_err(|mut problem| {
                problem.accepted = "accepted here: `lost`, or a duration such as 20ms".into();
                problem
            })
    }

    fn write(delivery: &Self, context: &Context) -> Option<Text> {
        match delivery {
            Self::After(latency) => Span::write(latency, context),
            Self::Lost => Some(Text::plain("lost")),
        }
    }

    fn schema(schemas: &mut Schemas) -> Json {
        json!({
            "description": "How long a packet takes, or `lost`.",
            "anyOf": [schemas.of::<Span>(), { "const": "lost" }]
        })
    }
}
