//! Phases of arrivals, and the personas of the arriving users.

use std::collections::BTreeSet;
use std::sync::Arc;

use chat_types::{Config, Span};

use super::ends::End;
use super::error::{Problem, Read};
use super::fields::Fields;
use super::flow::{Flows, weight};
use super::forms::{count, expected, list, name, ratio, some_time, thousandths, word};
use super::node::Node;
use super::tables::Tables;
use sim_model::plan::{ArrivalMode, Arrivals, Habits, Manner, Naming, Persona, Phase, Reads};
use sim_model::protocol::ReadBy;

pub(super) const PHASE_KEYS: [&str; 8] = [
    "name",
    "duration",
    "arrival_rate",
    "ramp_to",
    "mode",
    "arrival_count",
    "max_users",
    "pause",
];
pub(super) const PERSONA_KEYS: [&str; 7] = [
    "name", "weight", "habits", "stream", "reads", "names", "flow",
];
pub(super) const HABIT_KEYS: [&str; 7] = [
    "bare_check",
    "forget_handle",
    "abandon",
    "parallel",
    "no_key",
    "second_stream",
    "stray",
];
/// How arrivals are spread.
pub(super) const MODES: [(&str, ArrivalMode); 2] = [
    ("uniform", ArrivalMode::Uniform),
    ("poisson", ArrivalMode::Poisson),
];
/// Whether a user opens an event stream, and with which secret.
pub(super) const STREAMS: [(&str, Option<ReadBy>); 3] = [
    ("none", None),
    ("events", Some(ReadBy::Handle)),
    ("reader", Some(ReadBy::ReaderId)),
];
/// How a user reads its inbox.
pub(super) const READS: [(&str, Reads); 2] =
    [("exactly", Reads::Exactly), ("stream", Reads::ByStream)];
/// The names that users register with.
pub(super) const NAMINGS: [(&str, Naming); 5] = [
    ("given", Naming::Given),
    ("scripts", Naming::Scripts),
    ("alike", Naming::Alike),
    ("odd", Naming::Odd),
    ("unnamed", Naming::Unnamed),
];
/// The most users in all.
pub(super) const MAX_USERS: u64 = 1_000_000;

/// The phases, and the place and end of each.
pub(super) fn phases(node: &Node) -> Read<(Vec<Phase>, Vec<End>)> {
    let mut phases = Vec::new();
    let mut ends = Vec::new();
    let mut end = Span::ZERO;
    let mut users = 0_u64;
    for item in list(node, "phases")? {
        let phase = phase(item, phases.len())?;
        end = end + phase.duration;
        users = users.saturating_add(expected_users(&phase));
        if users > MAX_USERS {
            return Err(Problem::new(
                item.place,
                format!("with this phase {users} users would come"),
                format!("at most {MAX_USERS} users over all phases; `max_users` caps a phase"),
            ));
        }
        ends.push(End {
            place: item.place,
            at: end,
        });
        phases.push(phase);
    }
    if phases.is_empty() {
        return Err(Problem::new(
            node.place,
            "no phases",
            "at least one phase, such as { duration: 10s, arrival_rate: 20 }",
        ));
    }
    Ok((phases, ends))
}

fn phase(node: &Node, before: usize) -> Read<Phase> {
    let fields = Fields::read(node, "a phase", &PHASE_KEYS)?;
    let given = fields.get("name").map(|node| name(node, "a name"));
    let name = match given.transpose()? {
        Some(name) => name.to_string(),
        None => format!("phase {}", before + 1),
    };
    let max_users = fields
        .get("max_users")
        .map(|node| count(node, 1..=1_000_000))
        .transpose()?;
    if let Some(node) = fields.get("pause") {
        fields.refuse(
            &[
                "duration",
                "arrival_rate",
                "ramp_to",
                "mode",
                "arrival_count",
                "max_users",
            ],
            "nobody comes in a pause",
        )?;
        return Ok(Phase {
            name,
            duration: some_time(node)?,
            arrivals: Arrivals::Pause,
            max_users,
        });
    }
    let duration = some_time(fields.need("duration", "duration: 10s")?)?;
    let (key, node) = fields.one_of(&["arrival_rate", "arrival_count"], "arrival_rate: 20")?;
    let arrivals = if key == "arrival_count" {
        fields.refuse(
            &["ramp_to", "mode"],
            "arrival_count is spread evenly over the phase",
        )?;
        Arrivals::Count(count(node, 1..=1_000_000)?)
    } else {
        rate(node, &fields)?
    };
    Ok(Phase {
        name,
        duration,
        arrivals,
        max_users,
    })
}

fn rate(node: &Node, fields: &Fields<'_>) -> Read<Arrivals> {
    let from_milli = thousandths(node)?;
    let to_milli = fields.get("ramp_to").map_or(Ok(from_milli), thousandths)?;
    if from_milli == 0 && to_milli == 0 {
        return Err(Problem::new(
            node.place,
            "at this rate nobody ever comes",
            "a rate above 0, a `ramp_to` above 0, or a pause: { pause: 5s }",
        ));
    }
    let mode = fields
        .get("mode")
        .map_or(Ok(ArrivalMode::Uniform), |node| {
            word(node, "a mode of arrival", &MODES)
        })?;
    Ok(Arrivals::Rate {
        from_milli,
        to_milli,
        mode,
    })
}

/// The number of users of a phase; under `poisson` the mean.
fn expected_users(phase: &Phase) -> u64 {
    let users = match phase.arrivals {
        Arrivals::Pause => 0,
        Arrivals::Count(n) => u64::from(n),
        Arrivals::Rate {
            from_milli,
            to_milli,
            ..
        } => {
            let twice = u128::from(from_milli + to_milli) * u128::from(phase.duration.0);
            u64::try_from(twice / 2_000_000_000).unwrap_or(u64::MAX)
        }
    };
    phase
        .max_users
        .map_or(users, |most| users.min(u64::from(most)))
}

/// The personas.
pub(super) fn personas(
    node: &Node,
    server: &Config,
    tables: &mut Tables,
) -> Read<Vec<Arc<Persona>>> {
    let mut personas = Vec::new();
    let mut names = BTreeSet::new();
    for item in list(node, "personas")? {
        let persona = persona(item, server, tables)?;
        if !names.insert(persona.name.clone()) {
            return Err(Problem::new(
                item.place,
                format!("a second persona named `{}`", persona.name),
                "a name of its own for each persona",
            ));
        }
        personas.push(Arc::new(persona));
    }
    if personas.is_empty() || personas.len() > 1_000 {
        return Err(expected(
            node,
            "personas",
            "1 to 1000 personas, such as { name: penpal, flow: [enter_queue] }",
        ));
    }
    Ok(personas)
}

fn persona(node: &Node, server: &Config, tables: &mut Tables) -> Read<Persona> {
    let fields = Fields::read(node, "a persona", &PERSONA_KEYS)?;
    let stream = stream(fields.get("stream"))?;
    let reads = fields.get("reads").map_or(Ok(Reads::default()), |node| {
        word(node, "a way to read an inbox", &READS)
    })?;
    let names = fields.get("names").map_or(Ok(Naming::default()), |node| {
        word(node, "a kind of names", &NAMINGS)
    })?;
    if let (Reads::ByStream, None, Some(node)) = (reads, stream, fields.get("reads")) {
        return Err(Problem::new(
            node.place,
            "a user without a stream cannot read by it",
            "`reads: exactly`, or a `stream`",
        ));
    }
    Ok(Persona {
        name: name(fields.need("name", "name: penpal")?, "a name")?.to_string(),
        weight: fields.get("weight").map_or(Ok(1), weight)?,
        habits: fields.get("habits").map_or(Ok(Habits::default()), habits)?,
        stream: stream.is_some(),
        manner: Manner {
            stream_by: stream.unwrap_or_default(),
            reads,
            names,
        },
        flow: Flows::new(server, tables).flow(fields.need("flow", "flow: [enter_queue]")?)?,
    })
}

/// The stream that a user opens.
pub(super) fn stream(node: Option<&Node>) -> Read<Option<ReadBy>> {
    node.map_or(Ok(Some(ReadBy::Handle)), |node| {
        word(node, "an answer to which stream a user holds", &STREAMS)
    })
}

fn habits(node: &Node) -> Read<Habits> {
    let fields = Fields::read(node, "habits", &HABIT_KEYS)?;
    let chance = |key| fields.get(key).map(ratio).transpose();
    Ok(Habits {
        bare_check: chance("bare_check")?.unwrap_or_default(),
        forget_handle: chance("forget_handle")?.unwrap_or_default(),
        abandon: chance("abandon")?.unwrap_or_default(),
        parallel: chance("parallel")?.unwrap_or_default(),
        no_key: chance("no_key")?.unwrap_or_default(),
        second_stream: chance("second_stream")?.unwrap_or_default(),
        stray: chance("stray")?.unwrap_or_default(),
    })
}
