//! The whole scenario: its keys, its plan, and the layout of its file.

use std::fmt::Write as _;

use chat_types::{Config, Span};
use serde_json::{Value as Json, json};

use super::context::Context;
use super::environment::{Capacity, Client, Network};
use super::error::{Place, Problems, Read, wrapped};
use super::fault::Faults;
use super::fields::Fields;
use super::form::{Form, Keyed, form};
use super::forms::{Count, Name, SomeTime, Whole, Word, narrowed, text, words};
use super::node::{Node, Value};
use super::schemas::Schemas;
use super::script::{Steps, Users};
use super::text::Text;
use super::threshold::{Properties, Sometimes, Thresholds};
use super::workload::{Personas, Phases};
use sim_model::draw::Ratio;
use sim_model::names::{PROPERTIES, properties_of};
use sim_model::outcome::Notes;
use sim_model::plan::{
    Fault, LEASE_DRIFT, MAX_REPEATS, OwnerReads, Plan, Schedule, ServersNeeded, USUAL_CLIENT,
    Workload, usual_capacity, usual_network,
};
use sim_model::recipe::Recipe;

/// The longest `about`, in characters.
const MAX_ABOUT: usize = 2_000;
/// The shortest default duration of a scenario.
const USUAL_DURATION: Span = Span::secs(30);
/// The columns of a sentence in a comment.
const COLUMNS: usize = 96;

form! {
    /// Users, their actions, faults, and expected results.
    struct ScenarioKeys("a scenario", "{ phases: […], scenarios: […] }") {
        /// The scenario's name; by default the file's.
        name: Option<Name>,
        /// The scenario's purpose, and the races it looks for.
        about: Option<About>,
        /// The default seed of a run.
        seed: Whole<0, { u64::MAX }> = 1,
        /// The safety phase: arrivals and faults. By default 30s, or longer if the phases, faults
        /// or steps need longer.
        duration: Option<Duration>,
        /// The liveness phase lasts at most this long: faults are healed, users come to the end of
        /// their flows without pauses or further rounds of loops, all inboxes drain.
        liveness: SomeTime = Span::secs(60),
        /// The number of servers. Several share a log with three replicas; clients are connected to
        /// all of them, and one decides all calls.
        servers: Count<1, 7> = 1,
        /// With several `servers`: when the owner answers reads. At once, while its lease lasts by
        /// its own clock, or after an append to the log, whatever the clocks show.
        reads: Word<OwnerReadsWord> = OwnerReads::Lease,
        /// The server's configuration; every limit has a default.
        server: Config = Config::default(),
        capacity: Capacity = usual_capacity(),
        client: Client = USUAL_CLIENT,
        /// Periods in which users arrive, one after another, within `duration`.
        phases: Option<Phases>; one_of "form",
        /// The kinds of users, drawn by weight.
        scenarios: Option<Personas>; with("phases"); needed_with("phases"),
        /// The steps form: the users' names.
        users: Option<Users>; with("steps"); needed_with("steps"),
        /// The steps form: what each user does, and when.
        steps: Option<Steps>; one_of "form",
        network: Network = usual_network(),
        /// In which order concurrent packets are delivered, until the scenario's duration is over.
        schedule: Schedule = Schedule::Plain,
        /// The steps after which a run continues with the random numbers of a branch. Written by
        /// explore --guided.
        recipe: Recipe = Recipe::default(),
        /// Faults, and their times.
        faults: Faults = Vec::<Fault>::new(),
        /// The properties to judge.
        properties: Properties = PROPERTIES.to_vec(),
        /// Points that the run must reach; otherwise it proves nothing.
        expect_sometimes: Sometimes = Vec::<&'static str>::new(),
        /// Limits on metrics: a metric, and one or more comparisons.
        thresholds: Thresholds = Vec::new(),
        /// The share of each seed's users that may be stuck when the run ends: an `await` timed
        /// out, or they did not finish within `liveness`. Users that left permanently are not
        /// stuck, nor is a last user without a partner in the queue. 0 by default: one stuck user
        /// fails the run.
        allow_stuck: Option<Ratio>,
    }
}

words! { OwnerReadsWord("when the owner answers reads") => OwnerReads }

narrowed! {
    /// `duration`: the safety phase.
    Duration, SomeTime, SomeTime::WHAT, |value, _, context| {
        context.duration = Some(*value);
        Ok(())
    }
}

/// A text for people.
pub(super) enum About {}

impl Form for About {
    type Of = String;
    const WHAT: &'static str = "a text";
    const EXAMPLE: &'static str = "…";

    fn read(node: &Node, _: &mut Context) -> Read<String> {
        let about = text(node, Self::WHAT)?;
        if about.chars().count() > MAX_ABOUT {
            return node.place.refuse(
                "`about` is too long",
                format!("at most {MAX_ABOUT} characters"),
            );
        }
        Ok(about.trim().to_owned())
    }

    fn write(about: &String, _: &Context) -> Option<Text> {
        Some(Text::quoted(about))
    }

    fn schema(_: &mut Schemas) -> Json {
        json!({ "type": "string", "maxLength": MAX_ABOUT })
    }
}

/// Makes a struct of another's fields of the same names, and of others.
macro_rules! alike {
    ($from:ident => $to:ident { $($same:ident),*; $($others:tt)* }) => {
        $to { $($same: $from.$same,)* $($others)* }
    };
}

/// Parses a scenario; `stem` is its default name.
pub(crate) fn plan(node: &Node, stem: &str) -> Read<Plan> {
    if matches!(node.value, Value::Empty) {
        let keys: Vec<&str> = ScenarioKeys::KEYS.iter().map(|key| key.name).collect();
        return node.place.refuse(
            "the file is empty",
            format!("a map with keys among: {}", keys.join(", ")),
        );
    }
    let (fields, map) = Fields::read(node, ScenarioKeys::WHAT, ScenarioKeys::KEYS)?;
    let has = |key| fields.get(key).is_some() || fields.may_be_misspelt(key);
    let mut context = Context {
        server: (!fields.may_be_misspelt("server")).then(Config::default),
        users: (!has("users") && !has("steps")).then(Vec::new),
        personas: (!has("scenarios") && !has("phases")).then(Vec::new),
        ..Context::default()
    };
    let keys = ScenarioKeys::from_fields(&fields, map, &mut context);
    let mut problems = Problems::default();
    // The default is known once all parts are right.
    let last = context.ends.iter().map(|(_, at)| *at).max();
    let usual = keys.is_ok() && fields.get("duration").is_none();
    let usual = usual.then(|| last.unwrap_or(Span::ZERO).max(USUAL_DURATION));
    let keys = problems.keep(keys);
    let duration = context.duration.or(usual);
    if let Some(duration) = duration {
        for (place, at) in context.ends.iter().filter(|(_, at)| *at > duration) {
            let late = place.wrong(
                format!("this ends at {at}, after the scenario's duration of {duration}"),
                format!("an end by {duration}, or a longer `duration`"),
            );
            let late = late.with(fields.place_of("duration"), "the duration");
            problems.keep::<()>(Err(late));
        }
        problems.keep(refuse_frequent(&context.repeated, duration));
    }
    if let Some(keys) = &keys {
        for (place, needed) in &context.servers_needed {
            problems.keep(check_servers(*place, *needed, keys));
        }
        if let (OwnerReads::Strict, 1) = (keys.reads, keys.servers) {
            problems.keep::<()>(fields.place_of("reads").refuse(
                "strict reads need several servers: a single one has no log to ask",
                "`servers: 3`",
            ));
        }
    }
    let (keys, duration) = problems.finish(keys.zip(duration))?;
    let workload = match (keys.users, keys.steps) {
        (Some(users), Some(steps)) => Workload::Steps { users, steps },
        _ => Workload::Phases {
            phases: keys.phases.unwrap_or_default(),
            personas: keys.scenarios.unwrap_or_default(),
        },
    };
    Ok(alike! {
        keys => Plan {
            seed, liveness, servers, reads, server, capacity, client, network, schedule, recipe, faults,
            expect_sometimes, thresholds;
            name: keys.name.unwrap_or_else(|| stem.to_owned()),
            about: keys.about.unwrap_or_default(),
            duration,
            properties: judged(keys.properties, keys.servers, workload.sleeps()),
            workload,
            allow_stuck: keys.allow_stuck.unwrap_or_default(),
        }
    })
}

/// All properties are those of this number of servers, with users that sleep or without.
fn judged(properties: Vec<&'static str>, servers: u32, sleeps: bool) -> Vec<&'static str> {
    if properties == PROPERTIES {
        properties_of(servers, sleeps)
    } else {
        properties
    }
}

/// Refuses a fault that needs another number of servers.
fn check_servers(place: Place, needed: ServersNeeded, keys: &ScenarioKeys) -> Read<()> {
    match (needed, keys.servers) {
        (ServersNeeded::One, 2..) => place.refuse(
            "several servers share a log, which has no files to damage and keeps what it acknowledged, and all have one configuration",
            "a fault of `member` or `log`, or one server",
        ),
        (ServersNeeded::Several | ServersNeeded::Strict, 1) => place.refuse(
            "this fault needs several servers",
            "`servers: 3`",
        ),
        (ServersNeeded::Strict, _) if keys.reads != OwnerReads::Strict => place.refuse(
            format!(
                "leases rely on clocks that run, and are wrong by at most {LEASE_DRIFT} percent"
            ),
            "`reads: strict`",
        ),
        _ => Ok(()),
    }
}

/// Refuses faults that would repeat too often.
fn refuse_frequent(repeated: &[(Place, Span)], duration: Span) -> Read<()> {
    let mut times = 0;
    for (place, gap) in repeated {
        times += duration.0 / gap.0.max(1);
        if times > MAX_REPEATS {
            return place.refuse(
                format!("with this one, faults would repeat about {times} times in {duration}"),
                format!("at most {MAX_REPEATS} times in all; a longer `every`"),
            );
        }
    }
    Ok(())
}

/// The plan as a scenario, with these comments.
#[must_use]
pub fn annotated(plan: &Plan, notes: &Notes) -> String {
    let mut file = String::new();
    for sentence in &notes.head {
        for line in wrapped(sentence.split_whitespace(), COLUMNS, str::len).lines() {
            file.push_str(&format!("# {line}\n"));
        }
    }
    let context = Context {
        server: Some(plan.server.clone()),
        users: Some(plan.workload.users().to_vec()),
        ..Context::default()
    };
    if let Some(Text::Map(keys)) = ScenarioKeys::write(&keys(plan), &context) {
        for (key, value) in keys {
            lay_out(&mut file, &key, &value, notes);
        }
    }
    file
}

fn keys(plan: &Plan) -> ScenarioKeys {
    let (phases, scenarios, users, steps) = match plan.workload.clone() {
        Workload::Phases { phases, personas } => (Some(phases), Some(personas), None, None),
        Workload::Steps { users, steps } => (None, None, Some(users), Some(steps)),
    };
    let plan = plan.clone();
    let sleeps = plan.workload.sleeps();
    alike! {
        plan => ScenarioKeys {
            seed, liveness, servers, reads, server, capacity, client, network, schedule, recipe, faults,
            expect_sometimes, thresholds;
            name: Some(plan.name),
            about: (!plan.about.is_empty()).then_some(plan.about),
            duration: Some(plan.duration),
            phases,
            scenarios,
            users,
            steps,
            properties: if plan.properties == properties_of(plan.servers, sleeps) {
                PROPERTIES.to_vec()
            } else {
                plan.properties
            },
            allow_stuck: Some(plan.allow_stuck).filter(|share| *share != Ratio::NEVER),
        }
    }
}

/// Writes a key. Phases, steps and faults have one line each; the note of a step follows it, in a
/// column.
/// Personas and thresholds have one line for each of their keys. All else is on one line.
fn lay_out(file: &mut String, key: &str, value: &Text, notes: &Notes) {
    // Writing to a string cannot fail.
    let _ = match (key, value) {
        ("phases" | "steps" | "faults", Text::List(items)) => {
            let items: Vec<String> = items.iter().map(Text::to_string).collect();
            let notes = if key == "steps" { &*notes.steps } else { &[] };
            write!(file, "{key}:\n{}", lines(&items, notes))
        }
        ("scenarios", Text::List(personas)) => {
            let personas: String = personas.iter().map(persona).collect();
            write!(file, "{key}:\n{personas}")
        }
        ("thresholds", Text::Map(metrics)) => {
            let line = |(key, value): &(String, Text)| format!("  {key}: {value}\n");
            let metrics: String = metrics.iter().map(line).collect();
            write!(file, "{key}:\n{metrics}")
        }
        _ => writeln!(file, "{key}: {value}"),
    };
}

/// A list with one item per line, and notes in a column beside it.
fn lines(items: &[String], notes: &[String]) -> String {
    let column = items.iter().map(String::len).filter(|len| *len <= 80).max();
    let column = column.unwrap_or(0);
    let line = |(index, item): (usize, &String)| match notes.get(index) {
        Some(note) if !note.is_empty() => format!("  - {item:column$}  # {note}\n"),
        Some(_) | None => format!("  - {item}\n"),
    };
    items.iter().enumerate().map(line).collect()
}

fn persona(persona: &Text) -> String {
    let Text::Map(keys) = persona else {
        return format!("  - {persona}\n");
    };
    let key = |(index, (key, value)): (usize, &(String, Text))| {
        let dash = if index == 0 { "-" } else { " " };
        if let Text::List(steps) = value
            && key == "flow"
        {
            let steps = steps.iter().map(|step| format!("      - {step}\n"));
            return format!("  {dash} {key}:\n{}", steps.collect::<String>());
        }
        format!("  {dash} {key}: {value}\n")
    };
    keys.iter().enumerate().map(key).collect()
}

/// The JSON Schema of a scenario, in draft 2020-12.
#[must_use]
pub fn schema() -> Json {
    let mut schemas = Schemas::default();
    let mut root = ScenarioKeys::schema(&mut schemas);
    let Schemas(mut definitions) = schemas;
    // Constraints between keys that the rows cannot express.
    definitions["Fault"]["anyOf"] = json!([{ "required": ["at"] }, { "required": ["every"] }, { "required": ["at_milestone"] }]);
    definitions["ScriptStep"]["if"] = json!({
        "properties": {
            "do": { "anyOf": [{ "const": "disconnect" }, { "required": ["disconnect"], "type": "object" }] }
        }
    });
    definitions["ScriptStep"]["then"] =
        json!({ "properties": { "leave_out": false, "net": false } });
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Talking Stick scenario");
    root["$defs"] = Json::Object(definitions);
    root
}
