//! The actions of users: a table of verbs, and the values of each.

use std::sync::Arc;

use chat_types::{BreakKind, Span};
use serde_json::{Map, Value as Json, json};

use super::closest::did_you_mean;
use super::context::Context;
use super::error::{Place, Problem, Read};
use super::fields::Fields;
use super::flow_check::refuse_impossible;
use super::form::{ByKeys, Form, form};
use super::forms::{Count, List, Name, SomeTime, Whole, Word, names, narrowed, words};
use super::node::{Node, Value, shortened};
use super::schemas::{Schemas, described, word_or_key};
use super::tables::{Drawn, DrawnTime, Length};
use super::text::Text;
use sim_model::plan;
use sim_model::plan::{Alphabet, Grant, Step, Verb};
use sim_model::protocol::{EVENTS, OpKind, Plain, ReadBy};

/// The deepest nesting of loops and choices.
const MAX_NESTING: usize = 16;
/// The most steps in one run of a flow.
const MAX_EXPANDED: u64 = 1_000_000;

/// How long an `await` waits by default.
const USUAL_WAIT: Span = Span::secs(60);

/// The weight of a choice, relative to the others.
pub(crate) type Weight = Count<1, 1_000>;

/// A verb with its form.
struct Row {
    verb: &'static str,
    /// The description, for editors.
    about: &'static str,
    /// Whether the verb is also a step without a value.
    alone: fn() -> bool,
    /// An example of a value.
    example: fn() -> String,
    read: fn(&Node, &mut Context) -> Read<Step>,
    /// The value of a step, if the step has this verb.
    write: fn(&Step, &Context) -> Option<Text>,
    schema: fn(&mut Schemas) -> Json,
}

/// The value of a verb that is written alone: a map without keys.
const fn nothing(place: Place) -> Node {
    let value = Value::Map(Vec::new());
    Node { place, value }
}

/// Generates a row for each verb: its description, its word, the form of its value, and the
/// conversions between that value and the step.
macro_rules! rows {
    ($(#[doc = $about:literal] $verb:literal: $form:ty => $make:expr, $of:pat => $value:expr;)*) => {
        &[$(Row {
            verb: $verb,
            about: $about,
            alone: || <$form as Form>::read(&nothing(Place::default()), &mut Context::default()).is_ok(),
            example: <$form as Form>::example,
            read: |node, context| <$form as Form>::read(node, context).map($make),
            write: |step, context| {
                #[allow(irrefutable_let_patterns, reason = "of a form that looks for its step itself")]
                if let $of = step { <$form as Form>::write($value, context) } else { None }
            },
            schema: |schemas| schemas.of::<$form>(),
        },)*]
    };
}

/// The verbs that call the server, except those that never take a value.
const CALLS: &[Row] = rows! {
    /// Enter the queue.
    "enter_queue": EnterQueue => Step::Call, Step::Call(verb) => verb;
    /// Register under a name and join a room; later, join another.
    "login": Login => Step::Call, Step::Call(verb) => verb;
    /// Send a message.
    "send": plan::Text => |text| Step::Call(Verb::Send(text)), Step::Call(Verb::Send(text)) => text;
    /// Say something when the stick comes, and pass it on.
    "speak": plan::Text => |text| Step::Call(Verb::Speak(text)), Step::Call(Verb::Speak(text)) => text;
    /// Add to the draft.
    "append": plan::Text => |text| Step::Call(Verb::Append(text)), Step::Call(Verb::Append(text)) => text;
    /// Read the inbox.
    "check": Check => Step::Call, Step::Call(verb) => verb;
    /// Read the room's past messages.
    "history": History => Step::Call, Step::Call(verb) => verb;
    /// Claim the stick, or ask for the place of the claim.
    "talking_stick": UnderGrant => |under| Step::Call(Verb::TalkingStick(under.epoch)), Step::Call(Verb::TalkingStick(epoch)) => &UnderGrant { epoch: *epoch };
    /// Remove the last append.
    "undo": UnderGrant => |under| Step::Call(Verb::Undo(under.epoch)), Step::Call(Verb::Undo(epoch)) => &UnderGrant { epoch: *epoch };
    /// Clear the draft, and give up the stick or the claim.
    "reset": UnderGrant => |under| Step::Call(Verb::Reset(under.epoch)), Step::Call(Verb::Reset(epoch)) => &UnderGrant { epoch: *epoch };
    /// Report the partner, or the last speaker.
    "report": Report => Step::Call, Step::Call(verb) => verb;
    /// Take a break; in a flow sometimes with a `check_stress_status` at the same time.
    "break": Verb => Step::Call, Step::Call(verb @ (Verb::Break { .. } | Verb::Mood)) => verb;
};

/// The verbs that do not call the server.
const OTHERS: &[Row] = rows! {
    /// Wait for an event that came since the last step that waited for one.
    "await": Await => |step| step, step => step;
    /// Do nothing for this time.
    "think": DrawnTime => Step::Think, Step::Think(time) => time;
    /// Repeat these steps `count` times.
    "loop": Loop => |step| step, step => step;
    /// Do one of these, drawn by weight.
    "choose": Choices => Step::Choose, Step::Choose(choices) => choices;
    /// Close all connections without leaving.
    "disconnect": Disconnect => |keys| Step::Disconnect(keys.length), Step::Disconnect(length) => &Disconnect { length: *length };
};

words! { Event("an event type") => &'static str = all names(&EVENTS) }

form! {
    AwaitKeys("`await`", "{ event: chatroom.found }") => Step = Step::Await {
        /// The event's type.
        event: Word<Event>,
        /// The longest wait.
        within: SomeTime = USUAL_WAIT,
    }
}

/// An event, or `{ event: gap, within: 10s }`.
enum Await {}

impl Form for Await {
    type Of = Step;
    const WHAT: &'static str = "an event type";
    const EXAMPLE: &'static str = AwaitKeys::EXAMPLE;

    fn read(node: &Node, context: &mut Context) -> Read<Step> {
        if matches!(node.value, Value::Map(_)) {
            return AwaitKeys::read(node, context);
        }
        let event = Word::<Event>::read(node, context)?;
        let within = USUAL_WAIT;
        Ok(Step::Await { event, within })
    }

    fn write(step: &Step, context: &Context) -> Option<Text> {
        AwaitKeys::write(step, context)
    }

    fn schema(schemas: &mut Schemas) -> Json {
        json!({ "anyOf": [schemas.of::<Word<Event>>(), schemas.of::<AwaitKeys>()] })
    }
}

form! {
    Loop("`loop`", "{ count: 5, steps: […] }") => Step = Step::Loop {
        count: Count<1, 1_000_000>,
        steps: Steps,
    }
}

form! {
    Choice("a choice", "{ weight: 1, steps: […] }") => plan::Choice = plan::Choice {
        /// How often it is drawn, relative to the others.
        weight: Weight = 1,
        steps: Steps,
    }
}

type Choices = List<Choice, 1, Arc<[plan::Choice]>>;

form! {
    struct Disconnect("`disconnect`", "{ for: 5s }") {
        /// How long; without it, permanently.
        length as "for": Option<SomeTime>,
    }
}

/// Steps in a flow, a loop or a choice.
pub(crate) enum Steps<const LEAST: usize = 0> {}

impl<const LEAST: usize> Form for Steps<LEAST> {
    type Of = Arc<[Step]>;
    const WHAT: &'static str = Step::WHAT;
    const EXAMPLE: &'static str = "[enter_queue]";

    fn read(node: &Node, context: &mut Context) -> Read<Self::Of> {
        if context.depth > MAX_NESTING {
            return node.place.refuse(
                "loops and choices are nested too deeply",
                format!("at most {MAX_NESTING} deep"),
            );
        }
        context.depth += 1;
        let steps = List::<Step, 0, Self::Of>::read(node, context);
        context.depth -= 1;
        steps
    }

    fn write(steps: &Self::Of, context: &Context) -> Option<Text> {
        List::<Step, 0, Self::Of>::write(steps, context)
    }

    fn schema(schemas: &mut Schemas) -> Json {
        List::<Step, LEAST>::schema(schemas)
    }
}

narrowed! {
    /// The flow of a persona: at least one step, a bounded length, and no impossible step.
    Flow, Steps<1>, Step::WHAT, |steps, node, _| {
        if steps.is_empty() {
            return node.place.refuse(
                "a flow without steps",
                format!("at least one step; {}", accepted_verbs()),
            );
        }
        if steps.iter().map(expanded).fold(0, u64::saturating_add) > MAX_EXPANDED {
            return node.place.refuse(
                "with its loops written out, this flow is too long",
                format!("at most {MAX_EXPANDED} steps, the loops' counts multiplied in"),
            );
        }
        refuse_impossible(node, steps)
    }
}

/// The number of steps of one step with its loops expanded.
fn expanded(step: &Step) -> u64 {
    let all = |steps: &[Step]| steps.iter().map(expanded).fold(0, u64::saturating_add);
    match step {
        Step::Call(_) | Step::Await { .. } | Step::Think(_) | Step::Disconnect(_) => 1,
        Step::Loop { count, steps } => {
            let times = u64::from(*count);
            all(steps).saturating_mul(times).saturating_add(1)
        }
        Step::Choose(choices) => {
            let longest = choices.iter().map(|choice| all(&choice.steps)).max();
            longest.unwrap_or(0).saturating_add(1)
        }
    }
}

/// One verb: a word, or a key with its arguments.
impl Form for Step {
    type Of = Self;
    const WHAT: &'static str = "a step";
    const EXAMPLE: &'static str = "enter_queue";
    const NAME: Option<&'static str> = Some("Step");

    fn read(node: &Node, context: &mut Context) -> Read<Self> {
        let (place, verb, value) = verb_at(node)?;
        if let Some(plain) = plain(verb) {
            return match value {
                None => Ok(Self::Call(Verb::Plain(plain))),
                Some(node) => node.place.refuse(
                    format!("`{verb}` takes nothing, found {}", node.described()),
                    format!("write `- {verb}` alone"),
                ),
            };
        }
        let Some(row) = CALLS.iter().chain(OTHERS).find(|row| row.verb == verb) else {
            return Err(unknown_verb(place, verb));
        };
        let nothing = nothing(place);
        let value = value.or_else(|| (row.alone)().then_some(&nothing));
        let value = value.ok_or_else(|| {
            place.wrong(
                format!("`{verb}` needs a value"),
                format!("write for example `{verb}: {}`", (row.example)()),
            )
        })?;
        (row.read)(value, context)
    }

    fn write(step: &Self, context: &Context) -> Option<Text> {
        if let Self::Call(Verb::Plain(plain)) = step {
            return Some(Text::plain(plain.kind().verb()));
        }
        CALLS.iter().chain(OTHERS).find_map(|row| {
            let value = (row.write)(step, context)?;
            if value.is_empty() && (row.alone)() {
                return Some(Text::plain(row.verb));
            }
            Some(Text::map([(row.verb, Some(value))]))
        })
    }

    fn schema(schemas: &mut Schemas) -> Json {
        let steps = steps_of(&verbs().collect::<Vec<_>>(), schemas);
        described(steps, "One verb: a word, or a key with its arguments.")
    }
}

/// One call, or a disconnection: a step of the steps form.
pub(crate) enum CallStep {}

impl CallStep {
    fn verbs() -> Vec<&'static str> {
        calls().chain(["disconnect"]).collect()
    }
}

impl Form for CallStep {
    type Of = Step;
    const WHAT: &'static str = "a call";
    const EXAMPLE: &'static str = "enter_queue";
    const NAME: Option<&'static str> = Some("Call");

    fn read(node: &Node, context: &mut Context) -> Read<Step> {
        let (place, verb, _) = verb_at(node)?;
        if verbs().any(|known| known == verb) && !Self::verbs().contains(&verb) {
            return place.refuse(
                format!("`{verb}` does not belong into the steps form"),
                format!(
                    "one call at a time, each with its own `at`: {}",
                    Self::verbs().join(", ")
                ),
            );
        }
        Step::read(node, context)
    }

    fn write(step: &Step, context: &Context) -> Option<Text> {
        Step::write(step, context)
    }

    fn schema(schemas: &mut Schemas) -> Json {
        let about = "One call, or a disconnection: a word, or a key with its arguments.";
        described(steps_of(&Self::verbs(), schemas), about)
    }
}

/// The verbs that call the server: all but `check_stress_status`, which is written as a `break`.
fn calls() -> impl Iterator<Item = &'static str> {
    let kinds = OpKind::ALL.iter().filter(|kind| **kind != OpKind::Mood);
    kinds.map(|kind| kind.verb())
}

/// All verbs.
fn verbs() -> impl Iterator<Item = &'static str> {
    calls().chain(OTHERS.iter().map(|row| row.verb))
}

fn accepted_verbs() -> String {
    format!("accepted steps: {}", verbs().collect::<Vec<_>>().join(", "))
}

/// The kind of a verb that never takes a value.
fn plain(verb: &str) -> Option<Plain> {
    let mut plain = OpKind::ALL.iter().filter_map(|kind| kind.plain());
    plain.find(|plain| plain.kind().verb() == verb)
}

/// The verb of a step, its place, and its value: from a bare word, or a map of one key.
pub(crate) fn verb_at(node: &Node) -> Read<(Place, &str, Option<&Node>)> {
    if let Value::Text(verb) = &node.value {
        return Ok((node.place, verb, None));
    }
    match node.entries() {
        [entry] => {
            let value = Some(&entry.node).filter(|node| !matches!(node.value, Value::Empty));
            Ok((entry.place, &entry.key, value))
        }
        [first, second, ..] => second.place.refuse(
            "a step is one verb, and here is a second key",
            format!(
                "what belongs to `{}` goes below it, indented further; another verb needs its own dash",
                shortened(&first.key)
            ),
        ),
        [] => node.place.refuse(
            format!("expected a step, found {}", node.described()),
            accepted_verbs(),
        ),
    }
}

fn unknown_verb(place: Place, verb: &str) -> Box<Problem> {
    let guess = did_you_mean(verb, &verbs().collect::<Vec<_>>());
    let what = format!("unknown verb `{}`", shortened(verb));
    let wrong = place.wrong(what, accepted_verbs());
    wrong.labelled(format!("not a verb{guess}"))
}

fn steps_of(verbs: &[&str], schemas: &mut Schemas) -> Json {
    let row = |verb: &str| CALLS.iter().chain(OTHERS).find(|row| row.verb == verb);
    let alone = |verb: &&&str| row(verb).is_none_or(|row| (row.alone)());
    let bare: Vec<_> = verbs.iter().filter(alone).collect();
    let mut properties = Map::new();
    for verb in verbs {
        let mut value = json!({ "type": "null" });
        if let Some(row) = row(verb) {
            let taken = described((row.schema)(schemas), row.about);
            value = match (row.alone)() {
                true => json!({ "anyOf": [value, taken] }),
                false => taken,
            };
        }
        properties.insert((*verb).to_owned(), value);
    }
    word_or_key(json!({ "enum": bare }), properties)
}

form! {
    EnterQueue("`enter_queue`", "{ interests: [rust] }") => Verb = Verb::EnterQueue {
        /// The user's interests.
        interests: Interests = Arc::default(),
        /// The display name; by default the user's own.
        name: Option<Arc<str>>,
        /// The public id; by default one like `user_7`. Only a registration may have one.
        user_id: Option<Arc<str>>,
    }
}

type Interests = List<Name<Arc<str>>, 0, Arc<[Arc<str>]>>;

form! {
    Login("`login`", "{ room: lobby }") => Verb = Verb::Login {
        /// The room.
        room: Arc<str> = Arc::from("lobby"),
        /// More than 1: the user draws one of so many rooms, from `<room>-0` on.
        rooms: Count<1, 1_000_000> = 1,
        /// The display name; by default the user's own.
        name: Option<Arc<str>>,
    }
}

words! {
    AlphabetOf("an alphabet") => Option<Alphabet> = [
        "ascii": None,
        "words": Some(Alphabet::Words),
        "unicode": Some(Alphabet::Unicode),
    ]
}

form! {
    #[derive(Default)]
    struct TextKeys("a text", "{ text: \"hello\" }") {
        /// The text.
        text: Option<Arc<str>>; one_of "kind",
        /// The number of characters.
        length: Option<Drawn<Length>>; one_of "kind",
        /// The alphabet of random texts.
        alphabet: Word<AlphabetOf> = None; with("length"),
    }
}

impl ByKeys for plan::Text {
    type Keys = TextKeys;

    fn from_text(text: &str) -> Option<Self> {
        Some(Self::Words(text.into()))
    }

    fn from_keys(keys: TextKeys, _: &Fields<'_>, _: &mut Context) -> Read<Self> {
        Ok(match (keys.text, keys.length, keys.alphabet) {
            (_, Some(length), None) => Self::Length(length),
            (_, Some(length), Some(alphabet)) => Self::Letters(alphabet, length),
            (words, None, _) => Self::Words(words.unwrap_or_default()),
        })
    }

    fn to_keys(&self) -> TextKeys {
        let mut keys = TextKeys::default();
        match self.clone() {
            Self::Words(words) => keys.text = Some(words),
            Self::Length(length) => keys.length = Some(length),
            Self::Letters(alphabet, length) => {
                (keys.length, keys.alphabet) = (Some(length), Some(alphabet));
            }
        }
        keys
    }
}

narrowed! {
    /// The wait of a check, up to the server's limit.
    Wait, Span, Span::WHAT, |wait, node, context| {
        let Some(most) = context.server.as_ref().map(|server| server.max_wait) else {
            return Ok(());
        };
        if *wait <= most {
            return Ok(());
        }
        node.place.refuse(
            format!("a wait of {wait} is more than the server allows"),
            format!("at most server.max_wait, which is {most}"),
        )
    }
}

words! {
    Secret("a secret to read by") => ReadBy = [
        "handle": ReadBy::Handle,
        "reader": ReadBy::ReaderId,
    ]
}

form! {
    Check("`check`", "{ wait: 5s }") => Verb = Verb::Check {
        /// How long to wait for an event, at most server.max_wait.
        wait: Wait = Span::ZERO,
        /// The secret: the handle, or the reader id, which can only read.
        by as "as": Word<Secret> = ReadBy::Handle,
    }
}

form! {
    History("`history`", "{ limit: 20 }") => Verb = Verb::History {
        /// Only messages before this position of the room; the newest by default.
        before: Option<Whole<1, 1_000_000_000>>,
        /// The most messages.
        limit: Count<1, 500> = 50,
    }
}

words! { GrantOf("a grant of the stick") => Grant }

form! {
    struct UnderGrant("a call under a grant", "{ epoch: latest }") {
        /// The grant of the stick that the call names: none, or the latest that the user knows of,
        /// which may be over.
        epoch: Word<GrantOf> = Grant::Unnamed,
    }
}

form! {
    Report("`report`", "{ reason: spam }") => Verb = Verb::Report {
        /// The reason.
        reason: Arc<str> = Arc::from("spam"),
    }
}

/// The only tool of the break tools that is no break.
const STATUS: &str = "check_stress_status";

words! {
    BreakOf("a break") => Option<BreakKind> = all {
        let breaks = BreakKind::ALL.iter().map(|kind| (kind.name(), Some(*kind)));
        breaks.chain([(STATUS, None)]).collect()
    }
}

form! {
    struct BreakKeys("`break`", "{ kind: chimaek }") {
        /// The kind; any by default. `check_stress_status` is no break, and only shows the stress.
        kind: Option<Word<BreakOf>>,
        /// The text of the answer; the server's own by default.
        excuse: Option<Arc<str>>,
    }
}

/// A break, or `check_stress_status`.
impl ByKeys for Verb {
    type Keys = BreakKeys;

    fn from_keys(keys: BreakKeys, fields: &Fields<'_>, _: &mut Context) -> Read<Self> {
        let BreakKeys { kind, excuse } = keys;
        if kind != Some(None) {
            let kind = kind.flatten();
            return Ok(Self::Break { kind, excuse });
        }
        if excuse.is_none() {
            return Ok(Self::Mood);
        }
        fields.place_of("kind").refuse(
            format!("`{STATUS}` is no break, and needs no excuse"),
            "a break, or no `excuse`",
        )
    }

    fn to_keys(&self) -> BreakKeys {
        let Self::Break { kind, excuse } = self else {
            let (kind, excuse) = (Some(None), None);
            return BreakKeys { kind, excuse };
        };
        BreakKeys {
            kind: kind.map(Some),
            excuse: excuse.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verb_is_a_word_alone_or_has_a_row() {
        for verb in calls() {
            let rows = CALLS.iter().filter(|row| row.verb == verb).count();
            assert_eq!(rows, usize::from(plain(verb).is_none()), "{verb}");
        }
        assert!(CALLS.iter().all(|row| calls().any(|verb| verb == row.verb)));
    }
}
